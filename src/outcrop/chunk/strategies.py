"""The way into this stage: options, the table of strategies, and `chunk_document`.

A strategy only sets the size, the boundaries in order of preference, and whether sections are walls; the cutter does
the rest. Pages are walls under every strategy, so each chunk is on one page. Sizes are ceilings: no chunk is larger
than the target, overlap included.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from outcrop.chunk.boundaries import (
    BLANK_LINE,
    BLOCK_LINE,
    HEADING_LINE,
    LINE,
    RULE,
    SENTENCE,
    SPACE,
    Boundary,
    Offsets,
    Outline,
    find_fences,
)
from outcrop.chunk.cut import QUARTERS, Cutter, Ruler, measure, overlap_starts, to_tokens
from outcrop.chunk.declarations import Notes, regions_of
from outcrop.chunk.dialogue import Dialogue
from outcrop.chunk.tables import Tables
from outcrop.errors import ConfigError
from outcrop.records import SESSION, Chunk, CodeNotes, Document
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_time

StrategyName = Literal["auto", "prose", "headings", "recursive"]

AUTO_TARGET_TOKENS = 200
"""Ceiling of a chunk under `auto`. Measured with the whole engine at 100, 150, 200, 250, 300, 400, 500 tokens: the docs
set's nDCG@10 falls slowly (.829 .823 .822 .817 .816 .808 .810), the chunking set's recall in the top five rises (.814
.883 .899 .912 .926 .923 .935) while the share of returned text that was wanted falls (IoU .159 .118 .088 .075 .063
.051 .042). 200 is about the smallest that finds nine of ten."""

AUTO_CODE_TOKENS = 300
"""Ceiling of a chunk of source code under `auto`. At 200, 250, 300 and 400 tokens NDCG@10 on the code set
(`benchmarks.code`, on which it was chosen) is .899, .898, .900 and .902: too close to decide, and smaller chunks leave
room for more files in a context."""

_LINE_KINDS = frozenset({"code", "csv", "json", "toml", "yaml"})
"""Kinds whose lines and indentation matter. In all others the end of a sentence is preferred to the end of a line,
since many texts are wrapped at a column."""

_WITHOUT_TABLES = frozenset({"code", "json", "toml", "yaml"})
"""Kinds in which bars are operators or values."""

_CODE_INDENT = 4
"""Columns from which an indented line of any other text is code, as in Markdown."""

_MAX_OVERLAP = 0.5
"""With more, text would appear in three chunks."""


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How to chunk. Zero and None mean the strategy's own default; `overlap` is a share of the target. A minimum above
    half of the target is lowered to that: both cannot hold otherwise."""

    strategy: StrategyName = "auto"
    target_tokens: int = 0
    overlap: float | None = None
    min_chars: int | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ConfigError(f"there is no chunker {self.strategy!r}; choose one of {', '.join(STRATEGIES)}")
        if self.target_tokens < 0:
            raise ConfigError("target_tokens must be zero (the chunker's default) or more")
        if self.overlap is not None and not 0 <= self.overlap <= _MAX_OVERLAP:
            raise ConfigError(f"overlap must lie between 0 and {_MAX_OVERLAP}")
        if self.min_chars is not None and self.min_chars < 0:
            raise ConfigError("min_chars must be zero or more")


@dataclass(frozen=True, slots=True)
class Strategy:
    """One row of the table. `by_characters` measures four characters a token whatever the script."""

    target_tokens: int
    overlap: float
    min_chars: int
    boundaries: Callable[[Document, Outline, list[tuple[int, int]]], tuple[Boundary, ...]]
    by_sections: bool = False
    by_characters: bool = False


def _auto_boundaries(document: Document, outline: Outline, _: list[tuple[int, int]]) -> tuple[Boundary, ...]:
    if document.keys or document.kind in _LINE_KINDS:
        fine: tuple[Boundary, ...] = (BLOCK_LINE, LINE, SENTENCE, SPACE)
        if document.keys:
            # an empty line inside an entry is no better than any line end; only entries stand on their own
            return (Offsets(sorted(document.keys)), LINE, SPACE)
    else:
        fine = (BLOCK_LINE, SENTENCE, LINE, SPACE)
    headings: tuple[Boundary, ...] = (Offsets(outline.starts),) if outline.starts else ()
    return (*headings, BLANK_LINE, *fine)


def _prose_boundaries(*_: object) -> tuple[Boundary, ...]:
    return (BLANK_LINE, BLOCK_LINE, SENTENCE, LINE, SPACE)


def _recursive_boundaries(_: Document, outline: Outline, fences: list[tuple[int, int]]) -> tuple[Boundary, ...]:
    edges = sorted(edge for fence in fences for edge in fence)
    headings: Boundary = Offsets(outline.starts) if outline.starts else HEADING_LINE
    return (headings, *((Offsets(edges),) if edges else ()), RULE, BLANK_LINE, LINE, SPACE)


