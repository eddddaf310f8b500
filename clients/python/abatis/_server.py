"""One `abatis serve`, and who waits for its answers.

There is no thread in the way of a call: whoever waits reads, and hands out what is for others. Only where somebody waits who
cannot read, in an event loop, a thread does.
"""
from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import select
import socket
import subprocess
import tempfile
import threading
from typing import IO, Any, Callable, Deque, Dict, List, Mapping, Optional

from ._request import line_of
from ._types import Error, Output, ServerError, bytes_of, error_of

MOST_AT_ONCE = 512  # requests that the server knows of; it refuses the 1025th
MOST_BYTES = 32 << 20  # of their text; it refuses more than 64 MiB
PIECE = 1 << 18
LAST_WORDS = 4096
PATIENCE = 2.0  # seconds that it has to end by itself
DEAF = getattr(socket, "MSG_NOSIGNAL", 0) | socket.MSG_DONTWAIT  # a server that has died is no SIGPIPE


def environment() -> Dict[Any, Any]:
    """This process's, to be compared: decoding each variable for that would be a good part of what a call costs."""
    return dict(getattr(os.environ, "_data", os.environ))


def scratch_file() -> IO[bytes]:
    """For what the server complains of; where nothing can be written, that is not known."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return open(os.devnull, "w+b")


def parse(line: bytes) -> Optional[Dict[str, Any]]:
    """What the server says, if it is abatis."""
    try:
        message = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    is_one = isinstance(message, dict) and isinstance(message.get("id", ""), (int, type(None))) and message.keys() & {"event", "error", "result"}
    return message if is_one else None


class NotSent(ServerError):
    """The server had ended before it could hear of this: another may be asked."""


class Call:
    """A request, and what has come to it so far. All of it is changed with the server's lock held."""

    def __init__(self) -> None:
        self.number = 0
        self.line = b""
        self.outputs: Deque[Output] = collections.deque()
        self.answer: Optional[Dict[str, Any]] = None
        self.problem: Optional[Error] = None
        self.done = False
        self.on_done: Optional[Callable[[], None]] = None
        self.parked: Optional[threading.Lock] = None  # where its thread waits, unreleased

    def wake(self) -> None:
        if self.parked:
            self.parked.release()
            self.parked = None

    def finish(self, answer: Optional[Dict[str, Any]], problem: Optional[Error]) -> None:
        """The first answer counts; who was interrupted in here comes again."""
        if not self.done:
            self.answer, self.problem, self.done = answer, problem, True
        self.wake()
        if self.on_done:
            self.on_done()

    def result(self) -> Dict[str, Any]:
        if self.problem:
            raise self.problem
        assert self.answer is not None
        return self.answer


