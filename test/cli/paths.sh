#!/bin/bash
# paths.sh: every path is an ordinary one: with newlines in it, and longer than the kernel takes at once.
#
#   test/cli/paths.sh [PART-OF-A-NAME...]
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# ---- newlines ----------------------------------------------------------------------------------------------

test_a_denied_file_with_a_newline_in_its_name_is_unreadable() {
        local name
        mkdir "$W/d"
        for name in $'a\nb' $'a\n' $'\n' $'\n\n' $'d/\n' $'d/x\ny'; do
                echo text >"$W/$name"
                echo text >"$W/${name//$'\n'/n}"
        done
        for name in $'a\nb' $'a\n' $'\n' $'\n\n' $'d/\n' $'d/x\ny'; do
                FLAGS=(--deny "$W/$name")
                allows "read:$W/${name//$'\n'/n}" "write:$W/${name//$'\n'/n}" -- "read:$W/$name" "write:$W/$name"
        done
}

test_a_denied_directory_with_a_newline_hides_what_is_below_it() {
        mkdir -p "$W"/$'d\n/e' "$W/d/e"
        echo text >"$W"/$'d\n'/e/f
        echo text >"$W"/d/e/f
        FLAGS=(--deny "$W"/$'d\n')
        allows "read:$W/d/e/f" -- "read:$W"/$'d\n/e/f'
        # Outside the workspace Landlock goes round it, entry by entry.
        mkdir -p "$T"/$'o\nut/d\n' "$T"/$'o\nut/d'
        echo text >"$T"/$'o\nut/d\n/f'
        echo text >"$T"/$'o\nut/d/f'
        FLAGS=(--deny "$T"/$'o\nut/d\n')
        allows "read:$T"/$'o\nut/d/f' -- "read:$T"/$'o\nut/d\n/f'
}

test_a_protected_path_with_a_newline_is_readable_only() {
        echo text >"$W"/$'a\nb'
        echo text >"$W/a"
        FLAGS=(--protect "$W"/$'a\nb')
        allows "read:$W"/$'a\nb' "write:$W/a" -- "write:$W"/$'a\nb'
}

test_a_workspace_with_a_newline_is_writable() {
        local ws=$T/$'w\ns' preset
        mkdir -p "$ws"
        echo text >"$ws/f"
        echo text >"$T/other"
        for preset in dev tool strict; do
                FLAGS=(--preset "$preset" --workspace "$ws")
                allows "read:$ws/f" "write:$ws/f" -- "write:$T/other"
        done
        cd "$ws" || fail "no directory"
        FLAGS=()
        succeeds sandbox pwd
        prints "$ws"
        allows "write:$ws/f" -- "write:$T/other"
}

test_rules_with_newlines_open_what_they_say_and_no_more() {
        local dir=$T/$'o\nut'
        mkdir -p "$dir/r" "$dir/w"
        echo text >"$dir/r/f"
        echo text >"$dir/w/f"
        echo text >"$dir/f"
        FLAGS=(--preset strict --read "$dir/r" --write "$dir/w")
        allows "read:$dir/r/f" "write:$dir/w/f" -- "write:$dir/r/f" "read:$dir/f"
}

test_a_private_tmp_shows_a_tree_with_a_newline() {
        mkdir -p "$HOST_TMP"/$'a\nb'
        echo text >"$HOST_TMP"/$'a\nb/f'
        echo text >"$HOST_TMP/f"
        FLAGS=(--write "$HOST_TMP"/$'a\nb')
        allows "write:$HOST_TMP"/$'a\nb/f' -- "read:$HOST_TMP/f"
}

test_secrets_of_a_home_with_a_newline_are_denied() {
        export HOME=$T/$'ho\nme'
        mkdir -p "$HOME/.ssh" "$HOME/.config/gh"
        echo key >"$HOME/.ssh/id"
        echo key >"$HOME/.config/gh/hosts.yml"
        echo key >"$HOME/.netrc"
        echo text >"$HOME/open"
        allows "read:$HOME/open" -- "read:$HOME/.ssh/id" "read:$HOME/.config/gh/hosts.yml" "read:$HOME/.netrc"
}

