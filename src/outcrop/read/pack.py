"""Hits to one text within a token budget: never over it, sources numbered, nearest passages whole.

The budget covers everything in the text: the passages, their headers, the blank lines between. A token is one of o200k,
the vocabulary of OpenAI's current models, unless another tokenizer is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from outcrop.config import DEFAULT_TOKENIZER
from outcrop.contracts import Tokenizer
from outcrop.errors import ConfigError
from outcrop.records import Answer, Context, Hit, LeftOut, PackedSource
from outcrop.system.machine import need_extra
from outcrop.text.tokens import VOCABULARIES, vocabulary
from outcrop.text.tokens.estimate import SafeEstimate

Merge = Callable[[Sequence[Hit]], Sequence[Hit]]
"""Joins hits that are neighbours in their document."""

ESTIMATE: Final = "estimate"
SEPARATOR: Final = "\n\n"
MIN_TRUNCATED_TOKENS: Final = 40
"""A passage is cut to fit only if at least this much of it can stay; a stump helps nobody."""
UNBROKEN_STEP: Final = 20
LONG_UNBROKEN: Final = 80
"""A stretch longer than that without a break (Thai, Chinese without punctuation) is cut at one of every so many
characters: longer than any word that is written with spaces around it (not measured)."""

_BREAK: Final = re.compile(r"\n+|(?<=[.!?…。！？])\s*|\s+")


def pack(
    answer: Answer,
    budget_tokens: int,
    tokenizer: Tokenizer | None = None,
    merge: Merge | None = None,
    beside: Sequence[Hit] = (),
) -> Context:
    """Put the hits of an answer into one text of at most `budget_tokens`, best first.

    What fits is chosen first, then `merge` may join neighbours: so a passage is not left out because one beside it
    that matters less came along with the best. Chunks `beside` hits, other parts of their sections, are chosen by their
    score among them, and are not missed where they do not fit.
    """
    count = (tokenizer or vocabulary(DEFAULT_TOKENIZER)).count
    blocks: list[str] = []
    sources: list[PackedSource] = []
    left_out: list[Hit] = []
    for hit in _choose(answer.hits, beside, budget_tokens, count, merge):
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
    dropped = {hit.chunk_ids[0]: LeftOut(hit, "no room") for hit in context.left_out}
    for item in answer.left_out:
        id_ = item.hit.chunk_ids[0]
        if id_ in source_of or id_ in dropped:
            continue
        if item.number is not None:  # of a hit, which is another number here
            number = source_of.get(answer.hits[item.number - 1].chunk_ids[0])
            item = LeftOut(item.hit, "no room" if number is None else item.reason, number)  # noqa: PLW2901
        dropped[id_] = item
    ordered = tuple(sorted(dropped.values(), key=lambda item: -item.hit.score))
    return replace(
        context,
        elsewhere=answer.elsewhere,
        dropped=ordered,
        unmatched_phrases=answer.unmatched_phrases,
        answerable=answer.answerable,
    )


def _choose(
    hits: Sequence[Hit],
    beside: Sequence[Hit],
    budget_tokens: int,
    count: Callable[[str], int],
    merge: Merge | None,
) -> Sequence[Hit]:
    """What fits, neighbours joined, then the other hits in their order: one of them may still fit in part."""
    if merge is None:
        return hits
    room = budget_tokens
    chosen: list[Hit] = []
    others: list[Hit] = []
    found = {hit.chunk_ids for hit in hits}
    for hit in (*hits, *sorted(beside, key=lambda hit: -hit.score)):
        cost = count(f"{source_line(len(chosen) + 1, hit)}\n{hit.text}{SEPARATOR}")
        if cost <= room:
            chosen.append(hit)
            room -= cost
        elif hit.chunk_ids in found:
            others.append(hit)
    return [*merge(chosen), *others]


def source_line(number: int, hit: Hit) -> str:
    """`[1] notes/plan.md:12-30 (Plan > Risks)`: the number to cite, where to look, what it is about; then, of a passage
    that other files repeat, in how many, and of one that is not true any more, what replaced it."""
    about = " > ".join(hit.heading_path) or hit.document.title
    told = f" [{hit.told}]" if hit.told else ""
    line = f"[{number}] {hit.place}" + (f" ({about})" if about else "") + f" {hit.elsewhere}{told}"
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
            raise need_extra(ConfigError, "a tokenizer file", "onnx") from error
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
