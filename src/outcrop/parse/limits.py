"""Limits on parsing one file, and what a reader is given."""

from __future__ import annotations

from outcrop.system.dataclass import dataclass

# A chunker reads every heading; 50 000 is ten times the largest manual seen, and bounds a file of "#\n".
MAX_HEADINGS = 50_000

# Entries of a data file; the rest is one long entry, which a chunker splits by size anyway.
MAX_KEYS = 200_000

# A longer title is a paragraph in disguise; lists and citations show one line.
MAX_TITLE_CHARS = 100


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What one file may cost: `timeout_s` and `max_text_chars` apply to every format, `memory_bytes` to the worker."""

    timeout_s: float
    memory_bytes: int
    # Not below the default limit of 32 MiB per file, so that only that documented limit applies to a text file.
    max_text_chars: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RawFile:
    """What a library reader gets: the bytes, the name, and the charset declared by a server, if any."""

    data: bytes
    path: str
    charset: str | None
    max_text_chars: int
