"""Other languages read as English: a dictionary from words of other languages to tokens of the static model.

The static model knows English and code. A text in another language is read word by word as the English tokens that
translate it, each weighed by how often it does; their rows are summed as always. So all languages share one space, and
English texts keep their vectors. The dictionary was learnt from aligned sentences and free dictionaries
(`training.languages`); its files lie beside those of the model and are mapped when the first text asks for them:

    words.npy     uint32 (words), ascending: the hash of each word
    senses.npy    uint16 (words, senses): tokens of the static model
    shares.npy    uint8 (words, senses): how often the word means each of them, in 255ths; 0 where there are fewer
    tones.npy     int8 (words): how much likelier the word is in its language than in English or code, log2 in eighths

    XX.txt.gz     for each token of the static model what it is called in language XX, each with a digit from 1 to 9:
                  how often, in ninths of the commonest; opened for an index that holds the language

A word that is not in the dictionary is read as its longest beginning that is, and then what is left of it: endings and
compounds. A name in Cyrillic, Greek or kana is spelled in Latin letters.
"""

from __future__ import annotations

import json
import math
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import Stemmer

from outcrop.embed.keys import find_damage
from outcrop.embed.letters import spell_in_latin, spell_name, write_name
from outcrop.errors import EmbedError
from outcrop.records import Vector
from outcrop.system.arrays import NDArray
from outcrop.text.foreign import cut_words, normalise
from outcrop.text.pattern import pattern
from outcrop.text.scripts import MARKS
from outcrop.text.terms import PART

CARD: Final = "lexicon.json"
FILES: Final = ("words.npy", "senses.npy", "shares.npy", "tones.npy")
_TYPES: Final = (np.uint32, np.uint16, np.uint8, np.int8)
_REINSTALL: Final = "reinstall outcrop"

TONE_UNIT: Final = 8
"""Tones are kept in eighths of a bit."""
_ENGLISH_ONLY: Final = -4.0
"""Tone of a word that the static model knows and the dictionary does not, in bits (not measured)."""
_OTHER_SCRIPT: Final = 8.0
"""Tone of a word in letters other than Latin, in bits: it is certainly not English."""
_FOREIGN: Final = 2.0
"""Bits for a text to be taken as foreign. One telling word is enough for a short query, and what a name or a loanword
says for it is soon outweighed by the words around it (not measured)."""
_DOUBT: Final = 0.25
"""And as many for each word of it: English names and abbreviations are a little foreign, a text of another language is
by several bits a word (not measured)."""
_ENOUGH: Final = 12
_PLAIN: Final = -1.0
"""Every third word of a text, if there are so many, tells plain English by this many bits a word. So 97 % of 3 000
paragraphs of English are told, and none of 2 214 stretches of news in nine languages; -.5 and -1.5 are no different."""
_SAMPLE: Final = 200
"""Characters of the beginning, the middle and the end of a text that tell its language."""
_LONG_WORD: Final = 64
"""Longer ones are blobs, hardly ever seen twice."""

_SHORTEST: Final = 4
"""Letters of a beginning that may stand for a word; two in Hangul, where a letter is a syllable."""
_MOST_PARTS: Final = 3
"""Parts of a compound that are looked up."""
_SPREAD: Final = 0.5
"""A word that is spelled in n pieces counts as n to the power of one half: on questions about news, from Russian to
English and back, NDCG@10 of the nearest vectors .45 where every piece counts in full, .48 so, .48 where they share 1.
Senses count so, too, by the sum of their shares: .48, the same as in full, but .83 for .81 within Russian."""
_OTHER_FORM: Final = 0.4
"""What a translation of another form of an English word counts: `elections` has few of its own. On questions about
news from English into six languages and from French into Ukrainian (`training/README.md`) NDCG@10 .642 without, .646 at
.4, and .647 at .7 with eight translations of a word."""
_MOST_SAID: Final = 5
"""Translations of a word at most."""
_CACHED_WORDS: Final = 1 << 16
"""Words remembered, about 16 MB when full; then all are forgotten, and the common come back."""

