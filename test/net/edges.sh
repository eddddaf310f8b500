# shellcheck shell=bash
# edges.sh: what run.sh tries beside whole clients: the edges of connections, what is told of them, and what is left behind.
# Sourced by run.sh.
EDGES_ALLOWED=("open.example:7,80,443,8443" "*.wild.example:7")

edge() { # NAME COMMAND...: the command must succeed
        local name=$1$AS
        shift
        wants "$name" || return 0
        fresh
        if "$@"; then ok "$name"; else not_ok "$name" "${TEXT:0:300}"; fi
}
inside_edge() { inside "${EDGES_ALLOWED[@]}" -- "$LAB/bin/edges.py" "$1"; }

# The socket at 0 must be of no use to reach somebody else: the run is refused, with a word for it. One that has its peer is taken.
stdin_is_refused() { # KIND
        as_user python3 -c 'import socket, subprocess, sys
kind, command = sys.argv[1], sys.argv[2:]
sock = socket.socket(socket.AF_UNIX) if kind == "alone" else socket.socketpair()[0]
sys.exit(subprocess.run(command, stdin=sock.fileno()).returncode)' "$1" "$INSIDE" "${EDGES_ALLOWED[@]}" -- true
        local code=$?
        if [[ $1 == alone ]]; then [[ $code == 125 && $TEXT == *'give the command a pipe'* ]]; else ((!code)); fi
}
hint_is_given_once() {
        inside "${EDGES_ALLOWED[@]}" -- sh -c 'for i in 1 2 3; do getent hosts closed.example; done; exit 0' &&
                [[ $(grep -c -e '--connect closed.example:PORT' <<<"$TEXT") == 1 ]]
}
idle_questions_are_not_told() {
        inside "${EDGES_ALLOWED[@]}" -- sh -c 'getent hosts 93.184.216.99; getent hosts 2606:2800:21f:cb07::99; getent hosts lonely
                getent hosts closed.example; exit 0' && [[ $TEXT == *'--connect closed.example:PORT'* && $TEXT != *arpa* && $TEXT != *lonely* ]]
}
port_is_hinted() {
        inside "${EDGES_ALLOWED[@]}" -- bash -c 'exec 3<>/dev/tcp/open.example/25; exit 0' && [[ $TEXT == *'--connect open.example:25'* ]]
}
result_tells() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- bash -c \
                'exec 3<>/dev/tcp/open.example/7; echo hello >&3; head -n 1 <&3; getent hosts closed.example' &&
                false
        python3 -c 'import json, sys
