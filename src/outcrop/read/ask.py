"""ASKING: what people write becomes options, and a search is answered whatever happens to the index meanwhile."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from outcrop.config import Config
from outcrop.contracts import Stop
from outcrop.errors import QueryError, StoreError
from outcrop.read.parts import PartsMaker
from outcrop.records import Answer, Filter, SearchOptions, When
from outcrop.records.asked import DATES, FILTER_OPTIONS, check_options
from outcrop.text.pattern import pattern

log = logging.getLogger(__name__)


_AGO: Final = pattern(r"(\d{1,4})\s*(h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?|y(?:ears?)?)(?: ago)?", re.IGNORECASE)
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}
_DAYS: Final = {"today": 0, "yesterday": 1}


def as_timestamp(when: When) -> float | None:
    """A date in any of the forms people have, as seconds since the epoch; a bare date begins at midnight UTC, also
    `today` and `yesterday`. `2h`, `3d`, `1w` and `1y` are so long ago."""
    if when is None or isinstance(when, int | float):
        return when
    if isinstance(when, str):
        when = _read_date(when.strip())
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _read_date(text: str) -> date | datetime:
    if ago := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(hours=int(ago[1]) * _HOURS[ago[2][0].lower()])
    if text.lower() in _DAYS:
        return date.today() - timedelta(days=_DAYS[text.lower()])
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise QueryError(f"{text!r} is not a date; write 2026-01-31, yesterday, 2h, 3d or 1w") from error


def read_options(config: Config, **given: Any) -> SearchOptions:
    """SearchOptions from the arguments of a search, the configuration's where none is given."""
    named: dict[str, Any] = {"limit": config.limit, "floor": config.floor}
    named |= {name: value for name, value in given.items() if value is not None}
    where = read_filter(**{name: named.pop(name) for name in FILTER_OPTIONS if name in named})
    options = SearchOptions(where=where, **named)
    check_options(options)
    return options


def read_filter(**given: Any) -> Filter:
    """A Filter from what people write: dates in any of their forms, lists, a condition on metadata as text or as the
    tree that `records.where` makes of it. What is None counts as not given."""
    named = {name: value for name, value in given.items() if value is not None}
    for name, value in named.items():
        if name in DATES:
            named[name] = as_timestamp(value)
        elif FILTER_OPTIONS[name].type is tuple:
            named[name] = tuple(value)
    if "where" in named:
        from outcrop.records.where import read_where  # few searches have one

        named["where"] = str(read_where(str(named["where"])))
    return Filter(**named)


def at_least_one(name: str, value: int) -> int:
    """The value; QueryError, with the name it was given under, where it is less than 1."""
    if value < 1:
        raise QueryError(f"{name} must be 1 or more, not {value}")
    return value


def answer_query(maker: PartsMaker, query: str, options: SearchOptions, stopped: Stop | None = None) -> Answer:
    """Search with the index's current model; a failure of the store becomes the reason in the answer."""
    try:
        used = maker.parts()
        answer = used.retriever.search(query, options, stopped)
        if (
            answer.reason == "model_mismatch" and (now := maker.parts()) is not used
        ):  # the index was just switched
            used = now
            answer = used.retriever.search(query, options, stopped)
    except StoreError as error:
        log.error("search failed", extra={"reason": str(error)})
        return Answer(query, options.query_type or "mixed", (), "error", str(error))
    used.index.save_after_search()
    if answer.reason == "model_mismatch" and maker.cannot_follow:
        detail = f"{answer.detail}; its model cannot be opened here: {maker.cannot_follow}"
        return replace(answer, detail=detail)
    return answer
