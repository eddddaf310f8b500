# shellcheck shell=bash
# ports.sh: names of which every port is allowed, and nothing else, judged by what arrived in the lab. Sourced by run.sh.
PORTS_ALLOWED=("open.example:*" "six.example:9000-9999" "93.184.216.20:*" "four.example:443/udp")

ports() { # NAME COMMAND...: the command must succeed
        local name=$1$AS
        shift
        wants "$name" || return 0
        fresh
        if "$@"; then ok "$name"; else not_ok "$name" "${TEXT:0:300}"; fi
}
inside_ports() { inside "${PORTS_ALLOWED[@]}" -- "$LAB/bin/ports.py" "$@"; }
# It arrives from outside of the sandbox, and not from within.
port_stays() { # ADDRESS PORT HOST
        local mark
        mark=$(sink mark)
        outside "$LAB/bin/ports.py" try_one "$3" "$2"
        sink received "$mark" tcp "$1" "$2" || { TEXT="the control did not arrive: $TEXT"; return 1; }
        mark=$(sink mark)
        inside_ports try_one "$3" "$2" && return 1
        ! sink received "$mark" tcp "$1" "$2"
}
# Ten thousand calls whose address changes under them: only what is allowed comes out, and somebody does.
race_leads_nowhere() {
        local mark stray
        mark=$(sink mark)
        PATIENCE=120 inside_ports race 10000 || return 1
        stray=$(sink stray "$mark" 93.184.216.10:25 2606:2800:21f:cb07::10:25 -- open.example)
        [[ -z $stray ]] && sink received "$mark" tcp 2606:2800:21f:cb07::10 25 && return 0
        TEXT="$TEXT $stray"
        return 1
}
# One filter and one broker for both: a pattern that is denied, and the doors.
pattern_holds_too() {
        echo secret >"$WORK/a.pem"
        as_user "$ABATIS" run --no-audit --deny-glob "$WORK/**/*.pem" --connect 'open.example:*' -- \
                sh -c "! cat a.pem 2>/dev/null && echo kept >b && chmod 600 b && $LAB/bin/ports.py reach open.example 25"
}
# And sockets of network.unix: one is met, the other is not, and the doors are there.
sockets_are_met_too() {
        as_user python3 -c 'import os, socket, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as place:
    servers = []
    for name in "listed", "other":
        servers.append(socket.socket(socket.AF_UNIX))
        servers[-1].bind(os.path.join(place, name))
        servers[-1].listen()
    listed, other = (server.getsockname() for server in servers)
    client = """import socket, subprocess, sys
def is_met(place):
    with socket.socket(socket.AF_UNIX) as sock:
        return not sock.connect_ex(place)
assert is_met(sys.argv[1]) and not is_met(sys.argv[2])
sys.exit(subprocess.call(sys.argv[3:]))"""
    for port in "25", "8123":
        subprocess.run([sys.argv[1], "run", "--no-audit", "--unix", listed, "--connect", "open.example:*", "--",
                        "python3", "-c", client, listed, other, sys.argv[2], "reach", "open.example", port], check=True)
    barred = subprocess.run([sys.argv[1], "run", "--no-audit", "--unix", listed, "--connect", "open.example:*", "--",
                             sys.argv[2], "try_one", "93.184.216.99", "25"])
    assert barred.returncode == 1, barred
    for server in servers:
        server.settimeout(0.1)
    for _ in range(2):
        servers[0].accept()
    try:
        servers[1].accept()
        sys.exit("the other one was met")
    except TimeoutError:
        pass' "$ABATIS" "$LAB/bin/ports.py"
}
mode_is_the_commands_own() { # beside the doors the broker is asked nothing
        as_user "$ABATIS" run --no-audit --connect 'open.example:*' -- sh -c 'echo x >b && chmod 4755 b; chmod 700 b && touch b && mv b c'
}

test_ports() {
        ports ports_of_a_name_are_all_reached inside_ports reach open.example 25 8123 9999 7
        ports ports_of_an_address_are_all_reached inside_ports try_one 93.184.216.20 853
        ports ports_of_a_range_are_reached inside_ports try_one six.example 9999
        ports ports_are_reached_without_waiting inside_ports without_waiting open.example 9999
        ports ports_beyond_as_many_as_are_kept inside_ports many open.example
        ports ports_of_an_own_server inside_ports own_server
        ports ports_beside_a_range_stay port_stays 93.184.216.99 8123 93.184.216.99
        ports ports_of_another_name_stay port_stays 93.184.216.99 25 closed.example
        ports ports_of_a_name_of_udp_stay port_stays 93.184.216.11 25 four.example
        ports ports_of_the_loopback_stay port_stays 127.0.0.1 8123 127.0.0.1
        ports ports_of_the_names_own_address_stay port_stays 93.184.216.10 25 93.184.216.10
        ports ports_race_leads_nowhere race_leads_nowhere
        [[ -z ${PROTOTYPE:-} ]] || return 0
        ports ports_and_a_pattern_at_once pattern_holds_too
        ports ports_and_single_sockets_at_once sockets_are_met_too
        ports ports_leave_modes_alone mode_is_the_commands_own
}
