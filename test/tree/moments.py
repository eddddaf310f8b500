"""moments.py: SIGKILL of abatis, of init, of the command or of the program that embeds them, at random moments of a launch.

Nobody of the job may be left, no mount, no file; and the audit log must hold, and say what happened. TREE_SEED and
TREE_COUNT choose other moments, and how many."""
import concurrent.futures
import json
import os
import random
import signal
import subprocess
import time

import lib

SEED = int(os.environ.get("TREE_SEED", "1"))
COUNT = int(os.environ.get("TREE_COUNT", "500"))
LATEST = 0.003  # seconds after the start
SHAPES = {"plain": [], "captured": ["--json"], "terminal": ["--pty"], "tool": ["--preset", "tool"],
          "strict": ["--preset", "strict", "--exec", lib.PROGRAMS], "timed": ["--timeout", "20s"]}
LETTERS = {"plain": "-", "captured": "c", "terminal": "p", "fed": "i"}


class Round:
    def __init__(self, chance, number, identities):
        self.marker = f"moment{os.getpid()}m{number}"
        self.word = f"{self.marker}host"
        self.identity = chance.choice([identity for identity in identities for _ in range(2 + (identity.name == "user"))])
        self.victim = chance.choice(["abatis", "abatis", "init", "command", "embedder", "init of embedder",
                                     "command of embedder"])
        # Without a PID namespace init is an ordinary process, and who kills it takes on its work.
        if self.identity.name == "none":
            self.victim = self.victim.replace("init", "command")
        self.is_embedded = "embedder" in self.victim
        self.shape = chance.choice(sorted(LETTERS if self.is_embedded else SHAPES))
        # Who accepts less finds out first what there is, which takes its time.
        self.moment = chance.uniform(0, LATEST * (4 if self.identity.name == "none" else 1))

    def __str__(self):
        return f"{self.victim} after {self.moment * 1e3:.2f} ms as {self.identity.name}, {self.shape}"

    def start(self):
        command = [f"{lib.PROGRAMS}/kinds", "proof", self.marker]
        if not self.is_embedded:
            return self.identity.run(SHAPES[self.shape], command)
        letters = LETTERS[self.shape] + ("b" if self.identity.name == "none" else "")
        command[2] += "@"
        return self.identity.start([f"{lib.PROGRAMS}/embedder", self.word, "finish", letters, *command],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def find_victim(self, process):
        """Its number, or None while there is none."""
        if self.victim in ("abatis", "embedder"):
            return process.pid
        init = children_of(process.pid)
        if self.victim.startswith("init"):
            return init[0] if init else None
        command = children_of(init[0]) if init else []
        return command[0] if command else None

    def strike(self, process):
        time.sleep(self.moment)
        end = time.monotonic() + 0.05
        victim = self.find_victim(process)
        while not victim and time.monotonic() < end and process.poll() is None:
            victim = self.find_victim(process)
        try:
            if victim:
                os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def run(self):
        """None, or what is wrong."""
        process = self.start()
        problem = None
        try:
            self.strike(process)
            if self.is_embedded:
                problem = self.finish_embedder(process)
            process.wait(lib.PATIENCE)
        except subprocess.TimeoutExpired:
            problem = "it did not come back"
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()
        grace = lib.GRACE if self.victim in ("abatis", "embedder") else 0
        for word in self.marker, self.word:
            left = lib.remaining(word, grace)
            if left and not problem:
                problem = f"still alive: {lib.describe(left)}"
        return problem and f"{self}: {problem}"

    def finish_embedder(self, process):
        with open(self.identity.path(f"act-{self.word}"), "w"):
            pass
        said = process.stdout.readline().decode()
        process.stdin.close()
        process.wait(lib.PATIENCE)
        os.unlink(self.identity.path(f"act-{self.word}"))
        return None if self.victim == "embedder" or said == "acted\n" else f"it said: {said}"


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def records_of(identity):
    path = f"{identity.state}/abatis/audit.jsonl"
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    records = []
    for line in lines:
        try:
            records.append(json.loads(line))
        except ValueError:
            pass  # a torn line; whether it may be there is verify's to say
    return records


def read_proof(identity):
    """Who has begun, and who has ended."""
    found = {"began": set(), "ended": set()}
    if os.path.exists(identity.path("proof")):
        with open(identity.path("proof")) as file:
            for line in file:
                what, marker = line.split()
                found[what].add(marker)
        os.unlink(identity.path("proof"))
    return found


def check_log(identity, rounds, proof):
    records = records_of(identity)
    name = identity.name
    if records is None:
        lib.skip(f"log_of_{name}_says_what_happened", "there is no log")
        return
    verify = identity.start([lib.ABATIS, "audit", "verify"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = verify.communicate(timeout=lib.PATIENCE)[0].decode()
    lib.report(f"log_of_{name}_is_whole_after_all_that", None if verify.returncode == 0 else said[-300:])
    markers = {}
    for record in records:
        if record["event"] == "planned":
            markers[record["id"]] = record["argv"][-1]
    planned = set(markers.values())
    unplanned = sorted(proof["began"] - planned)
    lib.report(f"every_command_of_{name}_that_ran_was_planned", ", ".join(unplanned[:5]) or None)
    victims = {one.marker: one.victim for one in rounds}
    lies = []
    for record in records:
        marker = markers.get(record.get("id"))
        if record["event"] == "refused" and marker in proof["began"]:
            lies.append(f"{marker} was refused, and ran")
        if record["event"] != "finished" or marker not in victims:
            continue
        if "exit_code" in record and (record["exit_code"] != 7 or marker not in proof["ended"]):
            lies.append(f"{marker} ({victims[marker]}) did not end with {record['exit_code']}")
        if "signal" in record and victims[marker] in ("abatis", "embedder"):
            lies.append(f"{marker} ({victims[marker]}) was not ended by signal {record['signal']}")
    lib.report(f"log_of_{name}_has_no_end_that_did_not_happen", "; ".join(lies[:3]) or None)
    finished = sum(record["event"] == "finished" for record in records)
    print(f"# {name}: {len(rounds)} rounds, {len(proof['began'])} commands began, {len(proof['ended'])} ended by "
          f"themselves, {len(planned)} were planned, {finished} finished", flush=True)


def main():
    identities = lib.identities()
    chance = random.Random(SEED)
    print(f"# TREE_SEED={SEED} TREE_COUNT={COUNT}", flush=True)
    before = lib.mounts()
    rounds = [Round(chance, number, identities) for number in range(COUNT)]
    if not lib.wanted("moments"):
        rounds = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        problems = [problem for problem in pool.map(Round.run, rounds) if problem]
    for victim in sorted({one.victim for one in rounds}):
        mine = [problem for problem in problems if problem.startswith(f"{victim} after")]
        lib.report(f"sigkill_of_{victim.replace(' ', '_')}_at_any_moment_leaves_nobody", "; ".join(mine[:3]) or None)
    for identity in identities if rounds else []:
        mine = [one for one in rounds if one.identity is identity]
        proof = read_proof(identity)
        # Or nothing was tried: some must have come so far, and some must not.
        lib.report(f"moments_of_{identity.name}_were_before_and_after_the_start",
                   None if 0 < len(proof["began"]) < len(mine) else f"{len(proof['began'])} of {len(mine)} began")
        check_log(identity, mine, proof)
        left = os.listdir(identity.workspace) + identity.left_behind()
        lib.report(f"no_file_is_left_by_{identity.name}", ", ".join(left[:5]) or None)
    lib.report("no_mount_is_left_by_the_dead", None if lib.mounts() == before else "the mounts have changed")
    for identity in identities:
        identity.done()
    lib.end()


main()
