#!/bin/bash
# run.sh: the loopback that a sandbox without a network has of its own.
#
#   test/loopback/run.sh [NAME-PATTERN]
#
# As an ordinary user and as root (IDS), by `abatis`, by a prepared and by a shared sandbox (PROGRAMS); what is refused inside goes well
# outside, where there is something to refuse.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
PATTERN=${1:-*}
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
if ((EUID)); then IDS=$EUID; else IDS=${IDS:-4343 0}; fi
PROGRAMS=${PROGRAMS:-abatis abatis-prepared abatis-shared}

T=$(mktemp -d /var/tmp/abatis-loopback.XXXXXX) || exit 1
trap 'kill "${server:-}" 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin"
for program in $PROGRAMS abatis; do cp "$BUILD/$program" "$T/bin/" || exit 1; done
cp inside.py "$T/bin/"
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Werror -static -o "$T/bin/enter" ../tree/enter.c || exit 1
chmod 755 "$T/bin" "$T/bin/"*

as() { # COMMAND...
        if ((EUID == ID)); then "$@"; else setpriv --reuid="$ID" --regid="$ID" --clear-groups "$@"; fi
}
run() { # FLAG... -- COMMAND...
        (cd "$W" && HOME=$W TMPDIR='' as timeout -s KILL 100 "$T/bin/$PROGRAM" run --no-audit "$@" 2>&1)
}
inside() { # WHAT...
        run -- /usr/bin/python3 "$T/bin/inside.py" "$@" </dev/null
}
try() { # NAME WHAT...
        local name=$1 text
        wants "$name" || return 0
        text=$(inside "${@:2}")
        check "${name}_${PROGRAM}_$ID" $? "${text##*$'\n'}"
}
await() { # FILE
        for ((i = 0; i < 1000; i++)); do
                [[ -e $1 ]] && return
                sleep 0.02
        done
        return 1
}
not_found_from_outside() {
        local name=a_server_is_not_found_from_outside text
        wants $name || return 0
        rm -f "$W/port" "$W/end"
        inside serve "$W/port" "$W/end" >"$W/said" &
        server=$!
        await "$W/port" || {
                not_ok "${name}_${PROGRAM}_$ID" "it does not begin: $(tail -n 1 "$W/said")"
                return
        }
        # The control is its own: it has reached itself.
        text=$(as /usr/bin/python3 "$T/bin/inside.py" reach "$(<"$W/port")" 2>&1) && not_ok "${name}_by_the_host_${PROGRAM}_$ID" "it is reached" ||
                check "${name}_by_the_host_${PROGRAM}_$ID" "$([[ $text == *ConnectionRefused* ]]; echo $?)" "$text"
        text=$(inside reach "$(<"$W/port")") && not_ok "${name}_by_another_sandbox_${PROGRAM}_$ID" "it is reached" ||
                check "${name}_by_another_sandbox_${PROGRAM}_$ID" "$([[ $text == *ConnectionRefused* ]]; echo $?)" "$text"
        touch "$W/end"
        wait "$server"
        check "${name}_${PROGRAM}_$ID" $? "$(tail -n 1 "$W/said")"
        server=
}

host_is_not_reached() {
        local name=a_server_of_the_host_is_not_reached text
        wants $name || return 0
        rm -f "$W/port" "$W/end"
        as /usr/bin/python3 "$T/bin/inside.py" serve "$W/port" "$W/end" 2>"$W/said" &
        server=$!
        await "$W/port"
        text=$(inside reach "$(<"$W/port")") && not_ok "${name}_${PROGRAM}_$ID" "it is reached" ||
                check "${name}_${PROGRAM}_$ID" "$([[ $text == *ConnectionRefused* ]]; echo $?)" "$text"
        touch "$W/end"
        # It sees whether anybody came.
        wait "$server"
        check "${name}_as_it_says_itself_${PROGRAM}_$ID" $? "$(tail -n 1 "$W/said")"
        server=
}

