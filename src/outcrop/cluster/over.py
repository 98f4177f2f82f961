"""The parent's side: files go to a driver process, outcomes come back, and nothing of Ray is in this process."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import BinaryIO, Final

from outcrop.cluster.order import Delivery, Embedding, Frame, Order
from outcrop.config import Config
from outcrop.errors import ClusterError, EmbedError
from outcrop.read.parts import Parts, lasting
from outcrop.records import Model
from outcrop.system.machine import install_command
from outcrop.workers.children import start_child
from outcrop.workers.frames import read_frame, write_frame
from outcrop.write.prepare import Job, Outcome, Prepared, Recipe, Unreadable

POLL_S: Final = 0.2
"""How often a run that waits for workers looks whether it was stopped."""
READ_AHEAD: Final = 2
"""Deliveries that may wait here; the pipe, and Ray's own limits, hold back the rest."""
STOP_S: Final = 15.0
"""How long the driver may take to leave, which includes shutting Ray down (2 s here), before it is killed."""
TOLD_CHARACTERS: Final = 500
"""How much is told of the last words of a driver that died."""


@dataclass(frozen=True, slots=True)
class RayPrepare:
    """Prepares files on the Ray cluster at `address` (see `preparing.Prepare`); LOCAL starts one on this machine.

    Every machine reads the files itself, so it must have the folder at the same path, and Outcrop installed. Vectors
    are made there too, where `embedding` says with which model.
    """

    address: str
    embedding: Embedding | None

    def __call__(
        self, jobs: Sequence[Job], recipe: Recipe, check_stopped: Callable[[], None]
    ) -> Generator[Outcome, None, None]:
        """One outcome a job, as they come. ClusterError when the cluster is not to be had or fails."""
        if not jobs:
            return
        _require_ray()
        order = Order(self.address, recipe, self.embedding, tuple(jobs))
        with _Driver(order) as driver:
            for header, payload in driver.frames(check_stopped):
                if "delivery" in header:
                    yield from outcomes_of(pickle.loads(payload))  # noqa: S301  see order.py
                elif "lost" in header:
                    told = f" ({header['problem']})" if header["problem"] else ""
                    for position in header["lost"]:
                        yield Unreadable(jobs[position].file, _LOST + told)
                elif "error" in header:
                    raise (EmbedError if header["model"] else ClusterError)(header["error"])
                else:
                    return
            raise ClusterError(driver.last_words())


def open_cluster(config: Config, parts: Parts, address: str, *, defer_embedding: bool) -> RayPrepare:
    """The Ray cluster at an address; it embeds too, unless that is put off or the model has no name to open it by."""
    if defer_embedding or not parts.name:
        return RayPrepare(address, None)
    return RayPrepare(address, embedding_of(config, lasting(parts.name), parts.embedder.model))


def embedding_of(config: Config, name: str, model: Model) -> Embedding:
    """The model that is opened by a name, as a worker is told of it."""
    return Embedding(name, config.embed_url, config.embed_key, config.embed_query_prefix, model)


_LOST = (
    "the processes of the cluster that read it died, whenever it was tried: it is damaged or needs too much memory; "
    "split it, or exclude it in .outcropignore"
)


def outcomes_of(delivery: Delivery) -> Iterator[Outcome]:
    """What a delivery means here: its vectors with its documents, and what a machine misses that this one has."""
    vectors = dict(zip(delivery.keys, delivery.matrix, strict=True))
    for outcome in delivery.outcomes:
        match outcome:
            case Prepared():
                yield replace(outcome, vectors=vectors)
            case Unreadable(file) if file.uri in delivery.unseen and os.path.lexists(file.uri):
                yield Unreadable(
                    file,
                    f"the machine {delivery.host} of the cluster does not have it: the folder must be at the same path "
                    "on every machine, as on a shared drive",
                )
            case _:
                yield outcome


def _require_ray() -> None:
    if not all(map(importlib.util.find_spec, ("ray", "pyarrow", "pandas"))):
        raise ClusterError(f"--ray needs one more package: run {install_command('ray')} on every machine")


class _Driver:
    """The driver process: started with an order, gone at the end of the block, however that comes."""

    def __init__(self, order: Order) -> None:
        # Empty, because Ray lets its workers import from the driver's current folder; that of the caller may well be
        # one that is being indexed.
        self._folder = tempfile.TemporaryDirectory(prefix="outcrop-ray-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "log"
        with self._log.open("wb") as log:
            self._process = start_child(
                "outcrop.cluster.driver",
                stderr=log,
                cwd=self._folder.name,
                new_session=True,  # Ctrl-C is for this process, which then closes the driver's stdin
                more={"RAY_USAGE_STATS_ENABLED": "0"},  # nothing phones home
            )
        self._received: Queue[Frame | None] = Queue(READ_AHEAD)
        threading.Thread(target=self._receive, daemon=True).start()
        with contextlib.suppress(OSError):  # it died at once; `frames` ends then
            write_frame(self._pipe_in(), {}, pickle.dumps(order, protocol=5))

    def __enter__(self) -> _Driver:
        return self

    def __exit__(self, *_: object) -> None:
        """Let it leave by itself, which ends the work in the cluster; kill it when it does not."""
        with contextlib.suppress(OSError):
            self._pipe_in().close()
        killing = threading.Timer(STOP_S, self._process.kill)
        killing.start()
        while self._received.get() is not None:  # it may be about to send; the end comes when it is gone
            pass
        self._process.wait()
        killing.cancel()
        self._pipe_out().close()
        self._folder.cleanup()

    def frames(self, check_stopped: Callable[[], None]) -> Iterator[Frame]:
        """What the driver sends, until it is gone; `check_stopped` may raise while there is nothing."""
        while True:
            try:
                frame = self._received.get(timeout=POLL_S)
            except Empty:
                check_stopped()
                continue
            if frame is None:
                self._received.put(None)  # `__exit__` waits for it too
                return
            yield frame

    def last_words(self) -> str:
        """What is to be said of a driver that is gone and should not be."""
        code = self._process.wait()
        how = f"exit status {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-code).name
        said = self._log.read_text("utf-8", "replace").strip()[-TOLD_CHARACTERS:]
        return f"the process that talks to Ray ended ({how}); what was committed is kept, run it again. It said: {said}"

    def _receive(self) -> None:
        try:
            while True:
                self._received.put(read_frame(self._pipe_out()))
        except (EOFError, OSError):
            self._received.put(None)

    def _pipe_in(self) -> BinaryIO:
        assert self._process.stdin is not None  # noqa: S101  Popen was asked for pipes
        return self._process.stdin  # type: ignore[return-value]

    def _pipe_out(self) -> BinaryIO:
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdout  # type: ignore[return-value]
