"""abatis.subprocess beside the real one: the same calls come to the same."""
import os
import subprocess
import tempfile
import unittest

import abatis
from abatis import subprocess as boxed
from common import Scratch, python

PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
BOTH = "echo out; echo err >&2"


def outcome(function, *words, **keys):
    """What it returned or raised, so that it can be compared."""
    try:
        value = function(*words, **keys)
    except Exception as problem:
        return type(problem), *(getattr(problem, name, None) for name in ("returncode", "cmd", "output", "stderr", "errno", "filename", "timeout"))
    return vars(value) if isinstance(value, subprocess.CompletedProcess) else value


class Same(Scratch):
    def same(self, name, *words, **keys):
        real = outcome(getattr(subprocess, name), *words, **keys)
        self.assertEqual(outcome(getattr(boxed, name), *words, **keys), real, (name, words, keys))

    def test_run_comes_to_the_same(self):
        for words, keys in (
            (["true"], {}), (["sh", "-c", "exit 3"], {}), (["sh", "-c", "kill -9 $$"], {}), ("true", {}), (("echo", b"bytes"), {"stdout": PIPE}),
            (["sh", "-c", BOTH], {"capture_output": True}), (["sh", "-c", BOTH], {"stdout": PIPE, "stderr": STDOUT}),
            (["sh", "-c", BOTH], {"stdout": DEVNULL, "stderr": PIPE}), (["sh", "-c", BOTH], {"stdout": DEVNULL, "stderr": DEVNULL}),
            (BOTH, {"shell": True, "capture_output": True}), ([BOTH + "; echo $1", "zero", "one"], {"shell": True, "capture_output": True}),
            (["printf", r"a\r\nb\rc\303\244"], {"capture_output": True, "text": True}),
            (["printf", r"\344"], {"capture_output": True, "encoding": "latin-1"}), (["printf", r"\377"], {"stdout": PIPE, "text": True, "errors": "replace"}),
            (["printf", r"\377"], {"stdout": PIPE, "encoding": "utf-8"}), (["printf", r"\377\0"], {"stdout": PIPE}),
            (["cat"], {"input": b"\xff\0", "stdout": PIPE}), (["cat"], {"input": "ä", "stdout": PIPE, "text": True}),
            (["cat"], {"input": "ä", "stdout": PIPE, "encoding": "latin-1"}), (["cat"], {"stdin": DEVNULL, "stdout": PIPE}),
            (["false"], {"check": True}), (["sh", "-c", BOTH + "; exit 4"], {"check": True, "capture_output": True, "text": True}),
            (["sh", "-c", "kill -15 $$"], {"check": True}), (["sh", "-c", "echo some; exec sleep 600"], {"timeout": 0.5, "capture_output": True, "text": True}),
            (["nonesuch"], {}), (["/nonesuch/program"], {}), (["/etc/passwd"], {}), ("nonesuch with words", {}), (["true"], {"cwd": "/nonesuch"}),
            (["pwd"], {"cwd": "/usr", "stdout": PIPE}), (["sh", "-c", "echo $A"], {"env": {"A": "b", "PATH": os.environ["PATH"]}, "stdout": PIPE}),
            (["true"], {"capture_output": True, "stdout": PIPE}), (["true"], {"input": b"", "stdin": DEVNULL}), (["true"], {"nonesuch": 1}),
            (["cat"], {"input": "text", "stdout": PIPE}), (["true"], {"text": True, "universal_newlines": False}),
        ):
            with self.subTest(words=words, keys=keys):
                self.same("run", words, **keys)

    def test_the_relatives_come_to_the_same(self):
        for name, words, keys in (
            ("call", ["sh", "-c", "exit 3"], {}), ("check_call", ["true"], {}), ("check_call", ["false"], {}), ("check_output", ["echo", "1"], {}),
            ("check_output", "echo 1; echo 2 >&2", {"shell": True, "stderr": STDOUT, "text": True}), ("check_output", ["false"], {}),
            ("check_output", ["true"], {"stdout": PIPE}), ("check_output", ["cat"], {"input": b"x"}), ("call", ["sleep", "600"], {"timeout": 0.2}),
        ):
            with self.subTest(name=name, words=words):
                self.same(name, words, **keys)

    def test_files_and_descriptors_are_written_and_read(self):
        for module in (subprocess, boxed):
            with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as source:
                source.write(b"0123456789")
                source.flush()
                source.seek(4)
                file.write(b"before ")
                file.flush()
                module.run("cat; echo err >&2", shell=True, stdin=source, stdout=file, stderr=file.fileno())
                file.seek(0)
                self.assertEqual(file.read(), b"before 456789err\n", module.__name__)

    def test_what_is_printed_without_a_word_is_printed_here(self):
        script = "from abatis import subprocess as boxed; boxed.run(['sh', '-c', 'echo out; echo err >&2'])"
        child = python(script, stderr=subprocess.PIPE)
        self.assertEqual(child.communicate(), ("out\n", "err\n"))

    def test_megabytes_are_captured_whole(self):
        self.assertEqual(len(boxed.run(["head", "-c", str(5 << 20), "/dev/zero"], stdout=PIPE).stdout), 5 << 20)


class Different(Scratch):
    def test_what_cannot_be_had_is_refused(self):
        reads, writes = os.pipe()
        for keys in ({"preexec_fn": print}, {"pass_fds": (3,)}, {"close_fds": False}, {"user": 0}, {"start_new_session": True},
                     {"executable": "/bin/sh"}, {"bufsize": 0}, {"umask": 0}, {"stdin": reads}):
            with self.assertRaises(NotImplementedError, msg=keys):
                boxed.run(["touch", "ran"], **keys)
        os.close(reads)
        os.close(writes)
        self.assertFalse(os.path.exists("ran"))
        boxed.run(["touch", "ran"], bufsize=-1, close_fds=True, pass_fds=(), preexec_fn=None)
        self.assertTrue(os.path.exists("ran"))

    def test_it_is_a_sandbox(self):
        with open("secret", "w") as file:
            file.write("secret")
        deny = {"version": 1, "filesystem": {"deny": [os.path.abspath("secret")]}}
        self.assertEqual(boxed.run(["cat", "secret"], stdout=PIPE).stdout, b"secret")
        self.assertEqual(boxed.run(["cat", "secret"], stdout=PIPE, stderr=DEVNULL, policy=deny).stdout, b"")
        with self.assertRaisesRegex(abatis.RequestError, "nonesuch"):
            boxed.run(["true"], preset="nonesuch")

    def test_the_policys_time_limit_is_a_timeout(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            boxed.run(["sleep", "600"], limits={"timeout": "100ms"})


if __name__ == "__main__":
    unittest.main()
