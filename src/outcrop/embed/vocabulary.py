"""Text to token ids, for the static model: fast, exact, and bounded in time on any text.

A text is cut into words (camelCase and snake_case come apart, letters and digits come apart, everything is
lower-cased), and a word that is not a token of the vocabulary is spelled by the longest tokens that fit.

What makes it fast is where the cache sits. No word crosses an ASCII character that is neither letter nor
digit, so the text is first cut at those (translate and split, both in C), and the ids of each stretch, for
instance `getUserName`, are remembered as packed bytes: a known text is one join of dictionary values.
Measured side by side on 1.06 kB chunks of English documentation, one core: 27 µs a chunk once the stretches are
known and 68 µs while they are learnt; a regular expression over every text and a look-up a word took 92 and 143.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from operator import itemgetter

from outcrop.text.words import PART

ID_BYTES = array("I").itemsize
"""Width of a packed token id, in the machine's own byte order."""

_MAX_PIECES = 8
"""Tokens that spell one unknown word at most: more says nothing of its meaning. The model was trained so."""
_MAX_NUMBER_PIECES = 3
"""The same for numbers, whose tokens carry even less."""
_NUMBER_PIECE = 4
"""Longest piece of a number: a year is one token, a longer number is cut in fours, as in training."""

_TELLING_PIECE = 4
"""Letters of a piece that tells what an unknown word is about, if it is half of the word. Of 2 000 words of random
letters 1.3 % are known by that, of 15 misspelt words 11."""

_CACHED_STRETCHES = 1 << 17
"""At 120 bytes an entry the cache stays near 16 MB. When full it is emptied: the common come back."""
_CACHED_STRETCH_BYTES = 64
"""Longer stretches are blobs or text without spaces, hardly ever seen twice."""

# Bytes of UTF-8: ASCII letters and digits and all of a non-ASCII character stay, the rest becomes a space.
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_TO_STRETCHES = bytes(c if c >= 0x80 or c in _KEPT else 0x20 for c in range(256))


def words(text: str) -> list[str]:
    """The words of a text, cut as the model's tokens are, in lower case."""
    return [word.lower() for word in PART.findall(text)]


class Vocabulary:
    """The tokens of a static model and how text is spelled in them. Safe to use from any thread."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._ids = dict(zip(tokens, range(len(tokens)), strict=True))
        self._stretches = _Stretches(self._ids, tokens)

    def __len__(self) -> int:
        return len(self._ids)

    def knows(self, text: str) -> bool:
        """Whether any word of a text is a token, or begins or ends as one does: `autogenrate`, not `zzqqxx`."""
        return any(self._stretches.knows(match.group().lower()) for match in PART.finditer(text))

    def pack(self, text: str) -> bytes:
        """The ids of a text's tokens in their order, `ID_BYTES` each."""
        # A lone surrogate becomes `?`: like it, no part of any word.
        stretches = text.encode("utf-8", "replace").translate(_TO_STRETCHES).split()
        return b"".join(map(self._stretches.__getitem__, stretches))


class _Stretches(dict[bytes, bytes]):
    """Stretch of text → its packed token ids, worked out at first sight."""

    def __init__(self, ids: dict[str, int], tokens: Sequence[str]) -> None:
        super().__init__()
        self._ids = ids
        self._tokens = tokens
        self._longest = max(map(len, ids), default=0)
        self._first_letters = frozenset(map(itemgetter(slice(1)), ids))

    def __missing__(self, stretch: bytes) -> bytes:
        text = stretch.decode("utf-8")
        if len(stretch) > _CACHED_STRETCH_BYTES:
            # One match at a time: a blob of megabytes must not become a list of millions of words.
            return self._pack(match.group() for match in PART.finditer(text))
        packed = self._pack(PART.findall(text))
        if len(self) >= _CACHED_STRETCHES:
            self.clear()
        self[stretch] = packed
        return packed

    def knows(self, word: str) -> bool:
        """Whether a word is a token, or one of its pieces is long enough to tell what it is about. No number is."""
        if word.isdigit() or len(word) == 1:
            return False
        if word in self._ids:
            return True
        lengths = (len(self._tokens[id_]) for id_ in self._spell(word, self._longest, _MAX_PIECES))
        longest = max(lengths, default=0)
        return longest >= _TELLING_PIECE and 2 * longest >= len(word)

    def _pack(self, words: Iterable[str]) -> bytes:
        ids = array("I")
        for surface in words:
            word = surface.lower()
            known = self._ids.get(word)
            if known is not None:
                ids.append(known)
            elif word.isdigit():
                ids.extend(self._spell(word, _NUMBER_PIECE, _MAX_NUMBER_PIECES))
            else:
                ids.extend(self._spell(word, self._longest, _MAX_PIECES))
        return ids.tobytes()

    def _spell(self, word: str, longest: int, most: int) -> list[int]:
        """The word as at most `most` tokens, each the longest that fits; other characters are passed over."""
        found: list[int] = []
        # `most` tokens cover no more than this: the rest of a word of megabytes need not be looked at.
        word = word[: longest * most]
        at = 0
        while at < len(word) and len(found) < most:
            step = 1
            if word[at] in self._first_letters:
                for end in range(min(len(word), at + longest), at, -1):
                    piece = self._ids.get(word[at:end])
                    if piece is not None:
                        found.append(piece)
                        step = end - at
                        break
            at += step
        return found
