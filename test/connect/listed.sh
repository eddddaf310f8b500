# listed.sh: network.unix: the sockets on the list are reached, and no other. To be sourced by run.sh.
# shellcheck shell=bash disable=SC2154 # run.sh has T, ID, MODE, AS and TEXT

CLIENT='
import socket, sys
for path in sys.argv[1:]:
    try:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path.replace("@", "\0"))
        print(sock.recv(1).decode())
    except OSError as error:
        print(error.strerror)'

# The modes that take a list of sockets.
nets() { printf '%s\n' deny list; }
letters() { xargs <<<"${TEXT// /_}"; }

test_listed_reach() {
        local net kind name home=$T/world/home
        for net in $(nets); do
                for kind in stream seqpacket; do
                        name=listed_${kind}_is_reached_every_way_with_$net$AS
                        wants "$name" || continue
                        fresh
                        serve d "$kind" "$home/other"
                        serve a "$kind" "$home/plain/socket"
                        inside --net "$net" --unix "$home/plain/socket" -- python3 -B "$T/bin/reach.py" "$home/plain/socket" "$kind"
                        [[ $(lines any) == 18 && $(count sure reached) == "$(lines sure)" && $(lines sure) == 11 ]]
                        check "$name" $? "$TEXT"
                        outside python3 -B "$T/bin/reach.py" "$home/other" "$kind"
                        [[ $(count sure reached) == 11 && $(count any reached) -ge 14 ]] ||
                                not_ok "$name" "the control failed: $TEXT"
                        inside --net "$net" --unix "$home/plain/socket" -- python3 -B "$T/bin/reach.py" "$home/other" "$kind"
                        [[ $(lines any) == 18 && $(count any reached) == 0 ]]
                        check "${kind}_that_is_not_listed_is_not_reached_with_$net$AS" $? "$TEXT"
                done
        done
}

test_listed_others() {
        local net name expected home=$T/world/home
        for net in $(nets); do
                name=only_what_is_listed_is_connected_with_$net$AS
                wants "$name" || continue
                fresh
                serve d stream "$home/other"
                serve a stream "$home/plain/socket"
                serve d abstract "connect-$$"
                outside python3 -B "$T/bin/others.py" "$home/plain/socket" "$home/other" "connect-$$"
                expected='listed reached pair reached pair_of_packets reached abstract reached other_after_listed EISCONN
                        other_behind_a_zero as listed reached datagram made raw made pair_of_datagrams made bound made
                        bound_abstract made bound_by_itself made named_by_a_connection made by_address_of_a_message EISCONN
                        by_descriptor reached by_link_of_the_same_name reached by_an_empty_address EINVAL the_listed_one_again reached'
                [[ $(xargs <<<"$TEXT") == "$(xargs <<<"$expected")" ]] || not_ok "$name" "the control failed: $TEXT"
                inside --net "$net" --unix "$home/plain/socket" -- python3 -B "$T/bin/others.py" "$home/plain/socket" \
                        "$home/other" "connect-$$"
                expected='listed reached pair reached pair_of_packets reached abstract EPERM other_after_listed EACCES
                        other_behind_a_zero as listed reached datagram EPERM raw EPERM pair_of_datagrams EPERM bound EPERM
                        bound_abstract EPERM bound_by_itself EPERM named_by_a_connection nameless by_address_of_a_message EISCONN
                        by_descriptor EACCES by_link_of_the_same_name EACCES by_an_empty_address EINVAL the_listed_one_again reached'
                [[ $(xargs <<<"$TEXT") == "$(xargs <<<"$expected")" ]]
                check "$name" $? "$TEXT"
        done
}

