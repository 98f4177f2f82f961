"""Starts every child process of this package, in a way that is safe whatever the current folder.

The current folder may be the one being indexed, so nothing in it may run: `python -m` would put it first on the module
path, `-P` keeps it off, and variables that would bring it back are dropped from the environment. A test checks that no
other module starts a process.
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
"""Settings of the interpreter that name neither a file nor a module."""
_FOLDERS: Final = frozenset({"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE"})
"""Settings that name a folder with code in it; a relative one would be below the current folder."""
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
    """Kill every process started here: this one is about to exit without waiting for anything."""
    for child in list(_started):
        if child.poll() is None:
            child.kill()


def python_command() -> list[str]:
    """The command that starts this interpreter without the current folder on its module path."""
    if not sys.executable:
        raise OSError("this Python does not know where its interpreter is")
    return [sys.executable, "-P"]


def child_environment(inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without variables that would make Python run code from the current folder."""
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
    """The entries of PYTHONPATH that do not depend on the current folder, and the folder of this package itself.

    It is not dropped altogether, since some machines install modules by it. An empty entry, as in
    `PYTHONPATH=$PYTHONPATH:/opt/lib`, means the current folder.
    """
    here, own = Path.cwd(), Path(__file__).parents[2]
    kept = []
    for entry in value.split(os.pathsep):
        folder = here / entry
        elsewhere = Path(entry).is_absolute() and folder.resolve() != here.resolve()
        if value and (elsewhere or folder.resolve() == own.resolve()):
            kept.append(str(folder))
    return os.pathsep.join(kept)
