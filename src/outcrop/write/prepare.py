"""PREPARE: the bytes of a file become a document that is ready to be written: read → parse → mask → chunk → keys.

Nothing here knows the store. A file goes in with the hash of what is stored of it, and an outcome comes out. So the
same functions do it in this process (`prepare_here`) or in many (`readers.py`, `cluster/`), file by file.
"""

from __future__ import annotations

import gc
import logging
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from outcrop.chunk.strategies import ChunkOptions, StrategyName, chunk_document
from outcrop.embed.keys import context_parts, context_text, path_key, summary_key, text_key
from outcrop.errors import ParseError, SourceError
from outcrop.parse.entry import parse
from outcrop.parse.formats import PACKED_SUFFIXES
from outcrop.parse.limits import ParseLimits
from outcrop.parse.scan.engines import say_missing
from outcrop.parse.scan.pages import leave_pages
from outcrop.records import Chunk, Document, DocumentWrite, Meta, Outline, SourceFile, Vector
from outcrop.records.meta import fit_meta
from outcrop.sources.exclusions import CREDENTIALS, holds_credentials, looks_binary
from outcrop.sources.files import read_file
from outcrop.sources.text import text_source
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import limit_time, timed

log = logging.getLogger(__name__)

_NOTHING: Final[Meta] = MappingProxyType({})
_OF_CODE: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What code raises that is wrong, unlike a system that is out of memory or disk."""
_MAX_MESSAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Recipe:
    """How files become documents; see Config for what each means. Collection and tags are those of one run. Where
    `reads_scans`, a file with pages that have to be read by their picture is Unread; if it `keeps_bytes`, with all that
    is needed to read them."""

    chunking: ChunkOptions
    limits: ParseLimits
    max_file_bytes: int
    collection: str = ""
    tags: tuple[str, ...] = ()
    index_secrets: bool = False
    reads_scans: bool = False
    keeps_bytes: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A file to prepare. `known` is the hash of its content that is stored; None: prepare it whatever it holds."""

    file: SourceFile
    known: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is ready to be written. `vectors` are those that were made on the way, perhaps of other
    documents too; the rest is made when it is written. `masked` is how many secrets were masked in it."""

    write: DocumentWrite
    vectors: Mapping[bytes, Vector] = field(default_factory=dict)
    masked: int = 0

    @property
    def file(self) -> SourceFile:
        """The file it came from."""
        return self.write.file


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The file's content is what is stored."""

    file: SourceFile


