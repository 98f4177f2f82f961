"""Limits that a child process sets itself, so that they hold although its parent may be gone."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import resource
except ImportError:  # Windows: the parent's deadline is the only limit there
    resource = None  # type: ignore[assignment]

# The parent kills at the deadline; if it is gone, the kernel does after this much more CPU time.
_CPU_GRACE_S = 10


def limit_memory(limit: int) -> None:
    """Limit the address space to `limit` bytes and turn off core dumps. The limit includes what the interpreter had
    mapped at its start: thread stacks and libraries do not count against the file."""
    if resource is None:
        return
    limits: dict[int, tuple[int, int]] = {resource.RLIMIT_CORE: (0, 0)}
    if hasattr(resource, "RLIMIT_AS"):
        limits[resource.RLIMIT_AS] = (limit, limit)
    for which, pair in limits.items():
        try:
            resource.setrlimit(which, pair)
        except (OSError, ValueError):  # macOS refuses some; an inherited limit is lower already
            continue


def limit_processor(timeout_s: float) -> None:
    """Let the kernel end this process when the work in hand has taken much more CPU time than it may."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + timeout_s) + _CPU_GRACE_S
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def mapped_bytes() -> int:
    """The size of the address space; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
