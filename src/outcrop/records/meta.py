"""Metadata: what is known of a document beside its text, by name. Values are typed, and bounded where they come in."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, NamedTuple

from outcrop.errors import SourceError
from outcrop.text.pattern import pattern

Scalar = str | int | float | bool | date | datetime
MetaValue = Scalar | tuple[Scalar, ...]
Meta = Mapping[str, MetaValue]

MAX_KEYS: Final = 100
"""Names one document may have."""
MAX_KEY_CHARS: Final = 100
MAX_VALUE_CHARS: Final = 10_000
"""Of one text; the abstract of a paper has 2 000."""
MAX_ITEMS: Final = 1_000
"""Of one list."""
MAX_WHOLE: Final = 2**53
"""Beyond it a number is no longer exact where numbers are compared."""
COMPARED_CHARS: Final = 500
"""Of a text only so much is compared and looked up: an index of Postgres takes 2 700 bytes."""

Kind = Literal["text", "number", "boolean", "date"]
"""As what a value is compared. Values of different kinds are neither equal nor one before the other."""

_DATE: Final = pattern(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?[ ]?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_NUMBER: Final = pattern(r"-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?", re.ASCII)
_CONTROL: Final = pattern(r"[\x00-\x1f\x7f]")


class Reading(NamedTuple):
    """A value as it is compared: its kind, and the text or, for the other kinds, the number. `folded` is the text
    without case."""

    kind: Kind
    text: str | None = None
    number: float | None = None
    folded: str | None = None


# ---------------------------------------------------------------------- as it comes in


def check_meta(given: Mapping[str, Any]) -> dict[str, MetaValue]:
    """Metadata that a caller gave, lists as tuples; SourceError, with what to do, where a part of it cannot be kept."""
    if len(given) > MAX_KEYS:
        raise SourceError(f"{len(given)} names of metadata are too many; give at most {MAX_KEYS}")
    return {_check_key(key): _check_value(key, value) for key, value in given.items()}


def _check_key(key: object) -> str:
    if not isinstance(key, str) or not key.strip() or _CONTROL.search(key):
        raise SourceError(f"metadata has the name {key!r}; a name is a line of text")
    if len(key) > MAX_KEY_CHARS:
        raise SourceError(f"metadata has a name of {len(key)} characters; give at most {MAX_KEY_CHARS}")
    return _whole_characters(key)


def _check_value(key: str, value: object) -> MetaValue:
    if isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            raise SourceError(f"meta {key!r} has {len(value):,} items; give at most {MAX_ITEMS:,}")
        return tuple(_check_scalar(key, item) for item in value)
    return _check_scalar(key, value)


def _check_scalar(key: str, value: object) -> Scalar:
    if isinstance(value, bool | date):  # of which datetime is one
        return value
    if isinstance(value, int | float):
        if not math.isfinite(value) or (isinstance(value, int) and abs(value) > MAX_WHOLE):
            raise SourceError(f"meta {key!r} is {value}, which cannot be compared exactly; give it as text")
        return value
    if not isinstance(value, str):
        raise SourceError(
            f"meta {key!r} is a {type(value).__name__}; give text, a number, a date, true or false, or a list of these"
        )
    if len(value) > MAX_VALUE_CHARS:
        raise SourceError(
            f"meta {key!r} has {len(value):,} characters; give at most {MAX_VALUE_CHARS:,}, or add it as text"
        )
    return _whole_characters(value)


def _whole_characters(text: str) -> str:
    """A text without halves of characters, which no store keeps."""
    return text.encode("utf-8", "replace").decode()


def fit_meta(found: Mapping[str, Any]) -> dict[str, MetaValue]:
    """Metadata that a parser found: as far as it can be kept. Nothing here is a mistake of the caller."""
    fitted: dict[str, MetaValue] = {}
    for key, value in found.items():
        name = _whole_characters(_CONTROL.sub(" ", key).strip()[:MAX_KEY_CHARS])
        kept = tuple(_fit(value[:MAX_ITEMS])) if isinstance(value, list | tuple) else next(_fit((value,)), None)
        if name and kept is not None and kept not in ("", ()):
            fitted.setdefault(name, kept)
        if len(fitted) == MAX_KEYS:
            break
    return fitted


def _fit(values: Sequence[Any]) -> Iterator[Scalar]:
    for value in values:
        if isinstance(value, str):
            yield _whole_characters(value[:MAX_VALUE_CHARS])
        elif isinstance(value, bool | date):
            yield value
        elif isinstance(value, int) and abs(value) > MAX_WHOLE:
            yield str(value)[:MAX_VALUE_CHARS] if value.bit_length() < MAX_VALUE_CHARS else ""
        elif isinstance(value, int | float) and math.isfinite(value):
            yield value


def read_scalar(written: str) -> Scalar:
    """What somebody wrote without quotes: a number, true or false, a date, else text."""
    if written in ("true", "false"):
        return written == "true"
    if _NUMBER.fullmatch(written):
        number = float(written) if "." in written else int(written)
        return number if abs(number) <= MAX_WHOLE else written
    return read_date(written) or written


def read_date(written: str) -> date | datetime | None:
    """A day or a moment in the form of ISO 8601; None for anything else."""
    if not _DATE.fullmatch(written):
        return None
    try:
        return date.fromisoformat(written) if len(written) == len("2024-01-31") else _read_moment(written)
    except ValueError:
        return None


def _read_moment(written: str) -> datetime:
    return datetime.fromisoformat(written.replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))


def stamp(when: date) -> float:
    """A moment as seconds since the epoch; a day begins at midnight, and where no zone is named it is UTC."""
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


# ---------------------------------------------------------------------- as it is kept


def dump_meta(meta: Meta) -> str:
    """Metadata as JSON that `load_meta` reads; a date, which JSON has no word for, is an object."""
    return json.dumps({key: _dumped(value) for key, value in meta.items()}, ensure_ascii=False)


def _dumped(value: MetaValue) -> Any:
    if isinstance(value, tuple):
        return [_dumped(item) for item in value]
    return {"date": value.isoformat()} if isinstance(value, date) else value


def load_meta(text: str) -> dict[str, MetaValue]:
    """What `dump_meta` was given."""
    return {key: _loaded(value) for key, value in json.loads(text).items()}


def _loaded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_loaded(item) for item in value)
    if isinstance(value, dict):
        written = value["date"]
        return datetime.fromisoformat(written) if "T" in written else date.fromisoformat(written)
    return value


def show_value(value: MetaValue) -> str:
    """A value for people."""
    if isinstance(value, tuple):
        return ", ".join(map(show_value, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


# ---------------------------------------------------------------------- as it is compared


def read_values(value: MetaValue) -> Iterator[Reading]:
    """As what a value is compared: each item of a list by itself, a text that is a date also as that, and a date also
    as its text: JSON and many formats have only texts for dates."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, bool):
            yield Reading("boolean", number=float(item))
        elif isinstance(item, int | float):
            yield Reading("number", number=float(item))
        else:
            written = item if isinstance(item, str) else item.isoformat()
            text = compared_text(written)
            yield Reading("text", text=text, folded=text.casefold())
            when = read_date(item) if isinstance(item, str) else item
            if when is not None:
                yield Reading("date", number=stamp(when))


def compared_text(text: str) -> str:
    """A text as it is compared: its beginning, without the characters that stores sort differently."""
    return _whole_characters(_CONTROL.sub(" ", text[:COMPARED_CHARS]))


def stated_date(meta: Meta) -> float | None:
    """The date a document states for itself (`date`; UTC unless it says otherwise), if it does."""
    value = meta.get("date")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    return stamp(value) if isinstance(value, date) else None
