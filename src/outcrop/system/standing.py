"""The folders one stands in: the current one, unless whoever asks on another's behalf says where that one stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_standing: ContextVar[tuple[str, ...] | None] = ContextVar("outcrop_standing", default=None)


def current_folders() -> tuple[str, ...]:
    """The folders one stands in, as real paths: the current one, if it is still there, unless others were named."""
    named = _standing.get()
    if named is not None:
        return named
    try:
        return (os.getcwd(),)  # noqa: PTH109 - which is absolute and free of links already
    except OSError:
        return ()


@contextmanager
def standing_in(*folders: str) -> Iterator[None]:
    """Whoever asks meanwhile stands in these folders."""
    token = _standing.set(tuple(os.path.realpath(os.path.expanduser(folder)) for folder in folders))  # noqa: PTH111
    try:
        yield
    finally:
        _standing.reset(token)