nested() {
        local name=an_abatis_inside_needs_it_for_itself text
        wants $name || return 0
        text=$(run -- "$T/bin/abatis" run --no-audit -- true </dev/null)
        check "${name}_${PROGRAM}_$ID" "$([[ $? == 125 && $text == *'fix: start that one with --no-loopback'* ]]; echo $?)" "$text"
        text=$(run --no-loopback -- sh -c "/usr/bin/python3 '$T/bin/inside.py' none && '$T/bin/abatis' run --no-audit -- /usr/bin/python3 '$T/bin/inside.py' none" </dev/null)
        check "${name}_and_gets_it_${PROGRAM}_$ID" $? "$text"
}

# One that was connected outside is not connected anew, whatever else is asked about.
socket_beside_unix() {
        local name=a_socket_as_stdin_is_not_connected_anew_with_a_unix_socket text
        wants $name || return 0
        text=$(cd "$W" && HOME=$W as /usr/bin/python3 - "$T/bin/$PROGRAM" "$W/nobody" 2>&1 <<'PYTHON'
import socket, subprocess, sys
first, second = (socket.create_server(("127.0.0.1", 0)) for _ in "ab")
given = socket.create_connection(first.getsockname())
again = f"""
import ctypes, errno, socket
given = socket.socket(fileno=0)
assert ctypes.CDLL(None, use_errno=True).connect(0, bytes(16), 16) < 0
for port in ({second.getsockname()[1]}, {first.getsockname()[1]}):
    try:
        given.connect(("127.0.0.1", port))
    except OSError as error:
        assert error.errno in (errno.EPERM, errno.EACCES), error
    else:
        raise SystemExit("it is connected")
"""
result = subprocess.run([sys.argv[1], "run", "--no-audit", "--unix", sys.argv[2], "--", "/usr/bin/python3", "-c", again], stdin=given, capture_output=True, text=True)
if "shared" not in sys.argv[1] or result.returncode != 125 or "reaches further" not in result.stderr:
    assert not result.returncode, result.stderr
second.setblocking(False)
try:
    second.accept()
    sys.exit("somebody came")
except BlockingIOError:
    pass
PYTHON
        )
        check "${name}_${PROGRAM}_$ID" $? "$text"
}

