#!/bin/bash
# run.sh: builds the fuzz targets, and replays their corpora or looks for new inputs.
#
#   fuzz/run.sh [replay [NAME...]]        every input of fuzz/corpus/NAME once, with any compiler ($CC)
#   fuzz/run.sh fuzz NAME SECONDS         libFuzzer with clang; new inputs go to fuzz/found/NAME, crashes too
#
# A target is a file fuzz_NAME.c with LLVMFuzzerTestOneInput, linked with documents, layers and the reader of programs, and
# with what it names itself in a line "links:"; nothing else names it.
set -u
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/abatis-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

usage() {
        sed -n '4,5s/^# *//p' fuzz/run.sh >&2
        exit 2
}

build() { # NAME COMPILER ARGUMENT...
        local name=$1 compiler=$2 libraries links processor=()
        shift 2
        # The build gives these to one file, which asks the processor first; here they do no harm to the others.
        case $("$compiler" -dumpmachine) in
        aarch64*) processor=(-march=armv8-a+crypto) ;;
        x86_64*) processor=(-mssse3 -msha) ;;
        esac
        # shellcheck disable=SC2207 # patterns, to be expanded
        links=($(sed -n 's/^ \* links: //p' "fuzz/fuzz_$name.c"))
        read -ra libraries < <(pkg-config --cflags --libs jansson yaml-0.1)
        "$compiler" -std=gnu11 -O1 -g -Wall -Wextra "${processor[@]}" -Iinclude -Isrc \
                -o "$scratch/$name" "fuzz/fuzz_$name.c" \
                src/policy/document*.c src/policy/{foreign,keys,layer,lines,place}.c \
                src/base/{address,character,error,executable,host_name,suggest,system_linux,text,units}.c "${links[@]}" "$@" "${libraries[@]}"
}

replay() { # NAME...
        local name said passed=0 failed=0
        for name; do
                if ! said=$(build "$name" "${CC:-cc}" fuzz/replay.c 2>&1); then
                        echo "not ok fuzz_${name}_builds - $(grep -m 1 -E 'error|undefined' <<<"$said")"
                        failed=$((failed + 1))
                elif said=$("$scratch/$name" "fuzz/corpus/$name" 2>&1); then
                        echo "ok fuzz_${name}_survives_its_corpus of $said"
                        passed=$((passed + 1))
                else
                        echo "not ok fuzz_${name}_survives_its_corpus - $(tail -n 3 <<<"$said" | tr '\n' ';')"
                        failed=$((failed + 1))
                fi
        done
        echo "$passed passed, $failed failed, 0 skipped"
        [ "$failed" -eq 0 ]
}

fuzz() { # NAME SECONDS
        local found=fuzz/found/$1 dictionary=()
        mkdir -p "$found" "fuzz/corpus/$1"
        build "$1" "${CC:-clang}" -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
                -fno-sanitize-recover=all || exit 1
        [ ! -e "fuzz/$1.dict" ] || dictionary=(-dict="fuzz/$1.dict")
        nice -n 15 "$scratch/$1" "${dictionary[@]}" -max_total_time="$2" -artifact_prefix="$found/" -timeout=10 \
                -rss_limit_mb=1024 -print_final_stats=1 "$found" "fuzz/corpus/$1"
}

case ${1:-replay} in
replay)
        [ $# -eq 0 ] || shift
        if [ $# -eq 0 ]; then
                for file in fuzz/fuzz_*.c; do
                        file=${file##*/fuzz_}
                        set -- "$@" "${file%.c}"
                done
        fi
        replay "$@"
        ;;
fuzz)
        [ $# -eq 3 ] || usage
        fuzz "$2" "$3"
        ;;
*) usage ;;
esac
