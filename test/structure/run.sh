#!/bin/bash
# run.sh: runs the structure tests and sums what they counted.
#
#   BUILD=build test/structure/run.sh
set -u
cd "$(dirname "$0")" || exit 1

passed=0 failed=0 skipped=0
for script in layers child_symbols exports files words; do
        echo "# $script"
        summed=
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                        summed=1
                else
                        printf '%s\n' "$line"
                fi
        done < <("./$script.sh" 2>&1)
        if [ -z "$summed" ]; then
                echo "not ok ${script}_runs_to_its_end - it stopped early"
                failed=$((failed + 1))
        fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
