"""Code made shorter by leaving lines out: the signature stays, the lines that matched stay, `...` marks the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import Stemmer

from outcrop.text.phrases import phrase_lines
from outcrop.text.terms import PART, WORD

ELLIPSIS: Final = "..."
MAX_SIGNATURE_LINES: Final = 8
"""A signature that has not ended by then is a table or a literal; what follows says little about what it is."""
MAX_LINE_CHARS: Final = 200
"""In a shortened text a longer line is cut: one minified line would otherwise cost more than the rest together."""

# Lines that stand before a declaration: comments, decorators, attributes. `#include` and `*pointer = …` are code.
_PREAMBLE: Final = re.compile(r"//|/\*|\*(?: |/|$)|#(?![A-Za-z])|--(?: |$)|@|\"\"\"|'''|<!--")
_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"' + r"|'[^'\\]*(?:\\.[^'\\]*)*'")
_UNFINISHED: Final = re.compile(
    r"(?:[,(\[=+|&.]|->|\b(?:static|inline|extern|unsigned|where|template ?<[^<>]*>))$"
)
_CONTINUES: Final = re.compile(r"(?:where|throws|extends|implements|->|=>|:(?!:)|\)|\{)")
_TYPE_ALONE: Final = re.compile(r"[A-Za-z_][\w:<>,*& ]*$")
_CALLABLE: Final = re.compile(r"[A-Za-z_][\w:~]* ?\(")


def matched_lines(text: str, terms: Sequence[str], phrases: Sequence[str] = ()) -> list[int]:
    """Indexes of the lines that hold a matched term: those of a phrase first, then those with the rarest terms.

    A term is found in any of its forms and as a part of a name: `retries` in `maxRetryCount` and in `max_retry_count`.
    A phrase is found word for word.
    """
    stemmer = Stemmer.Stemmer("english")
    wanted = set(stemmer.stemWords([word for term in terms for word in _words(term)]))
    on_line = [wanted.intersection(stemmer.stemWords(list(_words(line)))) for line in text.split("\n")]
    frequency = Counter(word for words in on_line for word in words)
    weights = [sum(1 / frequency[word] for word in words) for words in on_line]
    places = [place for phrase in phrases for place in phrase_lines(text, phrase)]
    quoted = {i for first, last in places for i in range(first, last + 1)}
    held = (i for i, weight in enumerate(weights) if weight or i in quoted)
    return sorted(held, key=lambda i: (i not in quoted, -weights[i], i))


def _words(text: str) -> Iterable[str]:
    """The words of a text in lower case, and the parts of those that are made of several."""
    for word in WORD.findall(text):
        yield word.lower()
        if not (word.islower() or word.isdigit()):
            yield from (part.lower() for part in PART.findall(word))


def elide(
    text: str, keep: Sequence[int], budget_tokens: int, count: Callable[[str], int], *, least_only: bool = False
) -> str | None:
    """The text shortened to at most `budget_tokens` by `count`; None when not even the least of it fits.

    The least is the signature and the first of the lines `keep`, which names the most important first. As far as there
    is room the others of `keep` follow, then one line around each, the closing line, and the rest from the top;
    `least_only` stops before those. A run of lines left out becomes one line `...`.
    """
    if not least_only and count(text) <= budget_tokens:
        return text
    lines = text.split("\n")
    least, order = _rank_lines(lines, keep)
    best = _fit(lines, set(order[:least]), budget_tokens, count)
    if best is None or least_only:
        return best
    low, high = least + 1, len(order) - 1
    while low <= high:
        middle = (low + high) // 2
        shown = _fit(lines, set(order[:middle]), budget_tokens, count)
        if shown is None:
            high = middle - 1
        else:
            best, low = shown, middle + 1
    return best


def _fit(lines: Sequence[str], kept: set[int], budget_tokens: int, count: Callable[[str], int]) -> str | None:
    shown = _compose(lines, kept)
    return shown if count(shown) <= budget_tokens else None


def _rank_lines(lines: Sequence[str], keep: Sequence[int]) -> tuple[int, list[int]]:
    """All lines, the most important first, and how many of them are the least that must stay."""
    first, last = signature(lines)
    asked = [i for i in dict.fromkeys(keep) if 0 <= i < len(lines)]
    must = dict.fromkeys((*range(first, last + 1), *asked[:1]))
    around = (j for i in asked for j in (i + 1, i - 1) if 0 <= j < len(lines))
    closing = max((i for i, line in enumerate(lines) if line.strip()), default=0)
    order = dict.fromkeys((*must, *asked, *around, closing, *range(first, len(lines)), *range(first)))
    return len(must), list(order)


def signature(lines: Sequence[str]) -> tuple[int, int]:
    """The first and the last line of what a piece of code declares, after comments, decorators and attributes."""
    first = _after_preamble(lines)
    depth = 0
    stop = min(len(lines), first + MAX_SIGNATURE_LINES)
    for i in range(first, stop):
        line = _bare(lines[i])
        depth += _depth(line)
        if depth > 0 or _UNFINISHED.search(line):
            continue
        following = lines[i + 1].strip() if i + 1 < stop else ""
        continued = not line.endswith(("{", ":", ";", "}")) and _CONTINUES.match(following)
        type_alone = _TYPE_ALONE.match(line) and _CALLABLE.match(following) and not line.endswith(":")
        if not continued and not type_alone:
            return first, i
    # It never ended: the first line is what is known to belong to it.
    return first, first


def _after_preamble(lines: Sequence[str]) -> int:
    depth, in_comment = 0, ""
    for i, line in enumerate(lines):
        bare = line.strip()
        if in_comment:
            in_comment = "" if in_comment in bare else in_comment
        elif not bare or depth > 0:
            depth += _depth(bare)
        elif _PREAMBLE.match(bare):
            opener = next((mark for mark in ("/*", '"""', "'''", "<!--") if bare.startswith(mark)), "")
            closer = {"/*": "*/", "<!--": "-->"}.get(opener, opener)
            in_comment = closer if closer and closer not in bare[len(opener) :] else ""
            depth = max(0, _depth(bare)) if bare[0] in "@#" else 0
        else:
            return i
    return next((i for i, line in enumerate(lines) if line.strip()), 0)


def _bare(line: str) -> str:
    """Without strings and without the comment behind it, both of which may hold brackets."""
    line = _STRINGS.sub("''", line[:MAX_LINE_CHARS])
    for mark in ("//", " #"):
        line = line.partition(mark)[0]
    return line.strip()


def _depth(line: str) -> int:
    return sum(map(line.count, "([")) - sum(map(line.count, ")]"))


def _compose(lines: Sequence[str], kept: set[int]) -> str:
    shown: list[str] = []
    i = 0
    while i < len(lines):
        if i in kept:
            shown.append(_cut(lines[i]))
            i += 1
            continue
        run = i
        while i < len(lines) and i not in kept:
            i += 1
        dropped = [line for line in lines[run:i] if line.strip()]
        if len(dropped) == 1 and len(dropped[0].strip()) <= len(ELLIPSIS):
            shown.append(dropped[0])  # `}` or `*/` is no longer than the mark that would stand for it
        elif dropped:
            shown.append(dropped[0][: len(dropped[0]) - len(dropped[0].lstrip())][:MAX_LINE_CHARS] + ELLIPSIS)
    return "\n".join(shown)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS].rstrip()} {ELLIPSIS}"
