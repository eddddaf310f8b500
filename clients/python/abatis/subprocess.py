"""subprocess.run() and its relatives, in the sandbox: the same arguments, results and exceptions.

What cannot be had there is refused. Two things are different: without stdin= and input= a command reads nothing, not the terminal;
and without timeout= the policy's time limit holds, 30 seconds if it has none, and is a TimeoutExpired, too.
"""
from __future__ import annotations

import errno
import locale
import os
import stat
from subprocess import DEVNULL, PIPE, STDOUT, CalledProcessError, CompletedProcess, SubprocessError, TimeoutExpired
from typing import Any, Dict, List, Optional, Tuple, Union

from ._request import run_request
from ._run import Stream, answered
from ._types import RequestError, Result, result_of

__all__ = ["DEVNULL", "PIPE", "STDOUT", "CalledProcessError", "CompletedProcess", "SubprocessError", "TimeoutExpired",
           "call", "check_call", "check_output", "run"]

# Arguments of Popen that mean nothing here but by their defaults.
_FIXED: Dict[str, Any] = {
    "bufsize": -1, "executable": None, "preexec_fn": None, "close_fds": True, "startupinfo": None, "creationflags": 0,
    "restore_signals": True, "start_new_session": False, "pass_fds": (), "user": None, "group": None, "extra_groups": None,
    "umask": -1, "pipesize": -1, "process_group": None,
}
# What is abatis's own.
_OURS = ("policy", "preset", "workspace", "data", "config", "limits", "set", "context", "best_effort", "abatis")


def run(args: Any, *, stdin: Any = None, input: Any = None, stdout: Any = None, stderr: Any = None, capture_output: bool = False,
        shell: bool = False, cwd: Any = None, timeout: Optional[float] = None, check: bool = False, encoding: Optional[str] = None,
        errors: Optional[str] = None, text: Optional[bool] = None, env: Any = None, universal_newlines: Optional[bool] = None,
        **others: Any) -> CompletedProcess[Any]:
    """As subprocess.run(); policy=, preset= and so on are those of abatis.run()."""
    ours = _sorted_out(others)
    if text is not None and universal_newlines is not None and bool(text) != bool(universal_newlines):
        raise SubprocessError("text and universal_newlines are different")
    if capture_output:
        if stdout is not None or stderr is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        stdout = stderr = PIPE
    coding = (encoding or locale.getpreferredencoding(False), errors or "strict") if text or universal_newlines or encoding or errors else None
    program = ours.pop("abatis", None)
    options = {**ours, "cwd": cwd, "env": env, "input": _input_of(stdin, input, coding), "merge": stderr == STDOUT, "timeout": timeout}
    outputs = _Outputs(stdout, None if stderr == STDOUT else stderr)
    try:
        result = outputs.of(_words_of(args, shell), program, options)
    except RequestError as problem:
        raise _as_os_error(problem, args, cwd) or problem from None
    if result.timed_out:
        # Bytes, and None for nothing, as subprocess has them there.
        raise TimeoutExpired(args, result.duration_ms / 1000 if timeout is None else timeout, *(data or None for data in outputs.taken(None)))
    taken = outputs.taken(coding)
    if check and result.returncode:
        raise CalledProcessError(result.returncode, args, *taken)
    return CompletedProcess(args, result.returncode, *taken)


def call(args: Any, *, timeout: Optional[float] = None, **others: Any) -> int:
    """As subprocess.call()."""
    _refuse_pipes(others)
    return run(args, timeout=timeout, **others).returncode


def check_call(args: Any, **others: Any) -> int:
    """As subprocess.check_call()."""
    _refuse_pipes(others)
    return run(args, check=True, **others).returncode


def check_output(args: Any, *, timeout: Optional[float] = None, **others: Any) -> Any:
    """As subprocess.check_output()."""
    for name in ("stdout", "check"):
        if name in others:
            raise ValueError(f"{name} argument not allowed, it will be overridden.")
    return run(args, stdout=PIPE, timeout=timeout, check=True, **others).stdout


