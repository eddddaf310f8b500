#!/usr/bin/env python3
"""verified.py: the table in the README that says of each clause and backend how it was verified, from what the tests have found out.

  script/verified.py write BUILD     puts it into the README
  script/verified.py check BUILD     says as tests whether the README claims what the tests of this build have found out

Suites write BUILD/verified/*.tsv: a line "# " with the machine it was found out on, then lines CLAUSE, BACKEND, VERDICT, HOW with tabs
between them. HOW is one of the words below, VERDICT held, refused, untested or "not held". Files that are older than BUILD/abatis are of another one.

  here.tsv      test/doctor: doctor --test on this machine          vm.tsv        test/kernel: the same on other kernels
  profile.tsv   test/seatbelt: profiles and an evaluator            compiled.tsv  test/golden: plans of other systems
  wine.tsv      test/windows: what wine can show

On another machine than the table was made on, less may be held and more: then it is only asked that what is claimed is not broken.
"""

import os
import re
import sys

BEGIN, END = "<!-- verified: script/verified.py writes this -->", "<!-- verified: end -->"
# Strongest first. A cell has all that were run; if none was, the first of the others.
HOWS = {
    "here": "run by `make test` on {}",
    "VM": "run by `make test-kernel` in qemu, on {}",
    "wine": "run under {}",
    "profile": "compiled, and what it allows compared with `abatis check` by {}; not run on a Mac",
    "compiled": "the plan claims it ({}), and nobody has run it",
}
RUN = ("here", "VM", "wine")
COLUMNS = ["native", "native, as root", "native, no namespaces", "bwrap", "seatbelt", "appcontainer"]
CLAUSES = """
filesystem.read|filesystem.write|filesystem.execute|filesystem.deny|filesystem.deny of what is absent|filesystem.deny of a pattern
filesystem.protect|filesystem.tmp private|network.mode deny|network.loopback|network.mode unix-only|network.mode list|network.connect|network.unix|network.bind
network.abstract none|process.commands|process.check_arguments|process.fork|process.system_calls|process.executable_memory|process.privacy|process.privacy, names too|process.lifetime
process.ipc|process.devices|process.terminal|process.privileges|process.kernel|process.descriptors|environment
limits.open_files|limits.file_size|limits.processes|limits.memory|limits.cpu|limits.written|limits.timeout|limits.output
limits.connections|limits.connections_per_second|limits.traffic|session shared
""".strip().replace("\n", "|").split("|")


def read_evidence(build):
    """{(clause, column): {how: {verdicts}}} and {how: machine}."""
    evidence, machines = {}, {}
    folder = os.path.join(build, "verified")
    built = os.path.getmtime(os.path.join(build, "abatis"))
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        path = os.path.join(folder, name)
        if not name.endswith(".tsv") or os.path.getmtime(path) < built:
            continue
        with open(path, encoding="utf-8") as file:
            machine = file.readline().strip("# \n")
            for line in file:
                words = line.rstrip("\n").split("\t")
                if len(words) != 4 or words[1] not in COLUMNS or words[3] not in HOWS:
                    raise SystemExit(f"{path}: not clause, backend, verdict and how: {line!r}")
                clause, column, verdict, how = words
                machines[how] = machine
                evidence.setdefault((clause, column), {}).setdefault(how, set()).add(verdict)
    return evidence, machines


def cell(found):
    """What a cell of the table says."""
    held = [how for how in HOWS if "held" in found.get(how, ())]
    if any("not held" in verdicts for verdicts in found.values()):
        return "**NOT HELD**"
    if any(how in RUN for how in held):
        return ", ".join(how + (" in part" if "refused" in found[how] else "") for how in held if how in RUN)
    if held:
        return held[0]
    return "refused" if any("refused" in verdicts for verdicts in found.values()) else "–"


