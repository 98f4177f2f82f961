"""The dictionary as it ships: what each word of other languages is read as, and what English words are called there."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from outcrop.embed.lexicon import TONE_UNIT, hash_word
from training.languages.align import TOKENS, Aligned

BORROWED = 3.0
"""Occurrences of its stem that a form borrows, so that rare forms mean what common ones do (not measured)."""
SENSES = 3
"""Senses of a word. Of 2, 4 and 8 between German and English .575, .586 and .588 NDCG@10; 3 for the size."""
LEAST = 0.04
"""Share of a sense that is kept."""
WEIGHT = 200
"""Occurrences by which a language counts at most for a word that several have: none drowns another."""
MOST_WORDS = 36_000
"""Words of a language, the commonest: what 20 MB hold of 25 languages."""
SAID = 5
RARE = 3e-6

Senses = dict[int, float]


@dataclass(frozen=True)
class Entry:
    """What a word means in one language, and how often it occurs there."""

    language: str
    senses: Senses
    count: int


def read_entries(language: str, found: Aligned) -> dict[str, Entry]:
    """The words of a language and their stems, with their senses."""
    stems = {stem: number for number, stem in enumerate(dict.fromkeys(found.stems))}
    stem_of = np.array([stems[stem] for stem in found.stems])
    counts = np.bincount(stem_of, found.counts, len(stems)).astype(np.float64)
    of_stem: list[Senses] = [defaultdict(float) for _ in stems]
    of_word: list[Senses] = [{} for _ in found.words]
    for word, token, times in zip(found.word.tolist(), found.token.tolist(), found.times.tolist(), strict=True):
        of_stem[stem_of[word]][token] += times
        of_word[word][token] = times
    entries: dict[str, Entry] = {}
    for number, word in enumerate(found.words):
        stem, count = int(stem_of[number]), int(found.counts[number])
        rate = BORROWED / max(float(counts[stem]), 1.0)
        total = {
            token: (of_word[number].get(token, 0.0) + rate * times) / (count + BORROWED)
            for token, times in of_stem[stem].items()
        }
        _add(entries, word, Entry(language, total, count))
    for stem_word, number in stems.items():
        if len(stem_word) > 2 and stem_word not in entries:
            total = {token: times / float(counts[number]) for token, times in of_stem[number].items()}
            _add(entries, stem_word, Entry(language, total, int(counts[number])))
    return entries


def _add(entries: dict[str, Entry], word: str, entry: Entry) -> None:
    best = sorted(entry.senses.items(), key=lambda sense: -sense[1])[: SENSES + 1]
    senses = {token: share for token, share in best if share >= LEAST}
    if senses:
        entries[word] = Entry(entry.language, senses, entry.count)


def merge_entries(found: Sequence[Entry]) -> Senses:
    """What a word means that one or several languages have."""
    total: dict[int, float] = defaultdict(float)
    weights = [min(entry.count, WEIGHT) for entry in found]
    for entry, weight in zip(found, weights, strict=True):
        for token, share in entry.senses.items():
            total[token] += weight * share / sum(weights)
    return dict(sorted(total.items(), key=lambda sense: -sense[1])[:SENSES])


def leave_out_endings(meanings: Mapping[str, Senses]) -> list[str]:
    """The words that must be listed: a form is not whose beginning means the same, since that is how it is read."""
    listed: set[str] = set()
    for word in sorted(meanings, key=len):
        start = next((word[:end] for end in _ends(word) if word[:end] in listed), "")
        if start and len(word) - len(start) < 4:
            senses = meanings[start]
            best = max(meanings[word], key=meanings[word].__getitem__)
            if senses.get(best, 0.0) >= max(senses.values()) / 2:
                continue
        listed.add(word)
    return list(listed)


def _ends(word: str) -> range:
    return range(len(word) - 1, max(4, (len(word) + 1) // 2) - 1, -1) if len(word) > 4 else range(0)


def write_table(folder: Path, meanings: Mapping[str, Senses], tones: Mapping[str, float]) -> int:
    """Write the arrays; the number of words."""
    rows = {hash_word(word): word for word in sorted(meanings, reverse=True)}
    words = [rows[number] for number in sorted(rows)]
    senses = np.full((len(words), SENSES), TOKENS - 1, np.uint16)
    shares = np.zeros((len(words), SENSES), np.uint8)
    for row, word in enumerate(words):
        for place, (token, share) in enumerate(meanings[word].items()):
            senses[row, place], shares[row, place] = token, min(round(share * 255), 255)
    tone = np.array([tones[word] for word in words])
    np.save(folder / "words.npy", np.array(sorted(rows), np.uint32))
    np.save(folder / "senses.npy", senses)
    np.save(folder / "shares.npy", shares)
    np.save(folder / "tones.npy", np.clip(np.round(tone * TONE_UNIT), -127, 127).astype(np.int8))
    return len(words)


def measure_tone(foreign: float, english: float, *, is_token: bool) -> float:
    """How much likelier a word is in its language than in English or code; one that English has belongs to it first."""
    return float(np.log2((foreign + RARE) / (english + RARE))) - is_token


def write_sayings(path: Path, found: Aligned, tokens: int) -> None:
    """What each token of the static model is called in a language, commonest first, in ninths of that."""
    times = found.times.astype(np.float64)
    of_token = np.bincount(found.token, times, tokens) + 1
    score = times / of_token[found.token] * np.sqrt(times / found.counts[found.word])
    order = np.lexsort((-score, found.token))
    bounds = np.searchsorted(found.token[order], np.arange(tokens + 1))
    lines = []
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        places = order[start:end][:SAID]
        said = []
        for place in places.tolist():
            rate = float(score[place] / score[places[0]])
            if rate >= 0.15 and times[place] > 0.05:
                said.append(f"{found.words[found.word[place]]}{max(1, min(9, round(rate * 9)))}")
        lines.append(" ".join(said))
    path.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
