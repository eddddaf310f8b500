"""others.py: what else a program could do with unix sockets where one of them is on the list.

   others.py LISTED OTHER ABSTRACT

LISTED and OTHER are streams, ABSTRACT is the name of a third, LISTED is reached. Prints a line for each attempt: its name, and
"reached", "made", or what the kernel said."""
import errno
import os
import socket
import struct
import sys

LISTED, OTHER, ABSTRACT = sys.argv[1:]


def letter(sock):
    return "reached" if sock.recv(1) else "empty"


def listed():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(LISTED)
        return letter(sock)


def pair():
    one, other = socket.socketpair()
    one.send(b"x")
    return letter(other)


def pair_of_packets():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.send(b"x")
    return letter(other)


def abstract():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0" + ABSTRACT)
        return letter(sock)


def other_after_listed():
    # Of one socket: a stream that is connected is not connected again, whoever asks.
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(LISTED)
        sock.recv(1)
        sock.connect(OTHER)
        return letter(sock)


def other_behind_a_zero():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(LISTED.encode() + b"\0" + OTHER.encode())
        return "as listed " + letter(sock)


def datagram():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    return "made"


def raw():
    socket.socket(socket.AF_UNIX, socket.SOCK_RAW)
    return "made"


def pair_of_datagrams():
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return "made"


def bound():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("bound")
        os.unlink("bound")
        return "made"


def bound_abstract():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("\0bound-%d" % os.getpid())
        return "made"


def bound_by_itself():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("")
        return "made"


def named_by_a_connection():
    # With SO_PASSCRED a connection that fails leaves the socket with an abstract name, which others could connect to.
    with socket.socket(socket.AF_UNIX) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            sock.connect(OTHER)
        except OSError:
            pass
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.bind("")
        if not sock.getsockname():
            return "nameless"
        sock.listen()
        return "made"


def by_address_of_a_message():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(LISTED)
        sock.recv(1)
        sock.sendmsg([b"x"], [], 0, OTHER)
        return letter(sock)


def by_descriptor():
    fd = os.open(OTHER, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("/proc/self/fd/%d" % fd)
        return letter(sock)


def by_link_of_the_same_name():
    os.mkdir("names")
    os.symlink(OTHER, "names/" + os.path.basename(LISTED))
    os.chdir("names")
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(os.path.basename(LISTED))
            return letter(sock)
    finally:
        os.chdir("..")
        os.unlink("names/" + os.path.basename(LISTED))
        os.rmdir("names")


def by_an_empty_address():
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    with socket.socket(socket.AF_UNIX) as sock:
        if libc.connect(sock.fileno(), struct.pack("H", socket.AF_UNIX), 2):
            raise OSError(__import__("ctypes").get_errno(), "connect")
        return "connected"


def the_listed_one_again():
    return listed()


for act in (listed, pair, pair_of_packets, abstract, other_after_listed, other_behind_a_zero, datagram, raw, pair_of_datagrams,
            bound, bound_abstract, bound_by_itself, named_by_a_connection, by_address_of_a_message, by_descriptor,
            by_link_of_the_same_name, by_an_empty_address, the_listed_one_again):
    try:
        result = act()
    except OSError as error:
        result = errno.errorcode.get(error.errno, str(error))
    print(act.__name__, result)
