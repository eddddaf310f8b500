"""What a command does on its loopback: inside.py WHAT [ARGUMENT...]. Exits with 0 if all was as it says."""
import ctypes, errno, fcntl, os, resource, signal, socket, struct, sys, threading, time

TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM
FAMILIES = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}


def fails(wanted, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno in wanted, error
        return
    raise AssertionError(f"{arguments} went well")


def meet():
    """Two processes, whatever the server is bound to."""
    for address, family in FAMILIES.items():
        for bound in (address, "0.0.0.0" if family == socket.AF_INET else "::"):
            server = socket.socket(family)
            server.bind((bound, 0))
            server.listen()
            if not os.fork():
                client = socket.create_connection((address, server.getsockname()[1]))
                client.sendall(b"hello")
                os._exit(0)
            assert server.accept()[0].recv(5, socket.MSG_WAITALL) == b"hello"
            os.wait()
        receiver, sender = socket.socket(family, UDP), socket.socket(family, UDP)
        receiver.bind((address, 0))
        sender.sendto(b"datagram", receiver.getsockname())
        assert receiver.recv(16) == b"datagram"


def unreachable():
    """There is no way out: nothing is sent, as the kernel knows no route."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "10.0.0.1"), (socket.AF_INET6, "2001:db8::1")):
        fails([errno.ENETUNREACH, errno.EADDRNOTAVAIL], socket.socket(family).connect, (address, 80))
        fails([errno.ENETUNREACH, errno.EADDRNOTAVAIL], socket.socket(family, UDP).sendto, b"x", (address, 53))


def reach(port):
    socket.create_connection(("127.0.0.1", int(port)), 5).close()


def serve(told, until):
    """Says its port in a file, and stays until there is another one."""
    server = socket.create_server(("0.0.0.0", 0))
    port = server.getsockname()[1]
    reach(port)
    with open(told + ".new", "w") as file:
        file.write(str(port))
    os.rename(told + ".new", told)
    while not os.path.exists(until):
        time.sleep(0.02)
    # Nobody came but ourselves.
    server.accept()
    server.setblocking(False)
    fails([errno.EAGAIN], server.accept)


def devices():
    assert socket.if_nameindex() == [(1, "lo")], socket.if_nameindex()


def flags():
    for wanted in (0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
        fd = ctypes.CDLL(None).socket(socket.AF_INET, TCP | wanted, 0)
        assert fd >= 0
        assert bool(fcntl.fcntl(fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC) == bool(wanted & socket.SOCK_CLOEXEC)
        assert bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK) == bool(wanted & socket.SOCK_NONBLOCK)
        os.close(fd)


def full():
    """No descriptor is left for it; with one closed there is."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    held = []
    try:
        while True:
            held.append(socket.socket())
    except OSError as error:
        assert error.errno == errno.EMFILE, error
    held.pop().close()
    socket.socket()


def many():
    """More than init could have open, also from threads and from children that are killed in the middle of it."""
    for _ in range(3000):
        socket.socket().close()

    def ask(count):
        for _ in range(count):
            socket.socket().close()

    threads = [threading.Thread(target=ask, args=(300,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(40):
        child = os.fork()
        if not child:
            ask(1000000)
        time.sleep(0.002 * (number % 5))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for thread in threads:
        thread.join()
    meet()


def closed():
    """What is no socket of a loopback, and what would change the network."""
    refused = [errno.EPERM, errno.EACCES]
    for kind in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, UDP, 1), (socket.AF_INET, TCP, 132), (socket.AF_INET, TCP, 262),
                 (socket.AF_INET6, socket.SOCK_RAW, 58), (socket.AF_PACKET, socket.SOCK_RAW, 0), (socket.AF_NETLINK, socket.SOCK_RAW, 4),
                 (socket.AF_NETLINK, socket.SOCK_RAW, 12), (socket.AF_UNIX, TCP, 0), (socket.AF_VSOCK, TCP, 0)):
        fails(refused, socket.socket, *kind)
    # SIOCSIFADDR, SIOCSIFFLAGS
    inet = socket.socket()
    for request in (0x8916, 0x8914):
        fails(refused, fcntl.ioctl, inet.fileno(), request, struct.pack("16sH14x8x", b"lo", socket.AF_INET))
    # RTM_NEWROUTE 0.0.0.0/0 local dev lo
    route = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 255, 4, 254, 2, 0) + struct.pack("=HHI", 8, 4, 1)
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    netlink.send(struct.pack("=IHHII", 16 + len(route), 24, 0x405, 1, 0) + route)
    kind, error = struct.unpack_from("=4xH10xi", netlink.recv(4096))
    assert kind == 2 and -error in refused, (kind, error)
    libc = ctypes.CDLL(None, use_errno=True)
    for process in ("self", "1"):
        try:
            fd = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
        except OSError:
            continue
        assert libc.setns(fd, 0) < 0
    assert libc.unshare(0x40000000) < 0


def limits():
    """Init's thread has its limits, and a number that nobody tells: nobody sets those of others, and anybody may ask for them."""
    socket.socket()
    child = os.fork()
    if not child:
        time.sleep(100)
    for number in range(1, 500):
        fails([errno.EPERM], resource.prlimit, number, resource.RLIMIT_NOFILE, (0, 0))
    resource.prlimit(child, resource.RLIMIT_NOFILE)
    resource.prlimit(0, resource.RLIMIT_NOFILE, (100, 100))
    os.kill(child, signal.SIGKILL)


def processes(most):
    """As many as there may be, before the first socket and after it."""
    for _ in range(2):
        children = []
        try:
            while len(children) < 50:
                child = os.fork()
                if not child:
                    time.sleep(100)
                children.append(child)
        except BlockingIOError:
            pass
        assert len(children) + 1 == int(most), len(children) + 1
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        meet()


def listed(allowed, other):
    """With a unix socket on the list: it, no other, and the loopback."""
    meet()
    many()
    for type in (TCP, socket.SOCK_SEQPACKET):
        fails([errno.EPERM, errno.EACCES], socket.socket(socket.AF_UNIX, type).connect, other)
        fails([errno.EPERM, errno.EACCES], socket.socket(socket.AF_UNIX, type).bind, other + ".new")
        # Who was to be connected may have a name, and could be connected to by it.
        fails([errno.EPERM], socket.socket(socket.AF_UNIX, type).listen)
    client = socket.socket(socket.AF_UNIX)
    client.connect(allowed)
    assert client.recv(2) == b"ok"
    # What is swapped for the loopback's in the middle of the call is judged as what it is.
    target = socket.create_server(("127.0.0.1", 0))
    number, libc = 200, ctypes.CDLL(None, use_errno=True)
    inet, local = socket.socket(), socket.socket(socket.AF_UNIX)
    name = struct.pack("H", socket.AF_UNIX) + other.encode() + b"\0"
    over = time.monotonic() + 2

    def swap():
        while time.monotonic() < over:
            os.dup2(inet.fileno(), number)
            os.dup2(local.fileno(), number)

    thread = threading.Thread(target=swap)
    thread.start()
    while time.monotonic() < over:
        libc.connect(number, name, len(name))
    thread.join()
    fails([errno.ENOTCONN], local.getpeername)
    del target


def none():
    """There is no loopback."""
    for family in FAMILIES.values():
        fails([errno.EPERM], socket.socket, family)


def listener():
    """Nobody else is asked about a socket, and says that it be made where the asker is: in the host's network."""
    libc = ctypes.CDLL(None, use_errno=True)
    seccomp = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    # LD nr; RET USER_NOTIF if it is a number that nobody calls, else ALLOW
    code = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 9999, 6, 0, 0, 0x7FC00000, 6, 0, 0, 0x7FFF0000)
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(held)))
    assert not libc.prctl(38, 1, 0, 0, 0)

    def load(flags):
        return libc.syscall(seccomp, 1, ctypes.c_ulong(flags), program)

    for give_up in (lambda: None, lambda: fails([errno.EPERM], socket.socket, socket.AF_UNSPEC), socket.socket):
        give_up()
        for flags in (8, 8 | 32, 8 | 1, 8 | 1 << 32):
            assert load(flags) < 0 and ctypes.get_errno() == errno.EPERM, flags
    assert load(0) == 0  # the control
    meet()


