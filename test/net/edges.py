#!/usr/bin/env python3
"""edges.py: what honest and dishonest clients do at the edges of a connection, from inside: edges.py NAME

Exits 0 if all went as it does without a relay."""
import socket
import subprocess
import sys
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


def refused_hello():
    """A wrong name in the hello is answered with a reset, at once."""
    done = subprocess.run(["openssl", "s_client", "-connect", HOST + ":443", "-servername", "closed.example"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    return done.returncode != 0


sys.exit(0 if globals()[sys.argv[1]]() else 1)
