"""What the scores of models say: means over seeds, paired intervals, and the bars they are held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from benchmarks.code.__main__ import Scores, interval
from benchmarks.code.set import Means, Repository, mean_of, repository_means
from benchmarks.models.named import FLOAT, without_seed
from benchmarks.models.score import BARE, CODE, DENSE, HYBRID, KEYWORD

STATIC, MINI = "static", "mini"
"""The names of the models that the bars below are about."""
MEAN_BARS = (
    (STATIC, CODE, DENSE, 0.79),
    (MINI, CODE, DENSE, 0.82),
    (STATIC, CODE, HYBRID, 0.89),
    (MINI, CODE, HYBRID, 0.90),
    (STATIC, "cosqa_dev", DENSE, 0.56),
    (MINI, "cosqa_dev", DENSE, 0.64),
)
CODE_RERANKED = 0.92
ABOVE_KEYWORD = 0.05
ABOVE_KEYWORD_SETS = ("anthropic_docs_rag", "squad_pool")
RERANK_GAIN = 0.02
RERANK_SETS = 4
FLOAT_DISTANCE = 0.003
WITHIN = "within noise"


@dataclass(slots=True)
class Results:
    """The score of every question, by (label of the model, way of searching), then by set and group."""

    sets: dict[str, list[str]]
    """set → its groups, in the order of the tables."""
    spans: frozenset[str] = frozenset()
    """Sets whose score is recall, not NDCG@10."""
    found: dict[tuple[str, str], Scores] = field(default_factory=dict)

    def put(self, label: str, run: str, group: str, scores: dict[str, float]) -> None:
        """Note the scores of one group."""
        self.found.setdefault((label, run), {})[group] = scores

    def rows(self) -> list[tuple[str, str]]:
        """(name, way of searching) in the order in which they came, seeds as one; ways of searching side by side."""
        keys = dict.fromkeys((without_seed(label), without_seed(run)) for label, run in self.found)
        order = list(dict.fromkeys(run for _, run in keys))
        names = list(dict.fromkeys(name for name, _ in keys))
        return sorted(keys, key=lambda key: (order.index(key[1]), names.index(key[0])))

    def seeds(self, name: str, run: str, which: str) -> list[Scores]:
        """The scores of a set, one entry a seed (of the model, and of the reranker where there is one)."""
        groups = self.sets[which]
        return [
            {group: scores[group] for group in groups}
            for (label, asked), scores in self.found.items()
            if (without_seed(label), without_seed(asked)) == (name, run)
            and all(group in scores for group in groups)
        ]

    def mean(self, name: str, run: str, which: str) -> Scores | None:
        """Each question's mean over the seeds; None where a set was not asked in this way."""
        seeds = self.seeds(name, run, which)
        return mean_scores(seeds) if seeds else None


def mean_scores(seeds: Sequence[Scores]) -> Scores:
    """Each question's mean over the seeds."""
    return {
        group: {question: fmean(seed[group][question] for seed in seeds) for question in scores}
        for group, scores in seeds[0].items()
    }


def level(scores: Scores) -> float:
    """The mean over groups of the mean over questions."""
    return fmean(fmean(found.values()) for found in scores.values())


def spread(seeds: Sequence[Scores]) -> float | None:
    """How far apart the best and the worst seed are; None for one alone."""
    levels = [level(seed) for seed in seeds]
    return max(levels) - min(levels) if len(levels) > 1 else None


def is_float(name: str, run: str) -> bool:
    """Whether a model or a reranker is only there as another's float."""
    return name.endswith(FLOAT) or run.endswith(FLOAT)


def verdict(low: float, high: float) -> str:
    """What an interval of a difference says."""
    return "better" if low > 0 else "worse" if high < 0 else WITHIN


def title_of(results: Results, which: str) -> str:
    """A set as the head of a column."""
    return f"{which} (recall)" if which in results.spans else which


def level_rows(results: Results) -> list[dict[str, Any]]:
    """A row for every model and way of searching, a column a set."""
    rows = []
    for name, run in results.rows():
        means = {which: results.mean(name, run, which) for which in results.sets}
        cells = {title_of(results, which): level(mean) if mean else None for which, mean in means.items()}
        rows.append({"search": run, "model": name if run != KEYWORD else "", **cells})
    return rows


def spread_rows(results: Results) -> list[dict[str, Any]]:
    """The same for the distance of the best from the worst seed, of models with several."""
    rows = []
    for name, run in results.rows():
        spreads = {which: spread(results.seeds(name, run, which)) for which in results.sets}
        if any(value is not None for value in spreads.values()):
            seeds = max(len(results.seeds(name, run, which)) for which in results.sets)
            cells = {title_of(results, which): value for which, value in spreads.items()}
            rows.append({"search": run, "model": name, "seeds": seeds, **cells})
    return rows


def category_rows(results: Results, repositories: Sequence[Repository]) -> list[dict[str, Any]]:
    """Code by category of question."""
    rows = []
    for name, run in results.rows():
        scores = results.mean(name, run, CODE)
        if scores is not None:
            rows.append(
                {
                    "search": run,
                    "model": name if run != KEYWORD else "",
                    **code_means(scores, repositories).row(),
                }
            )
    return rows