def names():
    """What a pair is called would be a name in the host's network."""
    for one in socket.socketpair():
        for name in ("\0abatis-" + str(os.getpid()), "", "pair"):
            fails([errno.EPERM], one.bind, name)
    fails([errno.ENOTSOCK], ctypes_bind, 2)
    fails([errno.EBADF], ctypes_bind, 99)
    inet = socket.socket()
    fails([errno.EADDRNOTAVAIL], inet.bind, ("192.0.2.1", 0))
    inet.bind(("127.0.0.1", 0))  # the control
    fails([errno.EACCES], socket.socket().bind, ("127.0.0.1", 80))

    # Who is unreadable has a loopback, too.
    libc = ctypes.CDLL(None)
    assert not libc.prctl(4, 0, 0, 0, 0)
    socket.create_server(("127.0.0.1", 0))
    fails([errno.EPERM], socket.socketpair()[0].bind, "\0unreadable")
    assert not libc.prctl(4, 1, 0, 0, 0)

    def from_a_thread(results):
        results.append(socket.create_server(("::1", 0), family=socket.AF_INET6).getsockname()[1])

    results = []
    thread = threading.Thread(target=from_a_thread, args=(results,))
    thread.start()
    thread.join()
    assert results


def ctypes_bind(fd):
    name = struct.pack("=HH4s8x", socket.AF_INET, 0, b"\x7f\0\0\1")
    if ctypes.CDLL(None, use_errno=True).bind(fd, name, len(name)) < 0:
        raise OSError(ctypes.get_errno(), "bind")


def peer():
    """A socket as stdin is good for its peer, and then there is no loopback."""
    given = socket.socket(fileno=0)
    given.sendall(b"from inside")
    fails([errno.EPERM], given.connect, given.getpeername())
    none()


globals()[sys.argv[1]](*sys.argv[2:])
