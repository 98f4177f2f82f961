"""Is a stored document still what its file holds?"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Literal

from outcrop.errors import SourceError
from outcrop.records import DocumentInfo
from outcrop.sources.files import read_plain

Change = Literal["changed", "missing", "unreadable"]


def looks_stale(document: DocumentInfo) -> bool | None:
    """One stat: True if the file differs from what was indexed or is gone, None for anything that is not a file."""
    if document.origin != "file":
        return None
    try:
        status = os.stat(document.uri)  # noqa: PTH116 - ten of these in every search
    except OSError:
        return True
    return (status.st_mtime_ns, status.st_size) != (document.mtime_ns, document.size)


def change_of(document: DocumentInfo, max_bytes: int) -> Change | None:
    """What happened to a document's file since it was indexed; merely touching a file does not count."""
    if not looks_stale(document):
        return None
    path = Path(document.uri)
    try:
        path.stat()
        data = read_plain(path, max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, SourceError):
        return "unreadable"
    return None if sha256(data).hexdigest() == document.sha256 else "changed"
