"""Regular expressions that are compiled when they are first used.

Compiling takes .1 ms for a plain one and 2 ms for one with the letters of many scripts; a command that loads a module
for one of its functions needs few of the module's patterns.
"""

from __future__ import annotations

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` makes of this, later. For patterns that few runs need: it takes .1 µs longer to use."""
    return cast("re.Pattern[str]", _Uncompiled(text, flags))


class _Uncompiled:
    """Stands where a compiled pattern will; its methods are kept as they are asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)  # `re` keeps what it compiled
        self.__dict__[name] = found
        return found
