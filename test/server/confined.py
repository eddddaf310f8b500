"""A command in a sandbox that reaches the socket: it is not served, or it would be outside by asking for it."""
import json
import os
import subprocess

from lib import ABATIS, Skip, expect, listening, main

ASK = """
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("s")
try:
    s.sendall(b'{"id":1,"method":"run","command":["touch","escaped"]}\\n')
except BrokenPipeError:
    pass  # refused already: why is there to be read
print(s.makefile().readline())
"""


def ask(*before):
    ran = subprocess.run([*before, "/usr/bin/python3", "-c", ASK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=60)
    expect(ran.stdout.startswith(b"{"), f"{before}: it does not reach the socket: {ran}")
    return json.loads(ran.stdout)


def refuses(*before):
    reply = ask(*before)
    expect(reply["id"] is None and reply["error"]["code"] == "PROTOCOL_PEER" and "in a sandbox" in reply["error"]["message"], f"{before}: {reply}")
    expect(not os.path.exists("escaped"), "it was run all the same")


def who_is_in_a_sandbox_is_not_served(workspace):
    with listening("s"):
        for flags in (["--preset", "guard"], ["--net", "allow"], ["--preset", "mcp", "--net", "allow", "--write", workspace]):
            # A container that lets nobody take another's socket has no broker, and so no network of this kind.
            if flags[-1] == "guard" or not has_given_up_privileges():
                refuses(ABATIS, "run", "--no-audit", *flags, "--")
        expect(ask()["result"]["exit_code"] == 0 and os.path.exists("escaped"), "positive control: outside")


def has_given_up_privileges():
    with open("/proc/self/status") as file:
        return "NoNewPrivs:\t1\n" in file.read()


def who_may_do_less_than_the_server_is_not_served(workspace):
    if has_given_up_privileges():
        raise Skip("here nobody may gain privileges anyway")
    with listening("s"):
        refuses("setpriv", "--no-new-privs")
        expect("result" in ask("setpriv", "--inh-caps=-all"), "positive control: the same program, and nothing given up")


def a_server_that_may_do_as_little_serves(workspace):
    with listening("s", wrapper=("setpriv", "--no-new-privs")):
        refuses("setpriv", "--no-new-privs", ABATIS, "run", "--no-audit", "--preset", "guard", "--")
        if not has_given_up_privileges():  # there is no broker in a container
            refuses("setpriv", "--no-new-privs", ABATIS, "run", "--no-audit", "--net", "allow", "--")
        expect("result" in ask("setpriv", "--no-new-privs"), "of two that are the same")
        expect("result" in ask(), "one that may do more")


def namespaces_of_ones_own_are_a_sandbox(workspace):
    with listening("s"):
        if subprocess.run(["unshare", "--user", "true"], stderr=subprocess.DEVNULL).returncode == 0:
            refuses("unshare", "--user")
            refuses("unshare", "--user", "--map-current-user", "--mount")
        expect("result" in ask(), "positive control: outside")


main([value for name, value in list(globals().items()) if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",)])
