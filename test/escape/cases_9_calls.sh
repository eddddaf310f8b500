# shellcheck shell=bash disable=SC2154,SC2034
# No other process, few system calls, no new code; and the preset that has the first two. What the usual filter allows is the control.

WITHOUT=(--preset dev --workspace "$WS")
say_process() { # NAME TEXT: a policy file, by which the sandbox differs from the control
        printf 'version: 1\nprocess: {%s}\n' "$2" >"$PASS_DIR/$1.yaml"
        SANDBOX=("${WITHOUT[@]}" --policy "$PASS_DIR/$1.yaml")
}
works() { # NAME ATTEMPT ARGUMENT...: inside
        local name=$1_as_$PASS code
        shift
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || return 0
        fresh_tree
        attempt_inside "$@"
        code=$?
        if ((code == 0)); then
                ok "$name"
        elif was_refused_by_name "$code"; then
                skip "$name" "refused by name: $(output_line)"
        else
                not_ok "$name" "exit $code: $(output_line)"
        fi
}

# ---- no other process -----------------------------------------------------------------------------------------

say_process alone 'fork: false'
for way in plain vfork nearly_a_thread with_upper_bits; do
        try "no_process_is_started_by_$way" without_the_rule none "fork_$way"
done
try no_process_is_started_by_clone3 outside none fork_clone3 # nobody inside has it, whatever the policy
try no_process_is_started_by_a_shell without_the_rule none start_through /bin/true
works threads_are_no_processes few_threads
works a_program_becomes_another start_path /bin/true

# ---- few system calls -----------------------------------------------------------------------------------------

say_process few 'system_calls: few'
for call in socketpair memfd_create ptrace process_vm_readv process_vm_writev pidfd_open inotify signalfd shmget semget \
        msgget setitimer setpriority sched_setaffinity mlock mincore io_setup personality seccomp unshare getxattr \
        vmsplice prctl rr_interval; do
        try "no_${call}_of_few_calls" without_the_rule none "call_$call"
done
for call in flock chmod ioctl; do
        try "no_${call}_of_few_calls" without_the_rule none "call_$call" "$WS/ok.txt"
done
try no_execveat_of_few_calls without_the_rule none call_execveat "$ATTACK"
for call in call_socket io_uring_setup userfaultfd keyctl perf_event_open; do
        try "no_${call#call_}_of_few_calls" outside none "$call" # refused anyway, by one or the other
done
works files_are_left_of_few_calls few_files "$WS/spare"
works threads_are_left_of_few_calls few_threads
works waiting_is_left_of_few_calls few_waits
works processes_are_left_of_few_calls fork_plain
works dynamic_programs_are_left_of_few_calls start_through /bin/true
works shells_are_left_of_few_calls start_through /bin/sh -c 'echo x >spare/y && [ -s spare/y ]'
# An engine for WebAssembly: it compiles, and has threads for that.
[[ ! -x /usr/bin/node ]] || works node_runs_webassembly_by_few_calls start_through /usr/bin/node -e \
        'new WebAssembly.Instance(new WebAssembly.Module(Buffer.from("0061736d01000000", "hex")))'
WITHOUT=(--preset dev --workspace "$WS" --net unix-only)
say_process few 'system_calls: few'
works unix_sockets_are_left_where_the_policy_has_some call_socket

# ---- no new code ----------------------------------------------------------------------------------------------

# The control has the list, too: it is not by that list that these are refused. A file is no good as output, see below.
PIPED=(/bin/bash -o pipefail -c '"$@" 2>&1 | cat' bash)
WRAP=("${PIPED[@]}")
WITHOUT=(--preset dev --workspace "$WS" --command "$ATTACK" --command /bin/true)
say_process code 'executable_memory: false'
for way in at_once shared_at_once later only_to_be_executed of_shared_memory_later by_pkey_mprotect in_attached_memory \
        by_tracing; do
        try "no_code_$way" without_the_rule none "code_$way"
done
for way in by_personality of_the_zero_device; do # there the list refuses them
        [[ $PASS == bare ]] || try "no_code_$way" without_the_rule none "code_$way"
