"""probe.py: tries accesses and says which succeed; handed to python3 -c, so that it needs no file inside.

Arguments are KIND:PATH; one line is printed for each: "yes" or "no ERRNO". Nothing that exists is changed.
"""
import errno
import os
import socket
import subprocess
import sys


def read(path):
    if os.path.isdir(path):
        os.listdir(path)
    else:
        with open(path, "rb") as file:
            file.read(1)


def write(path):
    # Opening for append changes neither content nor times.
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND))


def create(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)


def execute(path):
    subprocess.run([path], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def refuse_own(server, kind):
    """One on a loopback of the sandbox's own is not in the network that the process itself is in."""
    port = f":{server.getsockname()[1]:04X} "
    with open(f"/proc/self/net/{kind}") as file:
        if not any(port in line for line in file):
            raise PermissionError(errno.EPERM, "a loopback of its own")


def connect(kind):
    if kind == "unix":
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            name = f"probe.{os.getpid()}.sock"
            server.bind(name)
            try:
                server.listen()
                client.connect(name)
            finally:
                os.unlink(name)
    elif kind == "pair":
        one, two = socket.socketpair()
        one.send(b"x")
        two.recv(1)
    elif kind == "inet":
        with socket.socket(socket.AF_INET) as server, socket.socket(socket.AF_INET) as client:
            server.bind(("127.0.0.1", 0))
            server.listen()
            client.connect(server.getsockname())
            refuse_own(server, "tcp")
    elif kind == "inet6":
        try:
            with socket.socket(socket.AF_INET6) as server:
                server.bind(("::1", 0))
                server.listen()
                refuse_own(server, "tcp6")
        except OSError as error:
            # A kernel without IPv6 refuses everybody; a sandbox says EPERM or EACCES.
            if error.errno != errno.EAFNOSUPPORT:
                raise


KINDS = {"read": read, "write": write, "create": create, "execute": execute, "stat": os.stat, "connect": connect}

for argument in sys.argv[1:]:
    name, _, rest = argument.partition(":")
    try:
        KINDS[name](rest)
        print("yes")
    except (OSError, subprocess.CalledProcessError) as error:
        print("no", getattr(error, "errno", error))
