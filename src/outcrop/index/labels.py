"""What a row or a column of a table is called, as a term of its own: a cell is found by its labels.

The words of a query that are all of a cell ("total sales" in `| Total sales | 1,496.5 |`) say far more of a table than
the same words somewhere in it. So every cell of a few words, years included, gives its chunk a term that stands for
those words together, and a query asks for each run of its words. Such terms do not count in the length of a chunk.

A number with marks between its thousands gets a term without them, so that 1234567 finds 1,234,567 and the other way
round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from outcrop.records import FeedRow
from outcrop.system.arrays import NDArray
from outcrop.text.cells import cells_of_row, find_cells, join_thousands, without_asides
from outcrop.text.terms import STOP_WORDS, Terms, term_number

_MARK: Final = "\x02"
"""Before the words of a label: no text gives a term with this character."""
MAX_LABEL_WORDS: Final = 6
"""Words of a label, without stop words: longer cells are sentences (not measured)."""
MAX_ASKED_WORDS: Final = 32
"""Words of a query of which labels are made: a longer one is a pasted text (not measured)."""
_TELLING: Final = re.compile(r"[^\W\d_]|(?<!\d)(?:19|20)\d\d(?!\d)")
"""A letter or a year: other numbers are values, and looked up as words."""

Word = tuple[int, ...]


def terms_beside_words(feed: Sequence[FeedRow], terms: Terms) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(term, row) of the labels of tables, in texts and headings, and of numbers with marks between the thousands."""
    numbers: list[int] = []
    owners: list[int] = []
    known: dict[str, tuple[int, ...]] = {}
    for row, item in enumerate(feed):
        if item.kind == "code":
            continue
        found = dict.fromkeys(map(term_number, join_thousands(item.text)))
        cells = list(find_cells(item.text, item.kind))
        if cells:  # the header of a table that was cut stands last among the headings
            cells += (cell for heading in item.heading_path[-1:] for cell in cells_of_row(heading))
        for cell in cells:
            if cell not in known:
                known[cell] = labels_of_cell(cell, terms)
            found.update(dict.fromkeys(known[cell]))
        numbers += found
        owners += [row] * len(found)
    return np.array(numbers, np.uint64), np.array(owners, np.uint64)


def labels_of_cell(cell: str, terms: Terms) -> tuple[int, ...]:
    """The terms of a cell as a label: as it stands, and without what it has in brackets; none if it is a value."""
    labels = []
    for text in dict.fromkeys((cell, without_asides(cell))):
        words = _telling_words(text, terms)
        if 1 <= len(words) <= MAX_LABEL_WORDS and _TELLING.search(text):
            labels.append(_label_number(words))
    return tuple(labels)


def labels_of_query(text: str, terms: Terms) -> tuple[dict[int, tuple[int, ...]], tuple[int, ...]]:
    """The labels that runs of a query's words may be, each with the terms that stand for its words; and those of all
    words that could be in one."""
    words = _telling_words(text, terms)[:MAX_ASKED_WORDS]
    labels: dict[int, tuple[int, ...]] = {}
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_LABEL_WORDS, len(words)) + 1):
            labels[_label_number(words[start:end])] = tuple(word[0] for word in words[start:end])
    return labels, tuple(dict.fromkeys(word[0] for word in words))


def _telling_words(text: str, terms: Terms) -> list[Word]:
    return [found for surface, found in terms.words(text) if found and surface.lower() not in STOP_WORDS]


def _label_number(words: Sequence[Word]) -> int:
    return term_number(_MARK + " ".join(format(term, "x") for word in words for term in word))
