"""same.py: what connecting says and does, one line each: the same with the broker and without.

   same.py

Its own servers only. The working directory can be written."""
import errno
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

UNIX, STREAM, PACKETS = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_SEQPACKET


def say(name, act):
    try:
        result = act()
    except OSError as error:
        result = errno.errorcode.get(error.errno, str(error))
    print(name, result, flush=True)


def raw_connect(fd, address, length=None):
    """The system call itself, with bytes and lengths that libraries would not let pass."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(fd, address, len(address) if length is None else length):
        raise OSError(ctypes.get_errno(), "connect")
    return 0


def server(address, kind=STREAM, family=UNIX, backlog=8):
    sock = socket.socket(family, kind)
    sock.bind(address)
    sock.listen(backlog)
    return sock


def client(address, kind=STREAM, family=UNIX):
    sock = socket.socket(family, kind)
    sock.connect(address)
    return sock


def speak(listener, sock):
    """Both directions work, and each side sees the other's end."""
    peer = listener.accept()[0]
    sock.sendall(b"ping")
    assert peer.recv(10) == b"ping"
    peer.sendall(b"pong")
    assert sock.recv(10) == b"pong"
    sock.close()
    end = peer.recv(10)
    peer.close()
    return end


def ports():
    """A port of the loopback where nobody listens."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    sock.close()
    return port


def try_paths(base):
    listener, packets = server(base + "/stream"), server(base + "/packets", PACKETS)
    say("stream", lambda: speak(listener, client(base + "/stream")))
    say("seqpacket", lambda: speak(packets, client(base + "/packets", PACKETS)))
    say("no such path", lambda: client(base + "/none"))
    say("no such directory", lambda: client(base + "/none/none"))
    say("file on the way", lambda: client(base + "/stream/none"))
    say("slash behind", lambda: client(base + "/stream/"))
    say("wrong type", lambda: client(base + "/stream", PACKETS))
    say("wrong type again", lambda: client(base + "/packets"))
    open(base + "/file", "w").close()
    say("file", lambda: client(base + "/file"))
    say("directory", lambda: client(base))
    os.symlink("loop", base + "/loop")
    say("loop", lambda: client(base + "/loop"))
    os.chmod(base + "/stream", 0)
    say("closed socket", lambda: client(base + "/stream"))
    os.chmod(base + "/stream", 0o600)
    os.mkdir(base + "/closed")
    other = server(base + "/closed/stream")
    os.chmod(base + "/closed", 0)
    say("closed directory", lambda: client(base + "/closed/stream"))
    os.chmod(base + "/closed", 0o700)
    other.close()
    say("gone server", lambda: client(base + "/closed/stream"))
    once = client(base + "/stream")
    say("connected twice", lambda: once.connect(base + "/stream"))
    say("connected to itself", lambda: listener.connect(base + "/stream"))
    say("own peer", lambda: struct.unpack("3i", once.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] == os.getuid())
    peer = listener.accept()[0]
    say("peer's user", lambda: struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1:] ==
        (os.getuid(), os.getgid()))
    say("name of the peer", lambda: once.getpeername() == base + "/stream")
    say("name of the other", lambda: repr(peer.getpeername()))
    os.unlink(base + "/stream")
    say("removed name", lambda: client(base + "/stream"))


def try_addresses(base):
    listener = server(base + "/s")
    name = (base + "/s").encode()
    head = struct.pack("H", UNIX)
    sock = socket.socket(UNIX, STREAM)
    for label, address, length in [
            ("no address", b"", 0), ("one byte", b"\1", 1), ("no path", head, 2), ("negative", head + name, -1),
            ("too long", head + name + b"\0" * 200, 129), ("long for a path", head + name + b"\0" * 200, 111),
            ("no family", struct.pack("H", 0) + name, None), ("other family", struct.pack("H", socket.AF_INET) + name, None),
            ("not ended", head + name + b"garbage", 2 + len(name)), ("no memory", None, None), ("out of memory", 16, None)]:
        if address is None or isinstance(address, int):
            say(label, lambda: raw_connect(sock.fileno(), address, 30))
        else:
            say(label, lambda: raw_connect(sock.fileno(), address, length))
    sock.close()
    say("closed number", lambda: raw_connect(999, head + name))
    say("negative number", lambda: raw_connect(-1, head + name))
    say("no socket", lambda: raw_connect(os.open("/dev/null", os.O_RDONLY), head + name))
    say("number of a path", lambda: raw_connect(os.open("/dev/null", os.O_PATH), head + name))
    say("closed number, bad length", lambda: raw_connect(999, head + name, -1))
    say("no socket, bad length", lambda: raw_connect(os.open("/dev/null", os.O_RDONLY), head + name, -1))
    listener.close()


def try_abstract():
    name = "\0own-%d-%d" % (os.getpid(), time.monotonic_ns())
    say("abstract that nobody has", lambda: client(name))
    listener = server(name)
    say("own abstract", lambda: speak(listener, client(name)))
    say("own abstract of a wrong type", lambda: client(name, PACKETS))
    child = os.fork()
    if not child:
        client(name).close()
        os._exit(0)
    listener.accept()[0].close()
    say("abstract of a child", lambda: os.waitpid(child, 0)[1])


def try_internet():
    for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
        listener = server((host, 0), STREAM, family)
        port = listener.getsockname()[1]
        label = host + " "
        say(label + "blocking", lambda: speak(listener, client((host, port), STREAM, family)))
        say(label + "nobody", lambda: client((host, ports()), STREAM, family))
        sock = socket.socket(family, STREAM)
        sock.setblocking(False)
        say(label + "non-blocking", lambda: sock.connect((host, port)))
        select.select([], [sock], [])
        say(label + "and then", lambda: sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        sock.setblocking(True)
        say(label + "both ways", lambda: speak(listener, sock))
        say(label + "with a limit", lambda: speak(listener, socket.create_connection((host, port), 5)))
        refused = socket.socket(family, STREAM)
        refused.setblocking(False)
        say(label + "non-blocking to nobody", lambda: refused.connect_ex((host, ports())) in (errno.EINPROGRESS,
                                                                                              errno.ECONNREFUSED))
        once = client((host, port), STREAM, family)
        say(label + "twice", lambda: once.connect((host, port)))
        new = socket.socket(family, STREAM)
        say(label + "short", lambda: raw_connect(new.fileno(), struct.pack("H", family), 2))
        say(label + "shorter", lambda: raw_connect(new.fileno(), b"\2", 1))
        say(label + "unix address", lambda: raw_connect(new.fileno(), struct.pack("H", UNIX) + b"/x" * 20))
        say(label + "dissolved", lambda: raw_connect(once.fileno(), struct.pack("H", 0) + b"\0" * 26))
        say(label + "and again", lambda: once.connect((host, port)))
        datagrams, back = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
        back.bind((host, 0))
        say(label + "datagrams", lambda: datagrams.connect(back.getsockname()))
        datagrams.send(b"x")
        say(label + "arrive", lambda: back.recv(5))
        say(label + "datagrams dissolved", lambda: raw_connect(datagrams.fileno(), struct.pack("H", 0) + b"\0" * 26))
        say(label + "datagrams by address", lambda: datagrams.sendto(b"y", back.getsockname()))


def fill(address, family):
    """A server that accepts nobody, and as many clients as it holds; the next one waits."""
    listener = server(address, STREAM, family, 0)
    kept = [listener]
    while True:
        sock = socket.socket(family, STREAM)
        sock.setblocking(False)
        code = sock.connect_ex(listener.getsockname())
        if code == errno.EAGAIN or (code and not select.select([], [sock], [], 0.3)[1]):
            return kept
        kept.append(sock)


def try_waiting(base):
    for family, address in (UNIX, base + "/full"), (socket.AF_INET, ("127.0.0.1", 0)):
        label = "full %d " % family
        kept = fill(address, family)
        listener, address = kept[0], kept[0].getsockname()
        limited = socket.socket(family, STREAM)
        limited.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 300000))
        start = time.monotonic()
        say(label + "own limit", lambda: limited.connect(address))
        took = time.monotonic() - start
        say(label + "takes as long", lambda: 0.25 < took < 0.6 or took)
        say(label + "limit stays", lambda: struct.unpack("ll", limited.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)))
        unlimited, results = socket.socket(family, STREAM), []

        def wait():
            unlimited.connect(address)
            results.append("connected")
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        say(label + "waits", lambda: results == [])
        # Others are answered meanwhile.
        say(label + "others", lambda: client("\0nobody-%d" % os.getpid()))
        while thread.is_alive():
            if select.select([listener], [], [], 0.1)[0]:
                listener.accept()[0].close()
        say(label + "then", lambda: results)
        say(label + "no limit stays", lambda: struct.unpack("ll", unlimited.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)))
        listener.close()


def try_twice(base):
    """Two threads connect the same socket: one of them does, and its limit stays."""
    listener = fill(base + "/twice", UNIX)[0]
    sock, results = socket.socket(UNIX, STREAM), []

    def wait():
        results.append(errno.errorcode.get(sock.connect_ex(base + "/twice"), "connected"))
    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    while any(thread.is_alive() for thread in threads):
        if select.select([listener], [], [], 0.1)[0]:
            listener.accept()[0].close()
    say("twice at once", lambda: sorted(results))
    say("no limit stays after that", lambda: struct.unpack("ll", sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)))


def try_signals(base):
    """A handler ends the wait, or, if it says so, the wait goes on."""
    class Rung(Exception):
        pass

    def ring(*_):
        raise Rung
    for family, address in (UNIX, base + "/rung"), (socket.AF_INET, ("127.0.0.1", 0)):
        kept = fill(address, family)
        listener, address = kept[0], kept[0].getsockname()
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        start = time.monotonic()
        try:
            client(address, STREAM, family)
            print("not rung")
        except Rung:
            print("rung", time.monotonic() - start < 2)
        # By the system call itself, which is made again.
        calls = []
        signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
        for restarts in False, True:
            signal.siginterrupt(signal.SIGALRM, not restarts)
            child = os.fork()
            if not child:
                time.sleep(1.5 if restarts else 60)
                while True:
                    listener.accept()[0].close()
            sock = socket.socket(family, STREAM)
            signal.setitimer(signal.ITIMER_REAL, 0.1, 0.3)
            name = bytes(address, "ascii") if family == UNIX else struct.pack("!H4s8x", address[1], b"\x7f\0\0\1")
            say("restarts %s" % restarts, lambda: raw_connect(sock.fileno(), struct.pack("H", family) + name))
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        print("calls", len(calls) > 1)
        listener.close()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def try_killed(base):
    """More than all threads that connect can wait; who is killed is waited for no longer."""
    kept = fill(base + "/never", UNIX)
    for _ in range(4):
        children = []
        for _ in range(60):
            child = os.fork()
            if not child:
                try:
                    client(base + "/never")
                finally:
                    os._exit(9)
            children.append(child)
        time.sleep(0.5)
        for child in children:
            os.kill(child, signal.SIGKILL)
        codes = {os.waitpid(child, 0)[1] for child in children}
        say("killed while they wait", lambda: codes)
    listener = server(base + "/after")
    say("and after", lambda: speak(listener, client(base + "/after")))
    kept[0].close()


def try_many(base):
    """At once, by threads, with blocking sockets."""
    listener, results = server(base + "/many", backlog=200), []

    def run():
        for _ in range(20):
            try:
                client(base + "/many").close()
                results.append(0)
            except OSError as error:
                results.append(error.errno)
    threads = [threading.Thread(target=run) for _ in range(30)]
    stop = threading.Event()

    def accept():
        listener.settimeout(0.1)
        while not stop.is_set():
            try:
                listener.accept()[0].close()
            except socket.timeout:
                pass
    accepting = threading.Thread(target=accept)
    accepting.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    accepting.join()
    say("many", lambda: (len(results), set(results)))


def main():
    base = os.getcwd() + "/play"
    os.mkdir(base)
    try_paths(base)
    try_addresses(base)
    try_abstract()
    if "unix" not in sys.argv[1:]:
        try_internet()
        try_waiting(base)
        try_signals(base)
    try_twice(base)
    try_killed(base)
    try_many(base)


main()
