"""What `benchmarks.quality` says of scores."""

from __future__ import annotations

import pytest
from benchmarks.quality import Judged, calibration_error, score_rows, separation


def test_scores_that_are_right_as_often_as_they_say_have_no_error() -> None:
    assert calibration_error([(0.25, True), *[(0.25, False)] * 3]) == pytest.approx(0)
    assert calibration_error([(0.95, False)] * 4) == pytest.approx(0.95)
    assert calibration_error([(1.0, True), (0.0, False)]) == pytest.approx(0)


def test_ranges_of_scores_count_by_their_hits() -> None:
    assert calibration_error([(0.15, False)] * 3 + [(0.85, True)]) == pytest.approx((3 * 0.15 + 0.15) / 4)


def test_separation_is_how_often_the_answered_query_scores_higher() -> None:
    assert separation([0.9, 0.8], [0.1, 0.2]) == 1
    assert separation([0.5], [0.5]) == 0.5
    assert separation([0.9, 0.1], [0.5]) == 0.5


def test_every_set_has_a_row_and_all_together_one() -> None:
    one = Judged([(0.9, True), (0.2, False)], [0.9], [0.2])
    rows = score_rows({"a": one, "b": one})
    assert [row["set"] for row in rows] == ["a", "b", "all"]
    assert len({tuple(row) for row in rows}) == 1, "a table has the same columns in every row"
    assert rows[-1]["answer there or not, AUROC"] == 1
    assert score_rows({}) == []
