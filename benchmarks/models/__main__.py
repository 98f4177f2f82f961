"""How good are the models? Every model on every labelled set in one run, side by side, with paired intervals.

    python -m benchmarks.models --data FOLDER --repos FOLDER --model v0=static:FOLDER --model static=static
        --model mini#1=onnx:FOLDER --model mini#2=onnx:FOLDER [--reranker NAME=FOLDER] [--float NAME=SPEC]
        [--sets code,cosqa_dev] [--only REPOSITORY,…] [--keep FOLDER] [--speed] [--dry]

`--data` holds a folder `code` (see benchmarks/code/set.py) and a folder `text` (see benchmarks/quality.py), `--repos`
the trees of the repositories. SPEC is `static`, `static:FOLDER`, `float:FOLDER`, `onnx:FOLDER` or `mini` (see
benchmarks/models/named.py); a reranker is a folder, or `mini`. The first model named is what the others are
compared with. The bars are held against the models named `static` and `mini`.

"dense" is the model alone, without any ranking signal; "hybrid" is the whole engine. Each set is indexed once and
embedded again for every model. With `--keep`, what slow models made and the scores of every question are kept there:
an interrupted run goes on where it stopped, and another run makes only what has changed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from statistics import fmean

from benchmarks.report import Report, say  # first: it holds numpy to one core

from benchmarks.models.memory import (  # isort: skip
    Kept,
    RememberingEmbedder,
    RememberingReranker,
    ScoreFiles,
)
from benchmarks.models.named import (  # isort: skip
    Entry,
    Marked,
    mark_of,
    open_model,
    open_reranker,
    read_entries,
    read_floats,
    weights_mark_of,
    without_seed,
)
from benchmarks.models.score import (  # isort: skip
    HYBRID,
    KEYWORD,
    Chosen,
    CodeGroup,
    Group,
    TextGroup,
    engine_mark,
    load_groups,
    progress_lines,
    rerank_run,
    run_names,
    score_run,
)
from benchmarks.models import tables  # isort: skip
from outcrop.config import load_config  # isort: skip
from outcrop.contracts import Embedder, Reranker  # isort: skip
from outcrop.embed.static import StaticEmbedder  # isort: skip
from outcrop.engine import Engine  # isort: skip


class Run:
    """The models, rerankers and kept scores of one run. Models are opened when something has to be made with them."""

    def __init__(
        self, entries: Sequence[Entry], rerankers: Sequence[Entry], keep: Path, stack: ExitStack
    ) -> None:
        self.entries = entries
        self.scores = ScoreFiles(keep / "scores")
        self.engine_mark = engine_mark()
        self._stack = stack
        self._keep = keep
        self.reranker_marks = {entry.label: mark_of(entry) for entry in rerankers}
        self.rerankers: dict[str, Callable[[], Reranker]] = {
            entry.label: cache(lambda entry=entry: self._open_reranker(entry)) for entry in rerankers
        }
        self.marks = {entry.label: mark_of(entry) for entry in entries}
        self._group_marks: dict[str, str] = {}
        self._embedders: dict[str, Embedder] = {}

    def embedder(self, entry: Entry) -> Embedder:
        """A model, opened once."""
        if entry.label not in self._embedders:
            embedder: Embedder = open_model(entry.spec)
            self._stack.callback(getattr(embedder, "close", lambda: None))
            if entry.is_slow:
                kept = Kept(self._keep / "vectors" / f"{entry.name}-{weights_mark_of(entry)}.db")
                self._stack.callback(kept.close)
                embedder = RememberingEmbedder(embedder, kept, entry.label)
            self._embedders[entry.label] = Marked(embedder, self.marks[entry.label])
        return self._embedders[entry.label]

    def _open_reranker(self, entry: Entry) -> Reranker:
        reranker = open_reranker(entry)
        self._stack.callback(getattr(reranker, "close", lambda: None))
        kept = Kept(self._keep / "pairs" / f"{entry.name}-{weights_mark_of(entry)}.db")
        self._stack.callback(kept.close)
        return RememberingReranker(reranker, kept)

    def made_with(self, group: Group, entry: Entry, run: str) -> tuple[str, ...]:
        """All that a score depends on."""
        reranked = [mark for label, mark in self.reranker_marks.items() if rerank_run(label) == run]
        model = "" if run == KEYWORD else self.marks[entry.label]
        shown = run if not reranked else HYBRID  # under whatever name, the same reranker gives the same scores
        if group.name not in self._group_marks:
            self._group_marks[group.name] = group.mark
        return self.engine_mark, group.name, self._group_marks[group.name], model, shown, *reranked


def score_group(run: Run, group: Group, results: tables.Results, reranked: Sequence[str]) -> None:
    """Ask a group of every model in every way, except for what is kept."""
    missing: dict[str, list[str]] = {}
    for number, entry in enumerate(run.entries):
        again = list(run.rerankers) if not reranked or entry.name in reranked else []
        for name in run_names(group, again, keyword=number == 0):
            scores = run.scores.find(*run.made_with(group, entry, name))
            if scores is None:
                missing.setdefault(entry.label, []).append(name)
            else:
                results.put(entry.label, name, group.name, scores)
    if not missing:
        say(f"{group.set:<20} {group.name:<20} kept")
        return
    with tempfile.TemporaryDirectory() as place:
        config = load_config({"db": Path(place) / "index.db"})
        with Engine(config, embedder=StaticEmbedder()) as engine:
            group.fill(engine, Path(place))
        for entry in run.entries:
            if entry.label not in missing:
                continue
            chosen = Chosen()
            with Engine(config, embedder=run.embedder(entry), reranker=chosen) as engine:
                engine.reembed(progress=progress_lines(f"{group.name}, {entry.label}"))
                for name in missing[entry.label]:
                    scores = score_run(engine, group, name, chosen, run.rerankers)
                    run.scores.put(scores, *run.made_with(group, entry, name))
                    results.put(entry.label, name, group.name, scores)
                    say(
                        f"{group.set:<20} {group.name:<20} {entry.label:<12} {name:<22} {fmean(scores.values()):.3f}"
                    )


def report_results(report: Report, results: tables.Results, groups: Sequence[Group], baseline: str) -> None:
    """All tables and bars."""
    report.add_table("NDCG@10", tables.level_rows(results))
    spreads = tables.spread_rows(results)
    if spreads:
        report.add_table("best seed − worst seed", spreads)
    repositories = [group.repository for group in groups if isinstance(group, CodeGroup)]
    if repositories:
        report.add_table("code by category", tables.category_rows(results, repositories))
    against = tables.against_baseline(results, baseline)
    keyword = tables.against_keyword(results, baseline)
    reranked = tables.against_no_rerank(results)
    floats = tables.against_float(results)
    for title, differences in (
        (f"each model against {baseline}", against),
        ("hybrid against keywords alone", keyword),
        ("rerank against no rerank", [one for found in reranked.values() for one in found]),
        ("what ships against its float", floats),
    ):
        if differences:
            report.add_table(title, [one.row() for one in differences])
    say("")
    for bar in (
        *tables.mean_bars(results),
        *tables.keyword_bars(keyword),
        *tables.rerank_bars(results, reranked),
        *tables.float_bars(floats),
    ):
        report.add(bar.name, bar.value, "", at_least=bar.at_least, at_most=bar.at_most)


def questions_of(groups: Sequence[Group]) -> list[str]:
    """Every distinct question, for timing."""
    texts: dict[str, None] = {}
    for group in groups:
        if isinstance(group, CodeGroup):
            texts.update(dict.fromkeys(question.text for question in group.repository.questions))
        elif isinstance(group, TextGroup):
            texts.update(dict.fromkeys(query["text"] for query in group.data.queries))
    return list(texts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the folders code and text")
    parser.add_argument("--repos", type=Path, help="folder of the trees of the repositories")
    parser.add_argument(
        "--model", action="append", default=[], help="NAME=SPEC; NAME#1, NAME#2 are seeds of one"
    )
    parser.add_argument("--reranker", action="append", default=[], help="NAME=FOLDER, or NAME=mini")
    parser.add_argument("--float", action="append", default=[], help="NAME=SPEC, the float of what NAME ships")
    parser.add_argument("--rerank-models", default="", help="names of models to rerank for; all by default")
    parser.add_argument("--sets", default="", help="names, separated by commas; all by default")
    parser.add_argument("--only", default="", help="repositories of code, separated by commas; all by default")
    parser.add_argument(
        "--code", action="append", default=["cosqa_dev=.py"], help="NAME=SUFFIX of a set of source code"
    )
    parser.add_argument("--keep", type=Path, help="folder for what slow models made, kept between runs")
    parser.add_argument("--speed", action="store_true", help="also time the models")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    return parser


def main() -> None:
    """The command."""
    options = _parser().parse_args()
    models = read_entries(options.model)
    rerankers = read_entries(options.reranker, "reranker", "rerank")
    if not models:
        raise SystemExit("name a model: --model NAME=SPEC")
    floats = read_floats(options.float, [*models, *rerankers])
    models += [entry for entry in floats if entry.part == "mini"]
    rerankers += [entry for entry in floats if entry.part == "rerank"]
    sets, only = (list(filter(None, text.split(","))) for text in (options.sets, options.only))
    suffixes = dict(code.split("=", 1) for code in options.code)
    groups = load_groups(options.data, options.repos, sets, only, suffixes)
    report = Report(
        "models",
        {
            "models": {entry.label: entry.spec.partition(":")[0] for entry in models},
            "rerankers": [entry.label for entry in rerankers],
            "sets": options.sets,
            "only": options.only,
            "code": suffixes,
        },
    )
    by_set: dict[str, list[str]] = {}
    for group in groups:
        by_set.setdefault(group.set, []).append(group.name)
    spans = frozenset(group.set for group in groups if isinstance(group, TextGroup) and group.data.has_spans)
    results = tables.Results(by_set, spans)
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = Run(models, rerankers, keep, stack)
        reranked = list(filter(None, options.rerank_models.split(",")))
        for group in groups:
            score_group(run, group, results, reranked)
        report_results(report, results, groups, without_seed(models[0].label))
        if options.speed:
            from benchmarks.models.speed import report_speed

            if options.repos is None:
                raise SystemExit("--repos: the files of the repositories are what models are timed with")
            report_speed(report, models, rerankers, options.repos, questions_of(groups))
    if not options.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
