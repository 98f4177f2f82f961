"""Which letters of a page belong to a passage."""

from __future__ import annotations

from unicodedata import normalize


def find_letters(letters: list[str], passage: str) -> set[int]:
    """Which characters of a page belong to a passage. Only letters and digits are compared: the text of a document was
    cleaned of what a page has between them, and words that a line's end cut were joined."""
    plain, places = [], []
    for at, letter in enumerate(letters):
        for char in _bare(letter):
            plain.append(char)
            places.append(at)
    whole = "".join(plain)
    found = _spans(whole, [passage]) or _spans(whole, passage.split("\n"))
    return {place for start, end in found for place in places[start:end]}


def _spans(whole: str, parts: list[str]) -> list[tuple[int, int]]:
    """Where parts stand in a text, if possible one after the other; those that do not are passed over."""
    spans, after = [], 0
    for part in parts:
        bare = _bare(part)
        start = max(whole.find(bare, after), whole.find(bare) if after else -1) if bare else -1
        if start >= 0:
            after = start + len(bare)
            spans.append((start, after))
    return spans


def _bare(text: str) -> str:
    return "".join(char for char in normalize("NFKC", text).casefold() if char.isalnum())
