#!/bin/bash
# check.sh: the answers of abatis check are those that a command inside gets from the kernel.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# Asks the policy and then the kernel, inside, about each KIND:PATH; `create` inside is `write` for the policy.
agree() { # KIND:PATH...
        local item kind wanted=()
        for item; do
                kind=${item%%:*}
                capture "$ABATIS" check "${kind/create/write}" "${item#*:}" ${FLAGS[@]+"${FLAGS[@]}"}
                case $RC in
                0) wanted+=(yes) ;;
                1) wanted+=(no) ;;
                *) fail "check $item exited $RC: $(said)" ;;
                esac
                [ -s "$T/out" ] || fail "check $item named no rule"
        done
        answers_are "${wanted[@]}" -- "$@"
        COMPARED=$((${COMPARED:-0} + $#))
}

# Both answers stand in the test, so that check and kernel cannot be wrong together.
says() { # yes|no KIND:PATH...
        local want=$1 item code=0
        shift
        [ "$want" = yes ] || code=1
        for item; do
                capture "$ABATIS" check "${item%%:*}" "${item#*:}" ${FLAGS[@]+"${FLAGS[@]}"}
                [ "$RC" = "$code" ] || fail "check $item: exit code $RC instead of $code: $(head -n 1 "$T/out") $(said)"
        done
}

make_world() {
        mkdir -p "$T/other/deep" "$T/bin" "$T/binaries" "$W/secret/deep" "$W/secrets" "$W/kept" "$W/sub" "$T/home/.ssh"
        for dir in "$T/other" "$T/other/deep" "$T/bin" "$T/binaries" "$W" "$W/secret" "$W/secret/deep" "$W/secrets" \
                "$W/kept" "$W/sub" "$T/home" "$T/home/.ssh"; do
                echo content >"$dir/file"
                cp /bin/true "$dir/program"
        done
        ln -s "$W/secret" "$T/to-secret"
        ln -s "$T/other" "$W/to-other"
        ln -s "$W/sub" "$T/to-sub"
        ln -s secret/file "$W/to-file"
        export HOME=$T/home
}

test_answers_agree_with_the_kernel_in_dev() {
        make_world
        FLAGS=(--deny "$W/secret" --deny "$T/bin" --protect "$W/kept")
        agree read:/etc/passwd read:"$W/file" write:"$W/file" create:"$W/new" execute:"$W/program" read:"$W" \
                read:"$T/other/file" write:"$T/other/file" create:"$T/other/new" execute:"$T/other/program" \
                read:"$T/other/deep/file" create:"$T/other/deep/new" create:"$T/new" read:"$T" \
                read:"$W/secret" read:"$W/secret/file" write:"$W/secret/file" execute:"$W/secret/program" \
                create:"$W/secret/new" read:"$W/secret/deep/file" read:"$W/secrets/file" write:"$W/secrets/file" \
                create:"$W/secrets/new" read:"$T/bin/file" execute:"$T/bin/program" read:"$T/binaries/file" \
                execute:"$T/binaries/program" write:"$T/binaries/file" read:"$W/kept/file" write:"$W/kept/file" \
                execute:"$W/kept/program" create:"$W/kept/new" read:"$T/to-secret/file" write:"$T/to-secret/file" \
                read:"$W/to-other/file" write:"$W/to-other/file" create:"$W/to-other/new" read:"$T/to-sub/file" \
                write:"$T/to-sub/file" create:"$T/to-sub/new" read:"$W/to-file" write:"$W/to-file" \
                read:"$HOME/file" write:"$HOME/file" read:"$HOME/.ssh/file" read:"$HOME/.ssh" \
                read:"$W//sub/./file" read:"$T/other/" create:/tmp/new create:/dev/shm/new write:/dev/null read:/dev/null \
                read:/dev/zero read:/dev/urandom read:/proc/self/status write:/proc/self/comm read:/proc/cpuinfo \
                read:/usr/bin/env write:/usr/bin/env create:/usr/new create:/new read:/usr execute:/bin/true \
                create:/dev/new
        [ "$COMPARED" -ge 60 ] || fail "only $COMPARED compared"
}

test_answers_agree_with_the_kernel_in_tool_and_mcp() {
        make_world
        mkdir "$T/data"
        echo content >"$T/data/file"
        git init -q "$W"
        for preset in tool mcp; do
                FLAGS=(--preset "$preset" --data "$T/data" --workspace "$W/sub")
                agree read:"$W/sub/file" write:"$W/sub/file" create:"$W/sub/new" read:"$W/.git/HEAD" \
                        write:"$W/.git/HEAD" create:"$W/.git/new" read:"$T/data/file" write:"$T/data/file" read:"$T/data" \
                        read:"$HOME/.ssh/file" write:"$W/file" read:"$W/file" create:/tmp/new
        done
}

test_answers_agree_with_the_kernel_in_strict_and_guard() {
        make_world
        FLAGS=(--preset strict --read "$T/other" --exec "$T/bin" --deny "$W/secret")
        agree read:/etc/passwd read:/usr/bin/env read:"$W/file" create:"$W/new" execute:"$W/program" \
                read:"$T/other/file" write:"$T/other/file" execute:"$T/other/program" read:"$T/bin/file" \
                execute:"$T/bin/program" read:"$T/binaries/file" execute:"$T/binaries/program" read:"$HOME/file" \
                read:"$W/secret/file" read:/var/log read:/home create:/tmp/new write:/dev/null read:/proc/self/status
        mkdir -p "$T/data/data"
        echo content >"$T/data/config.toml"
        echo content >"$T/data/data/file"
        FLAGS=(--preset guard --data "$T/data")
        agree read:/etc/passwd write:/etc/passwd read:"$T/other/file" write:"$T/other/file" create:"$T/new" \
                read:"$T/data/data/file" create:"$T/data/data/new" read:"$T/data/config.toml" write:"$T/data/config.toml" \
                create:"$T/data/new" read:"$HOME/.ssh/file" create:"$HOST_TMP" create:/usr/lib/abatis-cli-new write:/dev/null \
                create:/dev/shm/new read:/dev/zero
}

test_a_prefix_of_a_name_is_not_its_parent() {
        make_world
        FLAGS=(--deny "$T/bin")
        says no read:"$T/bin" read:"$T/bin/file" read:"$T/bin/absent/deep"
        says yes read:"$T/binaries" read:"$T/binaries/file"
        FLAGS=(--deny "$T/binaries")
        says yes read:"$T/bin/file"
        FLAGS=()
        says no write:"${W}x" write:"${W}x/file"
        says yes write:"$W" write:"$W/x"
}

test_symbolic_links_are_resolved_before_the_rules() {
        make_world
        FLAGS=(--deny "$W/secret")
        says no read:"$T/to-secret/file" read:"$W/to-file" write:"$W/to-other/file"
        says yes read:"$W/to-other/file" write:"$T/to-sub/file" write:"$T/to-sub/absent"
        FLAGS=(--deny "$T/to-secret")
        says no read:"$W/secret/file"
}

test_patterns_are_answered() {
        make_world
        says yes read:"$W/.env" write:"$W/sub/.env" read:"$W/.env/deep"
        FLAGS=(--deny-glob '**/.env' --deny-glob "$T/to-sub/*.key")
        says no read:"$W/.env" write:"$W/sub/.env" read:"$W/.env/deep" execute:/etc/.env read:"$W/sub/a.key" \
                read:"$T/to-sub/a.key"
        says yes read:"$W/.envrc" write:"$W/sub/env" read:"$W/a.key"
        says no read:"$W/.env"
        [ "$(<"$T/out")" = "refused: deny '**/.env' (filesystem.deny_glob)" ] || fail "said: $(<"$T/out")"
}

test_absent_paths_are_answered() {
        make_world
        says yes write:"$W/absent" write:"$W/absent/deep" read:/no/such/path
        says no write:/no/such/path write:"$T/absent"
}

test_relative_climbing_and_empty_paths_are_refused() {
        make_world
        says no read:file read:./file read:../other/file read:"$W/../other/file" read:"$W/sub/.." write:"$W/.." read: read:.
        says yes read:"$W/...file" read:"$W/..file"
}

test_the_deciding_rule_is_named() {
        make_world
        FLAGS=(--deny "$W/secret" --protect "$W/kept")
        says no read:"$W/secret/file"
        grep -qF "$W/secret" "$T/out" || fail "not named: $(<"$T/out")"
        says no write:"$W/kept/file"
        grep -qF "$W/kept" "$T/out" || fail "not named: $(<"$T/out")"
        says no read:"$HOME/.ssh/file"
        grep -qF "$HOME/.ssh" "$T/out" || fail "not named: $(<"$T/out")"
        grep -q 'dev' "$T/out" || fail "the preset is not named: $(<"$T/out")"
        says yes write:"$W/file"
        grep -qF "$W" "$T/out" || fail "not named: $(<"$T/out")"
        [ "$(wc -l <"$T/out")" = 1 ] || fail "not one line"
}

test_flags_may_stand_before_or_after_the_path() {
        make_world
        exits 1 "$ABATIS" check read "$W/secret/file" --deny "$W/secret"
        exits 1 "$ABATIS" check --deny "$W/secret" read "$W/secret/file"
        exits 0 "$ABATIS" check read "$W/secret/file"
}

test_check_runs_and_leaves_nothing() {
        local before
        make_world
        before=$(listing "$T" | grep -vE "^$T(/out|/err)? ")
        says yes execute:"$W/program" write:"$W/absent"
        [ "$before" = "$(listing "$T" | grep -vE "^$T(/out|/err)? ")" ] || fail "something changed"
}

main "$@"
