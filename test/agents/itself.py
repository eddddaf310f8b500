"""itself.py: what an agent in a sandbox must not change, tried by every call that changes a file or a name.

    itself.py world HOME           makes the files
    itself.py control HOME SCRATCH tries each attempt on a copy, outside any sandbox: it must work
    itself.py state HOME           prints what is there
    itself.py try HOME GROUP...    tries all of them; prints those that worked

GROUP: own (what the next run of abatis depends on), git, home and starters (what programs outside run), absent (the same, not there yet)
"""
import ctypes
import glob
import hashlib
import mmap
import os
import shutil
import stat
import sys

TARGETS = {
    "own": [
        "ws/.abatis.yaml",
        ".config/abatis/policy.yaml",
        ".config/abatis/profiles/mine.yaml",
        ".local/state/abatis/trust/*",
        ".local/state/abatis/audit.jsonl",
        ".local/bin/abatis",
        ".local/bin/abatis-sh",
    ],
    "git": ["ws/.git/config", "ws/.git/hooks/pre-commit"],
    "home": [".bashrc", ".profile", ".claude/settings.json", ".claude/hooks/check.sh"],
    "starters": [
        "ws/.mcp.json",
        "ws/.claude/settings.json",
        "ws/.vscode/tasks.json",
    ],
    "absent": [
        ".bash_profile",
        ".local/bin/bash",
        ".config/autostart/evil.desktop",
        "ws/.cursor/mcp.json",
        "ws/.gemini/settings.json",
        "ws/.codex/config.toml",
        "ws/.envrc",
        "ws/.devcontainer.json",
        "ws/.git/commondir",
        "ws/.git/config.worktree",
    ],
}
EVIL = b"evil\n"
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def write(path, flags):
    fd = os.open(path, flags, 0o755)
    os.write(fd, EVIL)
    os.close(fd)


def map_and_write(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:4] = b"evil"


def spare(scratch, name="spare"):
    path = os.path.join(scratch, name)
    with open(path, "wb") as file:
        file.write(EVIL)
    return path


def away(scratch):
    path = os.path.join(scratch, "away")
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
    return path


def link_and_write(path, scratch):
    os.link(path, away(scratch))
    write(os.path.join(scratch, "away"), os.O_WRONLY | os.O_TRUNC)


def exchange(path, scratch):
    if libc.renameat2(AT_FDCWD, spare(scratch).encode(), AT_FDCWD, path.encode(), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")


def replace_by_symlink(path, scratch):
    os.unlink(path)
    os.symlink(spare(scratch), path)


def rebuild_parent(path, scratch):
    parent = os.path.dirname(path)
    os.rename(parent, away(scratch))
    os.mkdir(parent)
    write(path, os.O_WRONLY | os.O_CREAT)


def make_parents(path, scratch):
    """A tree that is made elsewhere and moved to the first name of the path that is not there."""
    top = path
    while not os.path.lexists(os.path.dirname(top)):
        top = os.path.dirname(top)
    made = away(scratch)
    inside = os.path.join(made, os.path.relpath(path, top)) if top != path else made
    os.makedirs(os.path.dirname(inside), exist_ok=True)
    write(inside, os.O_WRONLY | os.O_CREAT)
    os.rename(made, top)


def make(path, scratch):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, os.O_WRONLY | os.O_CREAT)


def make_symlink(path, scratch):
    top = path
    while not os.path.lexists(os.path.dirname(top)):
        top = os.path.dirname(top)
    os.symlink(scratch, top)


