"""How often each batch was begun. Imports nothing, since a process of its own runs it and nothing else."""

from __future__ import annotations

from typing import Final

MAX_ATTEMPTS: Final = 2
"""How often a batch may begin. One that began before and has no result was on a machine that went away, or kills its
workers, and Ray would retry it for ever. Two is enough (not measured): machines go away rarely, and a batch that is
given up is tried again file by file."""


class Attempts:
    """Counts how often each batch has begun; an actor of the cluster, so that the count outlives the workers."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, int], int] = {}

    def may_begin(self, stage: str, number: int) -> bool:
        """Count one more beginning of the batch; False when there have been too many."""
        begun = self._begun.get((stage, number), 0) + 1
        self._begun[stage, number] = begun
        return begun <= MAX_ATTEMPTS
