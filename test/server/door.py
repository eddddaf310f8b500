"""The socket: who may come, who may listen, and what is left of it."""
import os
import select
import signal
import socket
import stat
import subprocess

from lib import ABATIS, Caller, alive, eventually, expect, lasting, listening, main, unique


def a_socket_is_the_users_alone(workspace):
    with listening("s", umask=0) as server:
        expect(stat.S_IMODE(os.stat("s").st_mode) == 0o600, oct(os.stat("s").st_mode))
        with Caller("s") as caller:
            expect(caller.run("sh", "-c", "umask")["stdout"] == "0000\n", "the mask is another for commands")
        server.process.send_signal(signal.SIGTERM)
        expect(server.process.wait(30) == 0 and not os.path.exists("s"), "it was not removed")


def clients_do_not_know_each_other(workspace):
    with listening("s"), Caller("s") as one, Caller("s") as two:
        script = "touch $0; until [ -e one ] && [ -e two ]; do sleep 0.02; done; echo $0"
        for caller, name in ((one, "one"), (two, "two")):
            caller.send({"id": 1, "method": "run", "command": ["sh", "-c", script, name]})
        expect(one.reply()["result"]["stdout"] == "one\n" and two.reply()["result"]["stdout"] == "two\n", "the same id")
        one.send({"id": 2, "method": "run", "command": ["sh", "-c", "touch begun; until [ -e go ]; do sleep 0.02; done"]})
        eventually(lambda: os.path.exists("begun"), "it did not start")
        expect(two.ask(id=3, method="cancel", target=2)["result"] == {"cancelled": False}, "another's was cancelled")
        one.run("sh", "-c", "echo x > /tmp/file", session="a", id=4)
        expect(two.run("cat", "/tmp/file", session="a")["exit_code"] != 0, "another's session")
        open("go", "w").close()
        expect(one.reply()["id"] == 2, "the end")


def who_leaves_has_his_commands_cancelled(workspace):
    words = unique(), unique()
    with listening("s"), Caller("s") as stays:
        stays.send({"id": 1, "method": "run", "command": lasting(words[0])})
        leaves = Caller("s")
        leaves.send({"id": 1, "method": "run", "command": lasting(words[1])}, {"id": 2, "method": "run", "command": lasting(words[1]), "session": "a"})
        eventually(lambda: alive(words[0]) and len(alive(words[1])) >= 2, "they did not start")
        leaves.socket.close()
        eventually(lambda: not alive(words[1]), "it is still there")
        expect(alive(words[0]), "the other client's is gone")


def who_only_stops_asking_gets_his_answers(workspace):
    with listening("s"), Caller("s") as caller:
        caller.send({"id": 1, "method": "run", "command": ["sh", "-c", "sleep 0.3; echo x"]})
        caller.socket.shutdown(socket.SHUT_WR)
        expect(caller.reply()["result"]["stdout"] == "x\n" and caller.line() is None, "an answer, and the end")


def has_bytes(caller):
    return bool(select.select([caller.reads], [], [], 0)[0])


def many_requests_of_one_client_do_not_keep_another_waiting(workspace):
    # A policy that takes its time, and an answer that is short.
    with open("policy.yaml", "w") as file:
        file.write("filesystem:\n  deny:\n" + "".join(f"    - {workspace}/no/such/place-{number}\n" for number in range(2000)))
    request = {"id": 1, "method": "check", "access": "read", "path": "/etc/passwd", "policy_file": f"{workspace}/policy.yaml"}
    with listening("s") as server, Caller("s") as greedy, Caller("s") as other:
        for caller in (greedy, other):
            caller.ask(id=1, method="cancel", target=1)
        # What both have to say is there when the server looks.
        server.process.send_signal(signal.SIGSTOP)
        greedy.send(*([request] * 200))
        other.send({"id": 1, "method": "cancel", "target": 1})
        server.process.send_signal(signal.SIGCONT)
        expect(other.reply()["id"] == 1, "the reply to the other")
        before = greedy.socket.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT).count(b"\n") if has_bytes(greedy) else 0
        expect(before < 200, "it was answered after all of the first one's")
        expect(all("result" in greedy.reply() for _ in range(200)), "the first one's were not answered")


