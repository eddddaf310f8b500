"""Many commands at once, patience, the cache, sessions, and how a server ends."""
import json
import os
import random
import signal
import subprocess

from lib import ABATIS, TOP, Server, Skip, alive, eventually, expect, grew_by_less_than, lasting, main, unique, waits_for


def run(number, *command, **keys):
    return {"id": number, "method": "run", "command": list(command), **keys}


# ---- many at once ----

def sixty_four_run_at_once(workspace):
    script = "touch here-$0; until [ $(ls | grep -c here-) -ge 64 ]; do sleep 0.1; done; echo $0"
    with Server() as server:
        server.send(*(run(number, "sh", "-c", script, str(number), cwd=workspace) for number in range(64)))
        replies = {reply["id"]: reply for reply in (server.reply() for _ in range(64))}
        for number in range(64):
            expect(replies[number]["result"]["stdout"] == f"{number}\n", replies[number])


def results_come_as_they_finish(workspace):
    with Server() as server:
        server.send(run("slow", "sh", "-c", waits_for("go")), run("fast", "true"))
        expect(server.reply()["id"] == "fast", "the slow one was first")
        open("go", "w").close()
        expect(server.reply()["id"] == "slow", "the slow one did not end")


def more_than_may_run_wait_their_turn(workspace):
    with Server("--jobs", "2") as server:
        server.send(*(run(number, "sh", "-c", f"touch started-{number}; " + waits_for("go")) for number in (1, 2, 3, 4)))
        eventually(lambda: os.path.exists("started-1") and os.path.exists("started-2"), "two were not started")
        server.send({"id": "c", "method": "cancel", "target": 4})
        replies = [server.reply(), server.reply()]
        expect({"id": "c", "result": {"cancelled": True}} in replies, replies)
        expect(any(reply["id"] == 4 and reply["error"]["code"] == "PROTOCOL_CANCELLED" for reply in replies), replies)
        expect(not os.path.exists("started-3"), "three ran at once")
        open("go", "w").close()
        expect(sorted(server.reply()["id"] for _ in range(3)) == [1, 2, 3], "not all came")
        expect(os.path.exists("started-3") and not os.path.exists("started-4"), "who was started")


def too_many_that_wait_are_refused(workspace):
    with Server("--jobs", "1") as server:
        server.send(run("first", "sh", "-c", "touch started; " + waits_for("go")))
        eventually(lambda: os.path.exists("started"), "the first was not started")
        server.send(*(run(number, "true") for number in range(1025)))
        reply = server.reply()
        expect(reply["id"] == 1024 and reply["error"]["code"] == "PROTOCOL_BUSY", reply)
        open("go", "w").close()
        expect(len({server.reply()["id"] for _ in range(1025)}) == 1025, "the others were not answered")


def more_may_wait_than_descriptors_may_be_open(workspace):
    with Server("--jobs", "1", wrapper=("prlimit", "--nofile=1024:4096")) as server:
        server.send(run("first", "sh", "-c", waits_for("go")), *(run(number, "true", stream=True) for number in range(1000)))
        expect(server.ask(id="c", method="cancel", target="nobody") == {"id": "c", "result": {"cancelled": False}}, "it does not answer")
        server.process.send_signal(signal.SIGTERM)
        code, replies, said = server.ends()
        expect(code == 0 and not said and len(replies) == 1001, f"{code} {said} {len(replies)} replies")


def what_waits_is_no_larger_than_its_text(workspace):
    with Server("--jobs", "1") as server:
        server.send(run("first", "sh", "-c", waits_for("go")))
        text = json.dumps(run("x", "true", policy={"x": [{}] * 49000}))
        server.send_bytes(text.replace('"x"', '"w0"', 1).encode() + b"\n")
        server.ask(id="c", method="cancel", target="nobody")
        before = server.memory()
        for number in range(1, 20):
            server.send_bytes(text.replace('"x"', f'"w{number}"', 1).encode() + b"\n")
        server.ask(id="c", method="cancel", target="nobody")
        grew_by_less_than(20 * len(text) * 2 >> 10, server, before)