def _refuse_pipes(others: Dict[str, Any]) -> None:
    """There a PIPE would be one that nobody reads."""
    for name in ("stdin", "stdout", "stderr"):
        if others.get(name) == PIPE:
            raise ValueError(f"{name}=PIPE is for run(): nobody would use it here")


def _sorted_out(others: Dict[str, Any]) -> Dict[str, Any]:
    ours = {}
    for name, value in others.items():
        if name in _OURS:
            ours[name] = value
        elif name not in _FIXED:
            raise TypeError(f"run() got an unexpected keyword argument '{name}'")
        elif value != _FIXED[name]:
            raise NotImplementedError(f"{name}={value!r} cannot be had in a sandbox")
    return ours


def _words_of(args: Any, shell: bool) -> List[Any]:
    words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
    return ["/bin/sh", "-c", *words] if shell else words


def _input_of(stdin: Any, input: Any, coding: Optional[Tuple[str, str]]) -> Optional[bytes]:
    """All that the command will read: it is sent with the request."""
    if input is not None:
        if stdin is not None and stdin != PIPE:
            raise ValueError("stdin and input arguments may not both be used.")
        return bytes(input.encode(*coding) if coding else memoryview(input))
    if stdin is None or stdin == DEVNULL:
        return None
    if stdin == PIPE:
        return b""
    number = stdin if isinstance(stdin, int) else stdin.fileno()
    if not stat.S_ISREG(os.fstat(number).st_mode):
        raise NotImplementedError(f"stdin={stdin!r} is no file: what the command reads must be there when it starts")
    with open(number, "rb", closefd=False, buffering=0) as file:
        return file.read()


def _as_os_error(problem: RequestError, args: Any, cwd: Any) -> Optional[OSError]:
    name = args if isinstance(args, (str, bytes, os.PathLike)) else args[0]
    number = {"ABATIS_E_NOT_FOUND": errno.ENOENT, "ABATIS_E_NOT_EXECUTABLE": errno.EACCES}.get(problem.code)
    if number:
        return OSError(number, os.strerror(number), os.fspath(name))
    if problem.code == "ABATIS_E_SYSTEM" and problem.errno and cwd is not None and not os.path.isdir(cwd):
        return OSError(problem.errno, os.strerror(problem.errno), os.fspath(cwd))
    return None


class _Outputs:
    """Where what is printed goes: it is collected, dropped, or written to a descriptor as it comes."""

    def __init__(self, stdout: Any, stderr: Any):
        self.collected: Dict[str, List[bytes]] = {}
        self.numbers: Dict[str, int] = {}
        for name, target, usual in (("stdout", stdout, 1), ("stderr", stderr, 2)):
            if target == PIPE:
                self.collected[name] = []
            elif target == STDOUT:
                raise ValueError(f"STDOUT can only be used for stderr, and not for {name}")
            elif target != DEVNULL:
                self.numbers[name] = usual if target is None else target if isinstance(target, int) else target.fileno()

    def of(self, words: List[Any], program: Any, options: Dict[str, Any]) -> Result:
        """Who writes to a descriptor may have to wait, and has a server alone; else there is room for all of it."""
        if self.numbers:
            with Stream(words, abatis=program, **options) as stream:
                for piece in stream:
                    self.put(piece.name, piece.data)
            assert stream.result is not None
            return stream.result
        call = answered(run_request(words, stream=True, **options), program)
        for piece in call.outputs:
            self.put(piece.name, piece.data)
        return result_of(call.result())

    def put(self, name: str, data: bytes) -> None:
        if name in self.collected:
            self.collected[name].append(data)
        while data and name in self.numbers:
            data = data[os.write(self.numbers[name], data):]

    def taken(self, coding: Optional[Tuple[str, str]]) -> Tuple[Any, Any]:
        return self._one("stdout", coding), self._one("stderr", coding)

    def _one(self, name: str, coding: Optional[Tuple[str, str]]) -> Union[None, str, bytes]:
        if name not in self.collected:
            return None
        data = b"".join(self.collected[name])
        return data.decode(*coding).replace("\r\n", "\n").replace("\r", "\n") if coding else data
