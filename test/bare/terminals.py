"""terminals.py: terminals that a command makes for itself. Prints "ok NAME" for each that works, or what went wrong.

    terminals.py [NAME]...      all of them, unless named
    terminals.py refuse PATH    tries every way to the terminal at PATH, which is somebody else's: prints each that led there
    terminals.py borrow PTMX N  makes terminals of another mount up to number N, and tries to open that of /dev/pts
    terminals.py errors         what the kernel says of descriptors that are no masters
"""
import ctypes, errno, fcntl, os, pty, select, signal, struct, sys, termios, time, traceback, tty

LOCK, NUMBER, PEER = 0x40045431, 0x80045430, 0x5441  # TIOCSPTLCK, TIOCGPTN, TIOCGPTPEER
libc = ctypes.CDLL(None, use_errno=True)


def make():
    """A master, unlocked, and the name of its other end."""
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    fcntl.ioctl(master, LOCK, struct.pack("i", 0))
    return master, "/dev/pts/%d" % struct.unpack("i", fcntl.ioctl(master, NUMBER, b"1234"))


def read(fd, end, seconds=10):
    data, until = b"", time.time() + seconds
    while end not in data and time.time() < until and select.select([fd], [], [], until - time.time())[0]:
        try:
            data += os.read(fd, 4096)
        except OSError:
            break
    assert end in data, (end, data)
    return data


def converse(master, slave):
    assert os.isatty(slave) and os.isatty(master)
    tty.setraw(slave)
    os.write(slave, b"up\n")
    assert read(master, b"up\n") == b"up\n"
    os.write(master, b"down\n")
    assert read(slave, b"down\n") == b"down\n"
    size = struct.pack("HHHH", 24, 80, 0, 0)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
    assert fcntl.ioctl(master, termios.TIOCGWINSZ, bytes(8)) == size
    assert os.ttyname(slave) == os.readlink("/proc/self/fd/%d" % slave)


def openpty_gives_both_ends():
    converse(*os.openpty())


def ends_are_as_asked():
    master, name = make()
    slave = fcntl.ioctl(master, PEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
    assert not os.get_inheritable(slave) and not os.get_blocking(slave) and os.ttyname(slave) == name
    other = fcntl.ioctl(master, PEER, os.O_RDONLY | os.O_NOCTTY)
    assert os.get_inheritable(other) and os.get_blocking(other)
    try:
        os.write(other, b"x")
    except OSError as e:
        assert e.errno == errno.EBADF, e
    else:
        assert False, "it was opened to be read"


def a_locked_one_is_not_opened():
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    try:
        fcntl.ioctl(master, PEER, os.O_RDWR | os.O_NOCTTY)
    except OSError as e:
        assert e.errno == errno.EIO, e
    else:
        assert False, "it is locked"


def hundred_at_once():
    pairs = [os.openpty() for _ in range(100)]
    assert len({os.ttyname(slave) for _, slave in pairs}) == 100
    converse(*pairs[57])


def the_end_is_noticed():
    """Nobody else has it open: the last close is the last one."""
    master, slave = os.openpty()
    os.close(slave)
    try:
        os.read(master, 1)
    except OSError as e:
        assert e.errno == errno.EIO, e
    else:
        assert False, "somebody has it open"


def one_is_opened_by_its_name():
    master, name = make()
    converse(master, os.open(name, os.O_RDWR | os.O_NOCTTY))
    converse(master, os.open(name, os.O_RDWR))
    os.chdir("/dev/pts")
    converse(master, os.open(name[9:], os.O_RDWR | os.O_NOCTTY))
    converse(master, os.open("/proc/self/fd/%d" % os.open(name, os.O_RDWR | os.O_NOCTTY), os.O_RDWR | os.O_NOCTTY))


def what_is_opened_like_one_is_opened_as_ever():
    with open("new", "w") as file:
        file.write("content")
    fd = os.open("new", os.O_RDWR | os.O_TRUNC | os.O_CLOEXEC)
    assert os.write(fd, b"x") == 1 and os.fstat(fd).st_size == 1 and not os.get_inheritable(fd)
    os.write(os.open("/dev/null", os.O_RDWR), b"x")
    for path, number in (("/etc/passwd", errno.EACCES), ("absent", errno.ENOENT), ("new/x", errno.ENOTDIR), (".", errno.EISDIR)):
        try:
            os.open(path, os.O_RDWR)
            assert not os.getuid() and path[0] == "/", path
        except OSError as e:
            assert e.errno == number, (path, e)
    os.remove("new")


def in_child(action):
    """What the action did in a child that has become a session's first process."""
    child = os.fork()
    if not child:
        try:
            os.setsid()
            action()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def a_child_opens_its_parents():
    master, name = make()
    keep = os.open(name, os.O_RDWR | os.O_NOCTTY)

    def action():
        os.close(master)
        os.close(keep)
        if os.fork():
            assert os.wait()[1] == 0
            return
        slave = os.open(name, os.O_RDWR | os.O_NOCTTY)
        os.write(slave, b"hello")
        os._exit(0)
    in_child(action)
    read(master, b"hello")


def tty_is_the_terminal_that_controls():
    master, slave = os.openpty()

    def action():
        try:
            os.open("/dev/tty", os.O_RDWR)
            assert False, "there is none yet"
        except OSError as e:
            assert e.errno == errno.ENXIO, e
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        os.close(master)
        os.close(slave)
        fd = os.open("/dev/tty", os.O_RDWR)
        os.write(fd, b"mine")
        assert os.tcgetpgrp(fd) == os.getpid()
    in_child(action)
    read(master, b"mine")


def jobs_are_controlled():
    child, master = pty.fork()
    if not child:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    for typed, seen in ((b"PS1='> '; echo be''gun\n", b"begun"), (b"sleep 100\n", b"sleep 100"),
                        (b"\x1a", b"Stopped"), (b"jobs\n", b"Stopped"), (b"bg\n", b"sleep 100 &"),
                        (b"kill -9 %1; wait; echo th''ere\n", b"there"), (b"sleep 100\n", b"sleep 100"),
                        (b"\x03", b">"), (b"echo $?-; cat </dev/tty\n", b"130-"), (b"ty''ped\n", b"ty''ped\r\nty''ped"),
                        (b"\x04", b">"), (b"exit 7\n", b"exit")):
        os.write(master, typed)
        time.sleep(0.1)
        read(master, seen)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def attempt(way, *arguments):
    try:
        return way(*arguments)
    except OSError as e:
        return -e.errno


def refuse(path):
    """Prints the ways that led there."""
    there = os.stat(path)
    master, name = make()
    ways = {
        "by name": lambda: os.open(path, os.O_RDWR),
        "by name, not to control": lambda: os.open(path, os.O_RDWR | os.O_NOCTTY),
        "to be read": lambda: os.open(path, os.O_RDONLY | os.O_NOCTTY),
        "to be written": lambda: os.open(path, os.O_WRONLY | os.O_NOCTTY),
        "to be made": lambda: os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CREAT),
        "by a link": lambda: (os.path.lexists("link") or os.symlink(path, "link"),
                              os.open("link", os.O_RDWR | os.O_NOCTTY))[1],
        "by a descriptor": lambda: os.open("/proc/self/fd/%d" % os.open(path, os.O_PATH), os.O_RDWR | os.O_NOCTTY),
        "from its directory": lambda: os.open(os.path.basename(path), os.O_RDWR | os.O_NOCTTY,
                                              dir_fd=os.open("/dev/pts", os.O_PATH)),
        "beside its own": lambda: os.open("/dev/pts/../pts/" + path[9:], os.O_RDWR | os.O_NOCTTY),
        "as the peer of itself": lambda: fcntl.ioctl(os.open(path, os.O_PATH), PEER, os.O_RDWR),
    }
    for name, way in ways.items():
        fd = attempt(way)
        if fd >= 0 and os.fstat(fd).st_rdev == there.st_rdev:
            print(name)


