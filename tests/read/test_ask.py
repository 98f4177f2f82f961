"""What people write of a search becomes options: dates in all their forms, the configuration's values elsewhere."""

from __future__ import annotations

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


def test_what_is_no_date_is_told_with_the_form_of_one() -> None:
    with pytest.raises(QueryError, match="'yesterday' is not a date; write it as 2026-01-31"):
        as_timestamp("yesterday")


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
