#!/bin/bash
# run.sh: builds and runs the cmocka tests, as root and as an ordinary user, and sums what they say.
#
#   BUILD=build test/unit/run.sh [TEST...]        (default: all but golden, then valgrind.sh)
#
# The binaries are copied to a place that the ordinary user can reach. A build with sanitizers skips valgrind: the two
# look for the same and cannot be combined.
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here uid=4343
BUILD=${BUILD:-$here/../../build}
[ -e "$BUILD/build.ninja" ] || {
        echo "not ok there_is_a_build - no build directory at $BUILD; run make first"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
}
BUILD=$(cd "$BUILD" && pwd)

scratch=$(mktemp -d /var/tmp/abatis-unit-run.XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
passed=0 failed=0 skipped=0

export BUILD
if ! "$here/../build.sh" >"$scratch/log" 2>&1; then
        echo "not ok unit_tests_build - $(grep -m 1 -E 'error|ERROR' "$scratch/log" || tail -n 1 "$scratch/log")"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
fi
cp "$BUILD"/test/unit/test-* "$scratch" 2>/dev/null
mkdir "$scratch/golden"
cp -R "$here"/../golden/hosts "$here"/../golden/plans "$scratch/golden"
GOLDEN_DIR=$scratch/golden
[ -z "${UPDATE_GOLDEN-}" ] || GOLDEN_DIR=$(cd "$here/../golden" && pwd)
export GOLDEN_DIR CMOCKA_MESSAGE_OUTPUT=TAP

count() { # PREFIX STATUS: turns cmocka's TAP into this project's lines
        local line name said='' total=0 seen=0 before=$failed
        while IFS= read -r line; do
                case $line in
                1..*) total=${line#1..} ;;
                *"# SKIP "*)
                        echo "skip $1_${line##*# SKIP } - not possible for this user on this machine"
                        skipped=$((skipped + 1)) seen=$((seen + 1))
                        ;;
                "ok "*)
                        echo "ok $1_${line#ok * - }"
                        passed=$((passed + 1)) seen=$((seen + 1)) said=
                        ;;
                "not ok "*)
                        name=${line#not ok * - }
                        echo "not ok $1_${name%% *} - ${said:-see the next line}"
                        failed=$((failed + 1)) seen=$((seen + 1)) said=
                        ;;
                "" | "# ok - "* | "# not ok - "*) ;;
                "# "*) echo "$line" ;;
                *) said+=${said:+; }$line ;;
                esac
        done
        if [ "$seen" -ne "$total" ] || [ "$total" -eq 0 ]; then
                echo "not ok $1_runs_to_its_end - $seen of $total tests were run: ${said:0:500}"
                failed=$((failed + 1))
        elif [ "$2" -ne 0 ] && [ "$failed" -eq "$before" ]; then
                # Every test passed and yet: a sanitizer that found something at the end.
                echo "not ok $1_ends_clean - exit code $2: ${said:0:500}"
                failed=$((failed + 1))
        fi
}

run_as() { # WHO TEST COMMAND...
        local who=$1 name=$2 home=$scratch/home-$1
        shift 2
        mkdir -p "$home"
        [ "$who" = root ] || [ "$(id -u)" -ne 0 ] || chown $uid:$uid "$home"
        (cd "$home" && HOME=$home exec "$@" "$scratch/test-$name") >"$scratch/out" 2>&1
        count "${who}_$name" $? <"$scratch/out"
}

# Golden plans of systems that do not run here are rows of the table in the README: see script/verified.py.
run_one() { # TEST
        local first=(env)
        if [ "$1" = golden ]; then
                mkdir -p "$BUILD/verified"
                first=(env "VERIFIED=$BUILD/verified/compiled.tsv")
        fi
        if [ "$(id -u)" -ne 0 ]; then
                run_as user "$1" "${first[@]}"
                return
        fi
        run_as root "$1" "${first[@]}"
        [ -n "${UPDATE_GOLDEN-}" ] ||
                run_as user "$1" setpriv --reuid=$uid --regid=$uid --clear-groups
}

tests=("$@")
if [ $# -eq 0 ]; then
        for binary in "$scratch"/test-*; do
                [ "${binary##*/test-}" = golden ] || tests+=("${binary##*/test-}")
        done
fi
for name in "${tests[@]}"; do
        run_one "$name"
done

if [ $# -eq 0 ] && ! grep -q -- '-fsanitize=' "$BUILD/build.ninja"; then
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                else
                        printf '%s\n' "$line"
                fi
        done < <("$here/valgrind.sh" "$BUILD" 2>&1)
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
