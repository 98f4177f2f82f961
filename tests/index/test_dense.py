"""Nearest vectors: the bit scan against counting by hand, the whole against exact cosines."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.rows import TERMS, feed_row, segment_of_vectors, view_of

from outcrop.index.candidates import find_candidates
from outcrop.index.columns import build_segment
from outcrop.index.merging import merge_segments
from outcrop.index.nearest import RESCORE, hamming, nearest, pack_signs, sign_bits, similarities, turn
from outcrop.index.segment import Segment
from outcrop.records import Matrix


def unit(vectors: Matrix) -> Matrix:
    lengths: Matrix = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / lengths).astype(np.float32)


@pytest.mark.parametrize(
    "dimensions", [1, 2, 7, 8, 9, 63, 64, 65, 100, 127, 128, 129, 256, 300, 384, 1000, 1536]
)
def test_hamming_is_the_number_of_differing_signs(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    vectors = rng.standard_normal((257, dimensions)).astype(np.float32)
    vectors[3] = 0
    query = rng.standard_normal(dimensions).astype(np.float32)
    naive = ((vectors > 0) != (query > 0)).sum(axis=1)
    signs = pack_signs(query[None, :])[:, 0]
    np.testing.assert_array_equal(hamming(pack_signs(vectors), signs), naive)


def test_hamming_is_the_same_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    bits = pack_signs(rng.standard_normal((1000, 130)).astype(np.float32))
    whole = hamming(bits, bits[:, 17])
    monkeypatch.setattr("outcrop.index.nearest.BLOCK", 64)
    np.testing.assert_array_equal(hamming(bits, bits[:, 17]), whole)
    assert whole[17] == 0
    assert len(hamming(bits[:, :0], bits[:, 17])) == 0


@pytest.mark.parametrize("dimensions", [1, 63, 64, 100, 256, 1536])
def test_turning_the_space_keeps_angles_and_is_the_same_each_time(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    vectors = rng.standard_normal((40, dimensions)).astype(np.float32)
    turned = turn(vectors)
    np.testing.assert_allclose(turned @ turned.T, vectors @ vectors.T, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(sign_bits(vectors), pack_signs(turned))
    assert sign_bits(vectors).shape == (-(-dimensions // 64), 40)


@pytest.fixture(scope="module")
def clustered() -> tuple[Matrix, Matrix]:
    """20 000 vectors around 300 centres, and queries near some of them."""
    rng = np.random.default_rng(8)
    centres = rng.standard_normal((300, 256))
    vectors = centres[rng.integers(0, 300, 20_000)] + 0.7 * rng.standard_normal((20_000, 256))
    queries = centres[:40] + 0.7 * rng.standard_normal((40, 256))
    return unit(vectors.astype(np.float32)), unit(queries.astype(np.float32))


def top_ten(vectors: Matrix, query: Matrix, allowed: np.ndarray) -> set[int]:
    cosine = np.where(allowed, vectors @ query, -2)
    return set(np.argsort(-cosine)[:10].tolist())


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_ten_nearest_are_found(clustered: tuple[Matrix, Matrix], share: float) -> None:
    vectors, queries = clustered
    segments = [segment_of_vectors(vectors[:12_000]), segment_of_vectors(vectors[12_000:], 12_001)]
    rng = np.random.default_rng(2)
    allowed = rng.random(len(vectors)) < share
    masks = [None, None] if share == 1 else [allowed[:12_000], allowed[12_000:]]
    found = 0
    for query in queries:
        parts = nearest(segments, masks, query, 200)
        rows = np.concatenate([parts[0][0], parts[1][0] + 12_000])
        cosine = np.concatenate([parts[0][1], parts[1][1]])
        assert len(rows) >= RESCORE
        assert allowed[rows].all()
        assert np.isfinite(cosine).all()
        np.testing.assert_allclose(cosine, vectors[rows] @ query, atol=0.02)
        found += len(set(rows[np.argsort(-cosine)[:10]].tolist()) & top_ten(vectors, query, allowed))
    assert found / (10 * len(queries)) >= 0.97


def test_every_allowed_row_is_returned_when_few_are_allowed(clustered: tuple[Matrix, Matrix]) -> None:
    vectors, queries = clustered
    segments = [segment_of_vectors(vectors[:5_000]), segment_of_vectors(vectors[5_000:10_000], 5_001)]
    rng = np.random.default_rng(4)
    for count in (0, 1, 50, 2 * RESCORE):
        allowed = np.zeros(10_000, np.bool_)
        allowed[rng.permutation(10_000)[:count]] = True
        parts = nearest(segments, [allowed[:5_000], allowed[5_000:]], queries[0], 10)
        rows = np.concatenate([parts[0][0], parts[1][0] + 5_000])
        np.testing.assert_array_equal(rows, np.flatnonzero(allowed))


def test_rows_that_are_all_alike_are_all_considered() -> None:
    segment = segment_of_vectors(np.ones((5_000, 8), np.float32))
    ((rows, cosine),) = nearest([segment], [None], unit(np.ones(8, np.float32)), 10)
    assert len(rows) == 5_000
    np.testing.assert_allclose(cosine, 1, atol=0.01)


def test_a_zero_query_or_row_has_no_similarity_and_no_nan(clustered: tuple[Matrix, Matrix]) -> None:
    vectors = clustered[0][:3_000].copy()
    vectors[::2] = 0
    segment = segment_of_vectors(vectors)
    for query in (np.zeros(256, np.float32), clustered[1][0]):
        ((rows, cosine),) = nearest([segment], [None], query, 10)
        assert np.isfinite(cosine).all()
        assert not cosine[rows % 2 == 0].any()
    assert not similarities(segment, np.arange(10), np.zeros(256, np.float32)).any()


def test_no_segments_have_no_rows() -> None:
    assert nearest([], [], np.ones(8, np.float32), 10) == []


def test_a_similarity_has_the_same_bits_whatever_it_is_computed_with(clustered: tuple[Matrix, Matrix]) -> None:
    vectors, queries = clustered
    segment = segment_of_vectors(vectors[:500])
    together = similarities(segment, np.arange(500), queries[0])
    alone = [similarities(segment, np.array([row]), queries[0])[0] for row in range(500)]
    assert together.tolist() == alone


# ------------------------------------------------------------------ summaries


def noted_segment(vectors: Matrix, summaries: dict[int, Matrix], first_id: int = 1) -> Segment:
    """A segment of vectors, some rows of which have a summary too."""
    rows = [
        feed_row(
            first_id + i,
            vector=vector.astype(np.float16),
            summary_vector=summaries[i].astype(np.float16) if i in summaries else None,
        )
        for i, vector in enumerate(vectors)
    ]
    return build_segment(rows, TERMS, vectors.shape[1], 0.0)


@pytest.fixture(scope="module")
def noted(clustered: tuple[Matrix, Matrix]) -> tuple[Matrix, NDArray[np.intp], Matrix]:
    """10 000 vectors, the rows that have a summary, and the vectors of those."""
    vectors, _ = clustered
    rows = np.flatnonzero(np.random.default_rng(3).random(10_000) < 0.3)
    return vectors[:10_000], rows, vectors[10_000 : 10_000 + len(rows)]


def best_cosine(noted: tuple[Matrix, NDArray[np.intp], Matrix], query: Matrix) -> Matrix:
    """The better of text and summary of every row, computed the plain way."""
    vectors, rows, summaries = noted
    best: Matrix = vectors @ query
    best[rows] = np.maximum(best[rows], summaries @ query)
    return best


def noted_segments(noted: tuple[Matrix, NDArray[np.intp], Matrix], cut: int = 4_000) -> list[Segment]:
    vectors, rows, summaries = noted
    of = dict(zip(rows.tolist(), summaries, strict=True))
    late = {row - cut: vector for row, vector in of.items() if row >= cut}
    return [noted_segment(vectors[:cut], of), noted_segment(vectors[cut:], late, cut + 1)]


def test_a_chunk_that_only_its_summary_is_near_to_is_found() -> None:
    axes = np.eye(70, dtype=np.float32)
    segment = noted_segment(axes[:5], {3: axes[60]})
    ((rows, cosine),) = nearest([segment], [None], axes[60], 3)
    assert rows.tolist() == list(range(5)), "each row once"
    assert cosine.tolist() == pytest.approx([0, 0, 0, 1, 0], abs=0.01)
    found = find_candidates(view_of(segment), [None], None, axes[60])
    assert found.chunk_id[found.dense_rank == 1].tolist() == [4]


def test_a_chunk_is_as_near_as_the_nearer_of_its_text_and_its_summary(
    clustered: tuple[Matrix, Matrix], noted: tuple[Matrix, NDArray[np.intp], Matrix]
) -> None:
    segments, query = noted_segments(noted), clustered[1][0]
    expected = best_cosine(noted, query)
    for rows in (np.arange(4_000), np.array([], np.intp), np.array([0, 17, 3_999])):
        np.testing.assert_allclose(similarities(segments[0], rows, query), expected[rows], atol=0.02)
    np.testing.assert_allclose(similarities(segments[1], np.arange(6_000), query), expected[4_000:], atol=0.02)
    for part, segment in zip(nearest(segments, [None, None], query, 100), segments, strict=True):
        # to the bit, unless the scan listed a row for the worse of its two only
        assert (part[1] <= similarities(segment, part[0], query)).all()


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_ten_nearest_are_found_among_texts_and_summaries(
    clustered: tuple[Matrix, Matrix], noted: tuple[Matrix, NDArray[np.intp], Matrix], share: float
) -> None:
    segments = noted_segments(noted)
    allowed = np.random.default_rng(9).random(10_000) < share
    masks = [None, None] if share == 1 else [allowed[:4_000], allowed[4_000:]]
    hits = 0
    for query in clustered[1]:
        parts = nearest(segments, masks, query, 200)
        rows = np.concatenate([parts[0][0], parts[1][0] + 4_000])
        cosine = np.concatenate([parts[0][1], parts[1][1]])
        assert allowed[rows].all()
        assert (rows[:-1] < rows[1:]).all(), "each row once, in order"
        expected = np.where(allowed, best_cosine(noted, query), -2)
        hits += len(set(rows[np.argsort(-cosine)[:10]].tolist()) & set(np.argsort(-expected)[:10].tolist()))
    assert hits / (10 * len(clustered[1])) >= 0.97


def test_the_summary_of_a_row_that_is_masked_or_removed_finds_nothing() -> None:
    axes = np.eye(70, dtype=np.float32)
    segment = noted_segment(axes[:6], {1: axes[60], 4: axes[60]})
    mask = np.array([True, True, True, True, False, True])
    ((rows, cosine),) = nearest([segment], [mask], axes[60], 3)
    assert rows.tolist() == [0, 1, 2, 3, 5]
    assert cosine.argmax() == 1
    merged = merge_segments(
        [segment, noted_segment(axes[6:8], {0: axes[60]}, 7)], [~mask, np.array([True, False])]
    )
    ((rows, cosine),) = nearest([merged], [None], axes[60], 3)
    assert rows[cosine > 0.1].tolist() == [1]
    assert merged.noted.tolist() == [1]


def test_masks_hold_in_the_scan_of_summaries_too(
    clustered: tuple[Matrix, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outcrop.index.nearest.RESCORE", 10)
    query = clustered[1][0]
    segment = noted_segment(clustered[0][:2_000], dict.fromkeys(range(0, 2_000, 2), query))
    mask = np.arange(2_000) % 3 > 0
    ((rows, cosine),) = nearest([segment], [mask], query, 10)
    assert mask[rows].all()
    near = rows[cosine > 0.95]
    assert set(np.flatnonzero(mask & (np.arange(2_000) % 2 == 0))) <= set(near.tolist())
