"""How often work has begun that nobody has finished yet. Imports nothing: a process of its own has but this to do."""

from __future__ import annotations

from typing import Final

MAX_ATTEMPTS: Final = 2
"""How often a batch may begin. One that began before and has no result was on a machine that went away, or kills its
workers, and Ray would try for ever. Judgement: machines go away rarely, and what is given up here is tried again file
by file."""


class Attempts:
    """Counts how often each batch has begun; an actor of the cluster, so that the count outlives the workers."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, int], int] = {}

    def may_begin(self, stage: str, number: int) -> bool:
        """Whether the batch may begin once more, which it then does."""
        begun = self._begun.get((stage, number), 0) + 1
        self._begun[stage, number] = begun
        return begun <= MAX_ATTEMPTS