def a_setting_that_is_no_setting_is_refused(workspace):
    with Server() as server:
        for settings, words in (({"filesystem.dney": []}, "is not a key"), ({"filesystem.dney": ["/x"]}, "is not a key"), ({"x": True}, "is not a key"),
                                ({"network.mode": ["deny", "allow"]}, "an array"), ({"limits.timeout": []}, "an array"),
                                ({"environment.pass": [True]}, "true or false"), ({"filesystem.read": 7}, "a number"), ({"process.fork": 1}, "a number")):
            reply = server.ask(id=1, method="run", command=["touch", "ran"], set=settings)
            expect(reply.get("error", {}).get("code") == "ABATIS_E_INVALID" and words in reply["error"]["message"], f"{settings}: {reply}")
        expect(not os.path.exists("ran"), "something ran")
        settings = {"filesystem.deny": [], "environment.pass": ["A=b"], "process.fork": True, "limits.timeout": "9s", "limits.open_files": "64",
                    "filesystem.deny_glob": ["**/.x"], "audit.log": "off"}
        expect(server.run("sh", "-c", "echo $A; ulimit -n", set=settings)["stdout"] == "b\n64\n", "positive control")


def what_is_set_comes_last(workspace):
    with Server() as server:
        for keys in ({"limits": {"open_files": 64}, "set": {"limits.open_files": 32}}, {"set": {"limits.open_files": 32}, "limits": {"open_files": 64}}):
            expect(server.run("sh", "-c", "ulimit -n", **keys)["stdout"] == "32\n", "the other one")
        expect(server.run("sh", "-c", "ulimit -n", limits={"open_files": 64})["stdout"] == "64\n", "positive control")


def an_id_is_used_once_at_a_time(workspace):
    with Server() as server:
        server.send(run(1, "sh", "-c", waits_for("go")), run(1, "true"))
        expect(server.reply()["error"]["code"] == "PROTOCOL_ID", "it was taken twice")
        server.send(run("1", "true"))
        expect(server.reply()["id"] == "1", "a string is another id")
        open("go", "w").close()
        expect(server.reply()["result"]["exit_code"] == 0, "the first one")
        expect(server.run("true", id=1)["exit_code"] == 0, "it is free again")


def many_commands_leave_nothing_behind(workspace):
    with Server() as server:
        def look():
            server.run("true")
            expect(len(server.children()) <= 3, f"{len(server.children())} processes wait")
            return len(os.listdir(f"/proc/{server.pid}/fd"))
        server.run("true", stream=True, id=2)
        look()
        before = look()
        for number in range(150):
            server.send(run(number, "sh", "-c", "exit 3", stream=number % 2 == 0))
            expect(server.reply()["result"]["exit_code"] == 3, "a run")
        expect(look() == before, f"{before} became {look()}")


# ---- cancel ----

def a_command_that_runs_is_cancelled(workspace):
    word = unique()
    with Server() as server:
        server.send(run(1, *lasting(word)))
        eventually(lambda: alive(word), "it did not start")
        server.send({"id": 2, "method": "cancel", "target": 1})
        expect(server.reply() == {"id": 2, "result": {"cancelled": True}}, "the answer to cancel")
        reply = server.reply()
        expect(reply["id"] == 1 and reply["result"]["cancelled"], reply)
        expect(not alive(word), "it is still there")


def a_command_that_ignores_it_is_killed(workspace):
    word = unique()
    with Server() as server:
        server.send(run(1, "sh", "-c", "trap '' TERM; touch started; while :; do sleep 0.1; done", word))
        eventually(lambda: os.path.exists("started"), "it did not start")
        server.send({"id": 2, "method": "cancel", "target": 1})
        server.reply()
        expect(server.reply()["result"]["cancelled"] and not alive(word), "it is still there")


def a_session_that_only_waits_is_cancelled(workspace):
    with Server("--jobs", "1") as server:
        server.send(run(1, "sh", "-c", waits_for("go")), run(2, "touch", "ran", session="a"), {"id": 3, "method": "cancel", "session": "a"})
        replies = [server.reply(), server.reply()]
        expect({"id": 3, "result": {"cancelled": True}} in replies, replies)
        expect(any(reply["id"] == 2 and reply["error"]["code"] == "PROTOCOL_CANCELLED" for reply in replies), replies)
        open("go", "w").close()
        server.reply()
        expect(server.ask(id=3, method="cancel", session="a")["result"] == {"cancelled": False}, "it never began")
        expect(not os.path.exists("ran"), "it ran")


