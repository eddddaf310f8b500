"""shell.py: abatis-sh against the shell itself, and abatis hook, as an ordinary user. SHELL_TOP has bin/ and a home; MODE says what there
is of namespaces."""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

TOP = os.environ["SHELL_TOP"]
MODE = os.environ["MODE"]
BIN, HOME = TOP + "/bin", TOP + "/home"
WS = HOME + "/ws"
SH = BIN + "/abatis-sh"


def environment(**more):
    return {"PATH": BIN + ":/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", **more}


def run(argv, cwd=WS, **more):
    return subprocess.run(argv, cwd=cwd, env=environment(**more), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


class AsTheShell(unittest.TestCase):
    """The same words, given to both, come to the same."""

    def same(self, *words, **more):
        inside, outside = run([SH, *words], **more), run(["/bin/bash", *words], **more)
        self.assertEqual((inside.returncode, inside.stdout), (outside.returncode, outside.stdout), inside.stderr)
        return inside

    def test_a_string_and_its_arguments(self):
        self.assertEqual(self.same("-c", 'echo "$0|$1|$#"', "name", "a  b", "").stdout, "name|a  b|2\n")

    def test_options_before_the_string(self):
        for words in (["-ec", "false; echo no"], ["-e", "-c", "false; echo no"], ["-lc", "echo hi"], ["-l", "-c", "echo hi"],
                      ["-o", "pipefail", "-c", "false | true"], ["--norc", "-c", "echo $-"], ["-xc", "true"], ["-c", "--", "echo dashes"],
                      ["+e", "-c", "false; echo yes"]):
            self.same(*words)

    def test_exit_codes(self):
        for code in (0, 1, 2, 41, 123, 124, 125, 126, 127, 255):
            self.same("-c", f"exit {code}")
        self.same("-c", "no-such-program-anywhere")
        self.same("-c", "/etc/passwd")
        self.same("-c", "if")

    def test_signals_end_it_as_they_end_the_shell(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV, signal.SIGUSR1, signal.SIGPIPE, signal.SIGABRT):
            self.assertEqual(self.same("-c", f"kill -{int(number)} $$").returncode, -number)
        self.same("-c", "sh -c 'kill -9 $$'; echo $?")

    def test_a_script_with_arguments(self):
        with open(WS + "/script", "w") as file:
            file.write('echo "$0 $1 $2"\n')
        self.assertEqual(self.same(WS + "/script", "x", "y z").stdout, WS + "/script x y z\n")

    def test_standard_input_is_the_script(self):
        result = subprocess.run([SH], cwd=WS, env=environment(), input="echo one\nexit 5\n", capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (5, "one\n"))
        result = subprocess.run([SH, "-s", "a", "b"], cwd=WS, env=environment(), input="echo $2\n", capture_output=True, text=True, timeout=60)
        self.assertEqual(result.stdout, "b\n")

    def test_streams_pass(self):
        result = subprocess.run([SH, "-c", "cat; echo err >&2"], cwd=WS, env=environment(), input=b"\0\xff" * 100000, capture_output=True,
                                timeout=60)
        self.assertEqual((result.stdout, result.stderr), (b"\0\xff" * 100000, b"err\n"))

    def test_signals_to_it_reach_the_command(self):
        process = subprocess.Popen([SH, "-c", 'trap "echo got; exit 7" TERM; echo ready; while :; do sleep 0.05; done'], cwd=WS, env=environment(),
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        self.assertEqual((process.stdout.read(), process.wait(30)), ("got\n", 7))
        process.stdout.close()


class OneWord(unittest.TestCase):
    def test_a_word_alone_is_a_string(self):
        self.assertEqual(run([SH, "echo a; exit 3"]).returncode, 3)
        self.assertEqual(run([SH, "echo $((1 + 2))"]).stdout, "3\n")
        # Also if a file of that name is there, which may be no script.
        self.assertEqual(run([SH, "/bin/true"]).returncode, 0)

    def test_a_script_that_names_it(self):
        path = WS + "/ours"
        with open(path, "w") as file:
            file.write(f'#!{SH}\necho "in $1"; cat {HOME}/.ssh/id; echo x >{WS}/.mcp.json\n')
        os.chmod(path, 0o755)
        for argv in ([path], [path, "word"]):
            result = run(argv)
            self.assertEqual(result.stdout, f"in {''.join(argv[1:])}\n")
            self.assertIn(".ssh/id: Permission denied", result.stderr)
        self.assertFalse(os.path.exists(WS + "/.mcp.json"))

    def test_make_takes_it(self):
        with open(WS + "/Makefile", "w") as file:
            file.write(f"SHELL = {SH}\nall:\n\t@echo made > made; cat {HOME}/.ssh/id || cat made\n\t@exit 3\n")
        result = run(["make", "-s"])
        self.assertEqual((result.returncode, result.stdout), (2, "made\n"), result.stderr)
        self.assertIn("Error 3", result.stderr)

    def test_a_login_shell(self):
        result = subprocess.run(["-abatis-sh"], executable=SH, cwd=WS, env=environment(), input="shopt -q login_shell; echo $?\n",
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.stdout, "0\n")

    def test_the_verb_is_the_same(self):
        self.assertEqual(run([BIN + "/abatis", "sh", "-c", "exit 9"]).returncode, 9)
        self.assertIn("abatis-sh", run([SH, "--help"]).stdout)

    def test_the_shell_inside_is_no_sandbox(self):
        self.assertEqual(run([SH, "-c", '"$SHELL" -c "echo again"'], SHELL=SH).stdout, "again\n")

    def test_what_is_typed_has_a_terminal(self):
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(WS)
            os.execve(SH, [SH, "--norc"], environment(PS1="ready$ ", TERM="dumb"))
        seen = b""
        end = time.monotonic() + 60
        os.write(terminal, b"tty >/dev/null && sleep 100 & jobs | wc -l; kill %1; echo do''ne; exit 6\n")
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 6, seen)
        self.assertIn(b"\r\ndone\r\n", seen)
        self.assertNotIn(b"no job control", seen)


class Place(unittest.TestCase):
    """Whoever chooses the directory must not choose what is written."""

    def writes(self, cwd, **more):
        result = run([SH, "-c", "echo x >written && cat written"], cwd=cwd, **more)
        if os.path.exists(cwd + "/written"):
            os.unlink(cwd + "/written")
        return result

    def test_where_it_starts_is_the_workspace(self):
        self.assertEqual(self.writes(WS).stdout, "x\n")

    def test_the_home_is_not(self):
        for cwd in (HOME, TOP):
            result = self.writes(cwd)
            self.assertEqual(result.returncode, 125)
            self.assertIn("ABATIS_WORKSPACE", result.stderr)
        self.assertEqual(self.writes(HOME, ABATIS_WORKSPACE=HOME).stdout, "x\n")

    def test_a_workspace_that_is_named_stays(self):
        os.makedirs(HOME + "/other", exist_ok=True)
        self.assertEqual(self.writes(HOME + "/other").stdout, "x\n")
        self.assertEqual(self.writes(HOME + "/other", ABATIS_WORKSPACE=WS).returncode, 1)
        self.assertEqual(self.writes(HOME, ABATIS_WORKSPACE=WS).returncode, 1)
        self.assertEqual(self.writes(WS, ABATIS_WORKSPACE=WS).stdout, "x\n")

    def test_what_is_named_must_be_there_and_absolute(self):
        with open(WS + "/policy.yaml", "w") as file:
            file.write("version: 1\nextends: guard\n")
        for more in ({"ABATIS_WORKSPACE": "/nonexistent"}, {"ABATIS_PROFILE": "nonexistent"}, {"ABATIS_POLICY": "/nonexistent"},
                     {"ABATIS_WORKSPACE": "."}, {"ABATIS_POLICY": "policy.yaml"}):
            result = self.writes(WS, **more)
            self.assertEqual((result.returncode, result.stdout), (125, ""))
            self.assertTrue(result.stderr.startswith("abatis: "))

    def test_a_profile_and_a_policy(self):
        self.assertEqual(self.writes(WS, ABATIS_PROFILE="mcp").returncode, 1)
        with open(HOME + "/policy.yaml", "w") as file:
            file.write('version: 1\nextends: dev\nfilesystem: {deny: ["~/note"]}\n')
        note = ["-c", "cat ~/note"]
        self.assertEqual(run([SH, *note]).returncode, 0)
        self.assertEqual(run([SH, *note], ABATIS_POLICY=HOME + "/policy.yaml").returncode, 1)

    def test_the_home_is_no_workspace_and_where_it_is_unknown_nothing_is(self):
        for cwd, home in ((HOME, HOME), (TOP, HOME), ("/", HOME), (WS, "/nonexistent"), (WS, "")):
            result = run([SH, "-c", "echo ran"], cwd=cwd, HOME=home)
            self.assertEqual((result.returncode, result.stdout), (125, ""), (cwd, home))
        for home in (HOME, "/nonexistent"):
            self.assertEqual(run([SH, "-c", "echo ran"], HOME=home, ABATIS_WORKSPACE=WS).stdout, "ran\n", home)

    def test_inside_they_change_nothing(self):
        """A command that sets them, or calls the shell again, is where it was."""
        result = run([SH, "-c", f"export ABATIS_WORKSPACE={HOME} ABATIS_PROFILE=guard; {SH} -c 'echo x >{HOME}/written'; echo x >{HOME}/written"])
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse(os.path.exists(HOME + "/written"))


class Hook(unittest.TestCase):
    def ask(self, event, cwd=WS, argv=(BIN + "/abatis", "hook"), **more):
        text = event if isinstance(event, bytes) else json.dumps(event).encode()
        result = subprocess.run(argv, cwd=cwd, env=environment(**more), input=text, capture_output=True, timeout=60)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(bool(result.stderr), bool(result.returncode))
        return result.returncode

    def event(self, tool, **tool_input):
        return {"session_id": "s", "transcript_path": HOME + "/t", "cwd": WS, "permission_mode": "default", "hook_event_name": "PreToolUse",
                "tool_name": tool, "tool_input": tool_input, "tool_use_id": "t"}

    def test_what_the_sandbox_allows_passes(self):
        for event in (self.event("Read", file_path=HOME + "/note"), self.event("Write", file_path=WS + "/new", content="x"),
                      self.event("Edit", file_path=WS + "/f", old_string="a", new_string="b"), self.event("LS", path=HOME),
                      self.event("NotebookEdit", notebook_path=WS + "/n.ipynb"), self.event("Bash", command="cat ~/.ssh/id"),
                      self.event("WebFetch", url="https://example.org")):
            self.assertEqual(self.ask(event), 0, event)

    def test_what_it_refuses_is_blocked(self):
        os.makedirs(WS + "/links", exist_ok=True)
        if not os.path.lexists(WS + "/links/key"):
            os.symlink(HOME + "/.ssh/id", WS + "/links/key")
        for event in (self.event("Read", file_path=HOME + "/.ssh/id"), self.event("Read", file_path=WS + "/../.ssh/id"),
                      self.event("Read", file_path=WS + "/links/key"), self.event("Write", file_path=HOME + "/.bashrc", content="x"),
                      self.event("Write", file_path=WS + "/.mcp.json", content="{}"), self.event("Edit", file_path=WS + "/.git/config"),
                      self.event("Write", file_path=WS + "/.claude/settings.json", content="{}"),
                      self.event("NotebookEdit", notebook_path="/etc/n.ipynb"), self.event("Grep", pattern="x"), self.event("Glob", pattern="*")):
            self.assertEqual(self.ask(event), 2, event)

    def test_a_path_that_the_agent_would_read_otherwise_is_blocked(self):
        for path in ("~/note", "note", "./f", "", " /etc/passwd", WS + "/f ", WS + "/f\n", WS + "/f\u00a0", WS + "/f\u2003", WS + "/f\ufeff"):
            self.assertEqual(self.ask(self.event("Read", file_path=path)), 2, path)

    def test_what_is_another_inside_is_blocked(self):
        """The sandbox has a /tmp of its own; the tool would open the host's."""
        if not os.path.lexists(WS + "/links/tmp"):
            os.makedirs(WS + "/links", exist_ok=True)
            os.symlink("/tmp", WS + "/links/tmp")
        for path in ("/tmp/x", "/tmp/new/x", "/dev/shm/x", "/proc/1/environ", "/proc/self/root/tmp/x", WS + "/links/tmp/x", WS + "/links/tmp/new/x"):
            self.assertEqual(self.ask(self.event("Read", file_path=path)), 2, path)
            self.assertEqual(self.ask(self.event("Write", file_path=path, content="")), 2, path)

    def test_what_cannot_be_judged_is_blocked_also_with_the_prefix(self):
        """A refusal must be a 2: after anything else the agent goes on. Its hooks are started as its commands are."""
        prefixed = (SH, "abatis hook")
        allowed = self.event("Read", file_path=WS + "/f")
        self.assertEqual(self.ask(allowed, argv=prefixed), 0)
        self.assertEqual(self.ask(self.event("Read", file_path=HOME + "/.ssh/id"), argv=prefixed), 2)
        for text in ("version: [", "version: 1\nfilesystem:\n  write: [/var/tmp]\n"):
            with open(WS + "/.abatis.yaml", "w") as file:
                file.write(text)
            try:
                self.assertNotEqual(run([SH, "true"]).returncode, 0)
                self.assertEqual(self.ask(allowed, argv=prefixed), 2)
            finally:
                os.remove(WS + "/.abatis.yaml")
        self.assertEqual(self.ask(allowed, argv=prefixed, cwd=HOME), 2)

    def test_what_is_no_event_is_blocked(self):
        good = json.dumps(self.event("Read", file_path=WS + "/f")).encode()
        for text in (b"", b"{", b"[]", b"null", b"1", b"{}", good[:-1], good + b"x", b"\xff" + good, good.replace(b'"Read"', b"1"),
                     b'{"tool_name":"Read"}', b'{"tool_name":"Read","tool_input":[]}', b'{"tool_name":"Read","tool_input":{}}',
                     b'{"tool_name":"Read","tool_input":{"file_path":["/x"]}}', b'{"tool_name":"Read","tool_input":{"file_path":"/x\\u0000"}}',
                     b'{"tool_name":"Bash","tool_name":"Read","tool_input":{"file_path":"/x"}}', b"[" * 1000000,
                     b'{"tool_name":"Write","tool_input":{"file_path":"' + WS.encode() + b'/f","content":"' + b"x" * (17 << 20) + b'"}}'):
            self.assertEqual(self.ask(text), 2, text[:80])
        self.assertEqual(self.ask(good), 0)

    def test_the_workspace_is_the_projects(self):
        new = self.event("Write", file_path=WS + "/new", content="x")
        self.assertEqual(self.ask(new, cwd="/", CLAUDE_PROJECT_DIR=WS), 0)
        self.assertEqual(self.ask(new, cwd=WS, ABATIS_WORKSPACE=WS, CLAUDE_PROJECT_DIR=HOME), 0)
        self.assertEqual(self.ask(new, cwd=WS, CLAUDE_PROJECT_DIR=HOME), 2)
        self.assertEqual(self.ask(new, cwd=WS, ABATIS_PROFILE="nonexistent"), 2)


class Count(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok {test.id().split('.', 1)[1]}_{MODE}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(f"not ok {test.id().split('.', 1)[1]}_{MODE} -", repr(str(err[1]))[:400])

    addError = addFailure


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who runs in the background has it ignored, and so would bash
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    outcome = unittest.TextTestRunner(stream=open(os.devnull, "w"), resultclass=Count).run(suite)
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - bad} passed, {bad} failed, 0 skipped")
