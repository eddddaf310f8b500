"""exec-request, and the trust tiers."""
import json
import os
import subprocess

from lib import ABATIS, PATIENCE, TOP, Server, expect, main


def ask(request, **keys):
    text = request if isinstance(request, bytes) else json.dumps(request).encode()
    ran = subprocess.run([ABATIS, "exec-request"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, **keys)
    expect(ran.returncode == 0 and not ran.stderr, f"exit code {ran.returncode}: {ran.stderr}")
    response = json.loads(ran.stdout)
    try:
        import jsonschema
        with open(f"{TOP}/test/server.schema.json") as file:
            definitions = json.load(file)["definitions"]
        jsonschema.Draft7Validator({"$ref": "#/definitions/exec_response", "definitions": definitions}).validate(response)
    except ImportError:
        pass
    return response


def a_program_that_succeeds_is_a_success(workspace):
    response = ask({"program": "cat", "input": "text"})
    expect(response["success"] and response["output"] == "text" and response["error"] is None, response)
    expect(response["duration_ms"] > 0 and "filesystem.read" in response["enforced"], response)


def the_input_may_be_json_or_bytes(workspace):
    expect(json.loads(ask({"program": "cat", "input": {"a": [1, None]}})["output"]) == {"a": [1, None]}, "as JSON")
    for text in ('[0.1, 1e2,12345678901234567]', '{"input" : "}", "b":["\\"{", 0.30000000000000004]}', "null", "-0.0"):
        for request in ('{"program":"cat","input": %s }', '{"input":%s,"args":[],"program":"cat"}'):
            expect(ask((request % text).encode())["output"] == text, f"{text} as it was written")
    expect(ask(b'{"program":"cat","inp\\u0075t":[0.5]}')["output"] == "[0.5]", "by a key that is written otherwise")
    expect(ask({"program": "cat", "input_base64": "AP8="})["output_base64"] == "AP8=", "as bytes")


def a_program_that_fails_is_told_with_its_output(workspace):
    response = ask({"program": "sh", "args": ["-c", "echo out; echo err >&2; exit 3"]})
    expect(not response["success"] and response["output"] == "out\n" and response["stderr"] == "err\n", response)
    expect(response["error"]["code"] == "PROTOCOL_FAILED" and response["exit_code"] == 3, response)


def a_limit_ends_the_program(workspace):
    response = ask({"program": "sleep", "args": ["600"], "limits": {"timeout": "100ms"}})
    expect(not response["success"] and response["timed_out"] and response["limit"] == "limits.timeout", response)


def what_is_refused_is_a_response_too(workspace):
    for request, code in (({"program": "no-such-program"}, "ABATIS_E_NOT_FOUND"), ({"program": "true", "nope": 1}, "PROTOCOL_REQUEST"),
                          ({}, "PROTOCOL_REQUEST"), (b"junk", "PROTOCOL_JSON"), (b"", "PROTOCOL_JSON"), (b'{"program":"\xff"}', "PROTOCOL_JSON"),
                          ({"wasm": "/x.wasm"}, "ABATIS_E_NOT_FOUND"), ({"program": "true", "wasm": "/x.wasm"}, "PROTOCOL_REQUEST"),
                          ({"program": "true", "read": ["/no/such/path"]}, "ABATIS_E_INVALID"), (b" " * (9 << 20), "PROTOCOL_LENGTH")):
        response = ask(request)
        expect(not response["success"] and response["error"]["code"] == code, f"{str(request)[:80]}: {response}")
        expect(response["enforced"] is None, response)


def a_response_that_cannot_be_written_is_a_failure(workspace):
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([ABATIS, "exec-request"], input=b'{"program":"true"}', stdout=full, stderr=subprocess.PIPE)
    expect(ran.returncode == 125 and b"response" in ran.stderr, ran)


def reads(path, **keys):
    return ask({"program": "cat", "args": [path], **keys})["success"]


def untrusted_sees_nothing_but_what_is_listed(workspace):
    path = f"{workspace}/file"
    with open(path, "w") as file:
        file.write("x")
    expect(reads(path, tier="local"), "positive control: local reads the workspace")
    expect(reads(path, tier="verified"), "positive control: verified reads the workspace")
    expect(reads(path, read=[path]), "positive control: what is listed is read")
    for keys in ({}, {"tier": "untrusted"}, {"tier": "Local"}, {"tier": "trusted"}):
        expect(not reads(path, **keys), f"read with {keys}")
        expect(ask({"program": "true", **keys})["tier"] == "untrusted", f"the tier with {keys}")


def make_script(path, says):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\necho {says}\n")
    os.chmod(path, 0o755)


def no_tier_reads_the_keys_of_the_user(workspace):
    home = f"{workspace}/home"
    os.makedirs(f"{home}/.ssh")
    for name in ".ssh/id", "plain":
        with open(f"{home}/{name}", "w") as file:
            file.write("x")
    environment = {**os.environ, "HOME": home}
    for tier in "local", "verified", "untrusted":
        def reads_of_home(name):
            return ask({"program": "cat", "args": [f"{home}/{name}"], "tier": tier, "read": [home]}, env=environment)["success"]
        expect(reads_of_home("plain"), f"positive control: {tier} reads what is no key")
        expect(not reads_of_home(".ssh/id"), f"{tier} has read a key")


def untrusted_has_limits_that_a_request_can_change(workspace):
    eater = {"program": "python3", "args": ["-c", "x = bytearray(1300 << 20); x[::4096] = b'x' * len(x[::4096]); print('eaten')"]}
    held = ("limits.memory", "limits.processes", "limits.cpu", "limits.written")
    enforced = ask({"program": "true"})["enforced"]
    expect(all(any(clause.startswith(limit) for clause in enforced) for limit in held), enforced)
    expect(not any(clause.startswith("limits.memory") for clause in ask({"program": "true", "limits": {"memory": "none"}})["enforced"]), "none")
    response = ask(eater)
    expect(not response["success"] and "eaten" not in response["output"], response)


def a_relative_program_is_looked_for_where_it_works(workspace):
    make_script(f"{workspace}/caller/tool", "wrong")
    make_script(f"{workspace}/there/tool", "right")
    make_script(f"{workspace}/caller/other", "wrong")
    for tier in "local", "verified", "untrusted":
        keys = {"tier": tier, "cwd": f"{workspace}/there", "read": [f"{workspace}/there"]}
        response = ask({"program": "./tool", **keys}, cwd=f"{workspace}/caller")
        expect(response["output"] == "right\n", f"{tier}: {response}")
        response = ask({"program": "./other", **keys}, cwd=f"{workspace}/caller")
        expect(not response["success"] and not response["output"], f"{tier}: {response}")
    expect(ask({"program": "./tool"}, cwd=f"{workspace}/caller")["error"]["code"] == "PROTOCOL_REQUEST", "untrusted, and nowhere")


def what_an_untrusted_program_does_not_see_shadows_nothing(workspace):
    make_script(f"{workspace}/bin/echo", "shadow")
    environment = {**os.environ, "PATH": f"{workspace}/bin:{os.environ['PATH']}"}
    expect(ask({"program": "echo", "args": ["real"], "tier": "local"}, env=environment)["output"] == "shadow\n", "positive control")
    response = ask({"program": "echo", "args": ["real"]}, env=environment)
    expect(response["output"] == "real\n", response)
    response = ask({"program": "echo", "args": ["real"], "read": [f"{workspace}/bin"]}, env=environment)
    expect(response["output"] == "real\n", f"what is only read: {response}")


def untrusted_writes_nothing_but_what_is_listed(workspace):
    os.mkdir(f"{workspace}/out")
    for listed, works in (([f"{workspace}/out"], True), ([], False)):
        response = ask({"program": "touch", "args": [f"{workspace}/out/{works}"], "write": listed, "read": [workspace]})
        expect(response["success"] == works == os.path.exists(f"{workspace}/out/{works}"), response)


def untrusted_has_no_variables_of_the_callers(workspace):
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], "MARK": "seen"}
    expect("MARK=seen" in ask({"program": "env", "tier": "local"}, env=environment)["output"], "positive control")
    expect("MARK" not in ask({"program": "env"}, env=environment)["output"], "it was passed on")


