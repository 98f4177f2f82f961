"""The questions that models are measured with: each set an index or several, each asked in every way of searching."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.code.__main__ import ask
from benchmarks.code.set import Repository, counted_files, lay_out, load_repositories, score_repository
from benchmarks.models.named import hash_files
from benchmarks.quality import (
    SPAN_CUTOFF,
    LabelledSet,
    index_set,
    load_set,
    score_documents,
    score_spans,
)
from benchmarks.report import say

import outcrop  # isort: skip
from outcrop.contracts import Reranker  # isort: skip
from outcrop.errors import EmbedError  # isort: skip
from outcrop.rank import signals  # isort: skip
from outcrop.records import Progress  # isort: skip
from outcrop.index import columns  # isort: skip
import pytest  # isort: skip

CODE = "code"
KEYWORD = "keyword"
DENSE = "dense"
BARE = "dense, no summaries"
HYBRID = "hybrid"
RERANK_SECONDS = 120.0
"""Quality is measured without haste: what a budget leaves out depends on who else uses the machine."""
SAY_EVERY_S = 20.0
NOT_RANKING = ("serve", "evals")
"""Folders of the package that no score depends on."""

Scores = dict[str, float]
"""question → its score."""


class Group(Protocol):
    """One index and the questions asked of it. `mark` changes with its files and questions."""

    @property
    def set(self) -> str:
        """The set it belongs to."""

    @property
    def name(self) -> str:
        """Its own name."""

    @property
    def mark(self) -> str:
        """Hash of all that goes in."""

    def fill(self, engine: outcrop.Engine, place: Path) -> None:
        """Index it; `place` is a folder for copies of files."""

    def ask(self, engine: outcrop.Engine, **options: Any) -> Scores:
        """The score of every question."""


@dataclass(frozen=True, slots=True)
class CodeGroup:
    """A repository."""

    repository: Repository
    tree: Path
    set: str = CODE

    @property
    def name(self) -> str:
        """The repository's."""
        return self.repository.name

    @property
    def mark(self) -> str:
        """Of its questions and of the files that count."""
        return f"{_hash(self.repository)}-{hash_files(counted_files(self.tree), self.tree)[:16]}"

    def fill(self, engine: outcrop.Engine, place: Path) -> None:
        """Index the files that count."""
        lay_out(self.tree, place / self.name)
        engine.add(place / self.name)

    def ask(self, engine: outcrop.Engine, **options: Any) -> Scores:
        """NDCG@10. Meaning alone has no floor: the order is what is measured."""
        if options.get("mode") == "semantic":
            options["floor"] = 0.0
        return score_repository(self.repository, ask(engine, self.repository, **options))


@dataclass(frozen=True, slots=True)
class TextGroup:
    """A set of documents."""

    folder: Path
    data: LabelledSet

    @property
    def set(self) -> str:
        """A set by itself."""
        return self.data.name

    @property
    def name(self) -> str:
        """The set's."""
        return self.data.name

    @property
    def mark(self) -> str:
        """Of its files."""
        return f"{self.data.suffix}-{hash_files(self.folder.iterdir(), self.folder)[:16]}"

    def fill(self, engine: outcrop.Engine, place: Path) -> None:  # noqa: ARG002 - one signature for all
        """Index its texts."""
        index_set(engine, self.data)

    def ask(self, engine: outcrop.Engine, **options: Any) -> Scores:
        """NDCG@10; recall of the five best of a set whose answers are spans."""
        engine.parts.retriever._answers.clear()  # answers are kept by question and options, not by signal
        if self.data.has_spans:
            found = score_spans(engine, self.data, cutoff=SPAN_CUTOFF, **options)["recall"]
        else:
            found = score_documents(engine, self.data, **options)["ndcg@10"]
        return dict(zip((query["id"] for query in self.data.queries), found.tolist(), strict=True))


