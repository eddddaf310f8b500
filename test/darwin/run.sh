#!/bin/bash
# run.sh: macOS's run layer does what a run layer has to: streams, limits, signals, the end of every process.
#
#   BUILD=build test/darwin/run.sh [PATTERN]
#
# There is no Mac here. What is run is src/run/*_darwin.c as it is, in a program for Linux; test/darwin/kernel.c and kqueue.c stand for
# the kernel below it. So this shows nothing of Seatbelt, nor of what a real kqueue does: test/seatbelt/facts.sh asks a Mac.
set -u
here=$(cd "$(dirname "$0")" && pwd)
PATTERN=${1:-*}
BUILD=${BUILD:-$here/../../build}
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. "$here/../sums.sh"

if ! said=$(BUILD="$BUILD" "$here/../build.sh" abatis-darwin darwin-streams 2>&1); then
        echo "not ok darwin_builds - $(grep -m 1 -E 'error|ERROR' <<<"$said" || tail -n 1 <<<"$said")"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
fi
root=$(mktemp -d /var/tmp/abatis-darwin.XXXXXX) || exit 1
trap 'rm -rf "$root"' EXIT
user=()
if [ "$(id -u)" -eq 0 ]; then
        user=(setpriv --reuid=4343 --regid=4343 --clear-groups)
        chown 4343:4343 "$root"
fi
chmod 755 "$root"
cp "$BUILD/abatis-darwin" "$root/abatis"
cp "$BUILD/darwin-streams" "$root/streams"
"${user[@]}" mkdir "$root/ws" "$root/home"
cd "$root/ws" || exit 1

# The program of the test, as an ordinary user; words with = before its own are variables.
abatis() {
        timeout -s KILL 60 "${user[@]}" env -i PATH=/usr/bin:/bin HOME="$root/home" "$@"
}
run() { # FLAG... -- COMMAND...
        abatis "$root/abatis" run "$@"
}
as_user() {
        "${user[@]}" "$@"
}

# Every process that sleeps for so many seconds, which no other one does.
sleepers() { # SECONDS
        ps -eo pid=,stat=,args= | awk -v seconds="$1" '$2 !~ /^Z/ && $3 ~ /sleep$/ && $4 == seconds { print $1 }'
}
wait_for() { # COMMAND...: ten seconds at most
        for ((i = 0; i < 500; i++)); do
                "$@" && return 0
                sleep 0.02
        done
        return 1
}
sleeps() { [ -n "$(sleepers "$1")" ]; }
sleeps_not() { ! sleeps "$1"; }
is_file() { [ -e "$1" ]; }

# Each test is a function; it fails with a reason.
no() {
        echo "$*"
        return 1
}

exit_codes_and_signals_are_the_commands() {
        local code
        run -- sh -c 'exit 7'
        [ $? -eq 7 ] || no "the exit code is another" || return
        run -- sh -c 'kill -9 $$'
        [ $? -eq 137 ] || no "the signal is another" || return
        run -- true || no "true fails"
        run -- nosuchprogram 2>/dev/null
        code=$?
        [ $code -eq 127 ] || no "a program that is not there: $code"
}

output_comes_as_it_was_written() {
        [ "$(run -- sh -c 'echo out; echo err >&2' 2>&1)" = $'out\nerr' ] || no "it is another" || return
        run --json -- sh -c 'echo out; echo err >&2' | grep -q '"stdout":"out\\n","stderr":"err\\n"' || no "not in the object" || return
        run --json --merge -- sh -c 'echo a; echo b >&2; echo c' | grep -q '"stdout":"a\\nb\\nc\\n"' || no "not merged" || return
        [ "$(run -- sh -c 'head -c 3000000 /dev/zero' | wc -c)" -eq 3000000 ] || no "much is cut"
}

a_slow_reader_gets_everything_and_a_limit_cuts() {
        local length
        length=$(run --max-output 2MiB -- sh -c 'head -c 2000000 /dev/zero; echo end' | (sleep 0.5 && tail -c 4))
        [ "$length" = end ] || no "the end is missing" || return
        run --max-output 1000 --json -- sh -c 'head -c 5000 /dev/zero' | grep -q '"truncated":true' || no "nothing was cut"
}

two_streams_to_one_slow_reader_both_get_there() {
        local length
        length=$(abatis "$root/streams" "$root/ws") || no "it fails: $length" || return
        [ "$length" = 600000 ] || no "it is $length"
}

input_comes_from_files_pipes_and_nowhere() {
        echo words >"$root/input"
        [ "$(run -- cat <"$root/input")" = words ] || no "not from a file" || return
        [ "$(echo words | run -- cat)" = words ] || no "not from a pipe" || return
        [ -z "$(run -- cat <&-)" ] || no "from nowhere came something"
}

