"""signals.py: sends signals by every call there is.

signals.py at WAY PID GROUP: SIGTERM to somebody; prints "sent", or the error's name.
signals.py own: to processes of its own, and to itself; prints what came of it, which is the same everywhere.
"""
import ctypes
import errno
import os
import platform
import signal
import subprocess
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {"kill": 62, "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297},
    "aarch64": {"kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240},
}[platform.machine()]
PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434
SI_QUEUE = -1


def call(number, *arguments):
    """0, or the error's name."""
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        return errno.errorcode[ctypes.get_errno()]
    return 0


def information(number, value=0):
    words = (ctypes.c_int * 32)()
    words[0], words[2] = number, SI_QUEUE
    words[4], words[5], words[6] = os.getpid(), os.getuid(), value
    return ctypes.byref(words)


def send(way, pid, group, number=signal.SIGTERM):
    if way == "kill":
        return call(NUMBERS["kill"], pid, number)
    if way == "kill_with_high_bits":
        return call(NUMBERS["kill"], pid | 5 << 32, number)
    if way == "group":
        return call(NUMBERS["kill"], -group, number)
    if way == "tkill":
        return call(NUMBERS["tkill"], pid, number)
    if way == "tgkill":
        return call(NUMBERS["tgkill"], pid, pid, number)
    if way == "queue":
        return call(NUMBERS["rt_sigqueueinfo"], pid, number, information(number))
    if way == "thread_queue":
        return call(NUMBERS["rt_tgsigqueueinfo"], pid, pid, number, information(number))
    if way == "pidfd":
        fd = libc.syscall(ctypes.c_long(PIDFD_OPEN), ctypes.c_long(pid), ctypes.c_long(0))
        return call(PIDFD_SEND_SIGNAL, fd, number, 0, 0)
    if way == "directory":
        return call(PIDFD_SEND_SIGNAL, os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY), number, 0, 0)
    raise ValueError(way)


WAYS = ("kill", "kill_with_high_bits", "group", "tkill", "tgkill", "queue", "thread_queue")


def sleeper(**options):
    return subprocess.Popen(["sleep", "60"], **options)


def is_gone(pid, seconds=5.0):
    """A zombie that nobody has waited for yet is gone, too."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return True
        except OSError:
            return True
        time.sleep(0.005)
    return False


def orphan():
    """A process whose parent has ended, in a session of its own."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        pid = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")
        os.write(writer, str(pid).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reader, 20))


def own_processes():
    for way in WAYS:
        child = sleeper(start_new_session=True)
        print(way, "to a child:", send(way, child.pid, child.pid), child.wait())
    for way in WAYS[:2]:
        pid = orphan()
        print(way, "to an orphan:", send(way, pid, 0), is_gone(pid))
    child = sleeper()
    print("nothing to a child:", send("kill", child.pid, 0, 0))
    for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL):
        send("kill", child.pid, 0, number)
        print(number.name, os.waitpid(child.pid, os.WUNTRACED | os.WCONTINUED)[1])
    print("to who is gone:", send("kill", child.pid, 0), send("tgkill", child.pid, 0), send("queue", child.pid, 0))
    print("no such signal:", send("kill", os.getpid(), 0, 99))


def a_group():
    """A shell with many children that have children, all in one group."""
    shell = subprocess.Popen(["sh", "-c", "for i in $(seq 40); do (sleep 61 & sleep 62; wait) & done; echo; wait"],
                             stdout=subprocess.PIPE, start_new_session=True)
    shell.stdout.readline()
    time.sleep(0.3)
    members = [int(line.split()[0]) for line in
               subprocess.run(["ps", "-e", "-o", "pid=,pgid="], capture_output=True, text=True).stdout.splitlines()
               if int(line.split()[1]) == shell.pid]
    print("a group:", len(members) >= 100, send("group", 0, shell.pid, signal.SIGKILL), shell.wait(),
          all(is_gone(pid) for pid in members))


def a_storm():
    """Processes that fork all the time, and none of which is left."""
    storm = subprocess.Popen(["sh", "-c", "f() { while :; do (exit 0) & (sleep 63) & sleep 0.01; done; }; f & f & f"],
                             start_new_session=True)
    time.sleep(0.5)
    sent = send("group", 0, storm.pid, signal.SIGKILL)
    storm.wait()
    time.sleep(0.2)
    left = [line for line in subprocess.run(["ps", "-e", "-o", "pid=,pgid=,stat="], capture_output=True,
                                            text=True).stdout.splitlines()
            if int(line.split()[1]) == storm.pid and line.split()[2][0] != "Z"]
    print("a storm:", sent, left)


def itself():
    seen = []
    for number in (signal.SIGUSR1, signal.SIGRTMIN + 1):
        signal.signal(number, lambda number, frame: seen.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    for way in ("tkill", "tgkill", "queue", "thread_queue"):
        send(way, os.getpid(), 0, signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN + 1})
    send("queue", os.getpid(), 0, signal.SIGRTMIN + 1)
    print("itself:", len(seen), signal.sigwaitinfo({signal.SIGRTMIN + 1}).si_code)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    thread = threading.Thread(target=lambda: time.sleep(0.2))
    thread.start()
    print("a thread:", call(NUMBERS["tgkill"], os.getpid(), thread.native_id, signal.SIGUSR2),
          call(NUMBERS["tgkill"], os.getpid(), 1, signal.SIGUSR2))
    thread.join()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    print("its group:", call(NUMBERS["kill"], 0, signal.SIGTERM))


def a_value():
    """What is queued arrives, with the number of who says it is from."""
    reader, writer = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    pid = os.fork()
    if pid == 0:
        os.write(writer, b"x")
        got = signal.sigwaitinfo({signal.SIGUSR1})
        os._exit(7 if got.si_code == SI_QUEUE and got.si_pid == os.getppid() else 8)
    os.read(reader, 1)
    print("queued:", call(NUMBERS["rt_sigqueueinfo"], pid, signal.SIGUSR1, information(signal.SIGUSR1, 42)),
          os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    forged = (ctypes.c_int * 32)()
    child = sleeper()
    print("as the kernel's:", call(NUMBERS["rt_sigqueueinfo"], child.pid, signal.SIGTERM, ctypes.byref(forged)),
          call(NUMBERS["rt_sigqueueinfo"], child.pid, signal.SIGTERM, 8))
    child.kill()
    child.wait()


def main():
    if sys.argv[1] == "at":
        print(send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])) or "sent")
    elif sys.argv[1] == "everybody":
        child, other = sleeper(), orphan()
        print("everybody:", call(NUMBERS["kill"], -1, signal.SIGTERM), child.wait(), is_gone(other))
    else:
        own_processes()
        a_group()
        a_storm()
        itself()
        a_value()


main()
