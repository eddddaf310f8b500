#!/bin/bash
# run.sh: judges the TOML parser by the cases of the public project toml-test, and by the corpus of its fuzz target.
#
#   BUILD=build test/toml/run.sh
#
# The cases are not part of this repository: TOML_TEST names their folder (default: ../shared/data/toml-test).
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
readonly here repo
BUILD=${BUILD:-$repo/build}
cases=${TOML_TEST:-${repo%/*}/shared/data/toml-test}
passed=0 failed=0 skipped=0

judge() {
        local said
        if [ ! -d "$cases/valid" ] || [ ! -d "$cases/invalid" ]; then
                echo "skip toml_is_read_as_toml_test_wants - no cases in $cases; TOML_TEST may name another folder"
                echo "0 passed, 0 failed, 1 skipped"
        elif ! said=$(BUILD="$BUILD" "$here/../build.sh" test/toml/toml-tree 2>&1); then
                echo "not ok toml_tree_builds - $(grep -m 1 -E 'error|ERROR' <<<"$said" || tail -n 1 <<<"$said")"
                echo "0 passed, 1 failed, 0 skipped"
        else
                /usr/bin/python3 "$here/judge.py" "$BUILD/test/toml/toml-tree" "$cases" 2>&1
        fi
}

run() { # NAME COMMAND...
        local line summed=
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                        summed=1
                else
                        printf '%s\n' "$line"
                fi
        done < <("${@:2}")
        if [ -z "$summed" ]; then
                echo "not ok $1_runs_to_its_end - it stopped early"
                failed=$((failed + 1))
        fi
}

run toml_test judge
run fuzz_corpus "$repo/fuzz/run.sh" replay toml
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
