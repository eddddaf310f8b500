#!/bin/bash
# run.sh: connections that the broker makes: no unix socket that is denied is reached, everything else is as without.
#
#   test/connect/run.sh [NAME-PATTERN]
#
# With namespaces, where a pattern is held by asking, and without, where every denied path is; as an ordinary user and as root.
# reach.py tries every way to a socket; what it tries inside it also tries outside, where it must succeed.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
ABATIS=${ABATIS:-$BUILD/abatis}
PATTERN=${1:-*}
readonly ORDINARY_UID=4343
ROUNDS=${ROUNDS:-100000}

T=$(mktemp -d /var/tmp/abatis-connect.XXXXXX) || exit 1
servers=()
stop_servers() {
        local server
        for server in "${servers[@]}"; do
                kill "$server" 2>/dev/null
                wait "$server" 2>/dev/null
        done
        servers=()
}
trap 'stop_servers; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T" "/tmp/connect-of-others.$$"' EXIT
chmod 755 "$T"
mkdir "$T/bin"
flags=(-std=gnu11 -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror -pthread -static)
"${CC:-cc}" "${flags[@]}" -o "$T/bin/race" race.c &&
        "${CC:-cc}" "${flags[@]}" -o "$T/bin/enter" ../tree/enter.c &&
        cp "$ABATIS" "$T/bin/abatis" && chmod 755 "$T/bin/abatis" &&
        cp reach.py same.py others.py "$T/bin/" || exit 1

# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
# shellcheck source-path=SCRIPTDIR source=../world.sh
. ../world.sh
# shellcheck source-path=SCRIPTDIR source=listed.sh
. ./listed.sh

own() { ((EUID)) || chown -Rh "$ID:$ID" "$T/world"; }
fresh() {
        stop_servers
        chmod -R u+rwx "$T/world" 2>/dev/null
        rm -rf "$T/world"
        mkdir -p "$T"/world/{ws,home/.ssh,home/plain}
        own
}
# Somebody outside, who sends a letter to whoever connects.
serve() { # LETTER stream|seqpacket|abstract PATH
        local i
        : >"$T/served"
        (cd "$T/world" && exec "$T/bin/enter" "$ID" user "$T/bin/race" serve "$@") >"$T/served" 2>&1 </dev/null &
        servers+=($!)
        for ((i = 0; i < 300; i++)); do
                [[ $(<"$T/served") == ready ]] && return
                sleep 0.01
        done
        not_ok "server$AS" "$(<"$T/served")"
}
# Of what reach.py printed: the ways that lead there anyway, and all of them.
count() { # sure|any RESULT
        awk -v kind="$1" -v result="$2" '(kind == "any" || $2 == kind) && $3 == result' <<<"$TEXT" | wc -l
}
lines() { awk -v kind="$1" '(kind == "any" || $2 == kind) && NF == 3' <<<"$TEXT" | wc -l; }

# What the socket is denied by: by its path, where no mount is on it; by a pattern.
forms() {
        [[ $MODE == user ]] || echo path
        echo pattern
}
deny() { # FORM: into DENY
        case $1 in
        path) DENY=(--deny "$T/world/home/closed") ;;
        pattern) DENY=(--deny-glob '**/closed') ;;
        esac
}

