#!/bin/bash
# badinput.sh: whatever is wrong is said in one line with the right exit code; nothing starts, nothing is left.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

state() {
        cat /proc/self/mountinfo
        listing "$T" | grep -vE "^$T(/out|/err)? "
        processes_naming "$T"
}

one_line() { # the last captured command's stderr
        [ "$(wc -l <"$T/err")" = 1 ] || fail "$(wc -l <"$T/err") lines on stderr: $(said)"
        [ "$(head -c 8 "$T/err")" = 'abatis: ' ] || fail "does not start with 'abatis: ': $(said)"
        # What a caller passed must not steer the terminal of whoever reads the message.
        if LC_ALL=C tr -d '\n' <"$T/err" | LC_ALL=C grep -q '[[:cntrl:]]'; then fail "control bytes in $(said | cat -v)"; fi
}

# Runs abatis with bad arguments; a program that would leave a mark is part of them where one can be.
bad() { # CODE WORD ARG...: the line must contain WORD
        local code=$1 word=$2 before
        shift 2
        before=$(state)
        # What was refused is written down, beside what is looked at.
        XDG_STATE_HOME=$T.state capture "$ABATIS" "$@"
        [[ " $code " = *" $RC "* ]] || fail "exit code $RC instead of $code for ${*@Q}: $(said)"
        one_line
        grep -qFe "$word" "$T/err" || fail "does not name '$word': $(said)"
        [ ! -s "$T/out" ] || fail "wrote to stdout: $(head -c 200 "$T/out")"
        [ ! -e "$W/mark" ] || fail "the command ran: ${*@Q}"
        [ "$before" = "$(state)" ] || fail "left behind: $(diff <(echo "$before") <(state) | head -n 3)"
}

MARK=(-- touch mark)

test_the_mark_is_made_when_the_input_is_good() {
        succeeds "$ABATIS" run --workspace "$W" "${MARK[@]}"
        [ -e "$W/mark" ] || fail "no mark: every other test here would prove nothing"
}

# ---- flags and verbs -------------------------------------------------------------------------------------

test_an_unknown_flag_is_refused() {
        local flag
        for flag in --nope --worksapce -x --jsonn --preset-x; do bad 125 "$flag" run "$flag" "${MARK[@]}"; done
        bad 125 --nope explain --nope -- true
        bad 125 --nope check read /etc/passwd --nope
        bad 125 --nope doctor --nope
        bad 125 --nope --nope
}

test_a_flag_without_its_value_is_refused() {
        local flag
        for flag in --preset --workspace --data --config --read --write --exec --deny --deny-glob --protect --net --connect \
                --bind --unix --command --env --timeout --max-output --open-files --file-size --written --processes --memory --cpu \
                --connections --connections-per-second --traffic --result-fd; do
                bad 125 "$flag" run "$flag"
        done
}

test_an_unknown_or_missing_verb_is_refused() {
        bad 125 rnu rnu "${MARK[@]}"
        bad 125 '' ''
        capture "$ABATIS"
        [ "$RC" = 125 ] || fail "exit code $RC without a verb: $(said)"
}

test_an_unknown_preset_is_refused() {
        bad 125 dve run --preset dve "${MARK[@]}"
        bad 125 preset run --preset '' "${MARK[@]}"
        bad 125 DEV run --preset DEV "${MARK[@]}"
}

test_an_unknown_network_mode_is_refused() {
        bad 125 none run --net none "${MARK[@]}"
        bad 125 '' run --net '' "${MARK[@]}"
}

test_bad_questions_to_check_are_refused() {
        bad 125 '' check
        bad 125 '' check read
        bad 125 '' check frob /etc/passwd
        bad 125 '' check read /etc/passwd /etc/group
}

test_a_word_too_many_for_doctor_is_refused() {
        bad 125 extra doctor extra
}

# ---- sizes, durations, numbers ---------------------------------------------------------------------------

test_bad_durations_are_refused() {
        local value
        for value in 5x -1 -1s '' 99999999999999h 99999999999999999999999s 1.5.2s ' 5s' '5 s' s inf 0x10s 5S 1e3s; do
                bad 125 timeout run --timeout "$value" "${MARK[@]}"
        done
}

