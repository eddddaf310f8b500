#!/bin/bash
# Runs the test suites named (all of them by default) against the build in $BUILD and sums up what they counted.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export BUILD ABATIS="$BUILD/abatis"

suites=${*:-structure unit schema fuzz toml golden install cli property escape bare broker connect net older prepared faults tree}
log=$(mktemp "${TMPDIR:-/var/tmp}/abatis-test.XXXXXX")
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

for suite in $suites; do
        echo "== $suite"
        SECONDS=0
        "test/$suite/run.sh" >"$log" 2>&1
        status=$?
        grep -E '^(not ok|skip) ' "$log"
        sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
        if [ -z "$sum" ]; then
                # A suite that died before it counted has failed, whatever it had passed by then.
                tail -n 30 "$log"
                sum="0 passed, 1 failed, 0 skipped"
        elif [ $status -ne 0 ] && [[ $sum == *" 0 failed"* ]]; then
                tail -n 30 "$log"
                sum="${sum/ 0 failed/ 1 failed}"
        fi
        echo "$sum"
        echo "($SECONDS s)"
        read -r p _ f _ s _ <<<"$sum"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
done

echo "== all"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
