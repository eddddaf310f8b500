"""The transcript, and the schema: what is answered is what is written down."""
import json
import random

from lib import TOP, Server, Skip, expect, main

REFUSED = ("PROTOCOL_REQUEST", "PROTOCOL_JSON", "PROTOCOL_LENGTH")


def exchanges(workspace):
    with open(f"{TOP}/test/transcript.txt") as file:
        text = file.read().replace("{W}", workspace)
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line[:1] in (">", "<")]
        if lines:
            yield [line[2:] for line in lines if line[0] == ">"], [json.loads(line[2:]) for line in lines if line[0] == "<"]


def fits(wanted, got):
    if wanted == "*":
        return True
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(key in got and fits(value, got[key]) for key, value in wanted.items())
    return wanted == got and type(wanted) is type(got)


def play(workspace):
    with Server() as server:
        for requests, wanted in exchanges(workspace):
            server.send_bytes("".join(request + "\n" for request in requests).encode())
            replies = [server.reply() for _ in wanted]
            yield requests, wanted, replies
        server.hang_up()
        expect(server.ends() == (0, [], ""), "something was left at the end")


def the_transcript_is_what_is_answered(workspace):
    count = 0
    for requests, wanted, replies in play(workspace):
        left = list(replies)
        for want in wanted:
            found = next((reply for reply in left if fits(want, reply)), None)
            expect(found is not None, f"{requests} gave {replies}, not {want}")
            left.remove(found)
        if len(wanted) == 3:
            expect("result" in replies[-1], f"an event after the result: {replies}")
        count += 1
    expect(count > 50, f"only {count} exchanges were read")


def judges():
    try:
        import jsonschema
    except ImportError:
        raise Skip("python3-jsonschema is not installed")
    with open(f"{TOP}/test/server.schema.json") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)

    def judge(name):
        return jsonschema.Draft7Validator({"$ref": f"#/definitions/{name}", "definitions": schema["definitions"]})
    return judge


def every_reply_is_as_the_schema_says(workspace):
    judge = judges()("reply")
    for requests, _, replies in play(workspace):
        for reply in replies:
            problem = next(iter(judge.iter_errors(reply)), None)
            expect(not problem, f"{requests}: {problem}")


def change(request, source):
    """The same request with one thing different."""
    values = [None, True, 0, -1, 1.5, "", "/x", "x", [], ["x"], [1], {}, {"x": "y"}, {"x": 1}, {"": 1}, "YQ==", 10**6]
    names = ["id", "command", "cwd", "env", "stdin", "stdin_base64", "stream", "merge", "session", "policy", "policy_file", "limits",
             "set", "tier", "target", "access", "path", "skill", "input", "protocol", "context", "preset", "best_effort", "other"]
    request = dict(request)
    name = source.choice(names + list(request))
    if name in request and source.random() < 0.3:
        del request[name]
    else:
        request[name] = source.choice(values)
    return request


def the_server_takes_what_the_schema_takes(workspace):
    judge, source = judges()("request"), random.Random(9)
    known = []
    for requests, _, _ in play(workspace):
        try:
            known += [request for request in map(json.loads, requests) if isinstance(request, dict) and judge.is_valid(request)]
        except ValueError:
            pass
    taken = refused = 0
    with Server() as server:
        for number in range(2000):
            request = source.choice(known)
            if number % 4:
                request = change(request, source)
            if "command" in request and isinstance(request["command"], list) and request["command"]:
                request["command"] = ["true"] if all(isinstance(word, str) for word in request["command"]) else request["command"]
            text = json.dumps(request)
            if "99999999999999" in text or request.get("method") in ("explain", "probe") and number % 8:
                continue
            server.send(request)
            reply = server.reply()
            while "event" in reply:
                reply = server.reply()
            is_refused = reply.get("error", {}).get("code") in REFUSED
            expect(judge.is_valid(request) != is_refused, f"{text} gave {str(reply)[:200]}")
            taken, refused = taken + (not is_refused), refused + is_refused
    expect(taken > 300 and refused > 300, f"{taken} taken, {refused} refused")


main([the_transcript_is_what_is_answered, every_reply_is_as_the_schema_says, the_server_takes_what_the_schema_takes])
