#!/bin/bash
# record.sh: what abatis run writes down, when, and that the command can do nothing about it.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

begin() {
        export HOME=$T/home XDG_STATE_HOME=$T/home/.local/state
        mkdir -p "$HOME"
        LOG=$XDG_STATE_HOME/abatis/audit.jsonl
}

# Of the records with this event, a Python expression over the last one, r, must be true.
record_is() { # EVENT EXPRESSION
        grep "\"event\":\"$1\"" "$LOG" | tail -n 1 >"$T/record"
        [ -s "$T/record" ] || fail "no record '$1' in $(cut -c 1-200 "$LOG")"
        json_is "$T/record" "$2"
}

events() {
        sed 's/.*"event":"\([a-z]*\)".*/\1/' "$LOG" | tr '\n' ' '
}

is_whole() {
        succeeds "$ABATIS" audit verify
}

refuses() { # TEXT CMD [ARG...]: exit code 125 and this in one line; nothing ran
        local text=$1
        shift
        rm -f mark
        exits 125 "$@"
        [ "$(wc -l <"$T/err")" = 1 ] || fail "not one line: $(said)"
        grep -qF -- "$text" "$T/err" || fail "said: $(said)"
        [ ! -e mark ] || fail "the command ran"
}

MARK=(-- sh -c '>mark')

# ---- what is written ----------------------------------------------------------------------------------------

