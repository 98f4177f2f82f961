"""What people write of a search becomes options: dates in all their forms, the configuration's values elsewhere."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from outcrop.config import load_config
from outcrop.errors import QueryError
from outcrop.read.ask import as_timestamp, at_least_one, read_options
from outcrop.records import Filter, When

MIDNIGHT = datetime(2026, 1, 31, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        (None, None),
        (1.5, 1.5),
        ("2026-01-31", MIDNIGHT),
        ("2026-01-31T01:00:00+01:00", MIDNIGHT),
        (date(2026, 1, 31), MIDNIGHT),
        (datetime(2026, 1, 31), MIDNIGHT),
        (datetime(2026, 1, 31, 2, tzinfo=timezone(timedelta(hours=2))), MIDNIGHT),
    ],
)
def test_a_date_is_understood_in_any_form_and_is_of_utc_where_it_names_no_zone(
    when: When, seconds: float | None
) -> None:
    assert as_timestamp(when) == seconds


@pytest.mark.parametrize(
    ("said", "hours"),
    [("2h", 2), ("3d", 72), ("1w", 168), ("1y", 8760), ("2 weeks ago", 336), ("10 Days", 240), (" 1 hour ", 1)],
)
def test_a_span_is_so_long_ago(said: str, hours: int) -> None:
    before = time.time()
    found = as_timestamp(said)
    assert found is not None
    assert before - 3600 * hours <= found <= time.time() - 3600 * hours


def test_yesterday_is_a_date_like_one_that_is_written_out() -> None:
    day = date.today()
    found = (as_timestamp("today"), as_timestamp("Yesterday"))
    if day == date.today():  # else midnight came between
        assert found == (as_timestamp(day), as_timestamp(day - timedelta(days=1)))


@pytest.mark.parametrize("said", ["yesteday", "3", "1m", "w", "-1d", "99999d", "1weird", ""])
def test_what_is_no_date_is_told_with_the_forms_of_one(said: str) -> None:
    with pytest.raises(QueryError, match="is not a date; write 2026-01-31, yesterday, 2h, 3d or 1w"):
        as_timestamp(said)


def test_what_is_not_given_comes_from_the_configuration() -> None:
    config = load_config({"limit": 7, "floor": 0.5}, environ={})
    options = read_options(config, tags=["ops"], since="2026-01-31", merge=False)
    assert (options.limit, options.floor, options.merge) == (7, 0.5, False)
    assert options.where == Filter(tags=("ops",), since=MIDNIGHT)
    given = read_options(config, limit=1, floor=0.0)
    assert (given.limit, given.floor) == (1, 0.0)
    assert given.where.is_empty()


def test_a_number_below_one_is_refused_by_its_name() -> None:
    assert at_least_one("limit", 1) == 1
    with pytest.raises(QueryError, match="budget_tokens must be 1 or more, not 0"):
        at_least_one("budget_tokens", 0)
