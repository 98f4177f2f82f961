"""Background work: embeds pending texts and picks up edited notes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from outcrop.engine import Engine
from outcrop.errors import Cancelled, OutcropError
from outcrop.notes import KnowledgeBase

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
"""How often to look for pending texts; a write in this process wakes the thread at once (not measured)."""
REFRESH_S: Final = 3.0
"""How often the notes are compared with their files (not measured): soon enough for somebody who switches windows."""
LONGEST_PAUSE_S: Final = 60.0
"""The longest pause after repeated failures of a model (not measured)."""
STOP_S: Final = 10.0
"""How long a stop waits for the batch being embedded; what is left stays pending in the database (not measured)."""


class Background:
    """One thread that keeps an index fresh until stopped; on a read-only server it only warms the index up."""

    def __init__(self, engine: Engine, kb: KnowledgeBase, *, read_only: bool = False) -> None:
        self._engine = engine
        self._read_only = read_only
        self._kb = kb
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outcrop-background", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def nudge(self) -> None:
        """Something was written: look at once."""
        self._wake.set()

    def stop(self) -> None:
        """Stop at the next safe point."""
        self._stop.set()
        self._wake.set()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        embed, refresh = _Patient("embedding", self._embed), _Patient("refreshing the notes", self._kb.refresh)
        _Patient("warming up", self._engine.warm).attempt()
        next_refresh = 0.0
        while not self._read_only and not self._stop.is_set():
            self._wake.clear()
            embed.attempt()
            if time.monotonic() >= next_refresh:
                refresh.attempt()
                next_refresh = time.monotonic() + REFRESH_S
            self._wake.wait(LOOK_S)

    def _embed(self) -> None:
        if self._engine.pending():
            self._engine.embed_pending(stopped=self._stop.is_set)


class _Patient:
    """Repeats some work; after each failure it logs the reason and waits longer."""

    def __init__(self, name: str, work: Callable[[], object]) -> None:
        self._name = name
        self._work = work
        self._pause = 0.0
        self._not_before = 0.0

    def attempt(self) -> None:
        """Do the work once, unless it is still waiting after a failure."""
        if time.monotonic() < self._not_before:
            return
        try:
            self._work()
        except Cancelled:
            return
        except OutcropError as error:
            self._fail(str(error))
        except Exception:  # the outermost handler of this thread: a server goes on without it
            log.exception("unexpected error in the background", extra={"work": self._name})
            self._fail("an unexpected error")
        else:
            self._pause = 0.0

    def _fail(self, reason: str) -> None:
        self._pause = min(LONGEST_PAUSE_S, self._pause * 2 or 1.0)
        self._not_before = time.monotonic() + self._pause
        log.warning("%s failed, next try in %.0f s: %s", self._name, self._pause, reason)
