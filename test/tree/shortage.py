"""shortage.py: launches for which something is short: one clear error or a command that runs, nothing in between."""
import os
import subprocess
import time

import lib

SHAPES = {"plain": [], "captured": ["--json"], "on_a_terminal": ["--pty"]}
MANY_FILES = ["Too many open files", "No file descriptors available"]  # glibc's words, musl's words
MARKER = f"shortage{os.getpid()}"
NOTHING = [f"{lib.PROGRAMS}/kinds", "nothing", MARKER]


def judge(process, reasons):
    """What came of a run: True when the command ran, False when it was refused as it should be, or what is wrong."""
    try:
        err = process.communicate(timeout=lib.PATIENCE)[1].decode()
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "it did not end"
    if process.returncode == 0:
        return True
    if process.returncode != 125:
        return f"it ended with {process.returncode}: {err[:200]}"
    if not err.startswith("abatis: ") or err.count("\n") != 1:
        return f"it said: {err[:300]!r}"
    if not any(reason in err for reason in reasons):
        return f"no reason is given: {err[:300]}"
    return False


def limited(identity, limit, flags=(), command=NOTHING):
    return identity.start(["/usr/bin/prlimit", limit, lib.ABATIS, "run", *identity.flags, *flags, "--", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def others(identity):
    """Who else of that user is there: they count too."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and lib.owner(pid) == identity.uid]


def beside(identity):
    return lib.describe(others(identity))


def count_others(identity):
    """Those that earlier tests have killed are waited for by PID 1, which may take its time."""
    for _ in range(100):
        if not others(identity):
            break
        time.sleep(0.1)
    return len(others(identity))


def is_monotonous(identity, name, answers):
    """Refused as long as there is too little, then never again; both must have been seen."""
    wrong = [f"{limit}: {answer}" for limit, answer in answers if not isinstance(answer, bool)]
    plain = [answer for _, answer in answers]
    if not wrong and (True not in plain or False not in plain):
        wrong = ["all worked" if True in plain else f"all were refused; beside them: {beside(identity) or 'nobody'}"]
    if not wrong and plain != sorted(plain):
        wrong = ["what was enough was too little later"]
    lib.report(name, "; ".join(wrong[:3]) or None)


def test_descriptors(identity):
    for shape, flags in SHAPES.items():
        name = f"launch_{shape}_with_every_number_of_descriptors_as_{identity.name}"
        if lib.wanted(name):
            is_monotonous(identity, name, [(count, judge(limited(identity, f"--nofile={count}:{count}", flags),
                                                         MANY_FILES)) for count in range(3, 64)])


def test_processes(identity):
    name = f"launch_with_every_number_of_processes_as_{identity.name}"
    # Whoever started the tests has others beside them, and how many changes: then it is few, or as many as there may be.
    is_shared = identity.uid == os.getuid()
    enough = 4 if is_shared else 9 + count_others(identity)
    limits = [f"--nproc={count}:{count}" for count in range(1, enough)]
    if is_shared:
        limits.append("--core=0:0")
    if identity.uid and lib.wanted(name):
        is_monotonous(identity, name, [(limit, judge(limited(identity, limit), ["Resource temporarily unavailable"]))
                                       for limit in limits])


def least_memory():
    """In KiB. With less the kernel cannot even start abatis, or let its stack grow, and says so itself."""
    for size in range(1024, 4096, 64):
        limit = f"--as={size * 1024}:{size * 1024}"
        if not subprocess.run(["prlimit", limit, lib.ABATIS, "--version"], capture_output=True).returncode:
            return size + 64
    return 4096


def test_memory(identity):
    name = f"launch_with_little_memory_as_{identity.name}"
    if lib.wanted(name):
        answers = [(size, judge(limited(identity, f"--as={size * 1024}:{size * 1024}"),
                                ["Cannot allocate memory", "Out of memory", "out of memory"]))
                   for size in range(least_memory(), 4096, 64)]
        wrong = [f"{size} KiB: {answer}" for size, answer in answers if not isinstance(answer, bool)]
        if not wrong and not answers[-1][1]:
            wrong = ["4 MiB are too little"]
        lib.report(name, "; ".join(wrong[:3]) or None)


def test_working_directory(identity):
    name = f"launch_in_a_directory_that_is_gone_as_{identity.name}"
    if not lib.wanted(name):
        return
    gone = f"{identity.workspace}/gone"
    os.mkdir(gone)
    os.chown(gone, identity.uid, identity.uid)
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    process = identity.start(["/bin/sh", "-c", script, "sh", gone, lib.ABATIS, "run", *identity.flags, "--", *NOTHING],
                             stderr=subprocess.PIPE)
    answer = judge(process, ["No such file or directory"])
    lib.report(name, None if answer is False else f"{answer}")


def fill(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        while True:
            os.write(fd, bytes(4096))
    except OSError:
        os.close(fd)


def test_full_disk(identity):
    """In a mount namespace of the tests' own: see run.sh."""
    names = [f"launch_with_a_full_{what}_as_{identity.name}" for what in ("tmp", "log", "workspace")]
    if os.getuid() or not os.environ.get("TREE_PRIVATE_MOUNTS"):
        for name in names:
            lib.skip(name, "nothing can be mounted here")
        return
    for name, path in zip(names, ("/tmp", identity.state, identity.workspace)):
        if not lib.wanted(name):
            continue
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,mode=1777,uid={identity.uid}", "tmpfs", path], check=True)
        try:
            fill(f"{path}/full")
            answer = judge(identity.run([], NOTHING, stderr=subprocess.PIPE), ["No space left on device"])
            wants_log = path == identity.state
            lib.report(name, None if answer is not wants_log else f"{answer}")
        finally:
            subprocess.run(["umount", path], check=True)


def test_host_program(identity):
    name = f"host_program_without_descriptors_as_{identity.name}"
    if not lib.wanted(name):
        return
    letters = "b" if identity.name == "none" else "-"
    process = identity.start([f"{lib.PROGRAMS}/starved", letters, *NOTHING], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    said = process.communicate(timeout=60)[0].decode()
    wrong = [line for line in said.splitlines() if not line.startswith("#")]
    if not wrong and (process.returncode or said.count("# shape") != 3):
        wrong = [f"exit {process.returncode}: {said[-200:]}"]
    lib.report(name, "; ".join(wrong[:4]) or None)
    for line in said.splitlines():
        if line.startswith("#"):
            print(f"{line} as {identity.name}", flush=True)


def main():
    for identity in lib.identities():
        before = lib.mounts()
        for test in (test_descriptors, test_processes, test_memory, test_working_directory, test_full_disk,
                     test_host_program):
            test(identity)
        left = lib.find(MARKER)
        lib.report(f"shortage_leaves_nobody_of_{identity.name}", lib.describe(left) or None)
        left = os.listdir(identity.workspace) + identity.left_behind()
        lib.report(f"shortage_leaves_no_file_of_{identity.name}", ", ".join(left[:5]) or None)
        lib.report(f"shortage_leaves_no_mount_of_{identity.name}",
                   None if lib.mounts() == before else "the mounts have changed")
        problem = lib.works(identity)
        lib.report(f"everything_works_again_as_{identity.name}", problem)
        identity.done()
    lib.end()


main()
