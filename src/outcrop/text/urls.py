"""Which sources are fetched, and which are read from a disk."""

from __future__ import annotations

from typing import TypeGuard


def is_url(source: object) -> TypeGuard[str]:
    """Whether a source is an address to fetch; anything else names a file or a folder."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))
