"""reach.py: tries to get at a file, or to change it, in every way there is, and prints one line for each: NAME reached|kept.

Arguments: the path of the files, in which WAY stands for the name of the way, what they hold, and, if it is to be waited
for, a file. Each way has a file of its own, since some change it. The working directory can be written, and so can the
files'. The same ways must all reach files that no rule is about: that is the control.
"""

import ctypes
import mmap
import os
import socket
import subprocess
import sys
import threading
import time

template, secret = sys.argv[1], sys.argv[-1].encode() if len(sys.argv) < 3 else sys.argv[2].encode()
path = directory = name = ""
libc = ctypes.CDLL(None, use_errno=True)


def holds(fd):
    try:
        return secret in os.read(fd, 4096)
    finally:
        os.close(fd)


def by_opening(flags=os.O_RDONLY, **words):
    return lambda: holds(os.open(path, flags, **words))


def from_directory():
    fd = os.open(directory, os.O_PATH)
    return holds(os.open(name, os.O_RDONLY, dir_fd=fd))


def from_root():
    return holds(os.open(path[1:], os.O_RDONLY, dir_fd=os.open("/", os.O_RDONLY)))


def from_working_directory():
    os.chdir(directory)
    return holds(os.open(name, os.O_RDONLY))


def by_fchdir():
    os.fchdir(os.open(directory, os.O_PATH))
    return holds(os.open("./" + name, os.O_RDONLY))


def by_dots():
    return holds(os.open(directory + "/../" + os.path.basename(directory) + "//./" + name, os.O_RDONLY))


def by_symlink():
    os.symlink(path, "way")
    return holds(os.open("way", os.O_RDONLY))


def by_symlink_to_directory():
    os.symlink(directory, "way")
    return holds(os.open("way/" + name, os.O_RDONLY))


def by_chain():
    os.symlink("second", "first")
    os.symlink(path, "second")
    return holds(os.open("first", os.O_RDONLY))


def by_hard_link():
    os.link(path, "other")
    return holds(os.open("other", os.O_RDONLY))


def by_hard_link_of_descriptor():
    fd = os.open(path, os.O_PATH)
    if libc.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, b"other", 0x400):
        raise OSError(ctypes.get_errno(), "linkat")
    return holds(os.open("other", os.O_RDONLY))


def by_rename():
    os.rename(path, "other")
    return holds(os.open("other", os.O_RDONLY))


def by_exchange():
    with open("mine", "w", encoding="utf-8") as file:
        file.write("mine")
    if libc.renameat2(-100, path.encode(), -100, b"mine", 2):
        raise OSError(ctypes.get_errno(), "renameat2")
    return holds(os.open("mine", os.O_RDONLY))


def by_descriptor_link():
    fd = os.open(path, os.O_PATH)
    return holds(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY))


def by_descriptor_of_number():
    fd = os.open(path, os.O_PATH)
    return holds(os.open(f"/proc/{os.getpid()}/fd/{fd}", os.O_RDONLY))


def by_dev_fd():
    fd = os.open(path, os.O_PATH)
    return holds(os.open(f"/dev/fd/{fd}", os.O_RDONLY))


def by_mapping():
    fd = os.open(path, os.O_RDONLY)
    return secret in mmap.mmap(fd, 0, prot=mmap.PROT_READ)[:]


def by_shell():
    return secret in subprocess.run(["cat", path], stdout=subprocess.PIPE, check=True).stdout


def by_redirection():
    return secret in subprocess.run(["sh", "-c", 'cat <"$1"', "sh", path], stdout=subprocess.PIPE, check=True).stdout


def by_copy():
    subprocess.run(["cp", path, "copy"], check=True, stderr=subprocess.DEVNULL)
    return holds(os.open("copy", os.O_RDONLY))


