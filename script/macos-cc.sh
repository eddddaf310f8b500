#!/bin/bash
# macos-cc.sh: a C compiler for macOS: zig compiles, LLVM's linker links. (That of this zig dies of our program.)
#
#   script/macos-cc.sh ZIG CPU ARGUMENT...        as a compiler takes them; CPU is aarch64 or x86_64
set -eu
zig=$1 cpu=$2
shift 2
export ZIG_GLOBAL_CACHE_DIR=${zig%/*}/cache
readonly oldest=11.0 # whose kernel has all that we ask for
ask=("$zig" cc -target "$cpu-macos.$oldest-none")
compile=("${ask[@]}") arch=x86_64
# No Mac with such a processor has less.
[ "$cpu" != aarch64 ] || compile+=(-mcpu=apple_m1) arch=arm64
linker=$(command -v ld64.lld || find /usr/bin -name 'ld64.lld-*' | sort -V | tail -n 1)

for argument; do
        case $argument in
        -E | --version | -print-* | -dump*) exec "${ask[@]}" "$@" ;;
        -c | -S) exec "${compile[@]}" "$@" ;;
        -Wl,--version) exec "$linker" --version ;;
        -Wl,-v) exec "$linker" -v ;;
        esac
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=() inputs=() sources=() wants=''
for argument; do
        if [ "$wants" ]; then
                inputs+=("$wants" "$argument")
                wants=''
                continue
        fi
        case $argument in
        -o | -install_name | -compatibility_version | -current_version) wants=$argument ;;
        -Wl,*) IFS=, read -ra words <<<"${argument#-Wl,}" && inputs+=("${words[@]}") ;;
        -dynamiclib | -shared) inputs+=(-dylib) ;;
        *.c) sources+=("$argument") ;;
        *.o | *.a | -L* | -l*) inputs+=("$argument") ;;
        *) flags+=("$argument") ;;
        esac
done
for source in "${sources[@]}"; do
        "${compile[@]}" "${flags[@]}" -c "$source" -o "$scratch/${#inputs[@]}.o"
        inputs+=("$scratch/${#inputs[@]}.o")
done
"$linker" -arch $arch -platform_version macos $oldest $oldest "${inputs[@]}" "$(dirname "$zig")/lib/libc/darwin/libSystem.tbd"
