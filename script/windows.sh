#!/bin/bash
# windows.sh: compiles what there is of abatis for Windows, with its test program, by every compiler for it.
#
#   script/windows.sh DIRECTORY [x64-mingw|x64-zig|arm64-zig]...       (default: all)
#
# Leaves DIRECTORY/TARGET/windows.exe: the run layer (src/run/*_windows.c) and test/windows. A warning is an error. The compilers are
# Debian's mingw-w64 (script/setup.sh cross) and zig (script/fetch.sh), which has its own headers of Windows.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- x64-mingw x64-zig arm64-zig
cd "$here"
# Two that compile the same at once can leave a cache behind that names files which are gone: so each directory has its own.
export ZIG_GLOBAL_CACHE_DIR=$directory/zig ZIG_LOCAL_CACHE_DIR=$directory/zig

# What is common and already compiles there.
common=(src/base/character.c src/base/error.c src/base/text.c src/plan/plan.c)
flags=(-std=gnu11 -O2 -g -Werror -Wall -Wextra -Wno-pedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wwrite-strings -Wcast-align -Wvla -Wswitch-enum -Wundef -fno-strict-aliasing
        -U_WIN32_WINNT -D_WIN32_WINNT=0x0A00 -Iinclude -Isrc)
libraries=(-ladvapi32 -lbcrypt -lshell32 -lole32 -luuid -lntdll)

compile() { # TARGET
        case $1 in
        # By its own libc's rules "%zu" is no format, by those of the one it is linked with it is: zig checks them.
        x64-mingw) compiler=(x86_64-w64-mingw32-gcc -Wno-format -static) ;;
        x64-zig) compiler=("$("$here/script/fetch.sh" zig)" cc -target x86_64-windows-gnu -Wformat=2) ;;
        arm64-zig) compiler=("$("$here/script/fetch.sh" zig)" cc -target aarch64-windows-gnu -Wformat=2) ;;
        *)
                echo "windows: no such target: $1" >&2
                exit 2
                ;;
        esac
        mkdir -p "$directory/$1"
        # In one go, which zig does in a tenth of the time; what it brings of a libc it compiles too, with warnings of its own.
        "${compiler[@]}" "${flags[@]}" src/run/*_windows.c "${common[@]}" test/windows/*.c "${libraries[@]}" \
                -o "$directory/$1/windows.exe" >"$directory/$1/log" 2>&1 || {
                cat "$directory/$1/log" >&2
                exit 1
        }
}

for target in "$@"; do
        compile "$target"
done
