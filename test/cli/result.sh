#!/bin/bash
# result.sh: the result object of --json and --result-fd is complete, true and always valid JSON.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

json() { # CMD...: runs it with --json; the object is in $T/out, the exit code in RC
        capture "$ABATIS" run --json ${FLAGS[@]+"${FLAGS[@]}"} -- "$@"
        [ ! -s "$T/err" ] || fail "wrote to stderr: $(said)"
}

is() { # EXPRESSION over r
        json_is "$T/out" "$1"
}

test_the_object_has_every_key_with_its_type() {
        json sh -c 'echo out; echo err >&2; exit 3'
        [ "$RC" = 3 ] || fail "exit code $RC"
        is 'r["argv"] == ["sh", "-c", "echo out; echo err >&2; exit 3"]'
        is 'r["exit_code"] == 3 and type(r["exit_code"]) is int'
        is 'not r["signal"] and type(r["signal"]) in (int, type(None))'
        is 'r["stdout"] == "out\n" and r["stderr"] == "err\n"'
        is 'type(r["duration_ms"]) in (int, float) and 0 < r["duration_ms"] < 60000'
        is 'r["truncated"] is False and r["timed_out"] is False and r["cancelled"] is False'
        is 'type(r["backend"]) is str and r["backend"] != ""'
        is 'type(r["enforced"]) is list and len(r["enforced"]) >= 5'
        is 'r["not_enforced"] == []'
        is '"stdout_base64" not in r and "stderr_base64" not in r'
        [ "$(wc -l <"$T/out")" = 1 ] || fail "not one line"
}

test_a_signal_is_reported() {
        json sh -c 'kill -KILL $$'
        [ "$RC" = 137 ] || fail "exit code $RC"
        is 'r["signal"] == 9 and r["exit_code"] in (-1, None, 137)'
        is 'r["timed_out"] is False'
}

test_a_timeout_is_reported_with_the_output_before_it() {
        FLAGS=(--timeout 1s)
        json sh -c 'echo before; sleep 300'
        [ "$RC" = 124 ] || fail "exit code $RC"
        is 'r["timed_out"] is True and r["stdout"] == "before\n" and r["duration_ms"] >= 900'
}

test_a_command_that_exits_with_124_is_not_taken_for_a_timeout() {
        FLAGS=(--timeout 60s)
        json sh -c 'exit 124'
        [ "$RC" = 124 ] || fail "exit code $RC"
        is 'r["timed_out"] is False and r["exit_code"] == 124'
}

test_utf_8_output_is_a_string() {
        json printf '%s' $'ünï 日本 \U0001F600 "quoted" back\\slash\ttab\r\n\e[31m\x7f \u2028'
        is 'r["stdout"] == "ünï 日本 \U0001F600 \"quoted\" back\\slash\ttab\r\n\x1b[31m\x7f \u2028"'
        json true
        is 'r["stdout"] == "" and r["stderr"] == ""'
}

test_output_that_is_not_utf_8_is_base64() {
        local bytes
        # A lone continuation, a cut sequence, an overlong slash, a surrogate, beyond U+10FFFF, plain Latin-1.
        for bytes in '\x80' 'ab\xe6\x97' '\xc0\xaf' '\xed\xa0\x80' '\xf4\x90\x80\x80' 'caf\xe9'; do
                json printf "$bytes"
                is "'stdout' not in r and base64.b64decode(r['stdout_base64'], validate=True) == b'$bytes'"
                is 'r["stderr"] == ""'
        done
        json sh -c 'echo fine; printf "\377" >&2'
        is 'r["stdout"] == "fine\n" and "stderr" not in r and r["stderr_base64"] == "/w=="'
}

test_nul_bytes_in_the_output_survive() {
        json printf 'a\0b\0'
        is 'r.get("stdout", "").encode() == b"a\0b\0" or
            base64.b64decode(r["stdout_base64"]) == b"a\0b\0"'
}

test_every_byte_value_survives() {
        python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)' >bytes
        json cat bytes
        is 'base64.b64decode(r["stdout_base64"]) == bytes(range(256)) * 300'
}

