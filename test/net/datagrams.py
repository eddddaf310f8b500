#!/usr/bin/env python3
"""datagrams.py: what clients of UDP do, honest and not, from inside: datagrams.py NAME [ARGUMENT...]

Exits 0 if all went as it does without a relay."""
import os
import socket
import struct
import sys
import threading

ECHO, QUIC = 7, 443
FAMILIES = (socket.AF_INET, socket.AF_INET6)


def find(host, port, family=0):
    return socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0][4]


def open_socket(family=socket.AF_INET, patience=10):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.settimeout(patience)
    return sock


def ask(sock, data, place):
    """Whether it comes back, from where it was sent to."""
    sock.sendto(data, place)
    while True:
        back, peer = sock.recvfrom(65536)
        if back == data:
            return peer[:2] == place[:2]


def echo(host="open.example", port=ECHO):
    """By each family that the host has in the sandbox."""
    is_address = ":" in host or host[0].isdigit()
    for family in FAMILIES:
        if is_address and (":" in host) != (family == socket.AF_INET6):
            continue
        place = find(host, int(port), family)
        with open_socket(family) as sock:
            if not ask(sock, b"from afar", place):
                return False
        with open_socket(family) as sock:
            sock.connect(place)
            sock.send(b"")  # an empty one is one, too
            if sock.recv(10) != b"":
                return False
    return True


def many():
    """Three hundred clients, fifty of them at once, each of which hears its own answer."""
    place = find("open.example", ECHO)
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    socks = [open_socket(family) for _ in range(300)]
    for first in range(0, len(socks), 50):
        group = range(first, first + 50)
        for number in group:
            socks[number].sendto(b"%d" % number, place)
        if not all(socks[number].recv(64) == b"%d" % number for number in group):
            return False
    return True


def crowd():
    """More than there may be: the last ones are served, and those that had to go begin anew."""
    place = find("open.example", ECHO, socket.AF_INET)
    socks = [open_socket() for _ in range(900)]
    for _ in range(2):
        for number, sock in enumerate(socks):
            if not ask(sock, b"%d" % number, place):
                return False
    sources = [open_socket() for _ in range(600)]
    return all(ask(sock, b"x%d" % number, place) for number, sock in enumerate(sources)) and ask(socks[0], b"again", place)


def big():
    """Of every length up to the longest that there is, whole."""
    place = find("open.example", ECHO, socket.AF_INET)
    with open_socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        return all(ask(sock, os.urandom(length), place) for length in (1, 1200, 1500, 9000, 32768, 65507))


def quic():
    """Like a client of HTTP/3: one socket, connected, a padded first datagram, then some that are not waited for."""
    sock = open_socket()
    sock.connect(find("open.example", QUIC, socket.AF_INET))
    identity = os.urandom(8)
    first = b"\xc3" + struct.pack("!I", 1) + bytes([len(identity)]) + identity
    sock.send(first.ljust(1200, b"\0"))
    if not sock.recv(65536).startswith(first):
        return False
    sent = {b"\x43" + identity + struct.pack("!I", number) + os.urandom(1100) for number in range(30)}
    sender = threading.Thread(target=lambda: [sock.send(data) for data in sent])
    sender.start()
    got = {sock.recv(65536) for _ in sent}
    sender.join()
    return got == sent


def limited():
    """Four clients that wait for their answers, of a hundred datagrams each."""
    place = find("open.example", ECHO, socket.AF_INET)
    socks = [open_socket(patience=1) for _ in range(4)]
    try:
        return all(ask(sock, b"%1000d" % number, place) for number in range(100) for sock in socks)
    except (TimeoutError, ConnectionRefusedError):
        return False


def send(host, port):
    """Nobody answers."""
    place = find(host, int(port))
    sock = open_socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET, 1)
    try:
        return ask(sock, b"not allowed", place)
    except (TimeoutError, ConnectionRefusedError):
        return False


def source(address):
    """With another's address as the sender's: the answer finds it, in here."""
    with open_socket() as sock:
        sock.bind((address, 0))
        return ask(sock, b"from another", find("open.example", ECHO, socket.AF_INET))


def door():
    """From the address and the port of a door: it is let alone. Two servers would talk to each other for ever."""
    first, second = (find(host, ECHO, socket.AF_INET) for host in ("open.example", "four.example"))
    with open_socket(patience=1) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            sock.bind(first)
        except OSError:
            return True  # it is taken
        for number in range(64):
            sock.sendto(b"round and round %d" % number, second)
    return True


def own_server():
    """A server inside is met by clients inside, also at a port that the list has, and the name is still there."""
    with open_socket() as server, open_socket() as client:
        server.bind(("127.0.0.1", QUIC + 9000))
        client.sendto(b"hello", server.getsockname())
        data, peer = server.recvfrom(10)
        server.sendto(data, peer)
        return client.recvfrom(10) == (b"hello", server.getsockname()) and echo()


sys.exit(0 if globals()[sys.argv[1]](*sys.argv[2:]) else 1)
