#!/usr/bin/env python3
"""relay.py: what is told when the relay is killed, or stopped while much is refused, or when packets are strange ones.

relay.py killed|stopped|late|strange, ABATIS in the environment."""
import json
import os
import signal
import subprocess
import sys
import time

ABATIS = os.environ["ABATIS"]
CONNECTS = 30000  # more than the kernel keeps for the relay


def begin(*flags_and_command):
    """A run that has said that it is there by the file "begun", and its relay."""
    run = subprocess.Popen([ABATIS, "run", "--no-audit", "--json", *flags_and_command],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not os.path.exists("begun") and run.poll() is None:
        time.sleep(0.01)
    found = subprocess.run(["pgrep", "-x", "abatis relay", "-P", str(run.pid)], capture_output=True, text=True, check=False)
    return run, int(found.stdout)


def killed():
    run, relay = begin("--watch-net", "--connect", "open.example:7", "--", "bash", "-c",
                       ": >begun; read line; (exec 3<>/dev/tcp/open.example/7) || exit 7")
    os.kill(relay, signal.SIGKILL)
    out, said = run.communicate(b"go on\n")
    assert said.count(b"abatis: the relay has ended before the command: there is no network any more\n") == 1, said
    result = json.loads(out)
    assert result["exit_code"] == 7 and [c["verdict"] for c in result["connections"]] == ["ended"], result


def stopped():
    run, relay = begin("--connect", "open.example:7", "--", "python3", "-c", f"""import socket
open("begun", "w").close()
input()
for _ in range({CONNECTS}):
    with socket.socket() as sock:
        assert sock.connect_ex(("192.0.2.1", 99))
open("over", "w").close()
input()""")
    os.kill(relay, signal.SIGSTOP)
    run.stdin.write(b"go on\n")
    run.stdin.flush()
    while not os.path.exists("over") and run.poll() is None:
        time.sleep(0.01)
    os.kill(relay, signal.SIGCONT)
    out, said = run.communicate(b"end\n")
    result = json.loads(out)
    counts, omitted = [c["count"] for c in result["connections"]], result["connections_omitted"]
    assert result["exit_code"] == 0 and sum(counts) + omitted == CONNECTS, (result, said)
    assert counts and omitted, result


def late():
    run, relay = begin("--connect", "open.example:7", "--", "bash", "-c", ": >begun; read line; (: </dev/tcp/192.0.2.1/99) || exit 7")
    os.kill(relay, signal.SIGSTOP)
    out, said = run.communicate(b"go on\n")
    result = json.loads(out)
    told = [(c["verdict"], c["problem"]) for c in result["connections"]]
    assert told == [("ended", "the relay has not told all: connections, or refusals, are missing here")], (result, said)


def strange():
    """Parts of packets, and datagrams with the address of a door as their sender."""
    out = subprocess.run([ABATIS, "run", "--no-audit", "--json", "--connect", "203.0.113.0/24:5000/udp", "--", "python3", "-c", """import socket
big = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
big.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
for _ in range(20):
    big.sendto(b"x" * 65520, ("2001:db8::1", 99))
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
door.bind(("203.0.113.5", 5000))
for _ in range(20):
    door.sendto(b"x", ("192.0.2.1", 99))
"""], capture_output=True, check=False)
    result = json.loads(out.stdout)
    assert result["exit_code"] == 0 and result["connections_omitted"] >= 20, (result, out.stderr)
    assert [(c["address"], c["verdict"]) for c in result["connections"]] == [("192.0.2.1", "refused")], result
    assert result["connections"][0]["count"] == 20, result


{"killed": killed, "stopped": stopped, "late": late, "strange": strange}[sys.argv[1]]()
