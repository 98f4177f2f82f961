"""The difference between two texts, line by line, and patches as other programs write them.

A shortest edit script, as git's: lines that occur on one side only are set aside, the rest is matched by the
greedy algorithm of Myers (1986). Its time grows with the square of the difference, so past a limit only lines that
occur once on both sides are held on to. Where a run of lines could as well stand higher or lower, it begins after an
empty line, or else at the shallowest indentation, so that a new function is one run and not the end of another.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from outcrop.system.dataclass import dataclass

_MAX_EDITS: Final = 1_000
"""Of a whole comparison: half a second at worst, and 8 MB."""
_MAX_GAP_EDITS: Final = 100
"""Between two lines that are held on to, once that was too few."""
_MAX_SLIDE: Final = 100
_MAX_PATCH_LINE: Final = 10_000


class Hunk(NamedTuple):
    """Lines that were replaced: so many from `old` on by so many from `new` on, both counted from 0."""

    old: int
    old_count: int
    new: int
    new_count: int


def diff_lines(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """What turns one sequence of lines into the other."""
    head = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = range(head, len(old) - tail), range(head, len(new) - tail)
    shared = {old[at] for at in left} & {new[at] for at in right}
    left_kept = [at for at in left if old[at] in shared]
    right_kept = [at for at in right if new[at] in shared]
    pairs = _match([old[at] for at in left_kept], [new[at] for at in right_kept])
    matched = [(left_kept[one], right_kept[other]) for one, other in pairs]
    hunks = _hunks(matched, head, len(old) - tail, len(new) - tail)
    return _slide(hunks, old, new)


def _hunks(matched: list[tuple[int, int]], head: int, old_end: int, new_end: int) -> list[Hunk]:
    found = []
    one, other = head, head
    for left, right in [*matched, (old_end, new_end)]:
        if left > one or right > other:
            found.append(Hunk(one, left - one, other, right - other))
        one, other = left + 1, right + 1
    return found


def _match(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence as pairs of places; a good one where the longest would take too long."""
    found = _shortest(old, new, _MAX_EDITS)
    if found is not None:
        return found
    pairs: list[tuple[int, int]] = []
    one = other = 0
    for left, right in [*_anchors(old, new), (len(old), len(new))]:
        gap = _shortest(old[one:left], new[other:right], _MAX_GAP_EDITS) or ()
        pairs += [(one + a, other + b) for a, b in gap]
        if left < len(old):
            pairs.append((left, right))
        one, other = left + 1, right + 1
    return pairs


def _shortest(old: Sequence[str], new: Sequence[str], most: int) -> list[tuple[int, int]] | None:
    """The pairs of a shortest edit script; None where that has more than `most` edits."""
    n, m = len(old), len(new)
    most = min(most, n + m)
    reach = array("q", [0]) * (2 * most + 3)
    middle = most + 1
    trail: list[array[int]] = []
    for edits in range(most + 1):
        trail.append(reach[middle - edits - 1 : middle + edits + 2])
        for diagonal in range(-edits, edits + 1, 2):
            at = middle + diagonal
            down = diagonal == -edits or (diagonal != edits and reach[at - 1] < reach[at + 1])
            x = reach[at + 1] if down else reach[at - 1] + 1
            y = x - diagonal
            while x < n and y < m and old[x] == new[y]:
                x, y = x + 1, y + 1
            reach[at] = x
            if x >= n and y >= m:
                return _trace(trail, n, m)
    return None


