"""What no client should send, and more of it than anyone should: every line is answered as often as it must be, and nothing is left behind."""
import json
import os
import re
import subprocess

from asking import NEW, OLD, PREFIX, Mcp, calling, check_result, facts_of, has_code, meta, notice
from lib import ABATIS, alive, eventually, expect, grew_by_less_than, lasting, main, unique, waits_for

PLACES = 64  # commands that run at once
WAITING = 1024  # that wait for a place


def is_well(server):
    """It answers, and nothing else has been said before."""
    word = unique()
    expect(server.request("ping", word)["result"] == {}, "it does not answer")


# ---- ids and tokens ----

def every_id_that_may_be_is_given_back(workspace):
    with Mcp() as server:
        for number in (0, -1, 2 ** 63 - 1, -2 ** 63, "1", "0", "null", " ", "ä€𝄞", '"\\\n', "x" * 128):
            expect(server.request("ping", number)["result"] == {}, number)
            expect(server.call("run_command", number, command=["true"])["isError"] is False, number)


def an_id_that_may_not_be_is_refused(workspace):
    with Mcp() as server:
        for number in ("null", "1.5", "1e3", "1.0", "true", "{}", "[]", '""', '"' + "x" * 129 + '"'):
            server.send_bytes(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % number.encode())
            reply = server.reply()
            has_code(reply, -32600)
            expect(reply["id"] is None, reply)
        for number in (str(2 ** 63), "1e999", "-" + "9" * 400, "01", "+1", "NaN", "0x1"):
            server.send_bytes(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % number.encode())
            has_code(server.reply(), -32700)
        is_well(server)


def ids_of_different_types_are_different(workspace):
    with Mcp() as server:
        server.send(calling("run_script", 1, script=waits_for("go")), calling("run_script", "1", script="true"))
        expect(server.reply()["id"] == "1", "the wrong one")
        server.send(notice("cancelled", requestId="1"), notice("cancelled", requestId=True), notice("cancelled", requestId=1.0))
        open("go", "w").close()
        reply = server.reply()
        expect(reply["id"] == 1 and reply["result"]["isError"] is False, reply)


def a_token_that_may_not_be_is_refused_and_nothing_is_run(workspace):
    with Mcp() as server:
        for token in (None, 1.5, True, {}, [], "", "x" * 129):
            for more in ({}, meta()["_meta"]):
                has_code(server.request("tools/call", name="run_script", arguments={"script": "touch ran"}, _meta={"progressToken": token, **more}), -32602)
        expect(not os.listdir("."), "it was run")
        for token in (0, -1, 2 ** 63 - 1, "x" * 128):
            reply = server.request("tools/call", name="run_script", arguments={"script": "touch ran"}, _meta={"progressToken": token})
            expect(reply["result"]["isError"] is False and os.path.exists("ran"), reply)


# ---- what is not for us ----

def what_nobody_waits_for_is_not_answered(workspace):
    wrong = {f"{PREFIX}protocolVersion": "2099-01-01"}
    lines = [notice("initialized"), notice("nonsense"), {"jsonrpc": "2.0", "method": "notifications/initialized", "params": []},
             notice("cancelled"), notice("cancelled", requestId=None), notice("cancelled", requestId={}), notice("cancelled", requestId="never"),
             notice("cancelled", requestId=1, _meta=wrong), notice("progress", progressToken=1, progress=1), notice("roots/list_changed"),
             {"jsonrpc": "2.0", "method": "ping"}, {"jsonrpc": "2.0", "method": "initialize", "params": {"protocolVersion": 1}},
             {"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": wrong}},
             {"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "what?"}},
             {"jsonrpc": "2.0", "id": 1.5, "result": None}, {"id": "x", "error": {}}, {"jsonrpc": "2.0", "id": "x", "error": None}]
    call = calling("run_script", script="touch ran")
    del call["id"]
    with Mcp() as server:
        server.send(*lines, call)
        is_well(server)
        expect(not server.children() and not os.listdir("."), "a notification was run")
        server.call("run_script", script="touch ran")
        expect(os.listdir(".") == ["ran"], "the control")


