"""Running and asking, with a thread that waits."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Sequence

from . import _pool
from ._request import absolute, policy_keys, run_request
from ._server import Call, Server
from ._types import Check, Output, Probe, Result, result_of, text_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._request import PolicyOptions, RunOptions


def answered(request: Mapping[str, Any], program: Optional[Any]) -> Call:
    """Asks, and waits. Who is interrupted has the command ended first."""
    server, call = _pool.ask(request, program)
    try:
        server.wait(call)
    except BaseException:
        server.cancel(call)
        server.wait(call)
        raise
    return call


def answer(request: Mapping[str, Any], program: Optional[Any]) -> Dict[str, Any]:
    return answered(request, program).result()


def run(command: Sequence[Any], *, check: bool = False, abatis: Optional[Any] = None, **options: Unpack[RunOptions]) -> Result:
    """Runs a command in the sandbox of a policy, and says how it ended."""
    result = result_of(answer(run_request(command, **options), abatis))
    return result.check() if check else result


class StreamBase:
    """A command that runs, and what it prints, as it does. Leaving it cancels the command.

    What nobody takes is not read: a command that prints more has to wait. Afterwards `result` says how it ended.
    """

    def __init__(self, command: Sequence[Any], *, abatis: Optional[Any] = None, **options: Unpack[RunOptions]):
        if options.get("session") is not None:
            raise ValueError("a stream has a server of its own, which does not know the sessions of others")
        self._request = run_request(command, stream=True, **options)
        self._program = abatis
        self._server: Optional[Server] = None
        self._call = Call()
        self.result: Optional[Result] = None

    def _open(self) -> None:
        self._server, self._call = _pool.ask(self._request, self._program, alone=True)

    def _opened(self) -> Server:
        if not self._server:
            raise ValueError("a stream is used in a 'with' (or 'async with'), and this one is not open")
        return self._server

    def cancel(self) -> None:
        """Asks the command to end; what it has printed until then still comes."""
        self._opened().cancel(self._call)

    def _detach(self) -> Optional[Server]:
        """The server, if it is still this stream's, with the command on its way to its end."""
        server, self._server = self._server, None
        if server and not self._call.done:
            server.cancel(self._call)
        return server

    def _settle(self, server: Server) -> None:
        if self.result is None and self._call.answer:
            self.result = result_of(self._call.answer)
        if not self._call.done:
            server.close()  # who closes it was interrupted: nobody waits for the command's own end
        _pool.pool.give_back(server)


class Stream(StreamBase):
    __doc__ = StreamBase.__doc__

    def __enter__(self) -> Stream:
        self._open()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Output]:
        server = self._opened()
        while not self._call.done or self._call.outputs:
            server.wait(self._call, for_output=True)
            while self._call.outputs:
                yield self._call.outputs.popleft()
        self.result = result_of(self._call.result())

    def close(self) -> None:
        server = self._detach()
        if not server:
            return
        try:
            while not self._call.done:
                self._call.outputs.clear()
                server.wait(self._call, for_output=True)
        finally:
            self._settle(server)


def stream(command: Sequence[Any], *, abatis: Optional[Any] = None, **options: Unpack[RunOptions]) -> Stream:
    """Runs a command, and gives its output as it comes: `with stream([...]) as pieces: for piece in pieces: ...`"""
    return Stream(command, abatis=abatis, **options)


def with_workspace(options: Any) -> Dict[str, Any]:
    words: Dict[str, Any] = {"workspace": os.getcwd(), **options}
    return policy_keys(**words)


def check(access: str, path: Any, *, abatis: Optional[Any] = None, **options: Unpack[PolicyOptions]) -> Check:
    """May a command "read", "write" or "execute" that? From the policy alone: nothing is run."""
    found = answer({"method": "check", "access": access, "path": absolute(path), **with_workspace(options)}, abatis)
    return Check(found["allowed"], text_of(found["rule"]))


def explain(*, tier: Optional[str] = None, best_effort: bool = False, abatis: Optional[Any] = None,
            **options: Unpack[PolicyOptions]) -> Dict[str, Any]:
    """The plan of a policy, as `abatis explain --json` prints it."""
    words: Dict[str, Any] = {**({"tier": tier} if tier is not None else {}), **({"best_effort": True} if best_effort else {})}
    return answer({"method": "explain", **words, **with_workspace(options)}, abatis)


def probe(*, abatis: Optional[Any] = None) -> Probe:
    """Which abatis answers, and what the machine can enforce."""
    found = answer({"method": "probe"}, abatis)
    return Probe(found["protocol"], found["version"], found["ready"], tuple(found["tiers"]), found["host"])


def end_session(name: str, *, abatis: Optional[Any] = None) -> bool:
    """Ends a session and what runs in it; False if there is none."""
    return bool(answer({"method": "cancel", "session": name}, abatis)["cancelled"])
