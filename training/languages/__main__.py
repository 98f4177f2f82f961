"""python -m training.languages --from FOLDER --into OUT --languages de,ru,…

FOLDER holds `NAME.tsv`, lines of a language, an English text and its translation, which the readers of `sources` write:
sentences, and dictionaries under the names in DICTIONARIES. OUT gets what `embed.lexicon` opens, but for its card. One
language takes about a minute of CPU and 2 GB.
"""

from __future__ import annotations

import argparse
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import Stemmer

from outcrop.embed.static import PACKAGED_MODEL, Vocabulary
from outcrop.text.foreign import cut_words, normalise
from outcrop.text.languages import known_languages
from outcrop.text.terms import PART
from training.languages.align import Aligned, Sentence, align, keep
from training.languages.table import (
    MOST_WORDS,
    Entry,
    leave_out_endings,
    measure_tone,
    merge_entries,
    read_entries,
    write_sayings,
    write_table,
)

DICTIONARIES = frozenset({"wordnets", "edict", "cedict", "freedict"})
MOST = 250_000
"""Pairs of one source in a language: the help of an office program is half of all."""
COLLOCATED = 4.0
"""Mutual information, in nats, from which characters without a space between them are taken for a word."""
OFTEN = 15


def read_pairs(folder: Path, language: str) -> Iterator[tuple[str, bool, str, str]]:
    """(source, whether it is a dictionary, English, translation), each pair of a source once."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8") as lines:
            rows = {line for line in lines if line.startswith(f"{language}\t") and line.count("\t") == 2}
        chosen = sorted(rows)
        if len(chosen) > MOST and path.stem not in DICTIONARIES:
            chosen = random.Random(1).sample(chosen, MOST)
        for row in chosen:
            _, english, other = row.rstrip("\n").split("\t")
            yield path.stem, path.stem in DICTIONARIES, english, other


def find_words(pairs: list[tuple[str, bool, str, str]]) -> set[str]:
    """The words of a script without spaces: those of dictionaries, and characters that stand together."""
    runs: Counter[str] = Counter()
    words = {normalise(other) for _, is_dictionary, _, other in pairs if is_dictionary and len(other) <= 6}
    for _, is_dictionary, _, other in pairs:
        if not is_dictionary:
            runs.update(re.findall(r"[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff]+", normalise(other)))
    grams: Counter[str] = Counter()
    for run, times in runs.items():
        for length in (1, 2, 3, 4):
            for at in range(len(run) - length + 1):
                grams[run[at : at + length]] += times
    total = sum(times for gram, times in grams.items() if len(gram) == 1)
    for gram, times in grams.items():
        if len(gram) > 1 and times >= OFTEN:
            splits = (grams[gram[:cut]] * grams[gram[cut:]] for cut in range(1, len(gram)))
            if min(math.log(times * total / split) for split in splits) > COLLOCATED:
                words.add(gram)
    return words


def make_stem(language: str) -> Callable[[str], str]:
    """The stemmer of a language, or cutting two letters off."""
    known = known_languages().get(language)
    if known is not None and known.stemmer:
        return Stemmer.Stemmer(known.stemmer).stemWord  # type: ignore[no-any-return]
    return lambda word: word[:2] if "\uac00" <= word[0] <= "\ud7a3" else word[: max(4, len(word) - 2)]


def read_sentences(pairs: list[tuple[str, bool, str, str]], vocabulary: Vocabulary) -> list[Sentence]:
    """Pairs as the engine reads both sides."""
    words = find_words(pairs)
    found = []
    for _, _, english, other in pairs:
        mine = [token for match in PART.finditer(english) if not match.group().isdigit()
                for token in vocabulary.spell(match.group())[:4]]  # fmt: skip
        theirs = [word for word in cut_words(normalise(other), words.__contains__) if not word.isdigit()]
        if keep(mine, theirs):
            found.append((mine, theirs))
    return found


def read_english(sentences: list[Sentence], tokens: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How often each token stands in the English sides."""
    every = np.array([token for english, _ in sentences for token in english], np.int64)
    return np.bincount(every, minlength=tokens).astype(np.float64)


def count_code(folder: Path) -> Counter[str]:
    """Words of source code: some of the modules of the running Python."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py"))[::3][:1500]:
        counts.update(match.group().lower() for match in PART.finditer(path.read_text("utf-8", "replace")))
    return counts


def main() -> None:
    """Make the dictionary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--languages", required=True)
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    tokens = (PACKAGED_MODEL / "vocab.txt").read_text("utf-8").removesuffix("\n").split("\n")
    vocabulary = Vocabulary(tokens)
    entries: dict[str, list[Entry]] = defaultdict(list)
    english = np.zeros(len(tokens))
    totals: dict[str, int] = {}
    for language in arguments.languages.split(","):
        sentences = read_sentences(list(read_pairs(arguments.source, language)), vocabulary)
        english += read_english(sentences, len(tokens))
        found: Aligned = align(sentences, make_stem(language))
        totals[language] = int(found.counts.sum())
        write_sayings(arguments.into / f"{language}.txt.gz", found, len(tokens))
        for word, entry in read_entries(language, found).items():
            entries[word].append(entry)
        print(f"{language}: {len(sentences)} pairs, {len(found.words)} words", flush=True)
    meanings = {word: merge_entries(several) for word, several in entries.items()}
    quota: Counter[str] = Counter()
    chosen = {}
    for word in sorted(leave_out_endings(meanings), key=lambda word: -sum(e.count for e in entries[word])):
        owner = max(entries[word], key=lambda entry: entry.count).language
        quota[owner] += 1
        if quota[owner] <= MOST_WORDS:
            chosen[word] = meanings[word]
    code = count_code(Path(re.__file__).parents[1])
    share, shared = english / english.sum(), sum(code.values())
    tones = {
        word: measure_tone(
            max(entry.count / totals[entry.language] for entry in entries[word]),
            max(float(share[vocabulary.ids[word]]) if word in vocabulary.ids else 0.0, code[word] / shared),
            is_token=word in vocabulary.ids,
        )
        for word in chosen
    }
    print(f"{write_table(arguments.into, chosen, tones)} words in all")


if __name__ == "__main__":
    main()
