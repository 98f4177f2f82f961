"""What parsing one file may cost, what a reader is given, and the caps that keep every format linear."""

from __future__ import annotations

from dataclasses import dataclass

# A chunker reads every heading; 50 000 is ten times the largest manual seen, and bounds a file of "#\n".
MAX_HEADINGS = 50_000

# Entries of a data file; past this the rest is one long entry, which a chunker splits by size anyway.
MAX_KEYS = 200_000

# Longer titles are a paragraph in disguise; list views and citations show one line.
MAX_TITLE_CHARS = 100


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What one file may cost: `timeout_s` and `max_text_chars` bind every format, `memory_bytes` the worker."""

    timeout_s: float
    memory_bytes: int
    # No less than the 32 MiB a file may have by default, so that one limit, the documented one, binds a text file.
    max_text_chars: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RawFile:
    """What a library reader gets: the bytes, the name, and the charset a server declared, if one did."""

    data: bytes
    path: str
    charset: str | None
    max_text_chars: int
