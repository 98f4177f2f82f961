"""A text handed over by a caller."""

from __future__ import annotations

from hashlib import sha256

from outcrop.errors import SourceError
from outcrop.records import SourceFile

# An id is a name, not content; this is the longest path most systems allow.
_MAX_NAME = 4096


def text_source(
    content: str, uri: str | None = None, path: str | None = None, *, media_type: str | None = None
) -> tuple[SourceFile, bytes]:
    """A source for raw text, and its bytes in UTF-8. Without an id, equal texts are the same document."""
    if not content.strip():
        raise SourceError("the text is empty; there is nothing to index")
    for name in (uri, path):
        if name is not None and (not name.strip() or len(name) > _MAX_NAME or not name.isprintable()):
            raise SourceError(
                f"{name[:80]!r} cannot be an id or a path; use 1 to {_MAX_NAME} printable characters"
            )
    try:
        encoded = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SourceError("the text holds half of a surrogate pair; decode it properly first") from error
    name = uri or f"text:{sha256(encoded).hexdigest()[:16]}"
    return SourceFile(name, path or name, "text", size=len(encoded), media_type=media_type), encoded
