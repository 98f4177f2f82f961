"""The nouns that flow through the pipeline, from a source to a packed context.

All are frozen: a stage makes new ones, it never edits another stage's. Offsets are Python string
offsets (code points) into `Document.text`; lines and pages count from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One embedding, one-dimensional."""

Matrix = NDArray[np.float32]
"""Embeddings, one a row."""

# ------------------------------------------------------------------ sources → parse


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Something that can be read: a file on disk, a fetched page, a text handed over.

    `uri` names it within its collection and never changes while the content does: an absolute path, a URL,
    or the id a caller gave. `path` is the short name people see and filters match: relative to the root that
    was added. `mtime_ns` and `size` are what one stat tells; None where there is no file.
    """

    uri: str
    path: str
    origin: Literal["file", "url", "text"]
    root: str | None = None
    mtime_ns: int | None = None
    size: int | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be added. `id` names it, so that adding it again replaces it; without one its content is its name."""

    text: str
    id: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out on purpose, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that should have been read and could not be, and why."""

    path: str
    reason: str


# ------------------------------------------------------------------ parse → chunk


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: its level (1 is the top), its text, and the offset where its line starts."""

    level: int
    title: str
    start: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """A named part of a source file: a function, a class, a type, a constant …

    `text[start:end]` is all of it, with the comments, attributes and decorators before it; `at` is where the
    declaration itself begins, `body` where what it holds begins (its `end` when it holds nothing). `scope` names what
    it stands in, outermost first. `doc` is the first sentence of its documentation.
    """

    name: str
    kind: str
    scope: tuple[str, ...]
    start: int
    at: int
    body: int
    end: int
    signature: str
    doc: str = ""

    @property
    def qualified(self) -> str:
        """The name with what it stands in: `ConnectionPool.acquire`."""
        return ".".join((*self.scope, self.name))


ReferenceKind = Literal["call", "type", "inherit", "import", "use", "link"]
"""How a name is used: called, as a type, as a parent, brought in, otherwise, or as a path in a document."""


class Reference(NamedTuple):
    """A use of a name at an offset. `qualifier` is what stands before it (`self`, `os.path`); an import's name is the
    module's path with `/` between its parts, its qualifier what is taken from it."""

    name: str
    kind: ReferenceKind
    start: int
    qualifier: str = ""


Role = Literal[
    "", "test", "example", "compat", "docs", "generated", "vendored", "minified", "lock", "benchmark"
]
"""What a file is for, where that is not simply to do its work."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a parser knows of source code. `header_end` is where imports and the leading comment end; `cuts` are offsets
    of statements, in order, at which a long declaration may be cut."""

    language: str
    declarations: tuple[Declaration, ...] = ()
    references: tuple[Reference, ...] = ()
    header_end: int = 0
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What a parser makes of some bytes: plain text and what is known of its structure.

    `kind` is the format's short name (`markdown`, `pdf`, `text` …) and a filter value. `headings` are in order
    of `start`. `pages` holds the offset at which each page starts, for formats that have pages, else nothing.
    `keys` holds the offset at which each top-level entry of a data file starts. `meta` is front matter or
    file properties, flattened to strings. `outline` is there for source code that a grammar could read.
    """

    text: str
    kind: str
    title: str
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    outline: Outline | None = None
    role: Role = ""


# A source file has thousands of the following: as tuples they are made, compared and stored twice as fast.


class Definition(NamedTuple):
    """A name that a chunk declares. `scope` is the name of what it directly stands in, or nothing."""

    name: str
    kind: str
    scope: str = ""
    line: int = 0


class Mention(NamedTuple):
    """A name that a chunk uses, how, and how often."""

    name: str
    kind: ReferenceKind
    qualifier: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class CodeNotes:
    """What is known of a chunk of code: its main declaration (`symbol` is the qualified name), a summary in words, and
    the names it declares and uses."""

    symbol: str = ""
    kind: str = ""
    signature: str = ""
    summary: str = ""
    defines: tuple[Definition, ...] = ()
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document: `document.text[start:end] == text`, always."""

    index: int
    start: int
    end: int
    text: str
    tokens: int
    heading_path: tuple[str, ...] = ()
    line_start: int = 1
    line_end: int = 1
    page: int | None = None
    code: CodeNotes | None = None


