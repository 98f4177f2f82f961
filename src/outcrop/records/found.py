"""What is found: hits and why they stand where they stand, answers, and the context packed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal

from outcrop.records.asked import QueryType
from outcrop.records.parsed import CodeNotes
from outcrop.records.stored import DocumentInfo, StoredChunk
from outcrop.records.validity import Validity
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MatchType = Literal["semantic", "keyword", "both"]
Reason = Literal["empty_query", "empty_index", "no_hits", "filtered_out", "model_mismatch", "error"]
"""Why an answer is empty, or holds less than it could: nothing was asked (`empty_query`), the index holds nothing yet
(`empty_index`), nothing is near enough (`no_hits`), the filters leave nothing to search (`filtered_out`), the index has
vectors of another model and only words were searched (`model_mismatch`), the index or a model failed (`error`)."""


DOUBTFUL: Final = 0.19
"""Below this chance of an answer, it is probably not here: of questions whose answer is there, 95 % have more. Of those
whose answer was taken out of the index, 29 % have less, of questions about something else 65 % (`training.ranking`)."""


@dataclass(frozen=True, slots=True)
class Boost:
    """One ranking signal's contribution to a hit, in the words of the table that lists it."""

    name: str
    amount: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit stands where it stands. Ranks count from 1; None where that leg did not find it.

    `matched_terms` are the words that matched, heaviest first, `matched_phrases` the quoted phrases of several words.
    `words` and `meaning` are what each leg gave and add up to `fused`; `fused` and the boosts add up to `total`,
    from which the hit's `score` follows (`rank.fusion`). `coverage` is the share of the query's words that the passage
    holds, `language` the one by whose rules they were read, empty for English.
    A context may then lift a hit: boosts named `must`, `preferred`, `mentioned`, `followed` and `beside` are in terms
    of the score itself and no part of the total.
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
    coverage: float = 0.0
    matched_phrases: tuple[str, ...] = ()
    language: str = ""

    @property
    def matched(self) -> tuple[str, ...]:
        """The phrases and then the words that matched."""
        return (*self.matched_phrases, *self.matched_terms)

    @property
    def match_type(self) -> MatchType:
        """Which leg found it."""
        if self.lexical_rank is None:
            return "semantic"
        return "keyword" if self.dense_rank is None else "both"


EXTRACTED_KINDS = frozenset(
    "html doc docx ppt pptx xlsx epub notebook pdf session mail "
    "mailbox chat issue note export archive calendar contacts odt odp rtf".split()
)
"""Kinds whose text is made from the file: its lines are not the file's lines."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a near copy of a hit stands."""

    chunk_id: int
    document_id: int
    collection: str
    path: str
    place: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers a query: one chunk, or adjacent chunks merged.

    `score` lies in 0–1 and means the same across queries. `distance` is the cosine distance (0–2), None when no
    vector took part. `stale` is True when the file changed since it was indexed, None when that cannot be told.
    `heading_path` is the section its matching lines stand in, `headings` has the path of every section it holds.
    `gap` is the whitespace before it in the document. `code` is there for source code. `revision` is the commit that
    was checked out when the file was indexed, `dirty` whether the file differed from what git's index records; None
    outside a repository. `copies` is how many other files hold nearly the same passage and were left out for it; `also`
    names the first of them. `validity` says how a document that takes part in time stands; None for all others.
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
    headings: tuple[tuple[str, ...], ...] = ()
    copies: int = 0
    also: tuple[Copy, ...] = ()
    validity: Validity | None = None

    @classmethod
    def of(
        cls,
        chunk: StoredChunk,
        score: float,
        why: Explanation,
        heading_path: tuple[str, ...] | None = None,
        headings: tuple[tuple[str, ...], ...] | None = None,
    ) -> Hit:
        """One chunk as a hit, under the heading it matched under and with all that it holds; those of the chunk where
        none are given."""
        return cls(
            chunk_ids=(chunk.id,),
            document=chunk.document,
            text=chunk.text,
            start=chunk.start,
            end=chunk.end,
            line_start=chunk.line_start,
            line_end=chunk.line_end,
            page=chunk.page,
            heading_path=chunk.shown_path if heading_path is None else heading_path,
            index=chunk.index,
            tokens=chunk.tokens,
            score=score,
            distance=None if why.similarity is None else 1 - why.similarity,
            match_type=why.match_type,
            why=why,
            gap=chunk.gap,
            code=chunk.code,
            headings=chunk.headings if headings is None else headings,
        )

    def stamped(self, stale: bool | None, revision: str | None, dirty: bool | None) -> Hit:
        """The same with what is known of its file."""
        if (stale, revision, dirty) == (self.stale, self.revision, self.dirty):
            return self
        made = object.__new__(Hit)
        for name in Hit.__slots__:  # a third of what `replace` takes, ten times in every search
            object.__setattr__(made, name, getattr(self, name))
        for name, value in (("stale", stale), ("revision", revision), ("dirty", dirty)):
            object.__setattr__(made, name, value)
        return made

    @property
    def elsewhere(self) -> str:
        """`and 23 more places`, or nothing where no other file holds the same."""
        return f"and {self.copies} more place{'' if self.copies == 1 else 's'}" if self.copies else ""

    @property
    def told(self) -> str:
        """What the document says of time: `replaced by api/tokens.md on 2026-03-01`; mostly nothing."""
        return self.validity.told if self.validity is not None else ""

    @property
    def place(self) -> str:
        """Where to look: `notes/plan.md:12-30`, `paper.pdf p. 3`, `page.html text 12-30` (of the extracted text)."""
        info, section = self.document, self.heading_path
        return place_of(info.path, info.kind, self.page, self.line_start, self.line_end, section)