def what_is_not_offered_is_no_method_in_either_era(workspace):
    methods = ("logging/setLevel", "resources/list", "resources/read", "resources/subscribe", "prompts/list", "prompts/get", "completion/complete",
               "sampling/createMessage", "elicitation/create", "roots/list", "tasks/list", "subscriptions/listen", "tools/cal", "tools/call ",
               "Tools/list", "notifications/initialized", "rpc.discover", "", "\n", "x" * 100000)
    with Mcp() as server:
        for method in methods:
            has_code(server.request(method, level="debug"), -32601)
            has_code(server.request(method, level="debug", **meta()), -32601)
        is_well(server)


def revisions_of_the_wrong_kind_are_refused(workspace):
    with Mcp() as server:
        for revision in (None, 1, {}, [], True):
            has_code(server.request("initialize", protocolVersion=revision), -32602)
            has_code(server.request("tools/list", _meta={**meta()["_meta"], f"{PREFIX}protocolVersion": revision}), -32602)
        for revision in ("", "2026-07-27", "2026-07-28 ", *OLD, "x" * 100000):
            reply = server.request("tools/list", _meta={**meta()["_meta"], f"{PREFIX}protocolVersion": revision})
            has_code(reply, -32022)
            expect(reply["error"]["data"] == {"supported": [NEW], "requested": revision}, reply)
        for capabilities in (None, 1, [], "x"):
            has_code(server.request("tools/list", _meta={**meta()["_meta"], f"{PREFIX}clientCapabilities": capabilities}), -32602)
        for wrong in (None, 1, [], "x"):
            has_code(server.request("tools/list", _meta=wrong), -32602)
        is_well(server)


def an_array_of_messages_is_refused_whole(workspace):
    with Mcp() as server:
        for batch in ([], [1], [calling("run_script", script="touch ran")], [calling("run_script", n, script="touch ran") for n in range(100)]):
            server.send(batch)
            has_code(server.reply(), -32600)
        is_well(server)
        expect(not os.listdir("."), "it was run")


def arguments_of_the_wrong_kind_never_reach_a_tool(workspace):
    with Mcp() as server:
        for wrong in (1, [], "x", True):
            reply = server.request("tools/call", name="run_command", arguments=wrong)
            expect(reply["result"]["isError"] is True, reply)
        for command in ([], [""], [1], ["true", None], {}, "true", [["true"]]):
            server.fails("run_command", "'command' must be", command=command)
        for time in (-1, 1.5, -1.0, 1e300, "1s", None):
            server.fails("run_command", "'timeout_ms' must be", command=["true"], timeout_ms=time)
        for tool in ("run_command", "run_script", "read_file", "write_file", "list_directory", "check_path"):
            server.fails(tool, "is missing")
        for name in (None, 1, [], {}, "", "RUN_COMMAND", "run_command\n", "x" * 100000):
            has_code(server.request("tools/call", name=name, arguments={}), -32602)
        server.fails("run_command", "", command=["./absent"])
        server.fails("run_command", "", command=["true"], cwd="absent")
        for time in (2 ** 63 - 1, 9000.0, 9e15):
            server.works("run_command", command=["true"], timeout_ms=time)
        expect(server.call("run_command", command=["sleep", "600"], timeout_ms=100.0)["structuredContent"]["timed_out"] is True, "100.0")


def a_text_with_a_nul_in_it_is_refused_with_its_id(workspace):
    """It could be no argument; write_file takes base64."""
    with Mcp() as server:
        server.send(calling("write_file", 5, path="x", content="a\0b"))
        reply = server.reply()
        has_code(reply, -32700)
        expect(reply["id"] == 5 and "u0000" in reply["error"]["message"], reply)
        is_well(server)


# ---- too much ----

