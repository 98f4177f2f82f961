"""Starts every child process of this package, in the one way that is safe wherever the user happens to stand.

The current folder may be the one being indexed, so nothing in it may run: `python -m` would put it first on the module
path, `-P` keeps it off, and the environment is cleared of whatever would bring it back. A test reads all modules and
finds no other place that starts a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, TimeoutExpired
from typing import IO, Final
from weakref import WeakSet

__all__ = [
    "DEVNULL",
    "PIPE",
    "TimeoutExpired",
    "child_environment",
    "kill_children",
    "python_command",
    "start_child",
]

_SWITCHES: Final = frozenset(
    {
        "PYTHONCOERCECLOCALE",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONFAULTHANDLER",
        "PYTHONHASHSEED",
        "PYTHONIOENCODING",
        "PYTHONMALLOC",
        "PYTHONNOUSERSITE",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
    }
)
"""Settings of the interpreter that name no file and no module."""
_FOLDERS: Final = frozenset({"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE"})
"""Settings that name one folder with code in it; a relative one would lie below the current folder."""
_started: Final[WeakSet[subprocess.Popen[bytes]]] = WeakSet()


def start_child(
    module: str,
    *arguments: str,
    stderr: int | IO[bytes] | None = None,
    cwd: str | None = None,
    new_session: bool = False,
    more: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Run a module of this package in a process of its own, with pipes to its stdin and stdout; OSError if it cannot.

    `more` are further environment variables; with `new_session` Ctrl-C at the terminal does not reach it.
    """
    child = subprocess.Popen(
        [*python_command(), "-m", module, *arguments],
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        cwd=cwd,
        env=child_environment() | dict(more or {}),
        start_new_session=new_session,
    )
    _started.add(child)
    return child


def kill_children() -> None:
    """End every process started from here at once: this one is about to end without waiting for anything."""
    for child in list(_started):
        if child.poll() is None:
            child.kill()


def python_command() -> list[str]:
    """What starts this interpreter without the current folder on its module path."""
    if not sys.executable:
        raise OSError("this Python does not know where its interpreter is")
    return [sys.executable, "-P"]


def child_environment(inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without the variables by which Python would run code from the current folder."""
    given = os.environ if inherited is None else inherited
    kept = {
        name: value for name, value in given.items() if not name.startswith("PYTHON") or _is_safe(name, value)
    }
    if path := _module_path(given.get("PYTHONPATH", "")):
        kept["PYTHONPATH"] = path
    return kept


def _is_safe(name: str, value: str) -> bool:
    return name in _SWITCHES or (name in _FOLDERS and Path(value).is_absolute())


def _module_path(value: str) -> str:
    """Of PYTHONPATH what does not depend on the current folder, and the folder this package itself came from.

    Whole PYTHONPATHs are the way modules are installed on some machines, so they are not dropped altogether. An empty
    entry, as in `PYTHONPATH=$PYTHONPATH:/opt/lib`, means the current folder.
    """
    here, own = Path.cwd(), Path(__file__).parents[2]
    kept = []
    for entry in value.split(os.pathsep):
        folder = here / entry
        elsewhere = Path(entry).is_absolute() and folder.resolve() != here.resolve()
        if value and (elsewhere or folder.resolve() == own.resolve()):
            kept.append(str(folder))
    return os.pathsep.join(kept)