test_bad_sizes_are_refused() {
        local value flag
        for flag in --max-output --file-size --written --traffic; do
                for value in 5x -1 '' 99999999999999GiB 18446744073709551616 9223372036854775808GiB '1 MiB' MiB 0x10 1.5MiB nan 0; do
                        bad 125 '' run "$flag" "$value" "${MARK[@]}"
                done
        done
}

test_bad_counts_are_refused() {
        local value
        for value in -1 abc '' 99999999999999999999999 1.5 '5 ' 5MiB; do
                bad 125 open run --open-files "$value" "${MARK[@]}"
                bad 125 processes run --processes "$value" "${MARK[@]}"
                bad 125 connections run --connect example.org:443 --connections "$value" "${MARK[@]}"
                bad 125 connections-per-second run --connect example.org:443 --connections-per-second "$value" "${MARK[@]}"
        done
        bad 125 'write none' run --connect example.org:443 --connections 0 "${MARK[@]}"
        bad 125 'takes no value' run --connect example.org:443 --no-verify-sni=true "${MARK[@]}"
}

test_a_bad_result_descriptor_is_refused() {
        local value
        for value in x -1 '' 99999999999 3x 77; do bad 125 "result-fd" run --result-fd "$value" "${MARK[@]}"; done
}

test_a_bad_environment_name_is_refused() {
        bad 125 '' run --env '' "${MARK[@]}"
        bad 125 '' run --env '=value' "${MARK[@]}"
}

# ---- paths -----------------------------------------------------------------------------------------------

test_a_workspace_that_is_no_directory_is_refused() {
        echo text >"$T/file"
        ln -s nowhere "$T/dangling"
        ln -s loop "$T/loop"
        bad 125 "$T/missing" run --workspace "$T/missing" "${MARK[@]}"
        bad 125 "$T/file" run --workspace "$T/file" "${MARK[@]}"
        bad 125 "$T/dangling" run --workspace "$T/dangling" "${MARK[@]}"
        bad 125 "$T/loop" run --workspace "$T/loop" "${MARK[@]}"
        bad 125 workspace run --workspace '' "${MARK[@]}"
}

test_a_working_directory_that_is_gone_is_refused() {
        mkdir "$T/gone"
        cd "$T/gone" || fail "no directory"
        rmdir "$T/gone"
        bad 125 '' run "${MARK[@]}"
}

test_data_and_config_that_do_not_exist_are_refused() {
        bad 125 "$T/missing" run --preset tool --data "$T/missing" "${MARK[@]}"
        bad 125 "$T/missing" run --preset guard --config "$T/missing" "${MARK[@]}"
}

test_a_relative_climbing_or_empty_rule_is_refused() {
        local flag
        mkdir -p "$W/sub"
        for flag in --read --write --exec --deny --protect; do
                bad 125 sub run "$flag" sub "${MARK[@]}"
                bad 125 "" run "$flag" ./sub "${MARK[@]}"
                bad 125 ".." run "$flag" ../ws "${MARK[@]}"
                bad 125 ".." run "$flag" "$W/sub/../sub" "${MARK[@]}"
                bad 125 ".." run "$flag" "$W/.." "${MARK[@]}"
                bad 125 "" run "$flag" '' "${MARK[@]}"
        done
}

test_what_is_quoted_in_a_message_cannot_break_the_line() {
        local odd=$'odd\n\e[31m\r\tname'
        bad 125 '' run "--$odd" "${MARK[@]}"
        bad 125 '' "$odd"
        bad 125 '' run --preset "$odd" "${MARK[@]}"
        bad 125 '' run --timeout "$odd" "${MARK[@]}"
        bad 125 '' run --net "$odd" "${MARK[@]}"
        bad 125 '' run --workspace "/$odd" "${MARK[@]}"
        bad 125 '' run --connect "$odd" "${MARK[@]}"
        bad 125 '' run --command "$odd" "${MARK[@]}"
        bad 125 '' run --result-fd "$odd" "${MARK[@]}"
        bad 127 '' run -- "$odd"
        bad 127 '' run -- "./$odd"
        bad 125 '' check "$odd" /etc/passwd
        bad 125 '' run --read "$W/$odd" "${MARK[@]}"
}