# ---- patience ----

def flood():
    return ["sh", "-c", "touch started; exec yes 0123456789012345678901234567890123456789012345678901234567890123456789"]


def who_reads_nothing_does_not_fill_the_memory(workspace):
    with Server() as server:
        server.run("true")
        before = server.memory()
        server.send(run(1, *flood(), stream=True, limits={"timeout": "1h"}))
        eventually(lambda: os.path.exists("started"), "it did not start")
        subprocess.run(["sleep", "1"])
        grew_by_less_than(8 << 10, server, before)
        # Still heard while nothing is read.
        server.send({"id": 2, "method": "cancel", "target": 1})
        seen, reply = 0, server.reply()
        while "event" in reply or reply["id"] == 2:
            seen += len(reply.get("data", ""))
            reply = server.reply()
        expect(reply["result"]["cancelled"] and seen > 100000, f"{seen} bytes and {reply}")


def the_time_of_a_command_ends_though_nobody_reads(workspace):
    with Server() as server:
        server.send(run(1, *flood(), stream=True, limits={"timeout": "500ms"}))
        eventually(lambda: os.path.exists("started"), "it did not start")
        keeper_or_none = 1
        eventually(lambda: len(server.children()) <= keeper_or_none and not alive("0123456789" * 7), "it runs on")
        reply = server.reply()
        while "event" in reply:
            reply = server.reply()
        expect(reply["result"]["timed_out"], reply)


def all_that_is_streamed_arrives(workspace):
    with Server() as server:
        server.send(run(1, "seq", "400000", stream=True))
        got, reply = [], server.reply()
        while "event" in reply:
            got.append(reply["data"])
            reply = server.reply()
        expect("".join(got) == "".join(f"{number}\n" for number in range(1, 400001)), "something is missing")
        expect(reply["result"]["stdout_bytes"] == len("".join(got)) and not reply["result"]["truncated"], reply)


def a_limit_of_the_output_holds_for_events_too(workspace):
    with Server() as server:
        server.send(run(1, "seq", "400000", stream=True, limits={"output": "10KiB"}))
        got, reply = "", server.reply()
        while "event" in reply:
            got += reply["data"]
            reply = server.reply()
        expect(len(got.encode()) <= 10 << 10 and "bytes omitted" in got and reply["result"]["truncated"], f"{len(got)} bytes, {reply}")


def a_character_is_not_divided_between_events(workspace):
    with Server() as server:
        server.send(run(1, "sh", "-c", "printf 'a\\303'; touch half; " + waits_for("go") + "; printf '\\244b'", stream=True))
        eventually(lambda: os.path.exists("half"), "it did not start")
        expect(server.reply()["data"] == "a", "the first half")
        open("go", "w").close()
        expect(server.reply()["data"] == "äb", "the other")
        server.reply()
        server.send(run(1, "printf", "a\\303", stream=True))
        expect(server.reply()["data"] == "a" and server.reply()["data_base64"] == "ww==", "one that stays half")


def results_that_nobody_reads_are_bounded(workspace):
    with Server("--jobs", "8") as server:
        server.run("true")
        before = server.memory()
        server.send(*(run(number, "sh", "-c", "touch ran-$0; yes | head -c 3000000", str(number)) for number in range(200)))
        eventually(lambda: len([name for name in os.listdir() if name.startswith("ran-")]) >= 8, "they were not started")
        subprocess.run(["sleep", "1"])
        grew_by_less_than(64 << 10, server, before)
        expect(len(os.listdir()) < 100, "all ran, and somebody has their output")
        seen = {server.reply()["id"] for _ in range(200)}
        expect(len(seen) == 200, "some were lost")


