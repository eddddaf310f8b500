#!/bin/bash
# run.sh: judges the TOML parser by the cases of the public project toml-test.
#
#   BUILD=build test/toml/run.sh
#
# The cases are not part of this repository: TOML_TEST names their folder (default: ../shared/data/toml-test).
set -u
here=$(cd "$(dirname "$0")" && pwd)
readonly here
BUILD=${BUILD:-$here/../../build}
cases=${TOML_TEST:-$here/../../../shared/data/toml-test}

if [ ! -d "$cases/valid" ] || [ ! -d "$cases/invalid" ]; then
        echo "skip toml_is_read_as_toml_test_wants - no cases in $cases; set TOML_TEST to a checkout of toml-test's tests"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
fi
if ! said=$({ meson configure "$BUILD" -Dtests=true && nice ninja -C "$BUILD" test/toml/toml-tree; } 2>&1); then
        echo "not ok toml_tree_builds - $(grep -m 1 -E 'error|ERROR' <<<"$said" || tail -n 1 <<<"$said")"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
fi
exec /usr/bin/python3 "$here/judge.py" "$BUILD/test/toml/toml-tree" "$cases"
