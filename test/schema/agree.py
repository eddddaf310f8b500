#!/usr/bin/python3
"""agree.py: asks the schema and the parser about the same random documents; each must be taken or refused by both.

    agree.py BUILD-DIRECTORY COMMITTED-SCHEMA [COUNT [SEED]]

The parser is the library's, in this process. Not asked is what no schema can know: numbers with a fraction of zero (JSON
Schema calls 1.0 an integer), quantities in words that are too large, a NUL in a text, what lies in brackets and looks like an
address of IPv6, ranges that descend or do not begin at their first address, names and addresses that are nobody's, and the
formats of other tools.
"""

import copy
import ctypes
import json
import os
import random
import re
import sys
import tempfile

import jsonschema

INVALID = -1


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("os_errno", ctypes.c_int), ("message", ctypes.c_char * 1024)]


class Parser:
    """abatis_policy_convert() reads a file and looks at nothing else of the machine."""

    def __init__(self, build):
        self.abatis = ctypes.CDLL(os.path.join(build, "libabatis.so"))
        self.libc = ctypes.CDLL(None)
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.error = Error()

    def schema(self):
        text = ctypes.c_void_p()
        if self.abatis.abatis_policy_schema(ctypes.byref(text), ctypes.byref(self.error)) < 0:
            sys.exit(self.error.message.decode())
        result = ctypes.string_at(text.value).decode()
        self.libc.free(text)
        return result

    def takes(self, path):
        text = ctypes.c_void_p()
        code = self.abatis.abatis_policy_convert(path.encode(), ctypes.byref(text), ctypes.byref(self.error))
        self.libc.free(text)
        if code not in (0, INVALID):
            sys.exit(f"{path}: {self.error.message.decode()}")
        return code == 0

    def why(self):
        return self.error.message.decode(errors="replace")


def match_whole(validator, pattern, instance, _schema):
    """In JSON Schema "$" is the end of the text; in Python it may be followed by a newline."""
    if validator.is_type(instance, "string") and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


Validator = jsonschema.validators.extend(jsonschema.Draft7Validator, {"pattern": match_whole})

PATHS = ["/usr", "~/x", "all", "inherited", "${workspace}/a b", "**/.env", "relative", "\u20ac", {"path": "/[x]"}]
NAMES = ["A", "LC_*", "all", "none", "a-b.c", "\u00e9", "1", "inherited", "\t"]
HOSTS = ["a:1", "A.example.org.:443", "*.b:65535", "[::1]:80", "c:*", "inherited", "10.0.0.0/8:9", "[2001:db8::/32]:*", "*:80,443",
         "a_b.xn--p1ai:1-2,8000-8099/udp", "127.0.0.1:5432", "*.a-1.b:*/udp"]
WRONG_HOSTS = ["\u00e9:5", "-a:1", "a-:1", "a..b:1", ".a:1", "*a.b:1", "a.*.b:1", "**:1", "*.:1", "127.1:1", "0x7f000001:1", "1:1",
               "a.0x:1", "1.2.3.256:1", "01.2.3.4:1", "1.2.3.4/33:1", "1.2.3.4/:1", "1.2.3.4/08:1", "[::1]/128:1", "[::1:1", "[::/129]:1",
               "[1.2.3.4]:1", "[a]:1", "[::1%lo]:1", "a:1-", "a:-1", "a:1,", "a:,1", "a:1,,2", "a:1-65536", "a:*,1", "a:1/tcp", "a:1/udp/",
               "a:/udp", "a:1 ", "a\t:1", "https://a:1", "a@b:1", "a:" + ",".join(map(str, range(1, 34, 2))), "a" * 64 + ":1"]
