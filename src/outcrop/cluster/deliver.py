"""How one machine of the cluster prepares files: by the functions of a run without one, and with vectors."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from outcrop.cluster.order import Delivery, Embedding
from outcrop.contracts import Embedder
from outcrop.embed.batches import batch_texts, embed_all
from outcrop.embed.models import open_embedder
from outcrop.errors import EmbedError
from outcrop.write import prepare


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
            f"there is the model {embedder.model} where {embedding.model} is needed: "
            "install the same Outcrop and the same models on every machine"
        )
    return embedder
