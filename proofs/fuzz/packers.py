"""Packers: whatever the hits hold and however tokens are counted, a budget is never exceeded and nothing is lost."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from lxml import etree
from tests.code.test_pack_code import make_hit

from outcrop.code.elide import ELLIPSIS, elide, matched_lines
from outcrop.code.pack import pack_code
from outcrop.contracts import Tokenizer
from outcrop.rank.merge import merge_hits
from outcrop.read.pack import pack
from outcrop.records import Answer, CodeNotes, Context, Hit
from outcrop.text.tokens.estimate import SafeEstimate
from proofs.fuzz.mutate import change_some
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import CHOICES_BYTES, Draw, Target, need
from proofs.fuzz.texts import PROSE

_BETWEEN = "\x1e"
"""Parts the hits of an input."""


class Pairs:
    """A tokenizer whose counts do not add up: pairs of characters are tokens, and every text costs one more."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return 1 + (len(text) + 1) // 2 if text else 0


class Greedy:
    """One that merges: a run of the same character is one token, so that more text can be fewer tokens."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(re.findall(r"(.)\1*", text, re.DOTALL))


TOKENIZERS: tuple[Tokenizer, ...] = (SafeEstimate(), Pairs(), Greedy())


def _make(chance: random.Random, seeds: Seeds) -> bytes:
    parts = [
        change_some(chance, seeds.of(chance.choice(PROSE)), chance.choice((60, 400, 1500)))
        for _ in range(chance.randrange(1, 8))
    ]
    return chance.randbytes(CHOICES_BYTES) + _BETWEEN.encode().join(parts)


def _hits(draw: Draw) -> tuple[list[Hit], tuple[str, ...]]:
    """Hits with the texts of the body: of few files, some of them neighbours, some with notes."""
    chance = random.Random(draw.whole(0, 65_000))
    texts = draw.body.decode("utf-8", "replace").split(_BETWEEN)
    terms = tuple(re.findall(r"\w+", texts[0])[:4])
    hits, ends = [], dict.fromkeys(range(4), (0, 0))
    for number, text in enumerate(texts, 1):
        file = chance.randrange(4)
        index, end = ends[file]
        index, gap = (index, "\n" * chance.randrange(3)) if chance.random() < 0.5 else (index + 3, "")
        start = end + (len(gap) if gap or chance.random() < 0.5 else 20)
        notes = (
            CodeNotes(text[:20], "function", text[:40], text[:90], (), ()) if chance.random() < 0.5 else None
        )
        hit = make_hit(
            text,
            number,
            file=file,
            path=chance.choice((None, text[:12] or "x", 'a"<&>.py')),
            index=index,
            start=start,
            terms=terms,
            code=notes,
            gap=gap,
            stale=chance.choice((None, True)),
            revision=chance.choice((None, "a" * 40)),
            root="/repo",
            kind=chance.choice(("python", "markdown", "html")),
        )
        ends[file] = (index + 1, hit.end)
        hits.append(hit)
    return hits, terms


def _check_context(context: Context, count: Callable[[str], int], budget: int, hits: Sequence[Hit]) -> None:
    need(count(context.text) <= budget or not context.text, f"{count(context.text)} tokens of {budget}")
    need(context.tokens == count(context.text), "tokens are those of the text")
    need(
        [source.number for source in context.sources] == [*range(1, len(context.sources) + 1)],
        "numbers count up",
    )
    packed = {id_ for source in context.sources for id_ in source.hit.chunk_ids}
    left = {id_ for hit in context.left_out for id_ in hit.chunk_ids}
    need(packed | left == {id_ for hit in hits for id_ in hit.chunk_ids}, "every hit is packed or left out")
    need(not packed & left, "none is both")


def _merge(hits: Sequence[Hit]) -> Sequence[Hit]:
    return merge_hits(hits, len(hits))


def _known(context: Context) -> list[Hit]:
    return [*(source.hit for source in context.sources), *context.left_out]


def check_pack(data: bytes) -> None:
    """Prose."""
    draw = Draw(data)
    tokenizer, budget = draw.pick(TOKENIZERS), draw.pick((draw.whole(0, 60), draw.whole(0, 4_000)))
    merge = draw.pick((None, _merge))
    hits, _ = _hits(draw)
    context = pack(Answer(query="q", query_type="mixed", hits=tuple(hits)), budget, tokenizer, merge)
    # Merging leaves out what says the same as another: then only what fits no more is told.
    _check_context(context, tokenizer.count, budget, _known(context) if merge else hits)
    for source in context.sources:
        need(source.text in context.text, "a source shows what is in the text")


def check_pack_code(data: bytes) -> None:
    """Code, as well-formed XML."""
    draw = Draw(data)
    count, budget = draw.pick(TOKENIZERS).count, draw.pick((draw.whole(0, 300), draw.whole(0, 6_000)))
    musts = draw.whole(0, 2)
    hits, _ = _hits(draw)
    context = pack_code(hits, budget, must=hits[-musts:] if musts else (), count=count)
    _check_context(context, count, budget, hits)
    if context.text:
        etree.fromstring(context.text.encode("utf-8"), etree.XMLParser(huge_tree=True, resolve_entities=False))
    for hit in context.left_out:
        if hit in hits[-musts:] and musts:
            need(hit.place in context.detail, "a must that is left out is named")


def check_elide(data: bytes) -> None:
    """Lines left out of a text."""
    draw = Draw(data)
    count, budget = draw.pick(TOKENIZERS).count, draw.pick((draw.whole(0, 40), draw.whole(0, 1_500)))
    least_only = draw.byte() % 3 == 0
    text = draw.text()
    keep = matched_lines(text, re.findall(r"\w+", text)[: draw.whole(0, 5)])
    need(all(0 <= line <= text.count("\n") for line in keep), "matched lines are lines of the text")
    shown = elide(text, keep, budget, count, least_only=least_only)
    if shown is None:
        return
    need(count(shown) <= budget, f"{count(shown)} tokens of {budget}")
    lines = text.split("\n")
    at = 0
    for line in shown.split("\n"):
        bare = line.removesuffix(ELLIPSIS).rstrip()
        while at < len(lines) and not lines[at].startswith(bare):
            at += 1
        need(at < len(lines), f"{line[:60]!r} is no line of the text, or out of order")
    if budget >= count(text) and not least_only:
        need(shown == text, "what fits is whole")


PACKERS = (
    Target("pack", 15_000, _make, check_pack, "never over the budget, nothing lost", guided=True),
    Target("pack_code", 15_000, _make, check_pack_code, "never over the budget, well-formed, nothing lost"),
    Target("elide", 30_000, _make, check_elide, "never over the budget, only lines of the text", guided=True),
)