def only_untrusted_has_no_network(workspace):
    request = {"program": "true", "network": True}
    expect(ask({**request, "tier": "local"})["success"] and ask({**request, "tier": "verified"})["success"], "positive control")
    expect("network.mode deny" not in ask({**request, "tier": "verified"})["enforced"], "verified asked for one")
    expect(ask(request)["error"]["code"] == "PROTOCOL_REQUEST", "untrusted got one")
    expect("network.mode deny" in ask({"program": "true"})["enforced"], "untrusted without asking")


def a_preset_is_for_local_programs(workspace):
    expect(ask({"program": "true", "tier": "local", "preset": "strict"})["success"], "positive control")
    expect(ask({"program": "true", "preset": "dev"})["error"]["code"] == "PROTOCOL_REQUEST", "untrusted with another preset")


def no_file_of_the_user_opens_a_tier(workspace):
    path, config = f"{workspace}/file", f"{workspace}/config"
    os.makedirs(f"{config}/abatis")
    for name in (path, f"{config}/abatis/policy.yaml"):
        with open(name, "w") as file:
            file.write("environment: {set: {OPENED: 'yes'}}\n")
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], "XDG_CONFIG_HOME": config}
    expect("OPENED" in ask({"program": "env", "tier": "local"}, env=environment)["output"], "positive control")
    expect("OPENED" not in ask({"program": "env"}, env=environment)["output"], "untrusted")


def the_tiers_of_the_documentation_are_those_of_the_program(workspace):
    table = subprocess.run([ABATIS, "explain", "--tiers"], stdout=subprocess.PIPE, check=True).stdout.decode()
    with open(f"{TOP}/test/SERVER.md") as file:
        expect(table in file.read(), f"docs/SERVER.md lacks the table of abatis explain --tiers:\n{table}")
    rows = json.loads(subprocess.run([ABATIS, "explain", "--tiers", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    expect([row["tier"] for row in rows] == ["local", "verified", "untrusted"], rows)
    shown = subprocess.run([ABATIS, "explain", "--tier", "untrusted"], stdout=subprocess.PIPE, check=True).stdout.decode()
    expect(rows[2]["native"] in shown, shown[:200])


def a_plan_of_a_tier_is_one_that_it_gets(workspace):
    def explains(*flags):
        return subprocess.run([ABATIS, "explain", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    expect(not explains("--tier", "untrusted", "--read", workspace, "--memory", "2GiB"), "positive control")
    expect(not explains("--tier", "verified", "--net", "allow"), "positive control: it may have one")
    expect(not explains("--tier", "local", "--net", "unix-only"), "positive control: as given")
    for flags in (["--net", "allow"], ["--net=list"], ["--exec", "/"], ["--connect", "example.org:443"], ["--env", "A"], ["--preset", "dev"]):
        expect(explains("--tier", "untrusted", *flags) == 125, flags)
    with Server() as server:
        plan = server.ask(id=1, method="explain", tier="untrusted", limits={"memory": "2GiB"})
        expect("result" in plan, plan)
        refused = server.ask(id=1, method="explain", tier="untrusted", set={"network.mode": "allow"})
        expect(refused["error"]["code"] == "PROTOCOL_REQUEST", refused)


main([value for name, value in list(globals().items()) if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",)])
