"""A cache that holds so much and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from outcrop.system.limits import BoundedCache


def test_the_entry_not_used_for_longest_goes_first() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2, 1000)
    cache.put("a", 1, 1)
    cache.put("b", 2, 1)
    assert cache.get("a") == 1
    cache.put("c", 3, 1)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_what_would_push_out_everything_else_is_not_kept() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10, 1000)
    cache.put("small", 1, 100)
    cache.put("large", 2, 101)
    assert (cache.get("small"), cache.get("large")) == (1, None)
    cache.put("small", 3, 101)  # the old entry is not the value any more
    assert (cache.get("small"), cache.weight) == (None, 0)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30))))
def test_neither_bound_is_ever_passed(puts: list[tuple[int, int]]) -> None:
    cache: BoundedCache[int, int] = BoundedCache(5, 100)
    held: dict[int, int] = {}
    for key, weight in puts:
        cache.put(key, weight, weight)
        held[key] = weight
        assert len(cache) <= 5
        assert cache.weight <= 100
        assert cache.weight == sum(value for key in held if (value := cache.get(key)) is not None)