def who_reads_nothing_does_not_keep_the_places_of_others(workspace):
    with listening("s", "--jobs", "2"), Caller("s") as silent, Caller("s") as other:
        silent.send(*({"id": number, "method": "run", "command": ["sh", "-c", "touch ran-$0; yes | head -c 900000", str(number)]}
                      for number in range(40)))
        eventually(lambda: len(os.listdir()) >= 3, "they did not start")
        for _ in range(5):
            expect(other.run("true")["exit_code"] == 0, "a command of the other client")
        expect(len(os.listdir()) < 30, "all ran, and somebody has their output")
        expect(len({silent.reply()["id"] for _ in range(40)}) == 40, "some were lost")


def who_cannot_be_let_in_waits_and_costs_nothing(workspace):
    def ticks():
        with open(f"/proc/{server.pid}/stat") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    with listening("s", wrapper=("prlimit", "--nofile=24:24")) as server:
        callers = [Caller("s") for _ in range(40)]
        callers[0].ask(id=1, method="cancel", target=1)
        callers[39].send({"id": 1, "method": "cancel", "target": 1})
        eventually(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) >= 19, "it has descriptors left")
        before = ticks()
        subprocess.run(["sleep", "1"])
        expect(ticks() - before < 20, f"{ticks() - before} ticks of a second were spent on waiting")
        for caller in callers[:39]:
            caller.socket.close()
        expect(callers[39].reply()["result"] == {"cancelled": False}, "the last one was never let in")
        callers[39].socket.close()


def a_socket_without_a_server_is_replaced(workspace):
    with listening("s") as server:
        server.process.kill()
        server.process.wait()
    expect(os.path.exists("s"), "positive control: it is left behind")
    with listening("s"), Caller("s") as caller:
        expect(caller.run("true")["exit_code"] == 0, "it does not serve")


def refused(path, words):
    ran = subprocess.run([ABATIS, "serve", "--socket", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    expect(ran.returncode == 125 and words in ran.stderr, ran)


def a_socket_with_a_server_is_not_replaced(workspace):
    with listening("s"), Caller("s") as caller:
        refused("s", b"somebody listens")
        expect(caller.run("true")["exit_code"] == 0, "the first one")


def a_server_that_is_stopped_is_still_there(workspace):
    with listening("s") as server:
        server.process.send_signal(signal.SIGSTOP)
        callers = []
        try:
            while len(callers) < 1000:
                callers.append(socket.socket(socket.AF_UNIX))
                callers[-1].setblocking(False)
                callers[-1].connect("s")
        except BlockingIOError:
            pass
        expect(len(callers) < 1000, "there is no end of who may wait")
        refused("s", b"somebody listens")
        for caller in callers:
            caller.close()
        server.process.send_signal(signal.SIGCONT)


def nothing_else_is_replaced(workspace):
    open("file", "w").close()
    os.symlink("elsewhere", "link")
    for name in ("file", "link", "."):
        refused(name, b"no socket of yours")
    expect(os.path.exists("file") and os.path.islink("link"), "it is gone")
    refused("no/such/directory/s", b"No such file")
    refused("x" * 200, b"bytes")


def a_socket_of_another_server_is_not_removed(workspace):
    with listening("s") as first:
        os.rename("s", "moved")
        with listening("s") as second:
            first.process.send_signal(signal.SIGTERM)
            first.process.wait(30)
            expect(os.path.exists("s"), "the first one has removed the second one's")
            second.process.send_signal(signal.SIGTERM)
            second.process.wait(30)
            expect(not os.path.exists("s"), "its own")


def of_many_that_start_at_once_one_serves(workspace):
    for _ in range(5):
        servers = [subprocess.Popen([ABATIS, "serve", "--socket", "s"], stderr=subprocess.DEVNULL) for _ in range(8)]
        eventually(lambda: sum(server.poll() is None for server in servers) <= 1, "more than one serves")
        left = [server for server in servers if server.poll() is None]
        expect(len(left) == 1, "nobody serves")
        with Caller("s") as caller:
            expect(caller.run("true")["exit_code"] == 0, "it is not reached")
        left[0].kill()  # and leaves the socket to the next ones
        left[0].wait()


def more_clients_than_there_is_room_for_are_told_so(workspace):
    with listening("s"):
        callers = [Caller("s") for _ in range(64)]
        callers[63].run("true")
        with Caller("s") as caller:
            expect(caller.reply()["error"]["code"] == "PROTOCOL_BUSY", "it was let in")
        callers.pop().socket.close()

        def is_let_in():
            with Caller("s") as caller:
                caller.send({"id": 1, "method": "cancel", "target": 1})
                return "result" in caller.reply()
        eventually(is_let_in, "there is no room after one has left")
        for caller in callers:
            caller.socket.close()


main([value for name, value in list(globals().items()) if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",)])
