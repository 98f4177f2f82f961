"""Conditions on metadata at random, and what they mean, said in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any as Anything

from hypothesis import strategies as st

from outcrop.records import Meta, MetaValue, Scalar
from outcrop.records.where import All, Any, Compare, Condition, Contains, Exists, Not, OneOf

TEXTS = (
    "",
    "a",
    "B",
    "b",
    "ab",
    "Straße",
    "é",
    "\U0001f600",
    "a%_",
    "2024-05-06",
    "2024-05-06T10:00:00Z",
    "true",
    "7",
)
NUMBERS = (-1, 0, 7, 7.5, 2024, 2**53)
DATES = (
    date(2024, 5, 5),
    date(2024, 5, 6),
    datetime(2024, 5, 6, 10),
    datetime(2024, 5, 6, 12, tzinfo=timezone(timedelta(hours=2))),
    datetime(2024, 5, 7, tzinfo=UTC),
)
KEYS = ("a", "b", "content type", "and", 'q"uote', "größe")

scalars: st.SearchStrategy[Scalar] = st.sampled_from((*TEXTS, *NUMBERS, *DATES, True, False))
values: st.SearchStrategy[MetaValue] = scalars | st.lists(scalars, max_size=3).map(tuple)
metas = st.dictionaries(st.sampled_from(KEYS), values, max_size=3)
_ordered = ("==", "!=", "<", "<=", ">", ">=")


def _compares() -> st.SearchStrategy[Condition]:
    def make(key: str, sign: Anything, value: Scalar) -> Condition:
        return Compare(key, "==" if isinstance(value, bool) and sign not in ("==", "!=") else sign, value)

    return st.builds(make, st.sampled_from(KEYS), st.sampled_from(_ordered), scalars)


def _several(inside: st.SearchStrategy[Condition]) -> st.SearchStrategy[tuple[Condition, ...]]:
    return st.lists(inside, min_size=2, max_size=3).map(tuple)


def conditions() -> st.SearchStrategy[Condition]:
    """Conditions of every form, nested."""
    keys = st.sampled_from(KEYS)
    leaves = (
        _compares()
        | st.builds(OneOf, keys, st.lists(scalars, min_size=1, max_size=4).map(tuple))
        | st.builds(Contains, keys, st.sampled_from(TEXTS))
        | st.builds(Exists, keys)
    )
    return st.recursive(
        leaves,
        lambda inside: (
            st.builds(Not, inside) | st.builds(All, _several(inside)) | st.builds(Any, _several(inside))
        ),
        max_leaves=5,
    )


_SIGNS: Mapping[str, Callable[[Anything, Anything], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(condition: Condition, meta: Meta) -> bool:
    """Whether a condition holds for the metadata of a document."""
    match condition:
        case Not(inside):
            return not holds(inside, meta)
        case All(parts):
            return all(holds(part, meta) for part in parts)
        case Any(parts):
            return any(holds(part, meta) for part in parts)
        case Compare(key, "!=", value):
            return not holds(Compare(key, "==", value), meta)
        case Compare(key, sign, value):
            return any(_compares_so(item, sign, value) for item in _items(meta, key))
        case OneOf(key, listed):
            return any(_compares_so(item, "==", value) for item in _items(meta, key) for value in listed)
        case Contains(key, text):
            return any(
                text.casefold() in _as_text(item).casefold() for item in _items(meta, key) if _is_text(item)
            )
        case Exists(key):
            return bool(_items(meta, key))


def _items(meta: Meta, key: str) -> tuple[Scalar, ...]:
    value = meta.get(key, ())
    return value if isinstance(value, tuple) else (value,)


def _is_text(item: Scalar) -> bool:
    return isinstance(item, str | date)


def _as_text(item: Scalar) -> str:
    return item.isoformat() if isinstance(item, date) else str(item)


def _compares_so(item: Scalar, sign: str, value: Scalar) -> bool:
    compare = _SIGNS[sign]
    if isinstance(value, bool) or isinstance(item, bool):
        return isinstance(value, bool) and isinstance(item, bool) and compare(item, value)
    if isinstance(value, str):
        return _is_text(item) and compare(_as_text(item), value)
    if isinstance(value, date):
        moment = _moment(item)
        return moment is not None and _compares_moment(moment, sign, value)
    return isinstance(item, int | float) and compare(item, value)


def _moment(item: Scalar) -> datetime | None:
    if isinstance(item, str):
        try:
            item = datetime.fromisoformat(item)
        except ValueError:
            return None
    if isinstance(item, datetime):
        return item if item.tzinfo else item.replace(tzinfo=UTC)
    return datetime.combine(item, time(), UTC) if isinstance(item, date) else None


def _compares_moment(moment: datetime, sign: str, value: date) -> bool:
    if isinstance(value, datetime):
        return _SIGNS[sign](moment, _moment(value))
    return _SIGNS[sign](moment.astimezone(UTC).date(), value)
