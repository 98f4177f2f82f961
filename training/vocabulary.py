"""Which tokens the static model has: whole words first, and pieces that spell the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from outcrop.embed.static import words

_PLAIN = re.compile(r"[a-z]{2,22}")
_NUMBER = re.compile(r"[0-9]{1,4}")
PIECES = 3_500
"""Of the tokens; the prototype's share, which was never varied."""
SEEN_TOGETHER = 30
"""An unknown word counts this often at most when pieces are learnt: names of one project must not fill them."""


def count_words(texts: Iterable[str]) -> Counter[str]:
    """In how many texts each word occurs, words as the engine cuts them (`outcrop.embed.static`)."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(set(words(text)))
    return found


def choose_tokens(found: Counter[str], known: Sequence[str], size: int) -> list[str]:
    """At most `size` tokens: letters and digits, `known` whole words of a teacher, the most frequent words, pieces.

    Hangs on the counts alone, not on the order in which words were counted (a set's, different in every process).
    """
    tokens = dict.fromkeys("abcdefghijklmnopqrstuvwxyz0123456789")
    for word in known:
        if len(tokens) >= size - PIECES:
            break
        if _PLAIN.fullmatch(word) and (found[word] > 1 or len(word) <= 12):
            tokens[word] = None
    for word in sorted(found, key=lambda word: (-found[word], word)):
        if len(tokens) >= size - PIECES:
            break
        if _PLAIN.fullmatch(word) or _NUMBER.fullmatch(word) or (word.isalpha() and not word.isascii()):
            tokens[word] = None
    unknown = {
        word: count
        for word, count in sorted(found.items())
        if word not in tokens and count > 2 and _PLAIN.fullmatch(word)
    }
    for piece in learn_pieces(unknown, 3 * PIECES):
        if len(tokens) >= size:
            break
        if piece.isascii() and piece.isalpha():
            tokens[piece] = None
    return list(tokens)


def learn_pieces(words: dict[str, int], size: int) -> list[str]:
    """Pieces that words are made of, the most useful first."""
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False)
    model.train_from_iterator(
        (" ".join([word] * min(count, SEEN_TOGETHER)) for word, count in words.items()), trainer
    )
    return [piece for piece, _ in sorted(model.get_vocab().items(), key=lambda one: one[1])]
