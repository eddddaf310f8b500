"""What abatis mcp-wrap does to configuration files, and what it leaves as it is."""
import json
import os
import pty
import stat
import subprocess

from lib import ABATIS, expect, main

MARK = "--context=mcp-wrap"
WORDS = ["run", MARK, "--profile=mcp-server"]
CLAUDE = """{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": [
        "-y",
        "server-files",
        "/"
      ],
      "env": {"FILES_TOKEN": "secret"}
    },
    "plain": {"command": "plain-server"},
    "empty": {"args": [ ], "command": "empty-server", "cwd": "/srv"},
    "far": {"type": "http", "url": "https://example.org/mcp"}
  },
  "number": 1.50e3, "other":   {"b": 1, "a": [ ]}
}
"""


def write(name, text, mode=0o644):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(name, mode)


def denied(name):
    """Nobody inside reads it, nor the copies of it."""
    path = os.path.realpath(name)
    return [f"--deny={path}", f"--deny={path}.abatis-backup"]


def read(name):
    with open(name, "rb") as file:
        return file.read()


def wrap(*arguments, code=0, **keys):
    done = subprocess.run([ABATIS, "mcp-wrap", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **keys)
    expect(done.returncode == code, f"{arguments}: {done}")
    return done.stdout.decode()


def refused(word, *arguments, **keys):
    """One line on stderr, nothing else, and nothing new in the directory."""
    before = {name: read(name) for name in os.listdir(".") if os.path.isfile(name)}
    done = subprocess.run([ABATIS, "mcp-wrap", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **keys)
    lines = done.stderr.decode()
    expect(done.returncode == 125 and not done.stdout and lines.count("\n") == 1 and word in lines, f"{word}: {done}")
    expect({name: read(name) for name in os.listdir(".") if os.path.isfile(name)} == before, "something was written")


def round_trip(text):
    """Wrapped, wrapped again, undone; returns what it was in between."""
    write("c.json", text)
    wrap("--yes", "c.json")
    between = read("c.json")
    expect(between != read_bytes(text), "nothing was wrapped")
    expect("nothing to do" in wrap("c.json") and read("c.json") == between, "wrapped twice")
    wrap("--yes", "--undo", "c.json")
    expect(read("c.json") == read_bytes(text), read("c.json"))
    expect("nothing to do" in wrap("--undo", "c.json"), "undone twice")
    return between.decode()


def read_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


# ---- what is written ----


def every_server_that_is_started_is_wrapped_and_nothing_else_differs(workspace):
    text = round_trip(CLAUDE)
    before, after = json.loads(CLAUDE), json.loads(text)
    servers, wrapped = before["mcpServers"], after["mcpServers"]
    for name in ("files", "plain", "empty"):
        expect(wrapped[name]["command"] == ABATIS, wrapped)
        command = [servers[name]["command"], *servers[name].get("args", [])]
        expect(wrapped[name]["args"][-len(command) - 1:] == ["--", *command], wrapped[name])
        del wrapped[name]["args"], servers[name]["command"], wrapped[name]["command"]
        servers[name].pop("args", None)
    expect(before == after and list(before) == list(after), after)
    expect('"number": 1.50e3, "other":   {"b": 1, "a": [ ]}' in text, text)


def the_words_are_those_of_abatis_run(workspace):
    write("c.json", CLAUDE)
    wrap("--yes", "c.json")
    servers = json.loads(read("c.json"))["mcpServers"]
    expect(servers["files"]["args"] == [*WORDS, *denied("c.json"), "--env=FILES_TOKEN", "--", "npx", "-y", "server-files", "/"], servers)
    expect(servers["empty"]["args"] == [*WORDS, *denied("c.json"), "--", "empty-server"] and servers["empty"]["cwd"] == "/srv", servers)


def what_was_wrapped_runs_in_the_sandbox_with_its_variables(workspace):
    script = 'cat "$1" >/dev/null 2>&1 && echo read; echo "$KEY_TOKEN $OTHER_TOKEN $PWD"'
    write("secret", "x")
    entry = {"command": "sh", "args": ["-c", script, "sh", f"{workspace}/secret"], "env": {"KEY_TOKEN": "given"}}
    write("c.json", json.dumps({"mcpServers": {"a": entry}}))

    def start():
        server = json.loads(read("c.json"))["mcpServers"]["a"]
        env = {**os.environ, "OTHER_TOKEN": "kept", **server["env"]}
        done = subprocess.run([server["command"], *server["args"]], env=env, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return done.stdout.decode(), done
    expect(start()[0] == f"read\ngiven kept {workspace}\n", start())
    wrap("--yes", "--deny", f"{workspace}/secret", "c.json")
    expect(start()[0] == f"given  {workspace}\n", start())


def a_server_reads_neither_the_file_with_all_tokens_nor_its_copies(workspace):
    write("c.json.abatis-backup", "another")
    write("c.json", json.dumps({"mcpServers": {"a": {"command": "cat", "args": ["c.json", "c.json.abatis-backup", "c.json.abatis-backup.1", "plain"]}}}))
    write("plain", "read")
    wrap("--yes", "c.json")
    server = json.loads(read("c.json"))["mcpServers"]["a"]
    expect(read("c.json.abatis-backup.1"), "no copy")
    done = subprocess.run([server["command"], *server["args"]], cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    expect(done.stdout == b"read" and done.stderr.count(b"Permission denied") == 3, done)


def a_server_starts_wherever_its_client_is(workspace):
    write("c.json", '{"mcpServers": {"a": {"command": "echo", "args": ["runs"]}}}')
    wrap("--yes", "c.json")
    server = json.loads(read("c.json"))["mcpServers"]["a"]
    for place in ("/", os.environ["HOME"], workspace):
        done = subprocess.run([server["command"], *server["args"]], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        expect(done.stdout == b"runs\n", f"{place}: {done}")


def a_variable_that_would_steer_abatis_itself_is_refused(workspace):
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "LD_PRELOAD", "ABATIS_X"):
        write("c.json", json.dumps({"mcpServers": {"a": {"command": "x", "env": {name: "/proc/self/cwd/h"}}}}))
        refused("would be for abatis, too", "--yes", "c.json")


def every_known_shape_is_found(workspace):
    server = {"command": "x", "args": ["a"]}
    shapes = [
        {"mcpServers": {"s": server}},
        {"projects": {"/p": {"mcpServers": {"s": server}}, "/q": {"allowedTools": []}}, "mcpServers": {}},
        {"servers": {"s": {"type": "stdio", **server}}, "inputs": []},
        {"mcp": {"servers": {"s": server}}, "editor.fontSize": 12},
        {"context_servers": {"s": {"source": "custom", **server}}},
        {"context_servers": {"s": {"command": {"path": "x", "args": ["a"]}}}},
        {"mcpServers": {"s": {"type": "http", **server}}},
    ]
    for shape in shapes:
        for indent in (None, 2, "\t"):
            text = round_trip(json.dumps(shape, indent=indent))
            expect(MARK in text and ABATIS in text, text)


def comments_trailing_commas_a_mark_and_returns_stay(workspace):
    text = ('\ufeff// first\r\n{\r\n\t"servers": { /* "command": "no" */\r\n\t\t"a": {\r\n\t\t\t"command": "n\\u0070x", // why\r\n\t\t\t"args": [ // which\r\n'
            '\t\t\t\t"b", /* c */\r\n\t\t\t],\r\n\t\t},\r\n\t\t"d": {"command": "e"},\r\n\t},\r\n}\r\n')
    between = round_trip(text)
    expect('"n\\u0070x"' in between and between.count("//") == text.count("//") and "\ufeff" in between, between)


def some_can_be_wrapped_and_undone_by_name(workspace):
    write("c.json", CLAUDE)
    wrap("c.json", "--yes", "--server", "files", "--server=plain", "--net", "deny")
    servers = json.loads(read("c.json"))["mcpServers"]
    expect("--net=deny" in servers["files"]["args"] and servers["empty"]["command"] == "empty-server", servers)
    wrap("--yes", "--undo", "--server", "plain", "c.json")
    servers = json.loads(read("c.json"))["mcpServers"]
    expect(servers["plain"] == {"command": "plain-server"} and servers["files"]["command"] == ABATIS, servers)
    refused("no server is called 'file'", "--server", "file", "c.json")


def what_is_wrapped_keeps_its_flags(workspace):
    write("c.json", CLAUDE)
    wrap("--yes", "--server", "files", "--net", "deny", "c.json")
    wrap("--yes", "c.json")
    servers = json.loads(read("c.json"))["mcpServers"]
    expect("--net=deny" in servers["files"]["args"] and "--net=deny" not in servers["plain"]["args"], servers)


def places_in_flags_become_absolute(workspace):
    os.mkdir("project")
    write("p.yaml", "version: 1\nextends: mcp\n")
    write("c.json", CLAUDE)
    wrap("--yes", "--policy", "p.yaml", "--workspace", "project", "c.json")
    args = json.loads(read("c.json"))["mcpServers"]["plain"]["args"]
    expect(args[2:-2] == [f"--policy={workspace}/p.yaml", f"--workspace={workspace}/project", *denied("c.json")], args)


def undo_brings_back_each_server_although_the_rest_has_changed(workspace):
    write("c.json", CLAUDE)
    wrap("--yes", "c.json")
    text = read("c.json").decode().replace('"number": 1.50e3', '"number": 2, "new": {"x": 1}').replace('"far"', '"farther"')
    write("c.json", text)
    wrap("--yes", "--undo", "c.json")
    expect(read("c.json").decode() == CLAUDE.replace('"number": 1.50e3', '"number": 2, "new": {"x": 1}').replace('"far"', '"farther"'), read("c.json"))
    # A client that prints its file anew loses the blanks; what the servers are stays.
    wrap("--yes", "c.json")
    write("c.json", json.dumps(json.loads(read("c.json")), sort_keys=True))
    wrap("--yes", "--undo", "c.json")
    expect(json.loads(read("c.json"))["mcpServers"] == json.loads(CLAUDE.replace('"far"', '"farther"'))["mcpServers"], read("c.json"))


def what_is_abatis_already_is_left(workspace):
    os.symlink(ABATIS, "other")
    text = json.dumps({"mcpServers": {"a": {"command": "abatis", "args": ["mcp"]}, "b": {"command": f"{workspace}/other", "args": ["run", "--", "x"]}}})
    write("c.json", text)
    said = wrap("c.json")
    expect(said.count("it is abatis already") == 2 and "nothing to do" in said and read("c.json").decode() == text, said)
    expect(f"{workspace}/other run -- x\n" in said, said)
    # What only has its name, or depends on where somebody is, is not believed.
    for entry in ({"command": "/opt/abatis"}, {"command": "./abatis"}, {"command": "/proc/self/cwd/other"}, {"command": "abatis", "env": {"PATH": "/x"}}):
        write("c.json", json.dumps({"mcpServers": {"a": {**entry, "args": ["run", "--", "x"]}}}))
        expect("to be wrapped" in wrap("c.json", code=1), entry)
        write("c.json", json.dumps({"mcpServers": {"a": {**entry, "args": ["run", MARK, "--", "x"]}}}))
        refused("looks wrapped, and its program is not this abatis", "--yes", "c.json")
        expect("to be as it was" in wrap("--undo", "c.json", code=1), entry)


# ---- when it is written ----


def without_a_terminal_and_a_yes_it_is_only_shown(workspace):
    write("c.json", CLAUDE)
    said = wrap("c.json", code=1)
    expect('-      "command": "npx",\n+      "command": "' in said and "far: left" in said, said)
    wrap("--dry-run", "--yes", "c.json", code=1)
    expect(read("c.json").decode() == CLAUDE and os.listdir(".") == ["c.json"], os.listdir("."))


def answer(line, before=lambda: None):
    """What it comes to when this is answered at a terminal, after something was done: its exit code, and what it says then."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([ABATIS, "mcp-wrap", "c.json"], stdin=follower, stdout=subprocess.DEVNULL, stderr=follower, start_new_session=True)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(leader, 1000)
    before()
    os.write(leader, f"{line}\n".encode())
    code = process.wait(60)
    said = os.read(leader, 1000)
    os.close(leader)
    os.close(follower)
    return code, said.decode()


def at_a_terminal_it_asks(workspace):
    for line, is_written in (("n", False), ("", False), ("y", True)):
        write("c.json", CLAUDE)
        code, said = answer(line, lambda: expect(read("c.json").decode() == CLAUDE, "written before it asked"))
        expect(code == (0 if is_written else 1), f"{line}: {code} {said}")
        expect((read("c.json").decode() != CLAUDE) == is_written, line)


def a_copy_is_kept_and_none_is_overwritten(workspace):
    write("c.json", CLAUDE, 0o600)
    write("c.json.abatis-backup", "somebody's")
    wrap("--yes", "c.json")
    expect(read("c.json.abatis-backup") == b"somebody's" and read("c.json.abatis-backup.1").decode() == CLAUDE, os.listdir("."))
    expect(stat.S_IMODE(os.stat("c.json.abatis-backup.1").st_mode) == 0o600, "the copy is open to others")
    for _ in range(3):
        wrap("--yes", "--undo", "c.json")
        wrap("--yes", "c.json")
    expect(sorted(os.listdir(".")) == ["c.json", "c.json.abatis-backup", "c.json.abatis-backup.1"], os.listdir("."))
    # What nobody has kept is, before it goes.
    changed = read("c.json").decode().replace("far", "further")
    write("c.json", changed, 0o600)
    wrap("--yes", "--undo", "c.json")
    expect(read("c.json.abatis-backup.2").decode() == changed, os.listdir("."))


def a_link_in_the_place_of_a_copy_is_not_followed(workspace):
    write("c.json", CLAUDE)
    write("victim", "v")
    os.symlink("victim", "c.json.abatis-backup")
    os.symlink("nowhere", "c.json.abatis-backup.1")
    wrap("--yes", "c.json")
    expect(read("victim") == b"v" and not os.path.exists("nowhere") and read("c.json.abatis-backup.2").decode() == CLAUDE, os.listdir("."))


def a_link_is_followed_and_mode_and_owner_stay(workspace):
    os.mkdir("real")
    write("real/c.json", CLAUDE, 0o640)
    os.symlink("real/c.json", "c.json")
    wrap("--yes", "c.json")
    status = os.stat("real/c.json")
    expect(os.path.islink("c.json") and ABATIS.encode() in read("real/c.json"), "the link is gone")
    expect(stat.S_IMODE(status.st_mode) == 0o640 and status.st_uid == os.getuid(), oct(status.st_mode))
    expect(sorted(os.listdir("real")) == ["c.json", "c.json.abatis-backup"], os.listdir("real"))


def what_was_changed_meanwhile_is_not_overwritten(workspace):
    write("c.json", CLAUDE)
    changed = CLAUDE.replace("1.50e3", "7")
    code, said = answer("y", lambda: write("c.json", changed))
    expect(code == 125 and "changed meanwhile" in said, f"{code} {said}")
    expect(read("c.json").decode() == changed, "overwritten")
    expect(sorted(os.listdir(".")) == ["c.json", "c.json.abatis-backup"], os.listdir("."))


# ---- what is refused ----


def bad_files_are_refused_in_one_line(workspace):
    cases = {
        "c.json:1:1: no MCP servers": "{}",
        "c.json:1:1: no value of JSON": "",
        "a key that is there twice": '{"mcpServers": {"a": {"command": "x"}, "\\u0061": {"command": "y"}}}',
        "not UTF-8": b'{"mcpServers": {"\xff": 1}}',
        "too deep": "[" * 5000,
        "a comma or '}' is missing": '{"mcpServers": {} "x": 1}',
        "something after the end": '{"mcpServers": {}} x',
        "c.json:2:33: the args of this server": '{"mcpServers":\n {"a": {"command": "x", "args": "y"}}}',
        "an argument of a server that is no string": '{"mcpServers": {"a": {"command": "x", "args": [1]}}}',
        "the command of this server": '{"mcpServers": {"a": {"command": ["x"]}}}',
        "the servers are no object": '{"mcpServers": []}',
        "a string without an end": '{"mcpServers',
        "a control character": '{"mcpServers\t": 1}',
        "no such escape": '{"mcpServers": "\\x"}',
        "a comment without an end": '{"mcpServers": {} /*',
        "larger than 16 MiB": " " * (17 << 20),
        "too many values": "[" + "1," * 1000001 + "1]",
        "a return without a newline": '{"servers": {"a": {"command": "x"} // b\r, "c": {"command": "y"}\n}}',
        "read as something else": '{"mcpServers": {"a": {"url": "http://x", "\\u005f_proto__": {"command": "x"}}}}',
    }
    for word, text in cases.items():
        write("c.json", text)
        refused(word, "--yes", "c.json")


def other_files_and_flags_are_refused_in_one_line(workspace):
    write("c.json", CLAUDE)
    write("config.toml", '[mcp_servers.a]\ncommand = "x"\n')
    write("config.yaml", "mcpServers: []\n")
    refused("put by hand", "--yes", "config.toml")
    refused("put by hand", "--yes", "config.yaml")
    refused("No such file", "--yes", "absent.json")
    refused("usage", "--yes")
    refused("usage", "c.json", "d.json")
    refused("usage", "-", "-")
    refused("usage", "--", "-a", "-b")
    refused("--undo takes no flags of a policy", "--undo", "--preset", "mcp", "c.json")
    refused("nonsense", "--yes", "--preset", "nonsense", "c.json")
    refused("--deny", "--yes", "--deny", "relative", "c.json")
    refused("did you mean '--undo'", "--undoo", "c.json")
    os.mkdir("d")
    refused("not a regular file", "--yes", "d")
    os.mkfifo("f")
    refused("not a regular file", "--yes", "f")
    os.link("c.json", "e.json")
    refused("hard links", "--yes", "c.json")


def a_comment_among_our_words_is_not_lost(workspace):
    for text in ('{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}', '{"mcpServers": {"a": {"command": "x"}}}'):
        for old, new in (('"--", ', '/* mine */ "--", '), ('"x", "y"', '"x" /* mine */, "y"'), ('"x"]', '"x" /* mine */]'), ('["run"', '[ // mine\n"run"')):
            write("c.json", text)
            wrap("--yes", "c.json")
            changed = read("c.json").decode().replace(old, new)
            write("c.json", changed)
            is_lost = "mine" in changed and not ("// mine" in changed and '"y"' in changed)
            if is_lost:
                refused("this comment would be lost", "--yes", "--undo", "c.json")
            else:
                wrap("--yes", "--undo", "c.json")
                expect(("mine" in changed) == (b"mine" in read("c.json")), read("c.json"))


def a_directory_that_cannot_be_written_is_told_and_left(workspace):
    os.mkdir("d")
    write("d/c.json", CLAUDE)
    os.chmod("d", 0o555)
    if os.access("d", os.W_OK):
        os.chmod("d", 0o755)
        return
    done = subprocess.run([ABATIS, "mcp-wrap", "--yes", "d/c.json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    os.chmod("d", 0o755)
    expect(done.returncode == 125 and b"cannot write" in done.stderr and os.listdir("d") == ["c.json"], done)


def a_name_cannot_drive_the_terminal(workspace):
    write("c.json", '{"mcpServers": {"\\u001b[31m\\u202e": {"command": "x\\u001b]0;t\\u0007", "args": ["\u202e"]}}}')
    done = subprocess.run([ABATIS, "mcp-wrap", "--yes", "c.json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    expect(done.returncode == 0 and b"\x1b" not in done.stdout and "\u202e".encode() not in done.stdout, done)


def a_one_line_file_is_shown_around_its_changes_only(workspace):
    write("c.json", json.dumps({"a": "x" * 5000, "mcpServers": {"s": {"command": "x"}}, "z": "y" * 5000}))
    said = wrap("c.json", code=1)
    expect(len(said) < 1500 and '"command": "x"' in said and "..." in said, said)


main([value for value in list(globals().values()) if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("workspace",)])