done
for way in over_a_file over_a_file_later and_back moved_over_code mapped_over_code of_a_shared_file; do
        try "no_code_$way" without_the_rule none "code_$way" "$ATTACK"
done
# These need no rule of their own: nothing of /proc is written, and the list knows no such files.
try no_code_by_the_memory_file outside none code_by_the_memory_file
try no_code_by_the_memory_file_of_a_thread outside none code_by_the_memory_file_of_a_thread
WITHOUT=(--preset dev --workspace "$WS")
try no_code_of_a_written_file without_the_rule none code_of_a_written_file "$WS/code"
try no_code_of_a_memory_file without_the_rule none code_of_a_memory_file
WRAP=(/bin/bash -o pipefail -c '"$@" <ok.txt 2>&1 | cat' bash)
try no_code_of_standard_input without_the_rule none code_of_standard_input
MAY_REFUSE=yes
WRAP=(/bin/bash -o pipefail -c '"$@" <>ok.txt 2>&1 | cat' bash)
try no_code_of_standard_input_that_is_written without_the_rule none code_of_standard_input
WRAP=()
try no_code_of_standard_error without_the_rule none code_of_standard_error
MAY_REFUSE=no WRAP=("${PIPED[@]}")
works static_programs_need_no_new_code few_threads
works dynamic_programs_need_no_new_code start_through /bin/true

# What the kernel itself makes writable and executable when it starts a program: no filter sees that.
refuses_program() { # NAME PROGRAM
        local name=$1_as_$PASS code
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || return 0
        ATTACK=$2 WITHOUT=(--preset dev --workspace "$WS" --command "$2")
        say_process code 'executable_memory: true'
        attempt_inside few_threads
        code=$?
        if ((code)) && ! was_refused_by_name "$code"; then
                not_ok "$name" "the control failed: $(output_line)"
                return
        fi
        say_process code 'executable_memory: false'
        attempt_inside few_threads
        if [[ $? == 125 && $TEXT == *"that it can write and execute"* ]]; then
                ok "$name"
        else
                not_ok "$name" "IT WORKED: $(output_line)"
        fi
}
real_attack=$ATTACK
WRAP=("${PIPED[@]}")
refuses_program no_program_with_an_executable_stack "$PROGRAMS/stack-attack"
refuses_program no_program_whose_code_is_writable "$PROGRAMS/writable-attack"
ATTACK=$real_attack WITHOUT=(--preset dev --workspace "$WS")
say_process code 'executable_memory: false'
# shellcheck disable=SC2053 # a pattern on purpose
if [[ no_new_code_without_a_list_as_$PASS == $PATTERN ]]; then
        attempt_inside few_threads
        if [[ $? == 125 && $TEXT == *"process.executable_memory: false needs process.commands"* ]]; then
                ok "no_new_code_without_a_list_as_$PASS"
        else
                not_ok "no_new_code_without_a_list_as_$PASS" "$(output_line)"
        fi
fi

WRAP=()

# ---- the preset -----------------------------------------------------------------------------------------------

# Limits that nobody can hold here are not what this is about; and the workspace is not there.
printf 'version: 1\nextends: skill\nlimits: {memory: none, processes: none, cpu: none, written: none}\n' >"$PASS_DIR/skill.yaml"
CWD=/
WITHOUT=(--preset dev --workspace "$WS")
SANDBOX=(--policy "$PASS_DIR/skill.yaml" --workspace "$WS" --exec "$ATTACK")
works a_skill_runs few_threads
try a_skill_reads_nothing without_the_rule none open_for "$OUT/ro.txt" 0
try a_skill_reads_no_workspace without_the_rule none open_for "$WS/ok.txt" 0
[[ $PASS == bare ]] || try a_skill_writes_no_tmp without_the_rule none few_files /tmp
try a_skill_starts_no_process without_the_rule none fork_plain
try a_skill_has_no_socket outside none call_socket
try a_skill_maps_no_memory_file without_the_rule none call_memfd_create
SANDBOX+=(--write "$WS/spare")
works a_skill_writes_what_is_listed few_files "$WS/spare"