SIZES = ["1", "512MiB", "2GiB", "007KB", "3B", "9TiB", 1, 4096, 4611686018427387903, "none"]
TIMES = ["30s", "500ms", "1m", "24h", "09s", "none"]
COUNTS = [1, 9, 256, 4611686018427387903, "none"]
RIGHT = {
    "version": lambda r: 1,
    "extends": lambda r: r.choice(["dev", "my-profile", [], ["dev"], ["a", "b", "c"]]),
    "filesystem.read": lambda r: some(r, PATHS),
    "filesystem.write": lambda r: some(r, PATHS),
    "filesystem.execute": lambda r: some(r, PATHS),
    "filesystem.deny": lambda r: some(r, PATHS),
    "filesystem.protect": lambda r: some(r, PATHS),
    "network.mode": lambda r: r.choice(["deny", "unix-only", "allow", "list"]),
    "network.connect": lambda r: some(r, HOSTS),
    "network.bind": lambda r: some(r, [1, 80, 8080, 65535, "inherited"]),
    "network.unix": lambda r: some(r, PATHS),
    "network.verify_sni": lambda r: r.choice([True, False]),
    "process.fork": lambda r: r.choice([True, False]),
    "process.system_calls": lambda r: r.choice(["usual", "few"]),
    "process.executable_memory": lambda r: r.choice([True, False]),
    "process.signals": lambda r: r.choice([True, False]),
    "process.commands": lambda r: some(r, PATHS),
    "process.check_arguments": lambda r: r.choice([True, False]),
    "environment.pass": lambda r: r.choice([r.choice(NAMES), some(r, NAMES)]),
    "environment.deny": lambda r: some(r, NAMES),
    "environment.set": lambda r: {name: r.choice(["", "b", "c=d", "\n", "\u2028"]) for name in some(r, NAMES)},
    "limits.memory": lambda r: r.choice(SIZES),
    "limits.processes": lambda r: r.choice(COUNTS),
    "limits.open_files": lambda r: r.choice(COUNTS),
    "limits.cpu": lambda r: r.choice(TIMES),
    "limits.file_size": lambda r: r.choice(SIZES),
    "limits.written": lambda r: r.choice(SIZES),
    "limits.connections": lambda r: r.choice(COUNTS),
    "limits.connections_per_second": lambda r: r.choice(COUNTS),
    "limits.traffic": lambda r: r.choice(SIZES),
    "limits.timeout": lambda r: r.choice(TIMES),
    "limits.output": lambda r: r.choice(SIZES),
}
# Wrong for most keys, right for some: the two sides need not be told which.
VALUES = [
    None, True, False, 0, 1, 2, -1, 7, 65535, 65536, 2**62 - 1, 2**62, 2**63 - 1, -2**63, 1.5, -0.25,
    "", " ", "x", "a b", "a=b", "a\nb", "a\n", "\n", "1", "0", "00", "-1", "+1", "1 ", "1.5", "0x10", "1e3", "1s", "1S", "s",
    "1sec", "1ms", "0s", "1h ", "1Mib", "1MiB", "1mb", "1T", "1TB", "5g", "deny", "Deny", "list", "lists", "allow", "all",
    "none", "true", "a:1", "a:", ":1", "a:0", "a:01", "a:65536", "a:*", "a:**", "a:x", "a b:1", "a:1\n", "::1:1", "[::1]:1",
    "[]:1", "[a]b:1", "a[b]:1", "[a:1", "]:1", "a:b:1", "inherited", [], {}, [[]], [{}], [None], [True], [0], [1], [70000],
    [1.5], ["x"], [""], ["x", 1], ["a b"], ["a\n"], ["80"], [["x"]], [{"path": "/x"}], [{"path": ""}], [{"path": 1}],
    [{"path": "/x", "y": 1}], [{"paht": "/x"}], {"A": "b"}, {"A": 1}, {"A": None}, {"": "b"}, {"A B": "c"}, {"A=": "c"},
    {"A\n": "c"}, {"path": "/x"}, {"read": []}, {"mode": "deny"},
] + [[host] for host in HOSTS + WRONG_HOSTS]
UNKNOWN = ["", "x", "reed", "Read", "read ", "filesystem", "filesystem.read", "read", "mode", "timeout", "limits.timeout",
           "$schema", "<<", "Version", "extend", "x-comment"]


def some(chooser, values):
    return [copy.deepcopy(value) for value in chooser.sample(values, chooser.choice([0, 1, 1, 2, 3]))]


def put(document, name, value):
    section, _, leaf = name.rpartition(".")
    if section:
        if not isinstance(document.get(section), dict):
            document[section] = {}
        document[section][leaf] = copy.deepcopy(value)
    else:
        document[leaf] = copy.deepcopy(value)


