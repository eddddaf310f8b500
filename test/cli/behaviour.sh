#!/bin/bash
# behaviour.sh: how abatis run behaves towards its caller: exit codes, signals, streams, time, what is left.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

helper() {
        python3 "$HELPER" "$@"
}

# ---- exit codes ------------------------------------------------------------------------------------------

test_every_exit_code_is_passed_through() {
        local code
        for code in {0..255}; do exits "$code" sandbox sh -c "exit $code"; done
}

test_death_by_a_signal_exits_with_128_and_its_number() {
        local pair
        for pair in HUP:129 INT:130 QUIT:131 ABRT:134 KILL:137 USR1:138 SEGV:139 PIPE:141 ALRM:142 TERM:143; do
                exits "${pair#*:}" sandbox sh -c "ulimit -c 0; kill -${pair%:*} \$\$"
        done
}

test_a_program_that_is_not_there_exits_with_127() {
        exits 127 sandbox no-such-program
        exits 127 sandbox ./no-such-program
        exits 127 sandbox /no/such/program
        exits 127 sandbox /etc/passwd/program
}

test_a_program_that_cannot_be_executed_exits_with_126() {
        echo text >text
        chmod 644 text
        exits 126 sandbox ./text
        exits 126 sandbox "$W"
        printf '\177ELF nonsense' >broken
        chmod 755 broken
        exits 126 sandbox ./broken
}

test_a_program_without_execute_permission_in_path_exits_with_126() {
        echo text >tool-name
        chmod 644 tool-name
        PATH=$W exits 126 "$ABATIS" run -- tool-name
        mkdir "$T/later"
        printf '#!/bin/sh\nexit 5\n' >"$T/later/tool-name"
        chmod 755 "$T/later/tool-name"
        PATH=$W:$T/later exits 5 "$ABATIS" run -- tool-name
}

test_a_refused_policy_exits_with_125() {
        exits 125 "$ABATIS" run --preset no-such-preset -- true
}

test_arguments_arrive_unchanged() {
        local words=('' ' ' "it's" '"' "\\" '$HOME' '*' $'new\nline' -- --json -x $'\xff' 日本)
        capture sandbox printf '<%s>\n' "${words[@]}"
        printf '<%s>\n' "${words[@]}" >"$T/want"
        cmp -s "$T/want" "$T/out" || fail "got $(<"$T/out")"
}

test_flags_after_the_program_belong_to_the_program() {
        succeeds "$ABATIS" run echo --json --preset
        prints '--json --preset'
        succeeds "$ABATIS" run --preset dev -- echo -- --json
        prints '-- --json'
}

# ---- signals ---------------------------------------------------------------------------------------------

test_a_signal_to_abatis_reaches_a_command_that_handles_it() {
        local name
        for name in TERM INT HUP USR1 USR2; do
                capture helper signal "$name" "$ABATIS" run -- bash -c "
                        trap 'echo got $name; exit 7' $name
                        echo ready
                        for n in {1..400}; do sleep 0.05; done"
                [ "$RC" = 7 ] || fail "$name: exit code $RC: $(said)"
                prints "got $name"
        done
}

test_a_signal_to_abatis_ends_a_command_that_does_not_handle_it() {
        local pair
        for pair in HUP:129 INT:130 QUIT:131 USR1:138 TERM:143; do
                capture helper signal "${pair%:*}" "$ABATIS" run -- sh -c 'ulimit -c 0; echo ready; exec sleep 300'
                [ "$RC" = "${pair#*:}" ] || fail "${pair%:*}: exit code $RC: $(said)"
        done
}

test_a_signal_to_abatis_leaves_no_background_process() {
        capture helper signal TERM "$ABATIS" run -- sh -c '
                trap "" HUP
                setsid sh -c "trap \"\" TERM; sleep 301 & sleep 302" &
                echo ready
                exec sleep 300'
        [ "$RC" = 143 ] || fail "exit code $RC: $(said)"
}

test_control_c_on_the_terminal_ends_the_command() {
        capture helper terminal '\x03' "$ABATIS" run -- sh -c 'echo ready; exec sleep 300'
        [ "$RC" = 130 ] || fail "exit code $RC: $(<"$T/out") $(said)"
}