test_odd_arguments_keep_the_object_valid() {
        json printf '%.0s' 'qu"ote' $'new\nline' '' 日本 $'\x01'
        is 'r["argv"][1:] == ["%.0s", "qu\"ote", "new\nline", "", "日本", "\x01"]'
        json printf '%.0s' $'bad\xff\xfe'
        is 'r["exit_code"] == 0'
}

test_output_is_cut_at_max_output() {
        FLAGS=(--max-output 1000)
        json sh -c 'seq 1000 | tr -d "\n"; echo kept >&2'
        is 'r["truncated"] is True and r["stdout_bytes"] == 2893 and r["stderr_bytes"] == 5'
        is 'r["stdout"] == (lambda s: s[:500] + "\n… 1921 bytes omitted …\n" + s[-472:])("".join(map(str, range(1, 1001))))'
        [ "$RC" = 0 ] || fail "exit code $RC"
        json printf '%01000d' 0
        is 'r["truncated"] is False and len(r["stdout"]) == 1000'
        json printf '%01001d' 0
        is 'r["truncated"] is True and r["stdout"] == "0" * 500 + "\n… 29 bytes omitted …\n" + "0" * 472'
}

test_a_character_cut_in_two_keeps_the_object_valid() {
        FLAGS=(--max-output 1000)
        json sh -c 'printf x; for n in $(seq 600); do printf 日; done'
        is 'r["truncated"] is True'
        is 'r["stdout"] == "x" + "日" * 166 + "\n… %d bytes omitted …\n" % (1801 - 499 - 471) + "日" * 157'
}

test_sizes_are_read_with_their_units() {
        local size
        for size in 2048 2048B 2KiB 2K; do
                FLAGS=(--max-output "$size")
                json printf '%05000d' 0
                is 'len(r["stdout"].encode()) == 2048'
        done
        FLAGS=(--max-output 1MiB)
        json sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
        is 'len(r["stdout"].encode()) == 1048576 and r["truncated"] is True'
}

test_a_large_output_is_captured_whole() {
        FLAGS=(--max-output 64MiB)
        json sh -c 'head -c 20000000 /dev/zero | tr "\0" x'
        is 'r["stdout"] == "x" * 20000000 and r["truncated"] is False'
}

test_text_that_is_printed_in_pieces_stays_whole() {
        local before
        for before in '' x xx; do
                json python3 -c "import sys; sys.stdout.write('$before' + '日本\n\"\\\\\x1b' * 9999)"
                is "r['stdout'] == '$before' + '日本\\n\"\\\\\\x1b' * 9999"
        done
        json head -c 100000 /dev/zero
        is 'base64.b64decode(r["stdout_base64"], validate=True) == bytes(100000)'
}

test_a_background_process_that_holds_stdout_does_not_hold_the_result() {
        SECONDS=0
        json sh -c 'sleep 300 & echo printed'
        is 'r["stdout"] == "printed\n" and r["exit_code"] == 0'
        [ "$SECONDS" -lt 30 ] || fail "waited $SECONDS s"
}

test_stdin_is_passed_with_json() {
        echo typed | json_of_cat
}
json_of_cat() {
        json cat
        is 'r["stdout"] == "typed\n"'
}

test_result_fd_carries_the_object_beside_the_output() {
        capture "$ABATIS" run --result-fd 3 -- sh -c 'echo out; echo err >&2; exit 6' 3>"$T/result"
        [ "$RC" = 6 ] || fail "exit code $RC: $(said)"
        prints out
        [ "$(<"$T/err")" = err ] || fail "stderr was $(said)"
        json_is "$T/result" 'r["exit_code"] == 6 and r["argv"][0] == "sh" and r["not_enforced"] == []'
}

test_result_fd_reports_truncation_and_timeout() {
        capture "$ABATIS" run --result-fd 9 --max-output 120 -- seq 1000 9>"$T/result"
        prints "$(seq 23)"$'\n… 3801 bytes omitted …\n'"$(printf '93\n' && seq 994 1000)"
        json_is "$T/result" 'r["truncated"] is True and r["stdout_bytes"] == 3893'
        capture "$ABATIS" run --result-fd 9 --timeout 500ms -- sleep 300 9>"$T/result"
        [ "$RC" = 124 ] || fail "exit code $RC"
        json_is "$T/result" 'r["timed_out"] is True and r["limit"] == "limits.timeout"'
}