# Where the host's is out of the command's view, and as the policy calls it.
test_listed_places() {
        local name=listed_socket_is_reached_wherever_it_lies$AS home=$T/world/home view=()
        wants "$name" || return
        fresh
        rm -f "/tmp/connect-of-others.$$"
        serve a stream "/tmp/connect-of-others.$$"
        serve b stream "$home/plain/socket"
        serve c stream "$T/world/ws/socket"
        ln -s plain "$home/link"
        view=("/tmp/connect-of-others.$$" "$home/link/socket" "$home/plain/socket" "$T/world/ws/socket")
        inside --unix "${view[0]}" --unix "$home//link/socket" --unix "${view[3]}" -- python3 -c "$CLIENT" "${view[@]}"
        [[ $(letters) == "a b b c" ]]
        check "$name" $? "$TEXT"
        # A new root needs mounts.
        if [[ $MODE == user ]]; then
                inside --preset strict --unix "${view[0]}" --unix "$home/link/socket" --unix "${view[3]}" -- \
                        /usr/bin/python3 -c "$CLIENT" "${view[@]}"
                [[ $(letters) == "a b b c" ]]
                check "${name}_with_strict" $? "$TEXT"
        fi
        inside --unix "${view[2]}" -- python3 -c "$CLIENT" "${view[@]}"
        [[ $(letters) == *_*" b b Permission_denied" ]]
        check "not_listed_${name}" $? "$TEXT"
}

# Runs a command inside that waits for ws/go, does what is given here as soon as it has started, and lets it go on.
meanwhile() { # ACTION FLAG... -- ARGUMENT-OF-CLIENT...
        local action=$1 flags=() job
        shift
        while [[ $1 != -- ]]; do
                flags+=("$1")
                shift
        done
        shift
        rm -f "$T/world/ws/go" "$T/world/ws/started"
        (inside "${flags[@]}" -- sh -c ': >started; while [ ! -e go ]; do sleep 0.01; done; exec python3 -c "$@"' sh "$CLIENT" "$@"
                echo "$TEXT") >"$T/later" 2>&1 &
        job=$!
        for _ in {1..1000}; do
                [[ -e $T/world/ws/started ]] && break
                sleep 0.01
        done
        "$action"
        : >"$T/world/ws/go"
        wait "$job"
        TEXT=$(<"$T/later")
}
starts_anew() {
        stop_servers
        rm -rf "$T/world/home/plain"
        mkdir "$T/world/home/plain"
        own
        serve e stream "$T/world/home/plain/socket"
}
becomes_a_link() {
        mv "$T/world/home/plain/socket" "$T/world/home/plain/before"
        ln -s ../other "$T/world/home/plain/socket"
}
directory_becomes_a_link() {
        mv "$T/world/home/plain" "$T/world/home/before"
        ln -s decoy "$T/world/home/plain"
}
test_listed_later() {
        local name=listed_socket_may_appear_and_start_anew$AS home=$T/world/home
        if wants "$name"; then
                fresh
                meanwhile starts_anew --unix "$home/plain/socket" -- "$home/plain/socket"
                [[ $(letters) == e ]]
                check "$name" $? "$TEXT"
                fresh
                serve a stream "$home/plain/socket"
                meanwhile starts_anew --unix "$home/plain/socket" -- "$home/plain/socket"
                [[ $(letters) == e ]]
                check "again_$name" $? "$TEXT"
        fi
        name=link_in_the_place_of_a_listed_socket_is_not_followed$AS
        if wants "$name"; then
                fresh
                serve a stream "$home/plain/socket"
                serve d stream "$home/other"
                meanwhile becomes_a_link --unix "$home/plain/socket" -- "$home/plain/socket" "$home/other" "$home/plain/before"
                [[ $(letters) == "Connection_refused Permission_denied Permission_denied" ]]
                check "$name" $? "$TEXT"
                outside python3 -c "$CLIENT" "$home/plain/socket"
                [[ $TEXT == d ]] || not_ok "$name" "the control failed: $TEXT"
                fresh
                mkdir "$home/decoy"
                own
                serve a stream "$home/plain/socket"
                serve d stream "$home/decoy/socket"
                meanwhile directory_becomes_a_link --unix "$home/plain/socket" -- "$home/plain/socket"
                [[ $(letters) == *_* ]]
                check "directory_$name" $? "$TEXT"
                outside python3 -c "$CLIENT" "$home/plain/socket"
                [[ $TEXT == d ]] || not_ok "directory_$name" "the control failed: $TEXT"
        fi
}

