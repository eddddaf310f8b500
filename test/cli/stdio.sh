#!/bin/bash
# stdio.sh: what the command can do to the files, devices and pipes that it is given as stdin.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016 # the sandboxed shell expands, not this one
. "$(dirname "$0")/lib.sh"

# Prints what could be done to the file that stdin is, which was opened to be read, and its first line.
readonly CHANGE_STDIN='import os
def attempt(name, action):
    try:
        action()
        print(name, end=" ")
    except OSError:
        pass
line = os.read(0, 100).decode().strip()
attempt("read-write", lambda: os.close(os.open("/proc/self/fd/0", os.O_RDWR)))
attempt("write", lambda: os.close(os.open("/proc/self/fd/0", os.O_WRONLY)))
attempt("stdin", lambda: os.close(os.open("/dev/stdin", os.O_RDWR)))
attempt("mode", lambda: os.fchmod(0, 0o640))
attempt("times", lambda: os.utime(0, (1, 1)))
attempt("truncate", lambda: os.truncate("/proc/self/fd/0", 1))
print(line)'

test_a_file_on_stdin_is_read_and_not_changed() {
        local file
        for file in "$HOST_TMP" "/dev/shm/${HOST_TMP##*/}" "$T/other-file"; do
                echo content >"$file"
                for FLAGS in '' --deny-glob=**/.env --preset=strict; do
                        [[ $FLAGS == *strict && $ROLE == bare ]] && continue
                        # shellcheck disable=SC2128 # one flag, or none
                        capture "$ABATIS" run ${FLAGS:+"$FLAGS"} -- /usr/bin/python3 -c "$CHANGE_STDIN" <"$file"
                        [ "$RC" = 0 ] || fail "exit code $RC with $file, '$FLAGS': $(said)"
                        prints content
                done
                control /usr/bin/python3 -c "$CHANGE_STDIN" <"$file"
                prints 'read-write write stdin mode times truncate content'
                rm -f "$file"
        done
        FLAGS=()
        # What the policy lets be written is no secret of the caller's.
        echo content >"$W/file"
        capture "$ABATIS" run -- /usr/bin/python3 -c "$CHANGE_STDIN" <"$W/file"
        prints 'read-write write stdin mode times truncate content'
}

test_a_device_is_no_stdin_that_can_be_written() {
        local device found=
        for device in /dev/zero /dev/urandom /dev/null; do
                succeeds sandbox head -c 0 <"$device"
        done
        for device in /dev/net/tun /dev/fuse /dev/loop0 /dev/kmsg /dev/mem; do
                { : <"$device"; } 2>/dev/null || continue
                found=$device
                exits 125 sandbox true <"$device"
                grep -q 'stdin is a device' "$T/err" || fail "said $(said)"
        done
        [ -n "$found" ] || skip "no other device can be read here"
}

# One that has no peer yet finds itself one: by sending, too, which no right to connect is needed for.
test_an_internet_socket_without_a_peer_is_no_stdin() {
        local code='import socket, subprocess, sys
server = socket.create_server(("127.0.0.1", 0))
server.settimeout(1)
given = socket.socket()
kind = sys.argv[1]
if kind == "listening":
    given.bind(("127.0.0.1", 0))
    given.listen()
elif kind == "connected":
    given.connect(server.getsockname())
send = """import socket
given = socket.socket(fileno=0)
try:
    given.shutdown(socket.SHUT_RD)
except OSError:
    pass
try:
    given.sendto(b"sent", 0x20000000, ("127.0.0.1", %d))
except OSError as error:
    print(error.strerror)""" % server.getsockname()[1]
said = subprocess.run(sys.argv[2:] + ["/usr/bin/python3", "-c", send], stdin=given, capture_output=True, text=True)
given.close()
try:
    print(kind, server.accept()[0].recv(9).decode() or "nothing")
except OSError:
    print(kind, "nobody", said.returncode)'
        local kind
        for kind in fresh listening; do
                control /usr/bin/python3 -c "$code" "$kind"
                prints "$kind sent"
                succeeds /usr/bin/python3 -c "$code" "$kind" "$ABATIS" run --
                prints "$kind nobody 125"
        done
        succeeds /usr/bin/python3 -c "$code" connected "$ABATIS" run --
        prints 'connected nothing'
}

# Whoever owns a pipe outside asks for nothing: the command must not make the kernel send him signals.
test_nobody_outside_is_sent_signals_for_input() {
        local code='import fcntl, os, signal, subprocess, sys, time
victim = subprocess.Popen(["/bin/sleep", "20"])
inside, outside = os.pipe()
fcntl.fcntl(inside, fcntl.F_SETOWN, victim.pid)
attempt = """import fcntl, os
for number, value in ((fcntl.F_SETSIG, 9), (fcntl.F_SETFL, os.O_ASYNC)):
    try:
        fcntl.fcntl(0, number, value)
    except OSError:
        pass"""
subprocess.run(sys.argv[1:] + ["/usr/bin/python3", "-c", attempt], stdin=inside, check=True)
os.write(outside, b"x")
time.sleep(0.2)
print("alive" if victim.poll() is None else "killed")
victim.kill()'
        FLAGS=()
        capture /usr/bin/python3 -c "$code" "$ABATIS" run --
        [ "$RC" = 0 ] || fail "exit code $RC: $(said)"
        prints alive
        control /usr/bin/python3 -c "$code" env
        prints killed
}

main "$@"