# Where there can be one network at a time there is one for each job in turn. The kernel takes them down in its own time.
leaves_nothing() {
        local name=nothing_of_it_is_left text
        wants $name || return 0
        # shellcheck disable=SC2016 # the inner shell's
        text=$(cd "$W" && HOME=$W TMPDIR='' as timeout -s KILL 100 unshare --user --map-root-user sh -c '
                echo 1 >/proc/sys/user/max_net_namespaces || exit 1
                for job in 1 2 3; do
                        tries=0
                        until "$1" run --no-audit -- /usr/bin/python3 "$2" meet; do
                                tries=$((tries + 1))
                                [ $job != 1 ] && [ $tries -lt 50 ] || exit 1
                                sleep 0.1
                        done
                done
                # The control: at the same time there is none for another.
                tries=0
                until [ -e port-of-one ]; do
                        tries=$((tries + 1))
                        [ $tries -lt 50 ] || exit 1
                        "$1" run --no-audit -- /usr/bin/python3 "$2" serve port-of-one end-of-one &
                        while [ ! -e port-of-one ] && kill -0 $! 2>&-; do sleep 0.1; done
                done
                "$1" run --no-audit -- /usr/bin/python3 "$2" none
                code=$?
                touch end-of-one
                wait $! && rm -f port-of-one end-of-one && exit $code' sh "$T/bin/$PROGRAM" "$T/bin/inside.py" 2>&1 </dev/null)
        check "${name}_${PROGRAM}_$ID" $? "${text##*$'\n'}"
}

socket_as_stdin() {
        local name=a_socket_as_stdin_is_good_for_its_peer_alone text
        wants $name || return 0
        text=$(cd "$W" && HOME=$W as /usr/bin/python3 - "$T/bin/$PROGRAM" "$T/bin/inside.py" 2>&1 <<'PYTHON'
import socket, subprocess, sys
server = socket.create_server(("127.0.0.1", 0))
given = socket.create_connection(server.getsockname())
ours, _ = server.accept()
result = subprocess.run([sys.argv[1], "run", "--no-audit", "--", "/usr/bin/python3", sys.argv[2], "peer"], stdin=given, capture_output=True, text=True)
if result.returncode == 125 and "reaches further" in result.stderr and "shared" in sys.argv[1]:
    sys.exit(0) # its filter was loaded before
assert not result.returncode, result.stderr
assert ours.recv(64) == b"from inside"
PYTHON
        )
        check "${name}_${PROGRAM}_$ID" $? "$text"
}

with_a_unix_socket() {
        local name=it_is_there_with_a_unix_socket text
        wants $name || return 0
        text=$(cd "$W" && HOME=$W as /usr/bin/python3 - "$T/bin/abatis" "$T/bin/inside.py" "$W" 2>&1 <<'PYTHON'
import os, socket, subprocess, sys, threading
abatis, inside, directory = sys.argv[1:]
listed, other = (directory + name for name in ("/listed", "/other"))
servers = [socket.socket(socket.AF_UNIX) for _ in "ab"]
for server, path in zip(servers, (listed, other)):
    server.bind(path)
    server.listen()
threading.Thread(target=lambda: servers[0].accept()[0].sendall(b"ok"), daemon=True).start()
result = subprocess.run([abatis, "run", "--no-audit", "--unix", listed, "--", "/usr/bin/python3", inside, "listed", listed, other],
                        stdin=subprocess.DEVNULL, capture_output=True, text=True)
assert not result.returncode, result.stderr
servers[1].setblocking(False)
try:
    servers[1].accept()
    sys.exit("somebody came to the other one")
except BlockingIOError:
    pass
# The control: outside it can be reached.
socket.socket(socket.AF_UNIX).connect(other)
os.remove(listed), os.remove(other)
PYTHON
        )
        check "${name}_$ID" $? "$text"
}

for ID in $IDS; do
        W=$T/$ID
        mkdir "$W"
        ((EUID)) || chown "$ID:$ID" "$W"
        for PROGRAM in $PROGRAMS; do
                try servers_and_clients_meet meet
                try nothing_else_is_reached unreachable
                try there_is_one_device devices
                try flags_are_kept flags
                try a_limit_of_descriptors_holds full
                try thousands_of_sockets_leave_nothing_open many
                try the_network_cannot_be_changed closed
                try limits_of_init_cannot_be_set limits
                not_found_from_outside
                host_is_not_reached
                nested
                socket_beside_unix
                try nobody_else_is_asked listener
                try no_name_of_the_host_is_taken names
                leaves_nothing
                socket_as_stdin
        done
        PROGRAM=abatis
        if wants it_is_there_with_a_broker; then
                text=$(run --deny-glob "$W/**/.env" -- /usr/bin/python3 "$T/bin/inside.py" many </dev/null)
                check "it_is_there_with_a_broker_$ID" $? "$text"
        fi
        # Of root the kernel counts none.
        if ((ID)) && wants its_thread_is_not_counted; then
                for more in "--deny-glob $W/**/.env" ""; do
                        # shellcheck disable=SC2086 # words
                        text=$(run --processes 5 $more -- /usr/bin/python3 "$T/bin/inside.py" processes 5 </dev/null)
                        check "its_thread_is_not_counted_$ID${more:+_with_a_broker}" $? "$text"
                done
        fi
        with_a_unix_socket
        if wants without_namespaces_there_is_none && ((EUID == 0)); then
                text=$(cd "$W" && HOME=$W timeout -s KILL 100 "$T/bin/enter" "$ID" none "$T/bin/abatis" run --no-audit -- \
                        /usr/bin/python3 "$T/bin/inside.py" none 2>&1 </dev/null)
                check "without_namespaces_there_is_none_$ID" $? "$text"
        fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
