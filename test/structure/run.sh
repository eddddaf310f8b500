#!/bin/bash
# run.sh: runs the structure tests and sums what they counted.
#
#   BUILD=build test/structure/run.sh
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh

for script in layers child_symbols exports files words; do
        echo "# $script"
        take "$script" "./$script.sh"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
