"""reach.py: every way to a unix socket.

   reach.py PATH stream|seqpacket [GO]

PATH is an absolute path; the working directory can be written. With GO, waits until that file is there. Prints a line
for each way: its name, and "reached" or what the kernel said."""
import ctypes
import errno
import os
import socket
import struct
import sys
import threading
import time

TYPES = {"stream": socket.SOCK_STREAM, "seqpacket": socket.SOCK_SEQPACKET}


def reach(address, kind):
    """Connects, and is reached by the server's letter."""
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.settimeout(None)
        sock.connect(address)
        return sock.recv(1) != b""


def by_absolute(path, kind):
    return reach(path, kind)


def by_bytes_without_end(path, kind):
    # All 108 bytes: the kernel ends the name itself.
    directory, name = os.path.split(path)
    address = struct.pack("H", socket.AF_UNIX) + (directory + "/" * (109 - len(path)) + name).encode()
    libc = ctypes.CDLL(None, use_errno=True)
    with socket.socket(socket.AF_UNIX, kind) as sock:
        if libc.connect(sock.fileno(), address, len(address)):
            raise OSError(ctypes.get_errno(), "connect")
        return len(address) == 110 and sock.recv(1) != b""


def by_relative(path, kind):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        return reach(os.path.basename(path), kind)
    finally:
        os.chdir(here)


def by_dots(path, kind):
    return reach(os.path.relpath(path), kind)


def by_link(path, kind):
    name = "to-socket"
    os.symlink(path, name)
    try:
        return reach(name, kind)
    finally:
        os.unlink(name)


def by_link_to_directory(path, kind):
    name = "to-directory"
    os.symlink(os.path.dirname(path), name)
    try:
        return reach(name + "/" + os.path.basename(path), kind)
    finally:
        os.unlink(name)


def by_descriptor(path, kind):
    fd = os.open(path, os.O_PATH)
    try:
        return reach("/proc/self/fd/%d" % fd, kind)
    finally:
        os.close(fd)


def without_blocking(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.setblocking(False)
        sock.connect(path)
        sock.setblocking(True)
        return sock.recv(1) != b""


def of_thread(action):
    """What the action returns or raises, in a thread of its own."""
    results = []

    def run():
        try:
            results.append(action())
        except OSError as error:
            results.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(results[0], OSError):
        raise results[0]
    return results[0]


def in_thread(path, kind):
    return of_thread(lambda: reach(path, kind))


def in_thread_with_own_descriptors(path, kind):
    # The number is another socket, or none, in the process's other threads.
    def action():
        if ctypes.CDLL(None).unshare(0x400):
            raise OSError(errno.ENOSYS, "unshare")
        sock = socket.socket(socket.AF_UNIX, kind)
        sock.connect(path)
        return sock.recv(1) != b""
    return of_thread(action)


def in_child(path, kind):
    child = os.fork()
    if not child:
        try:
            os._exit(0 if reach(path, kind) else 1)
        except OSError as error:
            os._exit(error.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, "child")
    return True


# From here on: not all of them lead anywhere without a sandbox, or with a broker.
def by_working_directory_in_proc(path, kind):
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        return reach("/proc/self/cwd/" + os.path.basename(path), kind)
    finally:
        os.chdir(here)


def by_root_in_proc(path, kind):
    return reach("/proc/thread-self/root" + path, kind)


def by_directory_in_proc(path, kind):
    fd = os.open(os.path.dirname(path), os.O_PATH)
    try:
        return reach("/proc/self/fd/%d/%s" % (fd, os.path.basename(path)), kind)
    finally:
        os.close(fd)


def by_another_name(path, kind):
    os.link(path, "another-name")
    try:
        return reach("another-name", kind)
    finally:
        os.unlink("another-name")


def by_moving(path, kind):
    os.rename(path, "moved")
    try:
        return reach("moved", kind)
    finally:
        os.rename("moved", path)


def by_address_of_a_message(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.sendto(b"x", path)
        sock.settimeout(0.2)
        return sock.recv(1) != b""


def by_address_of_a_message_of_a_pair(path, kind):
    one, _other = socket.socketpair(socket.AF_UNIX, kind)
    one.sendmsg([b"x"], [], 0, path)
    one.settimeout(0.2)
    return one.recv(1) != b""


SURE = [by_absolute, by_bytes_without_end, by_relative, by_dots, by_link, by_link_to_directory, by_descriptor, without_blocking,
        in_thread, in_thread_with_own_descriptors, in_child]
OTHERS = [by_working_directory_in_proc, by_root_in_proc, by_directory_in_proc, by_another_name, by_moving,
          by_address_of_a_message, by_address_of_a_message_of_a_pair]


def main():
    path, kind = sys.argv[1], TYPES[sys.argv[2]]
    while len(sys.argv) > 3 and not os.path.exists(sys.argv[3]):
        time.sleep(0.01)
    for way in SURE + OTHERS:
        try:
            result = "reached" if way(path, kind) else "empty"
        except socket.timeout:
            result = "timeout"
        except OSError as error:
            result = errno.errorcode.get(error.errno, str(error))
        print(way.__name__, "sure" if way in SURE else "other", result)


main()