test_control_c_on_the_terminal_reaches_the_handler_once() {
        capture helper terminal '\x03' "$ABATIS" run -- bash -c '
                trap "echo caught" INT
                echo ready
                for n in {1..20}; do sleep 0.05; done
                exit 4'
        [ "$RC" = 4 ] || fail "exit code $RC: $(<"$T/out") $(said)"
        [ "$(grep -c caught "$T/out")" = 1 ] || fail "seen $(grep -c caught "$T/out") times"
}

test_the_command_sees_the_callers_terminal() {
        capture helper terminal '' "$ABATIS" run -- sh -c 'test -t 0 && test -t 1 && test -t 2 && echo terminal'
        prints terminal
        capture helper terminal 'typed\n' "$ABATIS" run -- sh -c 'echo ready; read -r line; echo "<$line>"'
        grep -q '<typed>' "$T/out" || fail "the typed line did not arrive: $(<"$T/out")"
}

test_a_stop_of_abatis_stops_the_command_until_it_continues() {
        local job before
        "$ABATIS" run -- bash -c 'for n in {1..40}; do echo tick >>ticks; sleep 0.05; done; exit 5' &
        job=$!
        eventually test -s ticks || fail "the command did not start"
        kill -TSTP "$job"
        eventually grep -q '^State:.T' "/proc/$job/status" || fail "abatis did not stop"
        sleep 0.2
        before=$(wc -l <ticks)
        sleep 0.4
        [ "$(wc -l <ticks)" = "$before" ] || fail "the command went on"
        kill -CONT "$job"
        RC=0
        wait "$job" || RC=$?
        [ "$RC" = 5 ] || fail "exit code $RC"
        [ "$(wc -l <ticks)" = 40 ] || fail "$(wc -l <ticks) ticks"
}

test_signals_ignored_or_blocked_by_the_caller_are_reset() {
        capture python3 -c '
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGPIPE, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])
os.execv(sys.argv[1], sys.argv[1:])' "$ABATIS" run -- grep -E '^Sig(Blk|Ign)' /proc/self/status
        [ "$RC" = 0 ] || fail "exit code $RC: $(said)"
        if grep -v '	0000000000000000$' "$T/out"; then fail "$(<"$T/out")"; fi
}

# ---- time ------------------------------------------------------------------------------------------------

test_timeout_ends_a_plain_command_with_124() {
        exits 124 helper alone 20 "$ABATIS" run --timeout 300ms -- sleep 300
        exits 0 "$ABATIS" run --timeout 60s -- true
        exits 3 "$ABATIS" run --timeout 1m -- sh -c 'exit 3'
}

test_timeout_kills_a_process_that_ignores_term() {
        exits 124 helper alone 20 "$ABATIS" run --timeout 1s -- bash -c 'trap "" TERM INT HUP; while :; do sleep 300; done'
}

test_timeout_kills_a_stopped_process() {
        exits 124 helper alone 20 "$ABATIS" run --timeout 1s -- sh -c 'sleep 300 & kill -STOP $!; kill -STOP $$; sleep 300'
}

test_timeout_kills_a_double_forked_daemon() {
        exits 124 helper alone 20 "$ABATIS" run --timeout 1s -- python3 -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(3): os.close(n)
        time.sleep(300)
    os._exit(0)
time.sleep(300)'
}

test_timeout_kills_a_tree_that_keeps_forking() {
        exits 124 helper alone 20 "$ABATIS" run --timeout 1s -- sh -c '
                spawn() { while :; do sleep 0.05 & sleep 0.05; done; }
                spawn & spawn & spawn'
}

test_timeout_holds_although_nobody_reads_the_output() {
        exits 124 helper unread - 20 "$ABATIS" run --timeout 1s -- yes
        exits 124 helper unread - 20 "$ABATIS" run --timeout 1s --max-output 1GiB -- yes
}

test_a_signal_ends_the_command_although_nobody_reads_the_output() {
        exits 143 helper unread TERM 20 "$ABATIS" run -- yes
        exits 143 helper unread TERM 20 "$ABATIS" run --max-output 1GiB -- yes
}

test_the_end_of_the_command_ends_its_background_processes() {
        exits 0 helper alone 20 "$ABATIS" run -- sh -c 'sleep 300 & setsid sleep 301 & echo started'
        prints started
        "$ABATIS" run -- sh -c 'sleep 300 & echo piped' | cat >"$T/out"
        prints piped
}

test_sigkill_of_abatis_leaves_no_process() {
        exits 137 helper signal KILL "$ABATIS" run -- sh -c 'sleep 300 & setsid sleep 301 & echo ready; sleep 302'
        exits 137 helper signal KILL "$ABATIS" run --max-output 1MiB --timeout 50s -- sh -c '
                trap "" TERM HUP; echo ready; sleep 303'
}

