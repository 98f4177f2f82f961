"""Passages judged by what stands around them, and tables by what their rows and columns are called."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index.rows import TERMS, feed_row, view_of

from outcrop.index.bm25 import weigh_terms
from outcrop.index.candidates import find_candidates
from outcrop.index.columns import build_segment
from outcrop.index.labels import labels_of_cell, labels_of_query
from outcrop.index.merging import merge_segments
from outcrop.index.segment import Segment, View
from outcrop.index.stretches import REACH, read_stretches
from outcrop.records.candidates import Candidates

TABLE = "| | 2019 | 2018 |\n| Total sales (net) | $ 1,496.5 | $ 1,202.9 |\n| Cost of sales | 900 | 800 |"


def segment(*rows: tuple[int, str], first_id: int = 1, kind: str = "markdown") -> Segment:
    """Rows of (document id, text)."""
    feed = [
        feed_row(first_id + i, text, document_id=document, kind=kind) for i, (document, text) in enumerate(rows)
    ]
    return build_segment(feed, TERMS, 8, 0.0)


def read(view: View, query: str) -> Candidates:
    words = weigh_terms(query, TERMS, view.segments)
    found = find_candidates(view, tuple(None for _ in view.segments), words, None)
    return read_stretches(view, words, found)


def test_a_passage_whose_neighbours_hold_the_rest_of_the_question_is_better_than_a_lone_one() -> None:
    view = view_of(segment((1, "amber"), (1, "stone"), (2, "amber"), (2, "chert"), (3, "amber")))
    found = read(view, "amber stone")
    around = dict(zip(found.chunk_id.tolist(), found.around.tolist(), strict=True))
    assert around[1] == pytest.approx(around[2])
    assert around[1] > 1.5 * around[3] > 0
    assert around[3] == pytest.approx(around[4]), "chert stands beside amber"


def test_a_stretch_ends_where_its_document_does_and_after_so_many_chunks() -> None:
    far = [(1, "amber"), *((1, "chert"),) * REACH, (1, "stone")]
    found = read(view_of(segment(*far, (2, "gneiss"))), "amber stone gneiss")
    around = dict(zip(found.chunk_id.tolist(), found.around.tolist(), strict=True))
    assert around[2] > around[1], "one in between sees both ends"
    assert around[REACH + 2] == pytest.approx(around[1]), "neither end sees the other, nor the next document"


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("total sales", 1.0),
        ("what were the total sales (net)", 1.0),
        ("cost of sales in 2019", 1.0),
        ("total cost", 0.0),
        ("1496", 0.0),
    ],
)
def test_a_row_or_column_is_asked_for_by_all_the_words_of_its_name(query: str, share: float) -> None:
    found = read(view_of(segment((1, TABLE), (2, "total sales, cost, 1496, 2019"))), query)
    labels = dict(zip(found.document_id.tolist(), found.labels.tolist(), strict=True))
    assert labels.get(1, 0.0) == pytest.approx(share)
    assert not labels.get(2, 0.0), "words in a sentence are no label"


def test_labels_of_code_and_of_tables_without_values_are_not_looked_for() -> None:
    plain = "| command | what it does |\n| start | begins |\n| stop | ends |"
    assert not read(view_of(segment((1, plain))), "what does start do").labels.any()
    assert not len(read(view_of(segment((1, TABLE), kind="code")), "total sales").labels)


def test_merged_segments_have_the_same_labels() -> None:
    parts = [segment((1, TABLE)), segment((2, TABLE), first_id=5)]
    merged = merge_segments(parts, [np.zeros(1, np.bool_)] * 2)
    for query in ("total sales", "cost of sales in 2018"):
        one, two = read(view_of(*parts), query), read(view_of(merged), query)
        assert one.labels.tolist() == pytest.approx(two.labels.tolist())
        assert one.around.tolist() == pytest.approx(two.around.tolist())


@pytest.mark.parametrize(
    ("query", "text"), [("1496500", "sold for 1,496,500 $"), ("1,496,500", "sold for 1496500 $")]
)
def test_thousands_are_found_with_marks_and_without(query: str, text: str) -> None:
    found = read(view_of(segment((1, text), (2, "sold for 150 $"))), query)
    assert found.document_id[np.argmax(found.lexical)] == 1
    assert (found.lexical > 0).sum() == 1


def test_a_label_does_not_make_a_chunk_longer() -> None:
    assert segment((1, TABLE)).lengths.tolist() == segment((1, TABLE.replace("|", " "))).lengths.tolist()


def test_a_label_is_a_few_words_with_a_letter_or_a_year() -> None:
    assert len(labels_of_cell("Revenue (in millions)", TERMS)) == 2
    assert labels_of_cell("1,496.5", TERMS) == ()
    assert len(labels_of_cell("2019", TERMS)) == 1
    assert labels_of_cell("one two three four five six seven eight", TERMS) == ()
    labels, words = labels_of_query("what is the cost of sales", TERMS)
    assert set(labels_of_cell("Cost of Sales", TERMS)) <= set(labels)
    assert len(words) == 2
