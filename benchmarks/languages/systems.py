"""What is compared: a system takes the documents of one set, and then gives the best of them for any question.

To add one, write a class with `index` and `rank` and name it in `SYSTEMS`; `Fused` makes one of two others.
"""

from __future__ import annotations

import math
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import outcrop
from benchmarks.languages.encoder import VENV, Encoder
from benchmarks.quality import LabelledSet, index_set

TOP: Final = 100
"""Documents that a system ranks to be fused with another."""
ALONE: Final = 20
"""And alone: the first ten are the same as of a hundred (120 questions, all of them), for a third of the CPU."""
RRF: Final = 60
"""The constant of reciprocal rank fusion, as its authors chose it."""


class System(Protocol):
    """One way of searching."""

    def index(self, data: LabelledSet) -> None:
        """Take the documents of a set, in place of those it had."""

    def rank(self, question: str) -> list[str]:
        """The ids of the best documents, best first."""

    def close(self) -> None:
        """Let go of what it holds."""


class Ours:
    """This engine; `options` are those of a search, `settings` those of the engine."""

    def __init__(self, options: dict[str, Any], settings: dict[str, Any], top: int = ALONE) -> None:
        self._options = options
        self._settings = settings
        self._top = top
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._engine: outcrop.Engine | None = None

    def index(self, data: LabelledSet) -> None:
        """An index of its own, in a folder that goes with it."""
        self.close()
        self._folder = tempfile.TemporaryDirectory()
        self._engine = outcrop.open(Path(self._folder.name) / "index.db", **self._settings)
        index_set(self._engine, data)

    def rank(self, question: str) -> list[str]:
        """Each document once, at its best hit."""
        assert self._engine is not None
        answer = self._engine.search(question, limit=self._top, floor=0.0, merge=False, **self._options)
        return list(dict.fromkeys(hit.document.uri for hit in answer.hits))

    def close(self) -> None:
        """Close the index and remove it."""
        if self._engine is not None and self._folder is not None:
            self._engine.close()
            self._folder.cleanup()
            self._engine = self._folder = None


class Trigrams:
    """BM25 over the overlapping trigrams of characters, spaces among them: nothing is known of any language."""

    K1: Final = 1.2
    B: Final = 0.75

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._gains: dict[str, list[tuple[int, float]]] = {}

    def index(self, data: LabelledSet) -> None:
        """Count the trigrams of every document."""
        self._ids = [document["id"] for document in data.corpus]
        counts = [Counter(_trigrams(document["text"])) for document in data.corpus]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / max(len(lengths), 1)
        postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            damping = self.K1 * (1 - self.B + self.B * length / mean)
            for gram, often in count.items():
                postings[gram].append((number, often * (self.K1 + 1) / (often + damping)))
        total = len(self._ids)
        self._gains = {
            gram: [
                (number, gain * math.log(1 + (total - len(rows) + 0.5) / (len(rows) + 0.5)))
                for number, gain in rows
            ]
            for gram, rows in postings.items()
        }

    def rank(self, question: str) -> list[str]:
        """By the sum over all trigrams of the question, repeated ones once."""
        scores: defaultdict[int, float] = defaultdict(float)
        for gram in set(_trigrams(question)):
            for number, gain in self._gains.get(gram, ()):
                scores[number] += gain
        return [self._ids[number] for number in sorted(scores, key=scores.__getitem__, reverse=True)[:TOP]]

    def close(self) -> None:
        """Nothing is held but memory."""


def _trigrams(text: str) -> list[str]:
    plain = f" {' '.join(unicodedata.normalize('NFKC', text).casefold().split())} "
    return [plain[at : at + 3] for at in range(len(plain) - 2)]


class Encoded:
    """By the cosine to a multilingual sentence encoder's vectors (`encoder.py`)."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._matrix: Any = None

    def index(self, data: LabelledSet) -> None:
        """Encode every document."""
        self._ids = [document["id"] for document in data.corpus]
        self._matrix = start_encoder().encode([document["text"] for document in data.corpus])

    def rank(self, question: str) -> list[str]:
        """Nearest first."""
        nearness = self._matrix @ start_encoder().encode([question])[0]
        return [self._ids[number] for number in (-nearness).argsort(kind="stable")[:TOP]]

    def close(self) -> None:
        """Nothing is held but memory; the encoder is shared, and ends with this process."""


@cache
def start_encoder() -> Encoder:
    """One for all systems, so that a text is encoded once."""
    return Encoder(VENV)


class Fused:
    """Reciprocal rank fusion of two systems."""

    def __init__(self, *parts: System) -> None:
        self._parts = parts

    def index(self, data: LabelledSet) -> None:
        """Each indexes for itself."""
        for part in self._parts:
            part.index(data)

    def rank(self, question: str) -> list[str]:
        """What stands high in either."""
        scores: defaultdict[str, float] = defaultdict(float)
        for part in self._parts:
            for rank, id_ in enumerate(part.rank(question), 1):
                scores[id_] += 1 / (RRF + rank)
        return sorted(scores, key=scores.__getitem__, reverse=True)[:TOP]

    def close(self) -> None:
        """Close both."""
        for part in self._parts:
            part.close()


Settings = dict[str, Any]
SYSTEMS: Final[dict[str, Callable[[Settings], System]]] = {
    "hybrid": lambda settings: Ours({}, settings),
    "words": lambda settings: Ours({"mode": "keyword"}, settings),
    "meaning": lambda settings: Ours({"mode": "semantic"}, settings),
    "BM25 of trigrams": lambda _: Trigrams(),
    "multilingual encoder": lambda _: Encoded(),
    "RRF of trigrams and encoder": lambda _: Fused(Trigrams(), Encoded()),
    "RRF of trigrams and meaning": lambda settings: Fused(
        Trigrams(), Ours({"mode": "semantic"}, settings, TOP)
    ),
}
"""By the name of its row; each is made with the settings of the engine."""


def choose_systems(names: Sequence[str]) -> dict[str, Callable[[Settings], System]]:
    """Those that are named; all unless some are."""
    unknown = set(names) - SYSTEMS.keys()
    if unknown:
        raise SystemExit(f"no system is named {', '.join(sorted(unknown))}; there are: {', '.join(SYSTEMS)}")
    return {name: made for name, made in SYSTEMS.items() if not names or name in names}
