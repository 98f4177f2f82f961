"""What a chunk is worth a token: the score of its file and its own, and how long both are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.code.test_pack_code import make_hit

from outcrop.code.context import REPEAT_SHARE, fade_repeats
from outcrop.code.worth import order_by_worth
from outcrop.records import Hit


def chunk(number: int, file: int, score: float, *, tokens: int = 100, chunks: int = 10) -> Hit:
    hit = replace(make_hit("x = 1", number, file=file, index=number, kind="code"), score=score, tokens=tokens)
    return replace(hit, document=replace(hit.document, chunks=chunks))


def order(*hits: Hit) -> list[int]:
    return [hit.chunk_ids[0] for hit in order_by_worth(hits)]


def test_a_better_score_is_worth_more() -> None:
    assert order(chunk(1, 1, 0.3), chunk(2, 2, 0.6)) == [2, 1]


def test_the_second_chunk_of_the_best_file_comes_before_the_best_of_another_that_is_much_worse() -> None:
    assert order(chunk(1, 1, 0.9), chunk(2, 2, 0.5), chunk(3, 1, 0.3)) == [1, 3, 2]


def test_another_file_comes_first_where_its_score_says_so() -> None:
    assert order(chunk(1, 1, 0.9), chunk(2, 2, 0.8), chunk(3, 1, 0.2)) == [1, 2, 3]


def test_a_short_file_that_is_found_alike_is_worth_more() -> None:
    assert order(chunk(1, 1, 0.5, chunks=90), chunk(2, 2, 0.5, chunks=4)) == [2, 1]


def test_a_token_of_a_long_chunk_is_worth_less_and_a_stump_is_worth_no_frame() -> None:
    sizes = (2, 100, 400)
    hits = [chunk(size, 1, 0.5, tokens=size) for size in sizes]
    assert order(*hits) == [100, 400, 2]


def test_what_stands_beside_is_ordered_with_the_hits() -> None:
    hits, beside = [chunk(1, 1, 0.9), chunk(2, 2, 0.1)], [chunk(3, 1, 0.4)]
    assert [hit.chunk_ids[0] for hit in order_by_worth(hits, beside)] == [1, 3, 2]


def test_nothing_and_scores_of_zero_are_no_error() -> None:
    assert order_by_worth([]) == []
    assert order(chunk(1, 1, 0.0, chunks=0, tokens=0), chunk(2, 2, 0.0)) == [1, 2]


def test_each_further_passage_of_a_file_of_code_fades_before_it_is_packed() -> None:
    hits = [chunk(1, 1, 0.9), chunk(2, 1, 0.88), chunk(3, 2, 0.6), chunk(4, 1, 0.86)]
    faded = fade_repeats(hits)
    assert [hit.chunk_ids[0] for hit in faded] == [1, 3, 2, 4]
    assert faded[2].score == pytest.approx(0.88 * REPEAT_SHARE)
    assert faded[3].score == pytest.approx(0.86 * REPEAT_SHARE**2)
    page = replace(hits[1], document=replace(hits[1].document, kind="markdown"))
    assert fade_repeats([page, page])[1].score == page.score, "pages are read on"
