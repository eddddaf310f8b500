#!/bin/sh
# facts.sh: asks a Mac what the profiles rely on, tries those of the golden plans, and puts abatis itself through its promises. Written
# without a Mac, and not run on one yet.
#
#   sh test/seatbelt/facts.sh [ABATIS]          on macOS, as an ordinary user, outside any sandbox; it changes nothing but directories in
#                                               /var/tmp and /tmp, which it removes
#
# ABATIS is the program, built there (make; by default build/abatis) or elsewhere (make cross, on Linux): without one the last part is skipped.
# "ok" and "not ok" are about what must be so. "told" is about what nobody knows for certain and no promise depends on.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "$(uname)" != Darwin ] || [ ! -x /usr/bin/sandbox-exec ]; then
        echo "skip facts_of_seatbelt - this is no Mac"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
fi
root=$(mktemp -d /var/tmp/abatis-facts.XXXXXX) || exit 1
own=$(mktemp -d /private/tmp/abatis-own.XXXXXX) || exit 1
other=$(mktemp -d /private/tmp/abatis-other.XXXXXX) || exit 1
trap 'rm -rf "$root" "$own" "$other"' EXIT
real=/private$root # as the kernel has it
open='(version 1)(allow default)'
passed=0 failed=0 skipped=0
abatis=${1:-$here/../../build/abatis}
case $abatis in /*) ;; *) abatis=$PWD/$abatis ;; esac

in_profile() { # PROFILE COMMAND...
        profile=$1
        shift
        /usr/bin/sandbox-exec -D "TMP=$own" -D TTY=/dev/null -D JOB=abatis.facts -p "$profile" "$@" >/dev/null 2>&1
}

count() { # NAME RESULT
        if [ "$2" = 0 ]; then
                echo "ok $1"
                passed=$((passed + 1))
        else
                echo "not ok $1 - $3"
                failed=$((failed + 1))
        fi
}

allows() { # NAME PROFILE COMMAND...
        name=$1
        shift
        in_profile "$@"
        count "$name" $? "it is refused"
}

refuses() { # NAME PROFILE COMMAND...: and without the profile's rules it works
        name=$1 rules=$2
        shift 2
        if ! in_profile "$open" "$@"; then
                count "$name" 1 "it fails without any rule, too"
        elif in_profile "$rules" "$@"; then
                count "$name" 1 "it is allowed"
        else
                count "$name" 0
        fi
}

tell() { # NAME PROFILE COMMAND...
        name=$1
        shift
        if in_profile "$@"; then echo "told $name: no"; else echo "told $name: yes"; fi
}

mkdir -p "$root/Dir/deep" "$root/ws/a/b"
echo secret >"$root/Dir/File"
echo secret >"$root/x.env"
echo secret >"$root/xenv"
echo secret >"$root/ws/a/b/file"
file=$real/Dir/File

# ---- rules ----
refuses a_rule_for_a_file_holds "$open(deny file-read* (literal \"$file\"))" cat "$file"
refuses a_later_refusal_wins "$open(allow file-read* (literal \"$file\"))(deny file-read* (literal \"$file\"))" cat "$file"
allows a_later_permission_wins "$open(deny file-read* (literal \"$file\"))(allow file-read* (literal \"$file\"))" cat "$file"
tell a_refusal_of_the_narrower_operation_wins_over_a_later_permission \
        "$open(deny file-read-data (literal \"$file\"))(allow file-read* (literal \"$file\"))" cat "$file"
refuses group_and_members_together_are_refused \
        "$open(allow file-read-data (literal \"$file\"))(deny file-read* file-read-data file-read-metadata (literal \"$file\"))" cat "$file"

# ---- paths ----
refuses a_link_is_judged_by_what_it_leads_to "$open(deny file-read* (literal \"$file\"))" cat "$root/Dir/File"
refuses the_other_name_of_the_disk_is_judged_by_the_first "$open(deny file-read* (subpath \"$real/Dir\"))" cat "/System/Volumes/Data$file"
refuses literal_and_subpath_have_a_plain_file "$open(deny file-read* (literal \"$file\") (subpath \"$file\"))" cat "$file"
tell subpath_has_a_plain_file "$open(deny file-read* (subpath \"$file\"))" cat "$file"
tell subpath_takes_cases_for_the_same "$open(deny file-read* (subpath \"$real/dir\"))" cat "$file"
tell literal_takes_cases_for_the_same "$open(deny file-read* (literal \"$real/dir/file\"))" cat "$file"
refuses another_case_in_the_question_changes_nothing "$open(deny file-read* (literal \"$file\"))" cat "$real/dIR/fILE"

# ---- regular expressions, in plain strings ----
refuses sets_for_both_cases_hold "$open(deny file-read* (regex \"^$real/[dD][iI][rR](/|\$)\"))" cat "$file"
refuses an_escaped_dot_is_a_dot "$open(deny file-read* (regex \"x\\\\.env\$\"))" cat "$root/x.env"
allows an_escaped_dot_is_no_other_character "$open(deny file-read* (regex \"x\\\\.env\$\"))" cat "$root/xenv"
refuses groups_repeat "$open(deny file-read* (regex \"^/private(/[^/]+)*/[fF][iI][lL][eE](/|\$)\"))" cat "$root/ws/a/b/file"
refuses groups_may_be_missing "$open(deny file-read* (regex \"^(/System/Volumes/Data)?$real/Dir(/|\$)\"))" cat "$file"
echo secret >"$root/é1"
refuses other_letters_are_a_run "$open(deny file-read* (regex \"^$real/([ -.0-~]|[^ -~]+)1\$\"))" cat "$root/é1"