def a_line_of_a_hundred_megabytes_is_refused_and_not_kept(workspace):
    with Mcp() as server:
        is_well(server)
        before = server.memory()
        server.send_bytes(b'{"jsonrpc":"2.0","id":"long","method":"')
        for _ in range(100):
            server.send_bytes(b"x" * 1000000)
        server.send_bytes(b'"}\n')
        reply = server.reply()
        has_code(reply, -32600)
        expect(reply["id"] == "long", reply)
        is_well(server)
        grew_by_less_than(4096, server, before)


def a_thousand_calls_at_once_are_each_answered_once(workspace):
    with Mcp() as server:
        server.send(*(calling("run_command", number, command=["echo", str(number)]) for number in range(1000)))
        replies = [server.reply() for _ in range(1000)]
        is_well(server)
        expect(sorted(reply["id"] for reply in replies) == list(range(1000)), "not each of them")
        for reply in replies:
            check_result("run_command", reply["result"])
            expect(reply["result"]["structuredContent"]["stdout"] == f"{reply['id']}\n", reply)


def more_than_can_wait_are_told_so_and_the_others_run(workspace):
    count = PLACES + WAITING + 500
    with Mcp() as server:
        server.send(*(calling("run_script", number, script=waits_for("go")) for number in range(count)))
        busy = [server.reply() for _ in range(400)]
        for reply in busy:
            has_code(reply, -32000)
        is_well_among(server, busy)
        open("go", "w").close()
        replies = busy + [server.reply() for _ in range(count - len(busy))]
        expect(sorted(reply["id"] for reply in replies) == list(range(count)), "not each of them")
        done = [reply for reply in replies if "result" in reply]
        expect(len(done) >= WAITING and all(reply["result"]["isError"] is False for reply in done), len(done))
        is_well(server)


def is_well_among(server, replies):
    """It answers, whatever else it says before."""
    server.send({"jsonrpc": "2.0", "id": "among", "method": "ping"})
    while (reply := server.reply())["id"] != "among":
        replies.append(reply)


def who_does_not_read_fills_no_memory(workspace):
    """There is no more of it than the places hold: what was read, and what it becomes as a reply."""
    count = 400
    with open("large", "w") as file:
        file.write("x" * (1 << 20))
    with Mcp() as server:
        is_well(server)
        before = server.memory()
        server.send(*(calling("read_file", number, path="large", limit=1 << 20) for number in range(count)))
        eventually(lambda: server.memory() - before > 2048, "nothing is answered")
        for _ in range(50):
            server.send(calling("check_path", "more", access="read", path="large"))
        seen = [server.reply()["id"] for _ in range(count + 50)]
        grew_by_less_than(PLACES * 4 * 1024, server, before, "VmHWM")
        expect(sorted(number for number in seen if number != "more") == list(range(count)), "not each of them")


def requests_are_answered_while_all_places_are_taken(workspace):
    with Mcp() as server:
        server.send(*(calling("run_script", number, script=waits_for("go")) for number in range(PLACES)), calling("run_command", "waits", command=["true"]))
        for tool, arguments in (("check_path", {"access": "read", "path": "x"}), ("explain_policy", {})):
            expect(server.call(tool, "at once", **arguments)["isError"] is False, tool)
        is_well(server)
        open("go", "w").close()
        expect({server.reply()["id"] for _ in range(PLACES + 1)} == {*range(PLACES), "waits"}, "not each of them")


# ---- cancelling ----

def what_runs_and_what_waits_can_be_cancelled_at_any_time(workspace):
    words = [unique() for _ in range(PLACES + 10)]
    with Mcp() as server:
        server.send(*(calling("run_command", number, command=lasting(word)) for number, word in enumerate(words)))
        eventually(lambda: alive(words[0]), "it was not started")
        waits = range(PLACES, len(words))
        server.send(*(notice("cancelled", requestId=number) for number in waits))
        is_well(server)
        server.send(*(notice("cancelled", requestId=number) for number in list(range(PLACES)) * 2))
        eventually(lambda: not any(alive(word) for word in words), "something is still there")
        is_well(server)
        expect(server.call("run_command", 0, command=["true"])["isError"] is False, "the id cannot be used again")
        server.send(notice("cancelled", requestId=0))
        is_well(server)


