"""Files that are not what they seem: links, odd names, devices, nothing, too much, and others that change meanwhile."""
import base64
import os
import socket
import threading

from asking import Mcp, facts_of
from lib import TOP, eventually, expect, main, unique

MOST = 1 << 20  # bytes that one call reads
LISTED = 1000  # entries that one call lists


def content_of(part):
    return part["content"].encode() if "content" in part else base64.b64decode(part["content_base64"])


def put(path, text="s3cret"):
    with open(path, "w") as file:
        file.write(text)


class Outside:
    """A directory beside the workspace, with a secret in it."""

    def __enter__(self):
        self.path = f"{TOP}/scratch/{unique()}"
        os.mkdir(self.path)
        put(f"{self.path}/secret")
        return self.path

    def __exit__(self, *_):
        for name in os.listdir(self.path):
            os.remove(f"{self.path}/{name}")
        os.rmdir(self.path)


# ---- where a path leads ----

def no_way_of_writing_a_path_leads_to_what_is_denied(workspace):
    with Outside() as outside:
        name = os.path.basename(outside)
        os.mkdir("sub")
        os.symlink(outside, "directory")
        os.symlink("directory/secret", "chain")
        os.symlink("../../" + name, "sub/up")
        ways = [f"{outside}/secret", f"../{name}/secret", f"sub/../../{name}/secret", "directory/secret", "chain", "sub/up/secret",
                f"/proc/self/root{outside}/secret", f"/proc/self/cwd/../{name}/secret", f"//{outside}//.//secret", f"{workspace}/../{name}/secret"]
        for flags, is_open in ((["--deny", outside], False), ([], True)):
            with Mcp(*flags) as server:
                for way in ways:
                    result = server.call("read_file", path=way)
                    expect(result["isError"] is not is_open and ("s3cret" in str(result)) is is_open, f"{flags} {way}: {result}")
                    result = server.call("list_directory", path=os.path.dirname(way) or ".")
                    expect(is_open or "'secret'" not in str(result), f"{flags} {way}: {result}")
                expect(("'secret'" in str(server.call("list_directory", path="directory"))) is is_open, flags)


def nothing_outside_the_workspace_is_written_by_any_way(workspace):
    with Outside() as outside:
        os.symlink(outside, "directory")
        os.symlink(f"{outside}/new", "dangling")
        os.symlink(f"{outside}/secret", "link")
        ways = ["directory/new", "dangling", "link", f"../{os.path.basename(outside)}/new", f"/proc/self/cwd/directory/new", "directory/secret"]
        with Mcp() as server:
            for way in ways:
                for mode in ("overwrite", "create", "append"):
                    expect(server.call("write_file", path=way, content="changed", mode=mode)["isError"] is True, f"{way} {mode}")
        with open(f"{outside}/secret") as file:
            expect(file.read() == "s3cret" and os.listdir(outside) == ["secret"], "it was changed")
        with Mcp("--write", outside) as server:
            for way in ways:
                if not way.startswith("/proc"):  # followed for nobody, where every write is asked about
                    server.works("write_file", path=way, content="changed")
        with open(f"{outside}/secret") as file:
            expect(file.read() == "changed" and sorted(os.listdir(outside)) == ["new", "secret"], "the control")


def a_link_that_is_exchanged_meanwhile_leads_nowhere_else(workspace):
    put("harmless", "harmless")
    os.symlink("harmless", "link")
    with Outside() as outside:
        is_over = threading.Event()

        def exchange():
            while not is_over.is_set():
                for target in (f"{outside}/secret", "harmless"):
                    os.symlink(target, "next")
                    os.rename("next", "link")

        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for flags, wanted in ((["--deny", outside], {"harmless", None}), ([], {"harmless", "s3cret"})):
                seen = []

                def reads_both():
                    result = server.call("read_file", path="link")
                    seen.append(None if result["isError"] else result["structuredContent"]["content"])
                    return len(seen) > 200 and set(seen) >= wanted

                with Mcp(*flags) as server:
                    eventually(reads_both, f"{flags}: {set(seen)}")
                expect(set(seen) == wanted, f"{flags}: {set(seen)}")
        finally:
            is_over.set()
            thread.join()


