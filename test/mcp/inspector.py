"""abatis mcp as the Inspector's command line sees it, in both eras."""
import json
import os
import subprocess

from asking import NEW, OF_SKILLS, TOOLS, check_result, facts_of
from lib import ABATIS, PATIENCE, TOP, expect, main

INSPECTOR = f"{TOP}/inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ERAS = {"legacy": "2025-11-25", "auto": NEW, "modern": NEW}


def inspect(era, method, *flags):
    """Its exit code, the result, and what it complained of."""
    passed = ["-e", f"ASAN_OPTIONS={os.environ['ASAN_OPTIONS']}"] if "ASAN_OPTIONS" in os.environ else []
    done = subprocess.run([f"{TOP}/bin/node", INSPECTOR, "--cli", *passed, ABATIS, "mcp", "--protocol-era", era, "--format", "json", "--method", method, *flags],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    return done.returncode, json.loads(done.stdout)["result"] if done.stdout else None, done.stderr.decode()


def call(era, tool, **arguments):
    code, result, complaint = inspect(era, "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
    expect(result, complaint)
    check_result(tool, result)
    return code, result


def the_inspector_agrees_with_it_on_each_era(workspace):
    for era, revision in ERAS.items():
        code, result, complaint = inspect(era, "initialize")
        expect(code == 0 and result["protocolVersion"] == revision and result["serverInfo"]["name"] == "abatis", f"{era}: {result} {complaint}")


def the_inspector_finds_no_fault_with_the_schemas(workspace):
    for era in ERAS:
        code, result, complaint = inspect(era, "tools/list", "--strict")
        expect(code == 0 and not complaint and {tool["name"] for tool in result["tools"]} == TOOLS, f"{era}: {complaint}")


def the_inspector_calls_every_tool(workspace):
    calls = {"write_file": {"path": "new", "content": "text\n"}, "read_file": {"path": "new"}, "list_directory": {"path": "."},
             "run_command": {"command": ["cat", "new"]}, "run_script": {"script": "cat new"}, "check_path": {"access": "read", "path": "new"},
             "explain_policy": {}}
    expect(set(calls) == TOOLS - OF_SKILLS, set(calls))
    for era in ERAS:
        for tool, arguments in calls.items():
            code, result = call(era, tool, **arguments)
            expect(code == 0 and result["isError"] is False, f"{era} {tool}: {result}")
            if tool.startswith("run_"):
                expect(result["structuredContent"]["stdout"] == "text\n", result)
        with open("new") as file:
            expect(file.read() == "text\n", era)
        os.remove("new")


def the_inspector_is_told_that_something_failed(workspace):
    for era in ERAS:
        code, result = call(era, "run_command", command=["sh", "-c", "exit 7"])
        expect(code != 0 and result["isError"] is True and result["structuredContent"]["exit_code"] == 7, result)
        code, result = call(era, "read_file", path="absent")
        expect(code != 0 and result["isError"] is True and "No such file" in result["content"][0]["text"], result)
        code, result, complaint = inspect(era, "tools/call", "--tool-name", "nothing", "--tool-args-json", "{}")
        expect(code != 0 and not result and "nothing" in complaint, f"{era}: {result} {complaint}")


main(facts_of(globals()))
