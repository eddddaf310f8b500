#!/bin/bash
# run.sh: the README claims of each clause and backend what the tests of this build have found out, and script/verified.py sees when it does not.
#
#   BUILD=/path/to/build test/verified/run.sh       after the suites doctor, golden, seatbelt and, if it was run, kernel
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
export PATTERN='*'
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
script=../../script/verified.py

said=$(python3 $script check "$BUILD" 2>&1)
[[ $said =~ [0-9]+\ passed,\ [0-9]+\ failed ]] || not_ok the_table_can_be_checked "$(tail -n 1 <<<"$said")"
while IFS= read -r line; do
        case $line in
        "ok "*) passed=$((passed + 1)) ;;
        "not ok "*) failed=$((failed + 1)) ;;
        "skip "*) skipped=$((skipped + 1)) ;;
        *) continue ;;
        esac
        echo "$line"
done <<<"$said"

# ---- what it must see ----
T=$(mktemp -d /var/tmp/abatis-verified.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT
found() { # FILE MACHINE HOW LINE...: "clause,column,verdict"
        local file=$1 machine=$2 how=$3 line
        shift 3
        echo "# $machine" >"$T/build/verified/$file.tsv"
        for line; do printf '%s\t%s\n' "${line//;/$'\t'}" "$how" >>"$T/build/verified/$file.tsv"; done
}
fresh() { # a build, and a README that was made from it
        rm -rf "$T/build"
        mkdir -p "$T/build/verified"
        touch -d '1 hour ago' "$T/build/abatis"
        found here "Linux 6.18" here "filesystem.read;native;held" "filesystem.write;native;held" "limits.cpu;bwrap;refused" "filesystem.write;bwrap;held"
        found vm "Linux 6.1" VM "filesystem.read;native;held"
        found profile "an evaluator" profile "filesystem.read;seatbelt;held"
        found compiled "plans" compiled "filesystem.read;seatbelt;held" "environment;seatbelt;held"
        printf 'before\n%s\n%s\nafter\n' '<!-- verified: script/verified.py writes this -->' '<!-- verified: end -->' >"$T/README.md"
        README=$T/README.md python3 $script write "$T/build"
}
says() { # NAME CODE WORDS
        local code
        TEXT=$(README=$T/README.md python3 $script check "$T/build" 2>&1)
        code=$?
        [ "$code" = "$2" ] && [[ $TEXT == *"$3"* ]]
        check "$1" $? "exit code $code: $TEXT"
}
fresh
says a_table_that_was_just_written_is_right 0 "4 passed, 0 failed, 0 skipped"
[[ $(<"$T/README.md") == before*"| filesystem.read | here, VM | – | profile |"*after ]]
check the_table_says_by_what $? "$(<"$T/README.md")"
[[ $(<"$T/README.md") == *"| limits.cpu | – | refused | – |"*"| environment | – | – | compiled |"* || $(<"$T/README.md") == *"| environment | – | – | compiled |"*"| limits.cpu | – | refused | – |"* ]]
check and_what_was_refused_or_only_compiled $? "$(<"$T/README.md")"
sed -i 's/| limits.cpu | – |/| limits.cpu | here |/' "$T/README.md"
says a_claim_that_nobody_tried 1 "native: limits.cpu is claimed, and was not tried"
fresh
sed -i 's/| limits.cpu | – | refused/| limits.cpu | – | here/' "$T/README.md"
says a_claim_that_was_refused 1 "bwrap: limits.cpu is claimed, and was not seen"
fresh
found here "Linux 6.18" here "filesystem.read;native;held" "filesystem.write;native;not held" "filesystem.write;bwrap;held"
says a_clause_that_does_not_hold 1 "native: filesystem.write is not held"
fresh
found here "Linux 6.18" here "filesystem.read;native;held" "filesystem.write;native;held" "limits.cpu;bwrap;held" "filesystem.write;bwrap;held"
says a_table_that_is_older_than_the_tests 1 "bwrap: limits.cpu was seen, and the README does not say so"
fresh
found profile "an evaluator" profile "filesystem.write;seatbelt;held"
says a_profile_that_was_not_looked_at 1 "seatbelt: filesystem.read is claimed, and was not tried"
# Without evidence nothing can be said, and another machine is another.
fresh
rm "$T/build/verified/vm.tsv"
says a_kind_that_was_not_run_is_skipped 0 "3 passed, 0 failed, 1 skipped"
fresh
touch -d '2 hours ago' "$T/build/verified/vm.tsv"
says one_of_another_build_too 0 "skip the_readme_claims_what_was_found_out_by_VM"
fresh
found here "Linux 6.6" here "filesystem.read;native;refused" "filesystem.write;native;held" "limits.cpu;bwrap;held" "filesystem.write;bwrap;refused"
says another_machine_may_hold_other_clauses 0 "4 passed, 0 failed, 0 skipped"
found here "Linux 6.6" here "filesystem.write;native;held"
says a_machine_without_a_backend_says_nothing_of_it 1 "native: filesystem.read is claimed, and was not tried"
[[ $TEXT != *bwrap:* ]]
check but_of_the_others_it_does $? "$TEXT"
fresh
found here "Linux 6.6" here "filesystem.read;native;held" "filesystem.write;native;not held"
says but_none_may_break_one 1 "native: filesystem.write is not held"

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
