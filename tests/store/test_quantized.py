"""Vectors in eight bits come out close to what they were, and from then on as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from outcrop.errors import StoreError
from outcrop.records import Matrix, Model
from outcrop.store.quantized import check_vectors, pack_vectors, unpack_halves, unpack_vectors

ROWS = arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-65504, 65504, width=32)
)


@given(ROWS, st.integers(-40, 0))
def test_packing_twice_gives_the_same_bytes(rows: Matrix, power: int) -> None:
    rows = np.ldexp(rows, power)
    packed = pack_vectors(rows)
    kept = unpack_vectors(packed)
    assert pack_vectors(kept) == packed
    assert np.array_equal(kept, kept.astype(np.float16)), "16 bits hold it exactly"
    assert all(len(blob) == rows.shape[1] + 1 for blob in packed)


@given(ROWS)
def test_no_number_is_off_by_more_than_the_128th_part_of_the_largest(rows: Matrix) -> None:
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    assert (np.abs(unpack_vectors(pack_vectors(rows)) - rows) <= peaks / 128 + 2.0**-25).all()


def test_the_cosine_of_unit_vectors_stays_what_it_was_to_a_thousandth() -> None:
    rows = np.random.default_rng(7).standard_normal((500, 256)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    kept = unpack_vectors(pack_vectors(rows))
    assert np.abs(kept @ rows[0] - rows @ rows[0]).max() < 0.003
    assert np.abs(kept @ rows[0] - rows @ rows[0]).mean() < 0.001


def test_missing_vectors_stay_missing() -> None:
    one, none, two = unpack_halves([b"\x00\x01\x02", None, b"\xff\x04\x06"])
    assert none is None
    assert one is not None
    assert two is not None
    assert (one.tolist(), two.tolist()) == ([1, 2], [2, 3])
    assert unpack_halves([]) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([np.zeros(3), np.zeros(4)], "different sizes"),
        ([np.zeros(3)], r"\(3,\) numbers"),
        ([np.full(4, 1e6)], "not finite in 16 bits"),
        ([np.full(4, np.nan)], "not finite in 16 bits"),
    ],
)
def test_vectors_that_do_not_fit_the_model_are_refused(rows: list[Matrix], said: str) -> None:
    with pytest.raises(StoreError, match=said):
        check_vectors(Model("small", "1", 4), rows)
