"""Running in an event loop. What is cancelled there has its command ended before it is told so."""
from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, AsyncIterator, Optional, Sequence

from . import _pool
from ._request import run_request
from ._run import StreamBase
from ._server import Call, Server
from ._types import Output, Result, result_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._request import RunOptions


async def arun(command: Sequence[Any], *, check: bool = False, abatis: Optional[Any] = None, **options: Unpack[RunOptions]) -> Result:
    """As run(); a task that is cancelled meanwhile has the command ended. Cancelled twice, it does not wait for that."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell() -> None:
        try:
            loop.call_soon_threadsafe(done.set)
        except RuntimeError:
            pass  # the loop has been closed, and nobody waits

    server, call = _pool.ask(run_request(command, **options), abatis)
    server.listen(call, tell)
    try:
        await done.wait()
    except asyncio.CancelledError:
        server.cancel(call)
        await done.wait()
        raise
    result = result_of(call.result())
    return result.check() if check else result


class AsyncStream(StreamBase):
    """As Stream, for `async with` and `async for`."""

    async def __aenter__(self) -> AsyncStream:
        self._open()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    async def __aiter__(self) -> AsyncIterator[Output]:
        server = self._opened()
        while not self._call.done or self._call.outputs:
            while self._call.outputs:
                yield self._call.outputs.popleft()
            await _progress(server, self._call)
        self.result = result_of(self._call.result())

    async def aclose(self) -> None:
        server = self._detach()
        if not server:
            return
        try:
            while not self._call.done:
                self._call.outputs.clear()
                await _progress(server, self._call)
        finally:
            self._settle(server)


async def _progress(server: Server, call: Call) -> None:
    """Until something has come. The server is this stream's alone, so the loop itself reads."""
    if call.done:
        return
    loop = asyncio.get_running_loop()
    some = asyncio.Event()
    number = server.stdout.fileno()
    loop.add_reader(number, some.set)
    try:
        await some.wait()
    finally:
        loop.remove_reader(number)
    server.read(patient=False)


def astream(command: Sequence[Any], *, abatis: Optional[Any] = None, **options: Unpack[RunOptions]) -> AsyncStream:
    """As stream(): `async with astream([...]) as pieces: async for piece in pieces: ...`"""
    return AsyncStream(command, abatis=abatis, **options)
