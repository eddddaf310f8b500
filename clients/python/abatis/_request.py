"""From Python's arguments to a request of docs/SERVER.md: what it cannot say is refused here."""
from __future__ import annotations

import json
import math
import os
from base64 import b64encode
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from ._types import RequestError

PROTOCOL = 1
LONGEST = 8 << 20  # bytes of a line

Path = Union[str, "os.PathLike[str]"]
Limits = Mapping[str, Union[str, int]]
Settings = Mapping[str, Any]
Input = Union[str, bytes, bytearray, memoryview]


class PolicyOptions(TypedDict, total=False):
    """What policy_keys() takes."""

    policy: Union[None, Path, Mapping[str, Any]]
    preset: Optional[str]
    workspace: Optional[Path]
    data: Optional[Path]
    config: Optional[Path]
    limits: Optional[Limits]
    timeout: Optional[float]
    set: Optional[Settings]


class RunOptions(PolicyOptions, total=False):
    """What run_request() takes besides."""

    cwd: Optional[Path]
    env: Optional[Mapping[str, str]]
    input: Optional[Input]
    merge: bool
    session: Optional[str]
    context: Optional[str]
    best_effort: bool


def line_of(number: int, request: Mapping[str, Any]) -> bytes:
    """A request as the server reads it."""
    try:
        text = json.dumps({"id": number, "protocol": PROTOCOL, **request}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode() + b"\n"
    except UnicodeEncodeError as problem:
        raise ValueError(f"abatis takes only what is UTF-8, and not {problem.object[max(0, problem.start - 20):problem.end]!r}") from None
    if len(line) > LONGEST:
        raise RequestError("PROTOCOL_LENGTH", f"the request has {len(line)} bytes, and {LONGEST} is the most")
    return line


def words_of(command: Sequence[Any]) -> List[str]:
    if isinstance(command, (str, bytes, os.PathLike)):
        raise TypeError("the command is a list of words: [program, argument, ...]; for a line of shell it is ['sh', '-c', line]")
    words = [os.fsdecode(word) for word in command]
    if not words:
        raise ValueError("the command is empty")
    return words


def absolute(path: Path) -> str:
    return os.path.abspath(os.fsdecode(path))


def duration_of(seconds: float) -> str:
    if not (seconds >= 0 and math.isfinite(seconds)):
        raise ValueError(f"a timeout of {seconds} seconds")
    return f"{max(1, math.ceil(seconds * 1000))}ms"


def policy_keys(
    *,
    policy: Union[None, Path, Mapping[str, Any]] = None,
    preset: Optional[str] = None,
    workspace: Optional[Path] = None,
    data: Optional[Path] = None,
    config: Optional[Path] = None,
    limits: Optional[Limits] = None,
    timeout: Optional[float] = None,
    set: Optional[Settings] = None,
) -> Dict[str, Any]:
    """What every request with a policy takes. A mapping is a policy, anything else a policy file."""
    keys: Dict[str, Any] = {}
    if isinstance(policy, Mapping):
        keys["policy"] = policy
    elif policy is not None:
        keys["policy_file"] = absolute(policy)
    if preset is not None:
        keys["preset"] = preset
    for name, path in (("workspace", workspace), ("data", data), ("config", config)):
        if path is not None:
            keys[name] = absolute(path)
    if limits is not None or timeout is not None:
        keys["limits"] = dict(limits or {})
    if timeout is not None:
        if "timeout" in keys["limits"]:
            raise ValueError("there are two timeouts, timeout= and one in limits=")
        keys["limits"]["timeout"] = duration_of(timeout)
    if set is not None:
        keys["set"] = dict(set)
    return keys


def run_request(
    command: Sequence[Any],
    *,
    cwd: Optional[Path] = None,
    env: Optional[Mapping[str, str]] = None,
    input: Optional[Input] = None,
    stream: bool = False,
    merge: bool = False,
    session: Optional[str] = None,
    context: Optional[str] = None,
    best_effort: bool = False,
    **policy: Any,
) -> Dict[str, Any]:
    """A command is of this process's directory as it is now: the server's is another."""
    request: Dict[str, Any] = {"method": "run", "command": words_of(command), "cwd": os.getcwd() if cwd is None else absolute(cwd)}
    if env is not None:
        request["env"] = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    if isinstance(input, str) and "\0" not in input:
        request["stdin"] = input
    elif input is not None:
        request["stdin_base64"] = b64encode(input.encode() if isinstance(input, str) else input).decode()
    for name, value in (("stream", stream), ("merge", merge), ("best_effort", best_effort)):
        if value:
            request[name] = True
    for name, text in (("session", session), ("context", context)):
        if text is not None:
            request[name] = text
    request.update(policy_keys(**policy))
    return request
