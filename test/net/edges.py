#!/usr/bin/env python3
"""edges.py: what honest and dishonest clients do at the edges of a connection, from inside: edges.py NAME

Exits 0 if all went as it does without a relay."""
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

HOST = "open.example"
ECHO = 7


def connect(port=ECHO, family=0):
    info = socket.getaddrinfo(HOST, port, family, socket.SOCK_STREAM)[0]
    sock = socket.socket(info[0], socket.SOCK_STREAM)
    sock.settimeout(10)
    sock.connect(info[4])
    return sock


def read_all(sock):
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def urgent():
    """A byte that is marked as urgent passes with the others, and nobody spins over it."""
    sock = connect()
    sock.sendall(b"abc")
    sock.send(b"X", socket.MSG_OOB)
    sock.sendall(b"def")
    sock.shutdown(socket.SHUT_WR)
    return read_all(sock).endswith(b"abcXdef")


def urgent_in_much():
    """The same where much comes before it and behind it, and where it is the last of all."""
    sock, data = connect(), bytes(range(256)) * 4000

    def send():
        for _ in range(3):
            sock.sendall(data)
            sock.send(b"X", socket.MSG_OOB)
        sock.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    back = read_all(sock)
    sender.join()
    return back.endswith((data + b"X") * 3)


def read_late(sizes):
    sock, pieces, number = connect(), [], 0
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    while True:
        size = sizes[number % len(sizes)]
        piece = number.to_bytes(4, "big") * (size // 4 + 1)
        try:
            sent = sock.send(piece)
        except BlockingIOError:
            # What is on its way may make room; who waits for a second finds whether it does.
            if not select.select([], [sock], [], 1)[1]:
                break
            continue
        pieces.append(piece[:sent])
        number += 1
        # Small ones go one by one, so that whoever reads them finds few bytes at once.
        for _ in range(200 if size < 4096 else 0):
            if not struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]:
                break
    sock.settimeout(10)
    last = threading.Thread(target=lambda: (sock.sendall(b"last"), sock.shutdown(socket.SHUT_WR)))
    last.start()
    back = read_all(sock)
    last.join()
    return number > len(sizes) and back.endswith(b"".join(pieces) + b"last")


def late_reader():
    """Pieces to one who does not read until nothing goes on any more, small ones and of all sizes: they come whole and in order."""
    return read_late((1, 4091, 300, 10, 2000)) and read_late((1, 4095, 4096, 4097, 10, 70000, 300))


def half_hello():
    """Who says half of a TLS hello and no more is not waited for."""
    sock = connect(443)
    sock.sendall(b"\x16\x03\x01\x02\x00\x01")
    sock.shutdown(socket.SHUT_WR)
    begun = time.monotonic()
    try:
        sock.recv(1)
    except ConnectionResetError:
        pass
    return time.monotonic() - begun < 5


def both_ways():
    """Much in both directions at once, then the end of one of them."""
    sock, data = connect(), bytes(range(256)) * 40000
    sender = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
    sender.start()
    back = read_all(sock)
    sender.join()
    return back.endswith(data)


def many():
    """Two hundred connections at once."""
    socks = [connect() for _ in range(200)]
    for number, sock in enumerate(socks):
        sock.sendall(b"%d" % number)
        sock.shutdown(socket.SHUT_WR)
    return all(read_all(sock).endswith(b"%d" % number) for number, sock in enumerate(socks))


def own_loopback():
    """A server inside is met by clients inside, also at a port that the list has."""
    for port in (0, 8443):
        server = socket.create_server(("127.0.0.1", port))
        client = socket.create_connection(server.getsockname(), 5)
        client.sendall(b"hello")
        if server.accept()[0].recv(5) != b"hello":
            return False
    # The name is still there, and so are its other ports.
    return both_ways()


def is_refused(act, *errors):
    try:
        act()
    except OSError as error:
        return error.errno in errors
    return False


def no_server():
    """Without a network of its own there are none: a listener would be the host's."""
    sock = socket.socket()
    datagrams = is_refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), errno.EPERM)
    return (datagrams and is_refused(lambda: sock.bind(("127.0.0.1", 0)), errno.EPERM)
            and is_refused(lambda: sock.listen(1), errno.EPERM) and both_ways())