# Where the command may write, it could give the name to somebody else's socket.
test_listed_in_workspace() {
        local name=name_of_a_listed_socket_is_not_given_to_another$AS ws=$T/world/ws act='
mv -f other sub/socket; ln -f other sub/socket; ln -sf ../other sub/socket; rm -f sub/socket
mv sub away; mv -T decoy sub; python3 -c "import os; os.replace(\"other\", \"sub/socket\")"
exec python3 -c "$@"'
        wants "$name" || return
        for there in yes no; do
                fresh
                mkdir "$ws/sub" "$ws/decoy"
                own
                [[ $there == no ]] || serve a stream "$ws/sub/socket"
                serve d stream "$ws/other"
                serve d stream "$ws/decoy/socket"
                inside --unix "$ws/sub/socket" -- sh -c "$act" sh "$CLIENT" "$ws/sub/socket" sub/socket other decoy/socket \
                        away/socket
                TEXT=$(tail -n 5 <<<"$TEXT")
                [[ $(grep -cx d <<<"$TEXT") == 0 ]] && if [[ $there == yes ]]; then
                        [[ $(head -n 2 <<<"$TEXT" | xargs) == "a a" ]]
                else
                        [[ $(head -n 2 <<<"$TEXT") == $'No such file or directory\nNo such file or directory' ]]
                fi
                check "${name}_that_is_there_$there" $? "$TEXT"
        done
        outside sh -c "$act" sh "$CLIENT" "$ws/sub/socket"
        [[ ${TEXT##*$'\n'} == d ]] || not_ok "$name" "the control failed: $TEXT"
}

test_listed_refusals() {
        local name home=$T/world/home
        name=lists_that_contradict_are_refused_by_name$AS
        wants "$name" || return
        fresh
        serve a stream "$home/plain/socket"
        ln -s "$home/plain/socket" "$T/world/ws/planted"
        inside --unix "$home/plain/socket" -- true
        check "control_of_$name" $? "$TEXT"
        refuses() { # WORDS FLAG...
                inside "${@:2}" -- true
                [[ $? == 125 && $TEXT == *"network.unix"*"$1"* ]]
                check "${name}_$(tr -c 'a-z\n' _ <<<"$1")" $? "$TEXT"
        }
        refuses "denies it" --unix "$home/plain/socket" --deny "$home/plain"
        refuses "socket' denies it" --unix "$home/plain/socket" --deny-glob '**/socket'
        refuses "lets every unix socket through" --net unix-only --unix "$home/plain/socket"
        refuses "allow lets every unix socket through" --net allow --unix "$home/plain/socket"
        refuses "may be planted" --unix "$T/world/ws/planted"
        refuses "is no socket" --unix "$home/plain"
        refuses "the command has its own" --unix /proc/self/fd/0
        # On request it goes on, and what is denied stays denied.
        inside --best-effort --unix "$home/plain/socket" --deny "$home/plain" -- python3 -c "$CLIENT" "$home/plain/socket"
        [[ $TEXT == *denied || $TEXT == *permitted ]]
        check "denied_socket_of_a_list_is_not_reached$AS" $? "$TEXT"
        [[ $MODE == none ]] || return
        MODE=docker inside --unix "$home/plain/socket" -- true
        [[ $? == 125 && $TEXT == *"cannot be enforced"*"pidfd_getfd is refused"* ]]
        check "list_without_descriptors_of_the_caller_is_refused_by_name$AS" $? "$TEXT"
}

test_listed_races() {
        local kind name home=$T/world/home
        for kind in string link family descriptor; do
                name=${kind}_is_not_swapped_under_a_connection_to_a_listed_socket$AS
                wants "$name" || continue
                fresh
                serve d stream "$home/other"
                serve a stream "$home/plain/socket"
                outside "$T/bin/race" "$kind" "$home/plain/socket" "$home/other" 1000000
                if [[ $TEXT != "connected to what is denied"* ]]; then
                        not_ok "$name" "the control failed: $TEXT"
                        continue
                fi
                inside --unix "$home/plain/socket" -- "$T/bin/race" "$kind" "$home/plain/socket" "$home/other" "$ROUNDS"
                check "$name" $? "$TEXT"
        done
}

# What people run; and beside a list of places servers and connections of the command's own.
test_listed_work() {
        local name=curl_talks_to_a_listed_socket$AS home=$T/world/home net
        if wants "$name"; then
                fresh
                : >"$T/served"
                (cd "$T/world" && exec "$T/bin/enter" "$ID" user /usr/bin/env python3 -c '
import http.server, socketserver, sys
class Server(socketserver.UnixStreamServer):
    def get_request(self):
        return self.socket.accept()[0], ("there", 0)
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"page")
    def log_message(self, *_):
        pass
server = Server(sys.argv[1], Page)
print("ready", flush=True)
server.serve_forever()' "$home/plain/socket") >"$T/served" 2>&1 </dev/null &
                servers+=($!)
                for _ in {1..300}; do
                        [[ $(<"$T/served") == ready ]] && break
                        sleep 0.01
                done
                for net in $(nets); do
                        inside --net "$net" --unix "$home/plain/socket" -- \
                                curl -s --max-time 20 --unix-socket "$home/plain/socket" http://localhost/
                        [[ $TEXT == page ]]
                        check "${name}_with_$net" $? "$TEXT"
                done
        fi
        name=command_has_its_own_servers_beside_listed_sockets$AS
        if [[ $MODE == user ]] && wants "$name"; then
                fresh
                serve a stream "$home/plain/socket"
                inside --net list --unix "$home/plain/socket" -- python3 -c '
import http.server, socket, sys, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(20):
    urllib.request.urlopen("http://127.0.0.1:%d/" % server.server_port).read()
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
one.bind(("::1", 0))
other = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
other.connect(one.getsockname())
other.send(b"x")
try:
    one.bind(("::1", 0))
except OSError as error:
    print(error.errno)
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
print(one.recv(1), sock.recv(1))' "$home/plain/socket"
                [[ $(tail -n 2 <<<"$TEXT") == $'22\nb\'x\' b\'a\'' ]]
                check "$name" $? "$TEXT"
        fi
        name=socket_as_input_is_judged_by_the_list$AS
        if wants "$name"; then
                fresh
                serve d stream "$home/other"
                serve a stream "$home/plain/socket"
                outside python3 -c '
import socket, subprocess, sys
def run(given, *command):
    done = subprocess.run([sys.argv[1], "run", "--no-audit", "--unix", sys.argv[2], "--", "python3", "-c", *command], stdin=given,
                          capture_output=True, text=True)
    print(done.stdout.strip() or done.returncode)
use = "import socket, sys; s = socket.socket(fileno=0); s.connect(sys.argv[1]); print(s.recv(1))"
run(socket.socket(socket.AF_UNIX), use, sys.argv[2])
run(socket.socket(socket.AF_UNIX), use, sys.argv[3])
run(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), use, sys.argv[2])
run(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0], use, sys.argv[2])
run(socket.socket(), use, sys.argv[2])
server = socket.create_server(("127.0.0.1", 0))
connected = socket.create_connection(server.getsockname())
run(connected, "import socket; socket.socket(fileno=0).connect((\"127.0.0.1\", 1))")
run(connected, "import socket; print(socket.socket(fileno=0).getpeername()[0])")
' "$T/bin/abatis" "$home/plain/socket" "$home/other"
                [[ $(xargs <<<"${TEXT//\'/}") == "ba 1 125 125 125 1 127.0.0.1" ]]
                check "$name" $? "$TEXT"
        fi
}