def _trace(trail: list[array[int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, middle = trail[edits], edits + 1
        diagonal = x - y
        at = middle + diagonal
        down = diagonal == -edits or (diagonal != edits and reach[at - 1] < reach[at + 1])
        before = diagonal + 1 if down else diagonal - 1
        start = reach[middle + before] if edits else 0
        first = start + (not down) if edits else 0
        while x > first:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start, start - before
    pairs.reverse()
    return pairs


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run, in order on both sides, of lines that occur once on each."""
    once = {line for line, count in Counter(old).items() if count == 1}
    once &= {line for line, count in Counter(new).items() if count == 1}
    place = {line: at for at, line in enumerate(old) if line in once}
    pairs = [(place[line], at) for at, line in enumerate(new) if line in once]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (left, _) in enumerate(pairs):
        length = bisect_left(tails, left)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1], ends[length : length + 1] = [left], [number]
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


class _Side:
    """One of two texts: its lines, which of them changed, and the run of changed lines that is looked at. Between two
    lines that stayed there is always a run, if an empty one, so the runs of both texts correspond."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.changed = bytearray(len(lines) + 1)  # the last never changes
        self.start = self.end = 0

    def rewind(self) -> None:
        """Go to the first run."""
        self.start = self.end = 0
        self._extend()

    def advance(self) -> bool:
        """Go to the next run; False at the last."""
        if self.end >= len(self.lines):
            return False
        self.start = self.end = self.end + 1
        self._extend()
        return True

    def retreat(self) -> None:
        """Go to the run before."""
        self.start = self.end = self.start - 1
        self._extend()

    def _extend(self) -> None:
        while self.changed[self.end]:
            self.end += 1
        while self.start and self.changed[self.start - 1]:
            self.start -= 1

    def slide_up(self) -> bool:
        """Move the run a line up where the text stays the same; it takes in a run that it meets."""
        if not self.start or self.lines[self.start - 1] != self.lines[self.end - 1]:
            return False
        self.start, self.end = self.start - 1, self.end - 1
        self.changed[self.start], self.changed[self.end] = 1, 0
        self._extend()
        return True

    def slide_down(self) -> bool:
        """The same a line down."""
        if self.end >= len(self.lines) or self.lines[self.start] != self.lines[self.end]:
            return False
        self.changed[self.start], self.changed[self.end] = 0, 1
        self.start, self.end = self.start + 1, self.end + 1
        self._extend()
        return True


def _slide(hunks: list[Hunk], old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """The same with runs that could stand elsewhere moved: to others that they meet, beside one of the other text, or
    to where they read best. This is git's order of preference."""
    left, right = _Side(old), _Side(new)
    for hunk in hunks:
        left.changed[hunk.old : hunk.old + hunk.old_count] = b"\1" * hunk.old_count
        right.changed[hunk.new : hunk.new + hunk.new_count] = b"\1" * hunk.new_count
    for side, other in ((left, right), (right, left)):
        side.rewind()
        other.rewind()
        more = True
        while more:
            if side.end > side.start:
                _place(side, other)
            more = side.advance() and other.advance()
    matched = zip(
        (at for at in range(len(old)) if not left.changed[at]),
        (at for at in range(len(new)) if not right.changed[at]),
        strict=True,
    )
    return _hunks(list(matched), 0, len(old), len(new))


def _place(side: _Side, other: _Side) -> None:
    """Move one run to where it should stand."""
    size = 0
    while size != side.end - side.start:  # it met another, and both may move on together
        size = side.end - side.start
        for _ in range(_MAX_SLIDE):
            if not side.slide_up():
                break
            other.retreat()
        highest = side.end
        beside = side.end if other.end > other.start else None
        for _ in range(2 * _MAX_SLIDE):
            if not side.slide_down():
                break
            other.advance()
            if other.end > other.start:
                beside = side.end
    lowest = side.end
    if beside is None and lowest > highest:
        beside = max(range(highest, lowest + 1), key=lambda end: (_worth(side.lines, end - size, size), end))
    while beside is not None and side.end > beside:
        side.slide_up()
        other.retreat()


def _worth(lines: Sequence[str], start: int, count: int) -> tuple[int, int]:
    """How well a run of lines stands by itself: shallow at its beginning and after its end, set off by empty lines."""
    depths = [_depth(lines, start), _depth(lines, start + count)]
    blank = (start > 0 and not lines[start - 1].strip()) + (not lines[start + count - 1].strip())
    return -sum(depths), blank


def _depth(lines: Sequence[str], at: int) -> int:
    """The indentation of the first line from here that is not empty."""
    for line in lines[at : at + 8]:
        if line.strip():
            return len(line) - len(line.lstrip())
    return 0


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """A hunk of a patch: where it stands on both sides, from line 1, and the lines themselves."""

    old_start: int
    new_start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file; a path is empty where there is no file on that side."""

    old_path: str
    new_path: str
    hunks: tuple[PatchHunk, ...] = ()


_RANGE: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


def read_patch(text: str) -> list[FilePatch]:
    """The files of a unified diff, as git, diff and others write it; what is no part of one is passed over."""
    patches: list[FilePatch] = []
    old = new = ""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at][:_MAX_PATCH_LINE]
        if line.startswith("diff --git "):
            old = new = ""
        elif line.startswith(("rename from ", "copy from ")):
            old = _path(line.split(" ", 2)[2], "")
        elif line.startswith(("rename to ", "copy to ")):
            new = _path(line.split(" ", 2)[2], "")
            patches.append(FilePatch(old, new))
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            old, new = _path(line[4:], "a/"), _path(lines[at + 1][4:], "b/")
            if patches and (patches[-1].old_path, patches[-1].new_path) == (old, new) and not patches[-1].hunks:
                patches.pop()
            hunks, at = _read_hunks(lines, at + 2)
            patches.append(FilePatch(old, new, tuple(hunks)))
            continue
        at += 1
    return patches


def _read_hunks(lines: list[str], at: int) -> tuple[list[PatchHunk], int]:
    hunks = []
    while at < len(lines) and (found := _RANGE.match(lines[at])):
        olds, news = int(found[2] or 1), int(found[4] or 1)
        old: list[str] = []
        new: list[str] = []
        body: list[str] = []
        at += 1
        while at < len(lines) and (len(old) < olds or len(new) < news or lines[at].startswith("\\")):
            mark, rest = lines[at][:1], lines[at][1:]
            if mark not in ("+", "-", " ", "", "\\"):
                break
            if mark in ("-", " ", ""):
                old.append(rest)
            if mark in ("+", " ", ""):
                new.append(rest)
            if mark != "\\":
                body.append(lines[at] or " ")
            at += 1
        hunks.append(PatchHunk(int(found[1]), int(found[3]), tuple(old), tuple(new), tuple(body)))
    return hunks, at


def _path(text: str, prefix: str) -> str:
    """The path of a header line: without git's prefix, quotes and what follows a tab."""
    text = text.rstrip("\r").partition("\t")[0].strip()
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = _unquote(text[1:-1])
    return "" if text == "/dev/null" else text.removeprefix(prefix)


def _unquote(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}

    def byte(found: re.Match[str]) -> str:
        if found[1]:
            return "".join(chr(int(each, 8)) for each in found[0].split("\\")[1:])
        return escapes.get(found[2], found[2])

    plain = re.sub(r"((?:\\[0-3][0-7]{2})+)|\\(.)", byte, text)
    try:
        return plain.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return plain


def changed_lines(hunk: PatchHunk) -> Iterator[tuple[str, int]]:
    """(`-`, line of the old file) and (`+`, line of the new one) of every line that a hunk removes or adds."""
    old, new = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        if line[0] == "-":
            yield "-", old
            old += 1
        elif line[0] == "+":
            yield "+", new
            new += 1
        else:
            old, new = old + 1, new + 1
