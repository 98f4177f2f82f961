"""The work of Ray's workers: tables with a row for each batch of files.

number  which batch
jobs    in: the files, a pickled list of Jobs
done    out: a pickled Delivery; empty when the batch was given up
error   out: why the whole run cannot go on; empty when it can
model   out: whether that is the model's fault
"""

from __future__ import annotations

import pickle
import socket
import traceback
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import ray

from outcrop.cluster.deliver import add_vectors, deliver, open_once
from outcrop.cluster.order import Delivery, Embedding, Order
from outcrop.errors import EmbedError


def prepare_rows(table: Any, *, order: Any, attempts: Any, turn: str, embed: bool) -> Any:
    """Files become deliveries, with vectors where `embed` says so. `order` refers to an Order without jobs."""
    settings: Order = ray.get(order)
    embedding = settings.embedding if embed else None

    def work(packed: bytes) -> Delivery:
        delivery = deliver(pickle.loads(packed), settings.recipe)  # noqa: S301  see order.py
        return delivery if embedding is None else add_vectors(delivery, open_once(embedding, "cpu"))

    return _each(table, "jobs", f"prepare {turn}", attempts, work)


class EmbedRows:
    """Deliveries get their vectors, on a GPU that is this actor's alone."""

    def __init__(self, order: Any, attempts: Any, turn: str) -> None:
        self._embedding: Embedding = ray.get(order).embedding
        self._attempts = attempts
        self._stage = f"embed {turn}"

    def __call__(self, table: Any) -> Any:
        """The same rows with vectors."""
        return _each(table, "done", self._stage, self._attempts, self._work)

    def _work(self, packed: bytes) -> Delivery:
        return add_vectors(pickle.loads(packed), open_once(self._embedding, "cuda"))  # noqa: S301


def _each(table: Any, column: str, stage: str, attempts: Any, work: Callable[[bytes], Delivery]) -> Any:
    """Do the work of every row. Raises nothing, since Ray would drop the batch."""
    rows = [_worked(row, row[column], stage, attempts, work) for row in table.to_pylist()]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _worked(
    row: dict[str, Any], packed: bytes, stage: str, attempts: Any, work: Callable[[bytes], Delivery]
) -> dict[str, Any]:
    if row.get("error"):
        return row
    after: dict[str, Any] = {"number": row["number"], "done": b"", "error": "", "model": False}
    if not packed or not ray.get(attempts.may_begin.remote(stage, row["number"])):
        return after
    try:
        after["done"] = pickle.dumps(work(packed), protocol=5)
    except EmbedError as error:
        after |= {"error": _told(str(error)), "model": True}
    except Exception:  # noqa: BLE001  the outermost handler of a worker
        after["error"] = _told(traceback.format_exc())
    return after


def _told(problem: str) -> str:
    """A problem with its machine. File names may hold lone surrogates, which Arrow does not take."""
    return f"on the machine {socket.gethostname()}: {problem}".encode("utf-8", "replace").decode()


_SCHEMA = pa.schema(
    [("number", pa.int64()), ("done", pa.large_binary()), ("error", pa.large_string()), ("model", pa.bool_())]
)