class Server:
    """The process. A request goes out with send(), and its answer is there after wait()."""

    def __init__(self, program: str):
        self.program = program
        self.environment = environment()
        self.complaints = scratch_file()
        ours, its = socket.socketpair()
        try:
            # In a session of its own: Ctrl-C is for this program, which cancels what it wants to.
            self.process = subprocess.Popen([program, "serve"], stdin=its.fileno(), stdout=subprocess.PIPE, stderr=self.complaints, cwd="/",
                                            bufsize=0, start_new_session=True)
        except OSError as problem:
            ours.close()
            self.complaints.close()
            raise ServerError(f"cannot start '{program}': {problem.strerror}") from problem
        finally:
            its.close()
        self.socket = ours
        assert self.process.stdout is not None
        self.stdout = self.process.stdout
        self.poll = select.poll()
        self.poll.register(self.stdout, select.POLLIN)
        self.lock = threading.Lock()
        self.free = threading.Condition(self.lock)  # for the listener: nobody reads any more
        self.numbers = itertools.count(1)
        self.pending: Dict[int, Call] = {}
        self.pending_bytes = 0
        self.waiting: Deque[Call] = collections.deque()  # not sent yet
        self.outgoing = bytearray()
        self.pieces: List[bytes] = []  # of a line that has no end yet
        self.is_read = self.is_written = self.listens = self.dead = False
        self.epitaph = ""

    # ---- asking ----

    def send(self, call: Call, request: Mapping[str, Any]) -> None:
        """Never waits. NotSent if the server has ended, and cannot have heard of it."""
        with self.lock:
            if self.dead:
                raise NotSent(self.epitaph)
            call.number = next(self.numbers)
            call.line = line_of(call.number, request)
            if self._is_full(call):
                self.waiting.append(call)
            else:
                self._submit(call)

    def cancel(self, call: Call) -> None:
        """The call gets its answer soon, whatever that is."""
        with self.lock:
            if call in self.waiting:
                self.waiting.remove(call)
                call.finish(None, error_of({"code": "PROTOCOL_CANCELLED", "message": "cancelled before it was sent"}))
            elif call.number in self.pending:
                with contextlib.suppress(NotSent):  # then it has ended, and the call with it
                    self._write(line_of(next(self.numbers), {"method": "cancel", "target": call.number}))

    def _is_full(self, call: Call) -> bool:
        return bool(self.pending) and (len(self.pending) >= MOST_AT_ONCE or self.pending_bytes + len(call.line) > MOST_BYTES)

    def _submit(self, call: Call) -> None:
        self.pending[call.number] = call
        self.pending_bytes += len(call.line)
        self._write(call.line)

    def _write(self, line: bytes) -> None:
        if self.outgoing:
            self.outgoing += line
            return
        try:
            sent = self.socket.send(line, DEAF)
        except BlockingIOError:
            sent = 0
        except (BrokenPipeError, ConnectionResetError):
            self._break("has ended", PATIENCE)
            raise NotSent(self.epitaph) from None
        except BaseException:
            # A signal's handler has raised, and who knows how much has gone.
            self._break("was interrupted")
            raise
        self.outgoing += line[sent:]
        if self.outgoing:
            self.is_written = True
            threading.Thread(target=self._write_rest, name="abatis-write", daemon=True).start()

    def _write_rest(self) -> None:
        """The rest of what was too much for a moment."""
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT)
        while True:
            poll.poll()
            with self.lock:
                try:
                    del self.outgoing[:self.socket.send(self.outgoing[:PIECE], DEAF)]
                except BlockingIOError:
                    continue
                except OSError:
                    self.outgoing.clear()  # who reads learns that it has ended
                if self.dead or not self.outgoing:
                    self.outgoing.clear()
                    self.is_written = False
                    self._tidy()
                    return

    # ---- hearing ----

    def wait(self, call: Call, for_output: bool = False) -> None:
        """Until it is answered, or has printed something."""
        def ready() -> bool:
            return call.done or (for_output and bool(call.outputs))

        while not ready():
            with self.lock:
                parked = None
                if ready():
                    return
                if self.is_read:
                    parked = call.parked = threading.Lock()
                    parked.acquire()
                self.is_read = True
            if parked:
                self._park(call, parked, ready)
                continue
            try:
                while not ready():
                    self.read()
            finally:
                self._hand_over()

    def _park(self, call: Call, parked: threading.Lock, ready: Callable[[], bool]) -> None:
        """Until something has come for it, or it is to read. If that is not what it wants any more, another shall."""
        reads_next = False
        try:
            parked.acquire()
            reads_next = not ready()
        finally:
            with self.lock:
                call.parked = None
                if not reads_next and not self.is_read:
                    self._wake_one()

    def listen(self, call: Call, on_done: Callable[[], None]) -> None:
        """For who cannot wait: from now on a thread reads, if nobody else does."""
        with self.lock:
            call.on_done = on_done
            if call.done:
                on_done()
            if self.listens:
                return
            self.listens = True
        threading.Thread(target=self._listen, name="abatis-read", daemon=True).start()

    def _listen(self) -> None:
        with self.lock:
            while self.is_read:
                self.free.wait()
            self.is_read = True
        try:
            while not self.dead:
                self.read()
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        """Somebody else reads now."""
        with self.lock:
            self.is_read = False
            self.free.notify()
            self._wake_one()
            self._tidy()

    def _wake_one(self) -> None:
        if not self.listens:
            next((call.wake for call in (*self.pending.values(), *self.waiting) if call.parked), lambda: None)()

    def read(self, patient: bool = True) -> None:
        """Takes what is there, and hands it out. Only who has is_read may call it."""
        if patient:
            self.poll.poll()
        try:
            piece = os.read(self.stdout.fileno(), PIECE)
            with self.lock:
                self._take(piece)
        except BaseException:
            # A signal's handler has raised, and what had been taken may be lost.
            with self.lock:
                self._break("was interrupted")
            raise

    def _take(self, piece: bytes) -> None:
        if self.dead:
            return
        if not piece:
            self._break("has ended", PATIENCE)
            return
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self.pieces.append(line)
            message = parse(b"".join(self.pieces))
            if message is None or message["id"] is None:
                self._break(f"says what makes no sense: {b''.join(self.pieces)[:200]!r}")
                return
            self._hear(message)
            self.pieces.clear()
        if rest:
            self.pieces.append(rest)

    def _hear(self, message: Dict[str, Any]) -> None:
        call = self.pending.get(message["id"])
        if call is None:
            return  # the answer to a cancel
        if "event" in message:
            call.outputs.append(Output(message["event"], bytes_of(message, "data")))
            call.wake()
            return
        answer, problem = (None, error_of(message["error"])) if "error" in message else (message["result"], None)
        call.finish(answer, problem)
        del self.pending[call.number]
        self.pending_bytes -= len(call.line)
        while self.waiting and not self._is_full(self.waiting[0]):
            following = self.waiting.popleft()
            try:
                self._submit(following)
            except NotSent as ended:
                following.finish(None, ended)

    # ---- the end ----

    def _break(self, what: str, patience: float = 0) -> None:
        """It is of no use any more: whoever waits is told so."""
        if self.dead:
            return
        self.dead = True
        self.epitaph = f"'{self.program} serve' {what}"
        try:
            self.epitaph += self._bury(patience)
        finally:
            self._give_up()
            self._tidy()

    def _bury(self, patience: float) -> str:
        """How it ended, and what it said of that."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        with self.complaints:
            self.complaints.seek(0)
            said = self.complaints.read(LAST_WORDS).decode("utf-8", "replace").strip()
        return (f" (signal {-code})" if code < 0 else f" (exit code {code})") + (f": {said}" if said else "")

    def _give_up(self) -> None:
        calls = [*self.pending.values(), *self.waiting]
        self.pending.clear()
        self.waiting.clear()
        for call in calls:
            call.finish(None, ServerError(self.epitaph))

    def _tidy(self) -> None:
        """Closes what nobody uses any more; a descriptor that somebody waits at may not become another's."""
        if self.dead and not self.is_read:
            self.stdout.close()
        if self.dead and not self.is_written:
            self.socket.close()

    def close(self) -> None:
        """Ends it, and what it runs."""
        with self.lock:
            if self.dead:
                return
            busy = bool(self.pending)
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            if busy:
                self.process.terminate()
            self._break("was closed", PATIENCE)

    def forget(self) -> None:
        """In a child of a fork: it is the parent's."""
        self.lock = threading.Lock()
        self.free = threading.Condition(self.lock)
        self.dead = True
        self.epitaph = f"'{self.program} serve' is of the process that has forked"
        self.process.returncode = 0  # nobody to wait for
        self.is_read = self.is_written = False
        self.complaints.close()
        self._give_up()
        self._tidy()