def load_groups(
    data: Path, repos: Path | None, sets: Sequence[str], only: Sequence[str], suffixes: Mapping[str, str]
) -> list[Group]:
    """The groups of the sets named, or of all: `data` holds a folder `code` and a folder `text`."""
    groups: list[Group] = []
    if not sets or CODE in sets:
        if repos is None:
            raise SystemExit("--repos: name the folder of the repositories, or leave code out with --sets")
        for repository in load_repositories(data / CODE, only):
            groups.append(CodeGroup(repository, repos / repository.name / repository.root))
    folders = {path.parent.name: path.parent for path in sorted(data.glob("text/*/queries.jsonl"))}
    for name in sets or sorted(folders):
        if name == CODE:
            continue
        if name not in folders:
            raise SystemExit(f"there is no set {name} in {data / 'text'}; there are: {', '.join(folders)}")
        groups.append(TextGroup(folders[name], load_set(folders[name], suffixes.get(name, ""))))
    return groups


def engine_mark() -> str:
    """Hash of the code that scores depend on."""
    package = Path(outcrop.__file__).parent
    files = (path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in NOT_RANKING)
    return hash_files(files, package)[:16]


class Chosen:
    """The reranker of an engine that is asked with several in turn.

    One that fails, or leaves candidates out, ends the run: the engine would go on without it, and we would measure
    that.
    """

    def __init__(self) -> None:
        self.reranker: Reranker | None = None

    @property
    def blend(self) -> Any:
        """The weight it claims for itself, where it does. Nothing else is passed on: an engine closes what it is
        given, and the next one still needs it."""
        return self.reranker.blend  # type: ignore[union-attr]

    @property
    def worth(self) -> Any:
        """What its scores are worth, where it says so."""
        return getattr(self.reranker, "worth", None)

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """The scores of the one that was chosen."""
        if self.reranker is None:
            raise RuntimeError("no reranker was chosen")
        try:
            scores = self.reranker.score(query, texts, seconds)
        except EmbedError as error:
            raise RuntimeError(f"candidates could not be reranked: {error}") from error
        if len(scores) < len(texts):
            raise RuntimeError(f"{len(texts) - len(scores)} candidates were left out within {seconds:.0f} s")
        return scores


def rerank_run(label: str) -> str:
    """What a search with a reranker is called."""
    return f"{HYBRID} + {label}"


def run_names(group: Group, rerankers: Sequence[str], *, keyword: bool) -> list[str]:
    """The ways in which a model is asked about a group. Keywords need no model: once is enough."""
    names = [HYBRID, DENSE, *map(rerank_run, rerankers)]
    if keyword:
        names.insert(0, KEYWORD)
    if group.set == CODE:
        names.append(BARE)  # last: it leaves arrays behind that lack the summaries
    return names


def score_run(
    engine: outcrop.Engine,
    group: Group,
    run: str,
    chosen: Chosen,
    rerankers: Mapping[str, Callable[[], Reranker]],
) -> Scores:
    """The questions of a group, asked in one way."""
    if run == KEYWORD:
        return group.ask(engine, mode="keyword")
    if run == HYBRID:
        return group.ask(engine)
    if run == DENSE:
        with without_signals():
            return group.ask(engine, mode="semantic")
    if run == BARE:
        with without_signals(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns, "_summary_rows", lambda _feed: [])
            engine.parts.index.rebuild()
            return group.ask(engine, mode="semantic")
    chosen.reranker = next(get() for label, get in rerankers.items() if rerank_run(label) == run)
    return group.ask(engine, rerank=True, rerank_seconds=RERANK_SECONDS)


@contextmanager
def without_signals() -> Iterator[None]:
    """The ranking as if no signal had ever been written and no weight learnt: what the legs say, and nothing else."""
    whole = dict.fromkeys(signals.NEIGHBOUR_WEIGHT, 1.0)
    learnt = signals.learnt_weights()
    bare = signals.Weights({"match, code": whole, "match, prose": whole}, learnt.prose, learnt.answer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals, "SIGNALS", {})
        patch.setattr(signals, "REPEAT", 0.0)
        patch.setattr(signals, "learnt_weights", lambda: bare)
        yield


def progress_lines(label: str) -> Callable[[Progress], None]:
    """Prints how far the embedding is, now and then."""
    last = time.monotonic()

    def tell(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last > SAY_EVERY_S:
            last = time.monotonic()
            say(f"  {label}: {progress.done:,} of {progress.total or 0:,} chunks embedded")

    return tell


def _hash(repository: Repository) -> str:
    questions = [
        (one.id, one.text, [(target.path, target.lines) for target in one.targets])
        for one in repository.questions
    ]
    return hashlib.sha256(json.dumps([repository.root, questions]).encode()).hexdigest()[:16]
