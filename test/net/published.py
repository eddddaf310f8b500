#!/usr/bin/env python3
"""published.py: ports of a sandbox that the host reaches on its own loopback, from outside: published.py NAME

Exits 0 if all went as it should."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

ABATIS = os.environ["ABATIS"]
PORT = 18080
# Answers with what it was sent, in capitals; says when it listens.
SERVER = """
import socket, sys, threading
server = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, backlog=512)
print("ready", flush=True)
def serve(one):
    while data := one.recv(65536):
        one.sendall(data.upper())
    one.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


def start(*command, binds=(PORT,), flags=()):
    words = [ABATIS, "run", "--no-audit", *flags]
    for port in binds:
        words += ["--bind", str(port)]
    return subprocess.Popen([*words, "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def serve(address="127.0.0.1", port=PORT, **more):
    job = start("python3", "-c", SERVER, address, str(port), **more)
    while (line := job.stdout.readline()) != "ready\n":
        if not line:
            sys.exit("the server did not start")
    return job


def stop(job):
    job.terminate()
    job.communicate(timeout=20)


def connect(port=PORT, host="127.0.0.1"):
    sock = socket.create_connection((host, port), 10)
    sock.settimeout(10)
    return sock


def ask(sock, text=b"hello"):
    """What comes back, to the end; None if it was reset."""
    got = b""
    try:
        sock.sendall(text)
        sock.shutdown(socket.SHUT_WR)
        while part := sock.recv(65536):
            got += part
    except (ConnectionResetError, BrokenPipeError):
        return None
    return got


def is_refused(port=PORT, host="127.0.0.1"):
    try:
        return ask(connect(port, host)) is None
    except (ConnectionRefusedError, OSError):
        return True


def reached():
    """By both families, wherever the server listens; and only while the job lasts."""
    for address in ("127.0.0.1", "0.0.0.0", "::1", "::"):
        job = serve(address)
        if ask(connect()) != b"HELLO" or ask(connect(host="::1")) != b"HELLO":
            return False
        stop(job)
        if not is_refused():
            return False
    return True


def much():
    data = b"abcdefgh" * 500000
    job = serve()
    sock = connect()
    pid = os.fork()
    if not pid:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        os._exit(0)
    got = b""
    while part := sock.recv(65536):
        got += part
    os.waitpid(pid, 0)
    stop(job)
    return got == data.upper()


def other_port():
    """What is not published is not there, though a server inside has it."""
    job = serve(port=PORT + 1)
    good = is_refused(PORT + 1) and is_refused(PORT)
    stop(job)
    job = serve(port=PORT + 1, binds=(PORT, PORT + 1))
    good = good and ask(connect(PORT + 1)) == b"HELLO" and is_refused(PORT)
    stop(job)
    return good


def taken():
    """The job does not start, and says which port it is about, whichever family has it."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "0.0.0.0")):
        with socket.create_server((host, PORT), family=family):
            job = start("echo", "it ran")
            said = job.communicate(timeout=20)[0]
            if job.returncode != 125 or f"network.bind {PORT}" not in said or "it ran" in said:
                return False
    job = start("echo", "it ran")
    return "it ran" in job.communicate(timeout=20)[0] and job.returncode == 0


def many():
    job = serve()
    socks = [connect() for _ in range(200)]
    good = all(ask(sock, b"n%d" % number) == b"N%d" % number for number, sock in enumerate(socks))
    stop(job)
    return good


def late():
    """Before the server listens a connection is reset; afterwards it is not."""
    job = start("sh", "-c", f"echo ready; while [ ! -e go ]; do sleep 0.05; done; exec python3 -c \"$0\" 127.0.0.1 {PORT}", SERVER)
    while job.stdout.readline() != "ready\n":
        pass
    good = is_refused()
    with open("go", "w", encoding="ascii"):
        pass
    while job.stdout.readline() != "ready\n":
        pass
    good = good and ask(connect()) == b"HELLO"
    os.unlink("go")
    stop(job)
    return good


def relay_gone():
    """Without the relay nobody is there, and who was connected is told."""
    job = serve()
    sock = connect()
    sock.sendall(b"a")
    if sock.recv(1) != b"A":
        return False
    relays = subprocess.run(["pgrep", "-x", "abatis relay", "-P", str(job.pid)], capture_output=True, text=True, check=False)
    os.kill(int(relays.stdout), signal.SIGKILL)
    good = ask(sock) in (None, b"")
    for _ in range(50):
        if is_refused():
            break
        time.sleep(0.1)
    good = good and is_refused()
    stop(job)
    return good


def told():
    """The result has who came, with the bytes as the command sees them."""
    job = start("python3", "-c", "import socket\nserver = socket.create_server(('127.0.0.1', %d))\nprint('ready', flush=True)\n"
                "one = server.accept()[0]\none.sendall(one.recv(5) + b'more')\none.recv(1)" % PORT, flags=("--json",))
    for _ in range(100):
        if not is_refused():
            break
        time.sleep(0.05)
    seen = json.loads(job.communicate(timeout=20)[0].splitlines()[-1])["connections"]
    last = [one for one in seen if one["verdict"] == "closed"]
    return len(last) == 1 and last[0]["direction"] == "in" and last[0]["port"] == PORT and last[0]["rule"] == str(PORT) \
        and last[0]["address"] == "127.0.0.1" and last[0]["sent"] == 9 and last[0]["received"] == 5


def caged():
    """The relay may do what it has to; its cage is closed before the command starts."""
    job = serve()
    relays = subprocess.run(["pgrep", "-x", "abatis relay", "-P", str(job.pid)], capture_output=True, text=True, check=False)
    with open(f"/proc/{int(relays.stdout)}/status", encoding="ascii") as status:
        fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
    good = fields["Seccomp"] == "2" and fields["NoNewPrivs"] == "1" and ask(connect()) == b"HELLO"
    stop(job)
    return good


def only_with_a_list():
    """Where the network is not the sandbox's own a port is refused by name; so is one that would lead in a circle."""
    for flags in (("--net", "deny"), ("--net", "unix-only"), ("--net", "allow"), ("--connect", f"127.0.0.1:{PORT}")):
        job = start("echo", "it ran", flags=flags)
        said = job.communicate(timeout=20)[0]
        if job.returncode != 125 or f"network.bind {PORT}" not in said or "it ran" in said:
            return False
    job = start("echo", "it ran", flags=("--connect", f"127.0.0.1:{PORT + 1}"))
    return "it ran" in job.communicate(timeout=20)[0]


sys.exit(0 if globals()[sys.argv[1]]() else 1)
