"""names.py: makes, opens, moves and removes files in an empty directory in every way, and prints what came of it.

The same lines must come out where no sandbox is and where a broker does the work. The working directory holds a directory
`play`, and one file beside it that is protected inside.
"""

import ctypes
import errno
import os
import stat
import subprocess
import sys
import threading


def mode(path):
    status = os.lstat(path)
    return stat.filemode(status.st_mode) + " " + str(status.st_nlink)


def attempt(name, action, *arguments, **words):
    try:
        result = action(*arguments, **words)
        if isinstance(result, int) and not isinstance(result, bool) and result > 2:
            os.close(result)
            result = "descriptor"
        print(name, "->", result)
    except OSError as problem:
        print(name, "->", errno.errorcode[problem.errno])


def write(path, text, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, bits=0o666):
    fd = os.open(path, flags, bits)
    os.write(fd, text.encode())
    os.close(fd)
    return len(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def link_open(fd, path):
    libc = ctypes.CDLL(None, use_errno=True)
    at_fdcwd, at_symlink_follow = -100, 0x400
    if libc.linkat(at_fdcwd, b"/proc/self/fd/%d" % fd, at_fdcwd, path.encode(), at_symlink_follow):
        raise OSError(ctypes.get_errno(), "linkat")


def make():
    attempt("mkdir", os.mkdir, "d")
    attempt("mkdir again", os.mkdir, "d")
    attempt("mkdir with a slash", os.mkdir, "e/")
    attempt("mkdir of a dot", os.mkdir, ".")
    attempt("mkdir of the root", os.mkdir, "/")
    attempt("mkdir in nothing", os.mkdir, "absent/d")
    attempt("mkdir below a file", os.mkdir, "/etc/passwd/d")
    attempt("mkdir of nothing", os.mkdir, "")
    attempt("mkdir of a long name", os.mkdir, "x" * 256)
    attempt("mkdir of a longest name", os.mkdir, "x" * 255)
    attempt("mkdir with a mode", os.mkdir, "m", 0o700)
    print(mode("d"), mode("m"))
    attempt("makedirs", os.makedirs, "d/a/b/c")
    attempt("makedirs again", os.makedirs, "d/a/b/c", exist_ok=True)
    attempt("mkfifo", os.mkfifo, "pipe")
    attempt("mknod", os.mknod, "node", 0o600 | stat.S_IFREG)
    attempt("mknod again", os.mknod, "node", 0o600 | stat.S_IFREG)
    attempt("mknod with a slash", os.mknod, "other/", 0o600 | stat.S_IFREG)
    print(mode("pipe"), mode("node"))


def open_files():
    attempt("create", write, "f", "one")
    attempt("write again", write, "f", "two")
    attempt("append", write, "f", "three", os.O_WRONLY | os.O_APPEND)
    attempt("write in place", write, "f", "T", os.O_RDWR)
    print(read("f"), mode("f"))
    attempt("exclusive", write, "f", "x", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    attempt("exclusive and new", write, "g", "x", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
    print(mode("g"))
    attempt("no such file", write, "absent", "x", os.O_WRONLY)
    attempt("no such directory", write, "absent/f", "x")
    attempt("a directory", write, "d", "x", os.O_WRONLY)
    attempt("create a directory", write, "d", "x")
    attempt("create with a slash", write, "h/", "x")
    attempt("cut and read", os.open, "f", os.O_RDONLY | os.O_TRUNC)
    print(os.path.getsize("f"))
    attempt("unnamed", os.open, "d", os.O_RDWR | os.O_TMPFILE, 0o600)
    attempt("closed to oneself", lambda: os.close(os.open("c", os.O_WRONLY | os.O_CREAT, 0o000)))
    attempt("and opened", write, "c", "x", os.O_WRONLY)
    attempt("null", write, "/dev/null", "x", os.O_WRONLY)
    attempt("full", write, "/dev/full", "x", os.O_WRONLY)
    attempt("truncate", os.truncate, "g", 5)
    attempt("truncate nothing", os.truncate, "absent", 5)
    attempt("truncate a directory", os.truncate, "d", 5)
    print(os.path.getsize("g"))
    with open("g", "r+b") as file:
        file.truncate(2)
    print(os.path.getsize("g"))
    fd = os.open("d", os.O_RDWR | os.O_TMPFILE, 0o600)
    os.write(fd, b"unnamed")
    attempt("name it", link_open, fd, "named")
    print(read("named"))
    os.close(fd)


def links():
    attempt("symlink", os.symlink, "f", "s")
    attempt("symlink again", os.symlink, "f", "s")
    attempt("write through it", write, "s", "through")
    attempt("not through it", write, "s", "x", os.O_WRONLY | os.O_NOFOLLOW)
    attempt("exclusive", write, "s", "x", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    attempt("dangling", os.symlink, "d/made", "n")
    attempt("write through the dangling", write, "n", "made")
    print(read("d/made"), mode("n"))
    attempt("nowhere", os.symlink, "absent/made", "o")
    attempt("write through nowhere", write, "o", "x")
    attempt("the longest", os.symlink, "y" * 4095, "long")
    attempt("write through the longest", write, "long", "x")
    attempt("a ring", os.symlink, "ring", "ring")
    attempt("write through the ring", write, "ring", "x")
    attempt("two links", lambda: (os.symlink("two", "one"), os.symlink(os.getcwd() + "/three", "two")))
    attempt("write through two", write, "one", "three")
    print(read("three"))
    attempt("link", os.link, "f", "l")
    attempt("link again", os.link, "f", "l")
    attempt("link of nothing", os.link, "absent", "k")
    attempt("link of a directory", os.link, "d", "k")
    attempt("link of a link", os.link, "s", "t", follow_symlinks=False)
    print(mode("l"), mode("t"))


def move():
    attempt("rename", os.rename, "l", "l2")
    attempt("rename over", os.rename, "g", "l2")
    attempt("rename nothing", os.rename, "absent", "z")
    attempt("rename into nothing", os.rename, "f", "absent/z")
    attempt("rename a directory", os.rename, "m", "m2")
    attempt("rename a directory over a file", os.rename, "m2", "f")
    attempt("rename a file over a directory", os.rename, "f", "m2")
    attempt("rename over a full directory", os.rename, "m2", "d")
    attempt("rename a directory into itself", os.rename, "d", "d/a/d")
    attempt("rename a dot", os.rename, ".", "z")
    attempt("rename with a slash", os.rename, "m2/", "m3")
    attempt("rename to its own name", os.rename, "f", "f")
    attempt("unlink", os.unlink, "l2")
    attempt("unlink again", os.unlink, "l2")
    attempt("unlink a link", os.unlink, "s")
    attempt("unlink a directory", os.unlink, "d")
    attempt("rmdir", os.rmdir, "m3")
    attempt("rmdir of a file", os.rmdir, "f")
    attempt("rmdir of a full one", os.rmdir, "d")
    attempt("rmdir with a slash", os.rmdir, "e/")
    attempt("rmdir of a dot", os.rmdir, ".")


def masks():
    for mask in (0o077, 0o002, 0):
        os.umask(mask)
        write("masked%o" % mask, "x")
        os.mkdir("dmasked%o" % mask)
        print(mode("masked%o" % mask), mode("dmasked%o" % mask))
    subprocess.run(["sh", "-c", "umask 027; : >child"], check=True)
    os.umask(0o022)
    print(mode("child"))


def from_directories():
    fd = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
    attempt("mkdir from", os.mkdir, "from", dir_fd=fd)
    attempt("open from", os.open, "file", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=fd)
    attempt("rename from", os.rename, "file", "file2", src_dir_fd=fd, dst_dir_fd=fd)
    attempt("rename up", os.rename, "file2", "up", src_dir_fd=fd)
    attempt("unlink up", os.unlink, "../up", dir_fd=fd)
    attempt("from a file", os.mkdir, "x", dir_fd=os.open("f", os.O_RDONLY))
    os.chdir("d")
    attempt("relative", write, "../relative", "x")
    attempt("dots", write, "a/../../dots", "x")
    os.chdir("..")
    print(sorted(os.listdir(".")), sorted(os.listdir("d")))


def work():
    subprocess.run("printf '#!/bin/sh\\necho runs\\n' >s.sh; chmod +x s.sh; ./s.sh; rm s.sh", shell=True, check=True)
    subprocess.run("for i in 1 2 3 4 5 6 7 8; do (for j in 1 2 3 4 5; do echo $i >>log; done) & done; wait; wc -l <log",
                   shell=True, check=True)
    subprocess.run("cat pipe & sleep 0.2; echo through >pipe; wait", shell=True, check=True)
    subprocess.run("cp -r d copy; tar cf t.tar d; rm -r d copy; tar xf t.tar; ls -R d", shell=True, check=True)
    threads = [threading.Thread(target=write, args=("same", "x")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(read("same"))


os.chdir("play")
os.umask(0o022)
for part in (make, open_files, links, move, masks, from_directories, work):
    print("--", part.__name__)
    sys.stdout.flush()
    part()
    sys.stdout.flush()
