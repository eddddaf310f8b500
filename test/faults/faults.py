"""faults.py ABATIS [PART-OF-A-NAME...]: makes each system call of abatis fail in turn, with strace, and looks at what is left.

The command tries to read a secret and to write outside of its workspace, and writes inside. Whatever fails in abatis:
it ends soon and not by a signal, the command got nothing that it may not have, abatis says one line when it gives up,
and no process and no mount is left behind. A command that ran was written down before, and the audit log is whole. As
root, and as an ordinary user.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

USER = 4343
ERRORS = ["EACCES", "ENOMEM"]
DISK_ERRORS = ["EDQUOT", "ENOSPC"]
DISK_CALLS = {"write", "pwrite64", "openat", "ftruncate", "fdatasync", "mkdirat"}
# What fails here fails before there is an abatis, or after it.
LEFT_OUT = {"execve", "exit_group", "brk", "arch_prctl", "set_tid_address", "restart_syscall"}
# Bringing down what runs needs these; where even they fail, nothing is claimed but that nobody got out.
HOLDS_ONLY = {"ppoll", "epoll_pwait", "waitid"}
INSIDE_MAX = 24 # of one system call, rt_sigaction say
# Each of these is a part of what holds the command: without it, it does not run.
STEPS = {"capset", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "mkdirat",
         "mknodat", "mount", "mount_setattr", "move_mount", "open_tree", "prctl", "seccomp", "setsid", "unshare"}
SECRET = "the-secret"
DONE = "the-command-ran"

counts = {"passed": 0, "failed": 0, "skipped": 0}


def report(name, problem):
    counts["failed" if problem else "passed"] += 1
    print(f"not ok {name} - {problem}" if problem else f"ok {name}", flush=True)


class Scene:
    """A home with a secret, a workspace, and the ways to run abatis in it."""

    def __init__(self, abatis, uid, flags, stdin=None):
        self.root = tempfile.mkdtemp(prefix="abatis-faults.", dir="/var/tmp")
        self.abatis, self.uid, self.flags, self.stdin = abatis, uid, flags, stdin
        self.home = f"{self.root}/home"
        self.workspace = f"{self.root}/work"
        self.outside = f"{self.root}/outside"
        self.marker = os.path.basename(self.root)
        self.turn = 0
        for directory in (f"{self.home}/.ssh", f"{self.home}/.config/abatis", self.workspace, self.outside):
            os.makedirs(directory)
        self.write(f"{self.home}/.ssh/id", SECRET)
        self.write(f"{self.home}/letters", SECRET)
        self.write(f"{self.home}/.config/abatis/policy.yaml", "filesystem: {deny: ['~/letters']}\n")
        self.script = (f"cat {self.home}/.ssh/id {self.home}/letters; echo x >{self.outside}/file;"
                       f" echo y >inside; echo {DONE}")
        for directory, _, names in os.walk(self.root):
            for path in [directory] + [f"{directory}/{name}" for name in names]:
                os.chown(path, uid, uid)

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def environment(self):
        # Where the home cannot be looked at, the log is elsewhere.
        return {"HOME": self.home, "XDG_STATE_HOME": f"{self.home}/.local/state", "PATH": "/usr/bin:/bin", "ABATIS_FAULTS": self.marker}

    def run(self, tracer):
        """(exit code, output, errors, whether it ended by itself)."""
        self.turn += 1
        if os.path.exists(f"{self.workspace}/inside"):
            os.unlink(f"{self.workspace}/inside")
        command = tracer + [self.abatis, "run"] + self.flags + ["--", "sh", "-c", self.script, f"turn-{self.turn}"]

        def become():
            if os.getuid() == 0 and self.uid:
                os.setgroups([])
                os.setgid(self.uid)
                os.setuid(self.uid)

        process = subprocess.Popen(command, cwd=self.workspace, env=self.environment(), preexec_fn=become,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=30)
            return process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), True
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), False

    def survivors(self):
        """Processes of this scene, looked for until there are none, for two seconds."""
        found = []
        for _ in range(40):
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        if self.marker.encode() in file.read():
                            found.append(pid)
                except OSError:
                    pass
            if not found:
                break
            time.sleep(0.05)
        return found

    def events(self):
        """What the log says of the last run."""
        found, ids = [], set()
        try:
            with open(f"{self.home}/.local/state/abatis/audit.jsonl") as file:
                lines = file.readlines()[-40:]
        except FileNotFoundError:
            return found
        for record in map(json.loads, lines):
            if record.get("argv", [""])[-1] == f"turn-{self.turn}":
                ids.add(record["id"])
            if record.get("id") in ids:
                found.append((record["event"], record.get("exit_code")))
        return found

    def is_log_whole(self):
        verdict = subprocess.run([self.abatis, "audit", "verify"], env=self.environment(), capture_output=True)
        return verdict.returncode == 0, (verdict.stdout + verdict.stderr).decode(errors="replace")

    def judge(self, result, holds_only=False):
        """What is wrong with the result, or None."""
        code, out, err, ended = result
        if SECRET in out + err:
            return "the command read a secret"
        if os.path.exists(f"{self.outside}/file"):
            os.unlink(f"{self.outside}/file")
            return "the command wrote outside"
        left = self.survivors()
        for pid in left:
            os.kill(int(pid), 9)
        did_run, events = os.path.exists(f"{self.workspace}/inside"), self.events()
        if did_run and events[:1] != [("planned", None)]:
            return f"the command ran, and the log says {events}"
        if did_run and ("refused", None) in events:
            return f"the command ran, and the log says {events}"
        if not did_run and ("finished", 0) in events:
            return f"the command did not run, and the log says {events}"
        if holds_only:
            return None
        if not ended:
            return "it did not end"
        if left:
            return f"{len(left)} processes are left"
        if code < 0:
            return f"it died of signal {-code}: {err[:200]!r}"
        ran = DONE in out
        # The command may have been ended in the middle of a line of its own.
        said = [line for line in err.splitlines() if "abatis: " in line]
        if code == 0 and not ran:
            return f"exit code 0, but the command did not run: {err[:200]!r}"
        if not ran and len(said) != 1:
            return f"exit code {code} and {len(said)} lines of its own: {err[:200]!r}"
        return None

    def done(self):
        shutil.rmtree(self.root, ignore_errors=True)


def calls_of(scene):
    """How often each system call is made in a launch that nothing disturbs."""
    trace = f"{scene.workspace}/trace"
    code, out, err, _ = scene.run(["strace", "-o", trace])
    with open(trace) as file:
        names = [match[1] for match in map(re.compile(r"^(\w+)\(").match, file) if match]
    os.unlink(trace)
    return code, out, err, {name: names.count(name) for name in names}


def calls_inside(scene):
    """The same of init and of the command until its exec: of each the most that one of them makes."""
    trace = f"{scene.workspace}/trace"
    scene.run(["strace", "-f", "-o", trace])
    calls, ran = {}, set()
    with open(trace) as file:
        lines = file.readlines()
    parent = lines[0].split()[0]
    for line in lines:
        match = re.match(r"^(\d+) +(\w+)\(", line)
        if not match or match[1] == parent or match[1] in ran:
            continue
        if match[2] == "execve":
            ran.add(match[1])
            continue
        calls.setdefault(match[2], {}).setdefault(match[1], 0)
        calls[match[2]][match[1]] += 1
    os.unlink(trace)
    return {name: max(counted.values()) for name, counted in calls.items()}


def mounts():
    with open("/proc/self/mountinfo") as file:
        return file.read()


def inject(scene, role, wanted):
    code, out, err, calls = calls_of(scene)
    before = mounts()
    report(f"{role}_control_runs", None if code == 0 and DONE in out and SECRET not in out else f"{code}: {err}")
    for name, count in sorted(calls.items()):
        if name in LEFT_OUT:
            continue
        label = f"{role}_is_held_when_{name}_fails"
        if wanted and not any(part in label for part in wanted):
            continue
        problem = None
        for error in ERRORS + (DISK_ERRORS if name in DISK_CALLS else []):
            for when in range(1, count + 1):
                tracer = ["strace", "-o", "/dev/null", "-e", f"trace={name}", "-e",
                          f"inject={name}:error={error}:when={when}"]
                found = scene.judge(scene.run(tracer), name in HOLDS_ONLY)
                if found and not problem:
                    problem = f"{error} at call {when} of {count}: {found}"
        report(label, problem)
    report(f"{role}_leaves_no_mount", None if mounts() == before else "the mounts have changed")
    is_whole, said = scene.is_log_whole()
    report(f"{role}_leaves_a_log_that_is_whole", None if is_whole else said)


def inject_inside(scene, role, wanted):
    """A step of init or of the command that fails must not lead to a command that runs without it."""
    for name, count in sorted(calls_inside(scene).items()):
        label = f"{role}_is_held_when_{name}_fails_inside"
        if name in LEFT_OUT or wanted and not any(part in label for part in wanted):
            continue
        problem = None
        for when in range(1, min(count, INSIDE_MAX) + 1):
            # Of seccomp EINVAL is how an older kernel says that it does not know a flag: then it is asked again without.
            error = "EIO" if when > 1 or name == "seccomp" else "EINVAL"
            tracer = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:error={error}:when={when}"]
            result = scene.run(tracer)
            found = scene.judge(result, True) or (None if result[3] else "it did not end")
            if not found and name in STEPS and DONE in result[1]:
                found = "the command ran without it"
            if found and not problem:
                problem = f"at call {when} of {count}: {found}"
        report(label, problem)


def main():
    abatis, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not shutil.which("strace"):
        print("skip strace_is_not_installed - every test here needs it")
        counts["skipped"] += 1
    else:
        copy = tempfile.mkdtemp(prefix="abatis-faults-bin.", dir="/var/tmp")
        os.chmod(copy, 0o755)
        shutil.copy(abatis, f"{copy}/abatis")
        roles = [("root", 0), ("user", USER)] if os.getuid() == 0 else [("user", os.getuid())]
        shapes = [("", []), ("_captured", ["--json", "--timeout", "20s"])]
        for role, uid in roles:
            for suffix, flags in shapes:
                scene = Scene(f"{copy}/abatis", uid, flags)
                try:
                    inject(scene, role + suffix, wanted)
                    if not suffix:
                        inject_inside(scene, role, wanted)
                finally:
                    scene.done()
        shutil.rmtree(copy)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return counts["failed"] != 0


sys.exit(main())