test_a_path_that_is_too_long_is_refused() {
        local name=$W n flag
        for n in {1..40}; do name+=/$(printf '%0200d' "$n"); done
        for flag in --deny --read --write --workspace; do
                bad 125 '' run "$flag" "$name" "${MARK[@]}"
        done
        bad 125 '' run --deny "$W/$(printf '%0300d' 0)" "${MARK[@]}"
        bad '125 126 127' '' run -- "$name"
}

test_a_rule_that_cannot_be_examined_is_refused() {
        if is_root; then skip "no path is out of root's reach"; fi
        mkdir -p "$T/locked/inner"
        chmod 000 "$T/locked"
        for flag in --read --write --exec --deny --protect; do
                bad 125 "$T/locked" run "$flag" "$T/locked/inner" "${MARK[@]}"
        done
        bad 125 "$T/locked" run --workspace "$T/locked/inner" "${MARK[@]}"
}

test_a_rule_for_what_does_not_exist_is_refused() {
        for flag in --read --write --exec; do bad 125 "$T/missing" run "$flag" "$T/missing" "${MARK[@]}"; done
}

test_a_loop_of_symbolic_links_is_refused() {
        ln -s loop "$T/loop"
        for flag in --read --write --deny --protect; do bad 125 "$T/loop" run "$flag" "$T/loop" "${MARK[@]}"; done
}

# ---- policies that contradict themselves -----------------------------------------------------------------

test_a_policy_that_denies_its_own_workspace_is_refused() {
        local path
        ln -s "$W" "$T/link"
        for path in "$W" "$W/" "$T" "/" "/var" "$T/link" "//$W/."; do
                bad 125 'workspace' run --workspace "$W" --deny "$path" "${MARK[@]}"
        done
        bad 125 'workspace' run --workspace "$T/link" --deny "$W" "${MARK[@]}"
        bad 125 'workspace' explain --workspace "$W" --deny "$W" -- true
}

test_a_preset_that_denies_the_workspace_is_refused() {
        mkdir -p "$T/data/data/ws" "$T/home/.ssh/ws"
        bad 125 workspace run --preset tool --data "$T/data" --workspace "$T/data/data/ws" "${MARK[@]}"
        echo >"$T/data/config.toml"
        bad 125 workspace run --preset guard --data "$T/data" --workspace "$T/data/data/ws" "${MARK[@]}"
        git init -q "$W"
        bad 125 workspace run --preset tool --workspace "$W/.git" "${MARK[@]}"
        bad 125 workspace run --preset mcp --workspace "$W/.git/hooks" "${MARK[@]}"
        HOME=$T/home bad 125 workspace run --workspace "$T/home/.ssh/ws" "${MARK[@]}"
}

test_a_workspace_of_the_whole_root_is_refused() {
        bad 125 / run --workspace / "${MARK[@]}"
}

test_a_denied_or_protected_path_that_could_be_created_is_not() {
        local flag
        for flag in --deny --protect; do
                is_refused "$ABATIS" run "$flag" "$W/new" -- sh -c 'echo x >new'
                is_refused "$ABATIS" run "$flag" "$W/new/deep" -- sh -c 'mkdir -p new && echo x >new/deep'
                [ ! -e "$W/new/deep" ] || fail "$flag: it was made"
                rm -rf "$W/new"
        done
        control "$ABATIS" run -- sh -c 'echo x >new'
        ln -s "$W/target" "$W/dangling"
        bad 125 "$W" run --deny "$W/dangling" "${MARK[@]}"
}

test_a_denied_path_that_nobody_inside_could_create_does_no_harm() {
        succeeds "$ABATIS" run --deny /no/such/path --deny "$T/missing" --protect /no/such/path -- true
        [ ! -e "$T/missing" ] || fail "a placeholder was left"
}

test_a_denied_link_that_the_command_could_replace_is_refused_or_held() {
        echo secret >"$W/target"
        ln -s target "$W/link"
        capture "$ABATIS" run --deny "$W/link" -- sh -c 'rm -f link; echo planted >link; cat link target'
        case $RC in
        125) one_line ;;
        0) fail "the link was replaced: $(<"$T/out")" ;;
        esac
        [ "$(<"$W/target")" = secret ] || fail "the target was written"
}

# ---- programs --------------------------------------------------------------------------------------------

test_no_program_is_refused() {
        bad 125 '' run
        bad 125 '' run --
        bad 125 '' run --preset dev
        bad 125 '' run --preset dev --
        bad '125 127' '' run -- ''
}

