#!/usr/bin/python3 -ISB
"""sink.py: what arrived in the lab's network, whoever sent it.

  sink.py record                               writes every packet that opens something to $LAB/sink.log, until it is killed
  sink.py mark                                 prints how far the logs are
  sink.py received [MARK] PROTOCOL ADDRESS PORT   exits 0 if such a packet came (after the mark); * stands for any
  sink.py asked [MARK] PATTERN                 the same for a question that the name server got
  sink.py served [MARK] PATTERN                the same for a line that a server wrote about whom it served
  sink.py stray MARK PLACE... -- NAME...       prints what came for neither these places (ADDRESS:PORT, of TCP) nor these names;
                                               the port "relay" is any that the kernel chooses

A packet that answers one that is written is left out; so is what goes to the lab's own name server, which counts for itself.
"""
import fnmatch
import os
import socket
import struct
import sys
import time

LAB = os.environ.get("LAB", ".")
MARK_PORT = 9
EPHEMERAL = 32768  # from here on the kernel chooses ports, also for a relay that has no network of the sandbox's own
OUTGOING = 4
PROTOCOLS = {1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 33: "dccp", 58: "icmp6", 132: "sctp", 136: "udplite"}
HAS_PORTS = ("tcp", "udp", "dccp", "sctp", "udplite")
LOGS = ("sink", "dns", "served")


def read_packet(kind, packet):
    """(protocol, source, destination, what it carries) of a packet of the ether type `kind`"""
    if kind == 0x0800 and len(packet) >= 20:
        head = (packet[0] & 15) * 4
        number, source, destination = packet[9], packet[12:16], packet[16:20]
        later = struct.unpack("!H", packet[6:8])[0] & 0x1FFF
        name = PROTOCOLS.get(number, f"protocol-{number}")
        return ("fragment" if later else name, socket.inet_ntop(socket.AF_INET, source),
                socket.inet_ntop(socket.AF_INET, destination), packet[head:])
    if kind == 0x86DD and len(packet) >= 40:
        number, at = packet[6], 40
        while number in (0, 43, 60) and at + 8 <= len(packet):
            number, at = packet[at], at + (packet[at + 1] + 1) * 8
        name = "fragment" if number == 44 else PROTOCOLS.get(number, f"protocol-{number}")
        return (name, socket.inet_ntop(socket.AF_INET6, packet[8:24]),
                socket.inet_ntop(socket.AF_INET6, packet[24:40]), packet[at:])
    return f"ether-{kind:04x}", "-", "-", packet


def is_answer_of_kernel(protocol, body):
    """That nobody listens, or an echo: what the lab's own kernel says when it is asked."""
    if len(body) < 2:
        return False
    return (protocol == "icmp" and (body[0] == 0 or (body[0], body[1]) in ((3, 2), (3, 3))) or
            protocol == "icmp6" and (body[0] in (129, 135, 136) or (body[0], body[1]) in ((1, 4), (4, 1))))


def describe(kind, packet, flows):
    """The line for a packet, or None if it belongs to what has one."""
    protocol, source, destination, body = read_packet(kind, packet)
    if is_answer_of_kernel(protocol, body):
        return None
    if protocol not in HAS_PORTS or len(body) < 8:
        return f"{protocol} {source} 0 {destination} 0 {len(body)} bytes"
    sport, dport = struct.unpack("!HH", body[:4])
    flow = (protocol, source, sport, destination, dport)
    back = (protocol, destination, dport, source, sport)
    note = f"{len(body)} bytes"
    if protocol == "udp" and dport == MARK_PORT and destination == "127.0.0.1" and body[8:13] == b"mark ":
        return "mark " + body[13:].decode("ascii", "replace")
    if protocol == "tcp":
        opens = body[13] & 0x12 == 0x02
        if not opens and (flow in flows or back in flows):
            return None
        note = "opens" if opens else "belongs to nothing"
    elif back in flows:
        return None
    flows.add(flow)
    return f"{protocol} {source} {sport} {destination} {dport} {note}"


def record():
    log = os.open(f"{LAB}/sink.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    discard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    discard.bind(("127.0.0.1", MARK_PORT))
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    tap.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE: nothing may be lost
    tap.bind(("lo", 3))
    flows = set()
    while True:
        packet, (_, kind, direction, _, _) = tap.recvfrom(65536)
        line = describe(kind, packet, flows) if direction == OUTGOING else None
        if line:
            os.write(log, (line + "\n").encode())


def settle():
    """Returns once everything that was sent before is in the log."""
    nonce = f"{os.getpid()}-{time.monotonic_ns()}"
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for attempt in range(2000):
        if attempt % 100 == 0:
            sender.sendto(f"mark {nonce}".encode(), ("127.0.0.1", MARK_PORT))
        if f"mark {nonce}" in read_log("sink", 0):
            return
        time.sleep(0.002)
    sys.exit("sink.py: nobody records")


def read_log(name, since):
    try:
        with open(f"{LAB}/{name}.log", encoding="utf-8", errors="replace") as log:
            log.seek(since)
            return log.read().splitlines()
    except FileNotFoundError:
        return []


def take_mark(arguments):
    """Sizes of the logs, "S:D:V", if the first argument has that form."""
    if arguments and arguments[0].count(":") == 2 and arguments[0].replace(":", "").isdigit():
        return dict(zip(LOGS, map(int, arguments.pop(0).split(":"))))
    return dict.fromkeys(LOGS, 0)


def main(action, *rest):
    arguments = list(rest)
    if action == "record":
        record()
    settle()
    if action == "mark":
        print(":".join(str(os.path.getsize(f"{LAB}/{name}.log") if os.path.exists(f"{LAB}/{name}.log") else 0)
                       for name in LOGS))
        return 0
    mark = take_mark(arguments)
    if action == "received":
        protocol, address, port = arguments
        return not any(fnmatch.fnmatchcase(f"{line[0]} {line[3]} {line[4]}", f"{protocol} {address} {port}")
                       for line in map(str.split, read_log("sink", mark["sink"])) if len(line) > 4)
    if action in ("asked", "served"):
        lines = read_log("dns" if action == "asked" else "served", mark["dns" if action == "asked" else "served"])
        return not any(fnmatch.fnmatchcase(line, f"*{arguments[0]}*") for line in lines)
    places, names = arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]
    for line in read_log("sink", mark["sink"]):
        word = line.split()
        if word[0] == "mark" or word[3] in ("127.0.0.1", "::1") and word[4] == "53":
            continue
        place = f"{word[3]}:{'relay' if int(word[4]) >= EPHEMERAL else word[4]}"
        if word[0] != "tcp" or not {place, f"{word[3]}:{word[4]}"} & set(places):
            print(line)
    for line in read_log("dns", mark["dns"]):
        if not any(fnmatch.fnmatchcase(line.split()[2], name) for name in names):
            print("asked", line)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
