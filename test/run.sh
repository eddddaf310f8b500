#!/bin/bash
# Runs the test suites named (all of them by default) against the build in $BUILD and sums up what they counted.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export BUILD ABATIS="$BUILD/abatis"
AT_ONCE=${AT_ONCE:-2}

suites=${*:-structure unit schema fuzz toml golden install cli server clients mcp wrap agents skill property seatbelt darwin windows escape bare broker bwrap connect doctor loopback net older prepared faults tree verified}
logs=$(mktemp -d "${TMPDIR:-/var/tmp}/abatis-test.XXXXXX")
trap 'rm -rf "$logs"' EXIT
passed=0 failed=0 skipped=0

run() { # SUITE: its log, its status and how long it took
        local start=$SECONDS
        "test/$1/run.sh" >"$logs/$1" 2>&1 </dev/null
        echo "$? $((SECONDS - start))" >"$logs/$1.end"
}

count() { # SUITE: prints what did not pass and the sum
        local log=$logs/$1 status seconds sum p f s
        read -r status seconds <"$log.end"
        echo "== $1"
        grep -E '^(not ok|skip) ' "$log"
        sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
        if [ -z "$sum" ]; then
                # A suite that died before it counted has failed, whatever it had passed by then.
                tail -n 30 "$log"
                sum="0 passed, 1 failed, 0 skipped"
        elif [ "$status" -ne 0 ] && [[ $sum == *" 0 failed"* ]]; then
                tail -n 30 "$log"
                sum="${sum/ 0 failed/ 1 failed}"
        fi
        echo "$sum"
        echo "($seconds s)"
        read -r p _ f _ s _ <<<"$sum"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
}

wait_for_one() {
        local ended
        wait -n -p ended
        count "${names[$ended]}"
        running=$((running - 1))
}

# Most suites wait half of the time, so two run at once; what they print comes when they are through. Those that look at the terminals, /tmp or shared memory of
# the machine, or at how much of a processor a command has got, run alone afterwards.
alone=" bare cli doctor tree verified "
running=0
for suite in $suites; do
        [[ $alone != *" $suite "* ]] || continue
        [ "$running" -lt "$AT_ONCE" ] || wait_for_one
        run "$suite" &
        names[$!]=$suite
        running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
        wait_for_one
done
for suite in $suites; do
        [[ $alone == *" $suite "* ]] || continue
        run "$suite"
        count "$suite"
done

echo "== all"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
