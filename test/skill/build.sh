#!/bin/bash
# build.sh: builds the test skills: C with clang and the wasi-libc of Debian, text with wat2wasm, and some files that are no modules.
#
#   test/skill/build.sh DIRECTORY        leaves NAME.wasm there for each of modules/, and broken/NAME.wasm
#
# Exits with 1 and the compiler's words if one does not build. Needs clang, lld, wasi-libc, libclang-rt-dev-wasm32 and wabt.
set -eu
modules=$(cd "$(dirname "$0")/modules" && pwd)
out=${1:?usage: build.sh DIRECTORY}
mkdir -p "$out/broken"

for source in "$modules"/*.c; do
        name=${source##*/}
        clang --target=wasm32-wasi -std=gnu11 -O2 -Wall -Wextra -Werror "$source" -o "$out/${name%.c}.wasm"
done
# A module's own text says which of the standard's later parts it needs.
for source in "$modules"/*.wat; do
        name=${source##*/}
        flag=$(sed -n 's/^;;.*(\(--enable-[a-z0-9-]*\))$/\1/p' "$source")
        wat2wasm ${flag:+"$flag"} "$source" -o "$out/${name%.wat}.wasm"
done

# What is not a module, or only almost.
header='\0asm\1\0\0\0'
: >"$out/broken/empty.wasm"
printf '\0asm' >"$out/broken/short.wasm"
printf '\0asm\2\0\0\0' >"$out/broken/version.wasm"
printf '\0asm\15\0\1\0' >"$out/broken/component.wasm"
printf '\177ELF\2\1\1\0' >"$out/broken/elf.wasm"
printf "$header\\16\\0" >"$out/broken/section.wasm"              # an unknown section
printf "$header\\1\\377\\377\\377\\377\\17" >"$out/broken/length.wasm"   # a section of 4 GiB
printf "$header\\1\\200\\200\\200\\200\\200\\0" >"$out/broken/number.wasm" # a number of six bytes
printf "$header\\2\\4\\1\\1\\377\\0" >"$out/broken/name.wasm"      # a name that is not UTF-8
head -c 100 "$out/hello.wasm" >"$out/broken/cut.wasm"
(cat "$out/trap.wasm" && printf '\1') >"$out/broken/more.wasm" # a byte too many
head -c 4096 /dev/zero >"$out/broken/zeros.wasm"
