"""The server behind: one for many, its death, forks, and its end."""
import os
import signal
import subprocess
import sys
import threading
import unittest

import abatis
from common import PATIENCE, Scratch, alive, is_alive, lasting, python, server_pid, unique


class InThread(threading.Thread):
    """A call in a thread, and what came of it."""

    def __init__(self, *words, **keys):
        super().__init__(daemon=True)
        self.words, self.keys, self.result, self.problem = words, keys, None, None
        self.start()

    def run(self):
        try:
            self.result = abatis.run(*self.words, **self.keys)
        except abatis.Error as problem:
            self.problem = problem

    def ended(self):
        self.join(PATIENCE)
        return self.result or self.problem


class Many(Scratch):
    def test_one_server_is_for_all_calls(self):
        pid = server_pid()
        self.assertEqual(server_pid(), pid)
        self.assertEqual(abatis.run(["true"], preset="tool").exit_code, 0)
        self.assertEqual(server_pid(), pid)

    def test_sixty_four_threads_run_at_once(self):
        script = "touch here-$0; until [ $(ls | grep -c here-) -ge 64 ]; do sleep 0.1; done; echo $0"
        calls = [InThread(["sh", "-c", script, str(number)]) for number in range(64)]
        self.assertEqual([call.ended().stdout for call in calls], [f"{number}\n" for number in range(64)])

    def test_a_short_call_does_not_wait_for_a_long_one(self):
        long = InThread(["sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo long"])
        for number in range(20):
            self.assertEqual(abatis.run(["echo", str(number)]).stdout, f"{number}\n")
        open("go", "w").close()
        self.assertEqual(long.ended().stdout, "long\n")

    def test_threads_that_take_turns_all_get_their_own(self):
        wrong = []

        def many(name):
            for number in range(20):
                text = f"{name}-{number}"
                if abatis.run(["cat"], input=text).stdout != text:
                    wrong.append(text)

        threads = [threading.Thread(target=many, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertFalse(any(thread.is_alive() for thread in threads) or wrong)

    def test_large_requests_of_several_threads_do_not_mix(self):
        inputs = [os.urandom(1 << 20) for _ in range(8)]
        calls = [InThread(["cat"], input=data, limits={"output": 2 << 20}) for data in inputs]
        self.assertTrue(all(call.ended().stdout_raw == data for call, data in zip(calls, inputs)))


class Death(Scratch):
    def test_a_server_that_was_killed_idle_is_replaced(self):
        pid = server_pid()
        os.kill(pid, signal.SIGKILL)
        self.eventually(lambda: not is_alive(pid))
        self.assertTrue(abatis.run(["true"]).ok)
        self.assertNotEqual(server_pid(), pid)

    def test_calls_in_flight_get_an_error_and_nothing_stays(self):
        pid, word = server_pid(), unique()
        calls = [InThread(lasting(word)) for _ in range(3)]
        self.eventually(lambda: len(alive(word)) >= 3)
        os.kill(pid, signal.SIGKILL)
        for call in calls:
            self.assertRegex(str(call.ended()), "serve' has ended .signal 9")
            self.assertIsInstance(call.problem, abatis.ServerError)
        self.eventually(lambda: not alive(word))
        self.assertTrue(abatis.run(["true"]).ok)

    def test_close_ends_it_and_what_runs(self):
        pid, word = server_pid(), unique()
        call = InThread(lasting(word))
        self.eventually(lambda: alive(word))
        abatis.close()
        self.assertIsInstance(call.ended(), (abatis.Error, abatis.Result))
        self.assertFalse(is_alive(pid))
        self.eventually(lambda: not alive(word))
        self.assertTrue(abatis.run(["true"]).ok)

    def test_a_dead_server_leaves_no_descriptor(self):
        def descriptors():
            server_pid()
            return len(os.listdir("/proc/self/fd"))

        before = descriptors()
        for _ in range(5):
            pid = server_pid()
            os.kill(pid, signal.SIGKILL)
            self.eventually(lambda: not is_alive(pid))
        self.assertEqual(descriptors(), before)

    def test_a_place_for_temporary_files_is_not_needed(self):
        script = "import os, tempfile, abatis; tempfile.tempdir = '/nonesuch'; print(abatis.run(['echo', 'runs']).stdout)"
        self.assertEqual(python(script).communicate(timeout=PATIENCE)[0], "runs\n\n")

    def test_a_dead_server_is_no_sigpipe(self):
        script = """
import os, signal, abatis
from abatis import _pool
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
abatis.run(["true"])
server = next(iter(_pool.pool.shared.values()))
os.kill(server.process.pid, signal.SIGKILL)
os.waitid(os.P_PID, server.process.pid, os.WEXITED | os.WNOWAIT)
print(abatis.run(["echo", "lives"]).stdout)
"""
        self.assertEqual(python(script).communicate(timeout=PATIENCE)[0], "lives\n\n")


class Interrupted(Scratch):
    def test_who_is_interrupted_has_the_command_ended(self):
        class Alarm(Exception):
            pass

        def ring(*_):
            raise Alarm

        word, pid = unique(), server_pid()
        before = signal.signal(signal.SIGUSR1, ring)
        try:
            watcher = subprocess.Popen([sys.executable, "-B", "-c", f"import os, sys, time; sys.path[:] = {sys.path!r}; from common import alive\n"
                                        f"while not alive({word!r}): time.sleep(0.01)\nos.kill({os.getpid()}, {int(signal.SIGUSR1)})"])
            with self.assertRaises(Alarm):
                abatis.run(lasting(word))
            self.assertFalse(alive(word))
            watcher.wait(PATIENCE)
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(server_pid(), pid)

    def test_control_c_is_not_for_the_server(self):
        server = server_pid()
        self.assertNotEqual(os.getpgid(server), os.getpgrp())


class Forks(Scratch):
    def in_child(self, function):
        """Forks; what the function returns is the exit code."""
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                code = function()
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_a_child_has_a_server_of_its_own(self):
        pid = server_pid()
        self.assertEqual(self.in_child(lambda: 7 if abatis.run(["true"]).ok and server_pid() != pid else 8), 7)
        self.assertEqual(server_pid(), pid)

    def test_a_child_may_be_forked_while_others_wait(self):
        server_pid()
        call = InThread(["sh", "-c", "touch started; until [ -e go ]; do sleep 0.02; done; echo done"])
        self.eventually(lambda: os.path.exists("started"))
        for _ in range(5):
            self.assertEqual(self.in_child(lambda: 7 if abatis.run(["true"]).ok else 8), 7)
        open("go", "w").close()
        self.assertEqual(call.ended().stdout, "done\n")

    def test_a_child_does_not_keep_the_parents_server(self):
        pid = server_pid()
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(writes)
            os.read(reads, 1)
            os._exit(0)
        os.close(reads)
        abatis.close()
        self.assertFalse(is_alive(pid))
        self.assertTrue(is_alive(child))
        os.close(writes)
        os.waitpid(child, 0)

    def test_a_stream_of_the_parent_is_an_error_in_the_child(self):
        def use(stream):
            try:
                list(stream)
            except abatis.ServerError:
                return 7
            return 8

        with abatis.stream(["sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo done"]) as stream:
            self.assertEqual(self.in_child(lambda: use(stream)), 7)
            open("go", "w").close()
            self.assertEqual([piece.text for piece in stream], ["done\n"])


class End(Scratch):
    SCRIPT = """
import os, sys, threading, time, abatis
from abatis import _pool
word, end = sys.argv[1:]
abatis.run(["true"])
if word:
    threading.Thread(target=abatis.run, args=(["sh", "-c", "sleep 600 & wait", word],), daemon=True).start()
print(next(iter(_pool.pool.shared.values())).process.pid, flush=True)
sys.stdin.read()
if end == "_exit":
    os._exit(0)
"""

    def ends(self, word, end):
        with python(self.SCRIPT, word, end, stdin=subprocess.PIPE) as child:
            server = int(child.stdout.readline())
            if word:
                self.eventually(lambda: alive(word))
            self.assertTrue(is_alive(server))
            if end == "kill":
                child.kill()
            child.stdin.close()
            child.wait(PATIENCE)
            self.eventually(lambda: not is_alive(server))
            if word:
                # The interpreter itself has the word, too; it has ended.
                self.eventually(lambda: not alive(word))

    def test_the_server_ends_with_the_interpreter(self):
        for end in ("exit", "_exit", "kill"):
            self.ends("", end)

    def test_what_runs_ends_with_the_interpreter(self):
        for end in ("exit", "_exit", "kill"):
            self.ends(unique(), end)


if __name__ == "__main__":
    unittest.main()
