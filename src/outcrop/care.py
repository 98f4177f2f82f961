"""CARE: what keeps an index right over the years: what is stale, another model, what is damaged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from outcrop.contracts import Embedder, Store
from outcrop.embed.batches import BATCH_TEXTS, embed_all
from outcrop.embed.keys import context_text
from outcrop.errors import Cancelled, StoreError
from outcrop.records import Check, Filter, Matrix, Progress, StaleDocument
from outcrop.search.arrays import SearchArrays
from outcrop.sources.freshness import change_of

FIRST_BATCH: Final = 64
BATCH_SECONDS: Final = 2.0
"""Texts in the first batch of a re-embedding, and how long each batch should take: a kill loses one, a stop waits for
one. The static model fills whole batches, a transformer on two cores takes some dozens of texts."""


def find_stale(store: Store, where: Filter, max_bytes: int) -> list[StaleDocument]:
    """Documents whose files changed or vanished since they were indexed (D5)."""
    changes = ((document, change_of(document, max_bytes)) for document in store.documents(where))
    return [StaleDocument(document, change) for document, change in changes if change is not None]


def examine(store: Store, arrays: SearchArrays, embedder: Embedder, *, repair: bool = False) -> list[Check]:
    """Examine the truth, what is derived from it and the model; `repair` makes damaged arrays again."""
    problems = list(store.check())
    checks = [Check("database", not problems, "; ".join(problems) or "consistent")]
    damaged = list(arrays.check())
    if damaged and repair:
        arrays.rebuild()
        checks.append(Check("search arrays", True, "were damaged, made again"))
    else:
        hint = "; run with --repair" if damaged else ""
        checks.append(Check("search arrays", not damaged, ("; ".join(damaged) or "whole") + hint))
    stored = store.active_model()
    same = stored is None or stored == embedder.model
    detail = str(embedder.model) if same else f"{stored} is stored, {embedder.model} in use: reembed"
    checks.append(Check("model", same, detail))
    damage = getattr(embedder, "damage", None)  # only a model that ships with files can be damaged
    if damage is not None:
        broken = damage()
        checks.append(Check("model files", not broken, "; ".join(broken) or "whole"))
    return checks


def reembed(
    store: Store,
    embedder: Embedder,
    progress: Callable[[Progress], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> int:
    """Give every chunk, summary and path a vector of this model, batch by batch, then switch to it; how many chunks it
    was made for. What others write meanwhile is caught up before the switch."""
    model = embedder.model
    run = _Reembedding(store, embedder, progress, stopped)
    while True:
        run.catch_up()
        if store.active_model() == model:
            return run.chunks
        try:
            store.activate(model)
        except StoreError:
            if not run.is_behind():  # else somebody wrote in between: once more
                raise


class _Reembedding:
    """One run: what it works with, and how far it came."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        progress: Callable[[Progress], None] | None,
        stopped: Callable[[], bool] | None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._stopped = stopped
        self._batch = FIRST_BATCH
        self._done = 0
        self._total = self._count() if progress is not None else 0
        self.chunks = 0

    def _count(self) -> int:
        stats, model = self._store.stats(), self._embedder.model
        return (
            len(self._store.unembedded(model, stats.chunks))
            + len(self._store.unembedded_summaries(model, stats.chunks))
            + len(self._store.unembedded_paths(model, stats.documents))
        )

    def is_behind(self) -> bool:
        """Whether anything has no vector of the model."""
        store, model = self._store, self._embedder.model
        return bool(
            store.unembedded(model, 1)
            or store.unembedded_summaries(model, 1)
            or store.unembedded_paths(model, 1)
        )

    def catch_up(self) -> None:
        """Embed all that has no vector of the model yet."""
        store, model = self._store, self._embedder.model
        while waiting := store.unembedded(model, self._batch):
            self.chunks += self._embed(waiting, self._chunk_texts, self._embedder.embed_documents)
        while waiting := store.unembedded_summaries(model, self._batch):
            self._embed(waiting, self._summaries, self._embedder.embed_documents)
        while waiting := store.unembedded_paths(model, self._batch):
            self._embed(waiting, self._paths, self._embedder.embed_paths)

    def _embed(
        self,
        waiting: list[tuple[bytes, int]],
        read: Callable[[dict[int, bytes]], dict[bytes, str]],
        embed: Callable[[Sequence[str]], Matrix],
    ) -> int:
        """One batch; how many texts it was. What is gone by now is passed over."""
        started = time.monotonic()
        texts = read({id_: key for key, id_ in waiting})
        self._store.add_vectors(self._embedder.model, embed_all(embed, texts))
        seconds = time.monotonic() - started
        self._batch = max(
            1, min(BATCH_TEXTS, 2 * self._batch, int(self._batch * BATCH_SECONDS / max(seconds, 0.01)))
        )
        self._done += len(waiting)
        if self._progress is not None:
            self._total = max(self._total, self._done)  # others write meanwhile
            self._progress(Progress(self._done, self._total, self._done, "", "embed"))
        if self._stopped is not None and self._stopped():
            raise Cancelled("stopped; the old vectors still serve, run it again to go on")
        return len(texts)

    def _chunk_texts(self, keys: dict[int, bytes]) -> dict[bytes, str]:
        return {
            keys[chunk.id]: context_text(chunk.document.title, chunk.heading_path, chunk.text)
            for chunk in self._store.chunks(list(keys))
        }

    def _summaries(self, keys: dict[int, bytes]) -> dict[bytes, str]:
        return {keys[chunk.id]: chunk.code.summary for chunk in self._store.chunks(list(keys)) if chunk.code}

    def _paths(self, keys: dict[int, bytes]) -> dict[bytes, str]:
        found = ((key, self._store.document(id_)) for id_, key in keys.items())
        return {key: info.path for key, info in found if info is not None}
