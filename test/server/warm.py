"""A sandbox that stays warm is the one that would be made now."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile

from lib import TOP, Server, expect, main

REACH = """
import socket, sys
for path in sys.argv[1:]:
    try:
        caller = socket.socket(socket.AF_UNIX)
        caller.connect(path)
        print("reached")
    except OSError:
        print("refused")
"""


@contextlib.contextmanager
def outside():
    """A directory that no command may write."""
    path = tempfile.mkdtemp(prefix="outside-", dir=f"{TOP}/scratch")
    os.chmod(path, 0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def listing(*commands):
    return {"version": 1, "extends": "tool", "process": {"commands": list(commands)}}


def a_program_gets_another_name_and_is_copied(workspace):
    with outside() as place, Server() as server:
        tool, other = shutil.copy("/usr/bin/true", f"{place}/tool"), f"{workspace}/other"
        policy, script = listing("sh", "cat", tool), f"cat /usr/bin/false > {other} && {tool}"
        expect(server.run("sh", "-c", script, policy=policy)["exit_code"] == 0, "another file was written")
        os.remove(other)
        os.link(tool, other)
        ran = server.run("sh", "-c", script, policy=policy)
        expect(ran["exit_code"] == 0, f"what can be started was changed: {ran}")
        expect(subprocess.run([tool]).returncode == 1, "positive control: the file was written")


def a_copied_program_is_that_of_today(workspace):
    with outside() as place, Server() as server:
        tool = f"{place}/tool"
        os.link(shutil.copy("/usr/bin/true", tool), f"{place}/other")
        for program, code in (("true", 0), ("false", 1), ("true", 0)):
            with open(f"/usr/bin/{program}", "rb") as source, open(tool, "wb") as file:
                file.write(source.read())
            for _ in range(2):
                expect(server.run(tool, policy=listing(tool))["exit_code"] == code, f"it was not {program} that ran")


def a_link_on_the_way_to_a_socket_leads_elsewhere(workspace):
    with outside() as place, contextlib.ExitStack() as sockets, Server() as server:
        for name in "one", "two":
            os.mkdir(f"{place}/{name}")
            listener = sockets.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"{place}/{name}/s")
            listener.listen(9)
        policy = {"version": 1, "extends": "tool", "network": {"mode": "deny", "unix": [f"{place}/now/s"]}}
        for name, seen in (("one", "reached\nrefused\n"), ("two", "refused\nreached\n")):
            os.symlink(name, f"{place}/new")
            os.rename(f"{place}/new", f"{place}/now")
            ran = server.run("python3", "-c", REACH, f"{place}/one/s", f"{place}/two/s", policy=policy)
            expect(ran["stdout"] == seen, f"{name}: {ran['stdout']} {ran['stderr']}")


def a_relative_program_is_that_of_the_commands_directory(workspace):
    for name in "server", "command":
        os.mkdir(f"{workspace}/{name}")
        with open(f"{workspace}/{name}/tool", "w") as file:
            file.write(f"#!/bin/sh\necho {name}\n")
        os.chmod(f"{workspace}/{name}/tool", 0o755)
    with Server(cwd=f"{workspace}/server") as server:
        expect(server.run("./tool")["stdout"] == "server\n", "positive control: without cwd it is the server's")
        expect(server.run("./tool", cwd=f"{workspace}/command")["stdout"] == "command\n", "another program ran")
        os.remove(f"{workspace}/server/tool")
        expect(server.run("./tool", cwd=f"{workspace}/command")["stdout"] == "command\n", "it was looked for in the server's directory")
        os.rename(f"{workspace}/command/tool", f"{workspace}/server/tool")
        reply = server.ask(id=1, method="run", command=["./tool"], cwd=f"{workspace}/command")
        expect(reply.get("error", {}).get("code") == "ABATIS_E_NOT_FOUND", reply)


def a_pattern_is_never_a_name(workspace):
    for place in (workspace, f"{workspace}/deep"):
        os.makedirs(place, exist_ok=True)
        with open(f"{place}/.secret", "w") as file:
            file.write("x")
    names = [f"{workspace}/.secret", f"{workspace}/deep/.secret"]
    with Server() as server:
        expect(server.run("cat", *names)["stdout"] == "xx", "positive control: they are read")
        for key in "filesystem.deny", "filesystem.protect":
            reply = server.ask(id=1, method="run", command=["cat", *names], set={key: [f"{workspace}/**/.secret"]})
            expect(reply["error"]["code"] == "ABATIS_E_INVALID" and "pattern" in reply["error"]["message"], reply)
        held = server.run("cat", *names, set={"filesystem.deny_glob": [f"{workspace}/**/.secret"]})
        expect(held["exit_code"] and not held["stdout"], held)
        os.mkdir(f"{workspace}/[x]*")
        with open(f"{workspace}/[x]*/file", "w") as file:
            file.write("x")
        held = server.run("cat", f"{workspace}/[x]*/file", set={"filesystem.deny": [f"{workspace}/[x]*"]})
        expect(held["exit_code"] and not held["stdout"], f"what is there may be called what it likes: {held}")


main([value for name, value in list(globals().items()) if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",)])
