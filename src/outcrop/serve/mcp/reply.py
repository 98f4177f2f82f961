"""What a tool answers: text that a model reads, small, with everything quoted fenced off.

Documents are data. All that comes from them, file names and headings too, stands between two lines with a delimiter
made for this one answer, and each hit begins with it: a text cannot close a fence whose mark it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from outcrop.serve.terminal import clean, clean_line
from outcrop.system.dataclass import dataclass
from outcrop.text.marks import draw_mark
from outcrop.text.tokens.estimate import BYTES_PER_TOKEN, estimate_tokens

MIN_TOKENS: Final = 200
DEFAULT_TOKENS: Final = 2_000
"""The default size of an answer: eight hits of a chunk of 200 tokens each (not measured)."""
MAX_TOKENS: Final = 20_000
"""The most that can be asked for at a time: clients cut or refuse answers above some 25 000 tokens."""
MARK_BYTES: Final = 4
"""Short, since every hit carries the mark; it cannot be foreseen, and a text that holds it by chance gets another."""
LONGEST_LINE: Final = 300
"""Characters of a hit's own line; the name of a file can have thousands."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer in words, and as data where that says all of it: some clients show a model only the data."""

    text: str
    data: dict[str, Any] | None = None


def readable(text: str) -> str:
    """Text of a document as JSON can carry it, unchanged otherwise: an edit must be able to quote it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, most: int = LONGEST_LINE) -> str:
    """A name, a heading or a message: on one line, nothing hidden in it, not endless."""
    line = clean_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"


def _fence(mark: str, text: str) -> str:
    return f"<data {mark}>\n{text}\n</data {mark}>"


@dataclass(frozen=True, slots=True)
class Part:
    """One numbered item of an answer: its own line, and what is quoted below it."""

    line: str
    text: str = ""


def fence_parts(parts: Sequence[Part], first: int = 1) -> str:
    """Numbered items in one fence; each line that numbers one carries the mark, so none can be made up in a text."""
    parts = [Part(one_line(part.line), clean(part.text)) for part in parts]
    mark = draw_mark([text for part in parts for text in (part.line, part.text)], MARK_BYTES)
    shown = [
        f"{mark} [{number}] {part.line}" + (f"\n{part.text}" if part.text else "")
        for number, part in enumerate(parts, first)
    ]
    return _fence(mark, "\n\n".join(shown))


def fence_text(text: str) -> str:
    """One text in a fence of its own."""
    return _fence(draw_mark([text], MARK_BYTES), readable(text))


def fitting(parts: Sequence[Part], max_tokens: int) -> int:
    """How many of the items fit, at least one."""
    total = 0
    for number, part in enumerate(parts):
        # 8: the mark, the number, the blank line
        total += estimate_tokens(part.line) + estimate_tokens(part.text) + 8
        if total > max_tokens and number:
            return number
    return len(parts)


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a text: the first and last that are shown, of how many, and whether the last one was cut."""

    text: str
    first: int
    last: int
    total: int
    cut: bool


def take_lines(text: str, first: int, last: int | None, max_tokens: int) -> Lines:
    """The lines asked for, as many whole ones as fit; one that alone does not fit is cut."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    end = min(len(lines), last if last is not None else len(lines))
    room, taken = max_tokens, []
    for line in lines[first - 1 : end]:
        room -= estimate_tokens(line + "\n")
        if room < 0:
            break
        taken.append(line)
    cut = not taken and first <= end
    if cut:
        beginning = lines[first - 1].encode("utf-8", "replace")[: max_tokens * BYTES_PER_TOKEN]
        taken = [beginning.decode("utf-8", "ignore")]
    return Lines("\n".join(taken), first, first + len(taken) - 1, len(lines), cut)
