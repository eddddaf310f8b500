# sums.sh: how a suite in bash says what passed, and which of its tests were asked for. To be sourced; PATTERN is the suite's.
# shellcheck shell=bash disable=SC2034,SC2154 # whoever sources it has the pattern, and prints the sum
passed=0 failed=0 skipped=0
ok() {
        echo "ok $1"
        passed=$((passed + 1))
}
not_ok() { # NAME REASON
        echo "not ok $1 - $2"
        failed=$((failed + 1))
}
check() { # NAME CONDITION-CODE TEXT
        if (($2)); then not_ok "$1" "exit $2: ${3:0:300}"; else ok "$1"; fi
}
wants() { # NAME
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $1 == $PATTERN ]]
}
take() { # PART COMMAND...: prints what it says, and sums it
        local part=$1 line summed=
        shift
        while IFS= read -r line; do
                if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
                        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
                        skipped=$((skipped + BASH_REMATCH[3]))
                        summed=1
                else
                        printf '%s\n' "$line"
                fi
        done < <("$@" 2>&1)
        if [ -z "$summed" ]; then
                echo "not ok ${part}_runs_to_its_end - it stopped early"
                failed=$((failed + 1))
        fi
}