def check_path_says_what_the_tools_then_do(workspace):
    with Outside() as outside:
        os.symlink(f"{outside}/secret", "link")
        put("mine")
        with Mcp("--deny", outside) as server:
            for path in ("mine", "link", f"{outside}/secret", "./mine", f"../{os.path.basename(outside)}/secret"):
                for access, tool, more in (("read", "read_file", {}), ("write", "write_file", {"content": "", "mode": "append"})):
                    said = server.works("check_path", access=access, path=path)["allowed"]
                    expect(server.call(tool, path=path, **more)["isError"] is not said, f"{access} {path}: {said}")


def what_permissions_forbid_stays_forbidden(workspace):
    put("closed")
    os.chmod("closed", 0)
    with Mcp() as server:
        server.fails("read_file", "Permission denied", path="closed")
        server.fails("write_file", "Permission denied", path="closed", content="x")
        os.chmod("closed", 0o600)
        expect(server.works("read_file", path="closed")["content"] == "s3cret", "the control")


def what_programs_outside_would_run_is_not_written(workspace):
    os.makedirs(".git/hooks")
    put(".git/config", "[core]")
    starters = [".mcp.json", ".vscode/tasks.json", ".claude/settings.json", ".envrc", ".git/hooks/pre-commit", ".git/config"]
    with Mcp() as server:
        for path in starters:
            expect(server.works("check_path", access="write", path=path)["allowed"] is False, path)
            expect(server.call("write_file", path=path, content="x")["isError"] is True, path)
            server.call("run_command", command=["sh", "-c", 'mkdir -p "$(dirname "$1")"; echo x >"$1"', "sh", path])
        server.works("write_file", path="mcp.json", content="the control")
    with open(".git/config") as file:
        expect(file.read() == "[core]", "it was changed")
    expect(sorted(os.listdir(".")) == [".git", "mcp.json"] and os.listdir(".git/hooks") == [], "something was left")


# ---- how much there is ----

def an_empty_file_is_a_text_of_nothing(workspace):
    put("empty", "")
    with Mcp() as server:
        part = server.works("read_file", path="empty")
        expect((part["content"], part["size"], part["bytes"], part["has_more"]) == ("", 0, 0, False), part)
        expect(server.works("write_file", path="none", content="")["size"] == 0 and os.path.getsize("none") == 0, "write")
        os.mkdir("nothing")
        expect(server.works("list_directory", path="nothing")["entries"] == [], "list")


def a_huge_file_is_read_in_parts_wherever_one_begins(workspace):
    size = 1 << 40
    with open("huge", "wb") as file:
        file.truncate(size)
        file.seek(size - 4)
        file.write(b"last")
    with Mcp() as server:
        part = server.works("read_file", path="huge", offset=size - 4)
        expect((part["content"], part["size"], part["has_more"]) == ("last", size, False), part)
        for limit in (1, MOST, MOST + 1, 1 << 62):
            part = server.works("read_file", path="huge", limit=limit)
            expect(part["bytes"] == min(limit, MOST) == len(content_of(part)) and part["size"] == size and part["has_more"] is True, limit)
        for offset in (size, size + 1, 1 << 62, (1 << 63) - 1):
            part = server.works("read_file", path="huge", offset=offset)
            expect((part["bytes"], part["size"], part["has_more"]) == (0, size, False), f"{offset}: {part}")
        server.fails("read_file", "'offset' must be", path="huge", offset=-1)


