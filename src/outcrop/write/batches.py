"""Files in batches, for processes that prepare them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from outcrop.write.prepare import Job

FILES_A_BATCH: Final = 128
BYTES_A_BATCH: Final = 1_000_000
"""What one task gets at most: some tenths of a second of parsing, against about 10 ms that a task costs Ray."""
BATCHES_A_CORE: Final = 4
"""Few files are cut smaller, so that every core has some and none waits long for the last (not measured)."""

Batch = list[tuple[int, Job]]
"""Jobs with their positions in the order."""


def cut(jobs: Sequence[Job], cores: int) -> list[Batch]:
    """Jobs in batches: neither too many files in one nor too many bytes, and enough batches for all cores."""
    most = max(1, min(FILES_A_BATCH, len(jobs) // (cores * BATCHES_A_CORE)))
    batches: list[Batch] = []
    room = 0
    for position, job in enumerate(jobs):
        size = job.file.size or 0
        if not batches or len(batches[-1]) >= most or size > room:
            batches.append([])
            room = BYTES_A_BATCH
        batches[-1].append((position, job))
        room -= size
    return batches
