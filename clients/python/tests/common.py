"""The common ground of the tests: a scratch directory, who is alive, the server behind."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import abatis
from abatis import _pool

PATIENCE = 60  # seconds that anything may take before it counts as hanging


class Scratch(unittest.TestCase):
    """Each test has an empty directory."""

    def setUp(self):
        self.top = os.getcwd()
        self.workspace = tempfile.mkdtemp(prefix="ws-")
        os.chdir(self.workspace)

    def tearDown(self):
        os.chdir(self.top)
        shutil.rmtree(self.workspace, ignore_errors=True)

    def eventually(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not happen")
            time.sleep(0.01)


def server_pid():
    """Of the server for all, after it has been asked something."""
    abatis.run(["true"])
    (server,) = _pool.pool.shared.values()
    return server.process.pid


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def alive(word):
    """Processes whose command line has this word."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if word.encode() in words:
            found.append(int(pid))
    return found


_count = 0


def unique():
    global _count
    _count += 1
    return f"abatis-test-{os.getpid()}-{_count}"


def lasting(word):
    """A command that stays, and can be found by this word."""
    return ["sh", "-c", "sleep 600 & wait", word]


def python(script, *words, **keys):
    """Another interpreter, with this package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-B", "-c", script, *words], stdout=subprocess.PIPE, text=True, env=environment, **keys)
