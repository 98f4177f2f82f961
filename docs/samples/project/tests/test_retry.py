"""A policy waits as it says."""

from __future__ import annotations

import pytest

from courier.errors import GaveUp
from courier.retry import RetryPolicy, call_with_retries


def test_the_wait_doubles() -> None:
    policy = RetryPolicy(first_wait_s=1.0, jitter=0.0)
    assert [policy.wait_before(attempt) for attempt in range(4)] == [0.0, 1.0, 2.0, 4.0]


def test_it_gives_up_after_the_last_attempt() -> None:
    def fail() -> None:
        raise OSError("refused")

    with pytest.raises(GaveUp, match="2 attempts"):
        call_with_retries(fail, RetryPolicy(attempts=2, first_wait_s=0.0))
