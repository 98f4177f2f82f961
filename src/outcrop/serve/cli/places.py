"""Where a passage lies, as somebody at this terminal can open it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from outcrop.records import DocumentInfo, Hit


def path_from_here(info: DocumentInfo) -> str:
    """The path of a document's file from the current folder where it lies below, else from the root of the file system.

    What is no file keeps its name.
    """
    if info.origin != "file":
        return info.path
    try:
        return str(Path(info.uri).relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere; or the current folder was removed
        return info.uri


def place_from_here(hit: Hit) -> str:
    """`notes/plan.md:12-30`, so that editors and terminals open it there."""
    from outcrop.records import place_of

    info = hit.document
    return place_of(path_from_here(info), info.kind, hit.page, hit.line_start, hit.line_end)
