# shellcheck shell=bash disable=SC2154,SC2034
# Nothing outlives the job: neither a daemon, nor the death of the supervisor at any moment.

# Processes whose command line or environment carries the marker. The pattern comes from a file, so grep does
# not find itself.
marked() { # MARKER
        echo -n "$1" >"$PASS_DIR/marker"
        grep -lsaFf "$PASS_DIR/marker" /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3
}

gone_in_time() { # MARKER
        local i
        for ((i = 0; i < 50; i++)); do
                [[ -z $(marked "$1") ]] && return 0
                sleep 0.1
        done
        return 1
}

present_in_time() { # MARKER
        local i
        for ((i = 0; i < 50; i++)); do
                [[ -n $(marked "$1") ]] && return 0
                sleep 0.05
        done
        return 1
}

end_marked() { # MARKER
        local pid
        for pid in $(marked "$1"); do kill -KILL "$pid" 2>/dev/null; done
}

# The supervisor's number comes into $supervisor. A shell without job control ignores SIGINT in the
# background; env
# puts the default back.
start_job() { # ATTEMPT MARKER
        (cd "$WS" && exec env --default-signal "$ABATIS" run "${SANDBOX[@]}" -- "$ATTACK" "$@") \
                >/dev/null 2>&1 </dev/null &
        supervisor=$!
}

kinds="foreground daemon daemon_and_stay holding_output stopped in_vfork"
id=$PASS-$$
mounts_before=$(sort /proc/self/mountinfo)

# The controls: without a sandbox each of them is alive after its launcher was ended by the same time limit.
declare -A job
for kind in $kinds; do
        setsid timeout -s KILL 0.5 "$ATTACK" "survive_$kind" "control-$kind-$id" >/dev/null 2>&1 </dev/null &
        disown
done
for kind in $kinds; do
        (cd "$WS" && exec timeout -k 2 20 "$ABATIS" run --timeout 1s "${SANDBOX[@]}" -- \
                "$ATTACK" "survive_$kind" "inside-$kind-$id") >/dev/null 2>&1 </dev/null &
        job[$kind]=$!
done
for kind in $kinds; do
        name=time_limit_ends_a_process_that_survives_${kind}_as_$PASS
        wait "${job[$kind]}"
        code=$?
        left=$(marked "inside-$kind-$id")
        case $kind in
        foreground | in_vfork) alive=irrelevant ;; # a foreground process dies with the limit anyway
        *) alive=$(marked "control-$kind-$id") ;;
        esac
        if [[ -n $left ]]; then
                not_ok "$name" "IT WORKED: still alive after abatis returned: $(echo "$left" | tr '\n' ' ')"
        elif [[ -z $alive ]]; then
                not_ok "$name" "the control did not survive"
        elif [[ $kind != daemon && $kind != holding_output ]] && ((code != 124)); then
                not_ok "$name" "abatis returned $code, not 124"
        else
                ok "$name"
        fi
        end_marked "inside-$kind-$id"
        end_marked "control-$kind-$id"
done

# Processes that live two milliseconds cannot be found by a look at /proc: they let a file grow instead.
grows() { # FILE
        local size
        size=$(stat -c %s "$1")
        sleep 0.3
        [[ $(stat -c %s "$1") != "$size" ]]
}
name=time_limit_ends_a_chain_of_short_lived_processes_as_$PASS
setsid "$ATTACK" survive_by_forking "control-chain-$id" "$WS/beat-control" >/dev/null 2>&1 </dev/null
attempt "$ABATIS" run --timeout 1s "${SANDBOX[@]}" -- sh -c \
        "'$ATTACK' survive_by_forking 'chain-$id' '$WS/beat'; sleep 20"
if ! grows "$WS/beat-control"; then
        not_ok "$name" "the control did not survive"
elif [[ ! -s $WS/beat ]]; then
        not_ok "$name" "the attempt did not run: $(output_line)"