test_a_run_is_planned_started_and_finished() {
        begin
        exits 3 "$ABATIS" run --context 'session 7' -- sh -c 'exit 3' word
        [ "$(events)" = 'planned started finished ' ] || fail "the log says $(events)"
        record_is planned 'r["argv"] == ["sh", "-c", "exit 3", "word"] and r["cwd"].endswith("/ws")'
        record_is planned 'r["context"] == "session 7" and r["backend"] == "native" and len(r["policy"]) == 64'
        record_is planned '"filesystem.write" in r["enforced"] and r["not_enforced"] == []'
        record_is finished 'r["exit_code"] == 3 and r["timed_out"] is False and r["duration_ms"] > 0'
        [ "$(grep -o '"id":"[^"]*"' "$LOG" | sort -u | wc -l)" = 1 ] || fail "not one id"
        succeeds "$ABATIS" run --json -- true
        succeeds "$ABATIS" audit show "$(python3 -c 'import json; print(json.load(open("'"$T/out"'"))["audit_id"])')"
        grep -q finished "$T/out" || fail "not found by its id: $(head -c 300 "$T/out")"
        succeeds "$ABATIS" run --json --no-audit -- true
        json_is "$T/out" 'r["audit_id"] is None'
        is_whole
}

test_the_plan_is_in_the_log_before_the_command_starts() {
        begin
        succeeds "$ABATIS" run -- sh -c 'cat "$0"; echo end' "$LOG"
        grep -q '"event":"planned".*"argv":\["sh"' "$T/out" || fail "the command saw: $(head -c 300 "$T/out")"
        # The positive control of this question: without a log there is nothing to be seen.
        rm -r "$XDG_STATE_HOME"
        exits 0 "$ABATIS" run --no-audit -- sh -c 'cat "$0"; echo end' "$LOG"
        prints end
}

test_sizes_and_hashes_of_the_output_are_written() {
        begin
        succeeds "$ABATIS" run --json --max-output 100B -- sh -c 'seq 1000; echo oops >&2'
        want=$(seq 1000 | sha256sum | cut -d' ' -f1)
        record_is finished "r['stdout'] == {'bytes': 3893, 'sha256': '$want', 'truncated': True}"
        record_is finished 'r["stderr"]["bytes"] == 5 and r["stderr"]["truncated"] is False'
        succeeds "$ABATIS" run -- echo x
        record_is finished '"stdout" not in r'
}

test_limits_and_signals_are_written() {
        begin
        exits 124 "$ABATIS" run --timeout 200ms -- sleep 300
        record_is finished 'r["timed_out"] is True and r["limit"] == "limits.timeout"'
        exits 137 "$ABATIS" run -- sh -c 'kill -9 $$'
        record_is finished 'r["signal"] == 9 and "exit_code" not in r'
}

test_what_was_refused_is_written() {
        begin
        exits 127 "$ABATIS" run --context c -- no-such-program a
        record_is planned 'r["argv"] == ["no-such-program", "a"] and r["context"] == "c"'
        record_is refused '"no-such-program" in r["error"]'
        exits 125 "$ABATIS" run --net deny --bind 8080 -- true
        record_is refused 'r["argv"] == ["true"] and "cannot be enforced" in r["error"]'
        exits 126 "$ABATIS" run --command true -- env
        record_is planned 'r["argv"] == ["env"]'
        record_is refused '"env" in r["error"]'
        printf 'no program\n' >notprog
        chmod 755 notprog
        exits 126 "$ABATIS" run -- ./notprog
        record_is refused '"notprog" in r["error"]'
        is_whole
}

test_secrets_are_masked() {
        begin
        export MY_API_TOKEN=very-secret-value PLAIN=plainly-known
        succeeds "$ABATIS" run --context 'with very-secret-value' -- echo very-secret-value plainly-known
        prints 'very-secret-value plainly-known'
        exits 127 "$ABATIS" run -- ./very-secret-value
        exits 125 "$ABATIS" run --net deny --bind 8080 -- echo very-secret-value
        if grep -q very-secret-value "$LOG"; then fail "in the log: $(grep -o '.\{40\}very-secret-value' "$LOG")"; fi
        grep -q plainly-known "$LOG" || fail "what everybody may know is masked too"
        # Passed by name, it is no secret any more.
        succeeds "$ABATIS" run --env MY_API_TOKEN -- echo very-secret-value
        grep -q very-secret-value "$LOG" || fail "masked although it was passed"
}

test_a_policy_has_one_digest() {
        local first
        begin
        succeeds "$ABATIS" run -- true
        first=$(grep -o '"policy":"[^"]*"' "$LOG" | tail -n 1)
        succeeds "$ABATIS" run -- true x
        [ "$first" = "$(grep -o '"policy":"[^"]*"' "$LOG" | tail -n 1)" ] || fail "two digests of one policy"
        succeeds "$ABATIS" run --timeout 10s -- true
        [ "$first" != "$(grep -o '"policy":"[^"]*"' "$LOG" | tail -n 1)" ] || fail "one digest of two policies"
}

test_many_at_once_are_all_written() {
        local n
        begin
        for n in {1..40}; do "$ABATIS" run -- true "$n" & done
        wait
        is_whole
        [ "$(grep -c '"event":"finished"' "$LOG")" = 40 ] || fail "not all are finished: $(events)"
}

# ---- where, and not at all ----------------------------------------------------------------------------------

test_the_log_can_be_elsewhere() {
        begin
        succeeds "$ABATIS" run --audit-log "$T/other/x.jsonl" -- true
        [ -s "$T/other/x.jsonl" ] || fail "nothing in the other log"
        [ ! -e "$LOG" ] || fail "something in the usual one"
        echo "audit: {log: '~/y.jsonl', sync: true}" >"$T/p.yaml"
        succeeds "$ABATIS" run --policy "$T/p.yaml" -- true
        succeeds "$ABATIS" audit verify "$HOME/y.jsonl"
        refuses 'not on, off or the absolute path' "$ABATIS" run --audit-log x.jsonl "${MARK[@]}"
}

test_only_the_user_does_without_it() {
        begin
        succeeds "$ABATIS" run --no-audit -- true
        echo 'audit: off' >"$T/p.yaml"
        succeeds "$ABATIS" run --policy "$T/p.yaml" -- true
        exits 127 "$ABATIS" run --no-audit -- no-such-program
        [ ! -e "$XDG_STATE_HOME" ] || fail "something was written"
        git init -q .
        cp "$T/p.yaml" .abatis.yaml
        refuses 'would keep less of what was run' "$ABATIS" run "${MARK[@]}"
        succeeds "$ABATIS" trust
        succeeds "$ABATIS" run "${MARK[@]}"
        [ -e mark ] || fail "the control did not run"
        [ ! -e "$LOG" ] || fail "something was written"
}

test_a_new_file_is_begun_at_a_size() {
        local n
        begin
        echo 'audit: {size: 4KiB, keep: 2}' >"$T/p.yaml"
        for n in {1..12}; do succeeds "$ABATIS" run --policy "$T/p.yaml" -- true "$n"; done
        [ -e "$LOG.2" ] || fail "no older parts"
        [ ! -e "$LOG.3" ] || fail "too many older parts"
        is_whole
}

test_a_user_without_a_home_has_a_log() {
        is_root || skip "needs root for a uid that nobody else uses"
        local uid=4344
        rm -rf "/var/tmp/abatis-$uid"
        chmod 755 "$T"
        install -d -o $uid "$W/own"
        succeeds env -u XDG_STATE_HOME HOME=/nonexistent setpriv --reuid $uid --regid $uid --clear-groups \
                sh -c "cd '$W/own' && '$ABATIS' run -- true && '$ABATIS' audit verify"
        grep -q '3 records' "$T/out" || fail "said: $(head -c 300 "$T/out")"
        [ "$(stat -c '%u %a' "/var/tmp/abatis-$uid")" = "$uid 700" ] || fail "not private"
        rm -r "/var/tmp/abatis-$uid"
}

# ---- what cannot be written does not run --------------------------------------------------------------------

test_without_a_record_nothing_runs() {
        begin
        echo x >"$T/file"
        XDG_STATE_HOME=$T/file refuses 'audit log' "$ABATIS" run "${MARK[@]}"
        mkdir -p "$XDG_STATE_HOME/abatis"
        ln -s "$T/file" "$LOG"
        refuses 'symbolic link' "$ABATIS" run "${MARK[@]}"
        rm "$LOG"
        mkdir "$LOG"
        refuses 'Is a directory' "$ABATIS" run "${MARK[@]}"
        rmdir "$LOG"
        mkfifo "$LOG"
        refuses 'not a regular file' "$ABATIS" run "${MARK[@]}"
        rm "$LOG"
        : >"$LOG"
        chmod 666 "$LOG"
        refuses 'written by others' "$ABATIS" run "${MARK[@]}"
        chmod 600 "$LOG"
        succeeds "$ABATIS" run "${MARK[@]}"
        [ -e mark ] || fail "the control did not run"
}

test_a_full_disk_stops_the_next_command() {
        is_root || skip "needs root for a small file system; the root role asks for both uids"
        local who
        for who in 0 4343; do
                cat >"$T/inside" <<'END'
mount -t tmpfs -o size=64k,mode=1777 none "$2"
export XDG_STATE_HOME=$2/state
as="setpriv --reuid=$1 --regid=$1 --clear-groups"
cd "$3" && $as "$ABATIS" run -- true || exit 2
$as sh -c 'cat /dev/zero >"$0/fill"' "$2" 2>/dev/null
# What the last page has room for still fits.
for n in 1 2 3 4 5 6 7 8 9 10; do
        rm -f mark
        $as "$ABATIS" run -- sh -c '>mark'
        code=$?
        [ $code = 0 ] || break
done
[ $code = 125 ] || exit 3
[ ! -e mark ] || exit 4
rm "$2/fill"
$as "$ABATIS" run -- sh -c '>mark' || exit 5
[ -e mark ] || exit 6
$as "$ABATIS" audit verify || exit 7
END
                mkdir -p "$T/small" "$W/$who"
                chmod 777 "$W/$who"
                succeeds unshare -m sh "$T/inside" "$who" "$T/small" "$W/$who"
                grep -q 'No space left' "$T/err" || fail "said: $(said)"
        done
}

test_an_end_that_cannot_be_written_is_told() {
        begin
        succeeds "$ABATIS" run -- true
        "$ABATIS" run -- sh -c '>going; while [ ! -e go ]; do sleep 0.02; done; exit 5' 2>"$T/err" &
        until [ -e going ]; do sleep 0.02; done
        mv "$LOG" "$T/aside"
        mkdir "$LOG"
        : >go
        RC=0
        wait $! || RC=$?
        [ "$RC" = 123 ] || fail "exit code $RC"
        grep -q 'ended with exit code 5, and that was not written down' "$T/err" || fail "said: $(said)"
}

# ---- the command can do nothing about it --------------------------------------------------------------------

test_the_log_is_held_in_a_writable_home() {
        local attempt
        begin
        cd "$HOME" || fail "no home"
        # The first run of all, too: there was no log to protect.
        for attempt in 'echo x >>"$0"' '>"$0"' 'rm -f "$0"; [ ! -e "$0" ]' 'mv "$0" "$0.x"' 'rm -f "$0.head"; [ ! -e "$0.head" ]' \
                'echo x >"$0.head"' 'rm -f "$0.lock"; [ ! -e "$0.lock" ]' 'chmod 644 "$0.lock"' 'mv "${0%/*}" "${0%/*}.x"' \
                'mv ~/.local ~/.local.x' 'ln -f "$0" ~/linked && echo x >>~/linked' 'touch -d @0 "$0"' 'truncate -s 0 "$0"'; do
                is_refused "$ABATIS" run -- sh -c "$attempt" "$LOG"
        done
        is_refused "$ABATIS" run -- sh -c '>"${0%/*}/other"' "$LOG"
        is_whole
        succeeds "$ABATIS" run -- sh -c '>~/.local/mine && >~/mine' "$LOG"
        # The same outside.
        control sh -c 'echo x >>"$0"' "$LOG"
        exits 1 "$ABATIS" audit verify
}

test_a_log_that_is_rotated_meanwhile_is_held() {
        local n
        begin
        cd "$HOME" || fail "no home"
        echo 'audit: {size: 4KiB}' >"$T/p.yaml"
        "$ABATIS" run --policy "$T/p.yaml" -- sh -c '>going; until [ -e "$0.2" ]; do sleep 0.02; done
                echo x >>"$0"; >"$0"; rm -f "$0.1"; mkdir "$0.9"; echo done >tried' "$LOG" 2>/dev/null &
        until [ -e going ]; do sleep 0.02; done
        for n in {1..12}; do succeeds "$ABATIS" run --policy "$T/p.yaml" -- true "$n"; done
        wait
        [ -e tried ] || fail "it never tried"
        is_whole
        [ ! -e "$LOG.9" ] || fail "it made a part"
}

test_a_log_beside_the_work_is_refused() {
        begin
        refuses 'lies where the command may write' "$ABATIS" run --audit-log "$W/x.jsonl" "${MARK[@]}"
        succeeds "$ABATIS" run --audit-log "$W/log/x.jsonl" -- true
        is_refused "$ABATIS" run --audit-log "$W/log/x.jsonl" -- sh -c '>>log/x.jsonl'
        is_refused "$ABATIS" run --audit-log "$W/log/x.jsonl" -- sh -c 'mv log other'
        succeeds "$ABATIS" audit verify "$W/log/x.jsonl"
}

test_errors_tell_no_secret() {
        begin
        export MY_TOKEN=$'sup3r\tsecret\nline2'
        exits 127 "$ABATIS" run -- $'/nope/sup3r\tsecret\nline2'
        exits 127 "$ABATIS" run -- "/n/$(printf 'A%.0s' {1..140})$MY_TOKEN/$(printf 'A%.0s' {1..1000})"
        if grep -q 'sup3r' "$LOG"; then fail "in the log: $(grep -o '.\{40\}sup3r.\{20\}' "$LOG")"; fi
        record_is refused '"not shown" in r["error"]'
}

test_the_working_directory_is_the_one_that_is_entered() {
        begin
        mkdir "$T/hidden"
        cd "$T/hidden" || fail "no directory"
        succeeds "$ABATIS" run --workspace "$W" --deny "$T/hidden" -- pwd
        prints "$W"
        record_is planned "r['cwd'] == '$W'"
}

test_the_command_cannot_hold_the_lock() {
        needs flock
        begin
        succeeds "$ABATIS" run -- true
        is_refused "$ABATIS" run -- flock -n "$LOG.lock" true
        is_refused "$ABATIS" run -- flock -sn "$LOG.lock" true
        # All that it may read may be locked, and nobody waits for that.
        "$ABATIS" run -- sh -c 'exec 9<"$0" 8<"$0.head"; flock 9; flock 8; >"$1"; sleep 20' "$LOG" "$W/held" &
        until [ -e held ]; do sleep 0.02; done
        succeeds timeout 5 "$ABATIS" run -- true
        kill $!
        wait
        is_whole
}

main "$@"
