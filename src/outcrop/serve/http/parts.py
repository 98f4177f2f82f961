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
    """One application: its state, metrics, background work, and the threads of its searches."""

    state: State
    metrics: Metrics
    background: Background
    searches: CapacityLimiter
    searchers: Searchers | None = None
    """Processes that search, if the server was started with any."""

    @property
    def writes(self) -> list[Any]:
        """The dependencies of a route that writes: refused on a read-only server."""

        def require_writable() -> None:
            if self.state.read_only:
                raise Refused(403, "this server only reads; start it without --read-only", code="read_only")

        return [Depends(require_writable)]
