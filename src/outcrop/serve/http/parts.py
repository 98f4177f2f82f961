"""What the routes of one application share beside its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anyio import CapacityLimiter
from fastapi import Depends

from outcrop.serve.background import Background
from outcrop.serve.http.metrics import Metrics
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.searchers import Searchers
from outcrop.serve.state import State


@dataclass(frozen=True, slots=True)
class Shared:
    """One application: its state, what it counts, what runs beside it, and the threads of its searches."""

    state: State
    metrics: Metrics
    background: Background
    searches: CapacityLimiter
    searchers: Searchers | None = None
    """Processes that search, where the server was started with some."""

    @property
    def writes(self) -> list[Any]:
        """The dependencies of a route that changes something: refused where only reading is allowed."""

        def require_writable() -> None:
            if self.state.read_only:
                raise Refused(403, "this server only reads; start it without --read-only", code="read_only")

        return [Depends(require_writable)]