test_reach() {
        local form kind net name home=$T/world/home
        for form in $(forms); do
                for kind in stream seqpacket; do
                        for net in allow unix-only; do
                                deny "$form"
                                name=${kind}_denied_by_${form}_is_not_reached_with_$net$AS
                                wants "$name" || continue
                                fresh
                                mkdir "$home/closed"
                                own
                                serve d "$kind" "$home/closed/socket"
                                serve a "$kind" "$home/plain/socket"
                                outside python3 -B "$T/bin/reach.py" "$home/closed/socket" "$kind"
                                if [[ $(count sure reached) != "$(lines sure)" || $(lines sure) -lt 11 ||
                                        $(count any reached) -lt 14 ]]; then
                                        not_ok "$name" "the control failed: $TEXT"
                                        continue
                                fi
                                inside --net "$net" "${DENY[@]}" -- python3 -B "$T/bin/reach.py" "$home/closed/socket" "$kind"
                                [[ $(lines any) == 18 && $(count any reached) == 0 ]]
                                check "$name" $? "$TEXT"
                                name=${kind}_beside_what_${form}_denies_is_reached_with_$net$AS
                                inside --net "$net" "${DENY[@]}" -- python3 -B "$T/bin/reach.py" "$home/plain/socket" "$kind"
                                # Where names are asked about, too, no link is made in the home, and one in the workspace is.
                                [[ $(lines any) == 18 && $(count sure reached) == "$(lines sure)" ]]
                                check "$name" $? "$TEXT"
                        done
                done
        done
}

# Socket, directory and name come to be while the command runs.
test_later() {
        local form name job closed=$T/world/home/closed
        for form in $(forms); do
                deny "$form"
                name=socket_that_others_make_later_is_not_reached_by_$form$AS
                wants "$name" || continue
                fresh
                (cd "$T/world/ws" && HOME=$T/world/home XDG_STATE_HOME='' TMPDIR='' timeout -s KILL 100 "$T/bin/enter" "$ID" \
                        "$MODE" /usr/bin/env "$T/bin/abatis" run --no-audit --net allow "${DENY[@]}" -- \
                        sh -c ': >started; exec python3 -B "$@"' sh "$T/bin/reach.py" "$closed/socket" stream \
                        "$T/world/ws/go") >"$T/later" 2>&1 </dev/null &
                job=$!
                for _ in {1..500}; do
                        [[ -e $T/world/ws/started ]] && break
                        sleep 0.01
                done
                mkdir "$closed"
                own
                serve d stream "$closed/socket"
                outside "$T/bin/race" string "$closed/socket" "$closed/socket" 1
                if [[ $TEXT != *"connected to"* ]]; then
                        not_ok "$name" "the control failed: $TEXT"
                        wait "$job"
                        continue
                fi
                : >"$T/world/ws/go"
                wait "$job"
                TEXT=$(<"$T/later")
                [[ $(lines any) == 18 && $(count any reached) == 0 ]]
                check "$name" $? "$TEXT"
        done
}

# A name that matches, wherever it is.
test_names() {
        local name=names_that_match_are_not_connected_to$AS
        wants "$name" || return
        fresh
        serve d stream "$T/world/ws/one.sock"
        serve a stream "$T/world/ws/one.socket"
        inside --net unix-only --deny-glob '**/*.sock' -- python3 -B "$T/bin/reach.py" "$T/world/ws/one.sock" stream
        [[ $(lines any) == 18 && $(count any reached) == 0 && -S $T/world/ws/one.sock ]]
        check "$name" $? "$TEXT"
        inside --net unix-only --deny-glob '**/*.sock' -- python3 -B "$T/bin/reach.py" "$T/world/ws/one.socket" stream
        [[ $(count sure reached) == "$(lines sure)" && $(lines sure) == 11 ]]
        check "other_$name" $? "$TEXT"
}

