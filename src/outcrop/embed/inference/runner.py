"""The parent's side of the process that runs transformers: one for all models of this process, shared by all threads.

A request is a list of items (a text each, or a query and a text) for one model. A single thread takes requests from two
lanes, urgent before patient, and gives the worker a slice at a time: items of all requests that wait for the same
model, in turns, as many as fit into a short time. So callers share the worker, a query never waits for more than one
slice of an ingest, and a request whose caller has given up costs no further slice.

A worker that dies or does not answer is replaced, and the requests it was running are sent once more, each alone: if
one of them is what kills it, the others survive.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import numpy as np

from outcrop.embed.inference.slices import Item, Lane, Request, Slice
from outcrop.embed.transformer import ModelSpec
from outcrop.errors import EmbedError
from outcrop.records import Matrix
from outcrop.system.dataclass import dataclass
from outcrop.workers.process import PIPE, Child, ChildLost

_log = logging.getLogger(__name__)

_URGENT_SLICE_S: Final = 0.02
"""Short, since results are handed out at the end of a slice."""
_PATIENT_SLICE_S: Final = 0.1
"""How long a query may have to wait for an ingest, plus one text. Longer slices are a little faster: at the end of
each, cores are idle until the last text is done."""
_URGENT_IN_A_ROW: Final = 20
"""After this many urgent slices a patient one gets its turn: a busy server's ingest is slow but ends."""
_TRIES: Final = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the worker may take, in seconds, before it counts as stuck and is killed."""

    open_s: float = 120.0  # a large model from a slow disk
    slice_s: float = 60.0  # a text of 512 tokens takes a tenth of a second, on a slow and busy machine several
    ping_every_s: float = 30.0  # while there is nothing to do
    ping_answer_s: float = 10.0


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The worker process now: no pid while none is running; memory as of its last answer."""

    pid: int | None
    memory_bytes: int
    restarts: int
    models: int
    waiting: int