def own_connection():
    """The relay's own door is no way round the list."""
    sock = connect()
    door = sock.getpeername()[:2]
    other = socket.socket(sock.family)
    return door[0] in ("127.0.0.1", "::1") and is_refused(lambda: other.connect(door), errno.ECONNREFUSED)


def states():
    """What the kernel says of sockets that are connected, or being so, and of addresses that are none."""
    sock = connect(family=socket.AF_INET)
    fake = socket.getaddrinfo(HOST, ECHO, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    closed = ("93.184.216.99", 25)
    fresh, late = socket.socket(), socket.socket()
    late.setblocking(False)
    sock.connect_ex(fake)  # with a time limit it did not wait: the kernel says once that it is connected now
    if not (is_refused(lambda: sock.connect(fake), errno.EISCONN) and is_refused(lambda: sock.connect(closed), errno.EISCONN)
            and is_refused(lambda: fresh.connect(closed), errno.ECONNREFUSED)):
        return False
    if late.connect_ex(fake) not in (0, errno.EINPROGRESS):
        return False
    select.select([], [late], [], 10)
    if late.connect_ex(fake) not in (0, errno.EISCONN):
        return False
    # One that was refused is as good as new; so is one that was given up.
    fresh.connect(fake)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(fresh.fileno(), bytes(16), 16) or libc.connect(fresh.fileno(), b"\x0a\0" + bytes(26), 28) != -1:
        return False
    fault = ctypes.get_errno()
    fresh.connect(fake)
    for each in (sock, late, fresh):
        each.settimeout(10)
        each.sendall(b"abc")
        each.shutdown(socket.SHUT_WR)
    mapped = socket.socket(socket.AF_INET6)
    mapped.connect(("::ffff:" + fake[0], ECHO))
    mapped.sendall(b"abc")
    mapped.shutdown(socket.SHUT_WR)
    return fault == errno.EAFNOSUPPORT and all(read_all(each).endswith(b"abc") for each in (sock, late, fresh, mapped))


def blocked():
    """Sixteen threads at once, each of which waits for its connections."""
    good = []

    def work():
        for _ in range(10):
            sock = connect()
            sock.sendall(b"abc")
            sock.shutdown(socket.SHUT_WR)
            good.append(read_all(sock).endswith(b"abc"))

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(good) == 160 and all(good)


def refused_hello():
    """A wrong name in the hello is answered with a reset, at once."""
    done = subprocess.run(["openssl", "s_client", "-connect", HOST + ":443", "-servername", "closed.example"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    return done.returncode != 0


def is_served(sock):
    """Whether whoever listens outside answers."""
    try:
        sock.sendall(b"x")
        return sock.recv(1) == b"x"
    except ConnectionError:
        return False


def try_to_connect():
    try:
        return connect()
    except ConnectionError:
        return None


# ---- limits: what follows succeeds only where there is no limit ---------------------------------------------------------


def third():
    """A third connection beside two others, and one when there is room again."""
    socks = [connect(), connect()]
    if not all(map(is_served, socks)):
        sys.exit(2)
    other = try_to_connect()
    if other and is_served(other):
        return True
    socks.pop().close()
    for _ in range(200):
        other = try_to_connect()
        if other and is_served(other):
            return False
        time.sleep(0.02)
    sys.exit(3)


def twenty():
    """Twenty that come at once; three must be served in any case."""
    address = socket.getaddrinfo(HOST, ECHO, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    socks = [socket.socket() for _ in range(20)]
    for sock in socks:
        sock.setblocking(False)
        sock.connect_ex(address)
    served = 0
    for sock in socks:
        sock.settimeout(10)
        served += is_served(sock)
    if served < 3:
        sys.exit(2)
    return served == 20


def much():
    """Four connections that pass 50,000 bytes at once, each way, and one behind them."""
    socks, back = [connect() for _ in range(4)], []

    def talk(sock):
        try:
            sock.sendall(bytes(50000))
            sock.shutdown(socket.SHUT_WR)
            back.append(len(read_all(sock)))
        except OSError:
            pass

    talkers = [threading.Thread(target=talk, args=(sock,)) for sock in socks]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    last = try_to_connect()
    return bool(last and is_served(last) and back == [50000] * 4)


def web():
    """Requests for another host of the same server: TLS, and plain HTTP."""
    tls = subprocess.run(["openssl", "s_client", "-connect", HOST + ":443", "-servername", "closed.example"],
                         stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    sock = connect(80)
    sock.sendall(b"GET / HTTP/1.1\r\nHost: closed.example\r\nConnection: close\r\n\r\n")
    return tls.returncode == 0 and read_all(sock).startswith(b"HTTP/1.1 200")


# ---- hostile clients: meanwhile an honest one is served as ever ---------------------------------------------------------


def half_open():
    """A thousand that connect and say nothing, or half of a hello or a head."""
    first = (b"", b"\x16\x03\x01\x20\x00\x01", b"GET / HTTP/1.1\r\nHost: open")
    socks = []
    for number in range(1000):
        socks.append(connect((443, 443, 80)[number % 3], socket.AF_INET))
        socks[-1].sendall(first[number % 3])
    return both_ways()


def never_reads():
    """Fifty that send without end and read nothing."""
    socks = [connect() for _ in range(50)]
    for sock in socks:
        sock.setblocking(False)
        try:
            while sock.send(bytes(65536)):
                pass
        except BlockingIOError:
            pass
    return both_ways()


def quick():
    """Ten thousand that connect and are gone at once: some with a reset, some with the end of their words."""
    address = socket.getaddrinfo(HOST, ECHO, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    for number in range(10000):
        sock = socket.socket()
        if number % 2:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        sock.setblocking(False)
        sock.connect_ex(address)
        sock.close()
    # The server needs longer for them than the relay: until it has said goodbye to them they count as open.
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if both_ways():
                return True
        except OSError:
            pass
        time.sleep(0.5)
    return False


def spent():
    """Four processes that connect as often as they can, and more often than the relay has descriptors; then they let go."""
    connect()
    address = socket.getaddrinfo(HOST, 443, socket.AF_INET, socket.SOCK_STREAM)[0][4]
    holders = []
    for _ in range(4):
        done, wait = os.pipe(), os.pipe()
        if not os.fork():
            os.close(wait[1])
            socks = []
            for _ in range(60):
                socks.append(socket.socket())
                socks[-1].setblocking(False)
                socks[-1].connect_ex(address)
            os.write(done[1], b"x")
            os.read(wait[0], 1)
            os._exit(0)
        os.close(wait[0])
        os.read(done[0], 1)
        holders.append(wait[1])
    for holder in holders:
        os.close(holder)
    for _ in range(4):
        os.wait()
    for _ in range(200):
        other = try_to_connect()
        if other and is_served(other):
            return both_ways()
        time.sleep(0.02)
    return False


def long_hello():
    """A hello that has no end, in small pieces."""
    socks = [connect(443) for _ in range(20)]
    for _ in range(200):
        for sock in socks:
            try:
                sock.sendall(b"\x16\x03\x01\x00\x64" + (b"\x01\x0f\xff\xff" + bytes(96)))
            except ConnectionError:
                pass
    return both_ways()


def many_names():
    """More names than there are addresses for: those that were there stay."""
    connect()
    for number in range(5000):
        try:
            socket.getaddrinfo(f"n{number}.wild.example", ECHO, socket.AF_INET, socket.SOCK_STREAM)
        except socket.gaierror:
            break
    else:
        return False
    return both_ways()


def name_server():
    with open("/etc/resolv.conf", encoding="ascii") as file:
        return next(line.split()[1] for line in file if line.startswith("nameserver"))


def slow_questions():
    """Questions over TCP byte by byte, too long, too short, and never ended, by more than there is room for."""
    question = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\4open\7example\0\0\1\0\1"
    whole = len(question).to_bytes(2, "big") + question
    socks = [socket.create_connection((name_server(), 53), 10) for _ in range(100)]
    for number, sock in enumerate(socks):
        try:
            sock.sendall((b"", b"\0", b"\0\0", b"\xff\xff" + bytes(3000), whole[:9])[number % 5])
        except ConnectionError:
            pass
    slow = socket.create_connection((name_server(), 53), 10)
    slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for at in range(len(whole)):
        slow.sendall(whole[at:at + 1])
        if at == 9 and not both_ways():
            return False
    return slow.recv(4)[2:] == b"\x12\x34"


sys.exit(0 if globals()[sys.argv[1]]() else 1)