def requests_that_nobody_reads_the_answers_of_wait(workspace):
    with Server() as server:
        server.send({"id": 1, "method": "probe"})
        server.reply()
        before = server.memory()
        os.set_blocking(server.writes, False)
        line, sent = b'{"id":1,"method":"nonesuch"}\n', 0
        for _ in range(400000):
            try:
                sent += os.write(server.writes, line)
            except BlockingIOError:
                subprocess.run(["sleep", "0.2"])
                try:
                    sent += os.write(server.writes, line)
                except BlockingIOError:
                    break
        expect(sent < 400000 * len(line), "all of it was taken")
        grew_by_less_than(24 << 10, server, before)
        os.set_blocking(server.writes, True)
        for _ in range(sent // len(line)):
            expect(server.reply()["error"]["code"] == "PROTOCOL_REQUEST", "an answer")


def what_was_cancelled_and_is_not_read_is_bounded(workspace):
    with Server() as server:
        # So much that results are kept back, and requests are still heard.
        wrong = b'{"id":1,"method":"nonesuch"}\n' * 14000
        server.send_bytes(wrong)
        before = server.memory()
        text = "x" * 100000
        for number in range(1500):
            server.send(run(number, "true", stdin=text), {"id": "c", "method": "cancel", "target": number})
        grew_by_less_than(24 << 10, server, before)
        codes = {}
        for _ in range(14000 + 3000):
            reply = server.reply()
            code = reply["error"]["code"] if "error" in reply else "result"
            codes[code] = codes.get(code, 0) + 1
        expect(codes.get("PROTOCOL_BUSY", 0) > 100 and codes.get("PROTOCOL_CANCELLED", 0) >= 1000, codes)


# ---- lines ----

def a_line_that_is_too_long_is_refused_and_skipped(workspace):
    with Server() as server:
        server.run("true")
        before = server.memory()
        for start, wanted in ((b'{"id":7,"method":"run","stdin":"', 7), (b'"', None)):
            server.send_bytes(start + b"x" * (9 << 20) + b'"}\n')
            reply = server.reply()
            expect(reply["id"] == wanted and reply["error"]["code"] == "PROTOCOL_LENGTH", reply)
        text = "y" * ((8 << 20) - 200)
        result = server.run("sh", "-c", "wc -c", stdin=text)
        expect(int(result["stdout"]) == len(text), "one that just fits")
        grew_by_less_than(32 << 10, server, before)


def lines_may_come_in_pieces_and_in_heaps(workspace):
    with Server() as server:
        for byte in json.dumps(run(1, "echo", "x")).encode() + b"\r\n":
            server.send_bytes(bytes([byte]))
        expect(server.reply()["result"]["stdout"] == "x\n", "byte by byte")


def too_deep_and_too_many_are_refused(workspace):
    with Server() as server:
        for text in ('{"id":1,"method":"run","policy":' + "[" * 70 + "]" * 70 + "}", '{"id":1,"x":' + "[" * 4000000,
                     '{"id":1,"x":[' + "1," * 200000 + "1]}"):
            server.send_bytes(text.encode() + b"\n")
            reply = server.reply()
            expect(reply["id"] == 1 and reply["error"]["code"] == "PROTOCOL_JSON", reply)


def mistakes_of_json_are_told_in_words(workspace):
    with Server() as server:
        for line, words in ((b"", "empty"), (b"{", "ends too early"), (rb'{"id":1,"x":"a\u0000"}', "a string has \\u0000"), (b'{"id":1,"id":1}', "twice"),
                            (rb'{"id":1,"a\u0000":1}', "a key has \\u0000"), (b'{"id":1}x', "after the end"), (b'{"id":1e999}', "too large"),
                            (b'{"id":"\xff"}', "UTF-8"), (b'{"id":tru}', "not JSON")):
            server.send_bytes(line + b"\n")
            reply = server.reply()
            expect(reply["error"]["code"] == "PROTOCOL_JSON" and words in reply["error"]["message"] and "JSON_" not in reply["error"]["message"],
                   f"{line}: {reply}")


def malformed(source):
    valid = json.dumps(run(source.randrange(100), "true", cwd="/", limits={"timeout": "1s"})).encode()
    kind = source.randrange(5)
    if kind == 0:
        return bytes(source.randrange(256) for _ in range(source.randrange(80))).replace(b"\n", b"")
    if kind == 1:
        return valid[:source.randrange(len(valid))]
    if kind == 2:
        at = source.randrange(len(valid))
        return valid[:at] + b"\xff" + valid[at:]
    if kind == 3:
        return valid.replace(b"command", b"comman" + bytes([source.randrange(97, 122)]).replace(b"d", b"x"))
    return json.dumps({"id": 1, "id2": [[source.random()] * 5]}).encode()


def malformed_lines_do_not_hurt(workspace):
    source = random.Random(3)
    lines = [malformed(source) for _ in range(2000)]
    with Server() as server:
        before = None
        for turn in range(15):
            for start in range(0, len(lines), 200):
                server.send_bytes(b"".join(line + b"\n" for line in lines[start:start + 200]))
                for _ in lines[start:start + 200]:
                    expect(server.reply()["error"]["code"].startswith("PROTOCOL"), "a malformed line")
            if turn == 1:
                before = server.memory()
        grew_by_less_than(1024, server, before)
        expect(server.run("echo", "x")["stdout"] == "x\n", "the server does not work any more")


# ---- what is kept ----

def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def a_policy_that_is_the_same_has_one_warm_sandbox(workspace):
    with Server() as server:
        for _ in range(4):
            server.run("true")
        expect(server.keepers() == 1, f"{server.keepers()} are prepared")
        for _ in range(4):
            server.run("true", preset="dev")
        expect(server.keepers() == 1, "another one for the same policy")
        for _ in range(4):
            server.run("true", preset="tool")
        expect(server.keepers() == 2, "positive control: none for another policy")


def only_so_many_sandboxes_wait(workspace):
    with Server() as server:
        for number in range(40):
            for _ in range(2):
                server.run("true", set={"environment.pass": f"NUMBER={number}"})
        expect(1 < server.keepers() <= 17, f"{server.keepers()} are prepared")
        expect(server.run("sh", "-c", "echo $NUMBER", set={"environment.pass": "NUMBER=0"})["stdout"] == "0\n", "an early one, again")


def values_of_variables_are_not_another_commands(workspace):
    with Server() as server:
        for value in ("one", "two", "one"):
            result = server.run("sh", "-c", "echo $VALUE", set={"environment.pass": f"VALUE={value}"})
            expect(result["stdout"] == f"{value}\n", result)


def a_changed_policy_file_counts_at_once(workspace):
    write("secret", "x")
    policy = f"{workspace}/policy.yaml"
    with Server() as server:
        for text, works in (("version: 1\n", True), (f"version: 1\nfilesystem: {{deny: ['{workspace}/secret']}}\n", False)) * 3:
            write(policy, text)
            result = server.run("cat", f"{workspace}/secret", policy_file=policy)
            expect((result["exit_code"] == 0) == works, f"{text}: {result}")


def a_policy_of_the_project_counts_from_its_beginning(workspace):
    with Server() as server:
        expect(server.run("touch", "one")["exit_code"] == 0, "positive control")
        write(".abatis.yaml", "filesystem: {write: ['${tmp}']}\n")
        expect(server.run("touch", "two")["exit_code"] != 0 and not os.path.exists("two"), "it was not narrowed")


def what_is_denied_later_is_denied(workspace):
    with Server() as server:
        keys = {"set": {"filesystem.deny": f"{workspace}/later"}}
        expect(server.run("cat", "later", **keys)["exit_code"] != 0, "it is not there")
        write("later", "x")
        for _ in range(3):
            expect(server.run("cat", "later", **keys)["exit_code"] != 0, "it was read")
        expect(server.run("cat", "later")["exit_code"] == 0, "positive control")


def below_a_ceiling(workspace):
    """A server with a copy of /etc in the place of /etc."""
    os.makedirs("etc/abatis")
    subprocess.run("cp -a /etc/group /etc/ld.so.cache /etc/alternatives /etc/nsswitch.conf etc", shell=True, stderr=subprocess.DEVNULL)
    write("etc/passwd", f"root:x:0:0:root:{os.environ['HOME']}:/bin/sh\n")
    if subprocess.run(["unshare", "--mount", "--map-root-user", "mount", "--bind", "etc", "/etc"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no mount namespace for this user")
    return Server(wrapper=("unshare", "--mount", "--map-root-user", "sh", "-c", 'mount --bind etc /etc && exec "$@"', "sh"))


def no_request_is_above_the_ceiling(workspace):
    with below_a_ceiling(workspace) as server:
        expect(server.run("true", set={"network.mode": "allow"})["exit_code"] == 0, "positive control")
        write("etc/abatis/policy.yaml", "{network: {mode: deny}, limits: {timeout: 30s}, filesystem: {write: ['${workspace}', '${tmp}']}}\n")
        expect(server.run("true")["exit_code"] == 0, "positive control below it")
        os.mkdir(f"{TOP}/scratch/beside-{os.path.basename(workspace)}")
        beside = f"{TOP}/scratch/beside-{os.path.basename(workspace)}"
        try:
            for keys in ({"set": {"network.mode": "allow"}}, {"policy": {"network": {"mode": "allow"}}}, {"limits": {"timeout": "31s"}},
                         {"policy": {"filesystem": {"write": [beside]}}}, {"set": {"filesystem.write": beside}}):
                reply = server.ask(id=1, method="run", command=["touch", "ran"], **keys)
                expect("is more than /etc/abatis/policy.yaml allows" in reply.get("error", {}).get("message", ""), f"{keys}: {reply}")
            expect(not os.path.exists("ran"), "something ran")
        finally:
            os.rmdir(beside)
        os.remove("etc/abatis/policy.yaml")
        expect(server.run("true", set={"network.mode": "allow"})["exit_code"] == 0, "positive control without it")


# ---- sessions ----

def commands_of_a_session_share_and_others_do_not(workspace):
    with Server() as server:
        server.run("sh", "-c", "echo kept > /tmp/file; sleep 600 & echo $! > /tmp/pid", session="a")
        expect(server.run("sh", "-c", "cat /tmp/file; kill -0 $(cat /tmp/pid)", session="a")["stdout"] == "kept\n", "the same session")
        expect(server.run("cat", "/tmp/file", session="b")["exit_code"] != 0, "another session")
        expect(server.run("cat", "/tmp/file")["exit_code"] != 0, "no session")
        expect(server.ask(id=2, method="cancel", session="a") == {"id": 2, "result": {"cancelled": True}}, "its end")
        expect(server.ask(id=2, method="cancel", session="a") == {"id": 2, "result": {"cancelled": False}}, "it has ended")
        expect(server.run("cat", "/tmp/file", session="a")["exit_code"] != 0, "a new one by the same name")


def a_policy_alone_makes_no_session(workspace):
    with Server() as server:
        for keys in ({"set": {"session": "shared"}}, {"policy": {"session": "shared"}}):
            server.run("touch", "/tmp/file", **keys)
            expect(server.run("cat", "/tmp/file", **keys)["exit_code"] != 0, f"two commands are in one with {keys}")


def a_session_keeps_its_policy(workspace):
    with Server() as server:
        server.run("true", session="a", preset="tool")
        reply = server.ask(id=1, method="run", command=["true"], session="a", preset="dev")
        expect(reply["error"]["code"] == "ABATIS_E_INVALID" and "another policy" in reply["error"]["message"], reply)
        expect(server.run("true", session="a", preset="tool")["exit_code"] == 0, "the first one is still there")


# ---- what a command gets ----

def a_command_has_no_signal_of_the_servers(workspace):
    with Server() as server:
        said = server.run("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")["stdout"]
        expect(all(int(line.split()[1], 16) == 0 for line in said.splitlines()) and len(said.splitlines()) == 2, said)
        expect(server.run("sh", "-c", "ls /proc/self/fd | wc -l")["stdout"].strip() in ("3", "4"), "descriptors of the server's")


def secrets_of_the_server_are_not_passed_on(workspace):
    with Server(env={**os.environ, "SOME_API_KEY": "sesame", "PLAIN": "seen"}) as server:
        said = server.run("env")["stdout"]
        expect("PLAIN=seen" in said and "sesame" not in said, said)
        said = server.run("env", env={"ONLY": "this", "OTHER_TOKEN": "sesame", "PATH": "/usr/bin:/bin"})["stdout"]
        expect("ONLY=this" in said and "sesame" not in said and "PLAIN" not in said, said)


# ---- the end ----

def everything_is_answered_before_the_end(workspace):
    requests = "".join(json.dumps(run(number, "sh", "-c", "sleep 0.2; echo $0", str(number))) + "\n" for number in range(100))
    ran = subprocess.run([ABATIS, "serve"], input=requests[:-1].encode(), stdout=subprocess.PIPE, timeout=60)
    replies = [json.loads(line) for line in ran.stdout.splitlines()]
    expect(ran.returncode == 0 and len(replies) == 100, f"{ran.returncode}, {len(replies)} replies")
    expect(all(reply["result"]["stdout"] == f"{reply['id']}\n" for reply in replies), "a reply")


def a_signal_cancels_what_runs(workspace):
    word = unique()
    with Server("--jobs", "2") as server:
        server.send(*(run(number, *lasting(word)) for number in range(4)))
        eventually(lambda: len([1 for pid in alive(word)]) >= 2, "they did not start")
        server.process.send_signal(signal.SIGTERM)
        code, replies, said = server.ends()
        expect(code == 0 and not said and len(replies) == 4, f"{code} {said} {replies}")
        expect(sum(reply.get("result", {}).get("cancelled", False) for reply in replies) == 2, replies)
        expect(sum(reply.get("error", {}).get("code") == "PROTOCOL_CANCELLED" for reply in replies) == 2, replies)
        expect(not alive(word), "somebody is left")


def a_signal_ends_a_server_whose_client_does_not_read(workspace):
    with Server() as server:
        server.send(run(1, *flood(), stream=True))
        eventually(lambda: os.path.exists("started"), "it did not start")
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)


def a_second_signal_waits_for_nobody(workspace):
    word = unique()
    with Server() as server:
        server.send(run(1, *flood(), stream=True), run(2, *lasting(word)))
        eventually(lambda: os.path.exists("started") and alive(word), "they did not start")
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: not alive(word), "it is still there")
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(4)  # the first one alone waits five seconds for a reader


def what_cannot_be_written_is_an_error(workspace):
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([ABATIS, "serve"], input=b'{"id":1,"method":"probe"}\n', stdout=full, stderr=subprocess.PIPE, timeout=60)
    expect(ran.returncode == 125 and b"No space left" in ran.stderr, ran)


def a_server_that_cannot_go_on_leaves_nobody(workspace):
    word = unique()
    with Server() as server:
        server.send(*(run(number, *lasting(word)) for number in range(8)))
        eventually(lambda: len(alive(word)) >= 8, "they did not start")
        subprocess.run(["prlimit", f"--pid={server.pid}", "--nofile=4:4"], check=True)  # so few that it cannot wait for all it has
        server.send({"id": "c", "method": "cancel", "target": "nobody"})
        code = server.process.wait(30)
        expect(not alive(word), "somebody is left")
        expect(code == 125 and b"cannot wait" in server.process.stderr.read(), f"exit code {code}")


def nobody_outlives_a_server_that_is_killed(workspace):
    word = unique()
    server = Server()
    server.run("true")
    server.run("true")
    server.send(*(run(number, *lasting(word), stream=number % 2 == 0) for number in range(8)),
                run("s", *lasting(word), session="a"))
    eventually(lambda: len(alive(word)) >= 9, "they did not start")
    children = server.children()
    expect(children, "it has no children")
    server.process.kill()
    server.process.wait()
    eventually(lambda: not alive(word) and not any(os.path.exists(f"/proc/{pid}/exe") for pid in children), "somebody is left")


def who_reads_no_more_has_his_commands_cancelled(workspace):
    word = unique()
    server = Server()
    server.send(run(1, *lasting(word)))
    eventually(lambda: alive(word), "it did not start")
    server.process.stdout.close()
    eventually(lambda: not alive(word), "it is still there")
    server.process.wait(30)


main([value for name, value in list(globals().items())
      if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",) and name != "below_a_ceiling"])
