#!/bin/bash
# windows.sh: compiles abatis for Windows, and the test program of its run layer, by every compiler for it.
#
#   script/windows.sh DIRECTORY [x64-mingw|x64-zig|arm64-zig]...       (default: all)
#
# Leaves DIRECTORY/TARGET/abatis.exe, and windows.exe: the run layer (src/run/*_windows.c) and test/windows. A warning is an error. The
# compilers are Debian's mingw-w64 (script/setup.sh cross) and zig (script/fetch.sh), which has its own headers of Windows; jansson and
# libyaml are built from Debian's sources.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- x64-mingw x64-zig arm64-zig
cd "$here"
# Two that compile the same at once can leave a cache behind that names files which are gone: so each directory has its own.
export ZIG_GLOBAL_CACHE_DIR=$directory/zig ZIG_LOCAL_CACHE_DIR=$directory/zig

flags=(-std=gnu11 -O2 -g -Werror -Wall -Wextra -Wno-pedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        -Wpointer-arith -Wwrite-strings -Wcast-align -Wvla -Wswitch-enum -Wundef -fno-strict-aliasing
        -U_WIN32_WINNT -D_WIN32_WINNT=0x0A00 -Iinclude -Isrc)
libraries=(-ladvapi32 -lbcrypt -lshell32 -lole32 -luuid -lntdll -lws2_32)

# The program: all that is not another system's. There is no audit log yet, no relay and no server.
list_sources() {
        find src/base src/policy src/plan src/backend src/skill src/lib src/cli src/run -name '*.c' |
                grep -v -E '_(linux|darwin)\.c$|/sha256_(arm64|x86_64)\.c$|/lib/(audit|recording|skill|skill_engine|skill_native|skill_package)\.c$|/skill/(describe|engine|engine_words|file|installed|lint|package|places|record|signature|store)\.c$|/cli/(cmd_audit|cmd_hook|cmd_mcp|cmd_mcp_wrap|cmd_run|cmd_serve|cmd_sh|cmd_skill|cmd_skill_package|trial_.*)\.c$' |
                grep -v -E '/run/(options|outputs|pipe|stdio|stream|terminal)\.c$|/skill/native/' | sort
        echo src/cli/trial_report.c
}

# The run layer alone, with its test program.
tested=(src/base/character.c src/base/error.c src/base/text.c src/base/wide_windows.c src/plan/plan.c)
for file in src/run/*_windows.c; do
        [ "$file" = src/run/job_windows.c ] || tested+=("$file")
done

# What a configure would find out of jansson and libyaml.
prepare_libraries() {
        local jansson yaml name
        jansson=$("$here/script/fetch.sh" source jansson)
        yaml=$("$here/script/fetch.sh" source libyaml)
        mkdir -p "$directory/libraries"
        cp "$jansson"/src/*.[ch] "$yaml/include/yaml.h" "$yaml"/src/*.[ch] "$directory/libraries"
        sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' "$jansson/src/jansson_config.h.in" >"$directory/libraries/jansson_config.h"
        for name in HAVE_STDINT_H HAVE_SYS_TYPES_H HAVE_LOCALE_H HAVE_STRTOLL HAVE_SYNC_BUILTINS HAVE_ATOMIC_BUILTINS USE_WINDOWS_CRYPTOAPI; do
                echo "#define $name 1"
        done >"$directory/libraries/jansson_private_config.h"
        echo '#define INITIAL_HASHTABLE_ORDER 3' >>"$directory/libraries/jansson_private_config.h"
        for name in 'VERSION_MAJOR 0' 'VERSION_MINOR 2' 'VERSION_PATCH 5' 'VERSION_STRING "0.2.5"'; do
                echo "#define YAML_$name"
        done >"$directory/libraries/config.h"
        python3 script/embed.py "$directory/libraries/profiles.c" policy/profile.h shipped_profile shipped_profiles profiles/*.yaml
        python3 script/embed.py "$directory/libraries/native_sources.c" skill/native_build.h native_source native_sources src/skill/native/*.[ch]
}

run() { # LOG COMMAND...
        "${@:2}" >"$1" 2>&1 || {
                cat "$1" >&2
                exit 1
        }
}

compile() { # TARGET
        local processor=x86_64 instructions=(-mssse3 -msha) sources file objects=()
        case $1 in
        # By its own libc's rules "%zu" is no format, by those of the one it is linked with it is: zig checks them. Nor has it visibility.
        x64-mingw) compiler=(x86_64-w64-mingw32-gcc -Wno-format -Wno-attributes -static) ;;
        x64-zig) compiler=("$("$here/script/fetch.sh" zig)" cc -target x86_64-windows-gnu -Wformat=2) ;;
        arm64-zig)
                compiler=("$("$here/script/fetch.sh" zig)" cc -target aarch64-windows-gnu -Wformat=2)
                processor=arm64 instructions=(-mcpu=generic+crypto)
                ;;
        *)
                echo "windows: no such target: $1" >&2
                exit 2
                ;;
        esac
        mkdir -p "$directory/$1"
        # In one go, which zig does in a tenth of the time; what it brings of a libc it compiles too, with warnings of its own.
        run "$directory/$1/log" "${compiler[@]}" "${flags[@]}" "${tested[@]}" test/windows/*.c "${libraries[@]}" -o "$directory/$1/windows.exe"
        run "$directory/$1/log" "${compiler[@]}" -O2 -ffreestanding "${instructions[@]}" -Isrc -Iinclude -c "src/base/sha256_$processor.c" -o "$directory/$1/sha256.o"
        for file in "$directory"/libraries/*.c; do
                [[ $file != */profiles.c && $file != */native_sources.c ]] || continue
                run "$directory/$1/log" "${compiler[@]}" -O2 -w -DHAVE_CONFIG_H -DYAML_DECLARE_STATIC -I"$directory/libraries" -c "$file" -o "$directory/$1/${file##*/}.o"
                objects+=("$directory/$1/${file##*/}.o")
        done
        mapfile -t sources < <(list_sources)
        run "$directory/$1/log" "${compiler[@]}" "${flags[@]}" -DYAML_DECLARE_STATIC -Isrc/base/windows -isystem "$directory/libraries" -include base/posix_windows.h \
                "${sources[@]}" "$directory/libraries/"{profiles,native_sources}.c "${objects[@]}" "$directory/$1/sha256.o" "${libraries[@]}" -o "$directory/$1/abatis.exe"
}

prepare_libraries
for target in "$@"; do
        compile "$target"
done