# Abstract ones are kept off by Landlock, which the broker is not to get round; and /tmp is the job's own.
test_others() {
        local name=abstract_sockets_of_others_are_not_reached$AS net code try
        local client='
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1].replace("@", "\0"))
print(sock.recv(1))'
        if wants "$name"; then
                fresh
                : >"$T/served"
                (exec "$T/bin/enter" "$ID" user /usr/bin/env python3 -c '
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind("\0" + sys.argv[1]); sock.listen(9); print("ready", flush=True)
while True:
    sock.accept()[0].send(b"d")' "connect-$$") >"$T/served" 2>&1 </dev/null &
                servers+=($!)
                for _ in {1..300}; do
                        [[ $(<"$T/served") == ready ]] && break
                        sleep 0.01
                done
                outside python3 -c "$client" "@connect-$$"
                code=$?
                try=$TEXT
                for net in allow unix-only; do
                        inside --net "$net" --deny-glob '**/closed' -- python3 -c "$client" "@connect-$$"
                        [[ $code == 0 && $try == "b'd'" && $TEXT == *PermissionError* ]]
                        check "${name}_with_$net" $? "$code $try / $TEXT"
                done
        fi
        name=sockets_of_others_in_tmp_are_not_reached$AS
        if wants "$name"; then
                fresh
                rm -f "/tmp/connect-of-others.$$"
                serve d stream "/tmp/connect-of-others.$$"
                outside python3 -c "$client" "/tmp/connect-of-others.$$"
                code=$?
                inside --net allow --deny-glob '**/closed' -- python3 -c "$client" "/tmp/connect-of-others.$$"
                [[ $code == 0 && $TEXT == *Error* ]]
                check "$name" $? "$code $TEXT"
                inside --net allow --deny-glob '**/closed' --read "/tmp/connect-of-others.$$" -- \
                        python3 -c "$client" "/tmp/connect-of-others.$$"
                [[ $TEXT == "b'd'" ]]
                check "granted_$name" $? "$TEXT"
        fi
}

# A datagram takes an address with every call.
test_datagrams() {
        local name=unix_datagrams_are_not_to_be_had$AS try='
import errno, socket
for act in socket.socket, socket.socketpair:
    for kind in socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC:
        try:
            act(socket.AF_UNIX, kind)
            print("made")
        except OSError as error:
            print(errno.errorcode[error.errno])
socket.socketpair(); socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'
        if wants "$name"; then
                fresh
                outside python3 -c "$try"
                [[ $(sort <<<"$TEXT" | uniq -c | xargs) == "6 made" ]] || not_ok "$name" "the control failed: $TEXT"
                inside --net allow --deny-glob '**/closed' -- python3 -c "$try"
                [[ $(sort <<<"$TEXT" | uniq -c | xargs) == "6 EPERM" ]]
                check "$name" $? "$TEXT"
        fi
        # Nor from the caller.
        name=datagram_socket_as_input_is_refused$AS
        if wants "$name"; then
                fresh
                outside python3 -c '
import socket, subprocess, sys
for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
    for pattern in "--deny-glob=**/closed", "--net=allow":
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        done = subprocess.run([sys.argv[1], "run", "--no-audit", "--net=allow", pattern, "--", "true"], stdin=one,
                              capture_output=True)
        print(done.returncode, "aimed" in done.stderr.decode())
' "$T/bin/abatis"
                if [[ $MODE == user ]]; then
                        [[ $(xargs <<<"$TEXT") == "125 True 0 False 0 False 0 False 0 False 0 False" ]]
                else
                        [[ $(xargs <<<"$TEXT") == "125 True 125 True 0 False 0 False 0 False 0 False" ]]
                fi
                check "$name" $? "$TEXT"
        fi
}

# Whatever a program does, it gets the same from the broker as from the kernel.
test_same() {
        local name=connecting_is_as_the_kernel_does_it$AS expected
        # With namespaces root is outside with all its capabilities.
        [[ $ID != 0 || $MODE != user ]] || return
        wants "$name" || return
        fresh
        outside python3 -B "$T/bin/same.py"
        expected=$TEXT
        fresh
        # Where a pattern could match no name is made in the tree; here it cannot.
        deny path
        [[ $MODE != user ]] || DENY=(--deny-glob "$T/world/home/closed/*")
        inside --net allow "${DENY[@]}" -- python3 -B "$T/bin/same.py"
        if [[ $TEXT == "$expected" && $(wc -l <<<"$TEXT") -gt 90 ]]; then
                ok "$name"
        else
                not_ok "$name" "$(diff <(echo "$expected") <(echo "$TEXT") | head -n 8 | tr '\n' ' ')"
        fi
}

