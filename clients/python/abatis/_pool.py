"""The servers of this process: one for all, and one for each output that is read as it comes.

An output that nobody reads must not hold up other commands, so a stream has a server to itself, which is kept for the next one.
"""
from __future__ import annotations

import atexit
import os
import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _find
from ._server import Call, NotSent, Server, environment

MOST_IDLE = 4


class Pool:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shared: Dict[str, Server] = {}
        self.idle: List[Server] = []
        self.lent: List[Server] = []

    def share(self, program: str) -> Server:
        with self.lock:
            server = self.shared.get(program)
            if server is None or server.dead:
                server = self.shared[program] = Server(program)
            return server

    def lend(self, program: str) -> Server:
        with self.lock:
            self.idle = [server for server in self.idle if not server.dead]
            server = next((server for server in self.idle if server.program == program), None)
            if server:
                self.idle.remove(server)
            else:
                server = Server(program)
            self.lent.append(server)
            return server

    def give_back(self, server: Server) -> None:
        with self.lock:
            if server not in self.lent:
                return  # it is of the process that has forked
            self.lent.remove(server)
            keep = not server.dead and len(self.idle) < MOST_IDLE
            if keep:
                self.idle.append(server)
        if not keep:
            server.close()

    def all(self) -> List[Server]:
        return [*self.shared.values(), *self.idle, *self.lent]


pool = Pool()


def ask(request: Mapping[str, Any], program: Optional[Any] = None, alone: bool = False) -> Tuple[Server, Call]:
    """Sends a request to a server, a new one if there is none, or none that lives."""
    path = _find.program(program)
    attempts = 3
    while True:
        server = pool.lend(path) if alone else pool.share(path)
        call = Call()
        try:
            server.send(call, _with_environment(server, request))
            return server, call
        except BaseException as problem:
            server.cancel(call)
            if alone:
                pool.give_back(server)
            attempts -= 1
            if not isinstance(problem, NotSent) or not attempts:
                raise


def _with_environment(server: Server, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A command has this process's environment as it is now, and the server has it as it was."""
    if request["method"] != "run" or "env" in request:
        return request
    return request if environment() == server.environment else {**request, "env": dict(os.environ)}


def close() -> None:
    """Ends the servers, and what they run. The next request starts another."""
    with pool.lock:
        servers = pool.all()
        pool.shared.clear()
        pool.idle.clear()
    for server in servers:
        server.close()


def _after_fork() -> None:
    global pool
    inherited, pool = pool, Pool()
    for server in inherited.all():
        server.forget()


atexit.register(close)
os.register_at_fork(after_in_child=_after_fork)
