"""Raw text handed over by a caller."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from outcrop.errors import SourceError
from outcrop.records import SourceFile

# An id is a name, not content; this is the longest path on most systems.
_MAX_NAME = 4096

RAW_KINDS: Final = {
    "text": "text/x-raw",  # not text/plain, which servers use for anything
    "markdown": "text/markdown",
    "rst": "text/x-rst",
    "html": "text/html",
    "csv": "text/csv",
    "json": "application/json",
    "yaml": "application/yaml",
    "toml": "application/toml",
}
"""The kinds of raw text, with the media type that selects the parser."""
_SHORT: Final = {"txt": "text", "md": "markdown"}
_EXTENSION: Final = re.compile(r"\.[a-z][a-z0-9]{0,9}$", re.IGNORECASE)

_LOOKED_AT: Final = 64 * 1024
"""Characters searched for a Markdown heading: a text whose first one comes later has none (not measured)."""
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+\S")
_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")
_UNDERLINE: Final = re.compile(r" {0,3}(?:={3,}|-{3,})[ \t]*$")
_OTHER_START: Final = re.compile(r"\s*(?:#!|<!doctype|<html|<\?xml)", re.IGNORECASE)
_PROSE: Final = re.compile(r"[ \t]*(?:[-*+] )?[\w*_`\[(\"'“][^={};]*$")
_PROSE_WORDS: Final = 3


def text_source(
    content: str,
    uri: str | None = None,
    path: str | None = None,
    *,
    media_type: str | None = None,
    kind: str | None = None,
) -> tuple[SourceFile, bytes]:
    """A source for raw text, and its bytes in UTF-8. Without an id, equal texts are the same document. `kind` says how
    to read it (`RAW_KINDS`, `md`, `txt`). Without one the extension of its id decides; with neither, it is Markdown if
    it looks like it."""
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
    if kind is not None:
        media_type = RAW_KINDS[read_kind(kind)]
    elif media_type is None and not _EXTENSION.search(path or name) and looks_like_markdown(content):
        media_type = RAW_KINDS["markdown"]
    return SourceFile(name, path or name, "text", size=len(encoded), media_type=media_type), encoded


def read_kind(kind: str) -> str:
    """The full name of a kind of text; SourceError listing the known ones for any other."""
    name = _SHORT.get(kind.lower(), kind.lower())
    if name not in RAW_KINDS:
        known = ", ".join(sorted({*RAW_KINDS, *_SHORT}))
        raise SourceError(f"there is no kind {kind[:40]!r} of text; use one of {known}")
    return name


def kind_of(file: SourceFile) -> str | None:
    """The kind of a raw text, given or recognised; None where its name decides."""
    if file.origin != "text":
        return None
    return next((kind for kind, media_type in RAW_KINDS.items() if media_type == file.media_type), None)


def looks_like_markdown(text: str) -> bool:
    """Whether a text without a name has a Markdown heading: an underlined line, or a `#` line that is not a comment of
    a script or a settings file."""
    if _OTHER_START.match(text):
        return False
    lines = text[:_LOOKED_AT].split("\n")
    fenced = False
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _is_heading(lines, number):
            return True
    return False


def _is_heading(lines: list[str], number: int) -> bool:
    line = lines[number]
    if number and lines[number - 1].strip():
        return False
    after = lines[number + 1] if number + 1 < len(lines) else ""
    if _HEADING.match(line):
        if not after.strip() or _HEADING.match(after):
            return not after.strip()
        return bool(_PROSE.match(after)) and len(after.split()) >= _PROSE_WORDS
    return bool(line.strip()) and line[0].isalnum() and bool(_UNDERLINE.match(after))
