"""GREP as text: what ripgrep prints, handed on as it comes.

To make records of 150 000 lines and print those takes five times as long as to find them. No line of text holds a
NUL, for a file that has one is binary; so ripgrep is asked to begin its separators with one. What it says about a
binary file has none, and tells which lines to leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import IO, Any, Final

from outcrop.records import GrepOptions
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted

MARK: Final = b"\0"
_GAP: Final = MARK + b"--\n"
_PIECE: Final = 1 << 20
_MOST_HELD: Final = 4 << 20
"""Of one file, until it is certain that it is no binary one. Of a longer answer the beginning is shown even if a NUL
comes further on, where ripgrep ends the file, too."""
_BINARY: Final = b': binary file matches (found "'

Run = Callable[[Sequence[str]], Iterator[IO[bytes]]]


@dataclass(frozen=True, slots=True)
class Form:
    """How lines are printed: with `numbers`, or only `names` or `counts` of files. `colours` are those of paths,
    numbers and matches, as ripgrep takes them."""

    numbers: bool = False
    names: bool = False
    counts: bool = False
    colours: tuple[str, ...] = ()


def print_lines(run: Run, options: GrepOptions, form: Form) -> Iterator[bytes]:
    """The answer in pieces, with a NUL before each separator. `run` starts ripgrep with further arguments."""
    parts = {"field-match": ":", "field-context": "-", "context": "--"}
    arguments = [f"--{part}-separator=\\x00{text}" for part, text in parts.items()]
    arguments += ["--with-filename", "--color=ansi" if form.colours else "--color=never"]
    for kind, colour in zip(("path", "line", "match"), form.colours, strict=False):
        arguments += [f"--colors={kind}:none", f"--colors={kind}:fg:{colour}"]
    if form.names or form.counts:
        arguments += ["--heading", "--null", "--line-number", "--max-columns=1"]
        end = b"\n" if form.names else MARK + b":%d\n"
        for stream in run(arguments):
            yield b"".join(path + (end if form.names else end % count) for path, count in _sum_up(stream))
        return
    arguments += ["--no-heading", "--line-number" if form.numbers else "--no-line-number"]
    grouped, begun = bool(options.before or options.after), False
    for stream in run(arguments):
        gap = grouped and begun  # between what two processes print
        for piece in _drop_binary(_whole_lines(stream)):
            yield _GAP + piece if gap else piece
            begun, gap = True, False


def _whole_lines(stream: Any) -> Iterator[bytes]:
    """What comes through a pipe, in pieces that end with a line."""
    rest: list[bytes] = []
    while data := stream.read1(_PIECE):
        check_wanted()
        end = data.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, data[:end]))
            rest.clear()
        rest.append(data[end:])
    if left := b"".join(rest):
        yield left


def _drop_binary(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The lines without those of binary files. What may belong to one is held back until its file has ended."""
    held, begun = b"", False
    for piece in chain(pieces, (b"",)):
        held += piece
        start = _start_of_last_file(held) if piece else len(held)
        if not start and len(held) > _MOST_HELD:
            start = len(held)
        ready, held = _without_binary(held[:start]), held[start:]
        if not begun:
            ready = ready.removeprefix(_GAP)  # what it parted from those after it is left out
        if ready:
            yield ready
            begun = True


def _start_of_last_file(lines: bytes) -> int:
    last = len(lines)
    while True:
        last = lines.rfind(b"\n", 0, last - 1) + 1
        if not last or not lines.startswith(MARK, last):  # which is a line between two groups
            break
    end = lines.find(MARK, last)
    if end < 0:  # ripgrep's word about a binary file is the last about it
        return len(lines) if _BINARY in lines[last:] else 0
    return _first_line(lines, lines[last : end + 1])


def _first_line(lines: bytes, prefix: bytes) -> int:
    """Where the first line of a file begins, or the line that parts it from those before."""
    start = 0 if lines.startswith(prefix) else lines.find(b"\n" + prefix) + 1
    parted = lines[:start] == _GAP or lines.endswith(b"\n" + _GAP, 0, start)
    return start - len(_GAP) if parted else start


def _without_binary(lines: bytes) -> bytes:
    at = lines.find(_BINARY)
    while at >= 0:
        start, end = lines.rfind(b"\n", 0, at) + 1, lines.find(b"\n", at) + 1 or len(lines)
        if MARK in lines[start:end]:  # a line of a text that says the same
            at = lines.find(_BINARY, end)
            continue
        prefix = lines[start:at] + MARK
        first = _first_line(lines, prefix if prefix in lines else lines[start:at])
        lines = lines[:first] + lines[end:]
        at = lines.find(_BINARY, first)
    return lines


def _sum_up(stream: Any) -> Iterator[tuple[bytes, int]]:
    """The path of each file, and how many of its lines match: a heading, a short line for each, an empty line."""
    path: bytes | None = None
    count, text, held = 0, True, b""
    for piece in _whole_lines(stream):
        lines, at, held = held + piece, 0, b""
        while at < len(lines):
            if path is None:
                line = lines[at : lines.find(b"\n", at) + 1]
                if line == b"\n" or (_BINARY in line and MARK not in line):
                    at += len(line)
                    continue
                end = lines.find(MARK, at)
                if end < 0:  # a name with a line break in it
                    held = lines[at:]
                    break
                path, at = lines[at:end], end + 1
            elif lines.startswith(b"\n", at):
                if text:
                    yield path, count
                path, count, text, at = None, 0, True, at + 1
            else:
                end = lines.find(b"\n\n", at) + 1 or len(lines)
                text = text and lines.find(path + _BINARY, at, end) < 0
                count, at = count + lines.count(MARK + b":", at, end), end
    if path is not None and text:
        yield path, count
