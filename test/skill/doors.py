"""Modules by exec-request and serve, and what is refused before any engine sees it."""
import json
import os
import subprocess

from lib import ABATIS, Server, expect, main
from skills import MODULES, engines, module, read, refused, skill, write


def exec_request(**request):
    done = subprocess.run([ABATIS, "exec-request"], input=json.dumps(request).encode(), capture_output=True, timeout=100)
    expect(done.returncode == 0, str(done))
    return json.loads(done.stdout)


def exec_request_runs_a_module(workspace):
    write(f"{workspace}/in/text", "text\n")
    response = exec_request(wasm=module("hello"), input={"name": "you"})
    expect(response["success"] and json.loads(response["output"])["greeting"].startswith("hello"), str(response))
    expect(response["tier"] == "untrusted" and "process.system_calls few" in response["enforced"], str(response))
    response = exec_request(wasm=module("files"), args=["read", f"{workspace}/in/text"], read=[f"{workspace}/in"])
    expect(response["success"] and response["output"] == "text\n", str(response))
    response = exec_request(wasm=module("files"), args=["read", f"{workspace}/in/text"])
    expect(not response["success"] and response["exit_code"] == 1, str(response))
    response = exec_request(wasm=module("loop"), limits={"timeout": "1s"})
    expect(not response["success"] and response["timed_out"], str(response))


def exec_request_gives_no_network_to_an_untrusted_module(_):
    response = exec_request(wasm=module("hello"), network=True)
    expect(not response["success"] and "untrusted" in response["error"]["message"], str(response))
    response = exec_request(wasm=module("hello"), tier="verified", network=True)
    expect(response["success"], str(response))


def serve_runs_modules_beside_commands(workspace):
    with Server() as server:
        server.send(*({"id": number, "method": "skill", "skill": module("hello"), "input": {"name": str(number)}} for number in range(10)),
                    {"id": "run", "method": "run", "command": ["true"]}, {"id": "bad", "method": "skill", "skill": module("forbidden")},
                    {"id": "loop", "method": "skill", "skill": module("loop")}, {"id": "name", "method": "skill", "skill": "no-such"})
        replies = {}
        while len(replies) < 13:
            reply = server.reply()
            replies[reply["id"]] = reply
        for number in range(10):
            expect(json.loads(replies[number]["result"]["stdout"])["greeting"].startswith("hello"), str(replies[number]))
        expect(replies["run"]["result"]["exit_code"] == 0, str(replies["run"]))
        expect("env.system" in replies["bad"]["error"]["message"], str(replies["bad"]))
        expect("error" in replies["name"], str(replies["name"]))
        server.send({"id": "stop", "method": "cancel", "target": "loop"})
        while "loop" not in replies:
            reply = server.reply()
            replies[reply["id"]] = reply
        expect(replies["loop"]["result"]["cancelled"], str(replies["loop"]))


MANIFEST = """name: {name}
version: "1"
description: Greets.
module: m.wasm
input: {{type: object, properties: {{name: {{type: string}}}}, required: [name]}}
output: {{type: object, properties: {{greeting: {{type: string}}, bytes: {{type: integer}}}}, required: [greeting]}}
{more}"""


def install(workspace, name, source, more="", *flags):
    write(f"{workspace}/{name}/skill.yaml", MANIFEST.format(name=name, more=more))
    with open(f"{workspace}/{name}/m.wasm", "wb") as file:
        file.write(read(module(source)))
    subprocess.run([ABATIS, "skill", "install", "--force", *flags, f"./{name}"], check=True, capture_output=True, timeout=60, cwd=workspace)


class Tools(Server):
    verb = "mcp"

    def call(self, method, **params):
        reply = self.ask(jsonrpc="2.0", id=1, method=method, params=params)
        return reply.get("result") or reply

    def tool(self, tool, /, **arguments):
        return self.call("tools/call", name=tool, arguments=arguments)


