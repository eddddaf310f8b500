#!/bin/bash
# audit.sh: abatis audit: what it says of logs that audit.py has written by the rules of docs/AUDIT.md.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

MAKER=$TEST_DIR/audit.py

make_log() { # [KIND]: LOG is where abatis looks by itself
        export XDG_STATE_HOME=$T/state TMPDIR=$T/tmp
        LOG=$T/state/abatis/audit.jsonl
        mkdir -p "$TMPDIR"
        python3 "$MAKER" "$LOG" "${1:-sample}" || fail "no log could be made"
}

refuses() { # TEXT CMD [ARG...]: exit code 125 and this in one line
        local text=$1
        shift
        exits 125 "$@"
        [ "$(wc -l <"$T/err")" = 1 ] || fail "not one line: $(said)"
        grep -qF -- "$text" "$T/err" || fail "said: $(said)"
}

says() { # TEXT: the last captured command did
        grep -qF -- "$1" "$T/out" || fail "not said: $1 in: $(head -c 600 "$T/out")"
}

says_not() {
        if grep -qF -- "$1" "$T/out"; then fail "said: $1"; fi
}

# ---- verify -------------------------------------------------------------------------------------------------

test_verify_takes_a_log_that_was_written_by_the_rules() {
        make_log
        succeeds "$ABATIS" audit verify
        prints "15 records in 1 file: the chain is whole"
        succeeds "$ABATIS" audit verify "$LOG"
        make_log many
        succeeds "$ABATIS" audit verify --file "$LOG"
}

test_verify_names_the_line_that_was_edited() {
        make_log
        sed -i '4s/pytest/nytest/' "$LOG"
        exits 1 "$ABATIS" audit verify
        says "line 4 of $LOG: was edited"
}

test_verify_names_what_is_missing() {
        make_log
        sed -i 7d "$LOG"
        exits 1 "$ABATIS" audit verify
        says "line 7 of $LOG: record 7 is missing before it"
        make_log
        sed -i '$d' "$LOG"
        exits 1 "$ABATIS" audit verify
        says "the log ends at record 14, but 15 were written"
        rm "$LOG.head"
        exits 1 "$ABATIS" audit verify
        says "the head is missing"
}

test_verify_reads_older_parts_first() {
        make_log
        head -n 4 "$LOG" >"$LOG.2"
        sed -n 5,9p "$LOG" >"$LOG.1"
        sed -i 1,9d "$LOG"
        succeeds "$ABATIS" audit verify
        prints "15 records in 3 files: the chain is whole"
        sed -i 2d "$LOG.1"
        exits 1 "$ABATIS" audit verify
        says "line 2 of $LOG.1: record 6 is missing before it"
}

test_verify_says_what_a_killed_writer_left() {
        make_log
        printf '{"seq":16,"ti' >>"$LOG"
        succeeds "$ABATIS" audit verify
        says "note: line 16 of $LOG is what a killed writer left"
}

test_no_log_is_one_line() {
        export XDG_STATE_HOME=$T/none
        refuses "cannot read the audit log" "$ABATIS" audit verify
        refuses "cannot read the audit log" "$ABATIS" audit list
        mkdir "$T/directory"
        refuses "is not a regular file" "$ABATIS" audit list --file "$T/directory"
        mkfifo "$T/pipe"
        refuses "is not a regular file" "$ABATIS" audit stats --file "$T/pipe"
}

# ---- list, show, stats --------------------------------------------------------------------------------------

test_list_has_one_line_for_each_job() {
        make_log
        succeeds "$ABATIS" audit list
        [ "$(wc -l <"$T/out")" = 7 ] || fail "not 6 jobs: $(<"$T/out")"
        says "2026-11-14 08:00:00  ok       0      5.2 s        12345679  make -j8"
        says "refused  -      -            1234567b  curl https://example.org  (network.connect: no rule covers"
        says "'a b'\\''s'"
        succeeds "$ABATIS" audit list --json
        [ "$(wc -l <"$T/out")" = 6 ] || fail "not 6 objects"
        head -n 1 "$T/out" >"$T/first"
        json_is "$T/first" 'r["verdict"] == "ok" and r["argv"] == ["make", "-j8"] and r["duration_ms"] == 5234.25'
}

