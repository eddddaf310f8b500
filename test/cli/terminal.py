"""terminal.py ROWS COLUMNS STEP... -- COMMAND...: runs a command on a terminal, as somebody at a keyboard would.

Steps, in order: type:TEXT (with \\n, \\x03 ...), wait:TEXT (until the terminal shows it), size:ROWSxCOLUMNS.
Prints what was shown, then "exit CODE" and "mode kept" or "mode lost".
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

LIMIT = 30


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main():
    rows, columns = map(int, sys.argv[1:3])
    split = sys.argv.index("--")
    steps, command = sys.argv[3:split], sys.argv[split + 1:]
    near, far = pty.openpty()
    set_size(near, rows, columns)
    before = termios.tcgetattr(far)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(far, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(far, fd)
        os.closerange(3, 256)
        os.execvp(command[0], command)
    shown, searched = b"", 0
    end = time.time() + LIMIT

    def look(seconds):
        nonlocal shown
        if select.select([near], [], [], seconds)[0]:
            shown += os.read(near, 65536)

    for step in steps:
        kind, _, value = step.partition(":")
        if kind == "size":
            set_size(near, *map(int, value.split("x")))
        elif kind == "type":
            typed = value.encode().decode("unicode_escape").encode("latin-1")
            while typed:
                typed = typed[os.write(near, typed[:512]):]
                look(0)
        else:
            while value.encode() not in shown[searched:] and time.time() < end:
                look(0.1)
            searched = shown.find(value.encode(), searched) + len(value)
    code = None
    while time.time() < end:
        look(0.05)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
    if code is None:
        os.kill(pid, 9)
    look(0)
    print(shown.decode(errors="replace").replace("\r\n", "\n"), end="")
    print(f"\nexit {code}")
    print("mode kept" if termios.tcgetattr(far) == before else "mode lost")


main()
