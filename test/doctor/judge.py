"""judge.py: what doctor --test --json must say.

  judge.py good REPORT REFUSED...      everything is held, or refused where REFUSED names it: "backend:clause"; with a "?" it is one of both
  judge.py bad REPORT CLAUSE...        these are not held: in the backend native, or in the one that is named: "bwrap:clause"
  judge.py complete REPORT MISSED SOURCE...
                                       what REPORT says is held is among the CLAUSEs of MISSED, a line each, and every clause that the
                                       SOURCEs, plan.c and keys.c, know has a row
  judge.py rows REPORT COLUMN          lines for $BUILD/verified: clause, column, verdict; COLUMN stands for native
"""

import json
import re
import sys

# Every clause that there is a case for.
CLAUSES = """
filesystem.read|filesystem.write|filesystem.execute|filesystem.deny|filesystem.deny of what is absent|filesystem.deny of a pattern
filesystem.protect|filesystem.tmp private|network.mode deny|network.mode unix-only|network.mode list|network.connect|network.unix|network.bind
network.abstract none|process.commands|process.check_arguments|process.fork|process.system_calls|process.executable_memory|process.privacy|process.privacy, names too|process.lifetime
process.ipc|process.devices|process.terminal|process.privileges|process.kernel|process.descriptors|environment
limits.open_files|limits.file_size|limits.processes|limits.memory|limits.cpu|limits.written|limits.timeout|limits.output
limits.connections|limits.connections_per_second|limits.traffic|session shared
""".strip().replace("\n", "|").split("|")

# What is left out here shows in what others hold: a loopback that is missing is no door.
NEVER_MISSED = {"network.loopback", "bwrap:network.loopback"}
# Names that lead here are refused, and others need name servers and a network.
WITHOUT_CASE = {"network.verify_sni"}

# Where the ways do not tell it, but how the command ended.
BY_THE_END = {"limits.memory", "limits.cpu", "limits.written", "limits.timeout", "limits.output", "process.check_arguments", "process.lifetime"}


def problems_of(report, refused):
    tests = report["tests"]
    for backend in {row["backend"] for row in tests} - {"none"}:
        rows = {row["clause"]: row for row in tests if row["backend"] == backend}
        for clause in CLAUSES:
            row = rows.get(clause)
            wanted = "refused" if f"{backend}:{clause}" in refused else "held"
            if row and f"{backend}:{clause}?" in refused:
                wanted = "held" if row["verdict"] == "held" else "refused"
            if not row:
                yield f"{backend} has no row {clause}"
            elif row["verdict"] != wanted:
                yield f"{backend} {clause} is {row['verdict']} instead of {wanted}: {row['reason']}"
            elif wanted == "refused" and not row["reason"]:
                yield f"{backend} {clause} is refused without a reason"
        for clause, row in rows.items():
            if clause not in CLAUSES and clause != "network.loopback":
                yield f"{backend} has a row {clause}: {row['reason']}"
            if row["verdict"] == "held" and not is_proven(row):
                yield f"{backend} {clause} is held, and no way has shown that"
    control = [row for row in tests if row["backend"] == "none"]
    if not 20 <= sum(row["verdict"] == "open" for row in control):
        yield "in the backend none most is closed, too"


def is_of(clause, key):
    return re.match(re.escape(key) + r"\b(?!_)", clause) is not None


def gaps_of(report, missed, source):
    rows = [row for row in report["tests"] if row["backend"] != "none"]
    for row in rows:
        name = row["clause"] if row["backend"] == "native" else f"{row['backend']}:{row['clause']}"
        if row["verdict"] == "held" and name not in missed and name not in NEVER_MISSED:
            yield f"nobody has left out what holds {name}"
    keys = set(re.findall(r'add_(?:clause|exceptions)\(plan, CLAUSE_\w+, (?:\w+, )?"([a-z._]+)"', source))
    keys |= set(re.findall(r'"(limits\.[a-z_]+)"', source))
    if len(keys) < 30:
        yield "the table of clauses is not what it was"
    for key in sorted(keys):
        if key not in WITHOUT_CASE and not any(is_of(row["clause"], key) for row in rows):
            yield f"there is no case for {key}"


def is_proven(row):
    worked = [way for way in row["ways"] if way["outside"] == "done"]
    if row["clause"] in BY_THE_END:
        return bool(worked)
    return bool(worked) and all((way["inside"] == "done") == way["must_work"] and way["inside"] != "no answer" for way in worked)


def main():
    command, report = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    if command == "good":
        found = list(problems_of(report, sys.argv[3:]))
        print("; ".join(found[:5]))
        sys.exit(bool(found))
    if command == "bad":
        verdicts = {f"{row['backend']}:{row['clause']}": row["verdict"] for row in report["tests"]}
        wrong = [name for name in sys.argv[3:] if verdicts.get(name if name.startswith("bwrap:") else "native:" + name) != "not held"]
        print("held after all: " + ", ".join(wrong))
        sys.exit(bool(wrong))
    if command == "complete":
        missed, *sources = (open(path, encoding="utf-8").read() for path in sys.argv[3:])
        found = list(gaps_of(report, missed.splitlines(), "".join(sources)))
        print("; ".join(found))
        sys.exit(bool(found))
    for row in report["tests"]:
        if row["backend"] != "none" and row["clause"] != "what is allowed":
            column = sys.argv[3] if row["backend"] == "native" else row["backend"]
            print(row["clause"], column, row["verdict"], sep="\t")


main()
