"""bombs.py: a bomb in one sandbox, while the job in the next finishes with the right answer.

Each bomb says when it has met its limit; that is the control. The limits that this machine cannot enforce for somebody are
counted as skipped."""
import hashlib
import json
import os
import signal
import subprocess

import lib

SIZE = 50 * 1000 * 1000
BOMBS = {
    "forks": ["--processes", "64"],
    "memory": ["--memory", "64MiB"],
    "descriptors": ["--open-files", "64"],
    "disk": ["--file-size", "1MiB"],
    "flood": ["--json", "--max-output", "1MiB"],
}


class Work:
    """Honest work beside the bomb: a sum over 50 MB, and a program that is compiled and run."""

    def __init__(self, identity):
        self.identity = identity
        self.place = f"{identity.top}/beside"
        os.mkdir(self.place)
        os.chown(self.place, identity.uid, identity.uid)
        block = bytes(range(256)) * 3906 + bytes(64)
        with open(f"{self.place}/data", "wb") as file:
            for _ in range(SIZE // len(block)):
                file.write(block)
        with open(f"{self.place}/data", "rb") as file:
            self.sum = hashlib.sha256(file.read()).hexdigest()
        with open(f"{self.place}/answer.c", "w") as file:
            file.write('#include <stdio.h>\nint main(void) { puts("forty-two"); return 0; }\n')

    def do(self):
        """None, or what is wrong."""
        script = "sha256sum data && TMPDIR=$PWD cc -o answer answer.c && ./answer && rm answer"
        process = self.identity.run(["--timeout", "20s"], ["sh", "-c", script], cwd=self.place, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=40)
        if process.returncode or out.decode().split() != [self.sum, "data", "forty-two"]:
            return f"the job beside it ended with {process.returncode}: {(out + err).decode()[-300:]}"
        return None


def is_enforced(identity, flags):
    explain = identity.start([lib.ABATIS, "explain", *identity.flags, *[flag for flag in flags if flag != "--json"]],
                             stdout=subprocess.PIPE)
    out = explain.communicate(timeout=lib.PATIENCE)[0]
    lines = [line for line in out.decode().splitlines() if line.strip().startswith("limits.")]
    return explain.returncode == 0 and lines and not any("NOT ENFORCED" in line for line in lines)


def ready(identity, marker):
    return os.path.exists(identity.path(f"ready-{marker}"))


def set_off(identity, work, bomb, flags):
    marker = f"bomb{os.getpid()}{bomb}{identity.name}"
    command = [f"{lib.PROGRAMS}/kinds", bomb, marker]
    with open(f"{identity.top}/said", "wb") as said:
        process = identity.run([*flags, "--timeout", "25s"], command, stdout=said)
    try:
        # A limit of the whole tree's memory ends the bomb; the others hold it.
        ends = bomb == "memory"
        if not lib.until(lambda: ready(identity, marker) or (ends and process.poll() is not None), 15):
            return f"the control failed: it never met its limit: exit {process.poll()}"
        problem = work.do()
        if problem:
            return problem
        if bomb == "memory":
            process.wait(lib.PATIENCE)
            return "it was not held" if ready(identity, marker) else None
        if bomb == "flood":
            return judge_flood(identity, process)
        if process.poll() is not None:
            return f"the bomb was over before: {process.returncode}"
        process.kill()
        process.wait()
        left = lib.remaining(marker, lib.GRACE)
        return f"still alive: {lib.describe(left)}" if left else None
    finally:
        process.kill()
        process.wait()
        for pid in lib.find(marker):
            os.kill(pid, signal.SIGKILL)
        for name in os.listdir(identity.workspace):
            os.unlink(identity.path(name))


def judge_flood(identity, process):
    code = process.wait(25)
    with open(f"{identity.top}/said") as file:
        result = json.load(file)
    if code or not result["truncated"] or len(result["stdout"]) > 2 * 1024 * 1024:
        return f"exit {code}, {len(result['stdout'])} bytes"
    return None


def mount_small(identity):
    """A small disk for the filler; without the right to mount, what the limit of a file leaves to it."""
    if os.getuid() or not os.environ.get("TREE_PRIVATE_MOUNTS"):
        return False
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=8m,mode=755,uid={identity.uid},gid={identity.uid}", "tmpfs",
                    identity.workspace], check=True)
    return True


def main():
    for identity in lib.identities():
        work = Work(identity)
        lib.report(f"job_beside_nothing_works_as_{identity.name}", work.do())
        for bomb, flags in BOMBS.items():
            name = f"bomb_of_{bomb}_leaves_the_job_beside_it_alone_as_{identity.name}"
            if not lib.wanted(name):
                continue
            if not is_enforced(identity, flags):
                lib.skip(name, f"{' '.join(flags)} cannot be enforced here")
                continue
            is_mounted = bomb == "disk" and mount_small(identity)
            if bomb == "disk" and not is_mounted:
                lib.skip(name, "nothing can be mounted here")
                continue
            lib.report(name, set_off(identity, work, bomb, flags))
            if is_mounted:
                subprocess.run(["umount", identity.workspace], check=True)
        identity.done()
    lib.end()


main()
