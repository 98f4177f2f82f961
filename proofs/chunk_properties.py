"""Does the chunker keep its promises on real text, and what does it cost?

    python proofs/chunk_properties.py --data FOLDER

FOLDER holds data sets, each a folder with a `corpus.jsonl` whose lines have a `text`. Every text is chunked by
every strategy at several sizes, as it is and with pages and headings laid over it; every promise is checked
from the text alone. Prints one line a strategy and exits with 1 when a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from outcrop.chunk.cut import measure_tokens
from outcrop.chunk.strategies import STRATEGIES, ChunkOptions, chunk_document
from outcrop.records import Chunk, Document, Heading


def broken_promises(document: Document, options: ChunkOptions, chunks: tuple[Chunk, ...]) -> list[str]:
    """What is wrong with the chunks of a document, in words; nothing when all is well."""
    text, strategy = document.text, STRATEGIES[options.strategy]
    wrong = []
    uncovered_from = 0
    for index, chunk in enumerate(chunks):
        here = f"chunk {index} [{chunk.start}:{chunk.end}]"
        if chunk.index != index:
            wrong.append(f"{here} says it is number {chunk.index}")
        if text[chunk.start : chunk.end] != chunk.text or not chunk.text.strip():
            wrong.append(f"{here} is not what stands there")
        if chunk.text != chunk.text.rstrip() or not _starts_well(text, chunk):
            wrong.append(f"{here} has whitespace around it")
        if text[uncovered_from : chunk.start].strip():
            wrong.append(f"{here} leaves text before it uncovered")
        uncovered_from = max(uncovered_from, chunk.end)
        lines = (text.count("\n", 0, chunk.start) + 1, text.count("\n", 0, chunk.end) + 1)
        if (chunk.line_start, chunk.line_end) != lines:
            wrong.append(f"{here} says lines {chunk.line_start}-{chunk.line_end}, not {lines}")
        if chunk.page != _page_of(document, chunk.start):
            wrong.append(f"{here} says page {chunk.page}")
        if any(chunk.start < page < chunk.end for page in document.pages):
            wrong.append(f"{here} crosses a page")
        if chunk.tokens != measure_tokens(chunk.text):
            wrong.append(f"{here} says {chunk.tokens} tokens")
        if _size(options, chunk.text) > 4 * (options.target_tokens or strategy.target_tokens):
            wrong.append(f"{here} is larger than the target")
    if text[uncovered_from:].strip():
        wrong.append("the end is not covered")
    return wrong + _broken_between(document, options, chunks)


def _broken_between(document: Document, options: ChunkOptions, chunks: tuple[Chunk, ...]) -> list[str]:
    strategy = STRATEGIES[options.strategy]
    overlap = strategy.overlap if options.overlap is None else options.overlap
    limit = 4 * (options.target_tokens or strategy.target_tokens)
    room = max(limit - int(limit * overlap), 4)
    wide = not strategy.by_characters and any(measure_tokens(4 * one) > 1 for one in set(document.text))
    minimum = strategy.min_chars if options.min_chars is None else options.min_chars
    minimum = min(minimum, room // (8 if wide else 2))
    walls = {*document.pages, *((h.start for h in document.headings) if strategy.by_sections else ())}
    wrong = []
    for left, right in pairwise(chunks):
        here = f"chunks {left.index} and {right.index}"
        if left.start >= right.start or left.end >= right.end:
            wrong.append(f"{here} are out of order")
        if not overlap and right.start < left.end:
            wrong.append(f"{here} overlap")
        if any(left.end <= wall <= right.start for wall in walls):
            continue
        small = min(len(left.text), len(right.text)) < minimum
        if small and _size(options, document.text[left.start : right.end]) <= room:
            wrong.append(f"{here}: one is under the minimum and would fit with the other")
    return wrong


def _size(options: ChunkOptions, text: str) -> int:
    if STRATEGIES[options.strategy].by_characters or text.isascii():
        return len(text)
    return 4 * measure_tokens(text)


def _starts_well(text: str, chunk: Chunk) -> bool:
    """With no whitespace, or with the indentation of the line it starts."""
    indent = chunk.text[: len(chunk.text) - len(chunk.text.lstrip())]
    at_line_start = chunk.start == 0 or text[chunk.start - 1] == "\n"
    return not indent or (at_line_start and not indent.strip(" \t"))


def _page_of(document: Document, offset: int) -> int | None:
    return max(1, sum(page <= offset for page in document.pages)) if document.pages else None


def _variants(text: str, chance: random.Random) -> Iterator[Document]:
    """The text as it is, and with a made-up structure over it."""
    yield Document(text=text, kind="text", title="")
    starts = [0] + [at + 1 for at, character in enumerate(text) if character == "\n"]
    headings = sorted(chance.sample(starts, min(len(starts), 1 + len(text) // 2000)))
    yield Document(
        text=text,
        kind="markdown",
        title="",
        headings=tuple(Heading(chance.randint(1, 4), f"Heading {at}", at) for at in headings),
    )
    pages = sorted(chance.randrange(len(text) + 1) for _ in range(1 + len(text) // 3000))
    yield Document(text=text, kind="pdf", title="", pages=(0, *pages))
    yield Document(text=text, kind="json", title="", keys=tuple(headings))


def main() -> int:
    """Chunk everything under --data; print what it cost and which promises broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of data sets, each with a corpus.jsonl"
    )
    parser.add_argument(
        "--targets", type=int, nargs="*", default=[0, 100, 400], help="target tokens; 0: default"
    )
    arguments = parser.parse_args()
    chance = random.Random(20)  # the same structures on every run
    texts = [
        json.loads(line)["text"]
        for path in sorted(arguments.data.glob("*/corpus.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    documents = [document for text in texts if text for document in _variants(text, chance)]
    characters = sum(len(document.text) for document in documents)
    broken = 0
    for name in STRATEGIES:
        for target in arguments.targets:
            options = ChunkOptions(strategy=name, target_tokens=target)  # type: ignore[arg-type]
            started = time.process_time()
            results = [chunk_document(document, options) for document in documents]
            seconds = time.process_time() - started
            count = sum(map(len, results))
            print(
                f"{name:10} target {target or STRATEGIES[name].target_tokens:4}: {len(documents)} documents, "
                f"{count} chunks, {seconds / characters * 1e9:.1f} ms/MB, {seconds / count * 1e6:.0f} µs/chunk"
            )
            for document, chunks in zip(documents, results, strict=True):
                for problem in broken_promises(document, options, chunks):
                    broken += 1
                    print(f"  {problem} in {document.text[:60]!r}")
    print(f"{broken} broken promises")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
