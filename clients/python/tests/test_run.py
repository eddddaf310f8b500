"""What a command is, and what comes back."""
import os
import shutil
import stat
import unittest

import abatis
from common import Scratch


class Results(Scratch):
    def test_a_command_runs_and_it_is_said_how_it_ended(self):
        result = abatis.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((result.stdout, result.stderr, result.exit_code, result.signal, result.returncode), ("out\n", "err\n", 3, None, 3))
        self.assertEqual((result.argv[0], result.ok, result.timed_out, result.cancelled, result.truncated), ("sh", False, False, False, False))
        self.assertTrue(result.enforced and result.backend and not result.not_enforced and result.duration_ms > 0)
        self.assertTrue(abatis.run(["true"]).ok)

    def test_a_signal_is_told_from_an_exit_code(self):
        result = abatis.run(["sh", "-c", "kill -9 $$"])
        self.assertEqual((result.exit_code, result.signal, result.returncode), (None, 9, -9))

    def test_bytes_come_as_they_are(self):
        result = abatis.run(["printf", r"\377\000\303\244"])
        self.assertEqual((result.stdout_raw, result.stdout_bytes, result.stdout), (b"\xff\x00\xc3\xa4", 4, "\ufffd\0ä"))

    def test_output_is_cut_where_the_limit_says(self):
        result = abatis.run(["printf", "0123456789"], limits={"output": 4})
        self.assertTrue(result.truncated)
        self.assertEqual((result.stdout, result.stdout_bytes), ("0189", 10))

    def test_merged_output_is_in_its_order(self):
        self.assertEqual(abatis.run(["sh", "-c", "echo 1; echo 2 >&2; echo 3"], merge=True).stdout, "1\n2\n3\n")

    def test_a_timeout_is_a_result(self):
        result = abatis.run(["sleep", "600"], timeout=0.1)
        self.assertTrue(result.timed_out)
        self.assertEqual(result.limit, "limits.timeout")
        self.assertEqual(abatis.run(["true"], timeout=60).limit, None)

    def test_check_is_for_those_that_must_succeed(self):
        self.assertTrue(abatis.run(["true"], check=True).ok)
        for command, words in ((["false"], "exited with 1"), (["sh", "-c", "kill -9 $$"], "signal 9"), (["sleep", "600"], "limits.timeout")):
            with self.assertRaisesRegex(abatis.CommandFailed, words) as caught:
                abatis.run(command, check=True, timeout=0.5 if command[0] == "sleep" else None)
            self.assertFalse(caught.exception.result.ok)


class Arguments(Scratch):
    def test_what_is_read_is_what_was_given(self):
        for given in ("text ä\n", "with \0 in it", b"\xff\0\xfe", bytearray(b"x"), memoryview(b"y"), ""):
            raw = given.encode() if isinstance(given, str) else bytes(given)
            self.assertEqual(abatis.run(["cat"], input=given).stdout_raw, raw)
        self.assertEqual(abatis.run(["cat"]).stdout_raw, b"")

    def test_megabytes_go_in_and_out(self):
        data = os.urandom(4 << 20)
        self.assertEqual(abatis.run(["cat"], input=data, limits={"output": 8 << 20}).stdout_raw, data)

    def test_the_directory_is_that_of_now(self):
        here = os.path.realpath(self.workspace)
        os.mkdir("sub")
        self.assertEqual(abatis.run(["pwd"]).stdout, here + "\n")
        os.chdir("sub")
        self.assertEqual(abatis.run(["pwd"]).stdout, here + "/sub\n")
        self.assertEqual(abatis.run(["pwd"], cwd="..").stdout, here + "\n")

    def test_the_environment_is_that_of_now(self):
        command = ["sh", "-c", "echo $ABATIS_TEST"]
        self.assertEqual(abatis.run(command).stdout, "\n")
        os.environ["ABATIS_TEST"] = "now"
        try:
            self.assertEqual(abatis.run(command).stdout, "now\n")
            self.assertEqual(abatis.run(command, env={"ABATIS_TEST": "said", "PATH": os.environ["PATH"]}).stdout, "said\n")
        finally:
            del os.environ["ABATIS_TEST"]
        self.assertEqual(abatis.run(command).stdout, "\n")

    def test_paths_may_be_words(self):
        open("file", "w").close()
        self.assertEqual(abatis.run(["ls", os.fsencode("file")]).stdout, "file\n")

    def test_what_cannot_be_said_is_refused(self):
        for command, keys, kind in (("ls -l", {}, TypeError), (b"ls", {}, TypeError), ([], {}, ValueError), (["ls", "\udcff"], {}, ValueError),
                                    (["ls"], {"timeout": -1}, ValueError), (["ls"], {"timeout": float("nan")}, ValueError),
                                    (["ls"], {"timeout": 1, "limits": {"timeout": "2s"}}, ValueError), (["ls"], {"nonesuch": 1}, TypeError),
                                    (["ls"], {"env": {"A": "\udcff"}}, ValueError), (["ls"], {"policy": {"x": object()}}, TypeError)):
            with self.assertRaises(kind, msg=(command, keys)):
                abatis.run(command, **keys)
        self.assertTrue(abatis.run(["ls"]).ok)


