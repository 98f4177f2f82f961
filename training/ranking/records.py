"""The nouns: a question with its answers, and what the engine knew of each candidate when it was asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from outcrop.records import QueryType

TYPES: Final[tuple[QueryType, ...]] = ("exact", "mixed", "semantic")
PASSAGE_KINDS: Final = frozenset(("doc", "question", "heading", "name"))
"""Kinds of question whose answer is a passage; that of the others is a file."""
_ABOUT: Final = ("source", "kind", "type", "words", "answers")
_ARRAYS: Final = ("columns", "fused", "file", "code", "right_file", "right")

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its answers: (path, first line, last line); lines 0 to 0 stand for the whole file."""

    kind: str
    text: str
    gold: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A question as the engine saw it, one row a candidate: the columns in the order of PRIOR, the score of the two
    legs, the number of its file, whether it is code, lies in a right file, and is the right passage."""

    source: str
    kind: str
    type: QueryType
    words: int
    answers: int
    columns: Floats
    fused: Floats
    file: NDArray[np.intp]
    code: Flags
    right_file: Flags
    right: Flags


def write_questions(asked: Sequence[Asked], path: Path) -> None:
    """One a line."""
    path.write_text("".join(json.dumps(asdict(item)) + "\n" for item in asked), "utf-8")


def write_cases(cases: Sequence[Case], path: Path) -> None:
    """All cases of one source, in one file."""
    about = [{name: getattr(case, name) for name in _ABOUT} for case in cases]
    rows = [np.concatenate([getattr(case, name) for case in cases] or [np.zeros(0)]) for name in _ARRAYS]
    sizes = np.array([len(case.fused) for case in cases], np.intp)
    new = path.with_suffix(".new.npz")
    np.savez_compressed(new, np.array(json.dumps(about)), sizes, *rows)
    new.rename(path)


def read_cases(path: Path) -> list[Case]:
    """What `write_cases` wrote."""
    with np.load(path) as kept:
        about, sizes, *rows = (kept[f"arr_{place}"] for place in range(2 + len(_ARRAYS)))
    parts = [np.split(column, np.cumsum(sizes)[:-1]) for column in rows]
    told = json.loads(str(about))
    return [Case(*map(one.get, _ABOUT), *(part[place] for part in parts)) for place, one in enumerate(told)]
