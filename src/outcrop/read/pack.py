"""Hits to one text within a token budget: never over it, sources numbered, nearest passages whole.

The budget covers everything in the text: the passages, their headers, the blank lines between. A token is one of o200k,
the vocabulary of OpenAI's current models, unless another tokenizer is named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from outcrop.contracts import Tokenizer
from outcrop.errors import ConfigError
from outcrop.records import Answer, Context, Hit, LeftOut, PackedSource
from outcrop.system.machine import install_command
from outcrop.text.tokens import VOCABULARIES, vocabulary

Merge = Callable[[Sequence[Hit]], Sequence[Hit]]
"""Joins hits that are neighbours in their document."""

DEFAULT_TOKENIZER: Final = "o200k"
ESTIMATE: Final = "estimate"
SEPARATOR: Final = "\n\n"
MIN_TRUNCATED_TOKENS: Final = 40
"""A passage is cut to fit only if at least this much of it can stay; a stump helps nobody."""
UNBROKEN_STEP: Final = 20
LONG_UNBROKEN: Final = 80
"""A stretch longer than that without a break (Thai, Chinese without punctuation) is cut at one of every so many
characters. Judgement: longer than any word that is written with spaces around it."""

# A single space before a letter belongs to the word and is no piece; before anything else it may be a token.
_PIECES: Final = re.compile(
    r"[A-Za-z]+|[0-9]+|-{3,}|={3,}|\*{3,}|_{3,}|#{3,}|\.{3,}| (?![A-Za-z ])| {2,}|\n+|[^\x00-\x7f]+"
    r"|[\x00-\x09\x0b-\x1f!-/:-@\[-`{-\x7f]"
)
_BREAK: Final = re.compile(r"\n+|(?<=[.!?…。！？])\s*|\s+")

# For each letter those that often follow it: 97 % of the pairs in English prose and in code, two in five of all there
# are. A word is split by a tokenizer about where a pair is not among them.
_FOLLOWERS: Final = (
    "abcdfgiklmnprstuvy baeiloruy cacehiklortuy dadeiorsu eacdefgilmnopqrstvwxy faefilortu gaehilnorsu "
    "haeiortu iabcdefglmnoprstvz je keis ladefilostuy mabeimopsu nacdefgiknopstuvy oabcdfgiklmnoprstuvw "
    "paehiloprstuy qu racdefgiklmnorstuvy sacehiklmopstuy tacehilmoprstuwy uabcdegilmnprst vaeio waehino "
    "xipt yeopst ze"
)
_COMMON_PAIRS: Final = frozenset(word[0] + second for word in _FOLLOWERS.split() for second in word[1:])


# Words by which a text shows that it is English, or code: only there are most other words single tokens.
_KNOWN: Final = frozenset(
    "about after all also an and any are as at be been between both but by can class code content data def document "
    "each else end error example false file first for format from function get given had has have he her his how if "
    "import include index int into is it its key line list may more most name new no none not number object of on "
    "one only or other our out over path return self set should size some start state str string such system table "
    "text than that the their there these they this time title to true two type under up use used user using value "
    "was we were what when where which while who will with would you your".split()
)
LONGEST_REMEMBERED: Final = 32
"""A longer run of letters is no word and will hardly come again."""


class SafeEstimate:
    """Counts tokens a little high for every tokenizer in wide use.

    The weights are a linear fit from above to the largest of four counts (Llama 2, Claude, cl100k, o200k) over 1 500
    texts: prose, code, JSON, logs, tables, 37 languages, emoji, base64, random letters, white space. Of 3 800 texts of
    50 tokens or more none is counted low. English prose comes out 1.3 times as long as Llama 2 makes it and 1.55 times
    as long as cl100k does, code 1.4 and 1.8 times; other languages mostly up to four times, Indic and Thai up to ten.
    """

    def count(self, text: str) -> int:
        """Estimated tokens, never fewer than one for text that is not empty."""
        if not text:
            return 0
        total, foreign = 1.0, 0.0
        for piece in _PIECES.findall(text):
            first = piece[0]
            if not first.isascii():
                total += sum(map(_weigh_character, piece))
            elif first.isalpha():
                weigh = _weigh_word if len(piece) <= LONGEST_REMEMBERED else _weigh_word.__wrapped__
                tokens, strangeness = weigh(piece)
                total += tokens
                foreign += strangeness
            elif first.isdigit():
                total += 1.1 * len(piece)
            elif first in "-=*_#." and len(piece) > 1:  # rules and dots: tokenizers know them by the dozen
                total += 1 + 0.25 * len(piece)
            elif first == " " and len(piece) > 1:
                total += 0.65 + 0.07 * len(piece)
            else:
                total += 1.03 * len(piece)
        return math.ceil(total + max(0.0, foreign))


@lru_cache(maxsize=16_384)
def _weigh_word(word: str) -> tuple[float, float]:
    """Tokens of a run of letters, and how many more there are to be expected if the text is not English.

    It is one token, and more for length, for capitals and for each pair of letters that English seldom has.
    """
    low = word.lower()
    tokens = 1.24 + 1.1 * sum(low[i : i + 2] not in _COMMON_PAIRS for i in range(len(low) - 1))
    if len(word) == 1:
        return tokens, 0.0
    if word.isupper():
        return tokens + 0.33 * len(word), 0.0
    return tokens + 0.52 * max(0, len(word) - 7), -1.2 if low in _KNOWN else 0.7


def _weigh_character(character: str) -> float:
    """A character outside ASCII. Its bytes are nearly the most it can cost."""
    code = ord(character)
    if code < 0x250:  # accented letters: they break up the word they stand in
        return 3.0
    if 0x400 <= code < 0x500:  # Cyrillic
        return 1.0
    if 0x2010 <= code < 0x2028:  # dashes, quotes, bullets
        return 2.2
    if (
        0x3000 <= code < 0x3100 or 0x4E00 <= code < 0xA000 or 0xAC00 <= code < 0xD7B0
    ):  # Japanese, Chinese, Korean
        return 2.0
    return 1.1 * len(character.encode("utf-8", "replace"))


def pack(
    answer: Answer, budget_tokens: int, tokenizer: Tokenizer | None = None, merge: Merge | None = None
) -> Context:
    """Put the hits of an answer into one text of at most `budget_tokens`, best first.

    What fits is chosen first, then `merge` may join neighbours: so a passage is not left out because one beside it
    that matters less came along with the best.
    """
    count = (tokenizer or vocabulary(DEFAULT_TOKENIZER)).count
    blocks: list[str] = []
    sources: list[PackedSource] = []
    left_out: list[Hit] = []
    for hit in _choose(answer.hits, budget_tokens, count, merge):
        number = len(sources) + 1
        header = source_line(number, hit)
        block = f"{header}\n{hit.text}"
        truncated = False
        if count(_join([*blocks, block])) > budget_tokens:
            has_room = budget_tokens - count(_join(blocks)) >= MIN_TRUNCATED_TOKENS
            block = _cut_to_fit(blocks, header, hit.text, budget_tokens, count) if has_room else ""
            truncated = True
        if not block:
            left_out.append(hit)
            continue
        blocks.append(block)
        shown = block[len(header) + 1 :]
        tokens = (count(hit.text), count(shown)) if truncated else (None, None)
        sources.append(PackedSource(number, hit, shown, truncated, *tokens))
    text = _join(blocks)
    context = Context(
        text=text,
        tokens=count(text),
        budget_tokens=budget_tokens,
        sources=tuple(sources),
        left_out=tuple(left_out),
        reason=answer.reason,
        detail=answer.detail,
    )
    return tell_dropped(context, answer)


def tell_dropped(context: Context, answer: Answer) -> Context:
    """The context with all that is not in it, best first: what had no room, and what the search left out before."""
    source_of = {id_: source.number for source in context.sources for id_ in source.hit.chunk_ids}
    dropped = {hit.chunk_ids[0]: LeftOut.of(hit, "no room") for hit in context.left_out}
    for item in answer.left_out:
        if item.chunk_id in source_of or item.chunk_id in dropped:
            continue
        if item.number is not None:  # of a hit, which is another number here
            number = source_of.get(answer.hits[item.number - 1].chunk_ids[0])
            kind = item.reason.removesuffix(f" {item.number}")
            reason = "no room" if number is None else f"{kind} {number}"
            item = replace(item, reason=reason, number=number)  # noqa: PLW2901 - the item as it goes on
        dropped[item.chunk_id] = item
    ordered = tuple(sorted(dropped.values(), key=lambda item: -item.score))
    return replace(context, dropped=ordered, unmatched_phrases=answer.unmatched_phrases)


def _choose(
    hits: Sequence[Hit], budget_tokens: int, count: Callable[[str], int], merge: Merge | None
) -> Sequence[Hit]:
    """The hits that fit, neighbours joined, then the others in their order: one of them may still fit in part."""
    if merge is None:
        return hits
    room = budget_tokens
    chosen: list[Hit] = []
    others: list[Hit] = []
    for hit in hits:
        cost = count(f"{source_line(len(chosen) + 1, hit)}\n{hit.text}{SEPARATOR}")
        if cost <= room:
            chosen.append(hit)
            room -= cost
        else:
            others.append(hit)
    return [*merge(chosen), *others]


def source_line(number: int, hit: Hit) -> str:
    """`[1] notes/plan.md:12-30 (Plan > Risks)`: the number to cite, where to look, what it is about; then, of a passage
    that other files repeat, in how many."""
    about = " > ".join(hit.heading_path) or hit.document.title
    line = f"[{number}] {hit.place}" + (f" ({about})" if about else "") + f" {hit.elsewhere}"
    return " ".join(line.split())


def _join(blocks: Sequence[str]) -> str:
    return SEPARATOR.join(blocks)


def _cut_to_fit(
    blocks: Sequence[str], header: str, text: str, budget_tokens: int, count: Callable[[str], int]
) -> str:
    """The longest beginning of `text`, cut at a break, that still fits behind what is packed; empty if too short."""
    ends = _find_ends(text)
    low, high, best = 0, len(ends) - 1, ""
    while low <= high:
        middle = (low + high) // 2
        block = f"{header}\n{text[: ends[middle]].rstrip()} …"
        if count(_join([*blocks, block])) <= budget_tokens:
            best, low = block, middle + 1
        else:
            high = middle - 1
    return best if best and count(best) - count(header) >= MIN_TRUNCATED_TOKENS else ""


def _find_ends(text: str) -> list[int]:
    """Where a text may be cut: at its breaks and, where it goes on for long without one, every few characters. What is
    long and plain ASCII is a URL or a key, and stays whole unless there is nothing else."""
    breaks = [match.start() for match in _BREAK.finditer(text) if match.start() > 0]
    ends: list[int] = []
    for before, end in pairwise([0, *breaks, len(text)]):
        if end - before > LONG_UNBROKEN and (not breaks or not text[before:end].isascii()):
            ends += range(before + UNBROKEN_STEP, end, UNBROKEN_STEP)
        ends.append(end)
    return ends[:-1]


def choose_tokenizer(name: str) -> Tokenizer:
    """The tokenizer that a setting names: a vocabulary, the estimate, or the path of a tokenizer.json."""
    name = name or DEFAULT_TOKENIZER
    if name in VOCABULARIES:
        return vocabulary(name)
    if name == ESTIMATE:
        return SafeEstimate()
    path = Path(name).expanduser()
    if not path.exists():
        known = ", ".join([*sorted(VOCABULARIES, reverse=True), ESTIMATE])
        raise ConfigError(f"tokenizer is neither one of {known} nor a tokenizer.json that exists: {name}")
    return FileTokenizer(path)


class FileTokenizer:
    """A model's own tokenizer, from its tokenizer.json; needs the `tokenizers` package (`outcrop[onnx]`)."""

    def __init__(self, path: Path) -> None:
        try:
            from tokenizers import Tokenizer as Library
        except ImportError as error:
            raise ConfigError(
                f"a tokenizer file needs the tokenizers package: {install_command('onnx')}"
            ) from error
        try:
            content = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        try:
            self._tokenizer = Library.from_str(content)
        except Exception as error:  # the library raises nothing more special
            raise ConfigError(f"{path} cannot be read as a tokenizer.json: {error}") from error

    def count(self, text: str) -> int:
        """Tokens without the special ones a model puts around a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)