class Policies(Scratch):
    def setUp(self):
        super().setUp()
        with open("secret", "w") as file:
            file.write("secret")

    def reads(self, **policy):
        return abatis.run(["cat", "secret"], **policy).stdout == "secret"

    def test_a_policy_is_a_mapping_or_a_file_or_settings(self):
        path = os.path.abspath("secret")
        with open("policy.yaml", "w") as file:
            file.write(f'version: 1\nextends: dev\nfilesystem:\n  deny: ["{path}"]\n')
        self.assertTrue(self.reads())
        self.assertTrue(self.reads(policy={"version": 1}))
        self.assertFalse(self.reads(policy={"version": 1, "filesystem": {"deny": [path]}}))
        self.assertFalse(self.reads(policy="policy.yaml"))
        self.assertFalse(self.reads(set={"filesystem.deny": [path]}))

    def test_the_workspace_is_where_one_is_or_what_is_said(self):
        os.mkdir("sub")
        self.assertTrue(abatis.run(["touch", "here"]).ok)
        self.assertFalse(abatis.run(["touch", "../outside"], cwd="sub").ok)
        self.assertTrue(abatis.run(["touch", "../outside"], cwd="sub", workspace=".").ok)

    def test_limits_hold(self):
        self.assertEqual(abatis.run(["sh", "-c", "ulimit -n"], limits={"open_files": 64}).stdout, "64\n")

    def test_a_policy_that_is_wrong_is_refused_by_name(self):
        for keys, words in (({"policy": {"version": 1, "filesystme": {}}}, "filesystme"), ({"preset": "nonesuch"}, "nonesuch"),
                            ({"policy": "nonesuch.yaml"}, "nonesuch.yaml"), ({"set": {"filesystem.dney": ["/x"]}}, "dney")):
            with self.assertRaisesRegex(abatis.RequestError, words):
                abatis.run(["touch", "ran"], **keys)
        self.assertFalse(os.path.exists("ran"))

    def test_check_explain_and_probe_answer(self):
        self.assertTrue(abatis.check("write", "new").allowed)
        refused = abatis.check("write", "/etc/passwd")
        self.assertFalse(refused.allowed)
        self.assertIn("/etc/passwd", refused.rule)
        self.assertFalse(abatis.check("read", "secret", set={"filesystem.deny": [os.path.abspath("secret")]}).allowed)
        self.assertTrue(abatis.explain(preset="tool")["clauses"])
        self.assertTrue(abatis.explain(tier="untrusted")["clauses"])
        self.assertEqual(abatis.probe().protocol, 1)

    def test_a_session_has_its_files_until_it_is_ended(self):
        self.assertTrue(abatis.run(["touch", "/tmp/mine"], session="a").ok)
        self.assertTrue(abatis.run(["ls", "/tmp/mine"], session="a").ok)
        self.assertFalse(abatis.run(["ls", "/tmp/mine"]).ok)
        self.assertTrue(abatis.end_session("a"))
        self.assertFalse(abatis.end_session("a"))
        self.assertFalse(abatis.run(["ls", "/tmp/mine"], session="a").ok)
        abatis.end_session("a")


class Errors(Scratch):
    def test_a_command_that_is_not_there_is_an_error_with_a_code(self):
        for command, code in (("nonesuch", "ABATIS_E_NOT_FOUND"), ("/etc/passwd", "ABATIS_E_NOT_EXECUTABLE")):
            with self.assertRaises(abatis.RequestError) as caught:
                abatis.run([command])
            self.assertEqual(caught.exception.code, code)
            self.assertIn(command, str(caught.exception))

    def test_a_request_that_is_too_long_is_refused_and_the_next_is_not(self):
        with self.assertRaises(abatis.RequestError) as caught:
            abatis.run(["cat"], input=bytes(7 << 20))
        self.assertEqual(caught.exception.code, "PROTOCOL_LENGTH")
        self.assertTrue(abatis.run(["true"]).ok)

    def test_the_program_is_found_where_it_is_said_to_be(self):
        real = os.environ["ABATIS"]
        os.mkdir("bin")
        shutil.copy(real, "bin/abatis")  # a link that the command could replace is refused
        before = dict(os.environ)
        try:
            self.assertEqual(abatis.run(["echo", "1"], abatis=real).stdout, "1\n")
            del os.environ["ABATIS"]
            os.environ["PATH"] = os.path.abspath("bin") + ":" + before["PATH"]
            self.assertEqual(abatis.run(["echo", "2"]).stdout, "2\n")
            os.environ["PATH"] = "/nonesuch"
            with self.assertRaisesRegex(abatis.ServerError, "no 'abatis' in PATH.*ABATIS"):
                abatis.run(["/bin/true"])
            os.environ["ABATIS"] = "/nonesuch/abatis"
            with self.assertRaisesRegex(abatis.ServerError, "variable ABATIS says '/nonesuch/abatis'"):
                abatis.run(["/bin/true"])
            with self.assertRaisesRegex(abatis.ServerError, "argument abatis= says '/nonesuch/other'"):
                abatis.run(["/bin/true"], abatis="/nonesuch/other")
        finally:
            os.environ.clear()
            os.environ.update(before)
            abatis.close()  # the one in this test's directory

    def test_a_program_that_is_another_is_an_error(self):
        with open("complains", "w") as file:
            file.write("#!/bin/sh\necho 'no such verb' >&2\nexit 2\n")
        os.chmod("complains", stat.S_IRWXU)
        for program, words in (("/bin/false", "exit code 1"), ("/bin/true", "has ended"), ("/bin/cat", "has ended.*serve"), ("/bin/yes", "no sense"),
                               ("./complains", "exit code 2.*no such verb")):
            with self.assertRaisesRegex(abatis.ServerError, words, msg=program):
                abatis.run(["true"], abatis=program)
        abatis.close()


if __name__ == "__main__":
    unittest.main()