test_races() {
        local form kind name closed=$T/world/home/closed plain=$T/world/home/plain
        for form in $(forms | head -n 1); do # it is the same judgement
                for kind in string link family descriptor; do
                        deny "$form"
                        name=${kind}_is_not_swapped_under_a_connection_denied_by_$form$AS
                        wants "$name" || continue
                        fresh
                        mkdir "$closed"
                        own
                        serve d stream "$closed/socket"
                        serve a stream "$plain/socket"
                        # The control: what is denied is connected to, by what is swapped.
                        outside "$T/bin/race" "$kind" "$plain/socket" "$closed/socket" 1000000
                        if [[ $TEXT != "connected to what is denied"* ]]; then
                                not_ok "$name" "the control failed: $TEXT"
                                continue
                        fi
                        inside --net allow "${DENY[@]}" -- "$T/bin/race" "$kind" "$plain/socket" "$closed/socket" "$ROUNDS"
                        check "$name" $? "$TEXT"
                done
        done
}

# What people run: the preset for servers of tools, and clients.
test_work() {
        local name=preset_for_tools_runs_and_connects$AS
        if wants "$name"; then
                fresh
                serve d stream "$T/world/home/.ssh/agent"
                inside --preset mcp --deny "$T/world/home/.ssh" -- python3 -c '
import errno, http.server, socket, sys, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(20):
    assert urllib.request.urlopen("http://localhost:%d/" % server.server_port).status == 200
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except PermissionError:
    print("kept")' "$T/world/home/.ssh/agent"
                [[ ${TEXT##*$'\n'} == kept ]]
                check "$name" $? "${TEXT: -300}"
        fi
        name=event_loops_connect$AS
        if wants "$name"; then
                fresh
                inside --net allow --deny-glob '**/closed' -- python3 -c '
import asyncio
async def main():
    async def serve(reader, writer):
        writer.write(await reader.read(9)); writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async def call(i):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x%d" % i)
        assert await reader.read() == b"x%d" % i
        writer.close()
    await asyncio.gather(*[call(i) for i in range(150)])
    print("done")
asyncio.run(main())'
                [[ $TEXT == "done" ]]
                check "$name" $? "$TEXT"
        fi
        name=node_connects$AS
        if wants "$name" && ! command -v node >/dev/null; then
                skipped=$((skipped + 1))
        elif wants "$name"; then
                fresh
                inside --net allow --deny-glob '**/closed' -- node -e '
const http = require("http"), net = require("net");
const server = http.createServer((q, s) => s.end("page")).listen(0, "127.0.0.1", () =>
        http.get({ port: server.address().port, host: "127.0.0.1" }, s => s.on("data", d => {
                console.log(String(d));
                net.connect("/run/none").on("error", e => { console.log(e.code); process.exit(0); });
        })));'
                [[ $TEXT == $'page\nENOENT' ]]
                check "$name" $? "$TEXT"
        fi
        [[ $MODE == none ]] || return
        name=without_descriptors_of_the_caller_it_is_refused_by_name$AS
        if wants "$name"; then
                fresh
                MODE=docker inside --preset mcp -- true
                [[ $? == 125 && $TEXT == *"cannot be enforced"*"pidfd_getfd is refused"* ]]
                check "$name" $? "$TEXT"
        fi
}

run_all() { # UID NAME MODE
        ID=$1 MODE=$3 AS=_as_$2
        [[ $MODE == user ]] || AS+=_without_namespaces
        test_reach
        test_later
        test_names
        test_others
        test_datagrams
        test_same
        test_races
        test_work
        test_listed_reach
        test_listed_others
        test_listed_places
        test_listed_later
        test_listed_in_workspace
        test_listed_refusals
        test_listed_races
        test_listed_work
}

for MODE in ${MODES:-user none}; do
        if ((EUID)); then
                run_all "$EUID" user "$MODE"
        else
                run_all "$ORDINARY_UID" user "$MODE"
                run_all 0 root "$MODE"
        fi
done
stop_servers
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
