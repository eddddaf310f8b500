# shellcheck shell=bash disable=SC2154,SC2034,SC2016
# Ways to talk to the outside: sockets, IPC objects, terminals, and what came along in the environment.

readonly STREAM=1 DGRAM=2 RAW=3 SEQPACKET=5
LOG=$PASS_DIR/fixture/servers.log

try tcp_listener_is_not_reached outside log socket_inet $STREAM "$TCP4"
try udp_listener_is_not_reached outside log socket_inet $DGRAM "$UDP4"
if ((TCP6 && UDP6)); then
        try tcp6_listener_is_not_reached outside log socket_inet6 $STREAM "$TCP6"
        try udp6_listener_is_not_reached outside log socket_inet6 $DGRAM "$UDP6"
fi
try unix_stream_listener_is_not_reached outside log socket_unix $STREAM "$SERVER_DIR/stream.sock"
try unix_datagram_listener_is_not_reached outside log socket_unix $DGRAM "$SERVER_DIR/dgram.sock"
try abstract_stream_listener_is_not_reached outside log socket_unix $STREAM "@$ABSTRACT-stream"
try abstract_datagram_listener_is_not_reached outside log socket_unix $DGRAM "@$ABSTRACT-dgram"
for call in sendto sendmsg connect; do
        try "datagram_pair_is_not_aimed_outside_by_$call" outside log "socket_pair_$call" $DGRAM \
                "$SERVER_DIR/dgram.sock"
        try "datagram_pair_is_not_aimed_at_an_abstract_name_by_$call" outside log "socket_pair_$call" \
                $DGRAM "@$ABSTRACT-dgram"
done

# Where a stream pair is allowed it must not be good for anything else: the control is a datagram pair.
CONTROL_ARGUMENTS=("$DGRAM" "$SERVER_DIR/dgram.sock")
for call in sendto sendmsg connect; do
        try "stream_pair_is_not_aimed_outside_by_$call" outside log "socket_pair_$call" $STREAM \
                "$SERVER_DIR/stream.sock"
        try "packet_pair_is_not_aimed_outside_by_$call" outside log "socket_pair_$call" $SEQPACKET \
                "$SERVER_DIR/dgram.sock"
done
CONTROL_ARGUMENTS=()

# A socket that the launcher had as its standard input is good for its peer, and for nobody else.
MAY_REFUSE=yes
WRAP=("$OUTSIDE" socket "$STREAM" --)
try tcp_socket_as_standard_input_is_not_aimed_at_somebody_else outside log socket_reaim $STREAM "$TCP4"
WRAP=("$OUTSIDE" socket "$DGRAM" --)
try udp_socket_as_standard_input_is_not_aimed_at_somebody_else outside log socket_reaim $DGRAM "$UDP4"
default_policy
LOG=$PASS_DIR/fixture/servers.log

# FAMILY-NAME FAMILY TYPE PROTOCOL
families() {
        printf '%s\n' "netlink_route 16 $RAW 0" "netlink_uevent 16 $RAW 15" "netlink_generic 16 $RAW 16" \
                "vsock 40 $STREAM 0" \
                "alg 38 $SEQPACKET 0" "mptcp 2 $STREAM 262" "sctp 2 $STREAM 132" "ping 2 $DGRAM 1" \
                        "rds 21 $SEQPACKET 0" \
                "can 29 $RAW 1" "tipc 30 $STREAM 0" "bluetooth 31 $RAW 1" "kcm 41 $SEQPACKET 0" \
                        "qipcrtr 42 $DGRAM 0" \
                "smc 43 $STREAM 0" "key 15 $RAW 2" "appletalk 5 $DGRAM 0" "unix_seqpacket 1 $SEQPACKET 0"
        [[ $PASS == root ]] && printf '%s\n' "packet 17 $RAW 0" "xdp 44 $RAW 0" "raw_icmp 2 $RAW 1" \
                "raw_icmp6 10 $RAW 58" \
                "netlink_audit 16 $RAW 9" "netlink_netfilter 16 $RAW 12"
}
while read -r family number type protocol; do
        # That of a loopback of its own knows of nothing else: test/loopback.
        [[ $family == netlink_route && $PASS != bare ]] && continue
        # Not in this kernel, or not for us: nothing to be kept from.
        "$ATTACK" socket_open "$number" "$type" "$protocol" 2>/dev/null || continue
        try "no_socket_of_family_$family" outside none socket_open "$number" "$type" "$protocol"
done < <(families)
try no_socket_with_high_bits_in_the_family outside none socket_open_high_bits 1 $STREAM 0