# ---- what is left ----------------------------------------------------------------------------------------

test_private_tmp_is_empty_and_gone_afterwards() {
        local name=$HOST_TMP
        echo host >"$name"
        succeeds sandbox sh -c 'ls -A /tmp /dev/shm | grep -v : | wc -w'
        prints 0
        is_refused sandbox cat "$name"
        control cat "$name"
        succeeds sandbox sh -c "echo inside >$name; echo inside >$name.new; cat $name"
        prints inside
        [ "$(<"$name")" = host ] || fail "the host's file was written"
        [ ! -e "$name.new" ] || fail "a file reached the host's /tmp"
        succeeds sandbox sh -c 'ls -A /tmp | wc -l'
        prints 0
}

# Without a PID namespace the host's are in view, too.
test_no_zombie_stays_inside_or_outside() {
        succeeds helper alone 20 "$ABATIS" run -- bash -c '
                zombies() { grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null; }
                before=$(zombies)
                for n in {1..40}; do (true & true) & done; wait; sleep 0.3
                after=$(zombies | grep -vxF "${before:-none}"); sleep 1 # those of others go
                zombies | grep -cxF "${after:-none}" || true'
        prints 0
}

test_no_mount_and_no_file_is_left_on_the_host() {
        local before after
        mkdir -p "$T/data/data" sub
        git init -q "$W"
        echo x >sub/denied
        export XDG_STATE_HOME=$T/state # the log grows
        before=$(cat /proc/self/mountinfo; listing "$T/data" "$W" "$HOME")
        FLAGS=(--deny "$W/sub/denied" --protect "$W/sub")
        succeeds sandbox true
        FLAGS=(--preset tool --data "$T/data" --timeout 300ms)
        exits 124 sandbox sleep 300
        exits 127 sandbox no-such-program
        FLAGS=(--preset strict --json)
        succeeds sandbox true
        exits 137 helper signal KILL "$ABATIS" run --deny "$W/sub/denied" -- sh -c 'echo ready; sleep 300'
        after=$(cat /proc/self/mountinfo; listing "$T/data" "$W" "$HOME")
        [ "$before" = "$after" ] || fail "$(diff <(echo "$before") <(echo "$after") | head -n 3)"
}

# With its own empty /tmp, /var/tmp, /dev/shm and /run nobody else's files disturb the question.
test_nothing_is_left_in_the_temporary_directories() {
        is_root || skip "needs root for private copies of the host's temporary directories; the root role asks for both uids"
        cat >"$T/inside" <<'END'
for dir in /dev/shm /tmp /run; do mount -t tmpfs tmpfs $dir; chmod 1777 $dir; done
for who in 0 4343; do
        as="setpriv --reuid=$who --regid=$who --clear-groups"
        export XDG_STATE_HOME=$T/state.$who
        install -d -o $who "$XDG_STATE_HOME"
        $as "$ABATIS" run -- sh -c '>/tmp/a; >/dev/shm/a' || exit 2
        $as "$ABATIS" run --preset strict --json -- sh -c 'mktemp' >/dev/null || exit 2
        $as timeout -s KILL 0.3 "$ABATIS" run --preset tool -- sleep 300
        $as "$ABATIS" run -- no-such-program 2>/dev/null
        $as "$ABATIS" run --deny relative -- true 2>/dev/null
        $as "$ABATIS" explain -- true >/dev/null
        $as "$ABATIS" doctor >/dev/null
done
find /dev/shm /tmp /run -mindepth 1
END
        chmod 777 "$W"
        succeeds env T="$T" unshare -m bash "$T/inside"
        prints ''
}

test_forty_runs_at_once_do_not_disturb_each_other() {
        local n pids=()
        for n in {1..40}; do
                mkdir "$n"
                (cd "$n" && "$ABATIS" run -- sh -c "echo $n >/tmp/mine; sleep 0.2; cat /tmp/mine >out; exit $n") &
                pids+=($!)
        done
        for n in {1..40}; do
                RC=0
                wait "${pids[n - 1]}" || RC=$?
                [ "$RC" = "$n" ] || fail "run $n exited $RC"
                [ "$(<"$n/out")" = "$n" ] || fail "run $n read '$(<"$n/out")'"
        done
}