a_denied_file_is_not_passed_on() {
        as_user mkdir -p "$root/home/.ssh"
        as_user sh -c "echo key >'$root/home/.ssh/id'"
        run -- cat <"$root/home/.ssh/id" 2>&1 | grep -q denies || no "it is read" || return
        as_user sh -c "echo key >'$root/home/other'"
        [ "$(run -- cat <"$root/home/other")" = key ] || no "nor is another"
}

the_time_limit_asks_and_then_kills() {
        local object
        object=$(run --timeout 200ms --json -- sh -c 'trap "echo asked; exit 3" TERM; while :; do sleep 0.05; done')
        [[ $object == *'"stdout":"asked\n"'*'"timed_out":true'*'"limit":"limits.timeout"'* ]] || no "$object" || return
        run --timeout 200ms -- sh -c 'trap "" TERM; while :; do sleep 0.05; done'
        [ $? -eq 124 ] || no "who does not listen is not killed" || return
        run --timeout 30s -- true || no "a short command fails"
}

# A process of another session whose parent is gone; it lives for as many seconds.
daemon() { # SECONDS
        echo "setsid sh -c 'sleep $1 & exec sleep $1' >/dev/null 2>&1 & while ! ps -eo args | grep -q '^sleep $1\$'; do sleep 0.02; done"
}

the_commands_end_ends_its_daemons() {
        run -- sh -c "$(daemon 7001); exit 5"
        [ $? -eq 5 ] || no "the exit code is another" || return
        sleeps_not 7001 || no "they are left" || return
        # Where nothing is enforced, the same are left.
        run --backend none -- sh -c "$(daemon 7002)" 2>/dev/null
        sleeps 7002 || no "they end by themselves, too" || return
        # shellcheck disable=SC2046 # one word for each
        as_user kill $(sleepers 7002)
}

the_time_limit_ends_daemons() {
        run --timeout 1s -- sh -c "$(daemon 7003); sleep 100"
        [ $? -eq 124 ] || no "it has not timed out" || return
        sleeps_not 7003 || no "they are left"
}

a_daemon_that_forks_and_leaves_all_the_time_is_ended() {
        local before
        cat >"$root/ws/hop.py" <<'END'
import os, sys, time
os.setsid()
while True:
    if os.fork():
        os._exit(0)
    with open("hop", "w") as file:
        file.write(str(os.getpid()))
    os.rename("hop", sys.argv[1])
    time.sleep(0.001)
END
        as_user touch hops
        run -- sh -c '/usr/bin/python3 hop.py hops & while [ ! -s hops ]; do sleep 0.02; done; sleep 0.2' || no "it fails" || return
        [ -s hops ] || no "it never ran" || return
        before=$(cat hops)
        sleep 0.3
        [ "$(cat hops)" = "$before" ] || no "it goes on"
}

# In the background: the pid of the program itself, not of a shell around it.
start() { # FLAG... -- COMMAND...
        "${user[@]}" env -i PATH=/usr/bin:/bin HOME="$root/home" "$root/abatis" run "$@" >"$root/said" 2>&1 &
        started=$!
}

the_death_of_the_host_program_ends_all() {
        start -- sh -c "$(daemon 7004); exec sleep 7005"
        wait_for sleeps 7005 || no "it does not start" || return
        kill -KILL "$started"
        wait "$started" 2>/dev/null
        wait_for sleeps_not 7005 || no "the command is left" || return
        wait_for sleeps_not 7004 || no "its daemons are left"
}

the_death_of_the_guard_ends_all() {
        local guard
        start --json -- sh -c "$(daemon 7006); exec sleep 7007"
        wait_for sleeps 7007 || no "it does not start" || return
        guard=$(ps -o pid= --ppid "$started" | head -n 1)
        kill -KILL $guard
        wait "$started"
        sleeps_not 7006 && sleeps_not 7007 || no "some are left" || return
        grep -q '"signal":9' "$root/said" || no "$(cat "$root/said")"
}

a_guard_that_was_killed_leaves_no_directory() {
        local place
        start -- sh -c 'mkdir "$TMPDIR/a" && chmod 000 "$TMPDIR/a"; echo "$TMPDIR"; exec sleep 7009'
        wait_for sleeps 7009 || no "it does not start" || return
        place=$(cat "$root/said")
        [ -d "$place" ] || no "there is no '$place'" || return
        kill -KILL "$(guard_of "$started")"
        wait "$started"
        [ ! -e "$place" ] || no "it is left"
}

guard_of() { ps -o pid= --ppid "$1" | head -n 1 | tr -d ' '; }