elif grows "$WS/beat"; then
        not_ok "$name" "IT WORKED: the chain goes on"
else
        ok "$name"
fi
rm -f "$WS/beat-control" "$WS/beat" # which ends them

name=end_of_the_command_ends_its_daemon_as_$PASS
attempt_inside survive_daemon "end-$id"
if [[ -z $(marked "end-$id") ]]; then ok "$name"; else not_ok "$name" "IT WORKED: the daemon is alive"; fi
end_marked "end-$id"

name=captured_output_does_not_wait_for_a_daemon_as_$PASS
attempt "$ABATIS" run --json --timeout 10s "${SANDBOX[@]}" -- "$ATTACK" survive_holding_output "held-$id"
if [[ -z $(marked "held-$id") && $TEXT =~ \"exit_code\":\ *0 ]]; then
        ok "$name"
else
        not_ok "$name" "$(output_line)"
fi
end_marked "held-$id"

# The supervisor is ended. SIGKILL leaves it no time for anything; the others reach a command that obeys, and
# a daemon that does not.
for signal in KILL TERM INT HUP; do
        name=end_of_the_supervisor_by_SIG${signal}_ends_the_tree_as_$PASS
        marker=supervisor-$signal-$id
        call=survive_daemon_and_obey
        [[ $signal == KILL ]] && call=survive_daemon_and_stay
        start_job "$call" "$marker"
        if ! present_in_time "$marker"; then
                not_ok "$name" "the command never ran"
        else
                sleep 0.1
                kill -"$signal" "$supervisor"
                [[ $signal == KILL ]] && wait "$supervisor" 2>/dev/null
                if gone_in_time "$marker"; then
                        ok "$name"
                else
                        not_ok "$name" "IT WORKED: still alive: $(marked "$marker" | tr '\n' ' ')"
                fi
        fi
        kill -KILL "$supervisor" 2>/dev/null
        end_marked "$marker"
        wait "$supervisor" 2>/dev/null
done

# At any moment: thirty launches, each killed a little later in its life than the one before.
name=supervisor_killed_at_any_moment_leaves_nothing_as_$PASS
marker=moment-$id
reset_tree
for ((i = 0; i < 30; i++)); do
        start_job survive_daemon_and_stay "$marker"
        sleep "0.0$((i / 10))$((i % 10))"
        kill -KILL "$supervisor" 2>/dev/null
        wait "$supervisor" 2>/dev/null
done
if ! gone_in_time "$marker"; then
        not_ok "$name" "IT WORKED: still alive: $(marked "$marker" | tr '\n' ' ')"
elif [[ $(sort /proc/self/mountinfo) != "$mounts_before" ]]; then
        not_ok "$name" "a mount was left behind"
elif seen_tree; then
        not_ok "$name" "the tree was changed"
else
        ok "$name"
fi
end_marked "$marker"

# init dies: somebody outside, or the kernel short of memory, takes it. The supervisor must come back, and
# nothing may live on.
name=death_of_init_ends_the_tree_as_$PASS
marker=init-$id
start_job survive_daemon_and_stay "$marker"
init=
# The marker is in the supervisor's own arguments too, so its presence does not mean that there is an init.
for ((i = 0; i < 100; i++)); do
        read -r init <"/proc/$supervisor/task/$supervisor/children" && [[ -n $init ]] && break
        sleep 0.05
done
sleep 0.3
if [[ -n $init ]]; then
        # shellcheck disable=SC2086 # a list
        kill -KILL $init
        if ! gone_in_time "$marker"; then
                not_ok "$name" "IT WORKED: still alive: $(marked "$marker" | tr '\n' ' ')"
        elif timeout 5 tail --pid="$supervisor" -f /dev/null; then
                ok "$name"
        else
                not_ok "$name" "the supervisor waits for ever"
        fi
else
        not_ok "$name" "the command never ran"
fi
kill -KILL "$supervisor" 2>/dev/null
end_marked "$marker"
wait "$supervisor" 2>/dev/null
