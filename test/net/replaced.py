#!/usr/bin/env python3
"""replaced.py: /etc/hosts and /etc/resolv.conf are replaced while a job runs, and count from then on: replaced.py USER ABATIS

Takes root, in a mount namespace of its own, and another file system at /etc: this one can be written."""
import os
import subprocess
import sys
import time

LAB, (USER, ABATIS) = os.environ["LAB"], sys.argv[1:]
NEW = "93.184.216.53"
ALLOWED = ("open.example:7", "moved.example:7", "*.wild.example:7")
# The address that it was given first stays a name's own, whatever its own resolver reads in the new files.
COMMAND = """import socket, sys
known = {}
for name in map(str.strip, sys.stdin):
    try:
        if name not in known:
            known[name] = socket.getaddrinfo(name, 7, socket.AF_INET, socket.SOCK_STREAM)[0][4]
        with socket.create_connection(known[name], 20) as sock:
            sock.sendall(b"hello")
            print("yes" if sock.recv(5) else "nobody is there", flush=True)
    except OSError as problem:
        print(problem, flush=True)
"""


def replace(name, text):
    """As everybody does it: at no time is half of it there."""
    with open(f"/etc/{name}.new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(f"/etc/{name}.new", f"/etc/{name}")


def start():
    become = [] if USER == "0" else ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all", "--"]
    places = [word for place in ALLOWED for word in ("--connect", place)]
    return subprocess.Popen([*become, ABATIS, "run", "--no-audit", *places, "--", "python3", "-c", COMMAND],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def main():
    subprocess.run(["mount", "--bind", f"{LAB}/etc", "/etc"], check=True)
    with open("/etc/hosts", encoding="ascii") as file:
        hosts = file.read()
    job = start()
    mark = subprocess.check_output([f"{LAB}/bin/sink.py", "mark"], text=True).strip()

    def reaches(name):
        job.stdin.write(name + "\n")
        said = job.stdout.readline().strip()
        print(name, said)
        return said == "yes"

    def is_asked():
        return not subprocess.run([f"{LAB}/bin/sink.py", "received", mark, "udp", NEW, "53"], check=False).returncode

    def comes_true(check):
        """A file is looked at once a second; who notices that it is another is still answered by the old one."""
        return any(check(number) or time.sleep(0.3) for number in range(50))

    if not reaches("open.example") or reaches("moved.example") or is_asked():
        return 1
    replace("resolv.conf", f"nameserver {NEW}\n")
    replace("hosts", hosts + "93.184.216.51 moved.example\n")
    if not comes_true(lambda number: reaches(f"n{number}.wild.example") and is_asked()):
        return 1
    if not comes_true(lambda _: reaches("moved.example")):
        return 1
    replace("hosts", hosts)
    if not comes_true(lambda _: not reaches("moved.example")):
        return 1
    job.stdin.close()
    return job.wait()


sys.exit(main())
