#!/usr/bin/env python3
"""relay.py: what is told when the relay is killed, or stopped while much is refused: relay.py killed|stopped, ABATIS in the environment."""
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


{"killed": killed, "stopped": stopped}[sys.argv[1]]()
