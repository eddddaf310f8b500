"""Where the program is."""
from __future__ import annotations

import functools
import os
import shutil
from typing import Optional

from ._types import ServerError


def program(said: Optional[os.PathLike[str] | str] = None) -> str:
    """An absolute path: what was said, or the variable ABATIS, or `abatis` in PATH."""
    if said is not None:
        return _locate(os.fspath(said), "the argument abatis=", os.environ.get("PATH"))
    named = os.environ.get("ABATIS")
    return _locate(named or "abatis", "the variable ABATIS" if named else "", os.environ.get("PATH"))


@functools.lru_cache(maxsize=8)
def _locate(name: str, source: str, path: Optional[str]) -> str:
    found = shutil.which(name, path=path)
    if found:
        return os.path.abspath(found)
    if source:
        raise ServerError(f"{source} says {name!r}, and there is no such program")
    raise ServerError("there is no 'abatis' in PATH: install it, or say where it is with the variable ABATIS or the argument abatis=")
