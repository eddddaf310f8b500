"""abstract.py serve NAME | connect NAME KIND: an abstract unix socket, or one with a path if the name begins with a slash."""
import errno
import socket
import sys

name = sys.argv[2] if sys.argv[2].startswith("/") else "\0" + sys.argv[2]
if sys.argv[1] == "serve":
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(name)
    server.listen()
    print("ready", flush=True)
    while True:
        server.accept()[0].close()
try:
    kind = {"stream": socket.SOCK_STREAM, "seqpacket": socket.SOCK_SEQPACKET, "dgram": socket.SOCK_DGRAM}[sys.argv[3]]
    socket.socket(socket.AF_UNIX, kind).connect(name)
    print("reached")
except OSError as error:
    print(errno.errorcode[error.errno])
