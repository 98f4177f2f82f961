"""Changes to real files that keep most of their structure: of bytes, tokens, lines, JSON and the parts of a zip."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

from proofs.fuzz.seeds import zipped

LONGEST = 24_000
"""Bytes of a changed text. Judgement: what takes time with the square of its length shows well before."""
_ROOM = 4
"""So many times what is kept in the end lies between two changes; uncut, some inputs took 1.5 GB."""

STRANGE = (
    b"", b"\0", b"\r", b"\r\n", b"\t", b"\x0b", b"\x0c", b"\x1b[2J", b"\xff", b"\xff\xfe", b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xc3", b"\xe3\x81", b"\xed\xa0\x80", b"\xf0\x9f\x9a\x80", b"\xf4\x90\x80\x80", "\u2028".encode(),
    "\u200d".encode(),
    "\u0301".encode(), "\u202e".encode(), "\u0130\ufb03\u00df".encode(), "検索。".encode(), "ภาษา".encode(), b"%s%n{}",
    b"0", b"-1", b"1e999", b"4294967296", b"18446744073709551616", b"NaN", b"0x", b"\\", b"\\u", b"\\ud800", b'"',
    b"'",
    b"`", b"```", b"~~~", b"'''", b'"""', b"(", b")", b"[", b"]", b"{", b"}", b"<", b">", b"<!--", b"-->",
    b"<![CDATA[",
    b"]]>", b"/*", b"*/", b"//", b"#", b"# ", b"---\n", b"+++\n", b"===\n", b"- ", b"> ", b"| a | b |\n|---|---|\n",
    b":",
    b"::", b"&", b"&#0;", b"&#xd800;", b"&amp;", b"&x;", b"*", b"**", b"***", b"$", b"@", b";", b",", b"=", b"%",
    b"..",
    b"../", b"/", b"?", b"!", b"_", b"\n", b"\n\n", b" " * 40, b"\n    ",
)  # fmt: skip
_TOKEN = re.compile(rb"<[^>]{0,200}>|\w+|[ \t]+|\n|.", re.DOTALL)

Change = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 1, 2, 4, 8, 30, 200, 2000)))