class Runner:
    """Runs models in one worker process, which starts with the first that is held and ends with the last."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._users: Counter[ModelSpec] = Counter()
        self._begin_afresh()
        _runners.add(self)

    def _begin_afresh(self) -> None:
        self._changed = threading.Condition()
        self._let_go: deque[ModelSpec] = deque()
        self._urgent = Lane(_URGENT_SLICE_S)
        self._patient = Lane(_PATIENT_SLICE_S)
        self._urgent_in_a_row = 0
        self._thread: threading.Thread | None = None
        # Only the thread changes what follows.
        self._worker: Child | None = None
        self._opened: dict[ModelSpec, int] = {}
        self._widths: dict[ModelSpec, int] = {}
        self._broken: dict[ModelSpec, str] = {}
        self._numbers = 0
        self._memory_bytes = 0
        self._starts = 0

    # ------------------------------------------------------------------ for callers

    def hold(self, spec: ModelSpec) -> None:
        """Keep a model loaded from now on; loading begins in the background. `release` as often as this is called."""
        with self._changed:
            self._users[spec] += 1
            self._wake_thread()

    def release(self, spec: ModelSpec) -> None:
        """Give up a model; with its last user its requests end, and with the last model the process."""
        with self._changed:
            self._drop_user(spec)
            thread = self._thread
            if self._users or thread is None:
                self._changed.notify()
                return
            if self._worker is not None:
                self._worker.kill()
            self._changed.notify()
        thread.join()

    def release_later(self, spec: ModelSpec) -> None:
        """The same from a finalizer, which may run anywhere, even where this thread holds the lock."""
        self._let_go.append(spec)

    def run(
        self, spec: ModelSpec, items: Sequence[Item], *, urgent: bool = False, seconds: float | None = None
    ) -> Matrix:
        """One row per item, from a held model; with `seconds`, rows of the first items, as many as are done by then.
        Raises EmbedError when the model cannot be loaded, fails, or is closed meanwhile."""
        request = Request(spec, items)
        with self._changed:
            if spec not in self._users:
                raise EmbedError(_closed(spec))
            (self._urgent if urgent else self._patient).append(request)
            self._wake_thread()
        try:
            in_time = request.finished.wait(seconds)
        finally:
            request.given_up = True  # also when a signal ends the wait
        error = request.error if in_time else self._broken.get(spec, "")
        if error:
            raise EmbedError(error)
        rows = request.rows[:]
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    def width(self, spec: ModelSpec) -> int:
        """Wait until a model is loaded and has run once; return the length of its rows."""
        self.run(spec, [], urgent=True)
        return self._widths[spec]

    def state(self) -> WorkerState:
        """The state of the worker process."""
        with self._changed:
            worker = self._worker
            pid = worker.pid if worker is not None and worker.is_alive() else None
            waiting = len([*self._urgent, *self._patient])
            return WorkerState(pid, self._memory_bytes, max(0, self._starts - 1), len(self._opened), waiting)

    def close(self) -> None:
        """End the process and every request; models may be held again afterwards."""
        for spec in list(self._users.elements()):
            self.release(spec)

    # ------------------------------------------------------------------ the thread: what to do next

    def _wake_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="outcrop-runner", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _serve(self) -> None:
        try:
            while (work := self._next_work()) is not None:
                work()
        finally:  # also after an unforeseen error: nobody may wait for a thread that is gone
            with self._changed:
                if self._thread is threading.current_thread():
                    for request in (*self._urgent, *self._patient):
                        request.fail(_closed(request.spec))
                    self._end()

    def _next_work(self) -> Callable[[], None] | None:
        """Wait for the next thing to do; None when nobody holds a model any more."""
        with self._changed:
            while True:
                while self._let_go:
                    self._drop_user(self._let_go.popleft())
                if not self._users:
                    self._end()
                    return None
                work = self._choose()
                if work is not None:
                    return work
                if not self._changed.wait(self._limits.ping_every_s):
                    return partial(self._ask_idle, {"op": "ping"})

    def _choose(self) -> Callable[[], None] | None:
        if self._urgent_in_a_row < _URGENT_IN_A_ROW and (piece := self._urgent.cut()) is not None:
            self._urgent_in_a_row += 1
            return partial(self._run_slice, self._urgent, piece)
        self._urgent_in_a_row = 0
        # Before patient requests: a model whose callers could not wait must be ready for the next urgent one.
        for spec in self._users:
            if spec not in self._opened and spec not in self._broken:
                return partial(self._warm, spec)
        for spec in self._opened:
            if spec not in self._users:
                return partial(self._ask_idle, {"op": "drop", "model": self._opened.pop(spec)})
        for lane in (self._patient, self._urgent):
            if (piece := lane.cut()) is not None:
                return partial(self._run_slice, lane, piece)
        return None

    # ------------------------------------------------------------------ the thread: doing it

    def _run_slice(self, lane: Lane, piece: Slice) -> None:
        try:
            worker = self._open(piece.spec)
            answer: dict[str, Any] = {"width": 0}
            payload = b""
            if piece.items:
                items = [item for _, item in piece.items]
                header = {
                    "op": "run",
                    "model": self._opened[piece.spec],
                    "items": items,
                    "seconds": piece.seconds,
                }
                answer, payload = worker.ask(header, within_s=self._limits.slice_s)
                self._memory_bytes = answer["memory"]
                lane.learn(piece, answer["done"])
            piece.settle(answer, payload)
        except EmbedError as error:
            for request in piece.requests:
                request.fail(str(error))
        except ChildLost as lost:
            self._lose_worker(lost)
            for request in piece.requests:
                request.failures += 1
                if request.failures >= _TRIES:
                    request.fail(self._advise(piece.spec, f"{lost}, twice in a row"))

    def _open(self, spec: ModelSpec) -> Child:
        """The worker with the model loaded; EmbedError when it cannot be, ChildLost when the worker died of it."""
        if self._worker is not None and not self._worker.is_alive():
            self._lose_worker(self._worker.lost())
        worker = self._worker or self._start()
        if spec not in self._opened:
            self._numbers += 1
            start = time.monotonic()
            header = {"op": "open", "model": self._numbers, "spec": asdict(spec)}
            answer, _ = worker.ask(header, within_s=self._limits.open_s)
            self._memory_bytes = answer["memory"]
            if "error" in answer:
                self._broken[spec] = answer["error"]
                raise EmbedError(answer["error"])
            self._opened[spec] = self._numbers
            self._widths[spec] = answer["width"]
            self._broken.pop(spec, None)
            seconds = round(time.monotonic() - start, 3)
            _log.info("model loaded", extra={"folder": spec.folder, "seconds": seconds, "worker": worker.pid})
        return worker

    def _start(self) -> Child:
        try:
            worker = Child("outcrop.embed.inference.worker", stderr=PIPE)
        except OSError as error:
            raise ChildLost(f"could not start ({error})") from error
        with self._changed:
            self._worker = worker
            self._starts += 1
            if not self._users:  # closed before there was anything to kill
                worker.kill()
        return worker

    def _warm(self, spec: ModelSpec) -> None:
        try:
            self._open(spec)
        except EmbedError:
            pass  # remembered as broken; a request for it tries again and says so
        except ChildLost as lost:
            self._lose_worker(lost)
            self._broken[spec] = ""  # not tried again until someone asks; the model may well be in order

    def _ask_idle(self, header: dict[str, Any]) -> None:
        if self._worker is None:
            return
        try:
            self._memory_bytes = self._worker.ask(header, within_s=self._limits.ping_answer_s)[0]["memory"]
        except ChildLost as lost:
            self._lose_worker(lost)  # the models that are held are loaded again at once

    def _lose_worker(self, lost: ChildLost) -> None:
        with self._changed:
            self._worker = None
            self._opened.clear()
            in_use = bool(self._users)
        if in_use:
            _log.warning("the process that runs models was lost", extra={"reason": str(lost)})

    def _advise(self, spec: ModelSpec, what: str) -> str:
        held = f" (it held {self._memory_bytes // 1024**2} MiB)" if self._memory_bytes else ""
        return (
            f"the process that runs the model in {spec.folder} {what}: the machine may lack memory{held}. Free some "
            "or choose another model, then try again"
        )

    # ------------------------------------------------------------------ ends

    def _drop_user(self, spec: ModelSpec) -> None:
        if self._users[spec] > 1:
            self._users[spec] -= 1
            return
        self._users.pop(spec, None)
        self._broken.pop(spec, None)
        for request in (*self._urgent, *self._patient):
            if request.spec == spec:
                request.fail(_closed(spec))

    def _end(self) -> None:
        """Under the lock: end the process and, after this, the thread; the next `hold` starts new ones."""
        worker, self._worker, self._thread = self._worker, None, None
        self._opened.clear()
        self._broken.clear()
        self._memory_bytes = 0
        if worker is not None:
            worker.stop()

    def _after_fork(self) -> None:
        """In a forked child the thread is gone and the pipes are the parent's; the first request starts its own."""
        self._begin_afresh()


