"""Where the words of a question stand in a text whose script has no spaces: by the short runs that both share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from outcrop.text.pattern import pattern
from outcrop.text.scripts import TERM_CHARACTERS

RUN_CHARS: Final = 2
LONG_RUN_CHARS: Final = 4
"""Two characters of Han, kana or Hangul say as much as four of the alphabets of South-East Asia (not measured)."""
_HIRAGANA: Final = pattern(r"[\u3041-\u309f]+")
_IDEOGRAPHIC: Final = pattern(r"[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0003ffff]")


class SharedRuns:
    """Finds in texts the runs of characters that some words have too; endings of Japanese by themselves are none."""

    def __init__(self, words: Iterable[str]) -> None:
        runs: dict[str, None] = {}
        for word in words:
            for match in TERM_CHARACTERS.finditer(word):
                runs.update(dict.fromkeys(_runs_of(match.group())))
        wanted = sorted(runs, key=len, reverse=True)
        self._pattern = re.compile(f"(?=({'|'.join(map(re.escape, wanted))}))") if wanted else None

    def find_spans(self, text: str) -> list[tuple[int, int]]:
        """The stretches that are made of such runs, in order."""
        spans: list[tuple[int, int]] = []
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            start, end = match.span(1)
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return spans


def _runs_of(text: str) -> list[str]:
    size = RUN_CHARS if _IDEOGRAPHIC.match(text) else LONG_RUN_CHARS
    if len(text) <= size:
        return [text]
    cut = (text[at : at + size] for at in range(len(text) - size + 1))
    return [run for run in cut if not _HIRAGANA.fullmatch(run)]