# ---- streams ---------------------------------------------------------------------------------------------

test_closed_standard_streams_stay_harmless() {
        RC=0
        "$ABATIS" run -- true >&- || RC=$?
        [ "$RC" = 0 ] || fail "stdout closed: exit code $RC"
        "$ABATIS" run -- true <&- || RC=$?
        [ "$RC" = 0 ] || fail "stdin closed: exit code $RC"
        "$ABATIS" run -- true 2>&- || RC=$?
        [ "$RC" = 0 ] || fail "stderr closed: exit code $RC"
        "$ABATIS" run -- true <&- >&- 2>&- || RC=$?
        [ "$RC" = 0 ] || fail "all closed: exit code $RC"
        "$ABATIS" run --timeout 60s --max-output 1MiB -- true <&- >&- 2>&- || RC=$?
        [ "$RC" = 0 ] || fail "all closed with an output cap: exit code $RC"
}

test_a_closed_stream_is_not_replaced_by_a_descriptor_of_abatis() {
        "$ABATIS" run -- sh -c 'exec 2>/dev/null; for n in 0 1 2; do readlink /proc/self/fd/$n; done >>seen' <&- >&-
        if grep -vE '^/dev/null$|/seen$|/dev/full$' seen; then fail "found $(<seen)"; fi
}

test_only_the_standard_descriptors_are_inherited() {
        exec 5<"$TEST_DIR/lib.sh" 7>"$T/seven" 200<"$TEST_DIR"
        succeeds sandbox python3 -c 'import os; print([n for n in range(3, 1000) if os.path.exists(f"/proc/self/fd/{n}")])'
        prints '[]'
        succeeds python3 -c '
import os
print([n for n in (5, 7) if os.path.exists(f"/proc/{os.getppid()}/fd/{n}")])'
        prints '[5, 7]'
}

test_a_reader_that_goes_away_ends_the_command() {
        local start=$SECONDS
        env --default-signal=PIPE "$ABATIS" run -- yes | head -n 1 >"$T/out"
        prints y
        env --default-signal=PIPE "$ABATIS" run --max-output 1GiB -- yes | head -n 1 >"$T/out"
        prints y
        # A caller that ignores SIGPIPE, as many runtimes do, must not keep the command alive either.
        env --ignore-signal=PIPE timeout -s KILL 20 "$ABATIS" run --max-output 1GiB -- yes 2>/dev/null | head -n 1 >"$T/out"
        prints y
        [ $((SECONDS - start)) -lt 15 ] || fail "took $((SECONDS - start)) s"
}

test_a_full_device_is_the_commands_own_failure() {
        capture sh -c '"$0" run -- python3 -c "print(1)" >/dev/full' "$ABATIS"
        [ "$RC" != 0 ] || fail "the lost output went unnoticed"
}

test_a_slow_reader_gets_every_byte() {
        "$ABATIS" run -- seq 200000 | (
                sleep 0.5
                md5sum
        ) >"$T/out"
        [ "$(<"$T/out")" = "$(seq 200000 | md5sum)" ] || fail "bytes were lost or changed"
        "$ABATIS" run --max-output 100MiB -- seq 200000 | (
                sleep 0.5
                md5sum
        ) >"$T/out"
        [ "$(<"$T/out")" = "$(seq 200000 | md5sum)" ] || fail "bytes were lost or changed under an output cap"
}

test_a_pipe_that_does_not_block_loses_no_byte() {
        seq 200000 >"$T/want"
        succeeds helper nonblocking "$ABATIS" run --max-output 100MiB -- seq 200000
        cmp -s "$T/want" "$T/out" || fail "$(stat -c %s "$T/out") of $(stat -c %s "$T/want") bytes arrived"
        succeeds helper nonblocking "$ABATIS" run --json --max-output 100MiB -- seq 200000
        json_is "$T/out" 'len(r["stdout"]) == 1288895 and r["truncated"] is False'
}

test_binary_output_is_passed_through_unchanged() {
        head -c 300000 /dev/urandom >bytes
        sandbox cat bytes | cmp - bytes || fail "bytes differ"
        sandbox sh -c 'cat bytes >&2' 2>"$T/err"
        cmp "$T/err" bytes || fail "bytes of stderr differ"
}