test_data_and_config_with_newlines_are_denied() {
        local data=$T/$'da\nta' config=$T/$'con\nfig'
        mkdir "$data"
        echo key >"$data/f"
        echo key >"$config"
        FLAGS=(--preset tool --data "$data")
        allows "read:$config" -- "read:$data/f"
        mkdir "$data/data"
        echo key | tee "$data/data/f" >"$data/config.toml"
        FLAGS=(--preset guard --data "$data" --config "$config")
        allows "read:$data/f" -- "read:$data/data/f" "read:$config"
}

test_policy_files_of_every_format_name_paths_with_newlines() {
        local file
        echo text >"$W"/$'a\nb'
        echo text >"$W"/$'[x]*\n'
        echo text >"$W/plain"
        printf '%s\n' 'filesystem:' '  deny: ["'"$W"'/a\nb", {path: "'"$W"'/[x]*\n"}]' >"$T/p.yaml"
        printf '%s\n' '{"filesystem": {"deny": ["'"$W"'/a\nb", {"path": "'"$W"'/[x]*\u000a"}]}}' >"$T/p.json"
        printf '%s\n' '[filesystem]' 'deny = ["'"$W"'/a\nb", {path = "'"$W"'/[x]*\u000a"}]' >"$T/p.toml"
        for file in yaml json toml; do
                FLAGS=(--policy "$T/p.$file")
                allows "read:$W/plain" -- "read:$W"/$'a\nb' "read:$W"/$'[x]*\n'
        done
}

test_what_policy_show_prints_says_the_same_when_it_is_read_again() {
        local ws=$T/$'w\n: {s\\n"\'\t'
        mkdir -p "$ws"/$'a\nb' "$ws/c"
        echo text >"$ws"/$'a\nb/f'
        echo text >"$ws/c/f"
        succeeds "$ABATIS" policy show --workspace "$ws" --deny "$ws"/$'a\nb' --deny-glob "**/?"$'\n'
        cp "$T/out" "$T/again.yaml"
        ! LC_ALL=C tr -d '\n' <"$T/out" | LC_ALL=C grep -q '[[:cntrl:]]' || fail "control bytes"
        [ "$(grep -c '^# ' "$T/out")" = 1 ] || fail "the workspace made a line of its own"
        succeeds "$ABATIS" policy show --workspace "$ws" --policy "$T/again.yaml"
        [ "$(sed 's/ *# .*//' "$T/out")" = "$(sed 's/ *# .*//' "$T/again.yaml")" ] || fail "another policy: $(diff "$T/out" "$T/again.yaml")"
        exits 1 "$ABATIS" check read "$ws"/$'a\nb/f' --workspace "$ws" --policy "$T/again.yaml"
        exits 0 "$ABATIS" check read "$ws/c/f" --workspace "$ws" --policy "$T/again.yaml"
        # JSON has the path itself.
        succeeds "$ABATIS" policy show --json --workspace "$ws" --deny "$ws"/$'a\nb'
        json_is "$T/out" 'any(i["key"] == "filesystem.deny" and i["value"].endswith("\t/a\nb") for i in r["policy"])'
}

test_what_is_printed_of_a_path_stays_on_its_line() {
        local dir=$W/$'a\n  hide  etc\e[2J'
        mkdir "$dir"
        exits 1 "$ABATIS" check read "$dir" --deny "$dir"
        prints "refused: deny '$W/a\\n  hide  etc\\x1b[2J' (filesystem.deny)"
        exits 0 "$ABATIS" check read "$W/a\\n" --deny "$dir"
        succeeds "$ABATIS" explain --deny "$dir"
        grep -qF "filesystem.deny $W/a\\n  hide  etc\\x1b[2J" "$T/out" || fail "explain does not show it"
        ! grep -q '^  hide  etc' "$T/out" || fail "a name made a line"
        ! grep -q $'\e' "$T/out" || fail "a control character"
        succeeds "$ABATIS" explain --json --deny "$dir"
        json_is "$T/out" 'any(s["path"] and s["path"].endswith("a\n  hide  etc\x1b[2J") for s in r["steps"])'
        exits 1 "$ABATIS" policy lint --deny "$dir" --read "$dir"
        [ "$(grep -c 'contradicts deny' "$T/out")" = 1 ] || fail "lint says: $(<"$T/out")"
        ! grep -q '^  hide' "$T/out" || fail "a name made a line of lint's"
        # A name that looks like an escape is shown as another one.
        exits 0 "$ABATIS" check read "$W"/'a\nb' --read "$W"
        mkdir "$W"/'a\nb'
        exits 1 "$ABATIS" check read "$W"/'a\nb' --deny "$W"/'a\nb'
        prints "refused: deny '$W/a\\\\nb' (filesystem.deny)"
}

