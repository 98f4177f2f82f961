"""What is left out early would not have been among the best: compared with looking at everything."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index.rows import segment_of_texts, view_of

from outcrop.index import bm25, candidates
from outcrop.index.candidates import _best, rank_rows
from outcrop.system.arrays import NDArray
from outcrop.text.terms import Terms


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_many_rows_are_those_of_a_sort(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "SAMPLED", 64)
    chance = np.random.default_rng(seed)
    scores: list[NDArray[np.float32]] = []
    for size in (700, 1, 0, 350, 90):
        score = chance.integers(0, 40, size).astype(np.float32) / np.float32(
            40
        )  # many are equal, and earlier ones win
        score[chance.random(size) < (0.2, 0.99)[seed % 2]] = 0
        scores.append(score)
    for pool in (1, 10, 64, 2000):
        rows = [np.flatnonzero(score > 0) for score in scores]
        plain = rank_rows(rows, [score[row] for score, row in zip(scores, rows, strict=True)], pool)
        for (found, ranks), (wanted, places) in zip(_best(scores, pool), plain, strict=True):
            assert found.tolist() == wanted.tolist()
            assert ranks.tolist() == places.tolist()


def test_postings_in_one_go_or_one_by_one_give_the_same(terms: Terms, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    words = [f"d{letter}kx" for letter in "aou"] + [f"g{letter}mx" for letter in "aou"]
    texts = [" ".join(chance.choice(words, size=chance.integers(1, 9))) for _ in range(300)]
    view = view_of(segment_of_texts(texts[:200], terms), segment_of_texts(texts[200:], terms, first_id=201))
    query = bm25.weigh_terms(" ".join([*words, "nowhere"]), terms, view.segments)
    segments = np.repeat(np.arange(2, dtype=np.int32), (200, 100))
    rows = np.concatenate((np.arange(200), np.arange(100)))
    results = []
    for joined in (1, 50, 100_000):
        monkeypatch.setattr(bm25, "JOINED", joined)
        scores = [bm25.score_segment(query, i, view.segments[i], view.mean_length).tolist() for i in range(2)]
        results.append((scores, bm25.count_times(query, segments, rows).tolist()))
    assert results[0] == results[1] == results[2]
    for text, times in zip(texts, results[0][1], strict=True):
        held = dict(zip((query.words[term] for term in query.weights), times, strict=True))
        assert {word: text.split().count(word) for word in words} == {word: held[word] for word in words}
