"""Ways out of the directories that a module was given: each is tried on the engine alone, and in the sandbox, where nothing outside may be seen
or touched whatever the engine thinks of it."""
import hashlib
import json
import os
import subprocess

from lib import ABATIS, expect, main
from skills import bare, each_engine, module, skill, write


def make_world(top):
    """inside/, to write, and second/, to read, have links of all kinds out to outside/."""
    outside = f"{top}/outside"
    for name in ("inside/sub/deep", "second", "outside/empty"):
        os.makedirs(f"{top}/{name}")
    write(f"{outside}/secret.txt", "secret of outside")
    os.symlink("secret.txt", f"{outside}/link")
    write(f"{top}/inside/own.txt", "own")
    write(f"{top}/second/given.txt", "given")
    for name, target in (("file", "../outside/secret.txt"), ("out", "../outside"), ("absolute", outside), ("chain", "out"),
                         ("dangling", "../outside/created.txt"), ("proc", "/proc/self"), ("dev", "/dev"), ("root", "/"), ("sub/up", "../..")):
        os.symlink(target, f"{top}/inside/{name}")


def look(directory):
    """All that can be seen of a tree."""
    seen = {}
    for path, directories, files in os.walk(directory):
        for name in directories + files:
            entry = f"{path}/{name}"
            status = os.lstat(entry)
            text = os.readlink(entry) if os.path.islink(entry) else ""
            if os.path.isfile(entry) and not text:
                with open(entry, "rb") as file:
                    text = hashlib.sha256(file.read()).hexdigest()
            seen[entry[len(directory):]] = (status.st_mode, status.st_nlink, status.st_size if not os.path.isdir(entry) else 0, status.st_mtime_ns, text)
    return seen


def attempts():
    done = skill(None, "escape", "list")
    return done.stdout.decode().split()


def result_of(done, name):
    expect(done.returncode == 0, f"{name}: {done}")
    return json.loads(done.stdout)["result"]


def no_attempt_gets_out(workspace, engine):
    """Judged by what the module says, and by what outside looks like afterwards."""
    escaped = []
    for number, name in enumerate(attempts()):
        top = f"{workspace}/{number}"
        make_world(top)
        before = (look(f"{top}/outside"), look(f"{top}/second"))
        result = result_of(skill(engine, "escape", name, f"{top}/outside", flags=["--write", f"{top}/inside", "--read", f"{top}/second"]), name)
        if result.startswith("LEAK"):
            escaped.append(f"{name}: {result}")
        if (look(f"{top}/outside"), look(f"{top}/second")) != before:
            escaped.append(f"{name}: outside is changed ({result})")
    expect(not escaped, "; ".join(escaped))


def most_attempts_would_get_out_of_the_engine_alone(workspace, engine):
    """The control: they are real."""
    escaped = []
    for number, name in enumerate(attempts()):
        top = f"{workspace}/{number}"
        make_world(top)
        done = bare(engine, "escape", name, f"{top}/outside", places=[(f"{top}/inside", True), (f"{top}/second", False)])
        if done.returncode == 0 and json.loads(done.stdout)["result"].startswith("LEAK"):
            escaped.append(name)
    print(f"# {engine} alone lets {len(escaped)} of {len(attempts())} out: {' '.join(escaped)}")
    expect(len(escaped) >= 10, f"only {escaped}")


def nothing_but_the_engine_is_in_view(workspace, engine):
    """Links to the root: what does not exist inside cannot be told from what does not exist outside."""
    os.makedirs(f"{workspace}/inside")
    os.symlink("/", f"{workspace}/inside/root")
    flags = ["--write", f"{workspace}/inside"]
    seen = []
    for path in ("etc/passwd", "etc/hostname", "home", "root", "proc/self/environ", "proc/1/status", "proc/version", "sys/kernel", "dev/null", "dev/shm",
                 "run", "boot", "bin/sh", "usr/bin/env", "usr/share", "tmp", os.path.realpath(f"{workspace}/..")[1:] + "/other"):
        done = skill(engine, "files", "size", f"{workspace}/inside/root/{path}", flags=flags)
        # /tmp is there, and what is masked, and have nothing in them.
        if done.returncode == 0 and (done.stdout.startswith(b"file") or
                                     skill(engine, "files", "list", f"{workspace}/inside/root/{path}", flags=flags).stdout):
            seen.append(path)
    expect(not seen, f"{seen} can be seen")
    expect(os.path.exists("/etc/passwd") and os.path.exists("/proc/self/environ"), "the control: they are there")


TESTS = [no_attempt_gets_out, most_attempts_would_get_out_of_the_engine_alone, nothing_but_the_engine_is_in_view]
# A native program lets nobody out by itself either: native.sh.
main([test for every in TESTS for test in each_engine(every) if test.__name__ != "most_attempts_would_get_out_of_the_engine_alone_on_native"])
