"""Messages of MCP as they stand on the line: both eras, mistakes, tools and what they may do, cancellation, progress, the end."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile

from asking import NEW, OLD, PREFIX, OF_SKILLS, TOOLS, Mcp, calling, facts_of, has_code, meta, notice, schema_of, text_of
from lib import ABATIS, TOP, alive, eventually, expect, lasting, main, unique, waits_for

# ---- the era of the handshake ----

def a_client_of_each_old_revision_is_taken(workspace):
    with Mcp() as server:
        for revision in OLD:
            result = server.request("initialize", protocolVersion=revision, capabilities={}, clientInfo={"name": "t", "version": "1"})["result"]
            expect(result["protocolVersion"] == revision and result["serverInfo"]["name"] == "abatis" and "tools" in result["capabilities"], result)
            expect("resultType" not in result and "_meta" not in result, result)


def of_an_unknown_revision_the_last_of_the_era_is_offered(workspace):
    with Mcp() as server:
        for revision in ("1999-01-01", NEW, ""):
            expect(server.request("initialize", protocolVersion=revision)["result"]["protocolVersion"] == "2025-11-25", revision)
        has_code(server.request("initialize"), -32602)


def a_notification_is_not_answered(workspace):
    with Mcp() as server:
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "method": "notifications/nonsense"},
                    {"jsonrpc": "2.0", "id": 7, "result": {}})
        expect(server.request("ping", 9)["result"] == {}, "no pong")


# ---- the era without ----

def discover_tells_the_revision_and_who_answers(workspace):
    with Mcp() as server:
        result = server.request("server/discover", **meta())["result"]
        expect(result["resultType"] == "complete" and result["supportedVersions"] == [NEW] and "tools" in result["capabilities"], result)
        expect(result["_meta"][f"{PREFIX}serverInfo"]["name"] == "abatis", result)
        expect(isinstance(result["ttlMs"], int) and result["cacheScope"] in ("public", "private"), result)


def another_revision_is_refused_with_ours(workspace):
    with Mcp() as server:
        reply = server.request("tools/list", **meta(**{f"{PREFIX}protocolVersion": "2099-01-01"}))
        has_code(reply, -32022)
        expect(reply["error"]["data"] == {"supported": [NEW], "requested": "2099-01-01"}, reply)


def a_request_must_say_what_its_client_can(workspace):
    with Mcp() as server:
        has_code(server.request("tools/list", _meta={f"{PREFIX}protocolVersion": NEW}), -32602)
        has_code(server.request("server/discover"), -32602)
        expect("result" in server.request("tools/list", **meta()), "the control")


def what_an_era_does_not_have_is_no_method(workspace):
    with Mcp() as server:
        for method in ("initialize", "ping"):
            has_code(server.request(method, protocolVersion=OLD[0], **meta()), -32601)
        has_code(server.request("resources/list"), -32601)
        has_code(server.request("resources/list", **meta()), -32601)


def both_eras_may_come_to_one_process(workspace):
    with Mcp() as server:
        expect(server.call("run_command", _new=True, command=["echo", "a"])["resultType"] == "complete", "new")
        expect("resultType" not in server.call("run_command", command=["echo", "a"]), "old")
        expect("ttlMs" in server.request("tools/list", **meta())["result"], "new list")
        expect("ttlMs" not in server.request("tools/list")["result"], "old list")


# ---- mistakes ----

def mistakes_are_told_and_the_server_goes_on(workspace):
    cases = [(b"{", -32700, None), (b"", -32700, None), (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, None),
             (b"[]", -32600, None), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None), (b'{"id":1,"method":"ping"}', -32600, 1),
             (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None), (b'{"jsonrpc":"2.0","id":"x"}', -32600, "x"),
             (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', -32602, 3), (b'{"jsonrpc":"2.0","id":4,"method":"pong"}', -32601, 4),
             (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nothing"}}', -32602, 5),
             (b'{"jsonrpc":"2.0","id":6,"method":"tools/call"}', -32602, 6), (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', -32700, 7)]
    with Mcp() as server:
        for line, code, number in cases:
            server.send_bytes(line + b"\n")
            reply = server.reply()
            has_code(reply, code)
            expect(reply["id"] == number, f"{line}: {reply}")
        expect(server.request("ping")["result"] == {}, "it is gone")


def a_line_that_is_too_long_is_refused(workspace):
    with Mcp() as server:
        server.send_bytes(b'{"jsonrpc":"2.0","id":"long","method":"' + b"x" * (8 << 20) + b'"}\n')
        reply = server.reply()
        has_code(reply, -32600)
        expect(reply["id"] == "long", reply)
        expect(server.request("ping")["result"] == {}, "it is gone")


def wrong_arguments_are_a_result_that_a_model_can_read(workspace):
    with Mcp() as server:
        server.fails("run_command", "'command' is missing")
        server.fails("run_command", "'command' must be", command="ls")
        server.fails("run_command", "did you mean 'command'", comand=["ls"])
        server.fails("run_command", "unknown argument", command=["true"], preset="guard")
        server.fails("write_file", "one of 'content' and 'content_base64'", path="x")
        server.fails("write_file", "one of 'content' and 'content_base64'", path="x", content="", content_base64="")
        server.fails("run_script", "'interpreter' must be", script="x", interpreter="awk")
        server.fails("run_skill", "no skill 'x'", skill="x")
        server.works("run_command", command=["true"])


# ---- what is offered ----

def every_tool_says_what_it_takes_gives_and_does(workspace):
    with Mcp() as server:
        tools = {tool["name"]: tool for tool in server.request("tools/list")["result"]["tools"]}
        expect(set(tools) == TOOLS, set(tools))
        for name, tool in tools.items():
            expect(tool["description"] and tool["title"] and tool["inputSchema"]["additionalProperties"] is False, name)
            expect(tool["outputSchema"]["type"] == "object", name)
            expect(set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"]), name)
            reads = name in ("read_file", "list_directory", "check_path", "explain_policy")
            expect(tool["annotations"]["readOnlyHint"] is reads and tool["annotations"].get("destructiveHint", False) is not reads, name)


def every_result_is_what_the_output_schema_says(workspace):
    """Others are held against it, too, wherever a tool is called."""
    open("file", "w").close()
    calls = {"run_command": {"command": ["true"]}, "run_script": {"script": "true"}, "read_file": {"path": "file"},
             "write_file": {"path": "new", "content": "x"}, "list_directory": {"path": "."}, "check_path": {"access": "read", "path": "file"},
             "explain_policy": {}}
    with Mcp() as server:
        for tool in TOOLS - OF_SKILLS:
            structure = server.works(tool, **calls[tool])
            for key in schema_of(tool).schema.get("required", []):
                broken = {name: value for name, value in structure.items() if name != key}
                expect(not schema_of(tool).is_valid(broken), f"{tool}: the control, without {key}")


# ---- commands ----

def a_command_gives_its_output_and_its_end(workspace):
    with Mcp() as server:
        result = server.call("run_command", command=["sh", "-c", "cat; echo oops >&2; exit 3"], stdin="hello\n")
        expect(result["isError"] is True, result)
        structure = result["structuredContent"]
        expect((structure["exit_code"], structure["stdout"], structure["stderr"]) == (3, "hello\n", "oops\n"), structure)
        expect(all(word in text_of(result) for word in ("hello", "oops", "exit code 3")), text_of(result))


def a_script_has_its_interpreter_and_arguments(workspace):
    with Mcp() as server:
        expect(server.works("run_script", script='echo "$1-$2"', args=["a", "-b"])["stdout"] == "a--b\n", "sh")
        expect(server.call("run_script", script="-x")["structuredContent"]["exit_code"] == 127, "a script was taken for a flag")
        for interpreter, script, seen in (("bash", 'echo "$0 $1"', "bash -x\n"), ("python3", "import sys; print(sys.argv[1:])", "['-x']\n"),
                                          ("perl", "print $ARGV[0]", "-x")):
            expect(server.works("run_script", script=script, interpreter=interpreter, args=["-x"])["stdout"] == seen, interpreter)


def bytes_that_are_no_text_are_in_the_structure(workspace):
    with Mcp() as server:
        result = server.call("run_command", command=["printf", r"\377\376"])
        expect(base64.b64decode(result["structuredContent"]["stdout_base64"]) == b"\xff\xfe" and "no text" in text_of(result), result)


def a_call_can_shorten_the_time_and_not_lengthen_it(workspace):
    with Mcp("--timeout", "1s") as server:
        for wanted in (100, 600 * 1000):
            structure = server.call("run_command", command=["sleep", "600"], timeout_ms=wanted)["structuredContent"]
            expect(structure["timed_out"] and structure["limit"] == "limits.timeout", structure)


def the_directory_of_a_call_does_not_move_the_workspace(workspace):
    other = f"{TOP}/scratch/{unique()}"
    os.mkdir(other)
    with Mcp() as server:
        script = f"echo x > {other}/x"
        expect(server.call("run_script", script=script, cwd=other)["isError"] is True and not os.path.exists(f"{other}/x"), "written")
        server.works("run_script", script="echo x > x")
    with Mcp("--workspace", other) as server:
        server.works("run_script", script=script)
        expect(os.path.exists(f"{other}/x"), "the control")
    os.remove(f"{other}/x")
    os.rmdir(other)


# ---- files ----

def files_are_written_read_and_listed(workspace):
    with Mcp() as server:
        expect(server.works("write_file", path="a", content="eins\n")["size"] == 5, "write")
        expect(server.works("write_file", path=f"{workspace}/a", content="zwei\n", mode="append")["size"] == 10, "append")
        expect(server.works("read_file", path="a")["content"] == "eins\nzwei\n", "read")
        server.fails("write_file", "File exists", path="a", content="", mode="create")
        server.works("write_file", path="b", content_base64=base64.b64encode(b"\0\xff").decode(), mode="create")
        expect(base64.b64decode(server.works("read_file", path="b")["content_base64"]) == b"\0\xff", "bytes")
        os.mkdir("d")
        os.symlink("nowhere", "l")
        entries = server.works("list_directory", path=".")["entries"]
        expect([(e["name"], e["type"], e.get("size")) for e in entries] ==
               [("a", "file", 10), ("b", "file", 2), ("d", "directory", None), ("l", "link", None)], entries)
    with open("a") as file:
        expect(file.read() == "eins\nzwei\n", "not what was written")


def a_large_file_is_read_in_parts_that_divide_no_character(workspace):
    text = "ä€𝄞x" * 5000
    with open("large", "w") as file:
        file.write(text)
    with Mcp() as server:
        got, offset = "", 0
        while True:
            part = server.works("read_file", path="large", offset=offset, limit=1001)
            got, offset = got + part["content"], offset + part["bytes"]
            if not part["has_more"]:
                break
        expect(got == text and part["size"] == len(text.encode()), f"{len(got)} of {len(text)}")


def what_is_no_file_is_refused(workspace):
    os.mkfifo("pipe")
    with Mcp() as server:
        server.fails("read_file", "not a file", path="pipe")
        server.fails("read_file", "directory", path=".")
        server.fails("read_file", "No such file", path="absent")
        server.fails("list_directory", "Not a directory", path="pipe")


def what_is_denied_is_out_of_reach_of_every_tool(workspace):
    secret, outside = f"{workspace}/secret", f"{TOP}/scratch/{unique()}"
    for path in (secret, outside):
        with open(path, "w") as file:
            file.write("s3cret")
    os.symlink(secret, "link")
    for flags, expected in ((["--deny", secret], False), ([], True)):
        with Mcp(*flags) as server:
            for path in (secret, "secret", "link"):
                seen = [server.call("read_file", path=path), server.call("run_command", command=["cat", path])]
                for result in seen:
                    expect(("s3cret" in json.dumps(result)) is expected and result["isError"] is not expected, f"{flags} {path}: {result}")
            expect(server.works("check_path", access="read", path="secret")["allowed"] is expected, flags)
            result = server.call("write_file", path="link", content="s3cret")
            expect(result["isError"] is not expected, result)
    with Mcp() as server:
        expect(server.call("write_file", path=outside, content="changed")["isError"] is True, "written outside")
    with Mcp("--write", outside) as server:
        server.works("write_file", path=outside, content="changed")
    with open(outside) as file:
        expect(file.read() == "changed", "the control")
    os.remove(outside)


def tools_for_files_work_where_hardly_anything_may_start(workspace):
    for flags in (["--preset", "strict"], ["--command", "true"]):
        with Mcp(*flags) as server:
            server.works("write_file", path="x", content="y")
            expect(server.works("read_file", path="x")["content"] == "y", flags)
    with Mcp("--command", "true") as server:
        expect(server.call("run_command", command=["cat", "x"])["isError"] is True, "cat was started")
        server.works("run_command", command=["true"])


def wherever_it_was_started_from_the_workspace_is_the_flag(workspace):
    """And not where a program of the same name may have been put."""
    other = f"{TOP}/scratch/{unique()}"
    os.mkdir(other)
    for name in ("abatis", "bin/abatis"):
        os.makedirs(os.path.dirname(f"{other}/{name}"), exist_ok=True)
        with open(f"{other}/{name}", "w") as file:
            file.write("#!/bin/sh\necho '{\"path\":\"fake\"}' >&2\n")
        os.chmod(f"{other}/{name}", 0o755)
    for where, name in ((f"{TOP}/bin", "./abatis"), (TOP, "bin/abatis")):
        with Mcp("--workspace", other, cwd=where, executable=name) as server:
            server.works("write_file", path="file", content="text")
            expect(server.works("read_file", path="file")["content"] == "text", name)
    with open(f"{other}/file") as file:
        expect(file.read() == "text", "it is elsewhere")
    shutil.rmtree(other)


def a_private_tmp_does_not_hide_it_from_its_tools(workspace):
    place = tempfile.mkdtemp(dir="/tmp")
    try:
        shutil.copy(ABATIS, place)
        with Mcp(executable=f"{place}/abatis") as server:
            expect(server.works("run_command", command=["ls", "/tmp"])["stdout"] == "", "/tmp is not private")
            server.works("write_file", path="x", content="y")
            expect(server.works("read_file", path="x")["content"] == "y", "read")
    finally:
        shutil.rmtree(place)


def no_call_gives_the_next_one_more(workspace):
    outside = f"{TOP}/scratch/{unique()}"
    more = json.dumps({"filesystem": {"write": ["/"], "read": ["/"]}, "network": {"mode": "allow"}, "limits": {"timeout": "none"}})
    for tool, write in (("write_file", {"path": ".abatis.yaml", "content": more}), ("run_script", {"script": f"printf %s '{more}' > .abatis.yaml"})):
        with Mcp() as server:
            result = server.call(tool, **write)
            expect((result["isError"] or result["structuredContent"]["exit_code"]) and not os.path.exists(".abatis.yaml"), f"{tool}: {result}")
    with open(".abatis.yaml", "w") as file:
        file.write(more)
    with Mcp() as server: # of a project that nobody trusts
        expect(server.call("write_file", path=outside, content="x")["isError"] is True and not os.path.exists(outside), "it has more")
    os.remove(".abatis.yaml")
    with Mcp("--write", os.path.dirname(outside)) as server:
        server.works("write_file", path=outside, content="x")
    os.remove(outside)


# ---- many, and the end ----

def what_is_cancelled_ends_and_is_not_answered(workspace):
    word = unique()
    with Mcp() as server:
        server.send(calling("run_command", command=lasting(word)))
        eventually(lambda: alive(word), "it was not started")
        server.send(notice("cancelled", requestId=1, reason="changed my mind"), notice("cancelled", requestId=99))
        eventually(lambda: not alive(word), "it is still there")
        expect(server.request("ping", 2)["result"] == {}, "it was answered")
        server.hang_up()
        expect(server.ends() == (0, [], ""), "an answer came")


def an_id_that_is_not_answered_yet_is_refused(workspace):
    with Mcp() as server:
        call = calling("run_script", script=waits_for("go"))
        server.send(call, call)
        has_code(server.reply(), -32600)
        open("go", "w").close()
        expect(server.reply()["result"]["isError"] is False, "the first")


def results_come_as_they_finish(workspace):
    with Mcp() as server:
        for number, script in (("slow", waits_for("go")), ("fast", "true")):
            server.send(calling("run_script", number, script=script))
        expect(server.reply()["id"] == "fast", "the slow one was first")
        open("go", "w").close()
        expect(server.reply()["id"] == "slow", "the slow one did not end")


def progress_is_told_to_who_asks_for_it(workspace):
    with Mcp() as server:
        for token in ("token", 5):
            server.send(calling("run_script", _meta={"progressToken": token}, script="echo one; echo two; " + waits_for(f"go-{token}")))
            seen = [server.reply()["params"], server.reply()["params"]]
            open(f"go-{token}", "w").close()
            expect(all(told["progressToken"] == token and told["message"] == "two" and told["total"] == 30 for told in seen), seen)
            expect(0 < seen[0]["progress"] < seen[1]["progress"], seen)
            reply = server.reply()
            while "id" not in reply:
                reply = server.reply()
            expect(reply["result"]["isError"] is False, reply)


def at_the_end_of_input_what_was_asked_is_finished(workspace):
    call = calling("run_command", command=["echo", "x"])
    done = subprocess.run([ABATIS, "mcp"], input=json.dumps(call).encode() + b"\n", capture_output=True, timeout=60)
    expect(done.returncode == 0 and json.loads(done.stdout)["result"]["structuredContent"]["stdout"] == "x\n" and not done.stderr, done)
    done = subprocess.run([ABATIS, "mcp"], input=b"", capture_output=True, timeout=60)
    expect((done.returncode, done.stdout, done.stderr) == (0, b"", b""), done)


def nothing_is_left_when_it_is_told_to_end_or_killed(workspace):
    for number in (signal.SIGTERM, signal.SIGKILL):
        word = unique()
        with Mcp() as server:
            server.send(calling("run_command", command=lasting(word)))
            eventually(lambda: alive(word), "it was not started")
            server.process.send_signal(number)
            eventually(lambda: not alive(word), f"something is left after {number}")


def its_start_leaves_nothing_behind(workspace):
    """No file, no process: those come with the first call."""
    before = sorted(os.listdir(os.environ["HOME"]))
    with Mcp() as server:
        server.request("initialize", protocolVersion=OLD[-1])
        server.request("tools/list")
        expect(not server.children(), server.children())
    expect(sorted(os.listdir(os.environ["HOME"])) == before and not os.listdir("."), "something was written")


def wrong_flags_are_refused_before_anything_is_said(workspace):
    for flags in (["--workspace", "/nowhere"], ["--socket", "x"], ["word"]):
        done = subprocess.run([ABATIS, "mcp", *flags], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        expect(done.returncode == 125 and not done.stdout and done.stderr.count(b"\n") == 1, f"{flags}: {done}")


main(facts_of(globals()))
