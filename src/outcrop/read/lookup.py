"""A reference, as people write it, to the document that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from outcrop.contracts import Store
from outcrop.errors import Ambiguous, NotFound
from outcrop.records import DocumentInfo, Filter
from outcrop.store.filters import MAX_PATTERN_CHARS

MAX_DIGITS: Final = 18
"""Of a number that is read: no store has a larger one, no file so many lines, and Python refuses to read thousands."""


def find_document(
    store: Store, reference: int | str, collections: Sequence[str], *, within: str | None = None
) -> DocumentInfo:
    """A document by uri (absolute path, URL, the id a text was given), number, or path; NotFound says what to do.

    `collections` are all there are; `within` narrows to one of them.
    """
    name = str(reference)
    names = [within] if within else list(collections)
    found = None if isinstance(reference, int) else _by_uri(store, name, names)
    if found is None and name.isdecimal() and len(name) <= MAX_DIGITS:
        found = store.document(int(name))
    return found or _by_path(store, name, within)


def _by_uri(store: Store, name: str, collections: Sequence[str]) -> DocumentInfo | None:
    uris = [name] if "://" in name else [name, str(Path(name).expanduser().absolute())]
    found = (store.find(collection, uri) for uri in uris for collection in collections)
    return next((info for info in found if info is not None), None)


def _by_path(store: Store, name: str, within: str | None) -> DocumentInfo:
    pattern, bare = glob_of(name), name.removeprefix("/")  # /README.md is the one at the top
    where = Filter(collections=(within,) if within else (), paths=(pattern,))
    found = store.documents(where) if len(pattern) <= MAX_PATTERN_CHARS else ()
    matches = [info for info in found if info.path.endswith(bare)]
    whole = [info for info in matches if info.path == bare]  # README.md at the top, not one somewhere below
    if len(whole) == 1 or len(matches) == 1:
        return (whole if len(whole) == 1 else matches)[0]
    if matches:
        choices = ", ".join(f"{info.id} ({info.collection}: {info.path})" for info in matches[:6])
        raise Ambiguous(f"{name!r} is not unique; take a number: {choices}")
    raise NotFound(f"there is no document {name!r}; `outcrop ls` lists them")


def glob_of(name: str) -> str:
    """A glob pattern that matches just this name."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
