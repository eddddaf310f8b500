# shellcheck shell=bash disable=SC2154,SC2034
# Other processes: the victim outside has the same uid; init inside has the power that the command must not
# get.

for file in environ task_environ; do
        try "outside_process_does_not_show_its_$file" outside leak "proc_$file" "$VICTIM"
done
try outside_process_does_not_show_its_root outside leak proc_root "$VICTIM" "$WS/deny.txt"
try outside_process_does_not_show_its_cwd outside leak proc_cwd "$VICTIM" secret
try outside_process_does_not_show_its_descriptors outside leak proc_fd "$VICTIM" 5
try no_environment_in_proc_holds_a_secret outside leak proc_scan_environ

for call in proc_mem_read proc_mem_write proc_maps vm_read vm_write pidfd_getfd pidfd_madvise kcmp \
        move_pages \
        ptrace_attach ptrace_seize; do
        [[ $call == pidfd_madvise && $PASS == user ]] && continue # needs a capability anyway
        try "outside_process_is_not_open_to_$call" outside none "$call" "$VICTIM"
        CONTROL_ARGUMENTS=("$VICTIM")
        try "init_is_not_open_to_$call" outside none "$call" 1
        CONTROL_ARGUMENTS=()
done
CONTROL_ARGUMENTS=("$VICTIM" "$WS/deny.txt")
try init_does_not_show_denied_files_in_its_root outside leak proc_root 1 "$WS/deny.txt"
try init_does_not_show_files_in_its_cwd outside leak proc_root 1 "/proc/1/cwd$WS/deny.txt"
CONTROL_ARGUMENTS=("$VICTIM")
try init_does_not_show_its_environment outside leak proc_environ 1
try init_does_not_show_its_descriptors outside none proc_fd_any 1
if [[ $PASS == root ]]; then
        for name in mnt pid ipc; do
                CONTROL_ARGUMENTS=("$VICTIM" "$name")
                try "${name}_namespace_of_init_is_not_entered" outside none setns_file 1 "$name"
        done
fi
CONTROL_ARGUMENTS=("$VICTIM")
[[ $PASS == root ]] && try namespaces_of_init_are_not_entered_by_pidfd outside none setns_pidfd 1
CONTROL_ARGUMENTS=()

for call in kill tkill tgkill sigqueue pidfd proc_directory by_owner; do
        try "outside_process_gets_no_signal_by_$call" outside victim "signal_$call" "$VICTIM"
done
for call in limit_prlimit schedule_affinity schedule_policy schedule_attributes schedule_nice \
        schedule_ioprio; do
        # A control leaves its mark for good, so it takes the victim of the one before.
        CONTROL_ARGUMENTS=("$VICTIM")
        new_victim
        try "outside_process_is_not_changed_by_$call" outside bystander "$call" "$VICTIM"
        try "init_is_not_changed_by_$call" outside none "$call" 1
        CONTROL_ARGUMENTS=()
done
new_victim
LOG=$PASS_DIR/fixture/group.log
WRAP=("$OUTSIDE" group "$LOG" --)
try kill_of_the_group_does_not_reach_the_launchers_group outside log signal_group
default_policy

# kill(-1) for real would reach the runner and more: its control lives in a PID namespace of its own.
LOG=$PASS_DIR/fixture/all.log
name=kill_of_everybody_stays_inside_as_$PASS
: >"$LOG"
attempt "$OUTSIDE" pid-namespace "$LOG" -- "$ATTACK" signal_everybody
code=$?
if ((code == 77)); then
        skip "$name" "no PID namespace for the control"
elif ! seen_in_time log; then
        not_ok "$name" "the control failed: $(output_line)"
else
        reset_victim
        attempt_inside signal_everybody
        sleep 0.05
        if seen_victim; then not_ok "$name" "IT WORKED: the victim got it"; else ok "$name"; fi
fi

# Renicing all processes of the user for real would renice the runner: this control has a namespace of its own
# too.
name=renice_of_the_user_stays_inside_as_$PASS
attempt "$OUTSIDE" pid-namespace "$LOG" -- "$ATTACK" schedule_nice_user
code=$?
if ((code == 77)); then
        skip "$name" "no PID namespace for the control"
elif ((code != 3)); then
        not_ok "$name" "the control failed: $(output_line)"
else
        reset_victim
        attempt_inside schedule_nice_user
        if seen_victim; then
                not_ok "$name" "IT WORKED: $("$OUTSIDE" process "$VICTIM")"
        else
                ok "$name"
        fi
fi

# Whoever stops init would make the command immortal.
name=init_is_not_stopped_or_killed_from_inside_as_$PASS
attempt "$ABATIS" run "${SANDBOX[@]}" -- sh -c "'$ATTACK' signal_stop_supervisor; echo still here; exit 42"
code=$?
if ((code == 42)) && [[ $TEXT == *"still here"* ]]; then
        ok "$name"
else
        not_ok "$name" "exit $code: $(output_line)"
fi

# Limits that the policy set cannot be lifted.
SANDBOX+=(--open-files 64 --file-size 1MiB)
WITHOUT+=(--file-size 16MiB)
try limit_of_open_files_is_not_raised without_the_rule none limit_raise 7 1024
try limit_of_the_file_size_is_not_raised without_the_rule none limit_raise 1 8388608
try file_does_not_grow_past_its_limit without_the_rule none limit_write "$WS/big" 4194304
default_policy
# The commands of a shared session are one tree, and such a limit is refused there.
if [[ $PASS == user && ${ABATIS##*/} != abatis-shared ]]; then
        SANDBOX+=(--processes 20)
        try number_of_processes_stays_below_its_limit without_the_rule none limit_fork 60
        default_policy
fi
