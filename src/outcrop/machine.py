"""What the machine offers to this process."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores this process may use: a container may have fewer than its machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