# ---- moving and linking ----
closed="$open(deny file-write-create file-write-unlink (literal \"$real/ws/a\"))"
refuses a_pinned_directory_cannot_be_moved "$closed" sh -c "mv '$root/ws/a' '$root/ws/c' && mv '$root/ws/c' '$root/ws/a'"
refuses a_pinned_directory_cannot_be_made "$open(deny file-write-create (literal \"$real/ws/n\"))" sh -c "mkdir '$root/ws/n' && rmdir '$root/ws/n'"
refuses a_directory_cannot_be_moved_to_a_pinned_name "$open(deny file-write-create (literal \"$real/ws/n\"))" \
        sh -c "mkdir '$root/ws/m' && mv '$root/ws/m' '$root/ws/n' && rmdir '$root/ws/n'"
rm -rf "$root/ws/m"
refuses no_hard_link_to_what_may_not_be_linked "$open(deny file-link (literal \"$file\"))" sh -c "ln '$file' '$root/ws/l' && rm '$root/ws/l'"
/bin/ps >/dev/null 2>&1 && ! in_profile "$open" /bin/ps
count setuid_programs_do_not_start $? "ps does, or it does not work at all"

# ---- the profiles of the golden plans ----
in_any_case() { # PATH: as the profiles' regular expressions have it
        echo "$1" | awk '{ for (i = 1; i <= length($0); i++) { c = substr($0, i, 1)
                if (c ~ /[a-zA-Z]/) printf "[%s%s]", tolower(c), toupper(c)
                else if (c == ".") printf "\\\\."
                else printf "%s", c } }'
}

profile_of() { # GOLDEN FILE
        awk -v root="$root" -v cases="$(in_any_case "$root" | sed 's/\\/\\\\/g')" '
                function put(text, from, to,    at, out) {
                        while ((at = index(text, from)) > 0) {
                                out = out substr(text, 1, at - 1) to
                                text = substr(text, at + length(from))
                        }
                        return out text
                }
                /^stays visible$/ || /^commands$/ { inside = 0 }
                inside { print put(put($0, "@ROOT IN ANY CASE@", cases), "@ROOT@", root) }
                /^profile$/ { inside = 1 }' "$1"
}

for golden in "$here"/../golden/macos-*.txt; do
        in_profile "$(profile_of "$golden")" /usr/bin/true
        [ $? -ne 65 ] # its compiler's status for a profile that it does not take
        count "is_compiled_$(basename "$golden" .txt)" $? "it is no profile"
done

mkdir -p "$root/home/u/.ssh" "$root/home/u/project/.git/hooks"
echo key >"$root/home/u/.ssh/id"
dev=$(profile_of "$here/../golden/macos-15.dev.txt")
allows dev_starts_programs "$dev" /bin/sh -c true
allows dev_writes_in_the_workspace "$dev" touch "$root/home/u/project/x"
allows dev_has_a_directory_of_its_own "$dev" touch "$own/x"
allows dev_writes_to_null "$dev" /bin/sh -c 'echo x >/dev/null'
refuses dev_writes_nowhere_else "$dev" touch "$root/home/u/x"
refuses dev_has_no_other_tmp "$dev" touch "$other/x"
refuses dev_reads_no_secret "$dev" cat "$root/home/u/.ssh/id"
refuses dev_reads_no_secret_in_another_case "$dev" cat "$root/home/u/.SSH/id"
refuses dev_reads_no_secret_by_the_disks_other_name "$dev" cat "/System/Volumes/Data$real/home/u/.ssh/id"
refuses dev_writes_no_hook "$dev" touch "$root/home/u/project/.git/hooks/x"
refuses dev_moves_no_repository "$dev" sh -c "mv '$root/home/u/project/.git' '$root/home/u/project/g' && mv '$root/home/u/project/g' '$root/home/u/project/.git'"
refuses dev_signals_nobody "$dev" kill -0 $$
/usr/bin/nc -l -k 127.0.0.1 47113 >/dev/null 2>&1 &
listener=$!
sleep 1
refuses dev_reaches_no_network "$dev" /usr/bin/nc -z -G 2 127.0.0.1 47113
kill "$listener"

# ---- abatis itself ----
home=$real/abatis-home ws=$real/abatis-ws
mkdir -p "$home/.ssh" "$ws"
echo key >"$home/.ssh/id"
echo word >"$home/plain"

run() { # FLAG... -- COMMAND...
        (cd "$ws" && env HOME="$home" "$abatis" run "$@")
}

