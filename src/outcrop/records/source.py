"""What is read: files, pages, texts, and what was left out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DEFAULT_COLLECTION: Final = "default"
"""Where texts and single pages go unless a collection is named."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Something that can be read: a file on disk, a fetched page, a text handed over.

    `uri` names it within its collection and never changes while the content does: an absolute path, a URL,
    or the id a caller gave. `path` is the short name people see and filters match: relative to the root that
    was added. `mtime_ns` and `size` are what one stat tells; None where there is no file.
    """

    uri: str
    path: str
    origin: Literal["file", "url", "text"]
    root: str | None = None
    mtime_ns: int | None = None
    size: int | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be added. `id` names it, so that adding it again replaces it; without one its content is its name.
    `kind` says how to read it (`md`, `text`, `html`, `json` …); None leaves that to the extension of the id and to what
    the text looks like."""

    text: str
    id: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out on purpose, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that should have been read and could not be, and why."""

    path: str
    reason: str
