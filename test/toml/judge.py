#!/usr/bin/python3
"""judge.py: runs a parser over the cases of toml-test, and judges each of them.

    judge.py PROGRAM FOLDER

Valid files must give the tree of the .json file beside them: numbers and times are compared by value, everything else
exactly. Invalid files must be refused with exit code 1 and one line that says where.

One thing is valid for TOML and refused here: a NUL that is written as an escape. No path, program or variable can hold
one, so a policy that has it cannot mean what it says. Such a file must be refused for that reason, and be read like any
other with U+0001 in the place of every NUL.
"""

import copy
import json
import math
import os
import re
import subprocess
import sys
import tempfile

TIMES = ("datetime", "datetime-local", "date-local", "time-local")


def value_of(kind, text):
    """What a tagged value means, so that two ways to write the same are equal."""
    if kind == "integer":
        return int(text)
    if kind == "float":
        number = float(text)
        return "nan" if math.isnan(number) else (number, math.copysign(1, number))
    if kind in TIMES:
        text = text.upper().replace(" ", "T")
        # Digits of a second that are zero say nothing, and neither does the sign of no offset.
        text = re.sub(r"(\.\d*?)0*(?=$|[Z+-])", r"\1", text)
        text = re.sub(r"\.(?=$|[Z+-])", "", text)
        return re.sub(r"[+-]00:00$", "Z", text)
    return text


def is_tagged(tree):
    return isinstance(tree, dict) and set(tree) == {"type", "value"} and isinstance(tree["type"], str)


def difference(wanted, have, place="the document"):
    """The first difference between two tagged trees in words, or None."""
    if is_tagged(wanted) and is_tagged(have):
        kinds = wanted["type"], have["type"]
        values = [value_of(tree["type"], tree["value"]) for tree in (wanted, have)]
        return None if kinds[0] == kinds[1] and values[0] == values[1] else f"{place}: {have} instead of {wanted}"
    if isinstance(wanted, dict) and isinstance(have, dict) and not is_tagged(wanted) and not is_tagged(have):
        for key in list(wanted) + list(have):
            if key not in wanted or key not in have:
                return f"{place}: {key!r} is only in one of them"
            found = difference(wanted[key], have[key], f"{place}.{key}")
            if found:
                return found
        return None
    if isinstance(wanted, list) and isinstance(have, list):
        if len(wanted) != len(have):
            return f"{place}: {len(have)} items instead of {len(wanted)}"
        for i, pair in enumerate(zip(wanted, have)):
            found = difference(*pair, f"{place}[{i}]")
            if found:
                return found
        return None
    return f"{place}: {have} instead of {wanted}"


def leaves(tree):
    if is_tagged(tree):
        yield tree
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, list):
        for item in tree:
            yield from leaves(item)


def texts(tree):
    if isinstance(tree, dict):
        yield from tree
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from texts(item)
    if isinstance(tree, str):
        yield tree


def judge_nul(program, path):
    why = judge_invalid(program, path, "a NUL in a text")
    if why:
        return why
    with tempfile.TemporaryDirectory() as scratch:
        for end in (".toml", ".json"):
            with open(path[: -len(".toml")] + end, encoding="utf-8", newline="") as file:
                text = file.read().replace("\\u0000", "\\u0001").replace("\\U00000000", "\\U00000001")
            with open(os.path.join(scratch, "twin" + end), "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return judge_valid(program, os.path.join(scratch, "twin.toml"))


def judge_valid(program, path):
    with open(path[: -len("toml")] + "json", encoding="utf-8") as file:
        wanted = json.load(file)
    if any("\0" in text for text in texts(wanted)):
        return judge_nul(program, path)
    run = subprocess.run([program, path], capture_output=True, check=False)
    if run.returncode != 0:
        return f"exit code {run.returncode}: {run.stderr.decode(errors='replace')}"
    have = json.loads(run.stdout)
    # A comparison that overlooks another value proves nothing.
    for i, _ in enumerate(leaves(wanted)):
        other = copy.deepcopy(wanted)
        leaf = list(leaves(other))[i]
        leaf["value"] = {"integer": "77", "float": "7.75"}.get(leaf["type"], leaf["value"] + "7")
        if not difference(other, have):
            return f"value {i} is not compared"
    return difference(wanted, have)


def judge_invalid(program, path, reason=""):
    run = subprocess.run([program, path], capture_output=True, check=False)
    said = run.stderr.decode(errors="replace")
    if run.returncode != 1:
        return f"exit code {run.returncode}: {said}"
    if not re.fullmatch(re.escape(path) + r":[1-9]\d*:[1-9]\d*: .+\n", said):
        return f"no place in the message: {said}"
    if reason not in said:
        return f"refused for another reason: {said}"
    return "refused, and printed" if run.stdout else None


def main():
    program, folder = sys.argv[1:]
    passed = failed = files = 0
    for kind, judge in (("valid", judge_valid), ("invalid", judge_invalid)):
        for parent, folders, names in os.walk(os.path.join(folder, kind)):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(parent, name)
                files += 1
                if not name.endswith(".toml"):
                    continue
                title = os.path.relpath(path, folder)[: -len(".toml")]
                why = judge(program, path)
                passed, failed = passed + (not why), failed + bool(why)
                why = " ".join(why.split()) if why else ""
                print(f"not ok {title} - {why}" if why else f"ok {title}")
    print(f"# {passed + failed} documents were judged, of {files} files")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
