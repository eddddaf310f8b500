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
broken() { # NAME BYTES...: as printf has them
        local name=$1
        shift
        printf '%b' "$@" >"$out/broken/$name.wasm"
}
header='\0asm\01\0\0\0'
broken empty
broken short '\0asm'
broken version '\0asm\02\0\0\0'
broken component '\0asm\015\0\01\0'
broken elf '\0177ELF\02\01\01\0'
broken section "$header" '\016\0'                                 # an unknown section
broken length "$header" '\01\0377\0377\0377\0377\017'             # a section of 4 GiB
broken number "$header" '\01\0200\0200\0200\0200\0200\0'         # a number of six bytes
broken name "$header" '\02\04\01\01\0377\0'                      # a name that is not UTF-8
head -c 100 "$out/hello.wasm" >"$out/broken/cut.wasm"
(cat "$out/trap.wasm" && printf '\1') >"$out/broken/more.wasm" # a byte too many
head -c 4096 /dev/zero >"$out/broken/zeros.wasm"
