"""A condition on metadata becomes SQL: each comparison a lookup in the index of values, joined as it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from outcrop.records.meta import Scalar, compared_text
from outcrop.records.where import (
    All,
    Any,
    Compare,
    Comparison,
    Condition,
    Contains,
    Exists,
    Not,
    OneOf,
    Span,
    span_of,
)
from outcrop.system.dataclass import dataclass

Bound = list[str | float]
Part = tuple[str, Bound]
"""A condition on a row of `meta_values`, or on `documents d`, and the values to bind in it."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a store writes it: the columns of texts and of numbers, a placeholder, and the place of a text in another."""

    text: str
    number: str
    mark: str
    find: str


SQLITE: Final = Dialect("value", "value", "?", "instr")
POSTGRES: Final = Dialect("text", "number", "%s", "strpos")


def condition_sql(condition: Condition, dialect: Dialect) -> Part:
    """A condition on `documents AS d`, and the values to bind in it."""
    match condition:
        case Not(inside):
            sql, values = condition_sql(inside, dialect)
            return f"NOT {sql}", values
        case All(parts):
            return _join(" AND ", [condition_sql(part, dialect) for part in parts])
        case Any(parts):
            return _join(" OR ", [condition_sql(part, dialect) for part in parts])
        case _:
            sql, values = find_values(condition, dialect)
            negated = "NOT " if isinstance(condition, Compare) and condition.operator == "!=" else ""
            return f"{negated}d.id IN ({sql})", values


def find_values(comparison: Comparison, dialect: Dialect) -> Part:
    """A query for the ids of the documents with a value that meets a comparison; of `!=`, those with one that is
    equal."""
    match comparison:
        case Compare(key, operator, value):
            wanted = [_within(span_of(operator, value), dialect)]
        case OneOf(key, listed):
            wanted = list(_equal_to(listed, dialect))
        case Contains(key, text):
            place = f"{dialect.find}(coalesce(folded, {dialect.text}), {dialect.mark})"
            wanted = [(f"kind = 't' AND {place} > 0", [compared_text(text).casefold()])]
        case Exists(key):
            wanted = [("true", [])]
    sql, values = _join(" OR ", wanted)
    return f"SELECT document_id AS id FROM meta_values WHERE key = {dialect.mark} AND {sql}", [key, *values]


def _join(word: str, parts: Sequence[Part]) -> Part:
    return f"({word.join(sql for sql, _ in parts)})", list(chain.from_iterable(values for _, values in parts))


def _within(span: Span, dialect: Dialect) -> Part:
    column = dialect.text if span.kind == "text" else dialect.number
    tests = [f"{column} {'=' if operator == '==' else operator} {dialect.mark}" for operator, _ in span.bounds]
    tests.insert(0, f"kind = '{span.kind[0]}'")
    return f"({' AND '.join(tests)})", [value for _, value in span.bounds]


def _equal_to(listed: Sequence[Scalar], dialect: Dialect) -> Iterator[Part]:
    """One condition for all texts, one for all numbers, and so on; a day is one of its own."""
    same: dict[str, Bound] = {}
    for span in (span_of("==", value) for value in listed):
        if len(span.bounds) > 1:
            yield _within(span, dialect)
        else:
            same.setdefault(span.kind, []).append(span.bounds[0][1])
    for kind, values in same.items():
        column = dialect.text if kind == "text" else dialect.number
        yield f"(kind = '{kind[0]}' AND {column} IN ({', '.join([dialect.mark] * len(values))}))", values
