"""What a cross-encoder reads of a chunk: one short passage.

On a CPU such a model has time for about 128 tokens a pair, and most chunks are longer. What stands at the beginning (a
signature, a first sentence) says what a chunk is, the lines with the query's rarest words say why it was found: these
are kept, in their order. Plain texts and numbers only, so that whoever trains a model can make its inputs the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

PASSAGE_CHARS: Final = 480
"""About 128 tokens of English or of code at the three to four characters a token that word-piece models take."""
HEAD_SHARE: Final = 3
"""The name of the place gets at most one part in three; a longer one loses its beginning."""
PIECE_CHARS: Final = 160
"""A longer line is cut at the ends of its sentences, a longer sentence at spaces: three or four pieces should fit."""
PATH_PARTS: Final = 3
"""A file's name and two folders: what is further up is shared by most of a collection."""
GAP: Final = "…"

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")

Term = TypeVar("Term", bound=Hashable)
"""A word as whoever calls compares words: a stem, a number …"""


def passage(
    path: str,
    place: Sequence[str],
    text: str,
    wanted: Mapping[Term, float],
    terms: Callable[[str], Iterable[Term]],
    limit: int = PASSAGE_CHARS,
) -> str:
    """At most `limit` characters: the end of the path, the place in the file, and of the text what matters most.

    `place` is a heading path, or the qualified name of a declaration. `wanted` has the terms of the query with their
    weights, rarer ones heavier; `terms` gives those of a text. The same arguments always give the same passage.
    """
    head = _head(path, place, max(limit // HEAD_SHARE, 1))
    room = limit - len(head) - 1
    pieces = _pieces(text, PIECE_CHARS)
    whole = "\n".join(pieces)
    body = whole if len(whole) <= room else _shortened(pieces, wanted, terms, room)
    return f"{head}\n{body}".strip()[:limit]


def _head(path: str, place: Sequence[str], limit: int) -> str:
    """`pool/http/client.py Client > send`, its end where it is too long."""
    end = "/".join([part for part in path.replace("\\", "/").split("/") if part][-PATH_PARTS:])
    names = " > ".join(_one_line(name) for name in place if name.strip())
    head = _one_line(f"{end} {names}")
    return head if len(head) <= limit else GAP + head[len(head) - limit + 1 :]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _pieces(text: str, size: int) -> list[str]:
    """The lines of a text without whitespace that says nothing to a model; long ones as sentences."""
    pieces: list[str] = []
    for line in text.split("\n"):
        plain = _one_line(line)
        if len(plain) <= size:
            pieces += [plain] if plain else []
            continue
        for sentence in _SENTENCE.split(plain):
            pieces += _cut(sentence, size)
    return pieces


def _cut(sentence: str, size: int) -> list[str]:
    """Parts of at most `size`, cut at a space if there is one in their second half."""
    parts = []
    start = 0
    while len(sentence) - start > size:
        space = sentence.rfind(" ", start + size // 2, start + size + 1)
        end = space if space > 0 else start + size
        parts.append(sentence[start:end].strip())
        start = end
    parts.append(sentence[start:].strip())
    return [part for part in parts if part]


def _shortened(
    pieces: Sequence[str], wanted: Mapping[Term, float], terms: Callable[[str], Iterable[Term]], room: int
) -> str:
    """The first piece and then those that say most of what is wanted, in order, as many as fit.

    First come pieces that say something no better one said, then the others that say anything, then the rest from the
    beginning on: a passage is filled.
    """
    found = [wanted.keys() & set(terms(piece)) if wanted else set() for piece in pieces]
    weight = [
        sum(sorted(wanted[term] for term in said)) for said in found
    ]  # sorted: sums are the same in any order
    best = sorted(range(1, len(pieces)), key=lambda i: (-weight[i], i))
    covered: set[Term] = set(found[0]) if pieces else set()
    fresh: list[int] = []
    for i in best:
        if found[i] - covered:
            fresh.append(i)
            covered |= found[i]
    first = pieces[0][: max(room // 2, 1)] if pieces else ""
    kept = {0: first}
    left = room - len(first)
    for i in dict.fromkeys((*fresh, *best)):
        cost = len(pieces[i]) + len(f"\n{GAP}\n")  # should what stands before it be left out
        if cost <= left:
            kept[i] = pieces[i]
            left -= cost
        elif left < PIECE_CHARS // 4:
            break
    return _joined(kept)


def _joined(kept: Mapping[int, str]) -> str:
    parts: list[str] = []
    last = -1
    for i in sorted(kept):
        if i != last + 1:
            parts.append(GAP)
        parts.append(kept[i])
        last = i
    return "\n".join(parts)
