"""The index of a chat, which may be unreachable when the chat begins and back before it ends."""

from __future__ import annotations

import threading
from typing import Any

from outcrop.config import Config
from outcrop.engine import Engine
from outcrop.records import Context


class ReopenedIndex:
    """Opens an index at the first search; while that fails, tries again at the next."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def context(self, query: str, **options: Any) -> Context:
        """As `Engine.context`; raises what opening the index raises."""
        with self._lock:
            if self._engine is None:
                self._engine = Engine(self.config, create=False)
        return self._engine.context(query, **options)

    def close(self) -> None:
        """Close the index if it was opened."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()
