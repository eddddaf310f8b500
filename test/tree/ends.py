"""ends.py: every kind of process tree and every way that a job can end: nobody is left.

Where abatis, or abatis_job_finish(), comes back by itself, nobody may be left at that moment. After SIGKILL of it a second
is allowed. That the tree was there, and could be found, is seen before each end."""
import concurrent.futures
import contextlib
import itertools
import os
import random
import signal
import subprocess
import threading

import lib

KINDS = ["foreground", "daemon", "session", "double_fork", "ignoring", "blocking", "stopped", "in_vfork", "leaderless",
         "restarting", "chain", "bomb", "subreaper", "undumpable", "traced", "renamed", "closed"]
SMALLEST = {"foreground": 1, "subreaper": 3, "traced": 3, "in_vfork": 3, "closed": 1, "queueing": 1}
BEATING = ("chain", "bomb")  # members live too short to be found for certain; a file grows as long as there is one
SIGNALS = {"term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP}
CLI_ENDS = ["exit", "timeout", "term", "int", "hup", "kill", "kill_of_the_group"]
NESTED_ENDS = ["exit", "timeout", "kill"]
EMBEDDED_ENDS = ["finish", "thread", "kill", "kill_in_thread", "abort", "segv", "exit", "exec"]
number = itertools.count(1)


class Tree:
    """One job, from its start until nobody of it is left."""

    def __init__(self, identity, kind):
        self.identity, self.kind = identity, kind
        self.marker = f"tree{os.getpid()}m{next(number)}"
        self.command = [f"{lib.PROGRAMS}/kinds", kind, self.marker]

    def file(self, what):
        return self.identity.path(f"{what}-{self.marker}")

    def make(self, what):
        with open(self.file(what), "w"):
            pass

    def stands(self, process):
        """None when the whole tree is there, or what is wrong."""
        if not lib.until(lambda: os.path.exists(self.file("ready")) or process.poll() is not None, lib.PATIENCE):
            return "the tree never stood"
        if self.kind in BEATING:
            return None if lib.until(self.beats, 5) else "the control failed: no file grows"
        least = SMALLEST.get(self.kind, 2)
        if not lib.until(lambda: len(lib.find(self.marker, "/kinds")) >= least, 5):
            found = lib.find(self.marker, "/kinds")
            return f"the control failed: {len(found)} of {least} processes were found: exit {process.poll()}"
        return None

    def beats(self):
        if self.kind not in BEATING:
            return False
        before = os.stat(self.file("beat")).st_size
        lib.time.sleep(0.03)
        return os.stat(self.file("beat")).st_size != before

    def survivors(self, grace):
        left = lib.remaining(self.marker, grace)
        if left:
            return f"still alive: {lib.describe(left)}"
        return "a file still grows" if self.beats() else None

    def clean(self, *more):
        for pid in lib.find(self.marker):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for name in [f"{what}-{self.marker}" for what in ("ready", "go", "beat")] + list(more):
            try:
                os.unlink(self.identity.path(name))
            except OSError:
                pass


def wait(process):
    try:
        return process.wait(lib.PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def expected_code(tree, end):
    if end == "exit":
        return {0}
    if end == "timeout":
        return {124}
    if end.startswith("kill"):
        return {-9}
    # A command that ignores the signal is killed in the end, by SIGTERM's patience; closed pipes have nobody to tell.
    return {128 + SIGNALS[end], 137}


def end_cli(identity, kind, end, flags):
    tree = Tree(identity, kind)
    try:
        timeout = ["--timeout", "1500ms"] if end == "timeout" else []
        process = identity.run([*flags, *timeout], tree.command, start_new_session=True)
        problem = tree.stands(process)
        if problem:
            process.kill()
            process.wait()
            return problem
        if end == "exit":
            tree.make("go")
        elif end == "kill":
            process.kill()
        elif end == "kill_of_the_group":
            os.killpg(process.pid, signal.SIGKILL)  # what timeout(1) and many supervisors do
        elif end in SIGNALS:
            process.send_signal(SIGNALS[end])
        code = wait(process)
        if code is None:
            return "abatis did not come back"
        problem = tree.survivors(lib.GRACE if end.startswith("kill") else 0)
        if not problem and code not in expected_code(tree, end):
            problem = f"abatis ended with {code}"
        return problem
    finally:
        tree.clean()


def end_embedded(identity, kind, end, letters=""):
    tree = Tree(identity, kind)
    word = f"{tree.marker}host"
    letters += "b" if identity.name == "none" else "-"
    # Not among the host program's own arguments: it may live on.
    process = identity.start([f"{lib.PROGRAMS}/embedder", word, end, letters, *tree.command[:2], tree.marker + "@"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        problem = tree.stands(process)
        if problem:
            process.kill()
            return f"{problem}: {process.stdout.read().decode()}"
        with open(identity.path(f"act-{word}"), "w"):
            pass
        lives = end in ("finish", "thread")
        said = process.stdout.readline().decode() if lives else ""
        if lives:
            problem = tree.survivors(0)
            if not problem and said != "acted\n":
                problem = f"it said: {said}"
        else:
            wait(process)
            problem = tree.survivors(lib.GRACE)
        process.stdin.close()
        wait(process)
        left = lib.remaining(word, lib.GRACE)
        return problem or (f"of the host program: {lib.describe(left)}" if left else None)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        tree.clean(f"act-{word}")


def end_nested(identity, kind, end):
    """In a sandbox in a sandbox: the inner one has no namespaces and must end its tree while the outer one goes on."""
    tree = Tree(identity, kind)
    script = f'"$@"; echo $? >code-{tree.marker}; exec sleep 20'
    inner = [lib.ABATIS, "run", "--no-audit", "--best-effort", *(["--timeout", "1500ms"] if end == "timeout" else [])]
    process = identity.run(["--no-audit", "--no-loopback"], ["sh", "-c", script, "sh", *inner, "--", *tree.command])
    try:
        problem = tree.stands(process)
        if problem:
            return problem
        if end == "exit":
            tree.make("go")
        elif end == "kill":
            # The host program of the inner sandbox is the only child of the shell.
            os.kill(children_of(children_of(children_of(process.pid)[0])[0])[0], signal.SIGKILL)
        if not lib.until(lambda: os.path.exists(tree.file("code")), lib.PATIENCE):
            return "the inner abatis did not come back"
        left = lib.remaining(tree.marker, lib.GRACE if end == "kill" else 0, "/kinds")
        if process.poll() is not None:
            return "the outer abatis was over before"
        return f"still alive: {lib.describe(left)}" if left else None
    finally:
        process.kill()
        process.wait()
        lib.remaining(tree.marker, lib.GRACE)
        tree.clean(f"code-{tree.marker}")


def finish_at_once(identity, kind):
    tree = Tree(identity, kind)
    process = identity.start([f"{lib.PROGRAMS}/embedder", f"{tree.marker}host", "finish_at_once",
                              "b" if identity.name == "none" else "-", *tree.command[:2], tree.marker + "@"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        said = process.communicate(timeout=lib.PATIENCE)[0].decode()
        return tree.survivors(0) or (None if said == "acted\n" else said[:300])
    finally:
        process.kill()
        process.wait()
        tree.clean()


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def is_endless(kind, end):
    """What by design goes on: a command that ignores SIGINT or SIGHUP."""
    return kind == "ignoring" and end in ("int", "hup")


def special_cases(identities):
    """A sandbox in a sandbox, and a /proc that hides: cases for init's own sweep."""
    for identity in identities:
        for kind, end in itertools.product(KINDS, NESTED_ENDS if identity.name == "user" else []):
            yield f"{kind}_in_an_inner_sandbox_is_gone_after_{end}", end_nested, (identity, kind, end)
    for identity in identities:
        for kind, end in itertools.product(KINDS, CLI_ENDS if identity.name == "none_behind_hidepid" else []):
            if not is_endless(kind, end):
                yield f"{kind}_is_gone_after_{end}_as_{identity.name}", end_cli, (identity, kind, end, [])


def all_cases(identities):
    for identity in identities:
        if identity.name == "none_behind_hidepid":
            continue
        for kind in KINDS:
            for end in CLI_ENDS:
                if is_endless(kind, end):
                    continue
                yield f"{kind}_is_gone_after_{end}_as_{identity.name}", end_cli, (identity, kind, end, [])
                if kind in ("daemon", "ignoring", "stopped", "bomb") or end == "kill":
                    yield (f"{kind}_on_a_terminal_is_gone_after_{end}_as_{identity.name}", end_cli,
                           (identity, kind, end, ["--pty"]))
            for end in EMBEDDED_ENDS:
                yield f"{kind}_is_gone_after_{end}_of_its_host_program_as_{identity.name}", end_embedded, (identity, kind, end)
        yield f"job_that_is_finished_at_once_did_not_exit_as_{identity.name}", finish_at_once, (identity, "ignoring")
        for end in EMBEDDED_ENDS:
            for letters, what in ("p", "on_a_terminal"), ("c", "with_captured_output"):
                yield (f"daemon_{what}_is_gone_after_{end}_of_its_host_program_as_{identity.name}", end_embedded,
                       (identity, "daemon", end, letters))


def main():
    identities = lib.identities()
    if os.environ.get("TREE_PRIVATE_MOUNTS") and any(identity.name == "none" for identity in identities):
        identities.append(lib.Identity("none_behind_hidepid", lib.HIDING))
    before = lib.mounts()
    cases = [case for case in (*all_cases(identities), *special_cases(identities)) if lib.wanted(case[0])]
    # What takes long by design comes first, so that the others fill the time; of these no two alike stand together.
    random.Random(1).shuffle(cases)
    cases.sort(key=lambda case: (not ("ignoring" in case[0] and "term" in case[0]), "timeout" not in case[0]))

    # A crowd of bombs would measure the machine.
    few, many = threading.Semaphore(2), contextlib.nullcontext()

    def run(case):
        name, function, arguments = case
        try:
            with few if arguments[1] in BEATING else many:
                lib.report(name, function(*arguments))
        except Exception as problem:  # a broken test is a failed one
            lib.report(name, f"{type(problem).__name__}: {problem}")

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        list(pool.map(run, cases))
    # Alone, because it takes from all processes of its user.
    for identity in identities:
        for end in ("exit", "timeout", "kill"):
            name = f"queueing_is_gone_after_{end}_as_{identity.name}"
            if lib.wanted(name):
                run((name, end_cli, (identity, "queueing", end, [])))
    for identity in identities:
        left = os.listdir(identity.workspace) + identity.left_behind()
        lib.report(f"nothing_is_left_in_the_directories_of_{identity.name}", ", ".join(left[:9]) or None)
        identity.done()
    lib.report("no_mount_is_left", None if lib.mounts() == before else "the mounts have changed")
    lib.end()


main()