def installed_skills_are_tools(workspace):
    install(workspace, "greet", "hello")
    install(workspace, "run_command", "hello")
    install(workspace, "looper", "loop", "policy: {limits: {timeout: 1s}}\n")
    with Tools() as server:
        tools = {tool["name"]: tool for tool in server.call("tools/list")["tools"]}
        expect(tools["greet"]["description"] == "Greets." and tools["greet"]["inputSchema"]["required"] == ["name"], str(tools.get("greet")))
        expect(tools["greet"]["outputSchema"]["required"] == ["greeting"], str(tools["greet"]))
        expect(len([tool for tool in tools if tool == "run_command"]) == 1 and "command" in tools["run_command"]["inputSchema"]["properties"],
               "a skill has taken the place of a tool")
        result = server.tool("greet", name="you")
        expect(result["structuredContent"] == {"greeting": "hello you", "bytes": 14} and not result["isError"], str(result))
        expect(json.loads(result["content"][0]["text"]) == result["structuredContent"], str(result))
        result = server.tool("run_skill", skill="greet", input={"name": "me"})
        expect("hello me" in result["structuredContent"]["stdout"] and "process.system_calls few" in result["structuredContent"]["enforced"], str(result))
        result = server.tool("looper")
        expect(result["isError"] and "limits.timeout" in json.dumps(result["content"]), str(result))
        for name in (f"{MODULES}/hello.wasm", "./greet", "hello.wasm", "nobody"):
            result = server.tool("run_skill", skill=name)
            expect(result["isError"] and "no skill" in result["content"][0]["text"], f"{name}: {result}")
            expect("error" in server.tool(name), name)
        # What was changed since is refused, by name.
        changed = f"{os.environ['HOME']}/.local/share/abatis/skills/greet/module.wasm"
        os.chmod(changed, 0o600)
        with open(changed, "ab") as file:
            file.write(b"x")
        os.chmod(changed, 0o400)
        result = server.tool("greet", name="you")
        expect(result["isError"] and "changed" in result["content"][0]["text"], str(result))
        expect("greet" not in [tool["name"] for tool in server.call("tools/list")["tools"]], "what was changed is offered")


def an_installed_skill_gets_what_its_manifest_asks_for_and_its_tier_allows(workspace):
    os.mkdir(f"{workspace}/data")
    write(f"{workspace}/data/text", "text\n")
    ask = f"policy: {{filesystem: {{read: ['{workspace}/data']}}}}\n"
    install(workspace, "reader", "files", ask)
    done = subprocess.run([ABATIS, "skill", "run", "reader", "read", f"{workspace}/data/text"], capture_output=True, timeout=100)
    expect(done.returncode == 0 and done.stdout == b"text\n", str(done))
    # A file of that name here is not it, and a directory that nobody has installed gets nothing that it asks for.
    write(f"{workspace}/reader.d/reader", "")
    done = subprocess.run([ABATIS, "skill", "run", "reader", "read", f"{workspace}/data/text"], capture_output=True, timeout=100, cwd=f"{workspace}/reader.d")
    expect(done.returncode == 0, str(done))
    refused("install it", "./reader", "read", f"{workspace}/data/text", cwd=workspace)
    refused("grants the tier local", "--tier", "local", "reader")
    for more, word in (("process: {system_calls: usual}", "system_calls"), ("process: {fork: true}", "fork"), ("network: {mode: allow}", "network"),
                       ("filesystem: {read: [all]}", "filesystem.read all"), ("process: {commands: [sh]}", "process.commands")):
        install(workspace, "greedy", "hello", f"policy: {{{more}}}\n")
        refused(word, "greedy")
    install(workspace, "greedy", "hello")
    expect(subprocess.run([ABATIS, "skill", "run", "greedy"], capture_output=True, timeout=100, stdin=subprocess.DEVNULL).returncode == 0, "the control")


def what_is_no_module_is_refused(workspace):
    for name in sorted(os.listdir(f"{MODULES}/broken")):
        refused("byte", f"{MODULES}/broken/{name}")
    for name in ("memory64", "shared", "memories"):
        refused("byte", module(name))
    refused("table", module("table"))
    refused("env.system", module("forbidden"))
    refused("no module", f"{workspace}/absent.wasm", code=127)
    refused("skill.yaml", workspace, code=127)
    os.mkfifo(f"{workspace}/fifo")
    refused("regular file", f"{workspace}/fifo")
    expect(skill(None, "hello").returncode == 0, "the control")