def _closed(spec: ModelSpec) -> str:
    return f"the model in {spec.folder} was closed: open it again"


_runners: weakref.WeakSet[Runner] = weakref.WeakSet()
_shared: list[Runner] = []
_shared_lock = threading.Lock()


def shared_runner() -> Runner:
    """The runner of this process."""
    with _shared_lock:
        if not _shared:
            _shared.append(Runner())
        return _shared[0]


class HeldModel:
    """A model held in the worker process. Starts to load when it is made; released by `close` or when garbage
    collected. Use after `close` loads it again."""

    def __init__(self, spec: ModelSpec, runner: Runner | None = None) -> None:
        self._spec = spec
        self._runner = runner or shared_runner()
        self._lock = threading.Lock()
        self._letting_go: weakref.finalize[[ModelSpec], HeldModel] | None = None
        self._hold()

    def run(self, items: Sequence[Item], *, urgent: bool = False, seconds: float | None = None) -> Matrix:
        """One row per item; with `seconds`, rows of the first items, as many as are done by then."""
        self._hold()
        return self._runner.run(self._spec, items, urgent=urgent, seconds=seconds)

    def width(self) -> int:
        """Wait until it is loaded; return the length of its rows."""
        self._hold()
        return self._runner.width(self._spec)

    def close(self) -> None:
        """Release it; requests of other threads end with an error."""
        with self._lock:
            held, self._letting_go = self._letting_go, None
        if held is not None and held.detach():
            self._runner.release(self._spec)

    def _hold(self) -> None:
        with self._lock:
            if self._letting_go is None:
                self._runner.hold(self._spec)
                self._letting_go = weakref.finalize(self, self._runner.release_later, self._spec)
                self._letting_go.atexit = False  # the runner ends by itself


def _close_all() -> None:
    for runner in list(_runners):
        runner.close()


def _after_fork() -> None:
    global _shared_lock  # noqa: PLW0603  another thread may have held it
    _shared_lock = threading.Lock()
    for runner in list(_runners):
        runner._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_close_all)
