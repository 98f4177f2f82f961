"""COMMIT: prepared documents are commented on, embedded and written, some at a time, each time in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from outcrop.contracts import Commentator, Embedder, Store
from outcrop.embed.batches import batch_texts, embed_all
from outcrop.embed.comments import Comments
from outcrop.errors import EmbedError, MissingVectors
from outcrop.records import DocumentWrite, FileState, Vector
from outcrop.write.plan import Run
from outcrop.write.prepare import Prepared, texts_to_embed, vector_keys

BATCH_CHUNKS = 1024
"""Chunks a transaction: large enough that a commit's fsync does not count, small enough that little is lost."""
COMMENTED_CHUNKS = 64
"""The same where a model comments on them: a batch that is lost is asked for, and perhaps paid for, once more."""
BATCH_CHARACTERS = 4_000_000
"""Text a transaction: bounds memory where chunks are large."""
BATCH_SECONDS = 5.0
"""A slow source (a remote model, large PDFs) commits at least this often."""


class Committer:
    """Writes what runs have prepared. Vectors that did not come with them are made here."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        after_write: Callable[[int], None],
        commentator: Commentator | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._after_write = after_write
        self._commentator = commentator

    def queue(self, run: Run, prepared: Prepared, state: FileState | None) -> None:
        """Write a document, which replaces `state`, with the next transaction: now, if enough waits."""
        run.pending.append((prepared, state))
        run.pending_chunks += len(prepared.write.chunks)
        run.pending_characters += len(prepared.write.document.text)
        late = time.monotonic() - run.last_flush > BATCH_SECONDS
        most = BATCH_CHUNKS if self._commentator is None else COMMENTED_CHUNKS
        if run.pending_chunks >= most or run.pending_characters >= BATCH_CHARACTERS or late:
            self.flush(run)

    def flush(self, run: Run) -> None:
        """Write what waits, in one transaction."""
        if run.touched:
            self._store.touch(run.touched)
            run.touched.clear()
        run.last_flush = time.monotonic()
        if not run.pending:
            return
        prepared = self._comment(run, [prepared for prepared, _ in run.pending])
        writes = [item.write for item in prepared]

        def store(vectors: Mapping[bytes, Vector]) -> list[int]:
            return self._store.write(
                writes, vectors, self._embedder.model, defer_embedding=run.options.defer_embedding
            )

        ids = self._write(run, prepared, store)
        run.document_ids.extend(ids)
        run.added += sum(state is None for _, state in run.pending)
        run.changed += sum(state is not None for _, state in run.pending)
        run.chunks += run.pending_chunks
        run.note(prepared)
        run.pending.clear()
        written, run.pending_chunks, run.pending_characters = run.pending_chunks, 0, 0
        run.last_flush = time.monotonic()  # a slow model must not make every next document a batch of its own
        self._after_write(written)

    def move(self, run: Run, state: FileState, prepared: Prepared) -> None:
        """The file of a stored document has a new name: write that now, after what waits."""
        self.flush(run)
        (prepared,) = self._comment(run, [prepared])

        def store(vectors: Mapping[bytes, Vector]) -> list[int]:
            model = self._embedder.model
            self._store.move(
                state.document_id, prepared.write, vectors, model, defer_embedding=run.options.defer_embedding
            )
            return [state.document_id]

        run.document_ids.extend(self._write(run, [prepared], store))
        run.moved += 1
        run.note([prepared])

    def _comment(self, run: Run, prepared: list[Prepared]) -> list[Prepared]:
        """The same with a model's comments on code, where one is configured."""
        if self._commentator is None:
            return prepared
        if run.comments is None:
            run.comments = Comments(self._commentator, self._store, run.check_stopped)
        commented = run.comments.put_into([item.write for item in prepared])
        return [replace(item, write=write) for item, write in zip(prepared, commented, strict=True)]

    def _write(
        self, run: Run, prepared: Sequence[Prepared], store: Callable[[Mapping[bytes, Vector]], list[int]]
    ) -> list[int]:
        """Embed what has no vector yet and store; once more if another process removed a vector meanwhile."""
        if run.options.defer_embedding:
            return store({})
        writes = [item.write for item in prepared]
        missing = self._store.missing_vectors(self._embedder.model, vector_keys(writes))
        vectors: dict[bytes, Vector] = {}
        for _ in range(5):
            vectors |= _brought(prepared, missing)
            vectors |= self._embed(run, writes, missing, vectors)
            try:
                return store(vectors)
            except MissingVectors as error:
                missing = set(error.keys)
        raise EmbedError(
            "vectors kept vanishing while they were written: is another process deleting? try again"
        )

    def _embed(
        self, run: Run, writes: Sequence[DocumentWrite], missing: set[bytes], made: Mapping[bytes, Vector]
    ) -> dict[bytes, Vector]:
        texts, paths = texts_to_embed(writes, missing)
        run.embedded += len(texts)
        texts = {key: text for key, text in texts.items() if key not in made}
        paths = {key: path for key, path in paths.items() if key not in made}
        model, at_once = self._embedder, batch_texts(self._embedder)
        vectors = embed_all(model.embed_documents, texts, at_once, run.check_stopped)
        return vectors | embed_all(model.embed_paths, paths, at_once, run.check_stopped)


def _brought(prepared: Sequence[Prepared], missing: set[bytes]) -> dict[bytes, Vector]:
    """Those of the missing vectors that came with the documents."""
    found: dict[bytes, Vector] = {}
    for item in prepared:
        found.update(
            {key: item.vectors[key] for key in vector_keys([item.write]) & missing if key in item.vectors}
        )
    return found