def borrow(ptmx, number):
    try:
        fds = [os.open(ptmx, os.O_RDONLY | os.O_NOCTTY) for _ in range(number + 1)]
    except PermissionError:  # where devices are asked about
        return print("not there")
    with open("/proc/self/fdinfo/%d" % fds[-1]) as file:
        assert "tty-index:\t%d\n" % number in file.read()
    print("there" if attempt(os.open, "/dev/pts/%d" % number, os.O_RDWR | os.O_NOCTTY) >= 0 else "not there")


def errors():
    master, slave = os.openpty()
    gone, other = os.openpty()
    os.close(gone)
    for name, fd in (("file", os.open("/etc/passwd", os.O_RDONLY)), ("directory", os.open("/usr", os.O_RDONLY)),
                     ("null", os.open("/dev/null", os.O_RDWR)), ("path", os.open("/dev/ptmx", os.O_PATH)),
                     ("slave", slave), ("pipe", os.pipe()[0]), ("hung up", other), ("closed", 999), ("none", -1),
                     ("large", 0x7fffffff), ("cwd", -100)):
        ctypes.set_errno(0)
        print(name, libc.ioctl(fd, ctypes.c_ulong(PEER), os.O_RDWR | os.O_NOCTTY), ctypes.get_errno())


signal.alarm(60)
if sys.argv[1:2] == ["refuse"]:
    refuse(sys.argv[2])
elif sys.argv[1:2] == ["borrow"]:
    borrow(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1:2] == ["errors"]:
    errors()
else:
    for test in (openpty_gives_both_ends, ends_are_as_asked, a_locked_one_is_not_opened, hundred_at_once,
                 the_end_is_noticed, what_is_opened_like_one_is_opened_as_ever, one_is_opened_by_its_name, a_child_opens_its_parents,
                 tty_is_the_terminal_that_controls, jobs_are_controlled):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        try:
            test()
            print("ok", test.__name__, flush=True)
        except Exception as e:
            print("not ok", test.__name__, traceback.format_exc(), flush=True)
