"""An order becomes a Ray Dataset: batches of files go out, outcomes come back as frames.

This runs in the driver, or in an actor where the driver is not on a machine of the cluster.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import ray
import ray.data

from outcrop.cluster.attempts import Attempts
from outcrop.cluster.order import Order, Unable
from outcrop.cluster.stages import EmbedRows, prepare_rows
from outcrop.embed.models import runs_on_gpu
from outcrop.workers.frames import Frame
from outcrop.write.prepare import Batch, cut_batches


class Filling:
    """An order being filled: every batch is sent out; of those that fail, each file once more by itself."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._answered = False
        resources = ray.cluster_resources()
        self._cores = int(resources.get("CPU", 1)) or 1
        name = order.embedding.name if order.embedding else ""
        self._gpus = int(resources.get("GPU", 0)) if runs_on_gpu(name) else 0
        # By reference: the settings hold a key, which must not show where Ray shows what a stage is called with.
        self._settings = ray.put(replace(order, jobs=()))
        counting = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
        self._attempts = counting(Attempts).remote()
        self._problems = _Problems()
        self._frames = self._fill()

    def next(self) -> Frame | None:
        """The next frame for whoever ordered; None after the last."""
        return next(self._frames, None)

    def _fill(self) -> Iterator[Frame]:
        try:
            left = dict(enumerate(cut_batches(self._order.jobs, self._cores)))
            yield from self._send(left, "first")
            alone = [[pair] for batch in left.values() for pair in batch]
            left = dict(enumerate(alone))
            yield from self._send(left, "again")
        except Unable as error:
            yield {"error": str(error), "model": error.model}, b""
            return
        if left:
            lost = [position for batch in left.values() for position, _ in batch]
            yield {"lost": lost, "problem": self._problems.last}, b""
        yield {"done": True}, b""

    def _send(self, left: dict[int, Batch], turn: str) -> Iterator[Frame]:
        """Yield what comes back of some batches; those that never do stay in `left`."""
        if not left:
            return
        for row in self._rows(list(left.values()), turn):
            self._answered = True
            if row["error"]:
                raise Unable(row["error"], model=row["model"])
            # Ray may do a batch twice when a machine goes away; the first result counts.
            if row["done"] and left.pop(row["number"], None) is not None:
                yield {"delivery": True}, row["done"]
        if not self._answered:
            why = self._problems.last or "Ray does not say why"
            raise Unable(
                f"no worker could do anything ({why}): install the same Python, Ray and Outcrop on every machine"
            )

    def _rows(self, batches: Sequence[Batch], turn: str) -> Iterator[dict[str, Any]]:
        """One row per batch, as Ray's workers finish them; Ray's own limits bound the memory."""
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.max_errored_blocks = -1  # any number may fail; `_send` notices what is missing
        items = [
            {"number": number, "jobs": pickle.dumps([job for _, job in batch], protocol=5)}
            for number, batch in enumerate(batches)
        ]
        given = {"order": self._settings, "attempts": self._attempts, "turn": turn}
        data = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
            prepare_rows, batch_size=None, batch_format="pyarrow", fn_kwargs={**given, "embed": not self._gpus}
        )
        if self._gpus:
            data = data.map_batches(
                EmbedRows,
                batch_size=1,
                batch_format="pyarrow",
                fn_constructor_kwargs=given,
                compute=ray.data.ActorPoolStrategy(min_size=1, max_size=self._gpus),
                num_gpus=1,
            )
        for table in data.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from table.to_pylist()


class _Problems(logging.Handler):
    """Remembers the last error Ray logged: the only place where it explains a failed batch."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.last = ""
        logging.getLogger("ray.data").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Remember it."""
        error = record.exc_info[1] if record.exc_info else None
        lines = str(error or record.getMessage()).strip().splitlines()
        self.last = lines[-1] if lines else ""  # the last line of a traceback is its point
