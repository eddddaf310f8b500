#!/usr/bin/env python3
"""helper.py: what the shell cannot do for the tests: adopt orphans, aim signals, hold a terminal, read JSON,
go deeper than a path leads."""
import base64
import ctypes
import errno
import fcntl
import json
import os
import pty
import random
import select
import signal
import subprocess
import sys
import termios
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """From here on every process that outlives its parent becomes a child of this one: nothing can hide."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("prctl(PR_SET_CHILD_SUBREAPER) failed")


def wait_until_childless(seconds):
    """Reaps every child, adopted ones too; the command lines of those alive after the time are returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if pid == 0:
            time.sleep(0.005)
    left = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                parent = int(stat.read().rsplit(b")", 1)[1].split()[1])
            if parent == os.getpid():
                left.append(f"{name} {open(f'/proc/{name}/comm').read().strip()}")
        except (OSError, ValueError, IndexError):
            continue
    return left or ["a child that is not in /proc"]


def start(argv, **options):
    """Signals that the shell made a background job ignore are put back first."""

    def reset():
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(argv, preexec_fn=reset, **options)


def exit_like(status):
    """subprocess reports death by a signal as a negative number; the shell adds it to 128."""
    return 128 - status if status < 0 else status


def finish(process, seconds):
    """The exit code; 255 and a line when the process does not end in time or leaves another behind."""
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        print(f"still running after {seconds} s", file=sys.stderr)
        return 255
    left = wait_until_childless(5)
    if left:
        print("left behind: " + ", ".join(left), file=sys.stderr)
        return 255
    return exit_like(status)


def cmd_alone(argv):
    """alone SECONDS CMD...: runs it; fails when it takes longer or when anything outlives it."""
    adopt_orphans()
    return finish(start(argv[1:]), float(argv[0]))


def cmd_signal(argv):
    """signal NAME CMD...: sends the signal to CMD alone once it has printed the line 'ready'."""
    adopt_orphans()
    process = start(argv[1:], stdout=subprocess.PIPE)
    line = process.stdout.readline()
    if line != b"ready\n":
        print(f"first line was {line!r}", file=sys.stderr)
        return 255
    process.send_signal(getattr(signal, "SIG" + argv[0]))
    if argv[0] != "KILL":
        sys.stdout.buffer.write(process.stdout.read())
        sys.stdout.flush()
    return finish(process, 20)


def cmd_kill_at_random(argv):
    """kill-at-random TIMES CMD...: SIGKILLs CMD somewhere between its start and well into the run."""
    adopt_orphans()
    times, command = int(argv[0]), argv[1:]
    random.seed(os.getpid())
    for turn in range(times):
        process = start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Start-up takes a few milliseconds: most kills fall inside it, one in four after it.
        time.sleep(random.uniform(0, 0.006) if turn % 4 else random.uniform(0.006, 0.06))
        process.kill()
        process.wait()
        left = wait_until_childless(5)
        if left:
            print(f"kill {turn} left behind: " + ", ".join(left), file=sys.stderr)
            return 255
    return 0


def cmd_terminal(argv):
    """terminal INPUT CMD...: runs CMD on a terminal of its own; INPUT is typed after it printed 'ready'."""
    adopt_orphans()
    typed = argv[0].encode().decode("unicode_escape").encode()
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    process = subprocess.Popen(argv[1:], stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)
    os.close(slave)
    seen, end = b"", time.monotonic() + 20
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            seen += os.read(master, 4096)
        except OSError:
            break
        if typed and b"ready" in seen:
            os.write(master, typed)
            typed = b""
    sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
    sys.stdout.flush()
    return finish(process, 10)


def cmd_unread(argv):
    """unread SIGNAL SECONDS CMD...: nobody reads CMD's stdout; SIGNAL, unless it is '-', is sent after a second."""
    adopt_orphans()
    read_end, write_end = os.pipe()
    process = start(argv[2:], stdout=write_end)
    os.close(write_end)
    if argv[0] != "-":
        time.sleep(1)
        process.send_signal(getattr(signal, "SIG" + argv[0]))
    code = finish(process, float(argv[1]))
    os.close(read_end)
    return code


