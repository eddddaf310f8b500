"""The common ground of the tests of process trees: identities, scratch directories, who is alive, counting."""
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

USER = 4747
GRACE = 1.0     # seconds after SIGKILL of abatis, or of the program that embeds it, until nobody of the job exists
PATIENCE = 20.0  # seconds that anything else may take before it counts as hanging

PROGRAMS = os.environ["TREE_PROGRAMS"]  # kinds, enter, embedder, abatis
ABATIS = f"{PROGRAMS}/abatis"
counts = {"passed": 0, "failed": 0, "skipped": 0}
lock = threading.Lock()


def report(name, problem=None):
    with lock:
        counts["failed" if problem else "passed"] += 1
        print(f"not ok {name} - {problem}" if problem else f"ok {name}", flush=True)


def skip(name, why):
    with lock:
        counts["skipped"] += 1
        print(f"skip {name} - {why}", flush=True)


def wanted(name):
    return not sys.argv[1:] or any(part in name for part in sys.argv[1:])


def end():
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts), flush=True)
    sys.exit(counts["failed"] != 0)


def words_of(pid):
    """The arguments of a process. A leader that has ended before its threads has none itself."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
        if not words:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/cmdline", "rb") as file:
                    words = words or file.read()
    except OSError:
        return []
    return words.split(b"\0")


finder = ctypes.CDLL(f"{PROGRAMS}/find.so")


def find(word, program=None):
    """Processes that have the word among their arguments, and were started as the program if one is named."""
    pids = (ctypes.c_int * 256)()
    count = finder.find(word.encode(), program and program.encode(), pids, len(pids))
    return list(pids[:min(count, len(pids))])


def until(is_true, seconds, pause=0.003):
    stop = time.monotonic() + seconds
    while not (answer := is_true()):
        if time.monotonic() > stop:
            return answer
        time.sleep(pause)
    return answer


def remaining(word, grace, program=None):
    """Who is still there when the time is over. A process in the middle of its exec has no arguments for a moment, so
    that nobody is there is seen twice."""
    stop = time.monotonic() + grace
    while True:
        left = find(word, program)
        if not left:
            time.sleep(0.003)
            left = find(word, program)
        if not left or time.monotonic() >= stop:
            return left
        time.sleep(0.005)


def describe(pids):
    texts = []
    for pid in pids[:5]:
        try:
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()
            texts.append(f"{pid} (state {state[0]}, child of {state[1]}) {b' '.join(words_of(pid)[:3]).decode()}")
        except OSError:
            pass
    return "; ".join(texts)


def owner(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def mounts():
    with open("/proc/self/mountinfo") as file:
        return file.read()


class Identity:
    """Who starts the job, and with what: `root`, `user`, or `none`: a user without user namespaces."""

    def __init__(self, name, before=()):
        self.name = name
        self.uid = 0 if name == "root" else USER if os.getuid() == 0 else os.getuid()
        self.prefix = [*before] + ([] if name == "root" else [f"{PROGRAMS}/enter", str(self.uid), name.split("_")[0]])
        self.flags = ["--best-effort"] if name.startswith("none") else []
        self.top = tempfile.mkdtemp(prefix=f"abatis-tree-{name}.", dir="/var/tmp")
        self.workspace, self.tmp, self.home = (f"{self.top}/{part}" for part in ("work", "tmp", "home"))
        self.state = f"{self.top}/state"
        os.chmod(self.top, 0o755)
        for path in (self.workspace, self.tmp, self.home, self.state):
            os.mkdir(path)
            os.chown(path, self.uid, self.uid)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.tmp, "LANG": "C.UTF-8",
                            "XDG_STATE_HOME": self.state}

    def start(self, command, **options):
        options.setdefault("cwd", self.workspace)
        for stream in ("stdin", "stdout", "stderr"):
            options.setdefault(stream, subprocess.DEVNULL)
        return subprocess.Popen(self.prefix + command, env=self.environment, **options)

    def run(self, flags, command, **options):
        return self.start([ABATIS, "run", *self.flags, *flags, "--", *command], **options)

    def path(self, name):
        return f"{self.workspace}/{name}"

    def left_behind(self):
        """What lies in the places of the job that nobody put there on purpose."""
        left = [f"$TMPDIR/{name}" for name in os.listdir(self.tmp)] + [f"$HOME/{name}" for name in os.listdir(self.home)]
        for top, _, names in os.walk(self.state):
            left += [f"{top}/{name}" for name in names if not name.startswith(("audit", ".audit"))]
        return left

    def done(self):
        shutil.rmtree(self.top)


# A /proc that shows nobody whom its reader may not look into.
HIDING = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=invisible proc /proc && exec "$@"', "sh"]


def works(identity):
    with identity.run([], ["true"], stderr=subprocess.PIPE) as process:
        message = process.communicate(timeout=PATIENCE)[1].decode()
    return None if process.returncode == 0 else message.strip() or f"exit {process.returncode}"


def is_possible(identity):
    """Whether this machine lets anybody be that; what abatis makes of it is another question."""
    command = ["unshare", "--user", "true"] if identity.name == "user" else ["true"]
    with identity.start(["/usr/bin/env", *command]) as process:
        return process.wait(PATIENCE) == 0


def identities():
    """Each that there can be here; the others are counted as skipped."""
    found = []
    for name in ["root", "user", "none"] if os.getuid() == 0 else ["user", "none"]:
        identity = Identity(name)
        possible = is_possible(identity)
        problem = works(identity) if possible else None
        if problem:
            report(f"abatis_runs_as_{name}", problem)
        elif not possible:
            skip(f"everything_as_{name}", "user namespaces are not allowed")
        if problem or not possible:
            identity.done()
        else:
            found.append(identity)
    return found