def a_call_that_is_cancelled_in_the_same_breath_is_not_answered(workspace):
    with Mcp() as server:
        for _ in range(50):
            server.send(calling("run_command", command=["sleep", "600"]), notice("cancelled", requestId=1))
            is_well(server)
            eventually(lambda: "error" not in server.request("tools/call", name="check_path", arguments={"access": "read", "path": "x"}), "it is still there")


def progress_ends_with_the_cancellation(workspace):
    with Mcp() as server:
        server.send(calling("run_command", _meta={"progressToken": "t"}, command=["sh", "-c", "trap '' TERM; while :; do echo x; sleep 0.1; done"]))
        expect(server.reply()["method"] == "notifications/progress", "no progress")
        server.send(notice("cancelled", requestId=1))
        is_well_among(server, [])
        server.hang_up()
        expect(server.ends() == (0, [], ""), "more was said")


# ---- the end ----

def nothing_is_left_when_nobody_listens_any_more(workspace):
    for closed in ("stdout", "both"):
        word = unique()
        with Mcp() as server:
            server.send(*(calling("run_command", number, command=lasting(word)) for number in range(8)))
            eventually(lambda: len(alive(word)) >= 8, "they were not started")
            server.process.stdout.close()
            if closed == "both":
                server.process.stdin.close()
            expect(server.process.wait(60) == 0, closed)
            expect(not alive(word), f"{closed}: {alive(word)}")


def at_the_end_of_input_nothing_is_left_but_what_is_awaited(workspace):
    word = unique()
    with Mcp() as server:
        server.send(calling("run_command", command=["sh", "-c", waits_for("go"), word]))
        eventually(lambda: alive(word), "it was not started")
        server.hang_up()
        expect(alive(word), "it was not finished")
        open("go", "w").close()
        code, rest, complaint = server.ends()
        expect(code == 0 and len(rest) == 1 and rest[0]["result"]["isError"] is False and not complaint, rest)
        expect(not alive(word), "it is left")


def a_last_line_without_its_end_counts(workspace):
    done = subprocess.run([ABATIS, "mcp"], input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', capture_output=True, timeout=60)
    expect(done.returncode == 0 and json.loads(done.stdout)["result"] == {}, done)
    done = subprocess.run([ABATIS, "mcp"], input=b'{"jsonrpc":"2.0","id":1,"meth', capture_output=True, timeout=60)
    expect(done.returncode == 0, done)
    has_code(json.loads(done.stdout), -32700)


def before_the_first_call_nothing_is_made_or_started(workspace):
    """As the kernel saw it: a few files are read, and nothing else is touched."""
    asked = b"".join(json.dumps(line).encode() + b"\n" for line in (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": OLD[-1]}}, notice("initialized"),
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 3, "method": "server/discover", "params": meta()}))
    call = json.dumps(calling("run_command", command=["true"])).encode() + b"\n"
    touches = re.compile(r"\b(O_WRONLY|O_RDWR|O_CREAT|mkdir|mknod|unlink|rename|link|symlink|chmod|chown|truncate|utime|mount|clone|fork|socket|connect)")
    for lines, is_clean in ((asked, True), (asked + call, False)):
        done = subprocess.run(["strace", "-f", "-o", "trace", "-e", "trace=%file,%process,%network", ABATIS, "mcp"], input=lines, capture_output=True, timeout=60)
        with open("trace") as file:
            found = [line for line in file.read().replace("readlink", "").splitlines() if touches.search(line)]
        expect(done.returncode == 0 and done.stdout.count(b"\n") == lines.count(b"\n") - 1, done)
        expect((not found) is is_clean, found[:3])


main(facts_of(globals()))
