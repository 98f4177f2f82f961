"""One call of a tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import Progress
    from outcrop.serve.state import State


@dataclass(frozen=True, slots=True)
class Call:
    """The server's state, whether the client gave up, and where progress goes."""

    state: State
    stopped: Callable[[], bool]
    progress: Callable[[Progress], None]
    wrote: Callable[[], None]
    """Reports that something was written that has no vectors yet."""

    @property
    def engine(self) -> Engine:
        """The one engine."""
        return self.state.engine
