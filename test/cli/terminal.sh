#!/bin/bash
# terminal.sh: --pty: a terminal of the command's own, behind the caller's.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

keyboard() { # STEP... -- COMMAND...
        python3 "$TEST_DIR/terminal.py" 33 99 "$@" >"$T/shown" 2>"$T/err" || fail "no terminal: $(said)"
}

shows() { # TEXT
        grep -qF -- "$1" "$T/shown" || fail "'$1' is not shown: $(tr '\n' ' ' <"$T/shown")"
}

test_the_command_has_a_terminal_of_its_own() {
        FLAGS=(--pty)
        capture sandbox sh -c 'tty && test -t 0 && test -t 1 && test -t 2 && ls -l "$(tty)" && echo over >/dev/tty' </dev/null
        [ "$RC" = 0 ] || fail "exit code $RC: $(<"$T/out")"
        # Where there are no namespaces it is one of the machine's.
        [ "$ROLE" = bare ] && number='[0-9]' || number=0
        grep -q "^/dev/pts/$number" "$T/out" || fail "it is $(<"$T/out")"
        grep -q '^over' "$T/out" || fail "/dev/tty leads elsewhere: $(<"$T/out")"
        FLAGS=()
        capture sandbox tty </dev/null
        [ "$RC" = 1 ] || fail "without --pty it has one too"
}

test_it_has_the_size_of_the_caller_s() {
        keyboard -- "$ABATIS" run --pty -- stty size
        shows '33 99'
        shows 'exit 0'
}

test_a_new_size_is_passed_on() {
        keyboard wait:ready size:44x111 wait:changed -- "$ABATIS" run --pty -- \
                sh -c 'trap "echo changed; stty size; exit 5" WINCH; echo ready; while :; do sleep 0.05; done'
        shows '44 111'
        shows 'exit 5'
}

test_what_is_typed_reaches_the_command() {
        keyboard 'wait:ready' 'type:one\ntwo\n\x04' -- "$ABATIS" run --pty -- sh -c 'echo ready; tr a-z A-Z'
        shows ONE
        shows TWO
        shows 'exit 0'
        shows 'mode kept'
}

test_keys_make_signals_inside() {
        keyboard wait:ready 'type:\x03' -- "$ABATIS" run --pty -- \
                python3 -c 'import time; print("ready", flush=True); time.sleep(60)'
        shows 'exit 130'
        shows 'mode kept'
        keyboard wait:ready 'type:\x03' wait:caught 'type:\x04' -- "$ABATIS" run --pty -- \
                python3 -c 'import os, signal, sys
# Not print: the key may come before the print of "ready" has returned, and Python refuses a second one inside it.
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"caught\n"))
print("ready", flush=True)
sys.stdin.read()
sys.exit(7)'
        shows 'exit 7'
}

test_a_command_that_never_runs_leaves_the_mode() {
        keyboard -- "$ABATIS" run --pty -- no-such-program
        shows 'exit 127'
        shows 'mode kept'
        keyboard -- "$ABATIS" run --pty --timeout 300ms -- sleep 60
        shows 'exit 124'
        shows 'mode kept'
}

test_the_end_of_a_pipe_is_the_end_of_the_input() {
        FLAGS=(--pty)
        capture sandbox cat < <(printf 'whole\n')
        grep -q whole "$T/out" || fail "it got $(<"$T/out")"
        [ "$RC" = 0 ] || fail "exit code $RC"
        capture sandbox cat < <(printf 'a line without an end')
        [ "$RC" = 0 ] || fail "exit code $RC without a newline"
        capture sandbox cat </dev/null
        [ "$RC" = 0 ] || fail "exit code $RC of /dev/null"
        echo 'from a file' >"$W/file"
        capture sandbox cat <"$W/file"
        grep -q 'from a file' "$T/out" || fail "it got $(<"$T/out")"
}

test_much_is_typed_and_shown() {
        FLAGS=(--pty)
        seq 60000 >"$T/much"
        capture sandbox sh -c 'stty -echo; cat >all; wc -l <all; tail -n 1 all' <"$T/much"
        cmp -s "$T/much" "$W/all" || fail "it got $(tail -n 2 "$T/out")"
        capture sandbox sh -c 'stty -onlcr; head -c 3000000 /dev/zero | tr "\0" y' </dev/null
        [ "$(tr -dc y <"$T/out" | wc -c)" = 3000000 ] || fail "$(wc -c <"$T/out") bytes were shown"
}

test_what_it_shows_can_be_collected() {
        capture "$ABATIS" run --json --pty -- sh -c 'echo out; echo err >&2' </dev/null
        json_is "$T/out" 'r["stdout"] == "out\r\nerr\r\n" and r["stderr"] == "" and r["exit_code"] == 0'
        capture "$ABATIS" run --pty --max-output 200 -- seq 1000 </dev/null
        [ "$(wc -c <"$T/out")" -le 200 ] || fail "$(wc -c <"$T/out") bytes were shown"
}

test_the_policy_holds_on_a_terminal_too() {
        FLAGS=(--pty --deny "$T/secret")
        echo secret >"$T/secret"
        echo open >"$T/open"
        capture sandbox cat "$T/secret" </dev/null
        [ "$RC" != 0 ] || fail "it was read"
        capture sandbox cat "$T/open" </dev/null
        [ "$RC" = 0 ] || fail "its neighbour was not: $(<"$T/out")"
        FLAGS=(--pty)
        capture sandbox python3 -c 'import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b"x")' </dev/null
        [ "$RC" != 0 ] || fail "input was pushed into the terminal"
}

main "$@"
