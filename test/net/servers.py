#!/usr/bin/python3 -B
"""servers.py: everybody whom the lab's commands can reach, at whatever address: names, web sites, echoes, unix sockets.

  servers.py ZONE       writes to $LAB/dns.log and $LAB/served.log, serves files from $LAB/www, makes $LAB/ready when it listens

Each of them takes what any server somewhere takes: two Host fields, folded lines, a hello without a name. What came is
written down word for word, so that the log tells what a sandbox let through.
"""
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time

import dns

LAB = os.environ["LAB"]
PKTINFO = 8  # IP_PKTINFO; not every Python names it
FREEBIND_V6 = 78  # an address is answered from that belongs to no device
PLAIN_PORTS = (25, 853, 8123, 9999)
served = os.open(f"{LAB}/served.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
questions = os.open(f"{LAB}/dns.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def note(text):
    line = "".join(c if 32 <= ord(c) < 127 else f"\\x{ord(c):02x}" for c in text)
    os.write(served, (line + "\n").encode())


# ---- TLS: what the first message says in the clear --------------------------------------------------------------------


def hello_names(data):
    """Every server name of a ClientHello that may be spread over records; None if more of it must come, "-" if it is none."""
    hello, at = b"", 0
    while at + 5 <= len(data):
        if data[at] != 22:
            return "-"
        length = struct.unpack("!H", data[at + 3:at + 5])[0]
        hello += data[at + 5:at + 5 + length]
        at += 5 + length
        if len(hello) >= 4 and len(hello) >= 4 + int.from_bytes(hello[1:4], "big"):
            return extension_names(hello)
    return "-" if data and data[0] != 22 else None


def extension_names(hello):
    names = []
    at = 38
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at:at + 2], "big")
    at += 1 + hello[at] + 2
    while at + 4 <= len(hello):
        kind, length = struct.unpack("!HH", hello[at:at + 4])
        body, at = hello[at + 4:at + 4 + length], at + 4 + length
        place = 2
        while kind == 0 and place + 3 <= len(body):
            size = int.from_bytes(body[place + 1:place + 3], "big")
            names.append(body[place + 3:place + 3 + size].decode("latin-1"))
            place += 3 + size
    return ",".join(names)


def peek_hello(connection):
    data, names = b"", None
    for _ in range(1000):
        more = connection.recv(16384, socket.MSG_PEEK)
        names = hello_names(more)
        if names is not None or not more:
            return names, more
        if len(more) == len(data):
            time.sleep(0.005)
        data = more
    return "?", data


# ---- HTTP ---------------------------------------------------------------------------------------------------------------


def read_head(stream):
    lines = []
    while True:
        line = stream.readline(65536)
        if not line or not line.strip():
            return lines if line or lines else None
        lines.append(line.rstrip(b"\r\n").decode("latin-1"))


def file_for(target, scheme, host):
    """The bytes of a file below www; what is not there is told as 404."""
    path = re.sub(r"^https?://[^/]*", "", target).split("?")[0]
    if path == "/":
        return None
    full = os.path.normpath(f"{LAB}/www{path}")
    if full.startswith(f"{LAB}/www/") and os.path.isdir(full):
        full += "/index"
    if not full.startswith(f"{LAB}/www/") or not os.path.isfile(full):
        return b""
    with open(full, "rb") as file:
        return file.read().replace(b"@BASE@", f"{scheme}://{host}".encode())


