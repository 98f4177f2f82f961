"""Vectors that are made after their documents: another model for the whole index, and documents that are pending."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from outcrop.contracts import Embedded, Embedder, Stop, Store
from outcrop.embed.batches import BATCH_TEXTS, batch_texts, embed_all
from outcrop.embed.keys import context_text
from outcrop.errors import Cancelled, EmbedError, StoreError
from outcrop.records import Matrix, OnProgress, Progress

FIRST_BATCH: Final = 64
BATCH_SECONDS: Final = 2.0
"""Texts in the first batch of a re-embedding, and how long each batch should take: a kill loses one, a stop waits for
one. The static model fills whole batches, a transformer on two cores takes some dozens of texts."""
FILL_TEXTS: Final = 64
"""Texts of pending documents embedded and stored at a time: a stop or a writer waits for one batch (not measured)."""
FAILURES_IN_A_ROW: Final = 3
"""Documents that a model refuses one after another before it is taken to be unavailable (not measured)."""
SAMPLE_TEXTS: Final = 16
"""Texts of each kind whose pace foretells the rest: about a second of a transformer on one core (not measured)."""


class Forecast(NamedTuple):
    """What a re-embedding has to do."""

    texts: int
    seconds: float


def forecast(store: Store, embedder: Embedder) -> Forecast:
    """How many texts lack a vector of this model, and about how long they will take, by the pace of a few."""
    stats = store.stats()
    most = max(stats.chunks, stats.documents)
    count, seconds = 0, 0.0
    for what, read in _READERS.items():
        lacking = store.unembedded(what, embedder.model, most)
        some = lacking[:: -(-len(lacking) // SAMPLE_TEXTS) or 1]
        texts = list(read(store, {id_: key for key, id_ in some}).values())
        if texts:
            embed = embedder.embed_paths if what == "path" else embedder.embed_documents
            embed(texts[:1])  # which may load the model
            started = time.monotonic()
            embed(texts)
            seconds += (time.monotonic() - started) / len(texts) * len(lacking)
        count += len(lacking)
    return Forecast(count, seconds)


def reembed(
    store: Store, embedder: Embedder, progress: OnProgress | None = None, stopped: Stop | None = None
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


def embed_pending(store: Store, embedder: Embedder, stopped: Stop | None = None) -> int:
    """Embed the documents that were written without vectors; how many were completed. A document that the model cannot
    embed stays pending and does not hold up the others; its error is raised when all else is done. A model that refuses
    several in a row is taken to be unavailable, and its error is raised at once."""
    pending = store.pending()
    if not pending:
        return 0
    if store.active_model() != embedder.model:
        raise StoreError(
            f"the index is searched with {store.active_model()}, the model in use is {embedder.model}: reembed it"
        )
    run = _Filling(store, embedder, stopped)
    for document_id in pending:
        run.take(document_id)
    run.finish()
    return run.completed


class _Filling:
    """One run over the pending documents: texts go to the model in batches that may span documents."""

    def __init__(self, store: Store, embedder: Embedder, stopped: Stop | None) -> None:
        self._store = store
        self._embedder = embedder
        self._stopped = stopped
        self._most = min(FILL_TEXTS, batch_texts(embedder))
        self._texts: dict[bytes, str] = {}
        self._paths: dict[bytes, str] = {}
        self._documents: list[int] = []
        self._in_a_row = 0
        self._error: EmbedError | None = None
        self.completed = 0

    def take(self, document_id: int) -> None:
        """Embed what this document lacks, perhaps in one batch with the next ones."""
        while self._gather(document_id) and self._flush():
            """A long document: batch after batch, each stored at once."""

    def finish(self) -> None:
        """Embed what is left; raises what went wrong."""
        self._flush()
        if self._error is not None:
            raise self._error

    def _gather(self, document_id: int) -> bool:
        """Add what the document lacks to the batch; whether it is full now."""
        store, model, most = self._store, self._embedder.model, self._most
        for what, read in _READERS.items():
            lacking = store.unembedded(what, model, most, document_id)
            batch = self._paths if what == "path" else self._texts
            batch |= read(store, {id_: key for key, id_ in lacking})
        self._documents.append(document_id)
        return len(self._texts) >= most

    def _flush(self) -> bool:
        """Embed and store the batch; whether that succeeded."""
        texts, paths, documents = self._texts, self._paths, self._documents
        self._texts, self._paths, self._documents = {}, {}, []
        if self._stopped is not None and self._stopped():
            raise Cancelled("stopped; what was embedded so far is kept, the rest waits")
        try:
            vectors = embed_all(self._embedder.embed_documents, texts)
            vectors |= embed_all(self._embedder.embed_paths, paths)
        except EmbedError as error:
            if len(documents) > 1:  # one of them may be to blame: each by itself
                for document_id in documents:
                    self._gather(document_id)
                    self._flush()
                return False
            self._error = error
            self._in_a_row += 1
            if self._in_a_row >= FAILURES_IN_A_ROW:
                raise
            return False
        if vectors:
            self._in_a_row = 0
            self.completed += self._store.fill(self._embedder.model, vectors)
        return True


_Reader = Callable[[Store, dict[int, bytes]], dict[bytes, str]]


def read_texts(store: Store, keys: dict[int, bytes]) -> dict[bytes, str]:
    """What is embedded of these chunks, by the key of its vector; those that are gone by now are left out."""
    return {
        keys[chunk.id]: context_text(chunk.document.title, chunk.heading_path, chunk.text, chunk.document.kind)
        for chunk in store.chunks(list(keys))
    }


def read_summaries(store: Store, keys: dict[int, bytes]) -> dict[bytes, str]:
    """The same of the summaries of chunks of code."""
    return {keys[chunk.id]: chunk.code.summary for chunk in store.chunks(list(keys)) if chunk.code}


def read_paths(store: Store, keys: dict[int, bytes]) -> dict[bytes, str]:
    """The same of the paths of documents."""
    found = ((key, store.document(id_)) for id_, key in keys.items())
    return {key: info.path for key, info in found if info is not None}


_READERS: Final[dict[Embedded, _Reader]] = {"text": read_texts, "summary": read_summaries, "path": read_paths}


class _Reembedding:
    """One run: what it works with, and how far it came."""

    def __init__(
        self, store: Store, embedder: Embedder, progress: OnProgress | None, stopped: Stop | None
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._stopped = stopped
        self._batch = FIRST_BATCH
        self._done = 0
        self._total = 0
        self.chunks = 0
        if progress is not None:
            stats = store.stats()
            most = max(stats.chunks, stats.documents)
            self._total = sum(len(store.unembedded(what, embedder.model, most)) for what in _READERS)

    def is_behind(self) -> bool:
        """Whether anything has no vector of the model."""
        return any(self._store.unembedded(what, self._embedder.model, 1) for what in _READERS)

    def catch_up(self) -> None:
        """Embed all that has no vector of the model yet."""
        model = self._embedder
        for what, read in _READERS.items():
            embed = model.embed_paths if what == "path" else model.embed_documents
            while lacking := self._store.unembedded(what, model.model, self._batch):
                made = self._embed(lacking, read, embed)
                self.chunks += made if what == "text" else 0

    def _embed(
        self, lacking: list[tuple[bytes, int]], read: _Reader, embed: Callable[[Sequence[str]], Matrix]
    ) -> int:
        """Embed one batch; how many texts it had. Rows deleted meanwhile are skipped."""
        started = time.monotonic()
        texts = read(self._store, {id_: key for key, id_ in lacking})
        self._store.add_vectors(self._embedder.model, embed_all(embed, texts))
        seconds = time.monotonic() - started
        self._batch = max(
            1, min(BATCH_TEXTS, 2 * self._batch, int(self._batch * BATCH_SECONDS / max(seconds, 0.01)))
        )
        self._done += len(lacking)
        if self._progress is not None:
            self._total = max(self._total, self._done)  # others write meanwhile
            self._progress(Progress(self._done, self._total, self._done, "", "embed"))
        if self._stopped is not None and self._stopped():
            raise Cancelled("stopped; the old vectors still serve, run it again to go on")
        return len(texts)