STRATEGIES: dict[str, Strategy] = {
    # documents with entries by their entries, with headings by sections, others by paragraphs and sentences
    "auto": Strategy(AUTO_TARGET_TOKENS, 0.0, 100, _auto_boundaries, by_sections=True),
    # paragraphs, then sentences, each chunk repeating the end of the one before
    "prose": Strategy(768, 0.1, 100, _prose_boundaries),
    # sections, long ones by paragraphs, then sentences
    "headings": Strategy(500, 0.0, 100, _auto_boundaries, by_sections=True),
    # 1000 characters, 200 of them shared, at the coarsest Markdown boundary there is
    "recursive": Strategy(250, 0.2, 100, _recursive_boundaries, by_characters=True),
}


def chunk_document(document: Document, options: ChunkOptions = ChunkOptions()) -> tuple[Chunk, ...]:  # noqa: B008 - frozen
    """The chunks of a document in order, each a stretch of its text; none where there is only whitespace.

    Chunks cover everything but whitespace and start and end with none, except that a first line indented like code
    keeps its indentation. None crosses a page; none is larger than the target; none is smaller than the minimum unless
    its page or section is, or a gap wider than a chunk sets it apart.
    """
    text = document.text
    strategy = STRATEGIES[options.strategy]
    tokens = measure(text)
    ruler = Ruler() if strategy.by_characters else tokens
    outline = Outline(text, document.headings)
    fences = find_fences(text)
    code = document.outline if options.strategy == "auto" and document.outline else None
    if code is not None and not code.language:  # prose: the outline holds references only
        code = None
    target = strategy.target_tokens if code is None else AUTO_CODE_TOKENS
    limit = QUARTERS * (options.target_tokens or target)
    ratio = strategy.overlap if options.overlap is None else options.overlap
    room = max(limit - int(limit * ratio), QUARTERS)
    minimum = strategy.min_chars if options.min_chars is None else options.min_chars
    minimum = min(minimum, room // (2 * ruler.widest))
    dialogue = Dialogue(text, document.headings) if document.kind == SESSION else None
    if dialogue is not None and options.min_chars is None:
        minimum = 0  # a turn is never joined to that of another speaker
    boundaries = strategy.boundaries(document, outline, fences)
    if code is not None:
        boundaries = (Offsets(code.cuts), BLANK_LINE, LINE, SPACE)
    cutter = Cutter(
        text=text,
        ruler=ruler,
        limit=room,
        minimum=minimum,
        boundaries=boundaries,
        kept=fences if code is None else (),
        headings=outline.starts,
        indent=1 if document.kind in _LINE_KINDS else _CODE_INDENT,
    )
    pages = sorted(page for page in document.pages if 0 <= page <= len(text))
    walls = sorted({0, *pages, len(text)})
    stretches: list[tuple[int, int, int]] = []
    for wall, next_wall in pairwise(walls):
        regions = [(wall, next_wall)]
        if code is not None:
            regions = regions_of(text, code, ruler.size, room)
        elif strategy.by_sections and outline.starts:
            regions = outline.regions(wall, next_wall, size=ruler.size, limit=room, minimum=minimum)
        for region_start, region_end in regions:
            check_time()
            pieces = cutter.cut(region_start, region_end)
            starts = [start for start, _ in pieces]
            if limit > room:
                starts = overlap_starts(cutter, pieces, limit - room)
            stretches += [(start, *piece) for start, piece in zip(starts, pieces, strict=True)]
    notes = Notes(text, document.outline, document.role) if document.outline is not None else None
    plain = dialogue is None and document.kind not in _WITHOUT_TABLES
    tables = Tables(text, document.kind, outline.starts, fences) if plain else None
    return _to_chunks(text, tokens, outline, pages, stretches, notes, dialogue, tables)


def _to_chunks(
    text: str,
    tokens: Ruler,
    outline: Outline,
    pages: list[int],
    stretches: list[tuple[int, int, int]],
    notes: Notes | None,
    dialogue: Dialogue | None,
    tables: Tables | None,
) -> tuple[Chunk, ...]:
    """Chunks from (start, start without the overlap, end), counting lines on the way."""
    chunks: list[Chunk] = []
    code: CodeNotes | None = None
    place: tuple[str, ...] | None
    line, counted = 1, 0
    for index, (start, own_start, end) in enumerate(stretches):
        check_time()
        line += text.count("\n", counted, start)
        counted = start
        place = None
        if notes is not None:
            code, place = notes.of(start, end, line)
        elif dialogue is not None:
            place = dialogue.place(own_start)
        if place is None:
            place = (*outline.path(own_start, end), *(tables.context(own_start, end) if tables else ()))
        chunks.append(
            Chunk(
                index=index,
                start=start,
                end=end,
                text=text[start:end],
                tokens=to_tokens(tokens.size(start, end)),
                heading_path=place,
                line_start=line,
                line_end=line + text.count("\n", start, end),
                page=max(1, bisect_right(pages, start)) if pages else None,
                code=code,
            )
        )
    return tuple(chunks)