@dataclass(frozen=True, slots=True)
class NoText:
    """The file's content is nothing that could be indexed, and why."""

    file: SourceFile
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file could not be read or parsed, and why."""

    file: SourceFile
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """The file has pages that only their picture tells what is on them. Whoever is to read them needs its `document`
    as far as it has text, its bytes, and the title that it was given, if any."""

    file: SourceFile
    digest: str
    pages: tuple[int, ...]
    document: Document | None = None
    data: bytes = b""
    title: str | None = None


Outcome = Prepared | Unchanged | NoText | Unreadable | Unread


class Prepare(Protocol):
    """Prepares many files, here or elsewhere."""

    def __call__(
        self, jobs: Sequence[Job], recipe: Recipe, check_stopped: Callable[[], None]
    ) -> Generator[Outcome, None, None]:
        """Exactly one outcome for each job, in any order, as they come; memory stays bounded however many there are.
        `check_stopped` is called while there is nothing to yield, and may raise. A bad file is an outcome, a bad system
        raises. Closing the generator ends the work."""


def prepare_here(
    jobs: Sequence[Job],
    recipe: Recipe,
    check_stopped: Callable[[], None],  # noqa: ARG001  there is always something to yield
    read: Callable[[SourceFile], bytes] | None = None,
) -> Generator[Outcome, None, None]:
    """Prepare in this process, in order; `read` may bring the bytes from elsewhere than the file."""
    with rare_collections():
        for job in jobs:
            yield prepare_file(job, recipe, read)


def prepare_file(job: Job, recipe: Recipe, read: Callable[[SourceFile], bytes] | None = None) -> Outcome:
    """What becomes of one file."""
    file = job.file
    try:
        data = read(file) if read else read_file(file, recipe.max_file_bytes)
        digest = sha256(data).hexdigest()
        if digest == job.known:
            return Unchanged(file)
        if not recipe.index_secrets and holds_credentials(file.path, data):
            return NoText(file, CREDENTIALS)
        packed = Path(file.path).suffix.lower() in PACKED_SUFFIXES or file.media_type in _PACKED_TYPES
        if looks_binary(data[:8192]) and not packed:
            return NoText(file, _OLD_OFFICE if data.startswith(_OLE) else "binary content")
        return prepare_document(file, data, digest, recipe)
    except (SourceError, ParseError) as error:
        return Unreadable(file, _masked(str(error)))


def prepare_document(
    file: SourceFile, data: bytes, digest: str, recipe: Recipe, title: str | None = None, meta: Meta = _NOTHING
) -> Prepared | NoText | Unread:
    """Bytes as a document with its chunks and the keys of their vectors, unless its pages are to be read; a title and
    metadata that were given count before those of the text. Raises ParseError when they cannot be read, or not within
    the limit, which holds for all of it together. Secrets are masked before anything is made of the text. The hash is
    that of the bytes as they are."""
    with limit_time(recipe.limits.timeout_s), _blaming(file):
        document = parse(data, path=file.path, media_type=file.media_type, limits=recipe.limits)
        around = file.inside.meta if file.inside else ()
        document = replace(document, meta=fit_meta(document.meta) | dict(around) | dict(meta))
        if document.unread and recipe.reads_scans:
            kept = (document, data, title) if recipe.keeps_bytes else (None, b"", None)
            return Unread(file, digest, document.unread, *kept)
        if document.unread:
            if document.kind == "image":
                return NoText(file, say_missing(1))
            if not document.text:
                raise ParseError(say_missing(len(document.unread)))
            document = leave_pages(document)
        return prepare_parsed(
            file, document if title is None else replace(document, title=title), digest, recipe
        )


def prepare_parsed(file: SourceFile, document: Document, digest: str, recipe: Recipe) -> Prepared:
    """The same for what needs no parser."""
    with limit_time(recipe.limits.timeout_s), _blaming(file):
        document, masked = _without_secrets(document, recipe)
        chunks = chunk_document(document, recipe.chunking)
        keys = tuple(
            text_key(*context_parts(document.title, chunk.heading_path, chunk.text, document.kind))
            for chunk in timed(chunks)
        )
    summaries: tuple[bytes, ...] = ()
    if document.outline is not None:
        summaries = tuple(
            summary_key(chunk.code.summary) if chunk.code and chunk.code.summary else b"" for chunk in chunks
        )
        # The chunks have what is kept of it; the rest would take as long to reach the writer as to be read.
        document = replace(document, outline=Outline(document.outline.language))
    write = DocumentWrite(
        file=file,
        collection=recipe.collection,
        document=document,
        chunks=chunks,
        text_keys=keys,
        path_key=path_key(file.path),
        sha256=digest,
        tags=tuple(dict.fromkeys((*document.tags, *recipe.tags))),
        summary_keys=summaries,
    )
    return Prepared(write, masked=masked)


@contextmanager
def _blaming(file: SourceFile) -> Iterator[None]:
    """A mistake of ours that a file brings to light is a line in the report, as a bad file is: it never ends a run."""
    try:
        yield
    except _OF_CODE as error:
        what = _masked(f"{type(error).__name__}: {error}"[:_MAX_MESSAGE])
        steps = "".join(traceback.format_tb(error.__traceback__))
        log.error("%s: a defect of Outcrop: %s\nTraceback (most recent call last):\n%s", file.path, what, steps)
        raise ParseError(
            f"a defect of Outcrop that this file brought to light; please report it: {what}"
        ) from error


def _masked(message: str) -> str:
    """What is said of a file, which may quote it, as libraries do."""
    from outcrop.mask import mask_secrets  # see `_without_secrets`

    return mask_secrets(message)[0]


def _without_secrets(document: Document, recipe: Recipe) -> tuple[Document, int]:
    """A document without its secrets, and how many of them there were."""
    if recipe.index_secrets:
        return document, 0
    from outcrop.mask import mask_document  # its patterns take 20 ms to make, which a search need not wait for

    return mask_document(document)


def vector_keys(writes: Sequence[DocumentWrite]) -> set[bytes]:
    """The keys of all vectors that these documents need."""
    keys = {key for write in writes for key in (*write.text_keys, *write.summary_keys, write.path_key)}
    keys.discard(b"")
    return keys


def texts_to_embed(
    writes: Sequence[DocumentWrite], missing: Collection[bytes]
) -> tuple[dict[bytes, str], dict[bytes, str]]:
    """What is to be embedded for the keys that are missing, by key: texts (of chunks and summaries), and paths."""
    texts: dict[bytes, str] = {}
    paths: dict[bytes, str] = {}
    for write in writes:
        title = write.document.title
        for key, chunk in zip(write.text_keys, write.chunks, strict=True):
            if key in missing and key not in texts:
                texts[key] = context_text(title, chunk.heading_path, chunk.text, write.document.kind)
        for key, chunk in zip(write.summary_keys, write.chunks, strict=bool(write.summary_keys)):
            if key in missing and chunk.code is not None:
                texts.setdefault(key, chunk.code.summary)
        if write.path_key in missing:
            paths[write.path_key] = write.file.path
    return texts, paths


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles a tenth as often: a syntax tree is thousands of short-lived objects without one (9 % of the CPU
    time of parsing). Reference counting frees them as before."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] * 10, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_OLE = b"\xd0\xcf\x11\xe0"
_OLD_OFFICE = "a binary format of Outlook or of an old program; save it as .eml or .pdf to have it read"
_PACKED_TYPES = frozenset({"message/rfc822"})

_TIMEOUT_S = 60.0
_MEMORY_BYTES = 1024 * 1024 * 1024


def chunk_text(
    text: str,
    *,
    kind: str | None = None,
    path: str | None = None,
    chunker: StrategyName = "auto",
    target_tokens: int = 0,
    overlap: float | None = None,
    min_chars: int | None = None,
) -> tuple[Chunk, ...]:
    """Cut a text into chunks as the index would: `text[chunk.start:chunk.end] == chunk.text` for each.

    `kind` says how to read it (`md`, `text`, `json` …); without one the extension of `path` does, and a text without
    either is Markdown if it looks like it. `chunker` is the strategy; `target_tokens` (0), `overlap` (a share of the
    target, up to 0.5) and `min_chars` are the strategy's own unless given. Line ends become `\\n` first, and offsets of
    HTML are those of the text that is made of it.
    """
    options = ChunkOptions(chunker, target_tokens, overlap, min_chars)
    if not text.strip():
        return ()
    file, data = text_source(text, path, kind=kind)
    limits = ParseLimits(timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    return chunk_document(parse(data, path=file.path, media_type=file.media_type, limits=limits), options)


FILES_A_BATCH: Final = 128
BYTES_A_BATCH: Final = 1_000_000
"""What one task gets at most: some tenths of a second of parsing, against about 10 ms that a task costs Ray."""
BATCHES_A_CORE: Final = 4
"""Few files are cut smaller, so that every core has some and none waits long for the last (not measured)."""

Batch = list[tuple[int, Job]]
"""Jobs with their positions in the order."""


def cut_batches(jobs: Sequence[Job], cores: int) -> list[Batch]:
    """Jobs in batches: neither too many files in one nor too many bytes, and enough batches for all cores."""
    most = max(1, min(FILES_A_BATCH, len(jobs) // (cores * BATCHES_A_CORE)))
    batches: list[Batch] = []
    room = 0
    for position, job in enumerate(jobs):
        size = job.file.size or 0
        if not batches or len(batches[-1]) >= most or size > room:
            batches.append([])
            room = BYTES_A_BATCH
        batches[-1].append((position, job))
        room -= size
    return batches
