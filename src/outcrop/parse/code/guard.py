"""Keep hostile or garbage files from crashing or stalling a grammar.

A grammar's parser is C code that trusts its input: its stack grows with the nesting, and on garbage it tries many
readings at once. So text that nobody wrote as source is not parsed, and parsing has a deadline.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import tree_sitter

from outcrop.errors import ParseError

MAX_NESTING = 1_500
"""Most brackets open at once. People stay under 50 and generators under 500; the parser's stack overflows at about 50
000, sooner in a thread."""
MAX_LINE_BYTES = 4_000
MAX_LONG_SHARE = 0.5
"""With more of a file in longer lines, and one of them over SMALL_BYTES, it is minified or data."""
MAX_STRANGE_SHARE = 0.05
"""A share of control characters and undecodable bytes that no source file has."""
SMALL_BYTES = 10_000
"""A file or a line this small is fast whatever it holds."""
MAX_SIGNS_SHARE = 0.65
"""Share of punctuation in non-whitespace: a dense table of numbers has 0.5. Noise beyond it can keep JavaScript's
parser busy for minutes."""
MAX_DEPTH = 3_000
"""Depth of a tree along its heaviest branch: queries take time quadratic in it."""
TIME_LIMIT_S = 1.2
"""CPU time for one file, each for parsing, querying and building the outline. Source takes about 10 µs per line in all,
so this is 100 000 lines."""
CHECKS_A_LOOK = 16
"""Steps, each of some 20 µs, for one look at the clock of this thread, which takes up to 2."""
MAX_LOAD = 50.0
"""Processes per core above which a machine is too busy to read a long file whole (not measured)."""
MAX_STRAY_SIGNS = 10_000
"""Punctuation and keywords in one error node: 60 000 take a query 4 s, a tenth of them is not noticeable."""

_STEP = np.zeros(256, np.int8)
_STEP[list(b"([{")] = 1
_STEP[list(b")]}")] = -1
_STRANGE = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")
_SIGNS = b"!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"
_BLANKS = b" \t\r\n\f"
_REPLACEMENT = "\ufffd".encode()


class TooHard(ParseError):
    """A text that a grammar should not read, or could not in time."""


class Deadline:
    """A limit on the CPU time this thread spends on one file from the first look at its clock on, to which most files
    never come; other threads do not count."""

    def __init__(self, seconds: float = TIME_LIMIT_S) -> None:
        self._seconds = seconds
        self._end: float | None = None
        self._checks = 0

    def is_over(self) -> bool:
        """Whether the time is spent."""
        now = time.thread_time()
        if self._end is None:
            self._end = now + self._seconds
        return now > self._end

    def check(self) -> None:
        """Raise TooHard when the time is spent; the clock is read every so often."""
        self._checks += 1
        if self._checks % CHECKS_A_LOOK == 0:
            self.look()

    def look(self) -> None:
        """Raise TooHard when the time is spent."""
        if self.is_over():
            raise TooHard("reading this as source code takes too long")


def check_source(data: bytes) -> None:
    """Raise TooHard for text that nobody wrote as source: nested beyond reason, minified, or not text at all."""
    strange = len(data) - len(data.translate(None, _STRANGE)) + data.count(_REPLACEMENT)
    if strange > MAX_STRANGE_SHARE * len(data):
        raise TooHard("this is not text")
    if len(data) > SMALL_BYTES:
        signs, dense = len(data) - len(data.translate(None, _SIGNS)), len(data.translate(None, _BLANKS))
        if signs > MAX_SIGNS_SHARE * dense:
            raise TooHard("this is nearly all punctuation")
    lengths = list(map(len, data.split(b"\n")))
    long = sum(length for length in lengths if length > MAX_LINE_BYTES) if max(lengths) > SMALL_BYTES else 0
    if long > MAX_LONG_SHARE * len(data):
        raise TooHard("this is mostly a few very long lines")
    if sum(map(data.count, (b"(", b"[", b"{"))) > MAX_NESTING:  # else it cannot nest so deep
        codes = np.frombuffer(data, np.uint8)
        if int(np.cumsum(_STEP[codes], dtype=np.int32).max()) > MAX_NESTING:
            raise TooHard("this nests too deep")


def limit_time(machine: tree_sitter.Parser | tree_sitter.QueryCursor, seconds: float = TIME_LIMIT_S) -> None:
    """Make the C code give up by itself after some wall-clock time. The library has deprecated these limits in favour
    of callbacks, which crash (0.25.2 and 0.26.0), and 0.26 removed the limits. So its version is pinned, and the
    warning is silenced here and nowhere else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        machine.timeout_micros = int(seconds * 1_000_000)  # type: ignore[misc]  # the stubs forgot the setter


def parse_within(parser: tree_sitter.Parser, data: bytes) -> tree_sitter.Tree:
    """The tree of a text; TooHard when parsing takes too long or no query could handle the tree."""
    began = time.thread_time()
    tree = None
    while tree is None:
        try:
            tree = parser.parse(data)  # resumes where the clock stopped it
        except ValueError as error:  # the library only says that parsing failed
            if time.thread_time() - began > TIME_LIMIT_S:
                parser.reset()
                raise TooHard("reading this as source code takes too long") from error
    _check_depth(tree.root_node)
    if tree.root_node.has_error:
        _check_errors(tree.root_node)
    return tree


QueryMatches = list[tuple[int, dict[str, list[tree_sitter.Node]]]]


def match_within(cursor: tree_sitter.QueryCursor, root: tree_sitter.Node) -> QueryMatches:
    """What a query finds in a tree within the time that `limit_time` gave the cursor. A query that the clock stopped
    while others had the processor is run again with more wall-clock time to match."""
    began, spent = time.monotonic(), time.thread_time()
    found: QueryMatches = cursor.matches(root)
    wall = time.monotonic() - began
    if wall < TIME_LIMIT_S:
        return found
    own = time.thread_time() - spent
    if own > TIME_LIMIT_S / 2:
        return found
    limit_time(cursor, TIME_LIMIT_S * wall / max(own, wall / MAX_LOAD))
    try:
        again: QueryMatches = cursor.matches(root)
        return again
    finally:
        limit_time(cursor)


def _check_errors(root: tree_sitter.Node) -> None:
    """Raise TooHard where one error node holds more tokens in a row than a query can handle in quadratic time."""
    for node in (root, *(child for child in root.named_children if child.is_error)):
        if node.child_count - node.named_child_count > MAX_STRAY_SIGNS:
            raise TooHard("this is not the language it claims to be")


def _check_depth(root: tree_sitter.Node) -> None:
    """Raise TooHard for chains of thousands: `a + b + …`, `!!!…`, elements never closed."""
    node: tree_sitter.Node | None = root
    depth = 0
    while node is not None and node.child_count:
        if depth < 4:  # wide levels: whole children are compared
            node = max(node.children, key=_size)
        else:
            first, last = node.child(0), node.child(node.child_count - 1)
            node = first if last is None or (first is not None and _size(first) > _size(last)) else last
        depth += 1
        if depth > MAX_DEPTH:
            raise TooHard("this nests too deep")


def _size(node: tree_sitter.Node) -> int:
    return node.end_byte - node.start_byte