# ------------------------------------------------------------------ embed


@dataclass(frozen=True, slots=True)
class Model:
    """Identity of an embedding model. Vectors of different models are never compared."""

    name: str
    version: str
    dimensions: int

    def __str__(self) -> str:
        return f"{self.name}@{self.version}/{self.dimensions}"


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a model's similarities can be relied on beside word matches: 1 is a good transformer, 0 nothing."""

    prose: float = 1.0
    code: float = 1.0


# ------------------------------------------------------------------ store


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A stored document without its text. Times are seconds since the epoch."""

    id: int
    collection: str
    uri: str
    path: str
    origin: str
    root: str | None
    kind: str
    title: str
    tags: tuple[str, ...]
    meta: Mapping[str, str]
    sha256: str
    mtime_ns: int | None
    size: int | None
    created_at: float
    updated_at: float
    chunks: int
    characters: int
    language: str = ""
    role: Role = ""


@dataclass(frozen=True, slots=True)
class FileState:
    """What a sync needs to know of a stored document to tell whether its file changed."""

    document_id: int
    mtime_ns: int | None
    size: int | None
    sha256: str


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document with everything that must change together with it.

    `text_keys[i]` is the content address of the vector of `chunks[i]`, `summary_keys[i]` that of its summary (empty
    where it has none; none at all where no chunk has), `path_key` that of the path. All are keys into the embedding
    cache. `sha256` is of the source bytes, so that a re-read can tell. `created_at` and `updated_at` are those of a
    document that comes from another index, and count where it is new; None means now.
    """

    file: SourceFile
    collection: str
    document: Document
    chunks: tuple[Chunk, ...]
    text_keys: tuple[bytes, ...]
    path_key: bytes
    sha256: str
    tags: tuple[str, ...] = ()
    summary_keys: tuple[bytes, ...] = ()
    created_at: float | None = None
    updated_at: float | None = None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store gives it back, with its document. `gap` is the blank space between the chunk before it
    and this one."""

    id: int
    document: DocumentInfo
    index: int
    start: int
    end: int
    text: str
    tokens: int
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    page: int | None
    gap: str = ""
    code: CodeNotes | None = None


@dataclass(frozen=True, slots=True)
class FeedRow:
    """What the search arrays need of one chunk. A vector is None while the active model has none for it."""

    chunk_id: int
    document_id: int
    kind: str
    title: str
    heading_path: tuple[str, ...]
    path: str
    text: str
    vector: NDArray[np.float16] | None
    path_vector: NDArray[np.float16] | None
    summary_vector: NDArray[np.float16] | None = None
    language: str = ""
    role: Role = ""
    code: CodeNotes | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents a search may touch. Empty fields do not restrict; the others all must hold.

    `kinds` are formats or, for source code, languages. `paths` are glob patterns over `DocumentInfo.path` (`**` crosses
    folders), one of which must match; `tags` must all be present. `since` and `until` bound the document's date: a
    front-matter date, else the file's modification time, else the time it was added; seconds since the epoch, until
    exclusive.
    """

    collections: tuple[str, ...] = ()
    documents: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None

    def is_empty(self) -> bool:
        """Whether this filter lets everything through."""
        return self == _EVERYTHING


_EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection and how much it holds."""

    name: str
    documents: int
    chunks: int
    updated_at: float


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts of the rows that must agree, and sizes on disk."""

    documents: int
    chunks: int
    chunks_with_vector: int
    vectors: int
    bytes_on_disk: int
    schema_version: int


# ------------------------------------------------------------------ search → rank → pack