test_max_output_caps_what_is_passed_through() {
        RC=0
        "$ABATIS" run --max-output 1000 --timeout 30s -- sh -c 'head -c 5000000 /dev/zero | tr "\0" x' >"$T/out" || RC=$?
        [ "$(stat -c %s "$T/out")" = 1000 ] || fail "$(stat -c %s "$T/out") bytes came through"
        [ "$RC" = 0 ] || fail "exit code $RC"
        "$ABATIS" run --max-output 1000 -- sh -c 'head -c 1000 /dev/zero' >"$T/out"
        [ "$(stat -c %s "$T/out")" = 1000 ] || fail "the last allowed byte was lost"
}

# ---- environment -----------------------------------------------------------------------------------------

test_the_environment_loses_keys_tokens_secrets_and_loader_variables() {
        local name hidden=(OPENAI_API_KEY ANTHROPIC_API_KEY GITHUB_TOKEN NPM_TOKEN MY_SECRET_THING CLIENT_SECRET
                DB_PASSWORD PGPASSWORD LD_BIND_NOW LD_LIBRARY_PATH LD_AUDIT_X SSH_AUTH_SOCK AWS_ACCESS_KEY_ID
                AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN)
        for name in "${hidden[@]}"; do export "$name=/var/empty/sensitive"; done
        succeeds sandbox env
        if grep -a sensitive "$T/out"; then fail "passed: $(grep -a sensitive "$T/out" | tr '\n' ' ')"; fi
        capture sandbox sh -c 'cat /proc/*/environ'
        if grep -qa sensitive "$T/out"; then fail "the environment of a helper process shows the filtered values"; fi
        for name in "${hidden[@]}"; do
                FLAGS=(--env "$name")
                succeeds sandbox printenv "$name"
                prints /var/empty/sensitive
        done
}

test_the_environment_keeps_the_rest() {
        export EDITOR=vi CI=1 MY_SETTING='a b=c' EMPTY='' TOKENIZERS_PARALLELISM=false KEYBOARD=us
        succeeds sandbox env
        for name in PATH HOME LANG TERM EDITOR CI MY_SETTING EMPTY TOKENIZERS_PARALLELISM KEYBOARD; do
                grep -qxF "$name=${!name}" "$T/out" || fail "$name is missing or changed"
        done
}

test_a_temporary_directory_that_cannot_be_used_inside_is_not_named() {
        export TMPDIR=$T/elsewhere
        mkdir "$TMPDIR"
        succeeds sandbox mktemp
        TMPDIR=$W succeeds sandbox mktemp
        grep -q "^$W/" "$T/out" || fail "one that can be used was dropped: $(<"$T/out")"
}

test_an_empty_environment_is_enough() {
        # Without a log: this user's would be in /var/tmp, and stay.
        succeeds env -i "$ABATIS" run --no-audit -- sh -c 'echo "${HOME-unset}"; env | grep -vE "^(PWD|SHLVL|_)=" | wc -l'
        prints $'unset\n0'
}

test_env_sets_and_replaces_variables() {
        export REPLACED=old
        FLAGS=(--env SET=value --env REPLACED=new --env EMPTY= --env 'EQUALS=a=b' --env MADE_TOKEN=given)
        succeeds sandbox sh -c 'echo "$SET|$REPLACED|${EMPTY-unset}|$EQUALS|$MADE_TOKEN"; env | grep -c ^REPLACED='
        prints $'value|new||a=b|given\n1'
}

# ---- limits ----------------------------------------------------------------------------------------------

test_open_files_and_file_size_are_limited() {
        FLAGS=(--open-files 40)
        succeeds sandbox sh -c 'ulimit -n; ulimit -Hn'
        prints $'40\n40'
        is_refused sandbox python3 -c 'import os; [os.dup(0) for n in range(64)]'
        FLAGS=()
        control sandbox python3 -c 'import os; [os.dup(0) for n in range(64)]'
        FLAGS=(--file-size 64KiB)
        is_refused sandbox head -c 100000 /dev/zero '>big'
        is_refused sandbox sh -c 'head -c 100000 /dev/zero >big'
        [ "$(stat -c %s big)" -le 65536 ] || fail "$(stat -c %s big) bytes were written"
        FLAGS=(--file-size 1MiB)
        control sandbox sh -c 'head -c 100000 /dev/zero >big'
}