def as_much_text_as_may_be_asked_for_comes_whole(workspace):
    """The most that a call reads, as text and as bytes, though limits.output is no more than that."""
    for data in (b"x" * MOST, os.urandom(MOST), b'"\\\n\t' * (MOST // 4), "€".encode() * (MOST // 3)):
        with open("file", "wb") as file:
            file.write(data)
        with Mcp() as server:
            expect(content_of(server.works("read_file", path="file", limit=MOST)) == data, data[:9])


def as_much_as_a_line_holds_is_written(workspace):
    for data in ("x" * (7 << 20), "\x01" * (1 << 20), "𝄞" * (1 << 19)):
        with Mcp() as server:
            expect(server.works("write_file", path="file", content=data)["bytes"] == len(data.encode()), data[:9])
        with open("file", newline="") as file:
            expect(file.read() == data, data[:9])


def bytes_come_back_as_they_are(workspace):
    for data in (b"\0", b"a\0b", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xef\xbb\xbfbom\r\n", b"\x1b[2J", bytes(range(256)), b"\xf4\x90\x80\x80", b"ab\xe2\x82"):
        with Mcp() as server:
            server.works("write_file", path="file", content_base64=base64.b64encode(data).decode())
            expect(content_of(server.works("read_file", path="file")) == data, data)
            expect(content_of(server.works("read_file", path="file", limit=len(data))) == data or data == b"ab\xe2\x82", data)


def a_file_that_grows_is_read_in_parts_that_fit(workspace):
    is_over = threading.Event()
    word = b"0123456789abcdef"

    def grow():
        with open("log", "ab", buffering=0) as file:
            while not is_over.is_set():
                file.write(word * 64)

    put("log", "")
    thread = threading.Thread(target=grow)
    thread.start()
    try:
        with Mcp() as server:
            got = b""
            while len(got) < 4 * MOST:
                part = server.works("read_file", path="log", offset=len(got), limit=100000)
                expect(part["bytes"] == len(content_of(part)) and part["offset"] + part["bytes"] <= part["size"], part)
                got += content_of(part)
            expect(got == word * (len(got) // 16) + word[:len(got) % 16], "mixed up")
    finally:
        is_over.set()
        thread.join()


# ---- what it is ----

def what_is_no_file_is_neither_read_nor_written(workspace):
    os.mkfifo("pipe")
    os.mkdir("directory")
    with socket.socket(socket.AF_UNIX) as listener, Mcp() as server:
        listener.bind("socket")
        for path in ("pipe", "directory", "socket", "/dev/null", "/dev/zero", "/dev/tty", "/dev/random"):
            for mode in ("overwrite", "append"):
                expect(server.call("write_file", path=path, content="x", mode=mode)["isError"] is True, f"{path} {mode}")
            expect(server.call("read_file", path=path)["isError"] is True, path)
        reads = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
        server.fails("write_file", "not a file", path="pipe", content="x")
        expect(os.read(reads, 1) == b"", "something was written")
        os.close(reads)
        for path in ("", "x" * 256, "x/" * 3000, "absent/file", "pipe/file"):
            expect(server.call("read_file", path=path)["isError"] is True, path[:9])


def files_of_the_kernel_that_have_no_size_are_read(workspace):
    with Mcp() as server:
        part = server.works("read_file", path="/proc/self/status")
        expect("Name:" in part["content"] and part["size"] == part["bytes"] and part["has_more"] is False, part)


def names_that_are_no_text_are_listed_as_bytes(workspace):
    names = [b"\xff\xfe", b"new\nline", b"\x1b[2J", b'quo"te\\', "ä€𝄞".encode(), b"-rf", b" ", b"\xed\xa0\x80"]
    for name in names:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    with Mcp() as server:
        result = server.call("list_directory", path=".")
        entries = result["structuredContent"]["entries"]
        seen = [entry["name"].encode() if "name" in entry else base64.b64decode(entry["name_base64"]) for entry in entries]
        expect(seen == sorted(names), seen)
        expect(result["content"][0]["text"].count("\n") == len(names) - 1 and "\x1b" not in result["content"][0]["text"], result["content"])


def as_many_of_the_longest_names_as_are_listed_fit(workspace):
    for number in range(LISTED):
        os.mknod(b"%04d" % number + b"\xff" * 251)
    with Mcp() as server:
        part = server.works("list_directory", path=".")
        expect([base64.b64decode(entry["name_base64"])[:4] for entry in part["entries"]] == [b"%04d" % number for number in range(LISTED)], part["count"])
        expect(part["has_more"] is False, part["count"])


def of_a_hundred_thousand_entries_the_first_by_name_are_listed(workspace):
    os.mkdir("many")
    for number in range(100000):
        os.mknod(f"many/{number:06}")
    with Mcp() as server:
        part = server.works("list_directory", path="many")
        expect(part["count"] == 100000 and part["has_more"] is True, part["count"])
        expect([entry["name"] for entry in part["entries"]] == [f"{number:06}" for number in range(LISTED)], "not the first")
        expect(server.works("run_command", command=["true"])["exit_code"] == 0, "it is worn out")


main(facts_of(globals()))
