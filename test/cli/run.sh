#!/bin/bash
# run.sh: runs every command-line test script and sums what they found.
#
#   test/cli/run.sh [PART-OF-A-NAME...]
set -u
cd "$(dirname "$0")" || exit 1

passed=0 failed=0 skipped=0
for script in work behaviour stdio result terminal presets badinput paths explain doctor check policy files commands audit record limits leftovers; do
        echo "# $script"
        # The last line is the script's own sum: kept back, and added to the others.
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                        summed=$script
                else
                        printf '%s\n' "$line"
                fi
        done < <(bash "./$script.sh" "$@" 2>&1)
        if [ "${summed-}" != "$script" ]; then
                echo "not ok ${script}_runs_to_its_end - it stopped early"
                failed=$((failed + 1))
        fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
