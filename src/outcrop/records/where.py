"""Conditions on metadata: `year >= 2020 and (author contains "Lee" or not draft == true)`.

One parser makes the tree, `str` of a tree is text that parses to the same tree, and each store turns it into a query.
A condition holds for a list where it holds for one of its items. What a document does not have is equal to nothing, so
`!=` and `not` hold for it; `and author exists` leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from outcrop.errors import QueryError
from outcrop.records.meta import MAX_WHOLE, Kind, Scalar, compared_text, read_date, stamp
from outcrop.system.dataclass import dataclass
from outcrop.text.pattern import pattern

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Compare:
    """`year >= 2020`. A day is all of that day: `sent <= 2024-05-06` holds until its end."""

    key: str
    operator: Operator
    value: Scalar

    def __str__(self) -> str:
        return f"{_show_key(self.key)} {self.operator} {_show(self.value)}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """`status in ("draft", "final")`."""

    key: str
    values: tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"{_show_key(self.key)} in ({', '.join(map(_show, self.values))})"


@dataclass(frozen=True, slots=True)
class Contains:
    """`author contains "lee"`: a text holds these characters, whatever their case."""

    key: str
    text: str

    def __str__(self) -> str:
        return f"{_show_key(self.key)} contains {_show(self.text)}"


@dataclass(frozen=True, slots=True)
class Exists:
    """`author exists`: the document has it, and it is no empty list."""

    key: str

    def __str__(self) -> str:
        return f"{_show_key(self.key)} exists"


@dataclass(frozen=True, slots=True)
class Not:
    """`not draft == true`."""

    condition: Condition

    def __str__(self) -> str:
        inside = str(self.condition)
        return f"not ({inside})" if isinstance(self.condition, All | Any) else f"not {inside}"


@dataclass(frozen=True, slots=True)
class All:
    """Conditions joined by `and`, two or more."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(
            f"({part})" if isinstance(part, All | Any) else str(part) for part in self.conditions
        )


@dataclass(frozen=True, slots=True)
class Any:
    """Conditions joined by `or`, two or more."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " or ".join(f"({part})" if isinstance(part, Any) else str(part) for part in self.conditions)


Comparison = Compare | OneOf | Contains | Exists
Condition = Comparison | Not | All | Any

MAX_CHARS: Final = 10_000
MAX_PARTS: Final = 200
"""Comparisons of one condition. SQLite takes expressions a thousand deep."""
MAX_DEPTH: Final = 50
"""Parentheses and `not` within each other."""
MAX_LISTED: Final = 1_000
_SHOWN: Final = 40
"""Characters of a name that a mistake repeats."""

_TOKEN: Final = pattern(
    r"""\s*(?:
      (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<date>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w.]))
    | (?P<number>[+-]?\d{1,17}(?:\.\d{1,17})?(?:[eE][+-]?\d{1,3})?(?![\w.]))
    | (?P<word>[^\W\d][\w.-]*)
    | (?P<sign>==|!=|<=|>=|<>|=>|=<|&&|\|\||[<>=!(),\[\]])
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_RESERVED: Final = frozenset({"and", "or", "not", "in", "contains", "exists", "true", "false"})
_OPERATORS: Final[dict[str, Operator]] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MEANT: Final = {"=": "==", "<>": "!=", "=>": ">=", "=<": "<=", "&&": "and", "||": "or", "!": "not"}
_PLAIN_KEY: Final = pattern(r"[^\W\d][\w.-]*")
_ESCAPE: Final = pattern(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=256)
def read_where(text: str) -> Condition:
    """The condition that somebody wrote; QueryError that points at the place where it cannot be understood."""
    if len(text) > MAX_CHARS:
        raise QueryError(f"a condition of {len(text):,} characters is too long; write at most {MAX_CHARS:,}")
    return _Reader(text).read()


