"""The work of Ray's workers, by the functions of a run without a cluster: tables with a row for each batch of files.

number  which batch
jobs    in: the files, a pickled list of Jobs
done    out: a pickled Delivery; empty when the batch was given up
error   out: why the whole run cannot go on; empty when it can
model   out: whether that is the model's fault
"""

from __future__ import annotations

import os
import pickle
import socket
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import ray

from outcrop.cluster.order import Delivery, Embedding, Order
from outcrop.contracts import Embedder
from outcrop.embed.batches import batch_texts, embed_all
from outcrop.embed.models import open_embedder
from outcrop.errors import EmbedError
from outcrop.write import prepare


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


def deliver(jobs: Sequence[prepare.Job], recipe: prepare.Recipe) -> Delivery:
    """Prepare files, still without vectors."""
    with prepare.rare_collections():
        outcomes = tuple(prepare.prepare_file(job, recipe) for job in jobs)
    failed = (outcome.file.uri for outcome in outcomes if isinstance(outcome, prepare.Unreadable))
    unseen = frozenset(uri for uri in failed if not os.path.lexists(uri))
    return Delivery(socket.gethostname(), outcomes, unseen)


def add_vectors(delivery: Delivery, embedder: Embedder) -> Delivery:
    """Add the vectors of all its documents, even those the index may have already: only the writer knows which."""
    writes = [outcome.write for outcome in delivery.outcomes if isinstance(outcome, prepare.Prepared)]
    texts, paths = prepare.texts_to_embed(writes, prepare.vector_keys(writes))
    at_once = batch_texts(embedder)
    vectors = embed_all(embedder.embed_documents, texts, at_once)
    vectors |= embed_all(embedder.embed_paths, paths, at_once)
    if not vectors:
        return delivery
    return replace(delivery, keys=tuple(vectors), matrix=np.stack(list(vectors.values())))


@lru_cache(maxsize=1)
def open_once(embedding: Embedding, device: str) -> Embedder:
    """The model, opened once per process and checked to be the one of the index."""
    embedder = open_embedder(
        embedding.name, url=embedding.url, key=embedding.key, query_prefix=embedding.query_prefix, device=device
    )
    if embedder.model != embedding.model:
        raise EmbedError(
            f"found the model {embedder.model} where {embedding.model} is needed: "
            "install the same Outcrop and the same models on every machine"
        )
    return embedder