def by_thread():
    found = []

    def look():
        try:
            found.append(holds(os.open(path, os.O_RDONLY)))
        except OSError:
            found.append(False)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def by_daemon():
    left, right = os.pipe()
    if not os.fork():
        os.setsid()
        if not os.fork():
            try:
                os.write(right, os.read(os.open(path, os.O_RDONLY), 4096))
            except OSError:
                pass
            os._exit(0)  # pylint: disable=protected-access
        os._exit(0)  # pylint: disable=protected-access
    os.close(right)
    return secret in os.read(left, 4096)


def by_passed_descriptor():
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    socket.send_fds(left, [b"x"], [os.open(path, os.O_PATH)])
    fd = socket.recv_fds(right, 1, 1)[1][0]
    return holds(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY))


def by_script():
    with open("script", "w", encoding="utf-8") as file:
        file.write("#!/bin/cat " + path + "\n")
    os.chmod("script", 0o755)
    result = subprocess.run(["./script"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return secret in result.stdout


def changed(action):
    def look():
        before = os.lstat(path)
        action()
        after = os.lstat(path) if os.path.lexists(path) else None
        return after is None or (before.st_size, before.st_mode, before.st_mtime_ns, before.st_ino) != (
            after.st_size, after.st_mode, after.st_mtime_ns, after.st_ino)
    return look


def with_mine(action):
    def act():
        with open("mine", "w", encoding="utf-8") as file:
            file.write("mine, and longer than what was there")
        action()
    return act


def write(flags):
    def act():
        fd = os.open(path, flags)
        os.write(fd, b"changed by the command, and longer than it was")
        os.close(fd)
    return act


def attribute():
    os.setxattr(path, "user.mark", b"x")
    return True


ways = {
    "open": by_opening(),
    "open_nofollow": by_opening(os.O_RDONLY | os.O_NOFOLLOW),
    "open_nonblock": by_opening(os.O_RDONLY | os.O_NONBLOCK),
    "open_to_read_and_write": by_opening(os.O_RDWR),
    "open_or_create": by_opening(os.O_RDWR | os.O_CREAT),
    "from_directory": from_directory,
    "from_root": from_root,
    "from_working_directory": from_working_directory,
    "fchdir": by_fchdir,
    "dots": by_dots,
    "symlink": by_symlink,
    "symlink_to_directory": by_symlink_to_directory,
    "chain_of_symlinks": by_chain,
    "hard_link": by_hard_link,
    "hard_link_of_descriptor": by_hard_link_of_descriptor,
    "rename": by_rename,
    "exchange": by_exchange,
    "proc_self_fd": by_descriptor_link,
    "proc_number_fd": by_descriptor_of_number,
    "dev_fd": by_dev_fd,
    "mapping": by_mapping,
    "cat": by_shell,
    "redirection": by_redirection,
    "copy": by_copy,
    "thread": by_thread,
    "daemon": by_daemon,
    "passed_descriptor": by_passed_descriptor,
    "script": by_script,
    "write": changed(write(os.O_WRONLY)),
    "append": changed(write(os.O_WRONLY | os.O_APPEND)),
    "truncate": changed(lambda: os.truncate(path, 0)),
    "open_truncate": changed(lambda: os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))),
    "unlink": changed(lambda: os.unlink(path)),
    "replace": changed(with_mine(lambda: os.rename("mine", path))),
    "chmod": changed(lambda: os.chmod(path, 0o755)),
    "utime": changed(lambda: os.utime(path, (1, 1))),
    "setxattr": attribute,
}


def main():
    global path, directory, name  # pylint: disable=global-statement
    if sys.argv[1] == "list":
        print(*ways)
        return
    while len(sys.argv) > 3 and not os.path.exists(sys.argv[3]):
        time.sleep(0.01)
    for way, action in ways.items():
        path = template.replace("WAY", way)
        directory, name = os.path.split(path)
        child = os.fork()
        if not child:
            reached = False
            try:
                os.mkdir("room-" + way)
                os.chdir("room-" + way)
                reached = action()
            except (OSError, subprocess.CalledProcessError):
                pass
            print(way, "reached" if reached else "kept", flush=True)
            os._exit(0)  # pylint: disable=protected-access
        os.waitpid(child, 0)


main()