test_an_error_about_a_path_with_a_newline_is_one_line() {
        local flag dir=$T/$'no\nwhere'
        for flag in --workspace --data --read --write --exec --policy; do
                exits 125 "$ABATIS" run --preset tool "$flag" "$dir" -- true
                [ "$(wc -l <"$T/err")" = 1 ] || fail "$flag: $(<"$T/err")"
                grep -qF "$T/no\\nwhere" "$T/err" || fail "$flag does not name it: $(<"$T/err")"
        done
        ln -s "$T/other" "$W"/$'ab\nsent'
        exits 125 "$ABATIS" run --deny "$W"/$'ab\nsent' -- true
        grep -qF "$W/ab\\nsent cannot be enforced" "$T/err" || fail "$(<"$T/err")"
        [ "$(wc -l <"$T/err")" = 1 ] || fail "$(<"$T/err")"
}

test_a_climbing_path_climbs_also_behind_a_newline() {
        mkdir -p "$W"/$'x\n'
        echo text >"$W/y"
        exits 125 "$ABATIS" run --deny "$W"/$'x\n/../y' -- true
        exits 1 "$ABATIS" check read "$W"/$'x\n/../y'
        exits 0 "$ABATIS" check read "$W/y"
}

test_a_project_s_file_in_a_directory_with_a_newline_can_be_trusted() {
        local dir=$T/$'pro\nject'
        export XDG_STATE_HOME=$T/state
        mkdir "$dir"
        echo "filesystem: {write: [inherited, '$T/state/other']}" >"$dir/.abatis.yaml"
        mkdir -p "$T/state/other"
        cd "$dir" || fail "no directory"
        exits 125 "$ABATIS" run -- true
        [ "$(wc -l <"$T/err")" = 1 ] || fail "$(<"$T/err")"
        succeeds "$ABATIS" trust
        prints "$T/pro\\nject/.abatis.yaml: trusted until it changes"
        succeeds "$ABATIS" run -- true
}

test_listed_commands_may_have_newlines_in_their_names() {
        local tool=$T/$'to\nol'
        cp "$(type -P true)" "$tool"
        FLAGS=(--command "$tool")
        succeeds sandbox "$tool"
        exits 126 sandbox true
        FLAGS=()
        control sandbox true
}

# ---- longer than PATH_MAX ----------------------------------------------------------------------------------

# A directory below DIR that no path shorter than 8,000 bytes leads to, with the files "one" and "two"
# and a link from "link" to "one"; prints its path.
make_deep() { # DIR
        python3 "$HELPER" deep "$1"
}

# Tries the files "one" and "two" deep below DIR, and what can be made there: one line each.
look_deep() { # DIR CMD...: the command is what starts it
        local dir=$1
        shift
        "$@" python3 "$HELPER" look-deep "$dir"
}

goes_deep() { # DIR CMD...: runs it with the working directory deep below DIR
        local dir=$1
        shift
        python3 "$HELPER" go-deep "$dir" "$@"
}

deep_answers() { # DIR EXPECTED
        capture look_deep "$1" sandbox
        [ "$RC" = 0 ] || fail "exit code $RC, said: $(said)"
        prints "$2"
}

deep_control() { # DIR
        look_deep "$1" >"$T/out" || fail "positive control failed"
        prints $'one read written\ntwo read written\nnew made'
}

