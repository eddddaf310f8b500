"""The common ground of the tests of the server: starting one, asking it, who is alive, counting."""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

TOP = os.environ["SERVER_TOP"]
ABATIS = f"{TOP}/bin/abatis"
PATIENCE = 60  # seconds that anything may take before it counts as hanging
counts = {"passed": 0, "failed": 0, "skipped": 0}


class Skip(Exception):
    """Why a test gives no verdict."""


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def eventually(condition, message):
    end = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < end, message)
        time.sleep(0.01)


def main(tests):
    """Runs functions, each with an empty workspace; their names are the facts."""
    parts = [part for part in sys.argv[1:] if not part.isdigit()]
    for test in tests:
        name = test.__name__
        if parts and not any(part in name for part in parts):
            continue
        workspace = tempfile.mkdtemp(prefix="ws-", dir=f"{TOP}/scratch")
        os.chmod(workspace, 0o755)
        os.chdir(workspace)
        try:
            test(workspace)
            counts["passed"] += 1
            print(f"ok {name}", flush=True)
        except Skip as why:
            counts["skipped"] += 1
            print(f"skip {name} - {why}", flush=True)
        except Exception as why:
            counts["failed"] += 1
            where = traceback.extract_tb(why.__traceback__)[-1].lineno if not isinstance(why, AssertionError) else ""
            print(f"not ok {name} - {type(why).__name__} {where} {str(why)[:400]}".replace("\n", " "), flush=True)
        finally:
            os.chdir(TOP)
            shutil.rmtree(workspace, ignore_errors=True)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts), flush=True)
    sys.exit(counts["failed"] != 0)


class Talk:
    """Lines of JSON, both ways."""

    def __init__(self, reads, writes):
        self.reads, self.writes, self.bytes = reads, writes, b""

    def send_bytes(self, data):
        while data:
            data = data[os.write(self.writes, data):]

    def send(self, *requests):
        self.send_bytes(b"".join(json.dumps(request).encode() + b"\n" for request in requests))

    def line(self):
        """The next one, or None at the end."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.bytes:
            expect(select.select([self.reads], [], [], max(0, end - time.monotonic()))[0], "no reply")
            data = os.read(self.reads, 1 << 20)
            if not data:
                return None
            self.bytes += data
        line, self.bytes = self.bytes.split(b"\n", 1)
        return line

    def reply(self):
        line = self.line()
        expect(line is not None, "the server has ended")
        return json.loads(line)

    def ask(self, **request):
        self.send(request)
        reply = self.reply()
        expect(reply.get("id") == request.get("id"), f"reply {reply} to {request}")
        return reply

    def run(self, *command, **keys):
        keys.setdefault("id", 1)
        reply = self.ask(method="run", command=list(command), **keys)
        expect("result" in reply, f"{command}: {reply}")
        return reply["result"]


class Server(Talk):
    """One over pipes, unless it has a socket."""
    verb = "serve"

    def __init__(self, *arguments, wrapper=(), **keys):
        self.process = subprocess.Popen([*wrapper, ABATIS, self.verb, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **keys)
        self.pid = self.process.pid
        super().__init__(self.process.stdout.fileno(), self.process.stdin.fileno())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def hang_up(self):
        self.process.stdin.close()
        self.process.stdin = open(os.devnull, "wb")

    def ends(self):
        """Its exit code, what it had left to say, and what it complained of."""
        rest = []
        while (line := self.line()) is not None:
            rest.append(json.loads(line))
        code = self.process.wait(PATIENCE)
        return code, rest, self.process.stderr.read().decode()

    def memory(self, field="VmRSS"):
        """KiB that it has in memory now; or of another field, such as VmHWM: the most that it ever had."""
        with open(f"/proc/{self.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(field))

    def children(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            return file.read().split()

    def keepers(self):
        """How many sandboxes are prepared: their keepers are in no PID namespace of their own."""
        count = 0
        for pid in self.children():
            try:
                with open(f"/proc/{pid}/status") as file:
                    count += any(line.startswith("NSpid:") and len(line.split()) == 2 for line in file)
            except OSError:
                pass
        return count


class Caller(Talk):
    """A client of a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        super().__init__(self.socket.fileno(), self.socket.fileno())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def listens(path):
    try:
        with Caller(path):
            return True
    except OSError:
        return False


def listening(path, *arguments, **keys):
    """A server at a socket, from when it answers."""
    server = Server("--socket", path, *arguments, **keys)
    eventually(lambda: listens(path) or server.process.poll() is not None, "it does not listen")
    return server


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


def lasting(word):
    """A command that stays, and can be found by this word."""
    return ["sh", "-c", "sleep 600 & wait", word]


def waits_for(name):
    """A script that ends when there is a file of this name."""
    return f"until [ -e {name} ]; do sleep 0.02; done"


def grew_by_less_than(most, server, before, field="VmRSS"):
    # A sanitizer keeps what was freed, to see who still uses it.
    expect(server.memory(field) - before < most or "ASAN_OPTIONS" in os.environ, f"{before} KiB became {server.memory(field)} KiB")


unique_count = 0


def unique():
    global unique_count
    unique_count += 1
    return f"abatis-test-{os.getpid()}-{unique_count}"