test_list_selects() {
        local filter want
        make_log
        set -f # the patterns are abatis's
        while read -r want filter; do
                # shellcheck disable=SC2086 # words
                succeeds "$ABATIS" audit list --json $filter
                [ "$(wc -l <"$T/out")" = "$want" ] || fail "$(wc -l <"$T/out") instead of $want: $filter"
        done <<'END'
1 --verdict ok
1 --verdict=timeout
2 --since 2026-11-14T12:00:00Z
3 --until 2026-11-14T10:00:00Z
2 --since 2026-11-14T09:00:00Z --until 2026-11-14T10:30:00Z
0 --until 2026-11-13
1 --command py*
1 --command /usr/bin/*
2 --command *s*t*t*
3 --limit 3
0 --verdict ok --command curl
END
}

test_show_prints_one_job() {
        make_log
        succeeds "$ABATIS" audit show 1234567c
        says "command    sleep 1000"
        says "verdict    timeout"
        says '"event": "finished"'
        succeeds "$ABATIS" audit show 1234567c --json
        [ "$(wc -l <"$T/out")" = 3 ] || fail "not 3 records"
        grep -F 1234567c "$LOG" | cmp -s - "$T/out" || fail "not as in the log"
        refuses "6 jobs of the audit log begin with '1'" "$ABATIS" audit show 1
        refuses "has no job 'x'" "$ABATIS" audit show x
        refuses "usage" "$ABATIS" audit show
}

test_stats_count() {
        make_log
        succeeds "$ABATIS" audit stats
        says "6 jobs, 1 ok, 1 failed, 1 refused, 1 timeout, 1 limit, 1 running"
        says "duration p50 800 ms, p90 30.0 s, p99 30.0 s, longest 30.0 s"
        says "      1  limits.memory"
        succeeds "$ABATIS" audit stats --json
        json_is "$T/out" 'r["jobs"] == 6 and r["verdicts"]["timeout"] == 1 and r["duration_ms"]["p50"] == 800.5'
        json_is "$T/out" 'r["limits_hit"] == [{"name": "limits.memory", "count": 1}, {"name": "limits.timeout", "count": 1}]'
}

test_nothing_in_a_log_drives_a_terminal() {
        local word
        make_log hostile
        for word in list stats "show 1234567b"; do
                # shellcheck disable=SC2086 # words
                succeeds "$ABATIS" audit $word
                if LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$T/out"; then
                        fail "controls in: $word"
                fi
        done
        says "a?b"
}

test_a_line_that_is_no_record_is_named() {
        make_log
        printf 'not json\n\377\376\n' >>"$LOG"
        succeeds "$ABATIS" audit list
        says "line 16 of $LOG is no record"
        says "line 17 of $LOG is no record"
        succeeds "$ABATIS" audit list --json
        says '{"bad_lines":2}'
}

test_mistakes_are_one_line() {
        make_log
        refuses "usage: abatis audit" "$ABATIS" audit
        refuses "did you mean 'abatis audit verify'" "$ABATIS" audit verfy
        refuses "did you mean --since" "$ABATIS" audit list --sinse 2h
        refuses "unknown flag '--since'" "$ABATIS" audit show --since 2h
        refuses "needs a value" "$ABATIS" audit list --since
        refuses "takes no value" "$ABATIS" audit list --json=1
        refuses "neither a time" "$ABATIS" audit list --since yesterday
        refuses "did you mean 'failed'" "$ABATIS" audit list --verdict fialed
        refuses "--limit" "$ABATIS" audit list --limit 0
        refuses "--limit" "$ABATIS" audit list --limit 3x
        refuses "one word too many" "$ABATIS" audit list word
        refuses "one word too many" "$ABATIS" audit verify "$LOG" "$LOG"
        refuses "named twice" "$ABATIS" audit verify "$LOG" --file "$LOG"
        refuses "usage: abatis audit report" "$ABATIS" audit report
}

test_help_is_help() {
        local word
        for word in '' list show stats report sql verify; do
                # shellcheck disable=SC2086 # words
                succeeds "$ABATIS" audit $word --help
                says "abatis audit $word"
        done
}

# ---- report -------------------------------------------------------------------------------------------------

test_report_is_one_private_file() {
        make_log many
        succeeds "$ABATIS" audit report -o "$T/report.html"
        [ "$(stat -c %a "$T/report.html")" = 600 ] || fail "mode $(stat -c %a "$T/report.html")"
        [ "$(find "$T" -maxdepth 1 -name 'report*' | wc -l)" = 1 ] || fail "something was left beside it"
        succeeds "$ABATIS" audit report -o -
        # All that may differ is when it was made.
        diff <(sed 's/; made .* by//' "$T/out") <(sed 's/; made .* by//' "$T/report.html") >&2 || fail "two pages"
        if grep -qiE 'https?://|<script|<link|<iframe|url\(|@import' "$T/out"; then fail "it asks for more than itself"; fi
        refuses "cannot write" "$ABATIS" audit report -o "$T/none/report.html"
}

test_report_says_that_a_log_was_changed() {
        make_log
        succeeds "$ABATIS" audit report -o -
        says "The log is as it was written"
        sed -i '4s/pytest/nytest/' "$LOG"
        succeeds "$ABATIS" audit report -o -
        says "The log was changed"
        says "line 4 of"
}

test_report_escapes_what_others_wrote() {
        make_log hostile
        succeeds "$ABATIS" audit report -o -
        says_not "<script"
        says_not "<img"
        says "&lt;script&gt;alert(1)&lt;/script&gt;"
}

# Tags are closed in the order in which they were opened, and ids are there once.
test_report_is_well_formed() {
        local kind
        for kind in sample hostile many; do
                make_log $kind
                succeeds "$ABATIS" audit report -o "$T/report.html"
                python3 - "$T/report.html" >"$T/why" 2>&1 <<'END' || fail "$kind: $(tail -n 1 "$T/why")"
import html.parser, sys
class Parser(html.parser.HTMLParser):
    stack, ids, tags = [], set(), set()
    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, value in attributes:
            assert name != "id" or value not in self.ids, value
            self.ids |= {value} if name == "id" else set()
            assert not name.startswith("on"), name
        if tag not in ("meta", "br", "hr"):
            self.stack.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
parser = Parser()
parser.feed(open(sys.argv[1]).read())
assert not parser.stack, parser.stack
assert {"main", "h1", "h2", "svg", "title", "table", "th"} <= parser.tags, parser.tags
assert not parser.tags & {"script", "img"}, parser.tags
END
        done
}

browse() { # FLAG...: the page in a browser without a window; what it prints is in $T/out
        local browser flags=(--disable-gpu --user-data-dir="$T/browser" --timeout=20000)
        browser=$(command -v chromium || command -v chromium-headless-shell || command -v chromium-browser) ||
                skip "chromium is not installed"
        [[ $browser == *-headless-shell ]] || flags+=(--headless)
        # In a sandbox of its own it may not start as root, nor in every container.
        timeout 60 "$browser" --no-sandbox "${flags[@]}" "$@" "file://$T/report.html" >"$T/out" 2>"$T/err" ||
                skip "the browser does not start here: $(tail -n 1 "$T/err" | head -c 200)"
}

test_report_is_shown_by_a_browser() {
        make_log many
        succeeds "$ABATIS" audit report -o "$T/report.html"
        browse --dump-dom
        says "<h1>What was run</h1>"
        [ "$(grep -c '<svg' "$T/out")" -ge 5 ] || fail "charts are missing"
        if grep -qiE 'refused to|violates' "$T/err"; then fail "$(grep -iE -m 1 'refused to|violates' "$T/err")"; fi
        browse --window-size=1200,2000 --screenshot="$T/page.png"
        [ "$(stat -c %s "$T/page.png")" -gt 30000 ] || fail "an empty picture"
}

# Had the words become markup, the browser would have made elements of them.
test_report_of_hostile_words_stays_text_in_a_browser() {
        make_log hostile
        succeeds "$ABATIS" audit report -o "$T/report.html"
        browse --dump-dom
        says "&lt;script&gt;alert(1)&lt;/script&gt;"
        says_not "<script"
        says_not "<img"
}

# ---- SQL ----------------------------------------------------------------------------------------------------

test_sql_answers() {
        needs sqlite3
        make_log
        succeeds "$ABATIS" audit sql "SELECT count(*) AS n, sum(duration_ms) AS ms FROM jobs"
        prints $'n|ms\n6|36047.25'
        succeeds "$ABATIS" audit sql "SELECT verdict, exit_code, signal FROM jobs WHERE program = 'python3'"
        prints $'verdict|exit_code|signal\nfailed|1|'
        succeeds "$ABATIS" audit sql "SELECT count(*) FROM events WHERE json_extract(record, '$.event') = event"
        prints $'count(*)\n15'
        exits 1 "$ABATIS" audit sql "SELECT nonsense FROM nowhere"
        capture "$ABATIS" audit sql <<<'SELECT count(*) FROM jobs;'
        says 6
}

test_a_job_is_shown_with_its_connections() {
        make_log
        succeeds "$ABATIS" audit show 12345679
        says "network    closed example.org port 443 at 93.184.215.14, 517 bytes out, 4711 in"
        says "network    refused example.com, 0 bytes out, 0 in: no entry of network.connect has this name"
        succeeds "$ABATIS" audit list --json
        head -n 1 "$T/out" >"$T/first"
        json_is "$T/first" '[c["name"] for c in r["connections"]] == ["example.org", "example.com"]'
        make_log hostile
        succeeds "$ABATIS" audit show 1234567c
        says "network    ?[2J '); DROP TABLE jobs; --?.shell touch owned?, 0 bytes out, 0 in"
        ! grep -q $'\e' "$T/out" || fail "a terminal would be driven"
}

test_sql_has_the_connections() {
        needs sqlite3
        make_log
        succeeds "$ABATIS" audit sql "SELECT name, port, sent FROM connections JOIN jobs USING (id) WHERE jobs.program = 'make' AND connections.verdict = 'closed'"
        says "example.org"
        says 517
        make_log hostile
        succeeds "$ABATIS" audit sql "SELECT count(*) FROM connections"
        says 3
        [ ! -e owned ] || fail "a word was run"
}

test_sql_takes_words_for_nothing_but_words() {
        needs sqlite3
        make_log hostile
        succeeds "$ABATIS" audit sql "SELECT json_extract(argv, '\$[3]') LIKE '''; DROP TABLE jobs; --%.shell touch owned%' FROM jobs WHERE program = 'echo'"
        says 1
        succeeds "$ABATIS" audit sql "SELECT count(*) FROM jobs"
        says 4
        [ ! -e owned ] || fail "a word of the log was run"
}

test_sql_leaves_nothing_behind() {
        needs sqlite3
        make_log many
        listing "$T/state" "$T/tmp" "$HOME" >"$T/before"
        succeeds "$ABATIS" audit sql "SELECT count(*) FROM jobs"
        exits 137 timeout -s KILL 1 "$ABATIS" audit sql "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        listing "$T/state" "$T/tmp" "$HOME" >"$T/after"
        diff "$T/before" "$T/after" >&2 || fail "something was left: $(diff "$T/before" "$T/after" | head -n 3)"
}

test_sql_without_sqlite_is_one_line() {
        make_log
        mkdir "$T/empty"
        exits 127 env PATH="$T/empty" "$ABATIS" audit sql "SELECT 1"
        [ "$(wc -l <"$T/err")" = 1 ] || fail "not one line: $(said)"
        grep -q 'needs the program sqlite3' "$T/err" || fail "said: $(said)"
}

main "$@"
