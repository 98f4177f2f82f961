"""Parsers: any bytes are a Document that keeps its promises, or a ParseError."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from tests.parse.compounds import compound
from tests.parse.test_binary_office import STREAMS

from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.errors import ParseError
from outcrop.mask import mask_document
from outcrop.parse.code import LANGUAGES
from outcrop.parse.compound import CompoundFile
from outcrop.parse.decode import decode
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document, Outline
from outcrop.records.meta import dump_meta
from proofs.chunk_properties import broken_promises
from proofs.fuzz.mutate import change, change_json, change_some, change_zip
from proofs.fuzz.seeds import Seeds, kind_of
from proofs.fuzz.target import Broken, Target, need

LIMITS = ParseLimits(timeout_s=20, memory_bytes=512 * 1024**2)
"""As in an ingest, with less memory and time: no file here has more than some hundred kilobytes."""
CONTAINED = ("the parser crashed", "took longer than", "needs more than")
"""A library that crashed, hung or took too much memory in the worker: an ingest goes on, and here it is a finding."""


def check_document(document: Document) -> None:
    """What every Document promises."""
    text = document.text
    need("\0" not in text and "\r" not in text, "no NUL and no carriage return in a text")
    text.encode("utf-8")
    document.title.encode("utf-8")
    need(document.title or not text, "a text has a title")
    starts = [heading.start for heading in document.headings]
    need(starts == sorted(set(starts)), "headings are in order")
    for name, offsets in (("headings", starts), ("pages", document.pages), ("keys", document.keys)):
        need(list(offsets) == sorted(offsets), f"{name} ascend")
        need(all(0 <= offset <= len(text) for offset in offsets), f"{name} lie in the text")
    need(all(start == 0 or text[start - 1] == "\n" for start in starts), "a heading starts a line")
    for strings in ([heading.title for heading in document.headings], document.tags, document.meta):
        "".join(strings).encode("utf-8")
    dump_meta(document.meta).encode("utf-8")
    if document.outline is not None:
        check_outline(document.outline, len(text))


def check_outline(outline: Outline, size: int) -> None:
    """What every outline promises."""
    need(0 <= outline.header_end <= size, "the header ends in the text")
    need(list(outline.cuts) == sorted(outline.cuts), "cuts ascend")
    need(all(0 <= cut <= size for cut in outline.cuts), "cuts lie in the text")
    for item in outline.declarations:
        need(0 <= item.start <= item.at <= item.body <= item.end <= size, f"{item.name!r} lies in the text")
        need(item.name, "a declaration has a name")
        (item.signature + item.doc + item.name).encode("utf-8")
    for reference in outline.references:
        need(0 <= reference.start <= size, f"{reference.name!r} lies in the text")
        (reference.name + reference.qualifier).encode("utf-8")


def check_file(data: bytes, path: str, *, is_text: bool, media_type: str | None = None) -> None:
    """Parse, mask and chunk a file as an ingest does, and hold each stage to its promises."""
    try:
        document = parse(data, path=path, media_type=media_type, limits=LIMITS)
    except ParseError as error:
        message = str(error)
        need(message, "an error says what happened")
        if message.startswith(CONTAINED):
            raise Broken(message) from error
        return
    check_document(document)
    if is_text and document.kind not in (
        "pdf",
        "session",
        "chat",
        "note",
    ):  # what begins as one is one, whatever its name
        need(document.text == decode(data, None), "the text is the file itself")
    masked, _ = mask_document(document)
    need(len(masked.text) == len(document.text), "masking moves nothing")
    check_document(masked)
    options = ChunkOptions()
    # Chunks of declarations have sizes of their own; offsets, cover, order and lines are promised all the same.
    chunks = chunk_document(masked, options)
    wrong = broken_promises(masked, options, chunks)
    if masked.outline is not None and masked.outline.language:
        wrong = [line for line in wrong if "minimum" not in line and "larger" not in line]
    need(not wrong, "; ".join(wrong[:3]))


def _make(chance: random.Random, seeds: Seeds, kind: str) -> bytes:
    return change_some(chance, seeds.of(kind))


def _make_zip(chance: random.Random, seeds: Seeds, kind: str) -> bytes:
    files = seeds.of(kind)
    return change_zip(chance.choice(files), chance, files)


def _make_compound(chance: random.Random, seeds: Seeds, kind: str) -> bytes:
    """A file whose streams are changed here and there; one in five changed as bytes."""
    files = seeds.of(kind)
    data = chance.choice(files)
    if chance.random() < 0.2:
        return change(data, chance, files, len(data) * 2)
    file = CompoundFile(data)
    streams = {name: file.stream(name) for name in STREAMS[kind]}
    for _ in range(chance.choice((1, 2, 6))):
        name = chance.choice(sorted(streams))
        content = bytearray(streams[name])
        for _ in range(chance.choice((1, 1, 3)) if content else 0):
            at = chance.randrange(len(content))
            value = chance.choice((0, 1, 255, 512, 4096, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, at, len(content)))
            size = chance.choice((1, 2, 4))
            content[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        streams[name] = bytes(content)
    return compound(streams)


def _make_pdf(chance: random.Random, seeds: Seeds, kind: str) -> bytes:
    files = seeds.of(kind)
    return b"%PDF-1.4\n" + change_some(chance, files, 60_000).removeprefix(b"%PDF-1.4\n")


def _make_notebook(chance: random.Random, seeds: Seeds, kind: str) -> bytes:
    files = seeds.of(kind)
    return change_json(chance.choice(files), chance, files)


def _make_session(chance: random.Random, seeds: Seeds, kind: str) -> bytes:
    """A session with one record changed as JSON, or with its bytes changed anywhere."""
    files = seeds.of(kind)
    lines = chance.choice(files).splitlines(keepends=True)
    if len(lines) < 2 or chance.random() < 0.4:
        return change_some(chance, files)
    at = chance.randrange(len(lines))
    lines[at] = change_json(lines[at], chance, lines) + b"\n"
    return b"".join(lines)


def _check(data: bytes, name: str, is_text: bool, media_type: str | None = None) -> None:
    check_file(data, f"folder/{name}", is_text=is_text, media_type=media_type)


def _target(
    kind: str,
    share: int,
    make: Callable[[random.Random, Seeds, str], bytes] = _make,
    *,
    name: str = "",
    title: str = "",
    is_text: bool = False,
    guided: bool = False,
) -> Target:
    return Target(
        title or f"parse.{kind}",
        share,
        lambda chance, seeds: make(chance, seeds, kind),
        partial(_check, name=name or f"file.{kind}", is_text=is_text),
        "a Document that keeps its promises, masked and chunked, or a ParseError",
        guided=guided,
    )


def _export(kind: str, seed: str, media_type: str) -> Target:
    return Target(
        f"parse.{kind}",
        10_000,
        lambda chance, seeds: _make_notebook(chance, seeds, seed),
        partial(_check, name="2026-03-02.json", is_text=False, media_type=media_type),
        "a Document that keeps its promises, masked and chunked, or a ParseError",
    )


_CODE_SHARE = 1_200
PARSERS = (
    _target("md", 20_000, is_text=True, guided=True),
    _target("rst", 20_000, is_text=True, guided=True),
    _target("txt", 10_000, is_text=True),
    _target("csv", 10_000, is_text=True),
    _target("json", 20_000, is_text=True, guided=True),
    _target("jsonl", 10_000, is_text=True),
    _target("session", 10_000, _make_session, name="0b6f.jsonl"),
    _target("yaml", 20_000, is_text=True, guided=True),
    _target("toml", 10_000, is_text=True, guided=True),
    _target("html", 10_000),
    _target("ipynb", 10_000, _make_notebook),
    _target("pdf", 10_000, _make_pdf),
    _target("docx", 4_000, _make_zip),
    _target("pptx", 3_000, _make_zip),
    _target("xlsx", 6_000, _make_zip),
    _target("ods", 4_000, _make_zip),
    _target("doc", 10_000, _make_compound),
    _target("ppt", 10_000, _make_compound),
    _target("epub", 5_000, _make_zip),
    _target("eml", 20_000, title="parse.mail", guided=True),
    _target("odt", 5_000, _make_zip),
    _target("odp", 5_000, _make_zip),
    _target("rtf", 10_000),
    _target("ics", 10_000, title="parse.calendar"),
    _target("vcf", 10_000, title="parse.contacts"),
    _export("chat", "chat", "application/x-chat+json"),
    _export("issue", "issue", "application/x-issue+json"),
    _export("note", "keep", "application/x-keep+json"),
    *(
        _target(
            kind_of(language.name),
            _CODE_SHARE,
            name=language.names[0] if language.names and not language.extensions else "",
            title=f"parse.code.{language.name}",
            is_text=True,
        )
        for language in LANGUAGES
    ),
)
"""Every format with structure, each format of a library and each language."""