class _Token(NamedTuple):
    kind: str
    said: str
    at: int

    @property
    def word(self) -> str:
        """What it says as a word of the language; empty for a text in quotes and for a name."""
        return self.said.lower() if self.kind == "word" and self.said.lower() in _RESERVED else ""


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._next = 0
        self._parts = self._depth = 0

    def _split(self) -> Iterator[_Token]:
        at = 0
        while True:
            match = _TOKEN.match(self._text, at)
            if match is None:
                at += len(self._text[at:]) - len(self._text[at:].lstrip())
                quote = self._text[at] in "\"'"
                raise self._wrong(
                    at, "close the quotes" if quote else "put text in quotes, and names that hold this"
                )
            kind = match.lastgroup or ""
            yield _Token(kind, match[kind], match.start(kind))
            if kind == "end":
                return
            at = match.end()

    def _wrong(self, at: int, advice: str) -> QueryError:
        shown = f"`{self._text[at : at + 20]}`" if self._text[at:].strip() else "the end"
        return QueryError(f"the condition cannot be understood at character {at + 1}, {shown}: {advice}")

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def read(self) -> Condition:
        """All of it."""
        if self._token.kind == "end":
            raise QueryError('the condition is empty; write one like `year >= 2020 and author contains "Lee"`')
        condition = self._either()
        if self._token.kind != "end":
            meant = _MEANT.get(self._token.said, "and` or `or")
            raise self._wrong(self._token.at, f"write `{meant}` here, or end the condition")
        return condition

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._token.word == "or":
            self._take()
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Any(tuple(parts))

    def _both(self) -> Condition:
        parts = [self._one()]
        while self._token.word == "and":
            self._take()
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self) -> Condition:
        token = self._token
        if token.word == "not" or (token.said == "(" and token.kind == "sign"):
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise self._wrong(token.at, f"write it with at most {MAX_DEPTH} parentheses within each other")
            self._take()
            condition: Condition = Not(self._one()) if token.word else self._inside()
            self._depth -= 1
            return condition
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise self._wrong(token.at, f"write at most {MAX_PARTS} comparisons; `in` takes a list of values")
        return self._comparison()

    def _inside(self) -> Condition:
        condition = self._either()
        if self._token.said != ")":
            raise self._wrong(self._token.at, "write `)` to close the parenthesis, or `and`, or `or`")
        self._take()
        return condition

    def _comparison(self) -> Condition:
        key = self._key()
        token = self._take()
        if operator := _OPERATORS.get(token.said if token.kind == "sign" else ""):
            value = self._value()
            if isinstance(value, bool) and operator not in ("==", "!="):
                raise self._wrong(token.at, "true and false are compared with == or !=")
            return Compare(key, operator, value)
        if token.word == "exists":
            return Exists(key)
        if token.word == "in":
            return OneOf(key, self._values())
        if token.word == "not" and self._token.word == "in":
            self._take()
            return Not(OneOf(key, self._values()))
        if token.word == "contains":
            if self._token.kind != "text":
                raise self._wrong(self._token.at, 'contains takes text in quotes, as `author contains "Lee"`')
            return Contains(key, _unquote(self._take().said))
        if token.said in ("=", "<>", "=>", "=<") and token.kind == "sign":
            raise self._wrong(token.at, f"write `{_MEANT[token.said]}`")
        raise self._wrong(token.at, f"after {_brief(key)} write ==, !=, <, <=, >, >=, in, contains or exists")

    def _key(self) -> str:
        token = self._token
        if token.kind == "text":
            return _unquote(self._take().said)
        if token.kind != "word" or token.word:
            name = "a name that is such a word stands in quotes" if token.word else "as in `year >= 2020`"
            raise self._wrong(token.at, f"write the name of what is compared first; {name}")
        return self._take().said

    def _values(self) -> tuple[Scalar, ...]:
        opening = self._take()
        if opening.said not in ("(", "[") or opening.kind != "sign":
            raise self._wrong(opening.at, 'in takes a list, as `status in ("draft", "final")`')
        closing = ")" if opening.said == "(" else "]"
        values = [self._value()]
        while self._token.said == "," and len(values) < MAX_LISTED:
            self._take()
            values.append(self._value())
        if self._token.said != closing:
            raise self._wrong(
                self._token.at, f"write `,` or `{closing}`; a list takes at most {MAX_LISTED:,} values"
            )
        self._take()
        return tuple(values)

    def _value(self) -> Scalar:
        token = self._take()
        if token.kind == "text":
            return _unquote(token.said)
        if token.kind == "number":
            value = float(token.said) if re.search("[.eE]", token.said) else int(token.said)
            if abs(value) > MAX_WHOLE:
                raise self._wrong(token.at, "this number is too large to be compared exactly")
            return value
        if token.kind == "date":
            when = read_date(token.said)
            if when is None:
                raise self._wrong(token.at, "there is no such date; write 2024-05-06 or 2024-05-06T10:30:00Z")
            return when
        if token.word in ("true", "false"):
            return token.word == "true"
        if token.kind == "word":
            raise self._wrong(token.at, f'put text in quotes: "{_brief(token.said)}"')
        raise self._wrong(
            token.at, "write a value: text in quotes, a number, a date (2024-05-06), true or false"
        )


def _brief(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"


def _unquote(said: str) -> str:
    return _ESCAPE.sub(r"\1", said[1:-1])


def _show_key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _RESERVED else _show(key)


def _show(value: Scalar) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else repr(value)


def names_in(condition: Condition) -> list[str]:
    """The names that a condition compares, each once, in order."""
    if isinstance(condition, Not):
        return names_in(condition.condition)
    if isinstance(condition, All | Any):
        return list(dict.fromkeys(name for part in condition.conditions for name in names_in(part)))
    return [condition.key]


# ---------------------------------------------------------------------- what a store looks up


class Span(NamedTuple):
    """Values of one kind between bounds, each an operator and what it compares with."""

    kind: Kind
    bounds: tuple[tuple[Operator, str | float], ...]


def span_of(operator: Operator, value: Scalar) -> Span:
    """The values for which a comparison holds; of `!=`, which is its opposite, those that are equal."""
    if isinstance(value, str):
        return Span("text", ((_positive(operator), compared_text(value)),))
    if not isinstance(value, date):
        return Span("boolean" if isinstance(value, bool) else "number", ((_positive(operator), float(value)),))
    begin = stamp(value)
    end = begin if isinstance(value, datetime) else begin + _DAY_S
    if operator in ("==", "!=") and begin < end:
        return Span("date", ((">=", begin), ("<", end)))
    if operator in ("<=", ">") and begin < end:
        return Span("date", (("<" if operator == "<=" else ">=", end),))
    return Span("date", ((_positive(operator), begin),))


def _positive(operator: Operator) -> Operator:
    return "==" if operator == "!=" else operator


_DAY_S: Final = timedelta(days=1).total_seconds()