test_a_program_that_is_not_found_is_said_in_one_line() {
        bad 127 no-such-program run -- no-such-program
        bad 127 ./no-such-program run -- ./no-such-program
        bad 127 /no/such/program run -- /no/such/program
        bad 127 /etc/passwd/x run -- /etc/passwd/x
        printf '#!/no/such/interpreter\n' >"$W/script"
        chmod 755 "$W/script"
        bad '126 127' script run -- ./script
        for path in '' /nowhere "$W/script:/nowhere"; do
                capture env PATH="$path" "$ABATIS" run -- touch mark
                [ "$RC" = 127 ] || fail "exit code $RC with PATH='$path': $(said)"
                one_line
        done
}

test_a_program_that_cannot_be_executed_is_said_in_one_line() {
        echo text >"$W/text"
        chmod 644 "$W/text"
        bad 126 text run -- ./text
        bad 126 / run -- /
        bad 126 "$W" run -- "$W"
        printf '\177ELF nonsense' >"$W/broken"
        chmod 755 "$W/broken"
        bad 126 broken run -- ./broken
        : >"$W/empty"
        chmod 755 "$W/empty"
        bad 126 empty run -- ./empty
        cp /bin/true "$W/denied"
        bad 126 denied run --deny "$W/denied" -- ./denied
}

test_a_program_outside_the_strict_view_is_said_in_one_line() {
        cp /bin/true "$T/program"
        bad '126 127' program run --preset strict -- "$T/program"
        succeeds "$ABATIS" run --preset strict --exec "$T/program" -- "$T/program"
}

# abatis itself gets the longest list the kernel allows; the resolved name of the program is longer than the given one.
test_arguments_that_are_too_long_are_said_in_one_line() {
        local deep=$W n
        for n in {1..12}; do deep+=/$(printf '%0200d' "$n"); done
        mkdir -p "$deep"
        printf '#!/bin/sh\n>mark\n' >"$deep/program"
        chmod 755 "$deep/program"
        PATH=$deep:$PATH capture python3 "$HELPER" too-long "$ABATIS" run -- program
        [ "$RC" = 125 ] || [ "$RC" = 126 ] || fail "exit code $RC: $(said)"
        one_line
}

# ---- what this version refuses by name -------------------------------------------------------------------

refused_by_name() { # WORD FLAG VALUE: refused, and with --best-effort listed as not enforced
        local word=$1
        shift
        bad 125 "$word" run "$@" "${MARK[@]}"
        succeeds "$ABATIS" run --json --best-effort "$@" "${MARK[@]}"
        [ -e mark ] || fail "--best-effort $* did not run the command"
        json_is "$T/out" "any('$word' in str(item) for item in r['not_enforced']) and r['exit_code'] == 0"
        rm mark
}

test_what_cannot_be_enforced_is_refused_by_name_unless_best_effort() {
        # Without namespaces it is the list itself.
        refused_by_name network. --connect example.org:53/udp
        refused_by_name network. --connect 'example.org:*/udp'
        refused_by_name network.bind --net deny --bind 8080
        # Where every socket is let through there is no list of them.
        refused_by_name network.unix --net unix-only --unix /run/some.sock
        local mode
        for mode in allow unix-only; do
                refused_by_name limits.connections --net "$mode" --connections 5
                refused_by_name limits.connections_per_second --net "$mode" --connections-per-second 5
                refused_by_name limits.traffic --net "$mode" --traffic 1MiB
        done
}

test_where_there_is_no_network_limits_of_connections_hold_by_themselves() {
        control "$ABATIS" run --connections 5 --connections-per-second 5 --traffic 1MiB -- true
        control "$ABATIS" run --net allow --connections none --traffic none -- true
        control "$ABATIS" run --net allow --no-verify-sni -- true
}

test_a_pattern_is_held_by_the_broker() {
        echo secret >"$W/.env"
        echo plain >"$W/env"
        is_refused "$ABATIS" run --deny-glob '**/.env' -- cat .env
        control "$ABATIS" run --deny-glob '**/.env' -- cat env
        succeeds "$ABATIS" explain --deny-glob '**/.env' -- true
        grep -qE '^  filesystem.deny \*\*/.env +broker$' "$T/out" || fail "not listed: $(grep deny "$T/out")"
        grep -q '^  what the broker denies: ' "$T/out" || fail "does not say what stays visible"
        is_refused "$ABATIS" run --preset strict --deny-glob "$W/.e*" -- cat .env
        control "$ABATIS" run --preset strict --deny-glob "$W/.e*" -- cat env
}