test_a_denied_path_longer_than_path_max_is_unreadable_and_its_neighbour_is_not() {
        local deep
        needs python3
        deep=$(make_deep "$W/d")
        [ "${#deep}" -gt 8000 ] || fail "not deep"
        deep_control "$W/d"
        FLAGS=(--deny "$deep/one")
        deep_answers "$W/d" $'one EACCES EACCES\ntwo read written\nnew made'
        FLAGS=(--protect "$deep/one")
        deep_answers "$W/d" $'one read EROFS\ntwo read written\nnew made'
        FLAGS=(--deny "$deep")
        capture look_deep "$W/d" sandbox
        prints EACCES
        exits 1 "$ABATIS" check read "$deep/one" --deny "$deep/one"
        exits 0 "$ABATIS" check write "$deep/two" --deny "$deep/one"
}

test_a_path_longer_than_path_max_outside_the_workspace_is_denied_or_opened() {
        local deep
        needs python3
        deep=$(make_deep "$T/d")
        deep_control "$T/d"
        FLAGS=()
        deep_answers "$T/d" $'one read EROFS\ntwo read EROFS\nnew EROFS'
        FLAGS=(--deny "$deep/one")
        deep_answers "$T/d" $'one EACCES EACCES\ntwo read EROFS\nnew EROFS'
        # What appears there later is denied too.
        FLAGS=(--deny "$deep/new")
        deep_answers "$T/d" $'one read EROFS\ntwo read EROFS\nnew EROFS'
        FLAGS=(--write "$deep")
        deep_answers "$T/d" $'one read written\ntwo read written\nnew made'
        FLAGS=(--write "$deep/one")
        deep_answers "$T/d" $'one read written\ntwo read EROFS\nnew EROFS'
        FLAGS=(--preset strict --read "$HELPER" --read "$deep/two")
        deep_answers "$T/d" $'one ENOENT ENOENT\ntwo read EROFS\nnew EROFS'
        FLAGS=(--preset strict --read "$HELPER" --write "$deep")
        deep_answers "$T/d" $'one read written\ntwo read written\nnew made'
}

test_a_path_longer_than_path_max_in_the_private_tmp_is_shown() {
        local deep
        needs python3
        deep=$(make_deep "$HOST_TMP")
        FLAGS=(--write "$deep/one" --read "$deep/two")
        deep_answers "$HOST_TMP" $'one read written\ntwo read EROFS\nnew made'
}

test_a_workspace_longer_than_path_max_is_worked_in() {
        local deep preset
        needs python3
        deep=$(make_deep "$T/d")
        for preset in dev tool strict; do
                FLAGS=(--preset "$preset" --workspace "$deep" --read "$HELPER")
                deep_answers "$T/d" $'one read written\ntwo read written\nnew made'
                # The working directory, found by climbing.
                succeeds goes_deep "$T/d" "$ABATIS" run --preset "$preset" -- sh -c 'echo more >>one && cat one && ! echo x >../x'
                grep -q more "$T/out" || fail "not written"
        done
        exits 0 goes_deep "$T/d" "$ABATIS" check write "$deep/one"
        exits 1 goes_deep "$T/d" "$ABATIS" check write "$T/d/x"
}

test_a_repository_longer_than_path_max_keeps_its_hooks() {
        needs python3 git
        make_deep "$W/d" >/dev/null
        goes_deep "$W/d" mkdir -p .git/hooks .git/objects
        goes_deep "$W/d" touch .git/config .git/HEAD
        control goes_deep "$W/d" touch .git/hooks/a .git/config
        control goes_deep "$W/d" "$ABATIS" run -- touch .git/objects/a
        is_refused goes_deep "$W/d" "$ABATIS" run -- touch .git/hooks/b
        is_refused goes_deep "$W/d" "$ABATIS" run -- touch .git/config
}

