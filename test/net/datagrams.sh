# shellcheck shell=bash
# datagrams.sh: UDP to what is allowed, and to nothing else, judged by what arrived in the lab. Sourced by run.sh.
DATAGRAMS_ALLOWED=("open.example:7,443/udp" "four.example:7/udp" "93.184.216.20:7/udp" "[2606:2800:21f:cb07::20]:7/udp" "93.184.217.0/24:7/udp"
        "loop.example:7/udp" "private.example:7/udp" "metadata.example:7/udp" "own.example:7/udp" "own6.example:7/udp" "open.example:443")

datagram() { # NAME COMMAND...: the command must succeed
        local name=$1$AS
        shift
        wants "$name" || return 0
        fresh
        if "$@"; then ok "$name"; else not_ok "$name" "${TEXT:0:300}"; fi
}
inside_datagrams() { inside "${DATAGRAMS_ALLOWED[@]}" -- "$LAB/bin/datagrams.py" "$@"; }
arrives() { # ADDRESS PORT ARGUMENT...: what is tried succeeds, and is seen there
        local mark
        mark=$(sink mark)
        inside_datagrams "${@:3}" && sink received "$mark" udp "$1" "$2"
}
stays() { # ADDRESS PORT ARGUMENT...: it arrives from outside of the sandbox, and not from within
        local mark
        mark=$(sink mark)
        outside "$LAB/bin/datagrams.py" "${@:3}"
        sink received "$mark" udp "$1" "$2" || { TEXT="the control did not arrive: $TEXT"; return 1; }
        mark=$(sink mark)
        inside_datagrams "${@:3}" && return 1
        ! sink received "$mark" udp "$1" "$2"
}
# A name that leads to where only an entry of its own may lead; the control is the same with that entry.
needs_an_entry() { # NAME ADDRESS
        local mark
        mark=$(sink mark)
        inside "$1:7/udp" "$2:7/udp" -- "$LAB/bin/datagrams.py" send "$1" 7
        sink received "$mark" udp "${2//[][]/}" 7 || { TEXT="the control did not arrive: $TEXT"; return 1; }
        mark=$(sink mark)
        inside_datagrams send "$1" 7 && return 1
        ! sink received "$mark" udp "${2//[][]/}" 7 && [[ $TEXT == *"no entry gives it by itself"* ]]
}
host_is_reached() { # PLACE HOST
        inside "$1" -- "$LAB/bin/datagrams.py" send "$2" 7
}
servers_do_not_talk() {
        local before after
        inside_datagrams door || return 1
        before=$(grep -c 'round and round' "$LAB/served.log")
        sleep 0.5
        after=$(grep -c 'round and round' "$LAB/served.log")
        TEXT="$before served, then $after"
        ((before == after))
}
datagrams_are_told() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7/udp --connect open.example:25/udp -- \
                "$LAB/bin/datagrams.py" many || return 1
        python3 -c 'import json, sys
