"""The sessions that clients have open over HTTP, and which one is closed when there are too many.

The SDK refuses the next client while its table is full, and a session without requests stays in it for half an hour:
a thousand calls of `initialize` would lock every agent out. Here the one that was silent for longest makes room.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_SESSIONS: Final = 1_000
"""Sessions kept open, each with a task (not measured): far more than the agents at work at once."""


class Sessions:
    """The open sessions, least recently used first. Used by the event loop's thread only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._unused: OrderedDict[str, None] = OrderedDict()
        self._used: OrderedDict[str, None] = OrderedDict()
        self._busy: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._unused) + len(self._used) + len(self._busy)

    def open(self, session: str) -> None:
        """A client opened it and has asked for nothing yet."""
        self._unused[session] = None

    def enter(self, session: str) -> None:
        """A request of an open session begins; until it ends the session is not idle."""
        if session in self._unused or session in self._used or session in self._busy:
            self._unused.pop(session, None)
            self._used.pop(session, None)
            self._busy[session] = self._busy.get(session, 0) + 1

    def leave(self, session: str) -> None:
        """A request of an open session ended."""
        if session in self._busy:
            self._busy[session] -= 1
            if not self._busy[session]:
                del self._busy[session]
                self._used[session] = None

    def forget(self, session: str) -> None:
        """It is closed."""
        for known in (self._unused, self._used, self._busy):
            known.pop(session, None)

    def take_surplus(self) -> str | None:
        """A session to be closed, if there are too many: the longest idle, and first of all one of those that were
        opened and never used, so that a flood of them does not drive out agents that work. One with a request under
        way stays."""
        if len(self) <= self._most:
            return None
        for idle in (self._unused, self._used):
            if idle:
                return idle.popitem(last=False)[0]
        return None