holds() { # NAME FLAGS COMMAND...: it is refused with these flags, and works where nothing is enforced
        name=$1 flags=$2
        shift 2
        # shellcheck disable=SC2086 # several words
        if ! run --backend none -- "$@" >/dev/null 2>&1; then
                count "$name" 1 "it fails where nothing is enforced, too"
        elif run $flags -- "$@" >/dev/null 2>&1; then
                count "$name" 1 "it is allowed"
        else
                count "$name" 0
        fi
}

works() { # NAME FLAGS COMMAND...
        name=$1 flags=$2
        shift 2
        # shellcheck disable=SC2086 # several words
        said=$(run $flags -- "$@" 2>&1)
        count "$name" $? "$said"
}

gives() { # NAME STATUS FLAGS COMMAND...
        name=$1 wanted=$2 flags=$3
        shift 3
        # shellcheck disable=SC2086 # several words
        run $flags -- "$@" >/dev/null 2>&1
        code=$?
        [ $code -eq "$wanted" ]
        count "$name" $? "the exit code is $code"
}

# A process of another session whose parents are gone, and a moment for it to begin.
daemon() { # SECONDS
        echo "use POSIX; if (fork) { sleep 1; exit 5 } setsid; exit if fork; exec '/bin/sleep', '$1'"
}

sleeps() { # SECONDS
        pgrep -f "^/bin/sleep $1\$" >/dev/null
}

promises() {
        env HOME="$home" "$abatis" doctor
        count doctor_finds_everything_that_is_needed $? "it does not"
        works a_command_runs "" /bin/sh -c 'test "$(echo word)" = word'
        works it_reads_what_is_not_denied "" cat "$home/plain"
        holds it_reads_no_secret "" cat "$home/.ssh/id"
        holds it_reads_no_secret_in_another_case "" cat "$home/.SSH/id"
        works it_writes_in_its_workspace "" touch "$ws/x"
        holds it_writes_nowhere_else "" touch "$home/x"
        works it_has_a_directory_of_its_own "" /bin/sh -c 'touch "$TMPDIR/x" && case $TMPDIR in /private/tmp/abatis-*) ;; *) exit 1 ;; esac'
        own_tmp=$(run -- /bin/sh -c 'mkdir -p "$TMPDIR/a/b" && chmod 000 "$TMPDIR/a" && echo "$TMPDIR"')
        [ -n "$own_tmp" ] && [ ! -e "$own_tmp" ]
        count that_directory_is_removed $? "'$own_tmp' is left"
        holds it_has_no_other_tmp "" touch "$other/y"
        /usr/bin/nc -l -k 127.0.0.1 47114 >/dev/null 2>&1 &
        listener=$!
        sleep 1
        holds it_reaches_no_network "--net deny" /usr/bin/nc -z -G 2 127.0.0.1 47114
        works it_reaches_one_that_is_allowed "--net allow" /usr/bin/nc -z -G 2 127.0.0.1 47114
        kill "$listener"
        holds it_signals_nobody_outside "" kill -0 $$
        gives exit_codes_are_passed_on 7 "" /bin/sh -c 'exit 7'
        gives signals_are_told 137 "" /bin/sh -c 'kill -9 $$'
        gives a_program_that_is_not_there_is_told 127 "" nosuchprogram
        gives the_time_limit_ends_it 124 "--timeout 1s" /bin/sleep 30
        gives the_time_limit_kills_who_does_not_listen 124 "--timeout 1s" /bin/sh -c 'trap "" TERM; while :; do sleep 1; done'
        works a_terminal_of_its_own_is_one "--pty" /bin/sh -c 'test -t 0 && test -t 1'
        works a_limit_of_open_files_holds "--open-files 64" /bin/sh -c 'test "$(ulimit -n)" = 64'
        run --json -- /bin/sh -c 'echo out; echo err >&2' | grep -q '"stdout":"out\\n","stderr":"err\\n"'
        count output_is_collected $? "it is another"
        gives its_end_is_told_though_it_left_a_daemon 5 "" /usr/bin/perl -e "$(daemon 7301)"
        ! sleeps 7301
        count its_end_ends_its_daemons $? "one is left"
        run --backend none -- /usr/bin/perl -e "$(daemon 7302)" >/dev/null 2>&1
        sleeps 7302
        count where_nothing_is_enforced_they_are_left $? "it was ended by something else"
        pkill -f '^/bin/sleep 7302$'
        (cd "$ws" && HOME=$home exec "$abatis" run -- /bin/sleep 7303) &
        started=$!
        sleep 1
        sleeps 7303
        count a_command_runs_in_the_background $? "it does not"
        kill -9 "$started"
        sleep 2
        ! sleeps 7303
        count the_death_of_abatis_ends_it $? "it is left"
        env HOME="$home" "$abatis" audit verify >/dev/null
        count all_of_it_was_written_down $? "the log is not whole"
}

if [ -x "$abatis" ]; then
        promises
else
        echo "skip promises_of_abatis - there is no program '$abatis'"
        skipped=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