test_a_pattern_that_means_nothing_is_refused() {
        bad 125 relative run --deny-glob 'a/*' "${MARK[@]}"
        bad 125 "a '['" run --deny-glob '/[a' "${MARK[@]}"
        bad 125 "'**'" run --deny-glob 'a**' "${MARK[@]}"
        bad 125 empty run --deny-glob '' "${MARK[@]}"
        bad 125 .. run --deny-glob '/a/../*' "${MARK[@]}"
        bad 125 workspace run --deny-glob '*' "${MARK[@]}"
}

# Shells pass it on as it is where nothing matches, and a file of that name will never be.
test_a_pattern_is_not_taken_for_the_name_of_an_absent_file() {
        local place="$W/[place]"
        bad 125 --deny-glob run --deny "$W/**/.env" "${MARK[@]}"
        bad 125 --deny-glob run --deny "$W/later/*.key" "${MARK[@]}"
        bad 125 'policy file' run --protect "$W/*.lock" "${MARK[@]}"
        # A name that is there is one.
        mkdir "$place"
        echo secret >"$place/a*b"
        is_refused "$ABATIS" run --deny "$place/a*b" -- cat "$place/a*b"
        succeeds "$ABATIS" run --deny "$place/later" -- cat "$place/a*b"
}

test_best_effort_adds_nothing_when_everything_is_enforced() {
        succeeds "$ABATIS" run --json --best-effort -- true
        json_is "$T/out" 'r["not_enforced"] == []'
}

# ---- places and moments that are short of something ------------------------------------------------------

test_abatis_inside_abatis_works_or_is_refused_in_one_line() {
        capture "$ABATIS" run --workspace "$W" -- "$ABATIS" run --workspace "$W" "${MARK[@]}"
        if [ "$RC" = 125 ]; then
                one_line
                [ ! -e mark ] || fail "the command ran"
        else
                [ "$RC" = 0 ] || fail "exit code $RC: $(said)"
        fi
}

test_too_few_descriptors_are_said_in_one_line() {
        local limit
        for limit in 4 5 6 8 10 12 16 20; do
                # The limit of the tests' own shell must stay.
                capture bash -c 'ulimit -n "$1" && exec "$2" run -- touch mark' bash "$limit" "$ABATIS"
                case $RC in
                125)
                        one_line
                        [ ! -e mark ] || fail "the command ran"
                        ;;
                0) rm mark ;;
                *) fail "exit code $RC with $limit descriptors: $(said)" ;;
                esac
        done
}

test_a_workspace_in_a_private_place_works_or_is_refused_by_name() {
        local dir=/dev/shm/${HOST_TMP##*/}
        mkdir "$dir" || fail "no directory in /dev/shm"
        capture "$ABATIS" run --workspace "$dir" -- sh -c "echo made >$dir/made"
        if [ "$RC" = 125 ]; then
                one_line
                grep -qF "$dir" "$T/err" || fail "not named: $(said)"
        else
                [ "$RC-$(ls "$dir")" = 0-made ] || fail "exit code $RC, made: $(ls "$dir")"
        fi
        rm -r "$dir"
}

# ---- killed in the middle --------------------------------------------------------------------------------

test_sigkill_at_any_moment_of_the_start_leaves_nothing() {
        local before
        mkdir -p "$T/data" "$W/secret" "$W/kept"
        git init -q "$W"
        before=$(state)
        succeeds python3 "$HELPER" kill-at-random 30 "$ABATIS" run --preset tool --data "$T/data" --deny "$W/secret" \
                --protect "$W/kept" --workspace "$W" -- sh -c 'sleep 300 & setsid sleep 301 & sleep 302'
        succeeds python3 "$HELPER" kill-at-random 30 "$ABATIS" run --preset strict --json --timeout 60s \
                --max-output 1MiB --deny "$W/secret" --workspace "$W" -- sh -c 'trap "" TERM HUP; sleep 303 & sleep 304'
        [ "$before" = "$(state)" ] || fail "left behind: $(diff <(echo "$before") <(state) | head -n 3)"
}

main "$@"
