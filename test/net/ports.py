#!/usr/bin/env python3
"""ports.py: what a client does where every port of a name is allowed, from inside: ports.py NAME [ARGUMENT...]

Exits 0 if all went as it should."""
import ctypes
import socket
import struct
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)


def find(host, port, family=socket.AF_INET):
    return socket.getaddrinfo(host, int(port), family, socket.SOCK_STREAM)[0][4]


def meets(host, port, family=socket.AF_INET):
    """Whether somebody answers there as the lab does."""
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(10)
        try:
            sock.connect(find(host, port, family))
            sock.sendall(b"hello\n")
            return bool(sock.recv(100))
        except OSError:
            return False


def reach(host, *ports):
    """Each of these ports, by both families."""
    return all(meets(host, port, family) for port in ports for family in (socket.AF_INET, socket.AF_INET6))


def try_one(host, port):
    return meets(host, port)


def without_waiting(host, port):
    """A socket that does not wait, by connect_ex, is told the same."""
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.connect_ex(find(host, port))
        sock.setblocking(True)
        sock.settimeout(10)
        sock.sendall(b"hello\n")
        return bool(sock.recv(100))


def many(host):
    """More places than there may be doors for, then one that was there before."""
    for port in range(20000, 22500):
        with socket.socket() as sock:
            sock.settimeout(10)
            sock.connect_ex(find("198.18.1.0" if port % 2 else host, port))
    return meets(host, 25) and meets(host, 8123)


def own_server():
    """A server inside is met, at a port that nobody else has; the name is still there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname(), 5)
        client.sendall(b"hello")
        return server.accept()[0].recv(5) == b"hello" and meets("open.example", 25)


def race(rounds):
    """Another thread changes the address while it is connected to: to another port, to another host, to the loopback."""
    places = [find("open.example", 25), ("93.184.216.99", 25), ("127.0.0.1", 8123), ("93.184.216.10", 25), ("93.184.216.99", 9999)]
    texts = [struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8) for host, port in places]
    address = ctypes.create_string_buffer(texts[0], 16)
    is_over = threading.Event()

    def change():
        while not is_over.is_set():
            for text in texts:
                ctypes.memmove(address, text, 16)

    changer = threading.Thread(target=change)
    changer.start()
    met = 0
    for _ in range(int(rounds)):
        with socket.socket() as sock:
            met += libc.connect(sock.fileno(), address, 16) == 0
    is_over.set()
    changer.join()
    print(met, "met somebody")
    return met > 0


sys.exit(0 if globals()[sys.argv[1]](*sys.argv[2:]) else 1)
