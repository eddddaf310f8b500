#!/bin/bash
# install.sh: what `make install` puts down is all that a program needs to embed abatis, shared or static.
#
#   test/install/install.sh [BUILD-DIRECTORY]     (default: a build of its own with the prefix /opt/abatis-test)
#
# Installs below a scratch DESTDIR, finds the library through pkg-config, and runs the host programs (embed*.c) as root
# and as an ordinary user. Nothing is written outside the scratch directory.
set -u
repo=$(cd "$(dirname "$0")/../.." && pwd)
readonly repo uid=4343

passed=0 failed=0 skipped=0
ok() { echo "ok $1" && passed=$((passed + 1)); }
not_ok() { echo "not ok $1 - $2" && failed=$((failed + 1)); }
expect() { # NAME COMMAND...: passes when the command does
        local name=$1 why
        shift
        if why=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "$(head -c 400 <<<"$why" | tr '\n' ' ')"; fi
}
finish() {
        echo "$passed passed, $failed failed, $skipped skipped"
        [ "$failed" -eq 0 ]
}

scratch=$(mktemp -d /var/tmp/abatis-install.XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
dest=$scratch/dest

# ---- installing ---------------------------------------------------------------------------------------------

option() { # NAME: what the build directory was set up with
        meson introspect --buildoptions "$build" |
                python3 -c 'import json,sys; print(*[o["value"] for o in json.load(sys.stdin) if o["name"] == sys.argv[1]])' "$1"
}

install_given() {
        nice ninja -C "$build" && DESTDIR=$dest meson install -C "$build" --no-rebuild
}

install_own() {
        nice make -C "$repo" install BUILD="$build" PREFIX=/opt/abatis-test DESTDIR="$dest"
}

if [ $# -gt 0 ]; then
        build=$1
        install_given >"$scratch/log" 2>&1 || not_ok installs_below_destdir "$(tail -n 3 "$scratch/log" | tr '\n' ' ')"
else
        build=$scratch/build
        install_own >"$scratch/log" 2>&1 || not_ok installs_below_destdir "$(tail -n 3 "$scratch/log" | tr '\n' ' ')"
fi
if [ "$failed" -ne 0 ]; then
        finish
        exit 1
fi
ok installs_below_destdir
prefix=$(option prefix)
root=$dest$prefix
sanitizers=$(option b_sanitize)

expect nothing_is_installed_beside_the_prefix test -z "$(find "$dest" ! -type d ! -path "$root/*")"
expect command_is_installed test -x "$root/bin/abatis"
expect installed_command_runs "$root/bin/abatis" --version
expect shell_is_the_same_file test "$root/bin/abatis" -ef "$root/bin/abatis-sh" -a ! -L "$root/bin/abatis-sh"
expect installed_shell_runs "$root/bin/abatis-sh" --help
if [ -e "$build/abatis-verify" ]; then
        expect verifier_is_installed_beside_it test -x "$root/bin/abatis-verify" -a "$(find "$root/bin" -name abatis-verify -perm /022)" = ""
fi
expect header_is_installed cmp "$repo/include/abatis.h" "$root/include/abatis.h"
expect manual_is_installed test -n "$(find "$root" -name 'abatis.1*')"

# ---- pkg-config ---------------------------------------------------------------------------------------------

PKG_CONFIG_PATH=$(dirname "$(find "$root" -name abatis.pc)")
export PKG_CONFIG_PATH
package() { # FLAGS...: as on a machine where the prefix is where it was meant to be
        pkg-config --define-variable=prefix="$root" "$@" abatis
}

version=$(sed -nE 's/^#define ABATIS_VERSION_(MAJOR|MINOR|PATCH) //p' "$repo/include/abatis.h" | paste -sd.)
expect pkg_config_knows_the_package package --exists
expect pkg_config_has_the_version_of_the_header test "$(package --modversion)" = "$version"
expect pkg_config_has_the_prefix test "$(pkg-config --variable=prefix abatis)" = "$prefix"
libdir=$(package --variable=libdir)
expect shared_library_is_installed test -e "$libdir/libabatis.so.0"
expect static_library_is_installed test -e "$libdir/libabatis.a"
expect package_does_not_name_the_build_directory bash -c "! grep -rF -e '$build' -e '$dest' '$libdir/pkgconfig'"
expect programs_search_no_path_of_their_own \
        bash -c "! readelf -d '$root/bin/abatis' '$libdir/libabatis.so.0' | grep -E 'RPATH|RUNPATH'"

# ---- embedding ----------------------------------------------------------------------------------------------

readonly programs=(embed embed_jobs embed_prepared)

# The programs of the documentation, as they stand there: each begins with its name.
take_example() { # NAME
        awk -v name="$1" '
                /^```/ { if (inside) exit; begins = 1; next }
                begins { begins = 0; inside = $2 == name ":" }
                inside' "$repo/docs/embedding.md" >"$scratch/$1"
        [ -s "$scratch/$1" ]
}

# shellcheck disable=SC2046
compile_example() { # NAME COMPILER FLAGS...
        local name=$1 compiler=$2
        shift 2
        [ "$sanitizers" = none ] || set -- "$@" "-fsanitize=$sanitizers"
        take_example "$name" &&
                "$compiler" -Wall -Wextra -Werror "$scratch/$name" -o "$scratch/${name%.*}" $(package --cflags) $(package --libs) "$@"
}

run_example() { # NAME EXIT-CODE: with its output in example.out
        local code=0
        (cd "$scratch" && LD_LIBRARY_PATH=$libdir "./$1") >"$scratch/example.out" || code=$?
        cat "$scratch/example.out"
        [ $code = "$2" ]
}

blocking_example() {
        run_example blocking 0 && head -n 2 "$scratch/example.out" | cmp - <(printf 'exit code 2\n%s\n' "$(id -un)") &&
                tail -n +3 "$scratch/example.out" | grep -q '/etc/motd'
}

loop_example() { # Three lines, the last of which is the one that was cancelled.
        run_example loop 0 && [ "$(wc -l <"$scratch/example.out")" = 3 ] &&
                grep -q '"exit_code":1,.*"stdout":"one\\n"' "$scratch/example.out" &&
                grep -q '"stderr":"two\\n"' "$scratch/example.out" &&
                tail -n 1 "$scratch/example.out" | grep -q '"stdout":"three\\n".*"cancelled":true'
}

libuv_example() { # The timer ticks while the command works.
        run_example libuv 3 && grep -v tick "$scratch/example.out" | cmp - <(printf 'work %s\n' 1 2 3) &&
                sed -n '/work 1/,/work 3/p' "$scratch/example.out" | grep -q tick
}

commands_example() {
        run_example commands 0 && cmp "$scratch/example.out" <(printf '0 one\n\n0 two\n\n3 \n')
}

# shellcheck disable=SC2046 # pkg-config's words are meant to be split
compile() { # WAY FLAGS...: every program, linked in that way
        local way=$1 program flags=(-std=gnu11 -g -Wall -Wextra -Werror -pthread)
        shift
        [ "$sanitizers" = none ] || flags+=("-fsanitize=$sanitizers")
        for program in "${programs[@]}"; do
                "${CC:-cc}" "${flags[@]}" "$repo/test/install/$program.c" "$repo/test/install/host.c" \
                        -o "$scratch/$program-$way" $(package --cflags) "$@" || return
        done
}

# shellcheck disable=SC2046
compile_shared() {
        compile shared $(package --libs)
}

# The archive by its name: with -labatis the linker would take the shared library beside it.
# shellcheck disable=SC2046
compile_static() {
        compile static "$libdir/libabatis.a" $(package --static --libs | sed 's/-labatis//')
}

# shellcheck disable=SC2046
compile_fully_static() {
        compile fully_static -static $(package --static --libs)
}

embeds() { # NAME: runs the program as this identity and counts what it says
        local name=$1 line summed=
        shift
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        summed=1
                elif [[ $line =~ ^(not\ ok|ok|skip)\ (.*) ]]; then
                        echo "${BASH_REMATCH[1]} ${name}_${BASH_REMATCH[2]}"
                        case ${BASH_REMATCH[1]} in
                        ok) passed=$((passed + 1)) ;;
                        skip) skipped=$((skipped + 1)) ;;
                        *) failed=$((failed + 1)) ;;
                        esac
                else
                        echo "$line"
                fi
        done < <(cd / && "$@" 2>&1)
        [ -n "$summed" ] || not_ok "${name}_runs_to_its_end" "it stopped early"
}

embed_as() { # WHO PROGRAM WAY
        local home name=$3_as_$1 change=()
        # The first program's facts are the plain ones.
        [ "$2" = embed ] || name=$3_${2#embed_}_as_$1
        home=$(mktemp -d "$scratch/$name.XXXXXX")
        chmod 755 "$home"
        if [ "$1" = user ] && [ "$(id -u)" -eq 0 ]; then
                chown $uid:$uid "$home"
                change=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
        fi
        embeds "$name" env PATH=/usr/bin:/bin HOME="$home" LD_LIBRARY_PATH="$libdir" "${change[@]}" "$scratch/$2-$3" "$home"
}

embed_everywhere() { # WAY
        local program who
        for program in "${programs[@]}"; do
                for who in root user; do
                        [ $who = user ] || [ "$(id -u)" -eq 0 ] || continue
                        embed_as $who "$program" "$1"
                done
        done
}

expect program_builds_with_the_shared_library compile_shared
expect program_builds_with_the_static_library compile_static
expect shared_program_needs_the_library bash -c "readelf -d '$scratch/embed-shared' | grep -q 'NEEDED.*libabatis.so.0'"
expect static_program_needs_no_library bash -c "! readelf -d '$scratch/embed-static' | grep -q libabatis"
expect blocking_example_builds compile_example blocking.c "${CC:-cc}" -std=c99
expect blocking_example_runs blocking_example
expect loop_example_builds compile_example loop.c "${CC:-cc}" -std=c99
expect loop_example_runs loop_example
# shellcheck disable=SC2046
expect libuv_example_builds compile_example libuv.c "${CC:-cc}" -std=gnu99 $(pkg-config --cflags --libs libuv)
expect libuv_example_runs libuv_example
expect example_in_cxx_builds compile_example commands.cpp "${CXX:-c++}" -std=c++11
expect example_in_cxx_runs commands_example
embed_everywhere shared
embed_everywhere static
if [ "$sanitizers" = none ]; then
        expect program_builds_without_any_shared_library compile_fully_static
        embed_everywhere fully_static
fi
finish