def _flip(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(chance.choice((1, 2, 4))):
        at = chance.randrange(len(changed))
        changed[at] = chance.choice((changed[at] ^ 1 << chance.randrange(8), chance.randrange(256), 0, 255))
    return bytes(changed)


def _drop(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + data[end:]


def _cut(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[at:] if chance.random() < 0.3 else data[:at]


def _repeat(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    return data[:end] + data[start:end] * chance.choice((1, 2, 5, 50, 500)) + data[end:]


def _insert(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    word = chance.choice(STRANGE) * chance.choice((1, 1, 1, 2, 3, 20, 300))
    return data[:at] + word + data[at:]


def _replace(data: bytes, chance: random.Random, _others: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + chance.choice(STRANGE) + data[end:]


def _splice(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(other := chance.choice(others), chance)
    at = chance.randrange(len(data) + 1)
    return data[:at] + (other[start:] if chance.random() < 0.3 else other[start:end] + data[at:])


def _tokens(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Words, tags and signs dropped, doubled, swapped, or taken from another file."""
    tokens = _TOKEN.findall(data[:LONGEST]) or [b""]
    for _ in range(chance.choice((1, 2, 5, 20))):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        kind = chance.randrange(4)
        if kind == 0:
            tokens[at] = b""
        elif kind == 1:
            tokens[at] = (tokens[at] * chance.choice((2, 3, 40)))[:LONGEST]  # the same one may be drawn again
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = chance.choice(_TOKEN.findall(chance.choice(others)[:2000]) or [b""])
    return b"".join(tokens)


def _lines(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """Lines dropped, doubled, moved, indented, joined, or taken from another file."""
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 2, 5))):
        at = chance.randrange(len(lines))
        kind = chance.randrange(6)
        if kind == 0:
            lines[at] = b""
        elif kind == 1:
            lines[at:at] = [lines[at]] * chance.choice((1, 3, 60))
        elif kind == 2:
            lines.insert(chance.randrange(len(lines)), lines.pop(at))
        elif kind == 3:
            lines[at] = (
                chance.choice((b"\t", b"    ", b"  ", b" ")) * chance.choice((1, 3, 90)) + lines[at].lstrip()
            )
        elif kind == 4 and at + 1 < len(lines):
            lines[at] += lines.pop(at + 1)
        else:
            lines.insert(at, chance.choice(chance.choice(others)[:LONGEST].split(b"\n")))
    return b"\n".join(lines)


_CHANGES: tuple[Change, ...] = (
    _flip, _drop, _cut, _repeat, _insert, _insert, _replace, _splice, _tokens, _tokens, _lines, _lines,
)  # fmt: skip


def change(data: bytes, chance: random.Random, others: Sequence[bytes], longest: int = LONGEST) -> bytes:
    """The bytes with one to eight changes. Each may repeat what the one before repeated, so each is cut."""
    for _ in range(chance.choice((1, 1, 2, 3, 5, 8))):
        data = chance.choice(_CHANGES)(data, chance, others)[: _ROOM * longest]
    return data[:longest]


def change_some(chance: random.Random, files: Sequence[bytes], longest: int = LONGEST) -> bytes:
    """One of the files changed; often a short piece of it, in which a change is more likely to matter."""
    data = chance.choice(files)
    if chance.random() < 0.5:
        start = chance.randrange(len(data) + 1)
        data = data[start : start + chance.choice((40, 200, 1000))]
    return change(data, chance, files, longest)


def change_zip(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """A zip with one or two of its parts changed, dropped or renamed; one in ten changed as bytes."""
    if chance.random() < 0.1:
        return change(data, chance, others, len(data) * 2)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        return change(data, chance, others, len(data) * 2)
    for _ in range(chance.choice((1, 1, 2))):
        name = chance.choice(sorted(parts) or ["x"])
        kind = chance.random()
        if kind < 0.05:
            parts.pop(name, None)
        elif kind < 0.1:
            parts[chance.choice(("../x", "/etc/passwd", "word/document.xml", name.upper(), ""))] = parts.get(
                name, b""
            )
        else:
            pool = [content for content in parts.values() if content[:1] == b"<"] or [b"<a/>"]
            parts[name] = change(parts.get(name, b""), chance, pool, 200_000)
    return zipped(parts)


def change_json(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """JSON with some of its values replaced, dropped, doubled or nested; one in four changed as text."""
    try:
        tree: Any = json.loads(data)
    except (ValueError, RecursionError):
        return change(data, chance, others)
    if chance.random() < 0.25:
        return change(data, chance, others)
    for _ in range(chance.choice((1, 1, 2, 4))):
        tree = _change_value(tree, chance)
    return json.dumps(tree).encode()


_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\ud800",
    "\x00",
    [],
    {},
    [[]],
    ["a", 1],
    {"a": 1},
)


def _change_value(value: Any, chance: random.Random) -> Any:
    if not isinstance(value, dict | list) or not value or chance.random() < 0.15:
        return chance.choice((*_VALUES, [value] * 3, {"": value}))
    if isinstance(value, list):
        changed = list(value)
        at = chance.randrange(len(changed))
        kind = chance.random()
        if kind < 0.15:
            changed.pop(at)
        elif kind < 0.3:
            changed.insert(at, changed[at])
        else:
            changed[at] = _change_value(changed[at], chance)
        return changed
    key = chance.choice(sorted(value))
    kind = chance.random()
    if kind < 0.15:
        return {name: item for name, item in value.items() if name != key}
    if kind < 0.25:
        return {**value, chance.choice(("", "cells", "source", "text", "\ud800")): value[key]}
    return {**value, key: _change_value(value[key], chance)}
