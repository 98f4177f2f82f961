"""One call of a tool, as the function that answers it sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import Progress
    from outcrop.serve.state import State


@dataclass(frozen=True, slots=True)
class Call:
    """The server's state, checked arguments, whether the client gave up, and where progress goes."""

    state: State
    args: dict[str, Any]
    stopped: Callable[[], bool]
    progress: Callable[[Progress], None]
    wrote: Callable[[], None]
    """Says that something was written that waits for its vectors."""

    @property
    def engine(self) -> Engine:
        """The one engine."""
        return self.state.engine

    def pick(self, *names: str) -> dict[str, Any]:
        """These arguments, those that were given."""
        return {name: self.args[name] for name in names if self.args[name] is not None}
