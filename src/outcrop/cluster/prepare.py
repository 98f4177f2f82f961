"""The parent's side: files go to a driver process, outcomes come back, and nothing of Ray is in this process."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Final

from outcrop.cluster.order import Delivery, Embedding, Order
from outcrop.config import Config
from outcrop.errors import ClusterError, EmbedError
from outcrop.read.parts import Parts, lasting
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import need_extra
from outcrop.workers.frames import Frame
from outcrop.workers.process import PIPE, Child, ChildLost
from outcrop.write.prepare import Job, Outcome, Prepared, Recipe, Unreadable

POLL_S: Final = 0.2
"""How often a run that waits for workers checks whether it was cancelled."""
STOP_S: Final = 15.0
"""How long the driver may take to leave, which includes shutting Ray down (2 s here), before it is killed."""
TOLD_CHARACTERS: Final = 500
"""How much of a dead driver's stderr goes into the message."""


@dataclass(frozen=True, slots=True)
class RayPrepare:
    """Prepares files on the Ray cluster at `address` (as `write.prepare.Prepare`); LOCAL starts one on this machine.
    Every machine reads the files itself, so it must have the folder at the same path, and Outcrop installed. Vectors
    are made there too if `embedding` names a model."""

    address: str
    embedding: Embedding | None

    def __call__(
        self, jobs: Sequence[Job], recipe: Recipe, check_stopped: Callable[[], None]
    ) -> Generator[Outcome, None, None]:
        """One outcome per job, as they come. ClusterError when the cluster cannot be reached or fails."""
        if not jobs:
            return
        if not all(map(importlib.util.find_spec, ("ray", "pyarrow", "pandas"))):
            raise need_extra(ClusterError, "--ray, on every machine,", "ray")
        order = Order(self.address, recipe, self.embedding, tuple(jobs))
        with contextlib.closing(_frames(order, check_stopped)) as frames:
            for header, payload in frames:
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


def open_cluster(config: Config, parts: Parts, address: str, *, defer_embedding: bool) -> RayPrepare:
    """The Ray cluster at an address; it embeds too, unless that is deferred or the model cannot be opened by name."""
    if defer_embedding or not parts.name:
        return RayPrepare(address, None)
    remote = config.embed_url, config.embed_key, config.embed_query_prefix
    return RayPrepare(address, Embedding(lasting(parts.name), *remote, parts.embedder.model))


_LOST = (
    "the processes of the cluster that read it died, whenever it was tried: it is damaged or needs too much memory; "
    "split it, or exclude it in .outcropignore"
)


def outcomes_of(delivery: Delivery) -> Iterator[Outcome]:
    """The outcomes of a delivery, with their vectors; a file that only that machine lacks says so."""
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


def _frames(order: Order, check_stopped: Callable[[], None]) -> Generator[Frame, None, None]:
    """The frames of a driver that is given this order; ClusterError when it dies. `check_stopped` is called while
    nothing comes and may raise. Closing the generator ends the driver, and with it the work in the cluster."""
    # Ray lets its workers import from the driver's current folder, so it gets an empty one: the caller's may well be
    # the folder that is being indexed.
    with (
        tempfile.TemporaryDirectory(prefix="outcrop-ray-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(1, "outcrop-ray") as reading,
        _start_driver(folder) as driver,
    ):
        try:
            driver.send({}, pickle.dumps(order, protocol=5))
            coming = reading.submit(driver.receive)
            while True:
                while not wait((coming,), POLL_S).done:
                    check_stopped()
                frame, coming = coming.result(), reading.submit(driver.receive)  # one is read ahead
                yield frame
        except ChildLost as lost:
            raise ClusterError(
                f"the process that talks to Ray ended ({lost.how}); what was committed is kept, run it again. It said: "
                f"{lost.said[-TOLD_CHARACTERS:]}"
            ) from lost


def _start_driver(folder: str) -> Child:
    try:
        return Child(
            "outcrop.cluster.driver",
            stderr=PIPE,
            stop_s=STOP_S,
            cwd=folder,
            new_session=True,  # Ctrl-C is for this process, which then closes the driver's stdin
            more={"RAY_USAGE_STATS_ENABLED": "0"},  # nothing phones home
        )
    except OSError as error:
        raise ClusterError(f"the process that talks to Ray could not start ({error}); run it again") from error