a_guard_that_was_stopped_is_not_waited_for() {
        start --timeout 500ms --json -- sh -c "$(daemon 7010); exec sleep 7011"
        wait_for sleeps 7011 || no "it does not start" || return
        kill -STOP "$(guard_of "$started")"
        wait "$started"
        sleeps_not 7010 && sleeps_not 7011 || no "some are left" || return
        grep -q '"timed_out":true' "$root/said" || no "$(cat "$root/said")"
}

a_command_without_its_profile_ends_with_its_guard_too() {
        # What would apply the profile never does.
        printf '#!/bin/sh\nexec sleep 7013\n' >sandbox-exec
        chmod +x sandbox-exec
        "${user[@]}" env -i HAS_THREADS=1 PATH=/usr/bin:/bin HOME="$root/home" "$root/abatis" run -- true >"$root/said" 2>&1 &
        started=$!
        wait_for sleeps 7013 || no "it does not start" || return
        kill -KILL "$(guard_of "$started")"
        wait "$started"
        rm sandbox-exec
        wait_for sleeps_not 7013 || no "it is left"
}

# Where somebody may be left, the job's directory is. It is this one's alone.
rm_place() {
        [[ $(cat place) =~ ^/tmp/abatis-[0-9a-f]{16}$ ]] || no "TMPDIR is '$(cat place)'" || return
        rmdir "$(cat place)" || no "there is none"
}

who_is_not_known_may_be_left() {
        local said
        sleep 7014 &
        said=$(abatis SAYS_NOTHING_OF=$! "$root/abatis" run -- sh -c "echo \"\$TMPDIR\" >place; $(daemon 7015)" 2>&1)
        [ $? -eq 123 ] && [[ $said == *'may be left'* ]] || no "it says: $said" || return
        rm_place || return
        wait_for sleeps_not 7015 || no "who is known was not ended" || return
        kill $!
        wait $! 2>/dev/null
        run -- true || no "nor does it go otherwise"
}

what_was_found_is_ended_though_not_all_can_be() {
        local said
        said=$(abatis HAS_TOO_MANY=1 "$root/abatis" run -- sh -c "echo \"\$TMPDIR\" >place; $(daemon 7016)" 2>&1)
        [ $? -eq 123 ] && [[ $said == *'may be left'* ]] || no "it says: $said" || return
        rm_place || return
        wait_for sleeps_not 7016 || no "it is left, or stopped"
}

a_program_with_threads_tries_no_profile_in_a_copy() {
        abatis HAS_THREADS=1 "$root/abatis" doctor | grep -q 'not tried: this program has threads' || no "it is tried" || return
        abatis "$root/abatis" doctor | grep -q 'an orphan was found by its profile, and ended' || no "nor is it otherwise"
}

signals_go_to_the_command() {
        start -- sh -c 'trap "echo told; exit 9" TERM; touch ready; while :; do sleep 0.05; done'
        wait_for is_file ready || no "it does not start" || return
        kill -TERM "$started"
        wait "$started"
        [ $? -eq 9 ] || no "the exit code is another" || return
        grep -q told "$root/said" || no "it was not told"
}

nothing_is_inherited_but_three_descriptors() {
        local with without
        with=$(run -- sh -c 'ls /proc/self/fd | wc -l' 7</dev/null 8</dev/null 9</dev/null)
        without=$(as_user sh -c 'ls /proc/self/fd | wc -l' 7</dev/null 8</dev/null 9</dev/null)
        [ "$with" -eq 4 ] || no "there are $with" || return # with that of the directory
        [ "$without" -gt 4 ] || no "nor are they without it"
}

the_command_has_a_session_of_its_own() {
        [ "$(run -- sh -c 'ps -o sid= -p $$ | tr -d " "; echo $$' | uniq | wc -l)" -eq 1 ] || no "it has not"
}

its_own_directory_is_there_and_goes() {
        local place
        place=$(run -- sh -c 'mkdir -p "$TMPDIR/a/b" && touch "$TMPDIR/a/b/c" && chmod 000 "$TMPDIR/a" && echo "$TMPDIR"')
        [[ $place == /tmp/abatis-* ]] || no "TMPDIR is '$place'" || return
        [ ! -e "$place" ] || no "it is left" || return
        start -- sh -c 'echo "$TMPDIR"; exec sleep 7008'
        wait_for sleeps 7008 || no "it does not start" || return
        place=$(cat "$root/said")
        [ -d "$place" ] || no "there is no '$place'" || return
        kill -KILL "$started"
        wait "$started" 2>/dev/null
        gone() { [ ! -e "$place" ]; }
        wait_for gone || no "it is left after the host program's death"
}

