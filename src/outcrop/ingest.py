"""WRITE PATH: sources → parse → chunk → embed → store.

A file whose stat is unchanged costs that stat; one whose bytes are unchanged costs a hash. What changed is parsed,
chunked, embedded where the cache has no vector for a chunk's content yet, and written in batches, each one
transaction. A run that is killed loses the batch in the making; the next run picks up where it stopped. A bad
file is a line in the report.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from outcrop.chunk import ChunkOptions, chunk_document
from outcrop.contracts import Commentator, Embedder, Store
from outcrop.embed.batches import batch_texts, embed_all
from outcrop.embed.comments import Comments
from outcrop.embed.keys import context_head, context_text, path_key, summary_key, text_key
from outcrop.errors import Cancelled, EmbedError, MissingVectors, ParseError, SourceError
from outcrop.parse import ParseLimits, parse
from outcrop.records import (
    DocumentInfo,
    DocumentWrite,
    Failure,
    FileState,
    IngestReport,
    Progress,
    Skipped,
    SourceFile,
    Text,
    Vector,
)
from outcrop.revisions import note_revisions
from outcrop.sources.checkout import Checkouts
from outcrop.sources.folder import shields, walk
from outcrop.sources.left_out import looks_binary
from outcrop.sources.read import read_file
from outcrop.sources.text import text_source

log = logging.getLogger(__name__)

BATCH_CHUNKS = 1024
"""Chunks a transaction: large enough that a commit's fsync does not count, small enough that little is lost."""
COMMENTED_CHUNKS = 64
"""The same where a model comments on them: a batch that is lost is asked for, and perhaps paid for, once more."""
BATCH_CHARACTERS = 4_000_000
"""Text a transaction: bounds memory where chunks are large."""
BATCH_SECONDS = 5.0
"""A slow source (a remote model, large PDFs) commits at least this often."""

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How content becomes documents; see Config for what each means. `own` is the index itself: never content."""

    chunking: ChunkOptions
    limits: ParseLimits
    max_file_bytes: int
    own: Path


@dataclass(slots=True)
class _Run:
    """Counts of a run in progress and what waits for the next transaction."""

    collection: str
    tags: tuple[str, ...]
    force: bool
    progress: OnProgress | None
    stopped: Callable[[], bool] | None
    later: bool = False
    waiting: frozenset[int] = frozenset()
    read: Callable[[SourceFile], bytes] | None = None
    started: float = field(default_factory=time.monotonic)
    total: int | None = None
    done: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    document_ids: list[int] = field(default_factory=list)
    touched: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    pending: list[tuple[DocumentWrite, FileState | None]] = field(default_factory=list)
    pending_chunks: int = 0
    pending_characters: int = 0
    last_flush: float = field(default_factory=time.monotonic)
    comments: Comments | None = None

    def report(self) -> IngestReport:
        return IngestReport(
            added=self.added,
            changed=self.changed,
            moved=self.moved,
            unchanged=self.unchanged,
            removed=self.removed,
            chunks=self.chunks,
            embedded=self.embedded,
            skipped=tuple(self.skipped),
            failed=(*self.failed, *(self.comments.failures() if self.comments else ())),
            document_ids=tuple(self.document_ids),
            seconds=time.monotonic() - self.started,
        )

    def step(self, path: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(Progress(self.done, self.total, self.chunks + self.pending_chunks, path, "read"))
        self.check_stopped()

    def check_stopped(self) -> None:
        if self.stopped is not None and self.stopped():
            raise Cancelled("stopped; what was committed so far is kept, run it again to go on")


class Ingestor:
    """Brings documents into a store. One run at a time in a thread; several processes may run at once."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        options: IngestOptions,
        after_write: Callable[[int], None],
        commentator: Commentator | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._options = options
        self._after_write = after_write
        self._commentator = commentator

    def is_own(self, path: str) -> bool:
        """Whether this is a file of the index itself, which may well lie in a folder that is indexed."""
        own = str(self._options.own)
        return path.startswith(own) and (path[len(own) :] in _OWN_ENDINGS or path.startswith(f"{own}.arrays/"))

    # ------------------------------------------------------------------ folders and files

    def _start(
        self,
        collection: str,
        tags: Sequence[str] = (),
        *,
        force: bool = False,
        later: bool = False,
        progress: OnProgress | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> _Run:
        """A run. With `later` nothing is embedded: documents wait for their vectors. Without it, those of them that
        wait from before get theirs although they did not change."""
        waiting = frozenset(() if later else self._store.waiting())
        return _Run(collection, tuple(tags), force, progress, stopped, later, waiting)

    def sync(
        self,
        root: Path,
        collection: str,
        *,
        tags: Sequence[str] = (),
        force: bool = False,
        later: bool = False,
        prune: bool = True,
        progress: OnProgress | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Make the collection's documents below `root` the same as the files there.

        `prune` removes documents whose files are gone; `force` reads every file again. Documents below a folder that
        could not be read are kept: their files are not known to be gone.
        """
        run = self._start(collection, tags, force=force, later=later, progress=progress, stopped=stopped)
        checkouts = Checkouts()
        items = walk(root, max_file_bytes=self._options.max_file_bytes, checkouts=checkouts)
        seen = self._scan(run, items)
        real = root.resolve()
        states = self._store.states(collection, str(real) if real.is_dir() else None)
        if not real.is_dir():
            states = {uri: state for uri, state in states.items() if uri == str(real)}
        self._sync_files(run, seen, states, str(real), prune)
        self._note_revisions(run, real, checkouts)
        return self._finish(run)

    def _note_revisions(self, run: _Run, real: Path, checkouts: Checkouts) -> None:
        root = str(real if real.is_dir() else real.parent)
        wrote = bool(run.added or run.changed or run.moved or run.removed)
        most = self._options.max_file_bytes
        note_revisions(self._store, run.collection, root, checkouts, wrote=wrote, max_file_bytes=most)

    def sync_known(
        self,
        paths: Iterable[Path],
        root: Path,
        collection: str,
        *,
        tags: Sequence[str] = (),
    ) -> IngestReport | None:
        """Bring edited files up to date without walking the folder; None when that is not enough.

        It is enough when each path is a file that is already a document. A new, vanished or ignored file and a
        changed folder need the rules of the whole folder.
        """
        real = root.resolve()
        files: list[SourceFile] = []
        states: dict[str, FileState] = {}
        for path in paths:
            known = self._store.find(collection, str(path))
            if known is None or path.is_symlink() or not path.is_file():
                return None
            states[str(path)] = state_of(known)
            status = path.stat()
            files.append(
                SourceFile(
                    uri=str(path),
                    path=path.relative_to(real).as_posix(),
                    origin="file",
                    root=str(real),
                    mtime_ns=status.st_mtime_ns,
                    size=status.st_size,
                )
            )
        run = self._start(collection, tags)
        self._sync_files(run, files, states, str(real), prune=False)
        self._note_revisions(run, real, Checkouts())
        return self._finish(run)

    def sync_files(
        self,
        files: Sequence[SourceFile],
        gone: Iterable[str],
        collection: str,
        *,
        read: Callable[[SourceFile], bytes],
        later: bool = False,
    ) -> IngestReport:
        """Bring these files of one folder up to date, which the caller found and reads himself; documents with a uri
        of `gone` leave the index, or move where a new file has the same bytes."""
        uris = {*gone, *(file.uri for file in files)}
        found = ((uri, self._store.find(collection, uri)) for uri in uris)
        states = {uri: state_of(known) for uri, known in found if known is not None}
        run = self._start(collection, later=later)
        run.read = read
        self._sync_files(run, list(files), states, files[0].root or "" if files else "", prune=True)
        return self._finish(run)

    def _scan(self, run: _Run, items: Iterator[SourceFile | Skipped | Failure]) -> list[SourceFile]:
        files = []
        for item in items:
            if isinstance(item, SourceFile):
                if self.is_own(item.uri):
                    continue
                files.append(item)
                if run.progress is not None and len(files) % 256 == 0:
                    run.progress(Progress(len(files), None, 0, item.path, "scan"))
                    run.check_stopped()
            elif isinstance(item, Skipped):
                run.skipped.append(item)
            else:
                run.failed.append(item)
        return files

    def _sync_files(
        self, run: _Run, files: list[SourceFile], states: Mapping[str, FileState], root: str, prune: bool
    ) -> None:
        uris = {file.uri for file in files}
        shielding = list(run.failed)
        gone = {
            uri: state
            for uri, state in states.items()
            if uri not in uris and not any(shields(f, _below(uri, root)) for f in shielding)
        }
        movable = {state.sha256: uri for uri, state in gone.items()} if prune else {}
        changed = [file for file in files if not self._is_done(run, file, states.get(file.uri))]
        run.unchanged += len(files) - len(changed)
        run.total = len(changed)
        with _rare_collections():
            for file in changed:
                try:
                    self._read_one(run, file, states, gone, movable)
                except (SourceError, ParseError) as error:
                    self._note_failure(run, file, states.get(file.uri), error)
                run.step(file.path)
            self._flush(run)
        if prune and gone:
            run.removed += self._store.delete([state.document_id for state in gone.values()])

    def _is_done(self, run: _Run, file: SourceFile, state: FileState | None) -> bool:
        return _same_stat(file, state) and not run.force and not self._is_waiting(run, state)

    def _is_waiting(self, run: _Run, state: FileState | None) -> bool:
        return state is not None and state.document_id in run.waiting

    def _read_one(
        self,
        run: _Run,
        file: SourceFile,
        states: Mapping[str, FileState],
        gone: dict[str, FileState],
        movable: dict[str, str],
    ) -> None:
        data = run.read(file) if run.read else read_file(file, self._options.max_file_bytes)
        digest = sha256(data).hexdigest()
        state = states.get(file.uri)
        waits = self._is_waiting(run, state)
        if state is not None and state.sha256 == digest and not run.force and not waits:
            run.unchanged += 1
            run.touched[state.document_id] = (file.mtime_ns, file.size)
            return
        if state is None and digest in movable:
            # The same bytes under a new name, and the old name is gone: the document moved.
            state = gone.pop(movable.pop(digest))
            self._flush(run)
            self._move(run, state, self._prepare(run, file, data, digest))
            return
        if looks_binary(data[:8192]) and Path(file.path).suffix.lower() not in _PACKED_SUFFIXES:
            self._drop_stale(run, state)
            run.skipped.append(Skipped(file.path, "binary content"))
            return
        self._queue(run, self._prepare(run, file, data, digest), state)

    def _note_failure(
        self, run: _Run, file: SourceFile, state: FileState | None, error: SourceError | ParseError
    ) -> None:
        """A file that cannot be read any more keeps its old document: what was indexed is not lost to a bad save."""
        kept = "; the version indexed before is kept" if state is not None else ""
        run.failed.append(Failure(file.path, f"{error}{kept}"))
        log.warning("file not indexed", extra={"path": file.path, "reason": str(error)})

    def _drop_stale(self, run: _Run, state: FileState | None) -> None:
        if state is not None:
            run.removed += self._store.delete([state.document_id])

    # ------------------------------------------------------------------ single documents

    def add(
        self,
        file: SourceFile,
        data: bytes,
        collection: str,
        text: Text,
        *,
        force: bool = False,
        later: bool = False,
    ) -> IngestReport:
        """One document from bytes at hand: a fetched page, a text. Unchanged content changes nothing (D4).

        Unlike a file in a folder, content that cannot be parsed raises: there is no run to go on with.
        """
        run = self._start(collection, force=force, later=later)
        self._add_one(run, file, data, text)
        return self._finish(run)

    def add_many(
        self,
        texts: Iterable[Text],
        collection: str,
        *,
        force: bool = False,
        later: bool = False,
        progress: OnProgress | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Many documents in few transactions; one that cannot be parsed is a line in the report."""
        run = self._start(collection, force=force, later=later, progress=progress, stopped=stopped)
        for text in texts:
            name = text.id or text.text[:40]
            try:
                self._add_one(run, *text_source(text.text, text.id), text)
            except (SourceError, ParseError) as error:
                run.failed.append(Failure(name, str(error)))
            run.step(name)
        return self._finish(run)

    def _add_one(self, run: _Run, file: SourceFile, data: bytes, text: Text) -> None:
        digest = sha256(data).hexdigest()
        stored = self._store.find(run.collection, file.uri)
        state = None
        if stored is not None:
            same = (
                stored.sha256 == digest and text.title in (None, stored.title) and stored.id not in run.waiting
            )
            if same and set(text.tags) <= set(stored.tags) and not run.force:
                run.unchanged += 1
                run.document_ids.append(stored.id)
                return
            state = state_of(stored)
        write = self._prepare(run, file, data, digest, text.title)
        self._queue(run, replace(write, tags=tuple(dict.fromkeys((*write.tags, *text.tags)))), state)

    # ------------------------------------------------------------------ parse, chunk, embed, store

    def _prepare(
        self, run: _Run, file: SourceFile, data: bytes, digest: str, title: str | None = None
    ) -> DocumentWrite:
        document = parse(data, path=file.path, media_type=file.media_type, limits=self._options.limits)
        if title is not None:
            document = replace(document, title=title)
        chunks = chunk_document(document, self._options.chunking)
        keys = tuple(text_key(context_head(document.title, chunk.heading_path), chunk.text) for chunk in chunks)
        summaries: tuple[bytes, ...] = ()
        if document.outline is not None:
            summaries = tuple(
                summary_key(chunk.code.summary) if chunk.code and chunk.code.summary else b""
                for chunk in chunks
            )
        return DocumentWrite(
            file=file,
            collection=run.collection,
            document=document,
            chunks=chunks,
            text_keys=keys,
            path_key=path_key(file.path),
            sha256=digest,
            tags=tuple(dict.fromkeys((*document.tags, *run.tags))),
            summary_keys=summaries,
        )

    def _queue(self, run: _Run, write: DocumentWrite, state: FileState | None) -> None:
        run.pending.append((write, state))
        run.pending_chunks += len(write.chunks)
        run.pending_characters += len(write.document.text)
        late = time.monotonic() - run.last_flush > BATCH_SECONDS
        most = BATCH_CHUNKS if self._commentator is None else COMMENTED_CHUNKS
        if run.pending_chunks >= most or run.pending_characters >= BATCH_CHARACTERS or late:
            self._flush(run)

    def _flush(self, run: _Run) -> None:
        """Write what waits, in one transaction."""
        if run.touched:
            self._store.touch(run.touched)
            run.touched.clear()
        run.last_flush = time.monotonic()
        if not run.pending:
            return
        writes = self._comment(run, [write for write, _ in run.pending])

        def store(vectors: Mapping[bytes, Vector]) -> list[int]:
            return self._store.write(writes, vectors, self._embedder.model, later=run.later)

        ids = self._write(run, writes, store)
        run.document_ids.extend(ids)
        run.added += sum(state is None for _, state in run.pending)
        run.changed += sum(state is not None for _, state in run.pending)
        run.chunks += run.pending_chunks
        run.pending.clear()
        written, run.pending_chunks, run.pending_characters = run.pending_chunks, 0, 0
        run.last_flush = time.monotonic()  # a slow model must not make every next document a batch of its own
        self._after_write(written)

    def _move(self, run: _Run, state: FileState, write: DocumentWrite) -> None:
        (write,) = self._comment(run, [write])

        def store(vectors: Mapping[bytes, Vector]) -> list[int]:
            self._store.move(state.document_id, write, vectors, self._embedder.model, later=run.later)
            return [state.document_id]

        run.document_ids.extend(self._write(run, [write], store))
        run.moved += 1

    def _comment(self, run: _Run, writes: list[DocumentWrite]) -> list[DocumentWrite]:
        """The same with a model's comments on code, where one is configured."""
        if self._commentator is None:
            return writes
        if run.comments is None:
            run.comments = Comments(self._commentator, self._store, run.check_stopped)
        return run.comments.put_into(writes)

    def _write(
        self,
        run: _Run,
        writes: Sequence[DocumentWrite],
        store: Callable[[Mapping[bytes, Vector]], list[int]],
    ) -> list[int]:
        """Embed what has no vector yet and store; once more if another process removed a vector meanwhile."""
        if run.later:
            return store({})
        wanted = {key for write in writes for key in (*write.text_keys, *write.summary_keys, write.path_key)}
        wanted.discard(b"")
        missing = self._store.missing_vectors(self._embedder.model, wanted)
        vectors: dict[bytes, Vector] = {}
        for _ in range(5):
            vectors |= self._embed(run, writes, missing)
            try:
                return store(vectors)
            except MissingVectors as error:
                missing = set(error.keys)
        raise EmbedError(
            "vectors kept vanishing while they were written: is another process deleting? try again"
        )

    def _embed(self, run: _Run, writes: Sequence[DocumentWrite], missing: set[bytes]) -> dict[bytes, Vector]:
        texts: dict[bytes, str] = {}
        paths: dict[bytes, str] = {}
        for write in writes:
            title = write.document.title
            for key, chunk in zip(write.text_keys, write.chunks, strict=True):
                if key in missing and key not in texts:
                    texts[key] = context_text(title, chunk.heading_path, chunk.text)
            for key, chunk in zip(write.summary_keys, write.chunks, strict=bool(write.summary_keys)):
                if key in missing and chunk.code is not None:
                    texts.setdefault(key, chunk.code.summary)
            if write.path_key in missing:
                paths[write.path_key] = write.file.path
        run.embedded += len(texts)
        model, at_once = self._embedder, batch_texts(self._embedder)
        vectors = embed_all(model.embed_documents, texts, at_once, run.check_stopped)
        return vectors | embed_all(model.embed_paths, paths, at_once, run.check_stopped)

    def _finish(self, run: _Run) -> IngestReport:
        self._flush(run)
        report = run.report()
        log.info(
            "ingest",
            extra={
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "failed": len(report.failed),
                "seconds": round(report.seconds, 3),
            },
        )
        return report


_OWN_ENDINGS = ("", "-wal", "-shm", "-journal", ".arrays")

# Formats that are binary by nature and have a parser.
_PACKED_SUFFIXES = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".xls", ".ods", ".epub"})


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cycles a tenth as often: a syntax tree is thousands of short-lived objects without one (9 % of the CPU
    time of parsing). Reference counts free them as ever."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] * 10, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def state_of(document: DocumentInfo) -> FileState:
    """What of a document tells whether its file changed."""
    return FileState(document.id, document.mtime_ns, document.size, document.sha256)


def _same_stat(file: SourceFile, state: FileState | None) -> bool:
    return state is not None and (state.mtime_ns, state.size) == (file.mtime_ns, file.size)


def _below(uri: str, root: str) -> str:
    return uri.removeprefix(root).lstrip("/")
