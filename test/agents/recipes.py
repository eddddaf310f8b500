"""recipes.py: what docs/agents tells people to paste is pasted here, and run: with the real agents and libraries, and model.py for their models.

RECIPES_TOP has bin/, docs/, clients/ and, where they could be had, cli/ and sdk/; MODE says what there is of namespaces. Every block of the pages is
used by a test, or the last test fails.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.environ["RECIPES_TOP"]
MODE = os.environ["MODE"]
BIN, CLI, SDK = TOP + "/bin", TOP + "/cli/node_modules", TOP + "/sdk"
NODE = os.environ.get("NODE", "")
HOME = TOP + "/home"
WS = HOME + "/my-project"
KEY = "secret-of-ssh"
ATTEMPT = f"cat {HOME}/.ssh/id; touch {HOME}/here; echo made > made; pwd"
sys.path[:0] = [TOP + "/test", TOP + "/clients/python"]
from model import Model  # noqa: E402

used = set()


def blocks_of(page):
    text = open(f"{TOP}/docs/{page}.md").read()
    return {name: (language, body) for language, name, body in re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, re.M | re.S)}


def block(page, name):
    used.add((page, name))
    return blocks_of(page)[name][1].replace("/home/you/my-project", WS)


def fresh():
    shutil.rmtree(HOME, ignore_errors=True)
    os.makedirs(WS)
    put(HOME + "/.ssh/id", KEY + "\n")
    put(WS + "/f", "content\n")
    put(WS + "/Makefile", "test:\n\t@echo tested\n")
    subprocess.run(["git", "init", "-q", WS], check=True)


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def environment(**more):
    return {"PATH": f"{BIN}:{os.path.dirname(NODE)}:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "ABATIS": BIN + "/abatis", **more}


def run(argv, code=0, **more):
    result = subprocess.run(argv, cwd=WS, env=environment(**more), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if code is not None and result.returncode != code:
        raise AssertionError(f"{argv[-1][:200]}: exit {result.returncode}: {result.stdout[-300:]} {result.stderr[-700:]}")
    return result


def script(text, **more):
    """As somebody types it, who has his shell stop at the first mistake."""
    return run(["/bin/bash", "-ec", text], **more)


class Recipe(unittest.TestCase):
    def setUp(self):
        fresh()

    def needs(self, path, what):
        if not NODE or not glob.glob(path):
            self.skipTest(f"{what} could not be had")

    def kept(self, text):
        """The key was asked for and not read, and the home is as it was; in the project it worked."""
        self.assertNotIn(KEY, text)
        self.assertIn("Permission denied", text)
        self.assertFalse(os.path.exists(HOME + "/here"))
        self.assertTrue(os.path.exists(WS + "/made"))

    def serves(self, command, *arguments):
        """An MCP server that answers, and whose tools are in the sandbox."""
        ask = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
               {"jsonrpc": "2.0", "method": "notifications/initialized"},
               {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run_command", "arguments": {"command": ["/bin/sh", "-c", ATTEMPT]}}}]
        with tempfile.TemporaryFile("w+") as lines:
            lines.write("".join(json.dumps(line) + "\n" for line in ask))
            lines.seek(0)
            result = subprocess.run([command, *arguments], cwd=HOME, env=environment(), stdin=lines, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.kept(result.stdout)

    def serves_all(self, servers):
        for server in servers.values():
            self.serves(server["command"], *server["args"])


class Pages(Recipe):
    def test_the_shell(self):
        result = script(block("README", "shell"))
        self.assertEqual(result.stdout, "tested\nargument\ntested\n")

    def test_vscode(self):
        settings = json.loads(block("vscode", "settings"))
        for value in (settings["terminal.integrated.profiles.linux"]["abatis"], settings["terminal.integrated.automationProfile.linux"],
                      settings["chat.tools.terminal.terminalProfile.linux"]):
            more = {name: text.replace("${workspaceFolder}", WS) for name, text in settings["terminal.integrated.env.linux"].items()}
            self.kept(str(run([value["path"], "-c", ATTEMPT], **more)))
        self.assertEqual(settings["terminal.integrated.defaultProfile.linux"], "abatis")
        self.serves_all(json.loads(block("vscode", "mcp"))["servers"])

    def test_cursor(self):
        self.serves_all(json.loads(block("cursor", "mcp"))["mcpServers"])
        # It is not on npm: what stands for it does what it could.
        put(TOP + "/scratch/cursor-agent", f"#!/bin/sh\n{ATTEMPT}\n")
        os.chmod(TOP + "/scratch/cursor-agent", 0o755)
        self.assertIn(KEY, run([TOP + "/scratch/cursor-agent"]).stdout)
        fresh()
        result = script(block("cursor", "whole"), PATH=TOP + "/scratch:" + environment()["PATH"])
        self.kept(result.stdout + result.stderr)


class ClaudeCode(Recipe):
    calls = [["Bash", {"command": ATTEMPT, "description": "d"}], ["Bash", {"command": "exit 3", "description": "d"}],
             ["Bash", {"command": f"cd {HOME} && pwd", "description": "d"}], ["Bash", {"command": f"touch {HOME}/here; echo done", "description": "d"}],
             ["Read", {"file_path": HOME + "/.ssh/id"}], ["Read", {"file_path": WS + "/f"}], ["Write", {"file_path": WS + "/.mcp.json", "content": "{}"}],
             ["Write", {"file_path": WS + "/new", "content": "new"}],
             ["Bash", {"command": f"echo b > background; touch {HOME}/here", "description": "d", "run_in_background": True}],
             ["Bash", {"command": "until [ -e background ]; do sleep 0.1; done; sleep 0.3; echo waited", "description": "d"}]]

    def setUp(self):
        super().setUp()
        self.needs(CLI + "/@anthropic-ai/claude-code-linux-*/claude", "Claude Code")

    def ask(self, text, calls=None):
        model = Model(calls or self.calls)
        more = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.port}", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "AGENT_ARGUMENTS": "--dangerously-skip-permissions -p go"}
        try:
            script(text, **more)
        finally:
            model.close()
        self.assertEqual(len(model.results), len(model.calls))
        return model.results

    def test_without_the_recipe_it_reads_the_key(self):
        results = self.ask("claude")
        self.assertIn(KEY, results[0])
        self.assertIn(KEY, results[4])
        self.assertTrue(os.path.exists(WS + "/.mcp.json"))

    def test_its_shell_and_its_file_tools(self):
        put(HOME + "/.claude/settings.json", block("claude-code", "settings"))
        start = block("claude-code", "start")
        if MODE == "none":
            put(HOME + "/.config/abatis/claude-code.yaml", block("claude-code", "policy-without-namespaces"))
            start = block("claude-code", "start-without-namespaces")
        results = self.ask(start)
        self.kept(results[0])
        self.assertIn("Exit code 3", results[1])
        self.assertNotIn("Exit code", results[2])
        self.assertIn("done", results[3])
        self.assertFalse(os.path.exists(HOME + "/here"))
        self.assertNotIn(KEY, results[4])
        self.assertIn("hook", results[4])
        self.assertIn("content", results[5])
        self.assertIn("refused", results[6])
        self.assertFalse(os.path.exists(WS + "/.mcp.json"))
        self.assertTrue(os.path.exists(WS + "/new"))
        self.assertIn("waited", results[9])
        self.assertFalse(os.path.exists(HOME + "/here"))
        self.assertIn("/bin/bash -c", run(["abatis", "audit", "list"]).stdout)

    def test_all_of_it(self):
        results = self.ask(block("claude-code", "whole"))
        if MODE == "none":
            self.assertNotIn(KEY, "".join(results))
            self.assertIn("task output", results[0])
            self.skipTest("known limit: without namespaces no /proc/self/fd is followed, by which Claude Code opens its files; nothing ran")
        self.kept(results[0])
        self.assertNotIn(KEY, results[4])
        self.assertIn("content", results[5])
        self.assertTrue(os.path.exists(WS + "/new"))

    def test_tools_of_abatis(self):
        result = script(block("claude-code", "mcp"))
        self.assertRegex(result.stdout, r"abatis: abatis mcp --workspace \S+ - .*Connected")
        results = self.ask("claude", [["mcp__abatis__run_command", {"command": ["/bin/sh", "-c", ATTEMPT]}]])
        self.kept(results[0])


class Codex(Recipe):
    def setUp(self):
        super().setUp()
        self.needs(CLI + "/@openai/codex-linux-*", "Codex")

    def ask(self, text, calls):
        model = Model(calls)
        provider = f'{{name="m",base_url="http://127.0.0.1:{model.port}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
        try:
            script(text, OPENAI_API_KEY="key", AGENT_ARGUMENTS=f'exec --skip-git-repo-check -m gpt-5 -c model_provider="m" -c model_providers.m={provider} go')
        finally:
            model.close()
        self.assertEqual(len(model.results), len(calls))
        return model.results

    def test_without_the_recipe_it_reads_the_key(self):
        self.assertIn(KEY, self.ask("codex --sandbox danger-full-access", [["exec_command", {"cmd": ATTEMPT}]])[0])

    def test_all_of_it(self):
        self.kept(self.ask(block("codex", "whole"), [["exec_command", {"cmd": ATTEMPT}]])[0])

    def test_tools_of_abatis(self):
        put(HOME + "/.codex/config.toml", block("codex", "config"))
        self.assertRegex(script(block("codex", "mcp")).stdout, rf"abatis +abatis +mcp --workspace {WS}")
        self.serves("abatis", "mcp", "--workspace", WS)


class GeminiCli(Recipe):
    def setUp(self):
        super().setUp()
        self.needs(CLI + "/@google/gemini-cli/bundle/gemini.js", "Gemini CLI")

    def ask(self, text, calls, home):
        put(home + "/.gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        model = Model(calls)
        try:
            script(text, GEMINI_API_KEY="key", GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{model.port}", AGENT_ARGUMENTS="--yolo --skip-trust -p go")
        finally:
            model.close()
        self.assertEqual(len(model.results), len(calls))
        return model.results

    def test_without_the_recipe_it_reads_the_key(self):
        self.assertIn(KEY, self.ask("gemini", [["run_shell_command", {"command": ATTEMPT}]], HOME)[0])

    def test_all_of_it(self):
        results = self.ask(block("gemini-cli", "whole"), [["run_shell_command", {"command": ATTEMPT}]], HOME + "/.local/state/abatis/gemini-cli")
        self.kept(results[0])

    def test_tools_of_abatis(self):
        text = block("gemini-cli", "settings")
        put(HOME + "/.gemini/settings.json", text)
        result = script(block("gemini-cli", "mcp"))
        self.assertRegex(result.stdout + result.stderr, rf"abatis: abatis mcp --workspace {WS} \(stdio\)")
        self.serves_all(json.loads(text)["mcpServers"])


class Libraries(Recipe):
    def node(self, page, name, driver, **more):
        """The block as a module, and a few lines that call what it has."""
        self.needs(SDK + "/node_modules/zod", "the libraries for Node")
        put(SDK + f"/{page}-{name}.mjs", block(page, name))
        put(SDK + "/driver.mjs", f"import * as recipe from './{page}-{name}.mjs'\nconst command = {json.dumps(ATTEMPT)}\n{driver}\n")
        return run([NODE, SDK + "/driver.mjs"], **more).stdout

    def test_openai_agents_in_node(self):
        self.kept(self.node("openai-agents-sdk", "node", """import { RunContext } from '@openai/agents'