test_processes_are_limited_where_a_user_namespace_counts_them() {
        FLAGS=(--processes 20)
        if is_root; then
                exits 125 sandbox true
                grep -q processes "$T/err" || fail "the refusal does not name it: $(said)"
                return
        fi
        cat >many.py <<'END'
import os, signal, time
pids = []
try:
    for n in range(60):
        pid = os.fork()
        if pid == 0: time.sleep(60)
        pids.append(pid)
    print("all")
except OSError: print("limited" if 1 < len(pids) <= 20 else len(pids))
for pid in pids: os.kill(pid, signal.SIGKILL)
END
        succeeds sandbox python3 many.py
        prints limited
        FLAGS=()
        control sandbox python3 many.py
        prints all
}

# ---- many and much ---------------------------------------------------------------------------------------

test_more_rules_than_half_the_open_files_hold() {
        local i
        mkdir many
        for ((i = 0; i < 600; i++)); do
                echo secret >"many/$i"
                FLAGS+=(--deny "$PWD/many/$i")
        done
        control cat many/599
        succeeds bash -c 'ulimit -n 1024; exec "$@"' _ "$ABATIS" run "${FLAGS[@]}" -- true
        exits 1 sandbox cat many/0
        exits 1 sandbox cat many/599
}

test_a_sandbox_in_a_sandbox_runs_with_what_is_left() {
        FLAGS+=(--no-loopback)
        succeeds sandbox "$ABATIS" run --best-effort -- echo inside
        prints inside
        succeeds sandbox "$ABATIS" run -- echo inside
        prints inside
        exits 125 sandbox "$ABATIS" run --preset strict -- echo inside
        is_refused sandbox "$ABATIS" run --best-effort -- touch "$HOME/outside"
}

test_arguments_of_a_megabyte_arrive() {
        local word
        word=$(printf '%0100000d' 7)
        succeeds sandbox sh -c 'echo $# ${#9}' _ "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word"
        prints '9 100000'
}

# ---- the words of the tool -------------------------------------------------------------------------------

test_version_and_help_are_printed_on_stdout() {
        local verb
        succeeds "$ABATIS" --version
        grep -qE '[0-9]+\.[0-9]+\.[0-9]+' "$T/out" || fail "no version: $(<"$T/out")"
        for verb in '' run sh explain check serve exec-request mcp hook policy profile trust skill doctor; do
                # shellcheck disable=SC2086 # the empty verb is no argument
                succeeds "$ABATIS" $verb --help
                [ -s "$T/out" ] || fail "$verb --help printed nothing"
                [ ! -s "$T/err" ] || fail "$verb --help wrote to stderr"
        done
        succeeds "$ABATIS" run --help
        for flag in --preset --workspace --data --config --read --write --exec --deny --deny-glob --protect --net --env \
                --timeout --max-output --open-files --file-size --written --processes --memory --cpu --best-effort --json --result-fd; do
                grep -q -e "$flag" "$T/out" || fail "run --help does not name $flag"
        done
}

test_a_verb_takes_the_flags_that_its_help_lists() {
        local verb flag
        local -a flags
        mapfile -t flags < <("$ABATIS" run --help | grep -oE -- '--[a-z][a-z-]*' | sort -u)
        [ ${#flags[@]} -gt 25 ] || fail "run --help lists only ${flags[*]}"
        for verb in run explain check mcp 'policy show' 'policy lint' 'profile lint dev' doctor; do
                # Two verbs have a help for all of their words; only show prints JSON.
                # shellcheck disable=SC2086 # a verb and its words
                "$ABATIS" ${verb/profile lint dev/policy lint} --help >"$T/help"
                [ "$verb" = 'policy show' ] || sed -i 's/policy show \[--json\]//' "$T/help"
                for flag in "${flags[@]}"; do
                        # shellcheck disable=SC2086 # a verb and its words
                        "$ABATIS" $verb "$flag" >/dev/null 2>"$T/err" </dev/null
                        if grep -qE -- "(^|[^a-z-])$flag([^a-z-]|\$)" "$T/help"; then
                                ! grep -qE 'unknown flag|does not go with' "$T/err" || fail "$verb $flag: $(<"$T/err")"
                        else
                                grep -qF -- "$flag does not go with this verb" "$T/err" || fail "$verb takes $flag"
                        fi
                done
        done
        exits 125 "$ABATIS" doctor --jsno
        grep -qF "did you mean '--json'?" "$T/err" || fail "said: $(<"$T/err")"
        exits 125 "$ABATIS" doctor --nte
        ! grep -qF -- '--net' "$T/err" || fail "suggested what doctor does not take: $(<"$T/err")"
}

main "$@"
