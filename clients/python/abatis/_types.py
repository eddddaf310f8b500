"""What comes back: results, pieces of output, answers, errors."""
from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple


class Error(Exception):
    """Everything that abatis has to complain of."""


class ServerError(Error):
    """The program was not found, could not be started, or has ended with this request unanswered."""


class RequestError(Error):
    """A request was refused. `code` is one of docs/SERVER.md, `errno` what the system said, if it did."""

    def __init__(self, code: str, message: str, errno: Optional[int] = None):
        super().__init__(message)
        self.code, self.errno = code, errno

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.code})"


class CommandFailed(Error):
    """A command that was to exit with 0 did not."""

    def __init__(self, result: Result):
        super().__init__(f"{result.argv[0]!r} {result.ended}")
        self.result = result


@dataclass(frozen=True)
class Result:
    """How a command ended, and what held it."""

    argv: Tuple[str, ...]
    exit_code: Optional[int]
    signal: Optional[int]
    stdout_raw: bytes
    stderr_raw: bytes
    stdout_bytes: int
    stderr_bytes: int
    duration_ms: float
    truncated: bool
    timed_out: bool
    cancelled: bool
    limit: Optional[str]
    backend: str
    enforced: Tuple[str, ...]
    not_enforced: Tuple[str, ...]
    connections: Tuple[Dict[str, Any], ...]
    connections_omitted: int
    audit_id: Optional[str]
    set_aside: Tuple[Dict[str, Any], ...] = ()

    @property
    def stdout(self) -> str:
        """What it printed; U+FFFD for what is no UTF-8."""
        return self.stdout_raw.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_raw.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def returncode(self) -> int:
        """As the module subprocess has it: the exit code, or minus the signal."""
        return -(self.signal or 0) if self.exit_code is None else self.exit_code

    @property
    def ended(self) -> str:
        if self.limit:
            return f"was ended by {self.limit}"
        if self.cancelled:
            return "was cancelled"
        return f"was killed by signal {self.signal}" if self.exit_code is None else f"exited with {self.exit_code}"

    def check(self) -> Result:
        """Itself, if it exited with 0."""
        if not self.ok:
            raise CommandFailed(self)
        return self


@dataclass(frozen=True)
class Output:
    """A piece of output, as it came: `name` is "stdout" or "stderr". No character of UTF-8 is divided."""

    name: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Check:
    """May a command do that, and which rule says so."""

    allowed: bool
    rule: str


@dataclass(frozen=True)
class Probe:
    """Which abatis answers, and what the machine can enforce: `host` is what `abatis doctor --json` prints."""

    protocol: int
    version: str
    ready: bool
    tiers: Tuple[Any, ...]
    host: Dict[str, Any]


def bytes_of(message: Dict[str, Any], key: str) -> bytes:
    """Text, or what is none as base64."""
    text: Optional[str] = message.get(key)
    return text.encode() if text is not None else b64decode(message.get(key + "_base64", ""))


def text_of(value: Any) -> str:
    """A string, or one that is no UTF-8, as the names of files are in Python."""
    return value if isinstance(value, str) else b64decode(value["base64"]).decode("utf-8", "surrogateescape")


def result_of(message: Dict[str, Any]) -> Result:
    same = ("exit_code", "signal", "stdout_bytes", "stderr_bytes", "duration_ms", "truncated", "timed_out", "cancelled", "limit", "backend", "audit_id")
    return Result(
        argv=tuple(map(text_of, message["argv"])),
        stdout_raw=bytes_of(message, "stdout"),
        stderr_raw=bytes_of(message, "stderr"),
        enforced=tuple(map(text_of, message["enforced"])),
        not_enforced=tuple(map(text_of, message["not_enforced"])),
        connections=tuple(message.get("connections", ())),
        connections_omitted=message.get("connections_omitted", 0),
        set_aside=tuple(message.get("set_aside", ())),
        **{key: message[key] for key in same},
    )


def error_of(message: Dict[str, Any]) -> RequestError:
    return RequestError(message["code"], message["message"], message.get("errno"))