def an_import_is_allowed_by_name(_):
    """Our reader lets it pass; the engine then has no such function."""
    refused("env.system", "--import", "env.other", module("forbidden"))
    done = subprocess.run([ABATIS, "skill", "run", "--engine", "wazero-interpreter", "--import", "env.system", module("forbidden")],
                          capture_output=True, timeout=100, stdin=subprocess.DEVNULL)
    expect(done.returncode == 1 and b"env" in done.stderr and not done.stderr.startswith(b"abatis:"), str(done))


def flags_that_contradict_a_tier_are_refused(workspace):
    refused("network", "--net", "allow", module("hello"))
    refused("policy of its own", "--preset", "dev", module("hello"))
    refused("local, verified and untrusted", "--tier", "trusted", module("hello"))
    refused("is no engine", "--engine", "wazzero", module("hello"))
    refused("64-bit, shared and memories", "--allow", "threads", module("hello"))
    refused("is none", "--read", module("hello"), module("hello"))
    refused("no module given")
    expect(skill(None, "hello", flags=["--tier", "local", "--preset", "skill"]).returncode == 0, "the control")


def an_engine_that_others_can_change_is_not_run(workspace):
    os.mkdir(f"{workspace}/bin")
    for name in ("wazero", "node", "wasmtime", "iwasm", "wasmedge"):
        write(f"{workspace}/bin/{name}", "#!/bin/sh\necho planted\n")
        os.chmod(f"{workspace}/bin/{name}", 0o777)
    done = skill(None, "hello", env={**os.environ, "PATH": f"{workspace}/bin:{os.environ['PATH']}"})
    expect(done.returncode == 0 and b"planted" not in done.stdout, str(done))
    refused("no engine", module("hello"), env={**os.environ, "PATH": f"{workspace}/bin"}, code=127)
    os.chmod(f"{workspace}/bin/wazero", 0o755)
    refused("is a script", module("hello"), env={**os.environ, "PATH": f"{workspace}/bin"})


def a_module_that_changes_after_it_was_read_is_run_as_it_was_read(workspace):
    """The engine gets a copy: the store's. Here the file is gone before the engine starts."""
    path = f"{workspace}/module.wasm"
    write(path)
    with open(path, "wb") as file:
        file.write(read(module("hello")))
    with Server() as server:
        server.send({"id": 1, "method": "skill", "skill": path, "input": {}, "engine": "wazero-interpreter"})
        reply = server.reply()
        argv = reply["result"]["argv"]
    expect(not any(word == path for word in argv) and any("/modules/" in word for word in argv), str(argv))


def doctor_shows_the_engines(_):
    done = subprocess.run([ABATIS, "doctor", "--json"], capture_output=True, timeout=60)
    report = json.loads(done.stdout)["engines"]
    expect({engine["engine"] for engine in report if engine["available"]} == set(engines()), str(report))
    for engine in report:
        expect(bool(engine["version"]) == engine["available"] and bool(engine["reason"]) != engine["available"], str(engine))
    text = subprocess.run([ABATIS, "doctor"], capture_output=True, timeout=60).stdout.decode()
    expect("engines for WebAssembly" in text and "executable memory: W^X" in text, text)


def the_audit_log_has_it(workspace):
    log = f"{workspace}/audit.jsonl"
    done = skill("wazero-interpreter", "hello", flags=["--audit-log", log, "--context", "session 7"])
    expect(done.returncode == 0, str(done))
    lines = [json.loads(line) for line in read(log).decode().splitlines()]
    expect(any("hello.wasm" in json.dumps(line) and "session 7" in json.dumps(line) for line in lines), str(lines)[:400])


main([installed_skills_are_tools, an_installed_skill_gets_what_its_manifest_asks_for_and_its_tier_allows, exec_request_runs_a_module, exec_request_gives_no_network_to_an_untrusted_module, serve_runs_modules_beside_commands, what_is_no_module_is_refused,
      an_import_is_allowed_by_name, flags_that_contradict_a_tier_are_refused, an_engine_that_others_can_change_is_not_run,
      a_module_that_changes_after_it_was_read_is_run_as_it_was_read, doctor_shows_the_engines, the_audit_log_has_it])