def code_means(scores: Scores, repositories: Sequence[Repository]) -> Means:
    """The means of the code set."""
    return mean_of([repository_means(one, scores[one.name]) for one in repositories])


@dataclass(frozen=True, slots=True)
class Difference:
    """One way of searching against another on one set, with its 95 % interval."""

    which: str
    label: str
    ours: float
    theirs: float
    difference: float
    low: float
    high: float

    def row(self) -> dict[str, Any]:
        """The cells of a table."""
        return {
            "what": self.label,
            "set": self.which,
            "score": self.ours,
            "against": self.theirs,
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "beyond noise": verdict(self.low, self.high),
        }


def differ(
    results: Results, label: str, ours: tuple[str, str], theirs: tuple[str, str]
) -> Iterator[Difference]:
    """(model, way of searching) against another, on every set that both were asked about."""
    for which in results.sets:
        left, right = results.mean(*ours, which), results.mean(*theirs, which)
        if left is not None and right is not None:
            yield Difference(which, label, level(left), level(right), *interval(left, right))


def against_baseline(results: Results, baseline: str) -> list[Difference]:
    """Every model against the one named first, in each way of searching that uses a model."""
    found: list[Difference] = []
    for name, run in results.rows():
        if name != baseline and run not in (KEYWORD, BARE) and not is_float(name, run):
            found.extend(differ(results, f"{run}: {name} − {baseline}", (name, run), (baseline, run)))
    return found


def against_keyword(results: Results, baseline: str) -> list[Difference]:
    """Every model's hybrid search against keywords alone."""
    names = dict.fromkeys(name for name, run in results.rows() if run == HYBRID and not name.endswith(FLOAT))
    return [
        one
        for name in names
        for one in differ(results, f"{name}: hybrid − keyword", (name, HYBRID), (baseline, KEYWORD))
    ]


def against_no_rerank(results: Results) -> dict[tuple[str, str], list[Difference]]:
    """(model, way of searching with a reranker) → the same without."""
    return {
        (name, run): list(differ(results, f"{name}: {run} − {HYBRID}", (name, run), (name, HYBRID)))
        for name, run in results.rows()
        if run.startswith(f"{HYBRID} + ") and not is_float(name, run)
    }


def against_float(results: Results) -> list[Difference]:
    """What ships against its float, seed by seed: models and rerankers."""
    found = []
    for label, run in results.found:
        if label.endswith(FLOAT):
            shipped = (label.removesuffix(FLOAT), run)
        elif run.endswith(FLOAT):
            shipped = (label, run.removesuffix(FLOAT))
        else:
            continue
        for which, groups in results.sets.items():
            left, right = results.found.get(shipped, {}), results.found[(label, run)]
            if all(group in left and group in right for group in groups):
                ours, theirs = {g: left[g] for g in groups}, {g: right[g] for g in groups}
                name = f"{shipped[1]}: {shipped[0]} − float"
                found.append(Difference(which, name, level(ours), level(theirs), *interval(ours, theirs)))
    return found


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and what it must reach."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None


def mean_bars(results: Results) -> Iterator[Bar]:
    """The bars for one model on one set."""
    for name, which, run, least in MEAN_BARS:
        scores = results.mean(name, run, which) if which in results.sets else None
        if scores is not None:
            yield Bar(f"{which}, {run}: {name}", level(scores), at_least=least)


def keyword_bars(differences: Sequence[Difference]) -> Iterator[Bar]:
    """How far above keywords alone the hybrid search must be. `differences` are those of `against_keyword`."""
    for one in differences:
        if one.which in ABOVE_KEYWORD_SETS and one.label.startswith(f"{MINI}:"):
            yield Bar(
                f"{one.which}, {one.label} (keyword {one.theirs:.3f})", one.difference, at_least=ABOVE_KEYWORD
            )


def rerank_bars(results: Results, differences: Mapping[tuple[str, str], Sequence[Difference]]) -> Iterator[Bar]:
    """What a reranker must bring, above `mini` where it is in the run. NDCG@10 only: sets of spans are told, not
    counted."""
    with_mini = any(name == MINI for name, _ in differences)
    for (name, run), found in differences.items():
        if with_mini and name != MINI:
            continue
        ranked = [one for one in found if one.which not in results.spans]
        if name == MINI and CODE in results.sets and (scores := results.mean(name, run, CODE)) is not None:
            yield Bar(f"code, {run}: {name}", level(scores), at_least=CODE_RERANKED)
        gained = sum(one.difference >= RERANK_GAIN for one in ranked)
        lost = sum(verdict(one.low, one.high) == "worse" for one in ranked)
        # A run over fewer sets than the bar asks for cannot tell.
        enough = len(ranked) >= RERANK_SETS
        yield Bar(f"{name}, {run}: sets with +{RERANK_GAIN}", gained, at_least=RERANK_SETS if enough else None)
        yield Bar(f"{name}, {run}: sets that lose beyond noise", lost, at_most=0)


def float_bars(differences: Sequence[Difference]) -> Iterator[Bar]:
    """The farthest that what ships is from its float."""
    if differences:
        worst = max(differences, key=lambda one: abs(one.difference))
        yield Bar(
            f"farthest from float ({worst.which}, {worst.label})", abs(worst.difference), at_most=FLOAT_DISTANCE
        )
