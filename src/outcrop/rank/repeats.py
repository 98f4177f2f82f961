"""Boilerplate that an earlier hit of an answer shows already: the licence, the imports, the stubs of every file (C11).

Only boilerplate is left out, and only what another file's hit shows: of code that does something each place counts, as
much alike as two may be.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from outcrop.records import Hit

REPEATED_SHARE: Final = 0.5
"""From how much on the same lines are repetition: a licence is most of a file's head, and imports are the rest of it.
Judgement; on the code set (`benchmarks.code`) it costs nothing."""


class Shown:
    """The boilerplate among the hits that are taken so far, by its lines."""

    def __init__(self) -> None:
        self._holders: dict[str, list[int]] = {}

    def add(self, hit: Hit) -> None:
        """Remember a hit that is taken."""
        for line in _lines(hit) if _is_boilerplate(hit) else ():
            self._holders.setdefault(line, []).append(hit.document.id)

    def repeats(self, hit: Hit) -> bool:
        """Whether a hit is boilerplate, and half of it or more is boilerplate of one other file that is shown."""
        if not self._holders or not _is_boilerplate(hit):
            return False
        lines = _lines(hit)
        same: Counter[int] = Counter()
        for line in lines:
            for document_id in self._holders.get(line, ()):
                same[document_id] += len(line)
        del same[hit.document.id]
        return max(same.values(), default=0) >= REPEATED_SHARE * sum(map(len, lines))


def _is_boilerplate(hit: Hit) -> bool:
    return hit.code is not None and hit.code.kind == "header"


def _lines(hit: Hit) -> set[str]:
    return {stripped for line in hit.text.split("\n") if any(map(str.isalnum, stripped := line.strip()))}
