"""Rows that may answer a query, in columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Final

import numpy as np

from outcrop.records.asked import QueryType
from outcrop.records.parsed import Role
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

Floats = NDArray[np.float32]


def _empty(kind: type) -> Callable[[], NDArray[Any]]:
    """Makes a column that its stage has yet to fill."""
    column: NDArray[Any] = np.zeros(0, kind)
    return lambda: column


_NUMBERS: Final = _empty(np.int32)
_PLACES: Final = _empty(np.intp)
_IDS: Final = _empty(np.int64)
_FLAGS: Final = _empty(np.bool_)
_SCORES: Final = _empty(np.float32)
_NAMES: Final = _empty(np.str_)
_COUNTS: Final = _empty(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """What is known of each row, one entry a row; the stages of a search fill the columns one after the other.

    Found: rows ascend by (segment, row). Ranks count from 1, and 0 means that the leg did not list the row; `cosine` is
    0 where there is no vector. Rows that are no `candidate` are only here to say what stands beside one; `position` is
    where in its document a row stands, counted from anywhere.

    Fused: `words` and `meaning` are what the legs give to `fused`, their sum; `before` and `after` have the fused score
    of the neighbours in the same document, NaN where there is none.

    Described: `file` numbers the documents. `stem` and `folder` say how far the words of the file's name and folders
    are those of the query, `defines` how surely the row declares a name of the query, `linked` how strongly the best
    candidates lean on it, `project` how much of the query the name of its project is, where not all share it. `held`
    has the quoted phrases that some row holds word for word, and which do, `quoted` how much of them a row holds.
    `file_words` is the share of the query's terms that the rows of a document hold between them, `file_rare_words` the
    same by weight. Of prose `around` is the score by words of the stretch of text that a row stands in, `labels` the
    share of the query that rows and columns of tables there are called by; a search by meaning alone has neither.
    `times` says how often a row, a line each, holds each term of the query, in the order of their weights.
    All are 0 to 1, `linked` times how strongly references are to be followed. Of the query itself, `asked` are the
    roles it asks for, and `wants_guide` tells that it is a question of a user of the program.

    Ranked: `words`, `meaning` and `fused` are weighed, `boosts` has what each signal adds to them, `final` is what
    comes of it; `order` has the places of the rows that may be returned, best first; `score` is the chance that a row
    answers the query.
    """

    segment: NDArray[np.int32] = field(default_factory=_NUMBERS)
    row: NDArray[np.intp] = field(default_factory=_PLACES)
    position: NDArray[np.intp] = field(default_factory=_PLACES)
    chunk_id: NDArray[np.int64] = field(default_factory=_IDS)
    document_id: NDArray[np.int64] = field(default_factory=_IDS)
    code: NDArray[np.bool_] = field(default_factory=_FLAGS)
    lexical: Floats = field(default_factory=_SCORES)
    cosine: Floats = field(default_factory=_SCORES)
    lexical_rank: NDArray[np.int32] = field(default_factory=_NUMBERS)
    dense_rank: NDArray[np.int32] = field(default_factory=_NUMBERS)
    candidate: NDArray[np.bool_] = field(default_factory=_FLAGS)
    times: NDArray[np.uint8] = field(default_factory=_COUNTS)

    words: Floats = field(default_factory=_SCORES)
    meaning: Floats = field(default_factory=_SCORES)
    fused: Floats = field(default_factory=_SCORES)
    before: Floats = field(default_factory=_SCORES)
    after: Floats = field(default_factory=_SCORES)

    file: NDArray[np.intp] = field(default_factory=_PLACES)
    role: NDArray[np.str_] = field(default_factory=_NAMES)
    header: NDArray[np.bool_] = field(default_factory=_FLAGS)
    stem: Floats = field(default_factory=_SCORES)
    folder: Floats = field(default_factory=_SCORES)
    defines: Floats = field(default_factory=_SCORES)
    linked: Floats = field(default_factory=_SCORES)
    project: Floats = field(default_factory=_SCORES)
    quoted: Floats = field(default_factory=_SCORES)
    file_words: Floats = field(default_factory=_SCORES)
    file_rare_words: Floats = field(default_factory=_SCORES)
    around: Floats = field(default_factory=_SCORES)
    labels: Floats = field(default_factory=_SCORES)
    held: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    kind: QueryType = "mixed"
    asked: frozenset[Role] = frozenset()
    wants_guide: bool = False

    final: Floats = field(default_factory=_SCORES)
    boosts: Mapping[str, Floats] = field(default_factory=dict)
    order: NDArray[np.intp] = field(default_factory=_PLACES)
    score: Floats = field(default_factory=_SCORES)

    def __len__(self) -> int:
        return len(self.chunk_id)

    @property
    def best(self) -> float:
        """The highest fused score."""
        return float(self.fused.max(initial=0.0))

    def put(self, **columns: Any) -> Candidates:
        """The same with other columns. A search does so a dozen times, and `dataclasses.replace` takes ten times as
        long, for it hands over every column one by one."""
        made = object.__new__(Candidates)
        made.__dict__.update(self.__dict__)
        made.__dict__.update(columns)
        return made

    def take(self, which: NDArray[np.intp]) -> Candidates:
        """Some of the rows, before they are ranked."""
        columns = ((name, self.__dict__[name]) for name in COLUMNS)
        return self.put(**{name: column[which] for name, column in columns if len(column)})

    @classmethod
    def join(cls, parts: Sequence[Candidates]) -> Candidates:
        """The rows of all, one after the other; a column that only some have is 0 in the others."""
        if len(parts) < 2:
            return parts[0] if parts else cls()
        joined: dict[str, Any] = {}
        for name in COLUMNS:
            columns = [part.__dict__[name] for part in parts]
            known = [column for column in columns if len(column)]
            if known:
                other, pairs = known[0], zip(parts, columns, strict=True)
                joined[name] = np.concatenate(
                    [c if len(c) else np.zeros((len(part), *other.shape[1:]), other.dtype) for part, c in pairs]
                )
        return cls(**joined)

    def neighbour(self, scores: Floats, step: int) -> Floats:
        """For each row the score of the chunk `step` away in the same document, NaN where there is none."""
        beside: Floats = np.full(len(self), np.nan, np.float32)
        if len(self) < 2:
            return beside
        here, there = (slice(0, -1), slice(1, None)) if step > 0 else (slice(1, None), slice(0, -1))
        same = (
            (self.segment[here] == self.segment[there])
            & (self.position[here] + step == self.position[there])
            & (self.document_id[here] == self.document_id[there])
        )
        beside[here] = np.where(same, scores[there], np.nan)
        return beside


COLUMNS: Final = tuple(
    item.name for item in fields(Candidates) if str(item.type).startswith(("NDArray", "Floats"))
)
"""The names of the columns."""
