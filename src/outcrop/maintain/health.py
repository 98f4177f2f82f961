"""CARE: what keeps an index right over the years: what is stale, another model, what is damaged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from outcrop.contracts import Embedder, HasRoles, Store
from outcrop.embed.batches import BATCH_TEXTS, batch_texts, embed_all
from outcrop.embed.keys import context_head, context_text, path_key, text_key
from outcrop.errors import Cancelled, ConfigError, EmbedError, StoreError
from outcrop.index.seam import Index
from outcrop.records import Check, DocumentWrite, Filter, Matrix, Progress, StaleDocument
from outcrop.sources.freshness import change_of
from outcrop.system.cancel import check_wanted
from outcrop.system.machine import install_command

FIRST_BATCH: Final = 64
BATCH_SECONDS: Final = 2.0
"""Texts in the first batch of a re-embedding, and how long each batch should take: a kill loses one, a stop waits for
one. The static model fills whole batches, a transformer on two cores takes some dozens of texts."""
FILL_TEXTS: Final = 64
"""Texts of waiting documents that are embedded and kept at a time: a stop, and another writer, wait for one such batch.
Judgement."""
EXAMINED_DOCUMENTS: Final = 256
SHOWN_DOCUMENTS: Final = 5
"""Documents that the doctor reads at a time, and those that it names. Judgement."""
FAILURES_IN_A_ROW: Final = 3
"""Documents that a model refuses one after another before it is taken to be away. Judgement."""


def find_stale(store: Store, where: Filter, max_bytes: int) -> list[StaleDocument]:
    """Documents whose files changed or vanished since they were indexed (D5)."""
    stale = []
    for document in store.documents(where):
        check_wanted()
        if (change := change_of(document, max_bytes)) is not None:
            stale.append(StaleDocument(document, change))
    return stale


def examine(store: Store, index: Index, embedder: Embedder, *, repair: bool = False) -> list[Check]:
    """Examine the truth, what is derived from it and the model; `repair` makes damaged arrays again."""
    problems = [*store.check(), *examine_content(store)]
    checks = [Check("database", not problems, "; ".join(problems) or "consistent")]
    damaged = list(index.check())
    if damaged and repair:
        index.rebuild()
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
    return [*checks, examine_languages()]


def examine_content(store: Store) -> list[str]:
    """Documents whose texts, titles or paths are not those that were written: each passage is kept with an address that
    is made of it, so that a disk which changes a letter is found out."""
    wrong: list[str] = []
    last = 0
    while batch := store.export(last, EXAMINED_DOCUMENTS):
        wrong += [write.file.path for _, write in batch if not _is_as_written(write)]
        last = batch[-1][0]
    if not wrong:
        return []
    names = ", ".join(wrong[:SHOWN_DOCUMENTS]) + (" …" if len(wrong) > SHOWN_DOCUMENTS else "")
    return [
        f"{len(wrong)} documents are not what was written ({names}): check the disk, then read them again with"
        " `outcrop sync --force`"
    ]


def _is_as_written(write: DocumentWrite) -> bool:
    title = write.document.title
    keys = tuple(text_key(context_head(title, chunk.heading_path), chunk.text) for chunk in write.chunks)
    return keys == write.text_keys and path_key(write.file.path) == write.path_key


def examine_languages() -> Check:
    """Which grammars are not installed. Not a fault: whoever has no such files needs none."""
    from outcrop.parse.code import missing_grammars  # loads tree-sitter, which most commands never need

    missing = missing_grammars()
    advice = (
        f"read by lines; for their declarations `{install_command('languages')}`, then `outcrop sync --force`"
    )
    return Check("languages", True, f"{', '.join(missing)}: {advice}" if missing else "all grammars are here")


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


def embed_pending(store: Store, embedder: Embedder, stopped: Callable[[], bool] | None = None) -> int:
    """Give the documents that were written without vectors theirs; how many were completed.

    A document that the model cannot embed is left waiting and does not hold up the others; its error is raised when all
    else is done. A model that refuses several in a row is taken to be away, and its error is raised at once.
    """
    waiting = store.pending()
    if not waiting:
        return 0
    if store.active_model() != embedder.model:
        raise StoreError(
            f"the index is searched with {store.active_model()}, the model in use is {embedder.model}: reembed it"
        )
    run = _Filling(store, embedder, stopped)
    for document_id in waiting:
        run.take(document_id)
    run.finish()
    return run.completed


class _Filling:
    """One run over the documents that wait: texts go to the model in batches, whatever document they are of."""

    def __init__(self, store: Store, embedder: Embedder, stopped: Callable[[], bool] | None) -> None:
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
        """Embed what this document lacks, perhaps together with the next ones."""
        while self._gather(document_id) and self._flush():
            """A long document: batch after batch, each kept at once."""

    def finish(self) -> None:
        """Embed what is left; raises what went wrong."""
        self._flush()
        if self._error is not None:
            raise self._error

    def _gather(self, document_id: int) -> bool:
        """Put what the document lacks to the batch; whether that is full now."""
        store, model, most = self._store, self._embedder.model, self._most
        for find, read in ((store.unembedded, read_texts), (store.unembedded_summaries, read_summaries)):
            self._texts |= read(store, {id_: key for key, id_ in find(model, most, document_id)})
        self._paths |= read_paths(
            store, {id_: key for key, id_ in store.unembedded_paths(model, most, document_id)}
        )
        self._documents.append(document_id)
        return len(self._texts) >= most

    def _flush(self) -> bool:
        """Embed and keep the batch; whether that went well."""
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


def read_texts(store: Store, keys: dict[int, bytes]) -> dict[bytes, str]:
    """What is embedded of these chunks, by the key of its vector; those that are gone by now are left out."""
    return {
        keys[chunk.id]: context_text(chunk.document.title, chunk.heading_path, chunk.text)
        for chunk in store.chunks(list(keys))
    }


def read_summaries(store: Store, keys: dict[int, bytes]) -> dict[bytes, str]:
    """The same of the summaries of chunks of code."""
    return {keys[chunk.id]: chunk.code.summary for chunk in store.chunks(list(keys)) if chunk.code}


def read_paths(store: Store, keys: dict[int, bytes]) -> dict[bytes, str]:
    """The same of the paths of documents."""
    found = ((key, store.document(id_)) for id_, key in keys.items())
    return {key: info.path for key, info in found if info is not None}


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
            self.chunks += self._embed(waiting, read_texts, self._embedder.embed_documents)
        while waiting := store.unembedded_summaries(model, self._batch):
            self._embed(waiting, read_summaries, self._embedder.embed_documents)
        while waiting := store.unembedded_paths(model, self._batch):
            self._embed(waiting, read_paths, self._embedder.embed_paths)

    def _embed(
        self,
        waiting: list[tuple[bytes, int]],
        read: Callable[[Store, dict[int, bytes]], dict[bytes, str]],
        embed: Callable[[Sequence[str]], Matrix],
    ) -> int:
        """One batch; how many texts it was. What is gone by now is passed over."""
        started = time.monotonic()
        texts = read(self._store, {id_: key for key, id_ in waiting})
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


def roles_of(store: Store) -> HasRoles:
    """The store as one that has roles; ConfigError where it has none."""
    if not isinstance(store, HasRoles):
        raise ConfigError(
            "roles are those of a Postgres database; who may read an index in a file is a matter of the file's"
            " permissions"
        )
    return store