QueryType = Literal["exact", "semantic", "mixed"]
MatchType = Literal["semantic", "keyword", "both"]
Reason = Literal["empty_query", "empty_index", "no_hits", "filtered_out", "model_mismatch", "error"]
"""Why an answer holds nothing, or less than it could: nothing was asked (`empty_query`), the index holds nothing yet
(`empty_index`), nothing is near enough (`no_hits`), the filters leave nothing to search (`filtered_out`), the index has
vectors of another model and only words were searched (`model_mismatch`), the index or a model failed (`error`)."""


RERANK_SECONDS = 0.5
"""What a second opinion may take: twenty candidates should need 0.3 s on two cores; half a second is hardly felt."""

SearchMode = Literal["hybrid", "keyword", "semantic"]
Fusion = Literal["weighted", "rrf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search. `floor` is the least cosine of a hit that shares no word with the query; `max_distance` the
    largest cosine distance (0–2) of any hit that has a vector; `cutoff` drops hits that score below that share of
    the best one (0 keeps them all); `query_type` forces what is otherwise detected; `offset` skips the hits of earlier
    pages. `rerank` asks a cross-encoder for a second opinion on the best candidates, on as many as fit into
    `rerank_seconds`; the time to load it, once in a process, comes on top. `balance` says how much meaning counts
    against words in a hybrid search, 0 (words only) to 1 (meaning only); None leaves it to the type of the query and
    the model. `reference_follow` (0 to 10) says how strongly code that the best hits lean on is lifted, 0 not at all.
    `explain` asks for what was left out too."""

    limit: int = 10
    offset: int = 0
    where: Filter = Filter()
    mode: SearchMode = "hybrid"
    fusion: Fusion = "weighted"
    query_type: QueryType | None = None
    floor: float = 0.25
    max_distance: float | None = None
    cutoff: float = 0.0
    merge: bool = True
    rerank: bool = False
    rerank_seconds: float = RERANK_SECONDS
    balance: float | None = None
    reference_follow: float = 1.0
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Boost:
    """One ranking signal's contribution to a hit, in the words of the table that lists it."""

    name: str
    amount: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit stands where it stands. Ranks count from 1; None where that leg did not find it.

    `words` and `meaning` are what each leg gave and add up to `fused`; `fused` and the boosts add up to `total`, of
    which the hit's `score` is the calibrated form. A context may then lift a hit: boosts named `must`, `preferred`,
    `mentioned` and `followed` are in terms of the score itself and no part of the total.
    """

    lexical_rank: int | None
    lexical_score: float | None
    dense_rank: int | None
    similarity: float | None
    fused: float
    boosts: tuple[Boost, ...] = ()
    matched_terms: tuple[str, ...] = ()
    words: float = 0.0
    meaning: float = 0.0
    total: float = 0.0


EXTRACTED_KINDS = frozenset({"html", "docx", "pptx", "xlsx", "epub", "notebook", "pdf"})
"""Kinds whose text is made from the file: its lines are not the file's lines."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers a query: one chunk, or adjacent chunks merged.

    `score` lies in 0–1 and means the same across queries. `distance` is the cosine distance (0–2), None when no
    vector took part. `stale` is True when the file changed since it was indexed, None when that cannot be told.
    `gap` is the blank space before it in the document. `code` is there for source code. `revision` is the commit that
    was checked out when the file was indexed, `dirty` whether the file differed from what git's index records; None
    outside a repository.
    """

    chunk_ids: tuple[int, ...]
    document: DocumentInfo
    text: str
    start: int
    end: int
    line_start: int
    line_end: int
    page: int | None
    heading_path: tuple[str, ...]
    index: int
    tokens: int
    score: float
    distance: float | None
    match_type: MatchType
    why: Explanation
    stale: bool | None = None
    gap: str = ""
    code: CodeNotes | None = None
    revision: str | None = None
    dirty: bool | None = None

    @property
    def place(self) -> str:
        """Where to look: `notes/plan.md:12-30`, `paper.pdf p. 3`, `page.html text 12-30` (of the extracted text)."""
        return place_of(self.document.path, self.document.kind, self.page, self.line_start, self.line_end)


def place_of(path: str, kind: str, page: int | None, line_start: int, line_end: int) -> str:
    """Where to look: `notes/plan.md:12-30`, `paper.pdf p. 3`, `page.html text 12-30` (of the extracted text)."""
    if page is not None:
        return f"{path} p. {page}"
    last = "" if line_end == line_start else f"-{line_end}"
    joint = " text " if kind in EXTRACTED_KINDS else ":"
    return f"{path}{joint}{line_start}{last}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A chunk that could have been in an answer or a context and is not, or not by itself.

    `reason` is one of: `below floor`, `too far` (max_distance), `below cutoff`, `past the limit`, `boilerplate`,
    `merged into N`, `same text as N`, where N, also in `number`, is the place of a hit in the answer, counted from 1,
    or the number of a source of the context. A context has `no room` besides.
    """

    chunk_id: int
    document: DocumentInfo
    text: str
    line_start: int
    line_end: int
    page: int | None
    heading_path: tuple[str, ...]
    index: int
    tokens: int
    score: float
    distance: float | None
    match_type: MatchType
    why: Explanation
    reason: str
    number: int | None = None

    @classmethod
    def of(cls, hit: Hit, reason: str, number: int | None = None) -> LeftOut:
        """A hit as something that was left out."""
        return cls(
            chunk_id=hit.chunk_ids[0],
            document=hit.document,
            text=hit.text,
            line_start=hit.line_start,
            line_end=hit.line_end,
            page=hit.page,
            heading_path=hit.heading_path,
            index=hit.index,
            tokens=hit.tokens,
            score=hit.score,
            distance=hit.distance,
            match_type=hit.match_type,
            why=hit.why,
            reason=reason,
            number=number,
        )

    @property
    def place(self) -> str:
        """Where to look, as a hit says it."""
        return place_of(self.document.path, self.document.kind, self.page, self.line_start, self.line_end)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search returns: hits, or the reason why there are none, and how long each step took.

    `reason` can also stand beside hits: when they came from the keyword leg alone (`model_mismatch`), or a model failed
    (`error`). `reranked` is how many candidates a reranker had its say on. `left_out` has, best first, what else was
    considered, when that was asked for (`explain`).
    """

    query: str
    query_type: QueryType
    hits: tuple[Hit, ...]
    reason: Reason | None = None
    detail: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    reranked: int = 0
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Directive:
    """A wish of the caller: what `target` names (a file or folder by its path or the end of it, a declaration by its
    name, qualified or not) must be in the context, or is preferred."""

    target: str
    strength: Literal["must", "prefer"] = "prefer"


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of a conversation."""

    role: str
    content: str


Relation = Literal["caller", "callee", "test", "doc"]
"""What another chunk is to the one asked about: it uses it, is used by it, tests it, or writes about it."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A chunk that is related to another, and how strongly: the weight of the references between them."""

    relation: Relation
    chunk: StoredChunk
    weight: float


@dataclass(frozen=True, slots=True)
class Related:
    """What a declaration or a place in a file has to do with: `target` are the chunks asked about."""

    target: tuple[StoredChunk, ...]
    relatives: tuple[Relative, ...]

    def of(self, relation: Relation) -> tuple[Relative, ...]:
        """Those of one kind, strongest first."""
        return tuple(item for item in self.relatives if item.relation == relation)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A declaration in a map: where it is, its line as it stands there, and how central it is (0 to 1)."""

    path: str
    line: int
    text: str
    symbol: str
    rank: float


@dataclass(frozen=True, slots=True)
class CodeMap:
    """The most central declarations of a codebase as an outline within a token budget."""

    text: str
    tokens: int
    budget_tokens: int
    entries: tuple[MapEntry, ...]
    files: int
    left_out: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A chunk in a graph: where it is, what it declares, and how central it is there (0 to 1)."""

    id: int
    collection: str
    document_id: int
    path: str
    line: int
    symbol: str
    kind: str
    rank: float


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """One chunk leans on another, by chunk ids: how (`relation`) and how surely (`weight`)."""

    source: int
    target: int
    relation: ReferenceKind
    weight: float


@dataclass(frozen=True, slots=True)
class Graph:
    """A part of the reference graph, the most central chunks first: around `target`, or of a whole collection.

    `target` has the chunks that were asked about, which are among the nodes; `left_out` is how many more were near.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    target: tuple[int, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PackedSource:
    """A numbered source of a packed context.

    `hit.chunk_ids` are the chunks that were joined in it. Where it is `truncated`, `whole_tokens` is what its text
    would have taken and `shown_tokens` what it takes; None where it is whole.
    """

    number: int
    hit: Hit
    text: str
    truncated: bool
    whole_tokens: int | None = None
    shown_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """One text within a token budget, and where each part of it came from.

    `left_out` are hits that did not fit; `dropped` has them with the reason and, where the search was asked to
    explain, what it left out before.
    """

    text: str
    tokens: int
    budget_tokens: int
    sources: tuple[PackedSource, ...]
    left_out: tuple[Hit, ...]
    reason: Reason | None = None
    detail: str = ""
    dropped: tuple[LeftOut, ...] = ()


# ------------------------------------------------------------------ reports


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a long job stands: `done` of `total` files or documents (None while still counting)."""

    done: int
    total: int | None
    chunks: int
    path: str
    phase: Literal["scan", "read", "embed", "move", "check"]


OnProgress = Callable[[Progress], None]
"""Told now and then how far a long job is."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an add or a sync did. `masked` is how many secrets were masked in the documents that were written."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    masked: int = 0
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failure, ...] = ()
    document_ids: tuple[int, ...] = ()
    seconds: float = 0.0

    def __add__(self, other: IngestReport) -> IngestReport:
        """Two runs as one."""
        both = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        return IngestReport(**both)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an index holds of a collection. `vectors` counts the chunks, summaries and paths that have theirs; `digest`
    is of all that is stored, whatever its order and ids."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class MovedCollection:
    """A collection as both sides of a move hold it."""

    name: str
    source: Holdings
    target: Holdings


@dataclass(frozen=True, slots=True)
class RankingParity:
    """How far two indexes answer alike: the mean share of their ten best hits that is the same, and the queries where
    it is not all of them, with that share."""

    queries: int
    overlap: float
    different: tuple[tuple[str, float], ...] = ()


LEAST_OVERLAP = 0.95
"""Two indexes that hold the same and agree less than this rank differently. Ties, which fall by the order in which
documents were written, cost less than that. Judgement."""


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did and what the check of it found. `resumed`: it went on with what an earlier run had begun.
    `changed_meanwhile`: the source was written to so often that the copy is of a moment that has passed. `unranked`
    says why the rankings could not be compared, where they could not."""

    collections: tuple[MovedCollection, ...]
    copied: int
    removed: int
    waiting: int
    passes: int
    resumed: bool
    changed_meanwhile: bool
    problems: tuple[str, ...]
    seconds: float
    parity: RankingParity | None = None
    unranked: str = ""

    @property
    def ok(self) -> bool:
        """Whether the copy is whole, the same, and ranks alike."""
        alike = self.parity is None or self.parity.overlap >= LEAST_OVERLAP
        return alike and not self.problems and not self.changed_meanwhile and not self.unranked


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and whether it is in order. `model` is the one in use, `index_model` the stored vectors'."""

    db: str
    collections: tuple[CollectionInfo, ...]
    stats: StoreStats
    model: Model
    index_model: Model | None
    array_bytes: int


@dataclass(frozen=True, slots=True)
class Check:
    """One finding of the doctor."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class StaleDocument:
    """A stored document whose file is no longer what was indexed."""

    document: DocumentInfo
    change: Literal["changed", "missing", "unreadable"]