limits_of_a_process_hold() {
        [ "$(run --open-files 64 -- sh -c 'ulimit -n; ulimit -Hn' | uniq)" = 64 ] || no "not the open files" || return
        run --file-size 1MiB --json -- dd if=/dev/zero of=big bs=1M count=3 | grep -q '"signal":25.*"limit":"limits.file_size"' ||
                no "not the size of files" || return
        run -- dd if=/dev/zero of=big bs=1M count=3 2>/dev/null || no "nor does it go without"
}

limits_of_a_tree_are_refused_by_name() {
        run --memory 1GiB -- touch ran 2>&1 | grep -q 'limits.memory cannot be enforced' || no "not refused" || return
        [ ! -e ran ] || no "it ran all the same"
}

a_terminal_is_one() {
        [ "$(run --pty -- sh -c 'test -t 0 && test -t 1 && echo yes' </dev/null | tr -d '\r')" = yes ] || no "it is none" || return
        [ "$(echo word | run --pty -- sh -c 'read -r line; echo "got $line"' | tr -d '\r' | tail -n 1)" = "got word" ] ||
                no "nothing is typed into it"
}

a_profile_that_is_refused_starts_nothing() {
        abatis REFUSE_PROFILES=1 "$root/abatis" run -- touch ran 2>&1 | grep -q 'does not take the profile' || no "no reason" || return
        abatis REFUSE_PROFILES=1 "$root/abatis" run -- touch ran 2>/dev/null
        [ $? -eq 125 ] || no "the exit code is another" || return
        [ ! -e ran ] || no "it ran all the same" || return
        run -- touch ran && [ -e ran ] || no "nor does it run without"
}

a_host_program_with_threads_leaves_the_profile_to_another() {
        # Without it, nothing starts.
        abatis HAS_THREADS=1 "$root/abatis" run -- touch ran 2>/dev/null && no "it says that it ran" && return 1
        [ ! -e ran ] || no "it ran without a profile" || return
        cat >sandbox-exec <<'END'
#!/bin/sh
: >asked
while [ "${1#-}" != "$1" ]; do
        printf '%s %s\n' "$1" "$2" >>asked
        shift 2
done
exec "$@"
END
        chmod +x sandbox-exec
        [ "$(abatis HAS_THREADS=1 "$root/abatis" run -- sh -c 'echo "$1"; exit 6' sh 'two  words')" = "two  words" ]
        [ $? -eq 0 ] || no "the arguments are others" || return
        abatis HAS_THREADS=1 "$root/abatis" run -- sh -c 'exit 6'
        [ $? -eq 6 ] || no "the exit code is another" || return
        [ "$(grep -cE '^-D (TMP=/tmp/abatis-[0-9a-f]{16}|TTY=/dev/null|JOB=abatis.job.[0-9a-f]{16})$' asked)" -eq 3 ] || no "$(head -n 4 asked)" || return
        grep -q '^-p (version 1)$' asked || no "there is no profile" || return
        rm sandbox-exec asked
}

inside_another_sandbox_there_is_no_backend() {
        rm -f ran
        abatis IS_CONFINED=1 "$root/abatis" run -- touch ran 2>&1 | grep -q 'in a sandbox already' || no "no reason" || return
        [ ! -e ran ] || no "it ran all the same"
}

only_backends_of_macos_are_used() {
        run --backend native -- true 2>&1 | grep -q 'it is for Linux' || no "native is not refused" || return
        run --json -- true | grep -q '"backend":"seatbelt"' || no "seatbelt is not chosen" || return
        run --backend none --json -- true 2>/dev/null | grep -q '"enforced":\[\]' || no "none enforces something"
}

every_job_is_written_down() {
        run -- true
        run -- sh -c 'exit 4'
        abatis "$root/abatis" audit list | tail -n 2 | tr -s ' ' | grep -q 'failed 4' || no "not the end" || return
        abatis "$root/abatis" audit verify | grep -q 'the chain is whole' || no "not whole"
}

many_at_once_do_not_end_each_other() {
        local pids=() pid
        for i in 1 2 3 4; do
                run -- sh -c "sleep 0.$((5 - i)); exit $i" &
                pids+=($!)
        done
        for i in 1 2 3 4; do
                pid=${pids[i - 1]}
                wait "$pid"
                [ $? -eq "$i" ] || no "the exit code of $i is another" || return
        done
}

while read -r name; do
        wants "$name" || continue
        rm -f ran ready big
        if reason=$("$name" 2>&1); then ok "$name"; else not_ok "$name" "$(tail -n 1 <<<"$reason")"; fi
done < <(sed -nE 's/^([a-z_]{12,})\(\) \{$/\1/p' "$here/run.sh")
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