# A link to another file system, or to a file that is not ours, is refused anywhere: the scratch directory lies beside the targets.
ON_FILES = {
    "write": lambda path, scratch: write(path, os.O_WRONLY),
    "append": lambda path, scratch: write(path, os.O_WRONLY | os.O_APPEND),
    "truncate_by_open": lambda path, scratch: write(path, os.O_WRONLY | os.O_TRUNC),
    "truncate": lambda path, scratch: os.truncate(path, 1),
    "map_and_write": lambda path, scratch: map_and_write(path),
    "chmod": lambda path, scratch: os.chmod(path, 0o777),
    "set_times": lambda path, scratch: os.utime(path, (1, 1)),
    "link_and_write": link_and_write,
    "unlink": lambda path, scratch: os.unlink(path),
    "rename_away": lambda path, scratch: os.rename(path, away(scratch)),
    "rename_over": lambda path, scratch: os.rename(spare(scratch), path),
    "exchange": exchange,
    "replace_by_symlink": replace_by_symlink,
    "rename_parent": lambda path, scratch: os.rename(os.path.dirname(path), away(scratch)),
    "rebuild_parent": rebuild_parent,
    "add_beside": lambda path, scratch: write(path + ".new", os.O_WRONLY | os.O_CREAT),
}
ON_NOTHING = {"make": make, "move_a_tree_there": make_parents, "make_symlink": make_symlink}
# Beside these lies what a command may well write: the workspace, a home.
OPEN_PARENTS = {"ws/.abatis.yaml", "ws/.mcp.json", "ws/.git/config", ".bashrc", ".profile", ".local/bin/abatis", ".local/bin/abatis-sh"}
HUGE_PARENTS = OPEN_PARENTS - {"ws/.git/config", ".local/bin/abatis", ".local/bin/abatis-sh"}


def names_of(home, group):
    for name in TARGETS[group]:
        found = [os.path.relpath(path, home) for path in glob.glob(os.path.join(home, name))]
        # In `strict` nothing is met there.
        yield from found or [name.replace("*", "any")]


def attempts(home, groups):
    for group in groups:
        for name in names_of(home, group):
            for what, how in (ON_NOTHING if group == "absent" else ON_FILES).items():
                if what == "add_beside" and name in OPEN_PARENTS:
                    continue
                # The workspace and the home cannot be moved to a place inside them, and it would be no attempt on the file.
                if what in ("rename_parent", "rebuild_parent") and name in HUGE_PARENTS:
                    continue
                yield f"{what} {name}", how, os.path.join(home, name)


def make_world(home):
    for names in (TARGETS["own"], TARGETS["git"], TARGETS["home"], TARGETS["starters"]):
        for name in names:
            path = os.path.join(home, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if "*" not in name and not os.path.exists(path):
                with open(path, "w") as file:
                    file.write("version: 1\n" if name.endswith(".yaml") else f"# {name}\n")


def describe(path):
    status = os.lstat(path)
    text = f"{stat.filemode(status.st_mode)} {status.st_ino}"
    if stat.S_ISLNK(status.st_mode):
        return f"{text} -> {os.readlink(path)}"
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            return f"{text} {hashlib.sha256(file.read()).hexdigest()}"
    return text


def state(home):
    """All but the commands' own scratch and what abatis itself adds to its log."""
    lines = []
    for directory, directories, files in os.walk(home):
        if directory == os.path.join(home, "ws"):
            directories.remove("scratch")
        lines += [os.path.join(directory, name) for name in files + directories if not name.startswith("audit.jsonl")]
    for path in sorted(lines):
        print(os.path.relpath(path, home), describe(path))


def control(home, scratch):
    worked = 0
    for label, how, _ in attempts(home, TARGETS):
        copy = os.path.join(scratch, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy, symlinks=True, ignore=shutil.ignore_patterns("*.lock"))
        path = os.path.join(copy, label.split(" ", 1)[1])
        try:
            how(path, os.path.join(copy, "ws", "scratch"))
            worked += 1
        except OSError as error:
            print(f"not ok control {label} - {error}")
    print(f"{worked} work outside")


def try_all(home, groups):
    scratch = os.path.join(home, "ws", "scratch")
    try:
        spare(scratch)  # what follows fails for its target's sake, not for this
    except OSError:
        scratch = os.environ.get("TMPDIR", "/tmp")
        spare(scratch)
    count = 0
    for label, how, path in attempts(home, groups):
        count += 1
        try:
            how(path, scratch)
            print("WORKED", label)
        except OSError:
            pass
    print(f"{count} tried")


def main(verb, home, *rest):
    {"world": lambda: make_world(home), "control": lambda: control(home, *rest), "state": lambda: state(home),
     "try": lambda: try_all(home, rest)}[verb]()


main(*sys.argv[1:])
