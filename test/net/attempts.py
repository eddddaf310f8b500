#!/usr/bin/python3 -ISB
"""attempts.py: tries to get past the sandbox by what is said on a connection that is allowed, or to a name server.

  attempts.py dns TYPE NAME SERVER [tcp]     asks a question
  attempts.py http KIND                      speaks to open.example:80 of another host
  attempts.py tls KIND                       speaks to open.example:443 of another host
  attempts.py visit NAME                     connects to NAME:80 three times, in six seconds
  attempts.py sockets KIND COMMAND...        starts a command that inherits sockets

Says nothing, and exits 0 if it believes that it got through; what arrived in the lab decides. attempts.sh has the list.
"""
import os
import socket
import ssl
import struct
import sys
import time

TYPES = {"A": 1, "NULL": 10, "TXT": 16, "AAAA": 28, "HTTPS": 65, "ANY": 255}
GET = "GET / HTTP/1.1\r\nHost: open.example\r\n"
OTHER = "GET / HTTP/1.1\r\nHost: closed.example\r\n\r\n"
SMUGGLED = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: closed.example\r\n\r\n"

# What is sent to port 80, in one piece or in several with a pause between them.
HTTP = {
    "other-host": OTHER,
    "capitals": "GET / HTTP/1.1\r\nhOST: CLOSED.example\r\n\r\n",
    "other-port": "GET / HTTP/1.1\r\nHost: closed.example:80\r\n\r\n",
    "byte-by-byte": list(OTHER),
    "second-request": [GET + "\r\n", OTHER],
    "pipelined": GET + "\r\n" + OTHER,
    "after-body": "POST / HTTP/1.1\r\nHost: open.example\r\nContent-Length: 4\r\n\r\nbody" + OTHER,
    "absolute-form": "GET http://closed.example/ HTTP/1.1\r\nHost: open.example\r\n\r\n",
    "two-hosts": GET + "Host: closed.example\r\n\r\n",
    "two-hosts-reversed": "GET / HTTP/1.1\r\nHost: closed.example\r\nHost: open.example\r\n\r\n",
    "folded": "GET / HTTP/1.1\r\nHost:\r\n closed.example\r\n\r\n",
    "folded-second": "GET / HTTP/1.1\r\nHost: open.example\r\n closed.example\r\n\r\n",
    "space-before-colon": "GET / HTTP/1.1\r\nHost : closed.example\r\n\r\n",
    "line-feeds": "GET / HTTP/1.1\nHost: closed.example\n\n",
    "line-feed-inside": "GET / HTTP/1.1\r\nX: y\nHost: closed.example\r\n\r\n",
    "two-lengths": "POST / HTTP/1.1\r\nHost: open.example\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
                   f"{len(SMUGGLED):x}\r\n{SMUGGLED}",
    "no-host": "GET /nobody HTTP/1.0\r\n\r\n",
    "connect": "CONNECT closed.example:25 HTTP/1.1\r\nHost: open.example\r\n\r\n",
    "connect-other-host": "CONNECT closed.example:25 HTTP/1.1\r\nHost: closed.example:25\r\n\r\n",
    "http2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "upgrade": "GET / HTTP/1.1\r\nHost: open.example\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "not-http": "EHLO closed.example\r\n\r\n",
}


def read_all(connection):
    """What comes until there is a pause."""
    data = b""
    connection.settimeout(0.6)
    try:
        while more := connection.recv(65536):
            data += more
    except OSError:
        pass
    return data


def try_dns(kind, name, server, how="udp"):
    question = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    query = struct.pack("!HHHHHH", 4242, 0x0100, 1, 0, 0, 0) + question + struct.pack("!HH", TYPES[kind], 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM if how == "tcp" else socket.SOCK_DGRAM)
    sock.settimeout(3)
    sock.connect((server, 53))
    sock.sendall(struct.pack("!H", len(query)) + query if how == "tcp" else query)
    answer = sock.recv(4096)[2 if how == "tcp" else 0:]
    return len(answer) > 12 and answer[3] & 15 == 0


