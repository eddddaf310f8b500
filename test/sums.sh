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