def serve_request(stream, connection, words):
    """One request; whether another one can follow."""
    lines = read_head(stream)
    if not lines:
        return False
    fields = []
    for line in lines[1:]:
        if line[:1] in " \t" and fields:
            fields[-1][1] += " " + line.strip()
        else:
            name, _, value = line.partition(":")
            fields.append([name.strip().lower(), value.strip()])
    hosts = [value for name, value in fields if name == "host"]
    of = dict(map(tuple, fields))
    method, target = (lines[0].split() + ["-", "-"])[:2]
    note(f"{words} host={'|'.join(hosts) or '-'} method={method} target={target} upgrade={of.get('upgrade', '-')}")
    if of.get("content-length", "").isdigit():
        stream.read(int(of["content-length"]))
    if method == "CONNECT":
        with socket.create_connection(tuple(target.rsplit(":", 1)), 5) as other:
            connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n" + other.recv(100))
        return False
    scheme = words.split()[0]
    body = file_for(target, scheme, hosts[0] if hosts else "localhost")
    status = "200 OK" if body != b"" else "404 Not Found"
    if body is None:
        body = f"served {words} host={'|'.join(hosts)}\n".encode()
    kind = "text/html" if target.startswith("/simple") else "application/octet-stream"
    if target.startswith("/npm") and not target.endswith(".tgz"):
        kind = "application/json"
    keep = of.get("connection", "").lower() != "close" and not lines[0].endswith("/1.0")
    head = (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n")
    connection.sendall(head.encode() + (b"" if method == "HEAD" else body))
    return keep


def serve_http(connection, words):
    with connection.makefile("rb") as stream:
        while serve_request(stream, connection, words):
            pass


def serve_https(connection, words, context):
    names, first = peek_hello(connection)
    if names == "-":
        note(f"plain-443 {words} data={first[:100].decode('latin-1')}")
        connection.sendall(b"no TLS\n")
        return
    note(f"hello {words} names={names}")
    with context.wrap_socket(connection, server_side=True) as tls:
        serve_http(tls, f"https {words} sni={names}")


# ---- everything else ------------------------------------------------------------------------------------------------------


def serve_echo(connection, words):
    while data := connection.recv(4096):
        note(f"{words} data={data[:100].decode('latin-1')}")
        connection.sendall(data)


def serve_letter(connection, words):
    """Says something first, as a mail server does."""
    connection.sendall(b"220 lab\r\n")
    serve_echo(connection, words)


def serve_dns(connection, zone):
    with connection.makefile("rb") as stream:
        while len(size := stream.read(2)) == 2:
            answer = zone.answer(stream.read(int.from_bytes(size, "big")), "tcp")
            if answer is None:
                return
            connection.sendall(struct.pack("!H", len(answer)) + answer)


def handle(connection, serve, arguments):
    try:
        connection.settimeout(20)
        with connection:
            serve(connection, *arguments)
    except (OSError, ssl.SSLError, ValueError, IndexError):
        pass


def accept(listener, serve, describe, *rest):
    while True:
        connection, _ = listener.accept()
        arguments = (*describe(connection), *rest)
        threading.Thread(target=handle, args=(connection, serve, arguments), daemon=True).start()


def place(prefix):
    def describe(connection):
        address, port = connection.getsockname()[:2]
        return (f"{prefix}{address} {port}",)
    return describe


def listen_tcp(port, serve, describe, *rest):
    for family, any_address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        listener.bind((any_address, port))
        listener.listen(128)
        threading.Thread(target=accept, args=(listener, serve, describe, *rest), daemon=True).start()


def answer_datagrams(sock, level, kind, reply):
    """Answers each from the address that it came to."""
    while True:
        data, ancillary, _, peer = sock.recvmsg(65536, 256)
        answer = reply(data)
        back = []
        for of, what, info in ancillary:
            if (of, what) == (socket.IPPROTO_IP, PKTINFO):
                back.append((level, kind, struct.pack("=I4s4s", 0, info[8:12], info[8:12])))
            elif (of, what) == (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO):
                back.append((level, kind, info[:16] + struct.pack("=I", 0)))
        if answer is not None:
            try:
                sock.sendmsg([answer], back, 0, peer)
            except OSError:
                pass


def listen_udp(port, reply):
    for family, any_address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            level, kind = socket.IPPROTO_IPV6, socket.IPV6_PKTINFO
            sock.setsockopt(level, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(level, socket.IPV6_RECVPKTINFO, 1)
            sock.setsockopt(level, FREEBIND_V6, 1)
        else:
            level, kind = socket.IPPROTO_IP, PKTINFO
            sock.setsockopt(level, kind, 1)
        sock.bind((any_address, port))
        threading.Thread(target=answer_datagrams, args=(sock, level, kind, reply), daemon=True).start()


def listen_unix(name, address):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    letters = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    letters.bind(address + ("-letters" if isinstance(address, str) else b"-letters"))
    if isinstance(address, str):
        os.chmod(address, 0o777)
        os.chmod(address + "-letters", 0o777)

    def read_letters():
        while True:
            note(f"unix-{name}-letter data={letters.recv(4096)[:100].decode('latin-1')}")

    threading.Thread(target=accept, args=(listener, serve_echo, lambda _: (f"unix-{name}",)), daemon=True).start()
    threading.Thread(target=read_letters, daemon=True).start()


def echo_letter(data):
    note(f"udp data={data[:100].decode('latin-1')}")
    return data


def main(zone_path):
    zone = dns.Zone(zone_path, lambda text: os.write(questions, (text + "\n").encode()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{LAB}/server.pem")
    listen_udp(53, lambda query: zone.answer(query, "udp"))
    listen_tcp(53, serve_dns, lambda _: (zone,))
    listen_tcp(80, serve_http, place("http "))
    listen_tcp(443, serve_https, place(""), context)
    listen_tcp(7, serve_echo, place("echo "))
    for port in PLAIN_PORTS:
        listen_tcp(port, serve_letter, place("letter "))
    for port in (7, 443, 9999):
        listen_udp(port, echo_letter)
    listen_unix("path", f"{LAB}/shared/socket")
    listen_unix("abstract", b"\0abatis-lab")
    with open(f"{LAB}/ready", "w", encoding="ascii"):
        pass
    threading.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
