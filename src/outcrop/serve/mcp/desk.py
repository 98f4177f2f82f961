"""Where tools find the engine: opened by the first call that needs it, so that listing the tools does not wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from outcrop.errors import QueryError
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import Progress
    from outcrop.serve.background import Background
    from outcrop.serve.state import State


@dataclass(frozen=True, slots=True)
class Call:
    """The server's state, whether the client gave up, and where progress goes."""

    state: State
    stopped: Callable[[], bool]
    progress: Callable[[Progress], None]
    wrote: Callable[[], None]
    """Reports that something was written that has no vectors yet."""
    is_placed: bool = False
    """Whether it is known where the client stands. What it asks is then of the project there."""

    @property
    def engine(self) -> Engine:
        """The one engine."""
        return self.state.engine


class Desk:
    """The state of a server, opened once. `beside_client` says that the client started it, so that it stands in the
    same folder. With `background` a thread embeds pending texts and follows edited notes; a read-only server leaves
    that to those that write."""

    def __init__(
        self,
        open_state: Callable[[], State],
        *,
        read_only: bool = False,
        background: bool = False,
        beside_client: bool = False,
    ) -> None:
        self._open = open_state
        self.read_only = read_only
        self.beside_client = beside_client
        self._wants_background = background and not read_only
        self._lock = threading.Lock()
        self._state: State | None = None
        self._background: Background | None = None
        self._closed = False

    def state(self) -> State:
        """The state, opened now if it is not yet. A failure is the caller's; the next call tries again."""
        with self._lock:
            if self._closed:
                raise QueryError("the server is stopping")
            if self._state is None:
                self._state = self._open()
                if self._wants_background:
                    from outcrop.serve.background import Background

                    self._background = Background(self._state.engine, self._state.kb)
                    self._background.start()
            return self._state

    def nudge(self) -> None:
        """Something was written that has no vectors yet."""
        if self._background is not None:
            self._background.nudge()

    def close(self) -> None:
        """Stop the background work at the next safe place and close what `state` opened."""
        with self._lock:
            self._closed = True
            if self._background is not None:
                self._background.stop()
            if self._state is not None:
                self._state.engine.close()
