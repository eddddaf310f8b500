"""Commands in the sandbox of abatis: `abatis.run(["make", "test"], preset="dev")`.

One `abatis serve` stays warm behind it; see README.md, and docs/SERVER.md of abatis for every key of a policy.
"""
from ._async import AsyncStream, arun, astream
from ._pool import close
from ._run import Stream, check, end_session, explain, probe, run, stream
from ._types import Check, CommandFailed, Error, Output, Probe, RequestError, Result, ServerError

__version__ = "0.1.0"
__all__ = ["AsyncStream", "Check", "CommandFailed", "Error", "Output", "Probe", "RequestError", "Result", "ServerError", "Stream",
           "arun", "astream", "check", "close", "end_session", "explain", "probe", "run", "stream"]