PAGE_WORDS: Final = {"xlsx": "sheet", "pptx": "slide", "ppt": "slide", "odp": "slide"}
"""What people call the pages of a kind; `p.` of any other."""


def place_of(
    path: str, kind: str, page: int | None, line_start: int, line_end: int, section: Sequence[str] = ()
) -> str:
    """Where to look: `notes/plan.md:12-30`, `paper.pdf p. 3`, `talk.pptx slide 3`, `book.xlsx sheet Fuel`,
    `page.html text 12-30` (of the extracted text). Sheets have names, under which their rows stand."""
    if kind == "xlsx" and section:
        return f"{path} sheet {section[0]}"
    if page is not None:
        return f"{path} {PAGE_WORDS.get(kind, 'p.')} {page}"
    last = "" if line_end == line_start else f"-{line_end}"
    joint = " text " if kind in EXTRACTED_KINDS else ":"
    return f"{path}{joint}{line_start}{last}"


WhyLeftOut = Literal[
    "below floor",
    "too far",
    "below cutoff",
    "past the limit",
    "boilerplate",
    "merged into",
    "same text as",
    "near copy of",
    "no room",
]
"""Why a chunk is not a hit of its own. `too far` is past `max_distance`; a context alone has `no room`."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A chunk that could have been in an answer or a context and is not, or not by itself.

    Where the reason is another hit, `number` is its place in the answer, counted from 1, or the number of a source of
    the context.
    """

    hit: Hit
    reason: WhyLeftOut
    number: int | None = None

    @property
    def told(self) -> str:
        """The reason as people read it: `below floor`, `merged into 3`."""
        return self.reason if self.number is None else f"{self.reason} {self.number}"


@dataclass(frozen=True, slots=True)
class MeaningShare:
    """How much meaning weighed against words, 0 to 1, in prose and in code."""

    prose: float
    code: float


@dataclass(frozen=True, slots=True)
class Clause:
    """A short query made of a pasted text: which part of it (`title`, `problem`, `errors`, `places`, `names`, `code`),
    its words, and how much it counts beside the others."""

    name: str
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The best hit of a collection that was not asked, because the search was about another project."""

    collection: str
    place: str
    score: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search returns: hits, or the reason why there are none, and how long each step took.

    `reason` can also stand beside hits: when they came from the keyword leg alone (`model_mismatch`), or a model failed
    (`error`). `reranked` is how many candidates a reranker scored. `left_out` has, best first, what else was
    considered, when that was asked for (`explain`). `unmatched_phrases` are quoted phrases that the query requires but
    no passage holds: the hits are those of the same query without the quotation marks, and `detail` says so.
    `meaning_share` is how much meaning weighed in the order of the hits, None where nothing was searched. `question`
    has the clauses that were asked of a pasted text, none for a query that was typed. `answerable` is the chance that
    the answer is in the index at all, None where that was not asked; where it is low, `detail` says so. `elsewhere`
    names other projects that are clearly better, where one project was asked (`here`). `language` is the code of
    the one by whose rules the words of the query were read, empty for English ones.
    """

    query: str
    query_type: QueryType
    hits: tuple[Hit, ...]
    reason: Reason | None = None
    detail: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    reranked: int = 0
    left_out: tuple[LeftOut, ...] = ()
    unmatched_phrases: tuple[str, ...] = ()
    meaning_share: MeaningShare | None = None
    question: tuple[Clause, ...] = ()
    answerable: float | None = None
    elsewhere: tuple[Elsewhere, ...] = ()
    language: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether the answer is probably not in the index."""
        return self.answerable is not None and self.answerable < DOUBTFUL

    def to_rows(self) -> list[dict[str, Any]]:
        """A dictionary for each hit, all with the same keys; `outcrop.to_rows` takes documents and chunks too."""
        from outcrop.records.tables import to_rows

        return to_rows(self.hits)

    def to_arrow(self) -> pa.Table:
        """The hits as an Arrow table; ConfigError where pyarrow is not installed."""
        from outcrop.records.tables import to_arrow

        return to_arrow(self.hits)


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
    explain, what it left out before. `unmatched_phrases`, `answerable` and `elsewhere` are those of the answer it was
    packed from.
    """

    text: str
    tokens: int
    budget_tokens: int
    sources: tuple[PackedSource, ...]
    left_out: tuple[Hit, ...]
    reason: Reason | None = None
    detail: str = ""
    dropped: tuple[LeftOut, ...] = ()
    unmatched_phrases: tuple[str, ...] = ()
    answerable: float | None = None
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether the answer is probably not in the index."""
        return self.answerable is not None and self.answerable < DOUBTFUL


@dataclass(frozen=True, slots=True)
class PageWord:
    """A word on a page: its box as shares (0–1) of the picture's width and height, from the upper left, and whether it
    is `marked` as one of the passage that was asked for."""

    text: str
    x: float
    y: float
    width: float
    height: float
    marked: bool


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page of a PDF or of a picture file as a PNG of `width` × `height` pixels, with its words in the order of
    its text; `pages` is how many the document has."""

    page: int
    pages: int
    width: int
    height: int
    png: bytes
    words: tuple[PageWord, ...]