test_a_policy_file_names_a_path_longer_than_path_max() {
        local deep file
        needs python3
        deep=$(make_deep "$W/d")
        printf 'filesystem:\n  deny: ["%s/one", {path: "%s/two"}]\n' "$deep" "$deep" >"$T/p.yaml"
        printf '{"filesystem": {"deny": ["%s/one", {"path": "%s/two"}]}}\n' "$deep" "$deep" >"$T/p.json"
        printf '[filesystem]\ndeny = ["%s/one", {path = "%s/two"}]\n' "$deep" "$deep" >"$T/p.toml"
        for file in yaml json toml; do
                FLAGS=(--policy "$T/p.$file")
                deep_answers "$W/d" $'one EACCES EACCES\ntwo EACCES EACCES\nnew made'
        done
        succeeds "$ABATIS" policy show --policy "$T/p.yaml"
        cp "$T/out" "$T/again.yaml"
        FLAGS=(--policy "$T/again.yaml")
        deep_answers "$W/d" $'one EACCES EACCES\ntwo EACCES EACCES\nnew made'
}

test_a_mask_longer_than_path_max_is_put_back_when_it_is_lost() {
        needs python3
        make_deep "$T/d" >/dev/null
        FLAGS=(--write "$T/d" --deny "$(make_deep "$T/d")/one")
        # Somebody outside renames a new file over the denied one while the command looks at it.
        (
                eventually test -e "$W/ready"
                goes_deep "$T/d" sh -c 'echo newcomer >other && mv other one'
                sleep 0.2
                : >"$W/go"
        ) &
        # shellcheck disable=SC2016 # for the shell inside
        succeeds goes_deep "$T/d" "$ABATIS" run "${FLAGS[@]}" --workspace "$W" -- sh -c '
                ! cat one 2>/dev/null || exit 1
                : >'"$W"'/ready
                n=0; while [ ! -e '"$W"'/go ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
                [ -e '"$W"'/go ] && ! cat one 2>/dev/null'
        wait
        grep -q newcomer <(goes_deep "$T/d" cat one) || fail "nothing was renamed"
}

test_what_cannot_be_done_with_a_long_path_is_refused_in_one_line() {
        local deep
        needs python3
        deep=$(make_deep "$W/d")
        # The kernel starts no program by such a path, and tells none.
        exits 127 "$ABATIS" run -- "$deep/one"
        grep -q 'longer than the path of any program' "$T/err" || fail "$(said)"
        goes_deep "$W/d" cp "$(type -P true)" program
        control goes_deep "$W/d" "$ABATIS" run -- ./program
        # shellcheck disable=SC2016 # for the shell inside
        exits 125 goes_deep "$W/d" sh -c '"$ABATIS" run -- cat <one'
        grep -q 'give the command a pipe' "$T/err" || fail "$(said)"
        # shellcheck disable=SC2016 # for the shell inside
        control goes_deep "$W/d" sh -c 'cat one | "$ABATIS" run -- cat'
        # Absent, in a writable directory: what is cut out of the message is marked, and its end is there.
        exits 125 "$ABATIS" run --deny "$deep/absent" -- true
        [ "$(wc -l <"$T/err")" = 1 ] || fail "$(said)"
        grep -q '\[\.\.\.\].*/absent cannot be enforced: it is too long' "$T/err" || fail "$(<"$T/err")"
        exits 125 "$ABATIS" run --read "$deep/absent" -- true
        grep -q "\[\.\.\.\].*/absent' does not exist" "$T/err" || fail "$(<"$T/err")"
        # A new root has the link too, and no link holds so much.
        mkdir "$T/empty"
        cd "$T/empty" || fail "no directory"
        control "$ABATIS" run --preset strict --read "$deep/one" -- true
        exits 125 "$ABATIS" run --preset strict --read "$deep/link" -- true
        grep -q 'is too long for a link' "$T/err" || fail "$(<"$T/err")"
}

test_a_path_has_its_limit() {
        local path=/ n
        for n in {1..330}; do path+=$(printf '%0199d/' "$n"); done
        exits 125 "$ABATIS" run --deny "$path" -- true
        grep -q '65535 are the most' "$T/err" || fail "$(said)"
        exits 1 "$ABATIS" check read "$path"
        [ "$(wc -l <"$T/out")" = 1 ] || fail "more than a line"
        path=$(printf '/x%.0s' {1..2049})
        exits 125 "$ABATIS" run --deny "$path" -- true
        grep -q '2048 are the most' "$T/err" || fail "$(said)"
        control "$ABATIS" run --deny "$(printf '/x%.0s' {1..2048})" -- true
}

main "$@"