def make_right(chooser):
    document = {}
    for name in chooser.sample(sorted(RIGHT), chooser.randrange(0, 8)):
        put(document, name, RIGHT[name](chooser))
    for section in ("filesystem", "network", "process", "environment", "limits"):
        if section not in document and chooser.random() < 0.05:
            document[section] = chooser.choice([None, {}])
    return document


def spoil(document, chooser):
    """One change, which may turn out to be right after all."""
    what = chooser.random()
    if what < 0.05:
        return copy.deepcopy(chooser.choice(VALUES))
    if what < 0.15:
        document[chooser.choice(UNKNOWN)] = copy.deepcopy(chooser.choice(VALUES))
    elif what < 0.25:
        section = chooser.choice(["filesystem", "network", "process", "environment", "limits"])
        document[section] = copy.deepcopy(chooser.choice(VALUES))
    elif what < 0.35:
        put(document, chooser.choice(["filesystem.", "network.", "process.", "limits."]) + chooser.choice(UNKNOWN[:4]), [])
    else:
        put(document, chooser.choice(sorted(RIGHT)), chooser.choice(VALUES))
    return document


def make(chooser):
    document = make_right(chooser)
    while chooser.random() < 0.5:
        document = spoil(document, chooser)
        if not isinstance(document, dict):
            break
    return document


def every_value_of_every_key():
    for name in RIGHT:
        for value in VALUES:
            document = {}
            put(document, name, value)
            yield document


def compare(parser, validator, documents, folder):
    """The documents about which the two disagree, with what they say; and how many were taken."""
    json_path, yaml_path = os.path.join(folder, "d.json"), os.path.join(folder, "d.yaml")
    differences, taken, count = [], 0, 0
    for document in documents:
        wanted = validator.is_valid(document)
        count += 1
        taken += wanted
        with open(json_path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        # YAML wants a line break that few editors show to be written in ASCII.
        with open(yaml_path, "w", encoding="utf-8") as file:
            file.write(json.dumps(document, ensure_ascii=False).replace("\u2028", "\\u2028"))
        for path in (json_path, yaml_path):
            if parser.takes(path) != wanted:
                differences.append(f"{json.dumps(document)}: schema {wanted}, parser: {parser.why()}")
    return differences, taken, count


class Verdicts:
    def __init__(self):
        self.passed = self.failed = 0

    def say(self, name, why=None):
        print(f"ok {name}" if why is None else f"not ok {name} - {why}")
        self.passed += why is None
        self.failed += why is not None

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return self.failed > 0


def main():
    parser, verdicts = Parser(sys.argv[1]), Verdicts()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    chooser = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    text = parser.schema()
    with open(sys.argv[2], encoding="utf-8") as file:
        committed = file.read()
    verdicts.say("the_committed_schema_is_the_programs",
                 None if committed.rstrip("\n") == text.rstrip("\n")
                 else "run: build/abatis policy schema >profiles/policy.schema.json")
    schema = json.loads(text)
    try:
        Validator.check_schema(schema)
        verdicts.say("the_schema_is_a_schema")
    except jsonschema.SchemaError as error:
        verdicts.say("the_schema_is_a_schema", error.message)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for name, documents in (("every_value_of_every_key", every_value_of_every_key()),
                                (f"{count}_random_documents", (make(chooser) for _ in range(count)))):
            differences, taken, asked = compare(parser, Validator(schema), documents, folder)
            why = None
            if differences:
                why = f"{len(differences)} differences, the first: {differences[0]}"
            elif not asked / 20 < taken < asked * 19 / 20:
                why = f"{taken} of {asked} were taken: that proves little"
            verdicts.say(f"schema_and_parser_agree_on_{name}", why)
        # It must see what there is to see, or all the rest proves nothing.
        for name, change in (("a_missing_key", lambda s: s["properties"]["filesystem"]["properties"].pop("deny")),
                             ("a_missing_condition", lambda s: s["properties"]["network"].pop("if")),
                             ("an_open_section", lambda s: s["properties"]["limits"].pop("additionalProperties"))):
            planted = copy.deepcopy(schema)
            change(planted)
            documents = (make(chooser) for _ in range(1000))
            differences = compare(parser, Validator(planted), documents, folder)[0]
            verdicts.say(f"finds_{name}", None if differences else "no difference was found")
    return verdicts.finish()


sys.exit(main())