seen = json.loads(sys.argv[1])["connections"]
assert len(seen) == 300, len(seen)
assert all(c["verdict"] == "closed" and c["transport"] == "udp" and c["rule"] == "open.example:7/udp" for c in seen), seen[0]
assert sum(c["sent"] for c in seen) == sum(c["received"] for c in seen) == 790, seen[0]' "$(grep '^{' <<<"$TEXT")"
}
nobody_is_told() { # what is allowed and finds nobody there
        as_user "$ABATIS" run --no-audit --json --connect open.example:26/udp -- "$LAB/bin/datagrams.py" send open.example 26 && return 1
        python3 -c 'import json, sys
seen = json.loads(sys.argv[1])["connections"]
assert [(c["verdict"], c["transport"], c["problem"]) for c in seen] == [("failed", "udp", "Connection refused")], seen' \
                "$(grep '^{' <<<"$TEXT")"
}
# A datagram of a thousand bytes passes whole or not at all.
datagrams_are_limited() { # KEY PASSED FLAG...
        local key=$1 passed=$2
        shift 2
        as_user "$ABATIS" run --no-audit --connect open.example:7/udp -- "$LAB/bin/datagrams.py" limited || return 1
        as_user "$ABATIS" run --no-audit --json --connect open.example:7/udp "$@" -- "$LAB/bin/datagrams.py" limited
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
seen, key, passed = result["connections"], sys.argv[2], int(sys.argv[3])
assert sum(c["sent"] + c["received"] for c in seen) == passed, seen
assert any(c["verdict"] == "refused" and c["problem"].startswith("limits.%s: " % key) for c in seen), seen
assert result["exit_code"] == 1 and result["limit"] is None, result' "$(grep '^{' <<<"$TEXT")" "$key" "$passed"
}
sender_is_told() {
        as_user "$ABATIS" run --no-audit --json --connect open.example:7/udp -- python3 -c 'import os, socket, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.sendto(b"x", ("open.example", 7))
sock.recv(10)
time.sleep(0.3)
print(os.getpid())' || return 1
        python3 -c 'import json, sys
result = json.loads(sys.argv[1])
seen = result["connections"]
assert [(c["verdict"], c["pid"]) for c in seen] == [("closed", int(result["stdout"]))] and "python" in seen[0]["program"], seen' \
                "$(grep '^{' <<<"$TEXT")"
}
datagram_is_hinted() {
        inside_datagrams send open.example 25
        [[ $TEXT == *'--connect open.example:25/udp'* && $TEXT != *'open.example:7/udp'* ]]
}
dns_is_refused() { # by name: it is answered inside
        as_user "$ABATIS" run --no-audit --connect "$1" -- true
        [[ $? == 125 && $TEXT == *"port 53"* ]]
}

test_datagrams() {
        local name
        for name in many crowd big quic own_server; do
                datagram "datagrams_$name" inside_datagrams "$name"
        done
        datagram datagrams_by_name arrives 2606:2800:21f:cb07::10 7 echo
        datagram datagrams_by_a_name_of_ipv4 arrives 93.184.216.11 7 echo four.example
        datagram datagrams_by_address arrives 93.184.216.20 7 echo 93.184.216.20
        datagram datagrams_by_address_of_ipv6 arrives 2606:2800:21f:cb07::20 7 echo 2606:2800:21f:cb07::20
        datagram datagrams_by_range arrives 93.184.217.77 7 echo 93.184.217.77
        datagram datagrams_with_a_foreign_source arrives 2606:2800:21f:cb07::10 7 source 93.184.216.99
        datagram datagrams_to_another_port_stay stays '*' 9999 send open.example 9999
        datagram datagrams_to_a_port_of_tcp_stay stays '93.184.216.11' 443 send four.example 443
        datagram datagrams_to_another_address_stay stays 93.184.216.21 7 send 93.184.216.21 7
        datagram datagrams_beside_a_range_stay stays 93.184.218.1 7 send 93.184.218.1 7
        datagram datagrams_to_the_loopback_stay stays 127.0.0.1 7 send 127.0.0.1 7
        datagram datagrams_to_the_own_name_server_stay stays 93.184.217.77 53 send 93.184.217.77 53
        datagram datagrams_to_the_loopback_by_name_need_an_entry needs_an_entry loop.example 127.0.0.1
        datagram datagrams_to_a_private_address_by_name_need_an_entry needs_an_entry private.example 10.1.2.3
        datagram datagrams_to_the_metadata_service_by_name_need_an_entry needs_an_entry metadata.example 169.254.169.254
        datagram datagrams_to_an_address_of_the_host_by_name_need_an_entry needs_an_entry own.example 93.184.216.70
        datagram datagrams_to_an_address_of_the_host_by_name_need_an_entry_of_ipv6 needs_an_entry own6.example "[2606:2800:21f:cb07::70]"
        datagram datagrams_to_the_host_by_name host_is_reached host.abatis:7/udp host.abatis
        datagram datagrams_to_the_host_by_address host_is_reached 127.0.0.1:7/udp 127.0.0.1
        datagram datagrams_from_a_door_go_nowhere servers_do_not_talk
        [[ -z ${PROTOTYPE:-} ]] || return 0
        datagram datagrams_are_told datagrams_are_told
        datagram datagrams_have_their_sender sender_is_told
        datagram datagrams_no_more_at_once_than_allowed datagrams_are_limited connections 4000 --connections 2
        datagram datagrams_no_more_in_a_second_than_allowed datagrams_are_limited connections_per_second 2000 --connections-per-second 1
        datagram datagrams_no_more_traffic_than_allowed datagrams_are_limited traffic 100000 --traffic 100999
        datagram datagrams_that_find_nobody_are_told nobody_is_told
        datagram datagrams_that_are_refused_are_hinted datagram_is_hinted
        for name in open.example:53/udp 93.184.216.20:50-60/udp; do
                datagram "datagrams_to_${name%%:*}_port_53_are_refused_by_name" dns_is_refused "$name"
        done
}
