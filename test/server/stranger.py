"""Another user at the socket: root, who can open every one."""
import os
import subprocess
import sys

from lib import ABATIS, Caller, eventually, expect, listens, main

UID = int(sys.argv[1])


def another_user_is_refused(workspace):
    os.chown(workspace, UID, UID)
    path = f"{workspace}/s"
    to_user = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
    server = subprocess.Popen([*to_user, ABATIS, "serve", "--socket", path], stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: listens(path), "it does not listen")
        with Caller(path) as stranger:
            reply = stranger.reply()
            expect(reply["error"]["code"] == "PROTOCOL_PEER" and stranger.line() is None, reply)
        # The same by a process of its own user.
        ask = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{path}'); " \
              "s.sendall(b'{\"id\":1,\"method\":\"cancel\",\"target\":1}\\n'); print(s.recv(1000).decode())"
        said = subprocess.run([*to_user, "/usr/bin/python3", "-c", ask], stdout=subprocess.PIPE, timeout=60).stdout
        expect(b'"cancelled":false' in said, f"positive control: {said}")
    finally:
        server.kill()
        server.wait()


main([another_user_is_refused])