_LETTERS: Final = pattern(rf"[^\W\d_](?:[^\W\d_]++|[{MARKS}]++)*+")
_ASCII_LETTERS: Final = "".join(chr(code).lower() if chr(code).isalpha() else " " for code in range(128))
"""What each character of ASCII becomes before a text is split into words."""
_OTHER_LETTERS: Final = pattern(
    rf"(?:(?![a-zA-Z\u00aa-\u024f\u1e00-\u1eff\ufb00-\ufb06\uff21-\uff5a])[^\W\d_]|(?<=[^\W\d_])[{MARKS}])+"
)
"""A stretch of letters that are not Latin."""
_IDENTIFIER: Final = pattern(r"[A-Za-z0-9]*(?:[a-z0-9][A-Z]|_)[A-Za-z0-9_]*")
"""A name out of code: it is English in any text."""

Senses = tuple[tuple[int, float], ...]
"""Tokens of the static model with the share of each."""


def hash_word(word: str) -> int:
    """The number that a word is found by."""
    return int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=4).digest(), "little")


class Lexicon:
    """The dictionary. Safe to use from any thread: its caches only ever gain entries that are equal."""

    def __init__(self, folder: Path, tokens: Mapping[str, int], spell: Callable[[str], Sequence[int]]) -> None:
        """`tokens` are those of the static model, `spell` is how it reads a word that is none of them."""
        self._folder = folder
        try:
            card = json.loads((folder / CARD).read_text("utf-8"))
            arrays = [np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in FILES]
            words, senses, shares, tones = arrays
            size, width = int(card["words"]), int(card["senses"])
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise EmbedError(f"the dictionary in {folder} cannot be read ({error}): {_REINSTALL}") from error
        shapes = [(size,), (size, width), (size, width), (size,)]
        found = [(array.dtype, array.shape) for array in arrays]
        if found != list(zip(map(np.dtype, _TYPES), shapes, strict=True)) or card["vocabulary"] != len(tokens):
            raise EmbedError(
                f"the dictionary in {folder} does not have the size that its card states: {_REINSTALL}"
            )
        self._hashes: Mapping[str, Any] = card.get("sha256", {})
        self._words = memoryview(words)
        self._senses: NDArray[np.uint16] = senses
        self._shares: NDArray[np.uint8] = shares
        self._tones: NDArray[np.int8] = tones
        self._tokens = tokens
        self._spell = spell
        self._entries: dict[str, tuple[bytes, memoryview[int]]] = {}
        self._forms: dict[str, dict[str, list[str]]] = {}
        self._told: dict[tuple[str, str], Sequence[tuple[str, float]]] = {}
        self.languages = frozenset(card["languages"])
        self._rows: dict[str, int] = {}
        self._known: dict[str, Senses] = {}
        self._tones_seen = _Tones(self.measure_tone)
        self._last_split = ("", ("", ""))
        self._last_forms: tuple[str, Sequence[str]] = ("", ())

    @cached_property  # only foreign text is translated
    def _names(self) -> list[str]:
        return list(self._tokens)

    def damage(self) -> list[str]:
        """What is wrong with the files, by their hashes; empty when all is well. Reads them whole."""
        names = (*FILES, *(f"{language}.txt.gz" for language in sorted(self.languages)))
        return find_damage(self._folder, {name: self._hashes.get(name) for name in names}, _REINSTALL)

    def is_foreign(self, text: str) -> bool:
        """Whether a text is in another language than English, judged by some of its words."""
        words = _split_letters(_take_sample(text))
        third = words[::3]
        if len(third) >= _ENOUGH and sum(map(self._tones_seen.__getitem__, third)) < _PLAIN * len(third):
            return False
        return sum(map(self._tones_seen.__getitem__, words)) > _FOREIGN + _DOUBT * len(words)

    def split(self, text: str) -> tuple[str, str]:
        """A text as what is to be read as English and what is not. Names out of code are English in any text."""
        last = self._last_split
        if last[0] != text:
            self._last_split = last = (text, self._split(text))  # every search asks four times
        return last[1]

    def _split(self, text: str) -> tuple[str, str]:
        if self.is_foreign(text):
            return " ".join(_IDENTIFIER.findall(text)), _IDENTIFIER.sub(" ", text)
        if text.isascii():
            return text, ""
        return text, " ".join(_OTHER_LETTERS.findall(text))

    def weigh_tokens(self, text: str, exponent: float) -> tuple[NDArray[np.int64], Vector]:
        """The English tokens that a foreign text is read as, ascending, with the share of each."""
        totals: dict[int, float] = {}
        counts = Counter(cut_words(normalise(text), self.has))
        for word, count in counts.items():
            times = count**exponent
            for token, share in self.read_word(word):
                totals[token] = totals.get(token, 0.0) + times * share
        tokens = np.array(sorted(totals), np.int64)
        return tokens, np.array([totals[token] for token in tokens.tolist()], np.float32)

    def translate(self, text: str, most: int) -> list[tuple[str, str, float]]:
        """The first words of a foreign text, what each may be in English, and how likely against the likeliest."""
        found: list[tuple[str, str, float]] = []
        words = dict.fromkeys(cut_words(normalise(text), self.has))
        for word in islice((word for word in words if not word.isdigit()), most):
            for row in self._part(word):
                senses = self._senses_of(row)
                best = max((share for _, share in senses), default=1.0)
                found += [(word, self._names[token], share / best) for token, share in senses]
            if not self.has(word):
                found += [(word, name, 1.0) for name in spell_name(word)]
        return found

    def list_english(self, text: str, most: int) -> list[tuple[str, str, float]]:
        """The first words of an English text, each as its own translation."""
        words = dict.fromkeys(match.group().lower() for match in PART.finditer(text))
        known = (word for word in words if word in self._tokens or word.isalpha())
        return [(word, word, 1.0) for word in islice(known, most)]

    def say(self, word: str, language: str) -> Sequence[tuple[str, float]]:
        """What an English word, or another form of it, is called in another language, and how likely against the
        likeliest. An unknown one may be a name, which is written in the letters of the language."""
        told = self._told.get((word, language))
        if told is None:
            told = self._say(word, language)
            if len(self._told) >= _CACHED_WORDS:
                self._told.clear()
            if len(word) <= _LONG_WORD:
                self._told[word, language] = told
        return told

    def _say(self, word: str, language: str) -> Sequence[tuple[str, float]]:
        entries = self._entries_of(language)
        found = self._said(word, entries)
        for form in self._forms_of(word):
            for other, rate in self._said(form, entries).items():
                found[other] = max(found.get(other, 0.0), _OTHER_FORM * rate)
        if not found and language in self.languages:
            return tuple((name, 1.0) for name in write_name(word, language))
        return tuple(sorted(found.items(), key=lambda said: -said[1])[:_MOST_SAID])

    def _said(self, word: str, entries: tuple[bytes, memoryview[int]]) -> dict[str, float]:
        text, ends = entries
        token = self._tokens.get(word)
        if token is None or token >= len(ends):
            return {}
        said = text[ends[token - 1] + 1 if token else 0 : ends[token]].decode("utf-8").split()
        return {entry[:-1]: int(entry[-1]) / 9 for entry in said}

    def _forms_of(self, word: str) -> Sequence[str]:
        """The other tokens that have the stem of an English word."""
        last = self._last_forms
        if last[0] != word:  # which is asked for one language after the other
            self._last_forms = last = (word, self._find_forms(word))
        return last[1]

    def _find_forms(self, word: str) -> list[str]:
        stemmer = Stemmer.Stemmer("english", 0)
        stem = stemmer.stemWord(word)
        # A stem begins as its word does, so only those of one letter are looked through.
        forms = self._forms.get(stem[:1])
        if forms is None:
            names = [name for name in self._names if name[:1] == stem[:1]]
            forms = {}
            for name, of in zip(names, stemmer.stemWords(names), strict=True):
                forms.setdefault(of, []).append(name)
            self._forms[stem[:1]] = forms
        return [form for form in forms.get(stem, ()) if form != word]

    def _entries_of(self, language: str) -> tuple[bytes, memoryview[int]]:
        """For each token of the static model what it is called in a language, a line each, and where the lines end;
        nothing in one that is not here."""
        known = self._entries.get(language)
        if known is None:
            import gzip  # an index of nothing but English has no use for it

            path = self._folder / f"{language}.txt.gz"
            try:
                text = gzip.decompress(path.read_bytes()) + b"\n" if language in self.languages else b""
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise EmbedError(f"the dictionary {path} cannot be read ({error}): {_REINSTALL}") from error
            ends: Any = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
            known = self._entries[language] = text, memoryview(ends)
        return known

    def has(self, word: str) -> bool:
        """Whether the dictionary lists a normalised word."""
        return self._find(word) >= 0

    def knows(self, text: str) -> bool:
        """Whether the dictionary lists any word of a text, or one that it begins with."""
        return any(self._part(word) for word in set(cut_words(normalise(text), self.has)) if not word.isdigit())

    def understands(self, text: str) -> bool:
        """Whether half of the words of a foreign text are known; it is not asked of an English one."""
        _, foreign = self.split(text)
        words = {word for word in cut_words(normalise(foreign), self.has) if not word.isdigit()}
        known = sum(1 for word in words if word in self._tokens or self._part(word))
        return 2 * known >= len(words)

    def read_word(self, word: str) -> Senses:
        """The tokens that a normalised word is read as."""
        known = self._known.get(word)
        if known is None:
            known = self._read_word(word)
            if len(self._known) >= _CACHED_WORDS:
                self._known.clear()
            self._known[word] = known
        return known

    def _read_word(self, word: str) -> Senses:
        row = self._find(word)
        if row >= 0:
            return self._senses_of(row)
        token = self._tokens.get(word)
        if token is not None:
            return ((token, 1.0),)
        parts = [] if word.isdigit() else self._part(word)
        if parts:
            return tuple(sense for row in parts for sense in self._senses_of(row))

        pieces = self._spell(spell_in_latin(word))
        return tuple((token, len(pieces) ** -_SPREAD) for token in pieces)

    def _part(self, word: str) -> list[int]:
        """The rows of a word: itself, or beginnings that cover at least half of it, one after another."""
        row = self._find(word)
        if row >= 0:
            return [row]
        shortest = 2 if "\uac00" <= word[:1] <= "\ud7a3" else _SHORTEST
        word = word[: _MOST_PARTS * 24]
        found: list[int] = []
        at = 0
        while len(word) - at >= shortest and len(found) < _MOST_PARTS:
            for end in range(len(word), at + shortest - 1, -1):
                row = self._find(word[at:end])
                if row >= 0 and (at or 2 * end >= len(word) or len(word) >= 3 * shortest):
                    found.append(row)
                    at = end
                    break
            else:
                break
        return found

    def _senses_of(self, row: int) -> Senses:
        tokens, shares = self._senses[row].tolist(), self._shares[row].tolist()
        scale = 255 * math.sqrt(sum(shares) / 255)
        return tuple((token, share / scale) for token, share in zip(tokens, shares, strict=True) if share)

    def _find(self, word: str) -> int:
        """The row of a word, or -1."""
        row = self._rows.get(word)
        if row is None:
            number = hash_word(word)
            row = bisect_left(self._words, number)
            if row == len(self._words) or self._words[row] != number:
                row = -1
            if len(self._rows) >= _CACHED_WORDS:
                self._rows.clear()
            self._rows[word] = row
        return row

    def measure_tone(self, word: str) -> float:
        """How much likelier a lower-case word is in another language than in English, in bits."""
        if not word.isascii() and _OTHER_LETTERS.match(word):
            return _OTHER_SCRIPT
        if len(word) == 1:
            return 0.0
        row = self._find(normalise(word))
        if row >= 0:
            return float(self._tones[row]) / TONE_UNIT
        return _ENGLISH_ONLY if word in self._tokens else 0.0


class _Tones(dict[str, float]):
    """Word → its tone, worked out when first seen."""

    def __init__(self, measure: Callable[[str], float]) -> None:
        super().__init__()
        self._measure = measure

    def __missing__(self, word: str) -> float:
        tone = self._measure(word)
        if len(word) <= _LONG_WORD:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = tone
        return tone


def _split_letters(sample: str) -> list[str]:
    """The words of a text in lower case: letters with their marks."""
    if sample.isascii():
        return sample.translate(_ASCII_LETTERS).split()
    return _LETTERS.findall(sample.lower())


def _take_sample(text: str) -> str:
    """A text, or its beginning, middle and end."""
    if len(text) <= 3 * _SAMPLE:
        return text
    middle = len(text) // 2
    return " ".join((text[:_SAMPLE], text[middle : middle + _SAMPLE], text[-_SAMPLE:]))
