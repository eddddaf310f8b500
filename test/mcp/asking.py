"""A client of abatis mcp that sees every message as it stands on the line, and holds every result against its schema."""
import json
import subprocess

import jsonschema

from lib import ABATIS, Server, expect

OLD = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
NEW = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
TOOLS = {"run_command", "run_script", "read_file", "write_file", "list_directory", "check_path", "explain_policy", "run_skill"}
OF_SKILLS = {"run_skill"}  # which need one that is installed: test/skill calls them
schemas = {}


def meta(**keys):
    return {"_meta": {f"{PREFIX}protocolVersion": NEW, f"{PREFIX}clientCapabilities": {}, **keys}}


def calling(tool, number=1, _meta=None, **arguments):
    """The request that calls a tool."""
    params = {"name": tool, "arguments": arguments, **({"_meta": _meta} if _meta else {})}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def notice(method, **params):
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def schema_of(tool):
    """What a tool says that its results are."""
    if not schemas:
        done = subprocess.run([ABATIS, "mcp"], input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', capture_output=True, timeout=60, check=True)
        for item in json.loads(done.stdout)["result"]["tools"]:
            jsonschema.Draft202012Validator.check_schema(item["inputSchema"])
            jsonschema.Draft202012Validator.check_schema(item["outputSchema"])
            schemas[item["name"]] = jsonschema.Draft202012Validator(item["outputSchema"])
    return schemas[tool]


def check_result(tool, result):
    """Text for people always; a structure always when it went well, and as it was promised whenever there is one."""
    expect(result["content"] and all(block["type"] == "text" for block in result["content"]), result)
    expect(result["isError"] or "structuredContent" in result, result)
    if "structuredContent" in result:
        wrong = [error.message for error in schema_of(tool).iter_errors(result["structuredContent"])]
        expect(not wrong, f"{tool}: {wrong}")


def text_of(result):
    return "\n".join(block["text"] for block in result["content"])


def has_code(reply, code):
    expect("result" not in reply and reply.get("error", {}).get("code") == code and reply["error"]["message"], f"{code}: {reply}")


def facts_of(names):
    """The tests of a module: its functions that take a workspace."""
    return [value for value in names.values() if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",)]


class Mcp(Server):
    """A server that is asked by tools' names."""
    verb = "mcp"

    def request(self, method, number=1, **params):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        reply = self.reply()
        expect(reply.get("jsonrpc") == "2.0" and reply.get("id") == number, reply)
        return reply

    def call(self, tool, number=1, _new=False, **arguments):
        reply = self.request("tools/call", number, name=tool, arguments=arguments, **(meta() if _new else {}))
        expect("result" in reply, reply)
        check_result(tool, reply["result"])
        return reply["result"]

    def works(self, tool, **arguments):
        result = self.call(tool, **arguments)
        expect(result["isError"] is False, result)
        return result["structuredContent"]

    def fails(self, tool, word, **arguments):
        result = self.call(tool, **arguments)
        expect(result["isError"] is True and word in text_of(result), f"{word}: {result}")
        return result