if (recipe.agent.tools[0] !== recipe.runCommand) throw new Error('the agent has other tools')
console.log(await recipe.runCommand.invoke(new RunContext(), JSON.stringify({ command })))"""))

    def test_langchain_in_node(self):
        self.kept(self.node("langchain", "node", "console.log(await recipe.runCommand.invoke({ command }))"))

    def test_a_tool_for_the_claude_agent_sdk(self):
        self.kept(self.node("claude-agent-sdk", "tool", """if (recipe.options.mcpServers.abatis.name !== 'abatis') throw new Error('no server')
console.log(JSON.stringify(await recipe.runCommand.handler({ command }, {})))"""))

    def test_claude_code_by_the_claude_agent_sdk(self):
        self.needs(CLI + "/@anthropic-ai/claude-code-linux-*/claude", "Claude Code")
        if MODE == "none":
            self.skipTest("needs what claude-code.md says of a place for its files")
        model = Model(ClaudeCode.calls)
        driver = """import { query } from '@anthropic-ai/claude-agent-sdk'
const options = { ...recipe.options, pathToClaudeCodeExecutable: process.env.REAL, permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }
for await (const message of query({ prompt: 'go', options })) console.log(message.type)"""
        try:
            self.node("claude-agent-sdk", "options", driver, ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model.port}",
                      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", REAL=glob.glob(CLI + "/@anthropic-ai/claude-code-linux-*/claude")[0])
        finally:
            model.close()
        self.kept(model.results[0])
        self.assertNotIn(KEY, model.results[4])
        self.assertFalse(os.path.exists(WS + "/.mcp.json"))
        self.assertTrue(os.path.exists(WS + "/new"))

    def python(self, page, call):
        function, module = block(page, "function"), block(page, "sdk")
        compile(function + module, page, "exec")
        driver = f"import asyncio\n{function}\ncommand = {ATTEMPT!r}\nprint({call})\n"
        self.kept(run(["/usr/bin/python3", "-B", "-c", driver], PYTHONPATH=TOP + "/clients/python").stdout)
        self.skipTest("its function was called; the library for Python is not on npm, and its lines are only compiled")

    def test_openai_agents_in_python(self):
        self.python("openai-agents-sdk", "run_command(command)")

    def test_langchain_in_python(self):
        self.python("langchain", "run_command(command)")

    def test_claude_agent_sdk_in_python(self):
        self.python("claude-agent-sdk", 'asyncio.run(run_command({"command": command}))')


class Result(unittest.TextTestResult):
    def say(self, word, test, why=""):
        print(f"{word} {'.'.join(test.id().split('.')[-2:])}_{MODE}{why}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("skip", test, f" - {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say("not ok", test, " - " + repr(str(err[1]))[:900])

    addError = addFailure


def every_block_is_used():
    """Also those of tests that were skipped for want of an agent, which are known by name."""
    pages = [os.path.basename(path)[:-3] for path in glob.glob(TOP + "/docs/*.md")]
    wanted = {(page, name) for page in pages for name in blocks_of(page)}
    source = open(__file__).read()
    missing = [f"{page} {name}" for page, name in sorted(wanted - used) if f'"{page}", "{name}"' not in source]
    if missing or len(pages) < 9:
        print(f"not ok every_block_of_the_pages_is_run_{MODE} - {missing or pages}")
        return 0, 1
    print(f"ok every_block_of_the_pages_is_run_{MODE}")
    return 1, 0


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    if len(sys.argv) > 1:
        suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:], sys.modules["__main__"])
    outcome = unittest.TextTestRunner(stream=open(os.devnull, "w"), resultclass=Result).run(suite)
    good, bad = (0, 0) if sys.argv[1:] else every_block_is_used()
    bad += len(outcome.failures) + len(outcome.errors)
    good += outcome.testsRun - len(outcome.skipped) - len(outcome.failures) - len(outcome.errors)
    print(f"{good} passed, {bad} failed, {len(outcome.skipped)} skipped")