def cmd_nonblocking(argv):
    """nonblocking CMD...: CMD's stdout is a pipe that never blocks, as Node.js makes them; it is read late."""
    adopt_orphans()
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    process = start(argv, stdout=write_end)
    os.close(write_end)
    time.sleep(0.5)
    while data := os.read(read_end, 65536):
        sys.stdout.buffer.write(data)
    sys.stdout.flush()
    return finish(process, 20)


def cmd_json(argv):
    """json FILE EXPRESSION: FILE is one object of strict UTF-8 JSON, and EXPRESSION over r is true."""

    def no_duplicates(pairs):
        names = [name for name, _ in pairs]
        if len(set(names)) != len(names):
            raise ValueError(f"a key occurs twice in {names}")
        return dict(pairs)

    with open(argv[0], "rb") as file:
        data = file.read()
    try:
        r = json.loads(data.decode("utf-8"), object_pairs_hook=no_duplicates)
    except ValueError as error:
        print(f"not JSON ({error}): {data[:200]!r}")
        return 1
    try:
        # The expression is the test's own text and may span lines. One scope, so that its inner functions see r.
        if eval(f"({argv[1]}\n)", {"r": r, "json": json, "base64": base64}):
            return 0
        print(f"{argv[1]}: false of {json.dumps(r)[:400]}")
    except (LookupError, TypeError, ValueError) as error:
        print(f"{argv[1]}: {error!r} of {json.dumps(r)[:400]}")
    return 1


def cmd_too_long(argv):
    """too-long SHORT-NAME CMD...: CMD with as many arguments as the kernel lets it have."""

    def attempt(length):
        # Arguments of 100 bytes: one alone would meet the limit of a single string first.
        words = ["x" * 99] * (length // 100) + ["x" * (length % 100)]
        try:
            return subprocess.run(argv + words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        except OSError as error:
            if error.errno == 7:
                return None
            raise

    low, high = 1000, 8 << 20
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(middle) is None:
            high = middle
        else:
            low = middle
    result = attempt(low)
    sys.stdout.buffer.write(result.stdout)
    sys.stderr.buffer.write(result.stderr)
    return exit_like(result.returncode)


DEEP_NAMES = [f"{number:0200d}" for number in range(40)]


def go_deep(base):
    os.chdir(base)
    for name in DEEP_NAMES:
        os.chdir(name)


def cmd_deep(arguments):
    """Makes a directory that no path shorter than 8,000 bytes leads to, with two files and a link; prints the path."""
    os.makedirs(arguments[0], exist_ok=True)
    os.chdir(arguments[0])
    for name in DEEP_NAMES:
        os.makedirs(name, exist_ok=True)
        os.chdir(name)
    for name in ("one", "two"):
        with open(name, "w") as file:
            file.write(name)
    if not os.path.lexists("link"):
        os.symlink("one", "link")
    print("/".join([arguments[0], *DEEP_NAMES]))
    return 0


def cmd_go_deep(arguments):
    """Runs a command there."""
    go_deep(arguments[0])
    os.execvp(arguments[1], arguments[1:])


def cmd_look_deep(arguments):
    """Says what can be done with the two files there, and whether another can be made. Nothing that exists is changed."""

    def attempt(word, name, flags):
        try:
            os.close(os.open(name, flags, 0o600))
            return word
        except OSError as error:
            return errno.errorcode[error.errno]

    try:
        go_deep(arguments[0])
    except OSError as error:
        print(errno.errorcode[error.errno])
        return 0
    for name in ("one", "two"):
        print(name, attempt("read", name, os.O_RDONLY), attempt("written", name, os.O_WRONLY | os.O_APPEND))
    made = attempt("made", "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    if made == "made":
        os.unlink("new")
    print("new", made)
    return 0


COMMANDS = {
    "alone": cmd_alone,
    "signal": cmd_signal,
    "kill-at-random": cmd_kill_at_random,
    "terminal": cmd_terminal,
    "unread": cmd_unread,
    "nonblocking": cmd_nonblocking,
    "json": cmd_json,
    "too-long": cmd_too_long,
    "deep": cmd_deep,
    "go-deep": cmd_go_deep,
    "look-deep": cmd_look_deep,
}

if __name__ == "__main__":
    sys.exit(COMMANDS[sys.argv[1]](sys.argv[2:]))