test_what_passes_through_is_cut_between_characters() {
        local size
        for size in 5 6 7 8 9 10 120 121 122 123; do
                capture "$ABATIS" run --max-output $size -- sh -c 'for i in $(seq 20); do printf 日本語; done'
                python3 -c 'import sys; sys.stdin.buffer.read().decode()' <"$T/out" || fail "cut in two at $size"
                [ "$(wc -c <"$T/out")" -le $size ] || fail "more than $size bytes"
        done
        grep -q 'bytes omitted' "$T/out" || fail "nothing said: $(<"$T/out")"
        capture "$ABATIS" run --max-output 27 -- printf 日本語日本語日本語
        [ "$(<"$T/out")" = 日本語日本語日本語 ] || fail "not whole: $(<"$T/out")"
        # What is no character at all passes by the byte.
        capture "$ABATIS" run --max-output 10 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf "\200"; sleep 0.01; done'
        [ "$(tr -dc '\200' <"$T/out" | wc -c)" -le 10 ] || fail "the limit was passed"
}

test_merged_output_is_in_order() {
        FLAGS=(--merge)
        json sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done'
        is 'r["stdout"] == "o1\ne1\no2\ne2\no3\ne3\n" and r["stderr"] == ""'
        is 'r["stdout_bytes"] == 18 and r["stderr_bytes"] == 0'
        capture "$ABATIS" run --merge -- true
        [ "$RC" = 125 ] || fail "exit code $RC without --json"
}

test_a_limit_that_ends_the_command_is_named() {
        json true
        is 'r["limit"] is None'
        FLAGS=(--file-size 10KiB)
        json dd if=/dev/zero of=large bs=100000 count=1
        is 'r["limit"] == "limits.file_size" and r["signal"] == 25'
        json dd if=/dev/zero of=small bs=1000 count=1
        is 'r["limit"] is None and r["exit_code"] == 0'
}

test_at_the_deadline_the_command_may_clean_up() {
        FLAGS=(--timeout 500ms)
        json sh -c 'trap "echo cleaned; exit 3" TERM; echo ready; while :; do sleep 0.05; done'
        is 'r["stdout"] == "ready\ncleaned\n" and r["exit_code"] == 3 and r["timed_out"] is True'
        json sh -c 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
        is 'r["stdout"] == "ready\n" and r["signal"] == 9 and r["limit"] == "limits.timeout"'
}

test_a_reader_that_goes_away_ends_the_command_and_not_us() {
        "$ABATIS" run --max-output 1MiB --result-fd 9 -- sh -c 'while :; do echo y; done' 9>"$T/result" | head -n 1 >"$T/out"
        json_is "$T/result" 'r["signal"] == 13 or r["exit_code"] not in (0, None)'
}

test_result_fd_is_not_open_inside() {
        capture "$ABATIS" run --result-fd 8 -- sh -c 'echo forged >&8' 8>"$T/result"
        [ "$RC" != 0 ] || fail "the command wrote to it"
        json_is "$T/result" 'r["exit_code"] != 0'
        control sh -c 'echo works >&8' 8>"$T/other"
}

test_a_refused_run_gives_no_result_object_and_one_line() {
        capture "$ABATIS" run --json --preset nonsense -- true
        [ "$RC" = 125 ] || fail "exit code $RC"
        [ "$(wc -l <"$T/err")" = 1 ] || fail "stderr: $(said)"
        ! grep -q '"exit_code": *0' "$T/out" || fail "claims success"
}

test_a_result_that_cannot_be_written_is_an_error() {
        capture sh -c '"$0" run --json -- true >/dev/full' "$ABATIS"
        [ "$RC" != 0 ] || fail "the lost result went unnoticed"
        capture sh -c '"$0" run --json -- true >&-' "$ABATIS"
        [ "$RC" != 0 ] || fail "the lost result went unnoticed when stdout is closed"
}

main "$@"