def try_http(kind):
    pieces = HTTP[kind]
    with socket.create_connection(("open.example", 80), 5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in [pieces] if isinstance(pieces, str) else pieces:
            connection.sendall(piece.encode())
            time.sleep(0.002 if len(piece) == 1 else 0.2)
        return b"200 " in read_all(connection)


def server_name(*names):
    """The extension that holds them."""
    items = b"".join(b"\0" + struct.pack("!H", len(name)) + name for name in names)
    body = struct.pack("!H", len(items)) + items
    return struct.pack("!HH", 0, len(body)) + body


def hello(*extensions):
    """The handshake message of a client that offers TLS 1.2."""
    ciphers = bytes.fromhex("c02bc02fc02cc030")
    rest = b"".join(extensions) + bytes.fromhex("000a000400020017" "000b00020100" "000d000600040403 0401")
    body = b"\x03\x03" + bytes(32) + b"\0" + struct.pack("!H", len(ciphers)) + ciphers + b"\1\0"
    body += struct.pack("!H", len(rest)) + rest
    return b"\1" + len(body).to_bytes(3, "big") + body


def records(message, size):
    """The message in records of at most so many bytes."""
    return b"".join(b"\x16\x03\1" + struct.pack("!H", len(part)) + part
                    for part in (message[at:at + size] for at in range(0, len(message), size)))


OPEN, CLOSED = b"open.example", b"closed.example"
HELLOS = {
    "two-names": records(hello(server_name(OPEN, CLOSED)), 16384),
    "two-names-reversed": records(hello(server_name(CLOSED, OPEN)), 16384),
    "two-extensions": records(hello(server_name(OPEN), server_name(CLOSED)), 16384),
    "two-extensions-reversed": records(hello(server_name(CLOSED), server_name(OPEN)), 16384),
    "small-records": records(hello(server_name(CLOSED)), 20),
    "byte-by-byte": records(hello(server_name(CLOSED)), 16384),
    "capitals": records(hello(server_name(b"CLOSED.example")), 16384),
    "zero-byte": records(hello(server_name(b"open.example\0.closed.example")), 16384),
    "name-below": records(hello(server_name(b"closed.open.example")), 16384),
    "address": records(hello(server_name(b"93.184.216.99")), 16384),
    "plain-http": OTHER.encode(),
    "not-tls": b"SSH-2.0-attempt\r\n",
}


def try_tls(kind):
    with socket.create_connection(("open.example", 443), 5) as connection:
        if kind in HELLOS:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in [HELLOS[kind][i:i + 1] for i in range(len(HELLOS[kind]))] if kind == "byte-by-byte" else [HELLOS[kind]]:
                connection.sendall(piece)
                time.sleep(0.002)
            return bool(read_all(connection))
        context = ssl.create_default_context()
        context.check_hostname = False
        name = {"other-name": "closed.example", "no-name": None, "fronting": "open.example"}[kind]
        with context.wrap_socket(connection, server_hostname=name) as tls:
            tls.sendall(OTHER.encode())
            return b"200 " in read_all(tls)


def try_visit(name):
    """A name that is a public address first, and another one later."""
    for pause in (0, 0.3, 5.7):
        time.sleep(pause)
        try:
            with socket.create_connection((name, 80), 3) as connection:
                connection.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
                read_all(connection)
        except OSError:
            pass
    return False


def start_with_sockets(kind, *command):
    """The sockets are of the network that this runs in, and lead to where it is allowed."""
    if kind == "stdin-udp":
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    else:
        sockets = [socket.create_connection(("93.184.216.10", 7), 5) for _ in range(8)]
    if kind == "descriptors":
        # The highest first: the sockets themselves lie on the lowest ones.
        for fd in range(9, 2, -1):
            os.dup2(sockets[fd - 3].fileno(), fd)
            os.set_inheritable(fd, True)  # which dup2 leaves as it is for a socket that lies there already
    else:
        os.dup2(sockets[0].fileno(), 1 if kind == "stdout-tcp" else 0)
    os.execvp(command[0], command)


ACTIONS = {"dns": try_dns, "http": try_http, "tls": try_tls, "visit": try_visit, "sockets": start_with_sockets}

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        sys.exit(not ACTIONS[sys.argv[1]](*sys.argv[2:]))
    except OSError:
        sys.exit(1)
