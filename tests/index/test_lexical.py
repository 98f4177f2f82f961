"""BM25 against two others: the one in SQLite, and one written out in plain Python."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import apsw
import numpy as np
import pytest
from tests.index.rows import feed_row, segment_of_texts, view_of

from outcrop.index.bm25 import (
    MAX_TERMS,
    PRIOR_ROWS,
    HeldWords,
    count_times,
    score_segment,
    weigh_terms,
)
from outcrop.index.columns import TITLE_WEIGHT, build_segment
from outcrop.index.merging import merge_segments
from outcrop.index.segment import View
from outcrop.text.terms import Terms

# Words that are their own stems and no stop words, so that every analyser sees the same terms.
WORDS = [f"{a}{b}{c}{b}x" for a in "dfgkl" for b in "aou" for c in "kmnt"]


def corpus(seed: int, count: int) -> list[str]:
    """Texts of uneven length in which early words are common and late ones rare."""
    rng = random.Random(seed)
    weights = [1 / (i + 1) for i in range(len(WORDS))]
    return [" ".join(rng.choices(WORDS, weights, k=rng.randrange(1, 40))) for _ in range(count)]


def our_scores(query: str, view: View, terms: Terms) -> list[float]:
    """Scores of all rows, undoing the scale to 0–1."""
    words = weigh_terms(query, terms, view.segments)
    return [
        float(score) * words.ideal
        for i, segment in enumerate(view.segments)
        for score in score_segment(words, i, segment, view.mean_length)
    ]


def plain_scores(query: str, texts: Sequence[str]) -> list[float]:
    """BM25 as the book has it: k1 = 1.2, b = 0.75, the inverse document frequency that is never negative, smoothed."""
    counts = [Counter(text.split()) for text in texts]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths)
    scores = [0.0] * len(texts)
    for word in set(query.split()):
        holding = sum(word in count for count in counts)
        weight = math.log(1 + (PRIOR_ROWS + len(texts) - holding + 0.5) / (holding + 0.5))
        for i, count in enumerate(counts):
            tf = count[word]
            scores[i] += weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[i] / mean))
    return scores


def test_the_words_of_these_tests_are_their_own_stems(terms: Terms) -> None:
    texts = corpus(0, 50)
    assert all(len(terms.of(text)) == len(text.split()) for text in texts)
    assert len({number for word in WORDS for number in terms.of(word)}) == len(WORDS)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_proportional_to_those_of_sqlite(terms: Terms, seed: int) -> None:
    texts = corpus(seed, 300)
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE docs USING fts5 (body, tokenize = unicode61)")
    connection.executemany("INSERT INTO docs (rowid, body) VALUES (?, ?)", list(enumerate(texts, 1)))
    view = view_of(segment_of_texts(texts, terms))
    for word in WORDS[20:]:  # a word that most texts hold weighs nothing in SQLite
        theirs = dict(connection.execute("SELECT rowid, -bm25(docs) FROM docs WHERE docs MATCH ?", (word,)))
        ours = {i: score for i, score in enumerate(our_scores(word, view, terms), 1) if score > 0}
        assert ours.keys() == theirs.keys()
        n, total = len(theirs), len(texts)
        if not n:
            continue
        # SQLite leaves the 1 out of log(1 + …), and thinks of no rows but its own; all else is the same.
        ratio = math.log(1 + (PRIOR_ROWS + total - n + 0.5) / (n + 0.5)) / math.log(
            (total - n + 0.5) / (n + 0.5)
        )
        for row, score in theirs.items():
            assert ours[row] == pytest.approx(score * ratio, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_the_formula_over_several_segments_merged_and_after_removals(
    terms: Terms, seed: int
) -> None:
    rng = random.Random(seed)
    texts = corpus(seed, 120)
    cuts = [0, *sorted(rng.sample(range(1, 120), 3)), 120]
    segments = [segment_of_texts(texts[start:end], terms, start + 1) for start, end in pairwise(cuts)]
    gone = np.array([rng.random() < 0.3 for _ in texts])
    nothing = [np.zeros(len(segment), np.bool_) for segment in segments]
    split = view_of(*segments)
    merged = view_of(merge_segments(segments, nothing))
    rest = view_of(merge_segments(segments, [gone[start:end] for start, end in pairwise(cuts)]))
    kept = [text for text, deleted in zip(texts, gone, strict=True) if not deleted]
    for _ in range(20):
        query = " ".join(rng.sample(WORDS, rng.randrange(1, 6)))
        expected = plain_scores(query, texts)
        assert our_scores(query, split, terms) == pytest.approx(expected, abs=1e-4)
        assert our_scores(query, merged, terms) == pytest.approx(expected, abs=1e-4)
        assert our_scores(query, rest, terms) == pytest.approx(plain_scores(query, kept), abs=1e-4)


@pytest.mark.parametrize("count", [1, 3, 15])
def test_what_a_few_notes_have_in_common_still_finds_them(terms: Terms, count: int) -> None:
    view = view_of(segment_of_texts([f"gak fum {word}" for word in WORDS[:count]], terms))
    scores = score_segment(weigh_terms("gak", terms, view.segments), 0, view.segments[0], view.mean_length)
    assert scores.min() > 0.3


def test_a_score_is_a_share_of_the_best_possible(terms: Terms) -> None:
    texts = corpus(7, 100)
    view = view_of(segment_of_texts([*texts, "gak " * 2000], terms))
    scores = score_segment(weigh_terms("gak", terms, view.segments), 0, view.segments[0], view.mean_length)
    assert 0 <= scores.min() <= scores.max() < 1


def test_a_word_of_the_title_counts_as_if_it_stood_there_three_times(terms: Terms) -> None:
    rows = [feed_row(1, "gak", title="gom"), feed_row(2, "gak " + "gom " * TITLE_WEIGHT), feed_row(3, "dum")]
    segment = build_segment(rows, terms, 0, 0.0)
    rows_of, frequencies = segment.postings(terms.of("gom")[0]) or pytest.fail("not there")
    assert (rows_of.tolist(), frequencies.tolist()) == ([0, 1], [TITLE_WEIGHT, TITLE_WEIGHT])
    assert segment.lengths.tolist() == [2, 1 + TITLE_WEIGHT, 1]


def test_stop_words_count_only_in_a_query_of_nothing_else(terms: Terms) -> None:
    view = view_of(segment_of_texts(["to be or not to be", "the gak", "gom"], terms))
    assert our_scores("the gak", view, terms)[0] == 0
    assert our_scores("to be", view, terms)[0] > 0


def test_of_a_pasted_page_the_rarest_words_that_occur_decide(terms: Terms) -> None:
    page = " ".join(f"unknown{i}x" for i in range(3 * MAX_TERMS)) + " needle"
    view = view_of(segment_of_texts(["hay", "needle hay", "hay stack"], terms))
    words = weigh_terms(page, terms, view.segments)
    assert len(words.weights) == MAX_TERMS
    assert our_scores(page, view, terms)[1] > 0


def test_words_that_stand_nowhere_give_no_scores_and_lower_the_rest(terms: Terms) -> None:
    view = view_of(segment_of_texts(["needle", "hay"], terms))

    def best(query: str) -> float:
        words = weigh_terms(query, terms, view.segments)
        return float(score_segment(words, 0, view.segments[0], view.mean_length).max())

    assert best("zzz") == 0
    assert 0 < best("needle zzz") < best("needle")


def test_an_empty_index_has_no_scores(terms: Terms) -> None:
    words = weigh_terms("needle", terms, [])
    assert words.postings == ()
    view = view_of(segment_of_texts([], terms))
    assert our_scores("needle", view, terms) == []
    assert our_scores("", view_of(segment_of_texts(["a text"], terms)), terms) == [0.0]


def test_matched_words_are_shown_as_typed_heaviest_first(terms: Terms) -> None:
    view = view_of(segment_of_texts(["Running hay needles", "hay", "hay"], terms))
    words = weigh_terms("hay Needle runs absent", terms, view.segments)
    both, one, _ = count_times(words, np.zeros(3, np.int32), np.arange(3)).tolist()
    assert HeldWords(words).matched(both) == ("Needle", "runs", "hay")
    assert HeldWords(words).matched(one) == ("hay",)
    assert (HeldWords(words).coverage(both), HeldWords(words).coverage(one)) == (0.75, 0.25)


@pytest.mark.parametrize("seed", range(5))
def test_terms_are_counted_as_reading_every_text_does(terms: Terms, seed: int) -> None:
    rng = random.Random(seed)
    texts = corpus(seed, 90)
    cuts = [0, *sorted(rng.sample(range(1, 90), 2)), 90]
    segments = [segment_of_texts(texts[start:end], terms, start + 1) for start, end in pairwise(cuts)]
    places = [(number, row) for number, segment in enumerate(segments) for row in range(len(segment))]
    asked = rng.sample(range(90), 40)
    numbers, rows = np.array([places[i] for i in asked]).T
    for _ in range(20):
        typed = [*rng.sample(WORDS, rng.randrange(1, 6)), "absent"]
        words = weigh_terms(" ".join(typed), terms, segments)
        times = count_times(words, numbers.astype(np.int32), rows.astype(np.intp))
        of_query = [words.words[term] for term in words.weights]
        assert times.tolist() == [[texts[i].split().count(word) for word in of_query] for i in asked]
        assert not times[:, of_query.index("absent")].any()


def test_nothing_holds_a_term_where_there_are_no_rows_no_terms_or_no_postings(terms: Terms) -> None:
    segments = [segment_of_texts(["gak gom"], terms)]
    nowhere, here = np.zeros(0, np.int32), np.zeros(1, np.int32)
    assert count_times(weigh_terms("gak", terms, segments), nowhere, nowhere.astype(np.intp)).shape == (0, 1)
    assert count_times(weigh_terms("", terms, segments), here, here.astype(np.intp)).shape == (1, 0)
    words = weigh_terms("gak", terms, segments)
    empty = {term: (rows[:0], counts[:0]) for term, (rows, counts) in words.postings[0].items()}
    searched_in_place = replace(words, postings=(empty,))
    assert count_times(searched_in_place, here, here.astype(np.intp)).tolist() == [[0]]