def make_table(evidence, machines):
    columns = [column for column in COLUMNS if any(key[1] == column for key in evidence)]
    lines = ["| clause | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for clause in CLAUSES:
        cells = [cell(evidence.get((clause, column), {})) for column in columns]
        lines.append(f"| {clause} | " + " | ".join(cells) + " |")
    lines.append("")
    for how, words in HOWS.items():
        if how in machines:
            lines.append(f"* {how}: " + words.format(machines[how]))
    lines.append("* in part: refused on some of the machines where it was run, as in Docker")
    lines.append("* refused: by name, with the reason, and nothing runs; on other machines it may be held")
    return "\n".join(lines) + "\n"


def split_readme(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    match = re.search(f"(?s)(.*{re.escape(BEGIN)}\n)(.*?)({re.escape(END)}.*)", text)
    if not match:
        raise SystemExit(f"{path} has no place for the table")
    return match.groups()


def read_table(text):
    """The same as read_evidence() has it, as far as a table tells."""
    claims, machines, columns = {}, {}, []
    for line in text.splitlines():
        cells = [part.strip() for part in line.strip("|").split("|")]
        legend = re.match(r"\* (\w+): (.*)", line)
        if line.startswith("| clause |"):
            columns = cells[1:]
        elif line.startswith("| "):
            for column, said in zip(columns, cells[1:]):
                claims[cells[0], column] = {word for word in said.replace(" in part", "").split(", ") if word in HOWS}
        elif legend and legend[1] in HOWS:
            words = re.escape(HOWS[legend[1]]).replace(r"\{\}", "(.*)")
            machine = re.fullmatch(words, legend[2])
            machines[legend[1]] = machine[1] if machine else ""
    return claims, machines


def find_problems(how, evidence, claims, is_same):
    """What the table says of one way to verify, and this build has not found out."""
    for key in sorted(set(evidence) | set(claims)):
        verdicts = evidence.get(key, {}).get(how, set())
        is_claimed, name = how in claims.get(key, ()), f"{key[1]}: {key[0]}"
        is_hidden = how not in RUN and any(other in cell(evidence.get(key, {})) for other in HOWS if other != how)
        if "not held" in verdicts:
            yield f"{name} is not held"
        elif is_claimed and not verdicts and any(how in found for other, found in evidence.items() if other[1] == key[1]):
            yield f"{name} is claimed, and was not tried"
        # Who is not root has tried nothing as root.
        elif is_claimed and verdicts and "held" not in verdicts and is_same:
            yield f"{name} is claimed, and was not seen"
        elif "held" in verdicts and not is_claimed and is_same and key[0] in CLAUSES and not is_hidden:
            yield f"{name} was seen, and the README does not say so: script/verified.py write"


def check(build, readme):
    evidence, machines = read_evidence(build)
    claims, claimed_machines = read_table(split_readme(readme)[1])
    passed = failed = skipped = 0
    for how in HOWS:
        name = f"the_readme_claims_what_was_found_out_by_{how}"
        if how not in machines and how not in claimed_machines:
            continue
        if how not in machines:
            print(f"skip {name} - this build has not been tested so")
            skipped += 1
            continue
        is_same = machines[how] == claimed_machines.get(how)
        problems = list(find_problems(how, evidence, claims, is_same))
        if how not in claimed_machines:
            problems.append("the README says nothing of it: script/verified.py write")
        if problems:
            print(f"not ok {name} - " + "; ".join(problems[:5]))
            failed += 1
        else:
            print(f"ok {name}" + ("" if is_same else f" # on another machine: {machines[how]}"))
            passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed == 0


def main():
    readme = os.environ.get("README", os.path.join(os.path.dirname(__file__), "..", "README.md"))
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        raise SystemExit(__doc__)
    if sys.argv[1] == "check":
        sys.exit(not check(sys.argv[2], readme))
    before, _, after = split_readme(readme)
    text = before + make_table(*read_evidence(sys.argv[2])) + after
    with open(readme, "w", encoding="utf-8") as file:
        file.write(text)


main()
