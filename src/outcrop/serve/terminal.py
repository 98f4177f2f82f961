"""Text from documents, made safe to print: it must not control the terminal."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
# C0 and DEL become their pictures (␛ for escape); C1, which some terminals obey too, and the marks that reverse the
# direction of text or hide it become replacement characters.
_HARMLESS: Final[dict[int, str]] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    # Three marks stand in any Arabic and Hebrew text and only say which way a full stop goes.
    **dict.fromkeys((0x061C, 0x200E, 0x200F), ""),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT),
    **dict.fromkeys((0x2028, 0x2029), "\n"),
}


def clean(text: str) -> str:
    """The text with control characters made visible; line breaks and tabs stay."""
    text = text.replace("\r\n", "\n").translate(_HARMLESS)
    return text.encode("utf-8", "replace").decode("utf-8")


def clean_marked(text: str) -> str:
    """As `clean`, of a long text in which a NUL marks something."""
    return _steering().sub(lambda match: _HARMLESS[ord(match[0])], text.replace("\r\n", "\n"))


@cache
def _steering() -> re.Pattern[str]:
    return re.compile(f"[{re.escape(''.join(map(chr, _HARMLESS.keys() - {0})))}]")


def clean_line(text: str) -> str:
    """As `clean`, on one line: for names, titles and reasons."""
    return " ".join(clean(text).split())


def crop(text: str, size: int) -> str:
    """The beginning of a text that takes more columns; characters of East Asia take two, marks on letters none."""
    if len(text) <= size and text.isascii():
        return text
    width = 0
    for at, character in enumerate(text):
        width += _columns(character)
        if width > size:
            return _crop_to(text[:at], size - 1) + "…"
    return text


def _crop_to(text: str, size: int) -> str:
    width = sum(map(_columns, text))
    while text and (width > size or unicodedata.combining(text[-1])):
        width -= _columns(text[-1])
        text = text[:-1]
    return text


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def say_count(number: int, noun: str) -> str:
    """`1 hit`, `1,024 hits`, `2 queries`, `2 days`."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeou" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"