seen = json.loads(sys.argv[1])["connections"]
whole = [c for c in seen if c["verdict"] == "closed"]
assert len(whole) == 1 and whole[0]["name"] == "open.example" and whole[0]["port"] == 7 and whole[0]["sent"] == 6, seen
assert whole[0]["rule"] == "open.example:7" and whole[0]["received"] >= 6, seen
assert [c["name"] for c in seen if c["verdict"] == "refused"] == ["closed.example"], seen' "$(grep '^{' <<<"$TEXT")"
}
in_three_tries() { # what a busy machine may be too late for
        "$@" || "$@" || "$@"
}
whose_it_is_is_told() { # of a stream, of a name, of a datagram; the socket is open until the answer is there
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import os, socket, time
stream = socket.create_connection(("open.example", 7))
stream.sendall(b"hello\n")
stream.recv(100)
child = os.fork()
if not child:
    os.execvp("getent", ["getent", "hosts", "closed.example"])
os.waitpid(child, 0)
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.sendto(b"x", ("192.0.2.1", 99))
time.sleep(0.5)
print(os.getpid(), child)' || return 1
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
seen = result["connections"]
me, child = map(int, result["stdout"].split())
told = [(c["pid"], c["program"].split("/")[-1].rstrip("0123456789.")) for c in seen]
assert [c["verdict"] for c in seen] == ["closed", "refused", "refused"], seen
assert told == [(me, "python"), (child, "getent"), (me, "python")], seen' "$(grep '^{' <<<"$TEXT")"
}
# Without namespaces: of a stream that is opened and one that is refused, of a name, and of a thread that is not the first of its process.
whose_it_is_is_told_by_the_broker() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import os, socket, threading
def say():
    stream = socket.create_connection(("open.example", 7))
    stream.sendall(b"hello\n")
    stream.recv(100)
    stream.close()
say()
thread = threading.Thread(target=say)
thread.start()
thread.join()
refused = socket.socket().connect_ex(("192.0.2.1", 99))
child = os.fork()
if not child:
    os.execvp("getent", ["getent", "hosts", "closed.example"])
os.waitpid(child, 0)
print(os.getpid(), child)' || return 1
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
seen = result["connections"]
me, child = map(int, result["stdout"].split())
told = [(c["verdict"], c["pid"], c["program"].split("/")[-1].rstrip("0123456789.")) for c in seen]
assert sorted(told) == sorted(2 * [("closed", me, "python")] + [("refused", me, "python"), ("refused", child, "getent")]), seen' "$(grep '^{' <<<"$TEXT")"
}
whose_it_is_is_told_anew() { # of processes that have their sockets by the same number, one after the other
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import os, socket, time
address = socket.getaddrinfo("open.example", 7, socket.AF_INET, socket.SOCK_STREAM)[0][4]
def talk():
    stream = socket.create_connection(address)
    stream.sendall(b"hello\n")
    stream.recv(100)
    time.sleep(0.3)
    return stream.fileno()
number = talk()
child = os.fork()
if not child:
    os._exit(0 if talk() == number else 1)
assert os.waitpid(child, 0)[1] == 0 and talk() == number
print(os.getpid(), child)' || return 1
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
me, child = map(int, result["stdout"].split())
assert [c["pid"] for c in result["connections"]] == [me, child, me], result' "$(grep '^{' <<<"$TEXT")"
}
whose_it_is_is_told_of_the_shortest() { # each socket is gone as soon as its answer is there, and nobody has a processor for himself
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import os, socket
address = socket.getaddrinfo("open.example", 7, socket.AF_INET, socket.SOCK_STREAM)[0][4]
def talk():
    for i in range(40):
        stream = socket.create_connection(address)
        stream.sendall(b"hello\n")
        stream.recv(100)
        stream.close()
    os._exit(0)
children = [os.fork() or talk() for i in range(4)]
for child in children:
    os.waitpid(child, 0)
print(*children)' || return 1
        python3 -c 'import collections, json, sys
result = json.loads(sys.argv[1])
told = collections.Counter(c["pid"] for c in result["connections"])
assert told == {int(child): 40 for child in result["stdout"].split()}, told' "$(grep '^{' <<<"$TEXT")"
}
own_server_is_not_told() { # though it is met by an address that nobody allows; without it the same is told
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import socket
for family, address in (socket.AF_INET, "192.0.2.7"), (socket.AF_INET6, "2001:db8::7"):
    server = socket.create_server(("", 0), family=family)
    port = server.getsockname()[1]
    socket.create_connection((address, port), 10).close()
    server.close()
    try:
        socket.create_connection((address, port), 10)
    except ConnectionRefusedError:
        print(port)' || return 1
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
ports = list(map(int, result["stdout"].split()))
told = [(c["verdict"], c["address"], c["port"]) for c in result["connections"]]
assert told == [("refused", "192.0.2.7", ports[0]), ("refused", "2001:db8::7", ports[1])], result' "$(grep '^{' <<<"$TEXT")"
}
crowd_is_passed_by() { # who hides behind more descriptors than are looked at is not named, and what he is allowed works
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import os, resource, socket, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
null = os.open("/dev/null", os.O_RDONLY)
for i in range(min(most - 50, 4000)):
    os.dup(null)
for i in range(14):
    if not os.fork():
        time.sleep(60)
stream = socket.create_connection(("open.example", 7))
stream.sendall(b"hello\n")
assert stream.recv(100) == b"hello\n"' || return 1
        python3 -c 'import json, sys
seen = json.loads(sys.argv[1])["connections"]
assert [c["verdict"] for c in seen] == ["closed"] and seen[0]["sent"] == 6, seen' "$(grep '^{' <<<"$TEXT")"
}
# Whoever is refused more often than can be told hides nothing that he opens, and what is refused again and again is told together.
flood_hides_nothing() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import socket
def refused(address):
    with socket.socket() as sock:
        assert sock.connect_ex((address, 99)), address
for number in range(6000):
    refused(f"203.0.{number >> 8}.{number & 255}")
stream = socket.create_connection(("open.example", 7))
stream.sendall(b"hello\n")
stream.recv(100)
for number in range(3000):
    refused("192.0.2.1")' || return 1
        python3 -c 'import json, sys
result = json.load(sys.stdin)
seen = result["connections"]
whole = [c for c in seen if c["verdict"] == "closed"]
assert [(c["name"], c["sent"], c["count"]) for c in whole] == [("open.example", 6, 1)], whole
refused = [c for c in seen if c["verdict"] == "refused"]
assert 100 < len(refused) <= 2048 and result["connections_omitted"] > 1000, (len(refused), result["connections_omitted"])
assert all(c["count"] == 1 for c in refused[:100]), refused[:100]' < <(grep '^{' <<<"$TEXT")
}
repeats_are_counted() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- python3 -c 'import socket
for number in range(300):
    for address in "192.0.2.1", "192.0.2.2":
        with socket.socket() as sock:
            assert sock.connect_ex((address, 99)), address' || return 1
        python3 -c 'import json, sys
seen = json.loads(sys.argv[1])["connections"]
for address in "192.0.2.1", "192.0.2.2":
    assert sum(c["count"] for c in seen if (c["verdict"], c["address"]) == ("refused", address)) == 300, seen
# Whose one was may be unknown, which is another line.
assert len(seen) <= 4, seen' "$(grep '^{' <<<"$TEXT")"
}
log_tells() { # the same, and an asked name is no way to write a secret down
        as_user "$ABATIS" run --audit-log "$WORK/log/audit.jsonl" --connect open.example:7 -- bash -c \
                'exec 3<>/dev/tcp/open.example/7; echo hello >&3; head -n 1 <&3; getent hosts of-the-lab.example; exit 0' || return 1
        TEXT=$(tail -n 1 "$WORK/log/audit.jsonl")
        python3 -c 'import json, sys
record = json.loads(sys.argv[1])
seen = record["connections"]
assert record["event"] == "finished" and "connections_omitted" not in record, record
assert [(c["name"], c["port"], c["sent"], c["rule"]) for c in seen if c["verdict"] == "closed"] == \
       [("open.example", 7, 6, "open.example:7")], seen
assert [c["name"] for c in seen if c["verdict"] == "refused"] == ["***.example"], seen' "$TEXT" &&
                as_user "$ABATIS" audit verify "$WORK/log/audit.jsonl"
}
end_of_the_relay_is_told() { # when it is killed; not when it ends with its job
        as_user "$LAB/bin/relay.py" killed &&
                as_user "$ABATIS" run --no-audit --json --connect open.example:7 -- true && [[ $TEXT != *ended* ]]
}
relay_is_gone() { # after a run that ends by itself, and one that is killed
        inside "${EDGES_ALLOWED[@]}" -- true || return 1
        as_user timeout -s KILL 1 "$ABATIS" run --no-audit --connect open.example:7 -- sleep 60
        for _ in {1..50}; do
                pgrep -x 'abatis relay' >/dev/null || return 0
                sleep 0.1
        done
        TEXT=$(pgrep -a -x 'abatis relay')
        return 1
}

files_are_replaced() {
        rm -rf "${LAB:?}/etc"
        cp -a /etc "$LAB/etc"
        TEXT=$(cd "$WORK" && timeout -s KILL 60 unshare --mount -- env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME="$WORK" \
                TMPDIR="$LAB/scratch" LAB="$LAB" "$LAB/bin/replaced.py" "$ID" "$ABATIS" 2>&1 </dev/null)
}

# ---- a shared session: each connection is told once, in the result of a command that ran when it began ----
SAY='exec 3<>/dev/tcp/open.example/7; echo hello >&3; read -r line <&3; [[ $line == hello ]]'
in_session() { # ARGUMENT...: results are lines of TEXT
        local start=()
        [[ $MODE != none ]] || start=("$LAB/bin/enter" "$ID" none)
        as_user "${start[@]}" "$LAB/bin/session" "$@"
}
session_tells() {
        in_session "$SAY" true "($SAY; read -r line <&3) >/dev/null 2>&1 & sleep 0.5" true "getent hosts closed.example; exit 0" || return 1
        python3 -c 'import json, sys
results = [json.loads(line) for line in sys.stdin if line.startswith("{")]
assert [r["exit_code"] for r in results] == [0] * 5, results
told = [[(c["verdict"], c["name"], c["sent"], c["received"] >= 6) for c in r["connections"]] for r in results]
whole = ("open.example", 6, True)
assert [t[1:] for t in told[0]] == [whole] and told[0][0][0] in ("opened", "closed"), told
assert told[2] == [("opened", *whole)] and told[1] == told[3] == [], told
assert told[4] == [("refused", "closed.example", 0, False)], told
assert all(r["connections_omitted"] == 0 for r in results), results' <<<"$TEXT"
}
# They hear in turn, and none is over before all have spoken: how one of them hears of an end whose start another has heard of.
session_tells_side_by_side() {
        local i all='until [[ -e 1 && -e 2 && -e 3 && -e 4 ]]; do sleep 0.02; done'
        local said=("$SAY; $SAY" "$SAY; $SAY; $SAY" "$SAY" "$SAY") scripts=()
        fresh
        for i in 0 1 2 3; do scripts+=("${said[i]}; >$((i + 1)); $all"); done
        in_session --together "${scripts[@]}" || return 1
        python3 -c 'import json, sys
results = [json.loads(line) for line in sys.stdin if line.startswith("{")]
assert [r["exit_code"] for r in results] == [0] * 4, results
told = [c for r in results for c in r["connections"]]
assert len(told) == 7 and all(c["name"] == "open.example" and c["sent"] == 6 for c in told), told' <<<"$TEXT"
}

# ---- limits: what passes without one, and is told as refused with one ----
limited() { # PROGRAM KEY FLAG...
        local program=$1 key=$2
        shift 2
        as_user "$ABATIS" run --no-audit --connect open.example:7 -- "$LAB/bin/edges.py" "$program" || return 1
        as_user "$ABATIS" run --no-audit --connect open.example:7 "$@" -- "$LAB/bin/edges.py" "$program"
        [[ $? == 1 && $TEXT == *"abatis: refused a connection to open.example:7: limits.$key: "*"; to allow more: $1 "* ]]
}
few_descriptors() {
        as_user prlimit --nofile=128:128 "$ABATIS" run --no-audit --connect open.example:7,443 -- "$LAB/bin/edges.py" spent
}
# To the byte, of connections that are open together; and what is over a limit ends no command.
traffic_is_exact() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7 --traffic 100000 -- "$LAB/bin/edges.py" much
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
seen = result["connections"]
assert sum(c["sent"] + c["received"] for c in seen) == 100000, seen
assert len(seen) == 5 and all("limits.traffic" in c["problem"] for c in seen if c["verdict"] == "refused"), seen
assert seen[-1]["verdict"] == "refused" and result["exit_code"] == 1 and result["limit"] is None, result' "$(grep '^{' <<<"$TEXT")"
}
# Who was asked for is connected to, whomever the first words name.
any_name_passes() {
        local mark
        inside open.example:80,443 -- "$LAB/bin/edges.py" web && return 1
        mark=$(sink mark)
        as_user "$ABATIS" run --no-audit --no-verify-sni --connect open.example:80,443 -- "$LAB/bin/edges.py" web || return 1
        sink served "$mark" names=closed.example && sink served "$mark" host=closed.example &&
                ! sink received "$mark" tcp 93.184.216.99 '*' && ! sink received "$mark" tcp '*::99' '*'
}

# Servers on the host take who comes by its own address for one of the host's: a name leads there, and a range that is everything does, only
# if an entry gives the address too. The control is the same with that entry, as an address and as a range round it.
own_address_needs_an_entry() { # HOST-OF-ENTRY HOST ADDRESS RANGE
        local entry mark
        local say=(bash -c "exec 3<>/dev/tcp/$2/7 && echo hello >&3 && head -n 1 <&3 | grep -q hello")
        for entry in "$3:7" "$4:7"; do
                inside "$1:7" "$entry" -- "${say[@]}" || return 1
        done
        mark=$(sink mark)
        inside "$1:7" "$3:8" -- "${say[@]}" && return 1
        ! sink received "$mark" tcp "${3//[][]/}" 7 && [[ $TEXT == *"${3//[][]/} is the host's own, and no entry gives it by itself; to allow it: --connect $3:7"* ]]
}

# However many come to it, none of the command's connections is forgotten for them.
door_is_crowded() {
        mkfifo "$WORK/go" && chown "$ID:$ID" "$WORK/go" || return 1
        as_user python3 -c 'import resource, socket, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def doors():
    rows = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A"}
before = doors()
job = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
crowd = []
with open("go", "w"):
    port, = doors() - before
while job.poll() is None:
    other = socket.socket()
    other.settimeout(1)
    if not other.connect_ex(("127.0.0.1", port)):
        crowd.append(other)
    del crowd[:-1800]
    if len(crowd) == 1200:
        open("crowded", "w").close()
assert len(crowd) > 1100, len(crowd)
sys.exit(job.returncode)' "$INSIDE" "${EDGES_ALLOWED[@]}" -- python3 -c 'import os, socket
open("go").read()
number = 0
while number < 300 or not os.path.exists("crowded"):
    number += 1
    with socket.create_connection(("open.example", 7), 20) as stream:
        stream.sendall(b"hello")
        assert stream.recv(5) == b"hello", number'
}
# Whoever comes to the relay's door without the broker is sent away, and reaches nobody; meanwhile the command does.
door_is_closed() {
        local code
        mkfifo "$WORK/go" && chown "$ID:$ID" "$WORK/go" || return 1
        as_user python3 -c 'import glob, os, socket, subprocess, sys
def doors():
    rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A"}
before = doors()
job = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
with open("go", "w"): pass
new = doors() - before
assert new, "the relay has no door"
for door in new:
    address, port = door.split(":")
    family = socket.AF_INET if len(address) == 8 else socket.AF_INET6
    assert address in ("0100007F", "00000000000000000000000001000000"), door
    with socket.socket(family) as other:
        other.settimeout(10)
        other.connect(("127.0.0.1" if family == socket.AF_INET else "::1", int(port, 16)))
        other.sendall(b"to whom?")
        try:
            assert other.recv(10) == b""
        except ConnectionResetError:
            pass
with open("go", "w"): pass
sys.exit(job.wait(20))' "$INSIDE" "${EDGES_ALLOWED[@]}" -- bash -c \
                'cat go; cat go; exec 3<>/dev/tcp/open.example/7; echo hello >&3; head -n 1 <&3 | grep -q hello'
        code=$?
        return "$code"
}

# What the user has set of it stays.
options_are_set() {
        as_user "$ABATIS" run --no-audit --connect open.example:7 -- printenv RES_OPTIONS && [[ $TEXT == use-vc ]] || return 1
        as_user "$ABATIS" run --no-audit --connect open.example:7 --env RES_OPTIONS=ndots:2 -- printenv RES_OPTIONS &&
                [[ $TEXT == 'use-vc ndots:2' ]] || return 1
        as_user "$ABATIS" run --no-audit --net deny -- printenv RES_OPTIONS
        [[ -z $TEXT ]]
}

test_edges() {
        local name
        for name in urgent urgent_in_much late_reader half_hello both_ways many refused_hello half_open never_reads quick long_hello many_names slow_questions; do
                edge "edge_$name" inside_edge "$name"
        done
        # Without namespaces there are no servers, and the relay has a door that others see.
        if [[ $MODE == none ]]; then
                for name in no_server own_connection states blocked; do
                        edge "edge_$name" inside_edge "$name"
                done
                edge edge_the_relay_lets_nobody_else_in door_is_closed
                edge edge_a_crowd_at_the_door_keeps_nobody_out door_is_crowded
                edge edge_names_are_asked_for_over_tcp options_are_set
        else
                edge edge_own_loopback inside_edge own_loopback
        fi
        edge edge_a_socket_without_a_peer_is_no_stdin stdin_is_refused alone
        edge edge_a_socket_with_its_peer_is_stdin stdin_is_refused pair
        # What only abatis tells.
        [[ -z ${PROTOTYPE:-} ]] || return 0
        edge edge_a_name_leads_to_no_address_of_the_host own_address_needs_an_entry own.example own.example 93.184.216.70 93.184.216.64/27
        edge edge_a_wildcard_leads_to_no_address_of_the_host own_address_needs_an_entry '*.example' own6.example '[2606:2800:21f:cb07::70]' '[2606:2800::/32]'
        edge edge_a_range_of_everything_has_no_address_of_the_host own_address_needs_an_entry 0.0.0.0/0 93.184.216.70 93.184.216.70 93.184.216.64/27
        edge edge_what_would_allow_a_name_is_said_once hint_is_given_once
        edge edge_questions_that_nobody_meant_are_not_told idle_questions_are_not_told
        edge edge_what_would_allow_a_port_is_said port_is_hinted
        edge edge_the_result_has_the_connections result_tells
        for name in reached much other_port taken many late relay_gone told caged only_with_a_list; do
                [[ $MODE == none ]] || edge "edge_published_$name" as_user "$LAB/bin/published.py" "$name"
        done
        edge edge_no_more_connections_at_once_than_allowed limited third connections --connections 2
        edge edge_no_more_connections_in_a_second_than_allowed limited twenty connections_per_second --connections-per-second 3
        edge edge_no_more_traffic_than_allowed limited much traffic --traffic 100000
        edge edge_traffic_is_counted_to_the_byte traffic_is_exact
        edge edge_a_relay_without_descriptors_goes_on few_descriptors
        edge edge_any_name_passes_if_told_so any_name_passes
        if [[ $MODE == none ]]; then
                edge edge_whose_a_connection_is_is_told whose_it_is_is_told_by_the_broker
        else # there are no servers there, and nobody inside could be asked
                edge edge_whose_a_connection_is_is_told in_three_tries whose_it_is_is_told
                edge edge_a_server_inside_is_not_told_as_refused own_server_is_not_told
                edge edge_whose_a_connection_is_is_told_anew in_three_tries whose_it_is_is_told_anew
                edge edge_whose_the_shortest_connections_are_is_told in_three_tries whose_it_is_is_told_of_the_shortest
        fi
        edge edge_a_crowd_of_descriptors_holds_up_nothing crowd_is_passed_by
        edge edge_a_flood_of_refusals_hides_nothing flood_hides_nothing
        edge edge_what_is_refused_again_and_again_is_counted repeats_are_counted
        # Elsewhere nothing is refused without the relay.
        if [[ $MODE != none ]]; then
                edge edge_refusals_that_the_relay_missed_are_counted as_user "$LAB/bin/relay.py" stopped
                edge edge_a_relay_that_has_not_told_all_is_told_of as_user "$LAB/bin/relay.py" late
                edge edge_strange_packets_are_counted as_user "$LAB/bin/relay.py" strange
        fi
        edge edge_the_log_has_the_connections log_tells
        if [[ -e $LAB/bin/session ]]; then
                edge edge_a_session_tells_each_connection_once session_tells
                edge edge_a_session_tells_commands_side_by_side session_tells_side_by_side
        fi
        edge edge_files_of_names_that_are_replaced_count files_are_replaced
        edge edge_the_end_of_the_relay_is_told end_of_the_relay_is_told
        edge edge_no_relay_is_left_behind relay_is_gone
}
