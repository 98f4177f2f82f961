"""Which English tokens translate a word: IBM model 1 in both directions, with a prior for like places in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from outcrop.system.arrays import NDArray

ROUNDS = 5
PLACE = 3.0
"""How fast the prior falls with the distance of two places, in shares of a sentence (not measured)."""
COMMON = 5
"""Rarer forms are aligned as their stem (not measured)."""
LONGEST = 40
TOKENS = 1 << 16
Sentence = tuple[list[int], list[str]]
"""Tokens of the static model, and words of the other language."""


@dataclass(frozen=True)
class Aligned:
    """Words with how often each occurs, their stems, and how often word `word[i]` was translated by `token[i]`."""

    words: list[str]
    counts: NDArray[np.int64]
    stems: list[str]
    word: NDArray[np.int32]
    token: NDArray[np.int32]
    times: NDArray[np.float32]


def keep(english: Sequence[int], other: Sequence[str]) -> bool:
    """Whether two sentences can be translations by their lengths."""
    mine, theirs = len(english), len(other)
    return 0 < mine <= LONGEST and 0 < theirs <= LONGEST and mine <= 3 * theirs + 3 and theirs <= 3 * mine + 3


def align(sentences: Sequence[Sentence], stem: Callable[[str], str]) -> Aligned:
    """Count what translates what."""
    counts = Counter(word for _, other in sentences for word in other)
    words = list(counts)
    stems = {word: stem(word) for word in words}
    units = {word: word if counts[word] >= COMMON else "\x01" + stems[word] for word in words}
    unit_ids = {unit: number for number, unit in enumerate(dict.fromkeys(units.values()))}
    word_ids = {word: number for number, word in enumerate(words)}
    cells = [
        _cells(english, [unit_ids[units[word]] for word in other], [word_ids[word] for word in other])
        for english, other in sentences
    ]
    tokens, unit, word, prior = (np.concatenate(columns) for columns in list(zip(*cells, strict=True))[:4])
    by_token = _number_groups(cells, 4)
    by_word = _number_groups(cells, 5)
    keys, cell = np.unique(unit.astype(np.int64) * TOKENS + tokens, return_inverse=True)
    forward = _learn(cell, prior, by_token, (keys // TOKENS).astype(np.int32))
    backward = _learn(cell, prior, by_word, (keys % TOKENS).astype(np.int32))
    both = np.sqrt(forward * backward)
    keys, cell = np.unique(word.astype(np.int64) * TOKENS + tokens, return_inverse=True)
    return Aligned(
        words,
        np.array([counts[found] for found in words]),
        [stems[found] for found in words],
        (keys // TOKENS).astype(np.int32),
        (keys % TOKENS).astype(np.int32),
        np.bincount(cell, both, len(keys)).astype(np.float32),
    )


def _cells(english: list[int], units: list[int], words: list[int]) -> tuple[NDArray[np.generic], ...]:
    """Every pair of a token and a word of one sentence: token, unit, word, prior, and their groups."""
    mine, theirs = len(english), len(words)
    apart = np.abs(np.arange(mine)[:, None] / mine - np.arange(theirs)[None] / theirs)
    return (
        np.repeat(np.array(english, np.int32), theirs),
        np.tile(np.array(units, np.int32), mine),
        np.tile(np.array(words, np.int32), mine),
        np.exp(-PLACE * apart).astype(np.float32).ravel(),
        np.repeat(np.arange(mine, dtype=np.int32), theirs),
        np.tile(np.arange(theirs, dtype=np.int32), mine),
    )


def _number_groups(cells: Sequence[tuple[NDArray[np.generic], ...]], column: int) -> NDArray[np.int32]:
    """Groups numbered over all sentences."""
    numbered, first = [], 0
    for sentence in cells:
        group = sentence[column].astype(np.int32)
        numbered.append(group + first)
        first += int(group.max()) + 1
    return np.concatenate(numbered)


def _learn(
    cell: NDArray[np.intp], prior: NDArray[np.float32], group: NDArray[np.int32], given: NDArray[np.int32]
) -> NDArray[np.float32]:
    """The share of each cell in its group, after so many rounds of expectation and maximisation."""
    chance = np.ones(len(given), np.float32)
    share = prior
    for round_ in range(ROUNDS):
        share = chance[cell] * prior
        share /= (np.bincount(group, share) + (1e-3 if round_ else 0)).astype(np.float32)[group]
        times = np.bincount(cell, share, len(given))
        # A half is taken off what is seen once.
        chance = (times / (np.bincount(given, times)[given] + 0.5)).astype(np.float32)
    return share