SANDBOX+=(--net unix-only)
try unix_only_does_not_reach_a_tcp_listener outside log socket_inet $STREAM "$TCP4"
try unix_only_does_not_reach_a_udp_listener outside log socket_inet $DGRAM "$UDP4"
try unix_only_opens_no_netlink outside none socket_open 16 $RAW 0
default_policy
LOG=$PASS_DIR/fixture/servers.log
SANDBOX+=(--net allow)
while read -r family number type protocol; do
        case $family in netlink_route | unix_seqpacket | mptcp | sctp | ping) continue ;; esac
        "$ATTACK" socket_open "$number" "$type" "$protocol" 2>/dev/null || continue
        try "network_allowed_still_opens_no_socket_of_family_$family" outside none socket_open "$number" \
                "$type" "$protocol"
done < <(families)
default_policy

LOG=$PASS_DIR/fixture/ipc.log
try shared_memory_of_an_outside_process_is_not_attached_by_key outside leak ipc_shm_key "$IPC_KEY"
try shared_memory_of_an_outside_process_is_not_attached_by_number outside leak ipc_shm_id "$IPC_ID"
try message_queue_of_an_outside_process_gets_nothing outside log ipc_msg "$IPC_KEY"
try semaphore_of_an_outside_process_is_not_raised outside log ipc_sem "$IPC_KEY"
try posix_shared_memory_of_an_outside_process_is_not_read outside leak ipc_posix_shm "$IPC_NAME"
try posix_shared_memory_of_an_outside_process_is_not_cut outside log ipc_posix_shm_write "$IPC_NAME"
try posix_queue_of_an_outside_process_gets_nothing outside log ipc_mqueue "$IPC_NAME"
try posix_queue_of_an_outside_process_is_not_removed outside log ipc_mqueue_unlink "$IPC_NAME"

if [[ $TERMINAL == none ]]; then
        skip "terminal_attempts_as_$PASS" "this machine gives us no pseudo terminal"
else
        LOG=$PASS_DIR/fixture/typed.log
        WRAP=("$OUTSIDE" on-terminal "$LOG" --)
        if [[ $(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null) != 0 || $PASS == root ]]; then
                try nothing_is_typed_by_tiocsti outside log terminal_sti
                try nothing_is_typed_by_tiocsti_with_high_bits outside log terminal_sti_high_bits
        fi
        [[ $PASS == root ]] && try nothing_is_typed_after_taking_the_terminal outside log \
                terminal_sti_new_session
        # The driver's own ENOTTY is the control: a pseudo terminal is no console.
        try tioclinux_does_not_reach_the_driver outside none terminal_tioclinux
        try tioclinux_with_high_bits_does_not_reach_the_driver outside none terminal_tioclinux_high_bits
        try controlling_terminal_is_not_opened outside none terminal_dev_tty
        try foreground_group_is_not_taken outside none terminal_foreground
        try mode_of_the_terminal_is_not_changed outside log terminal_chmod
        WRAP=()
        LOG=$PASS_DIR/fixture/terminal.log
        try terminal_of_somebody_else_is_not_written outside log terminal_write_other "$TERMINAL"
        default_policy
fi

# The environment and the signal state of the launcher.
export ANTHROPIC_API_KEY=TOP-SECRET GITHUB_TOKEN=TOP-SECRET AWS_SECRET_ACCESS_KEY=TOP-SECRET \
        AWS_SESSION_TOKEN=TOP-SECRET \
        DATABASE_PASSWORD=TOP-SECRET MY_SECRET_THING=TOP-SECRET SSH_AUTH_SOCK=/nonexistent/agent
for name in ANTHROPIC_API_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN DATABASE_PASSWORD \
        MY_SECRET_THING \
        SSH_AUTH_SOCK; do
        try "variable_does_not_come_along_$name" outside none environment_has "$name"
done
try no_variable_with_a_secret_comes_along outside leak environment_has_secret
CONTROL_ARGUMENTS=("$VICTIM")
try init_does_not_carry_the_secrets_of_the_launcher outside leak proc_environ 1
CONTROL_ARGUMENTS=()
try no_process_inside_carries_the_secrets_of_the_launcher outside leak proc_scan_environ
unset ANTHROPIC_API_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN DATABASE_PASSWORD \
        MY_SECRET_THING SSH_AUTH_SOCK
for name in LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT; do
        WRAP=(env "$name=/nonexistent")
        try "loader_variable_does_not_come_along_$name" outside none environment_has "$name"
done
WRAP=(env --ignore-signal=TERM --block-signal=USR2)
if "${WRAP[@]}" true 2>/dev/null; then
        try signal_state_of_the_launcher_does_not_come_along outside none signals_inherited
else
        skip "signal_state_of_the_launcher_does_not_come_along_as_$PASS" "this env changes no signals"
fi
WRAP=(sh -c 'exec 8>"$0"; exec "$@"' "$PASS_DIR/result")
SANDBOX+=(--result-fd 8)
try result_descriptor_is_closed_inside outside none descriptor_open 8
default_policy
