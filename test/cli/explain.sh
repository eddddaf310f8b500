#!/bin/bash
# explain.sh: explain prints every clause with its mechanism and the steps, runs nothing, and tells the truth.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

test_explain_runs_nothing() {
        local before after
        git init -q "$W"
        before=$(listing "$T" | grep -vE "^$T(/out|/err)? ")
        succeeds "$ABATIS" explain -- touch mark
        succeeds "$ABATIS" explain --json --preset tool -- sh -c 'touch mark; sleep 300'
        succeeds "$ABATIS" explain -- /no/such/program
        after=$(listing "$T" | grep -vE "^$T(/out|/err)? ")
        [ "$before" = "$after" ] || fail "changed: $(diff <(echo "$before") <(echo "$after"))"
}

test_text_names_every_clause_mechanism_and_step() {
        mkdir secret kept
        succeeds "$ABATIS" explain --deny "$W/secret" --protect "$W/kept" --timeout 30s --open-files 99 -- true
        for word in "$W" "filesystem.deny $W/secret" "filesystem.protect $W/kept" filesystem.write network.mode \
                process. environment timeout open_files Landlock seccomp mount; do
                grep -qF "$word" "$T/out" || fail "does not contain '$word'"
        done
        if grep -qi 'not enforced' "$T/out"; then fail "$(grep -i 'not enforced' "$T/out")"; fi
}

test_json_has_every_clause_with_its_mechanisms_and_the_steps_in_order() {
        mkdir secret kept
        succeeds "$ABATIS" explain --json --deny "$W/secret" --protect "$W/kept" --timeout 30s -- true
        json_is "$T/out" 'r["preset"] == "dev" and r["workspace"].endswith("/ws") and r["backend"] == "native"'
        json_is "$T/out" 'all(c["enforced"] is True and c["by"] and c["clause"] for c in r["clauses"])'
        json_is "$T/out" '{"filesystem.write", "network.mode deny", "process.privacy", "environment", "limits.timeout"}
                <= {c["clause"] for c in r["clauses"]}'
        json_is "$T/out" 'sum(c["clause"].startswith("filesystem.deny ") and c["clause"].endswith("/secret")
                for c in r["clauses"]) == 1'
        json_is "$T/out" 'len({c["clause"] for c in r["clauses"]}) == len(r["clauses"])'
        json_is "$T/out" '(lambda steps: steps.index("read-only-world") < steps.index("writable")
                < steps.index("hide") < steps.index("landlock") and steps.index("privileges") < steps.index("seccomp"))(
                [s["step"] for s in r["steps"]])'
        json_is "$T/out" 'all(s["mechanism"] and s["meaning"] for s in r["steps"])'
}

test_the_clauses_are_those_that_a_run_reports_as_enforced() {
        local preset
        mkdir -p secret kept "$T/data/data"
        echo >"$T/data/config.toml"
        for preset in dev tool mcp strict guard; do
                FLAGS=(--preset "$preset" --data "$T/data" --deny "$W/secret" --protect "$W/kept" --timeout 60s
                        --max-output 1MiB --open-files 200)
                succeeds "$ABATIS" explain --json "${FLAGS[@]}" -- true
                cp "$T/out" "$T/explained"
                succeeds "$ABATIS" run --json "${FLAGS[@]}" -- true
                cp "$T/out" "$T/ran"
                json_is "$T/ran" "(lambda e: sorted(c['clause'] for c in e['clauses']) ==
                        sorted(c['clause'] if isinstance(c, dict) else c for c in r['enforced'])
                        and e['backend'] == r['backend'])(
                        json.load(open('$T/explained')))"
        done
}

test_explain_says_what_best_effort_leaves_out() {
        succeeds "$ABATIS" explain --best-effort --net deny --bind 8080 -- true
        grep 'network.bind' "$T/out" | grep -qi 'not enforced' || fail "$(grep network.bind "$T/out")"
        succeeds "$ABATIS" explain --json --best-effort --net deny --bind 8080 -- true
        json_is "$T/out" '[c["clause"] for c in r["clauses"] if not c["enforced"]] == ["network.bind 8080"]
                and all(c["reason"] for c in r["clauses"] if not c["enforced"])'
        succeeds "$ABATIS" run --json --best-effort --net deny --bind 8080 -- true
        json_is "$T/out" '"bind" in str(r["not_enforced"]) and "bind" not in str(r["enforced"])'
}

test_a_private_tmp_is_not_claimed_when_it_is_the_workspace() {
        succeeds "$ABATIS" explain --json --workspace "$W" -- true
        json_is "$T/out" '"filesystem.tmp private" in [c["clause"] for c in r["clauses"]]'
        FLAGS=(--workspace /tmp)
        echo seen >"$HOST_TMP"
        capture sandbox cat "$HOST_TMP"
        [ "$RC" = 0 ] || return 0 # it is private
        succeeds "$ABATIS" explain --json --workspace /tmp -- true
        json_is "$T/out" '"filesystem.tmp private" not in [c["clause"] for c in r["clauses"]]'
}

test_explain_refuses_what_run_refuses() {
        exits 125 "$ABATIS" explain --net deny --bind 8080 -- true
        exits 125 "$ABATIS" explain --deny relative -- true
        exits 125 "$ABATIS" explain --connect example.org:53/udp -- true
}

test_odd_paths_keep_the_json_valid() {
        local name
        for name in 'quo"te' 'back\slash' $'\xff\xfe' '日本' $'tab\t'; do
                mkdir "$T/$name"
                succeeds "$ABATIS" explain --json --workspace "$T/$name" --deny /no/such/path -- true
                json_is "$T/out" 'r["preset"] == "dev"'
        done
}

test_explain_of_the_same_policy_is_the_same_text() {
        succeeds "$ABATIS" explain -- true
        cp "$T/out" "$T/first"
        succeeds "$ABATIS" explain -- false
        # The clauses and steps are about the policy; the command is not part of them.
        diff <(grep -v 'true' "$T/first") <(grep -v 'false' "$T/out") >/dev/null || fail "the two differ"
}

main "$@"
