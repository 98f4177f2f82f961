"""Tables of the explanation: constants from the code, figures from the newest results of the benchmarks."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from docs.site.table import table

from benchmarks import readme
from outcrop.embed.static import StaticEmbedder
from outcrop.rank import signals as ranking
from outcrop.rank.fusion import SEMANTIC_SHARE, dense_weight
from outcrop.records.candidates import Candidates

CODE_TABLE = "what each part brings"
RETIRED = ("lead", "saturation")
"""Signals that results from before the weights were learnt still name."""


class NoResult(Exception):
    """A page shows figures for which there is no result; run that benchmark."""


def newest(name: str, having: str = "") -> dict[str, Any]:
    """The newest result of a benchmark, of those that have a table of this title where one is named."""
    found = [json.loads(path.read_text("utf-8")) for path in readme.RESULTS.glob(f"{name}-*.json")]
    fit = [result for result in found if result["name"] == name and (not having or having in result["tables"])]
    if not fit:
        raise NoResult(f"there is no result of {name} {having}".rstrip())
    return max(fit, key=lambda result: str(result["date"]))


def _from(result: dict[str, Any], command: str) -> str:
    return f"Measured at commit `{result['commit']}` by `python -m benchmarks.{command}`."


def query_types() -> str:
    """How much meaning counts for each type of query."""
    trust = StaticEmbedder().trust
    rows = [
        (
            f"`{kind}`",
            f"{share:.2f}",
            f"{dense_weight(kind, trust.prose):.2f}",
            f"{dense_weight(kind, trust.code):.2f}",
            f"{ranking.NEIGHBOUR_WEIGHT[kind]:g}",
        )
        for kind, share in SEMANTIC_SHARE.items()
    ]
    head = (
        "query",
        "share of meaning (model fully trusted)",
        "with `static`, prose",
        "with `static`, code",
        "weight of neighbours",
    )
    return table(head, rows)


def legs() -> str:
    """Words alone, meaning alone, both, on every labelled set."""
    result = newest("quality")
    rows = []
    for title, runs in result["tables"].items():
        by_name = {row.get("search"): row for row in runs}
        if "hybrid" not in by_name or "ndcg@10" not in by_name["hybrid"]:
            continue
        names = ("keyword", "semantic", "rrf", "hybrid")
        rows.append((title.partition(":")[0], *(f"{by_name[name]['ndcg@10']:.3f}" for name in names)))
    made = table(("nDCG@10", "words", "meaning", "both, by rank (RRF)", "both, weighted"), rows)
    return f"{made}\n\n{_from(result, 'quality')}"


def signals() -> str:
    """Every signal: what it is for, and code search without it."""
    result = newest("code", CODE_TABLE)
    runs = {row["search"]: row for row in result["tables"][CODE_TABLE]}
    whole = runs["hybrid"]["ndcg@10"]
    if "without repeats" not in runs:  # a run with weights that were set by hand says nothing of these
        runs = {}
    rows = []
    for name, signal in (*ranking.SIGNALS.items(), ("repeats", ranking.repeats)):
        first = (inspect.getdoc(signal) or "").split("\n\n")[0]
        run = runs.get(f"without {name}")  # none for a signal that came after this run
        figures = ("–", "–") if run is None else (f"{run['ndcg@10']:.3f}", f"{run['ndcg@10'] - whole:+.3f}")
        rows.append((name, first, *(figures if runs else ())))
    if not runs:
        note = "What each is worth has not been measured since their weights were learnt."
        return f"{table(('signal', 'why'), rows)}\n\n{note}"
    made = table(("signal", "why", "nDCG@10 without it", "difference"), rows)
    now = newest("code")
    since = ""
    if now["commit"] != result["commit"]:
        mean = now["tables"]["NDCG@10 by repository"][-1]["ndcg@10"]
        since = f" The engine as a whole has been measured since: {mean:.3f} at commit `{now['commit']}`."
    return f"{made}\n\nWith all of them: {whole:.3f}. {_from(result, 'code --ablate')}{since}"


def parts_of_code_search() -> str:
    """The legs of code search, and what else can be left out of it."""
    result = newest("code", CODE_TABLE)
    skipped = {f"without {name}" for name in (*ranking.SIGNALS, "repeats", *RETIRED)}
    names = ("ndcg@10", "architecture", "semantic", "symbol")
    rows = [
        (row["search"], *(f"{row[name]:.3f}" for name in names))
        for row in result["tables"][CODE_TABLE]
        if row["search"] not in skipped
    ]
    return f"{table(('search', *names), rows)}\n\n{_from(result, 'code --ablate')}"


def learnt_weights() -> str:
    """What each column of the signals is worth for each type of query."""
    weights = ranking.learnt_weights().columns
    by_column = {"match, code": "match", "match, prose": "match"}
    for name, signal in ranking.SIGNALS.items():
        for column in signal(Candidates()):
            by_column.setdefault(column, name)
    rows = [
        (name, column, *(f"{weights[column][kind]:+.2f}" for kind in SEMANTIC_SHARE))
        for column, name in by_column.items()
    ]
    return table(("signal", "column", *(f"`{kind}`" for kind in SEMANTIC_SHARE)), rows)


def neighbours() -> str:
    """What the neighbours of a chunk bring, for passages and for documents."""
    result = newest("quality")
    rows = []
    for title, runs in result["tables"].items():
        by_name = {row.get("search"): row for row in runs}
        without = by_name.get("hybrid without stretches", by_name.get("hybrid without neighbours"))
        if without is None:
            continue
        measure = "recall" if "iou" in without else "ndcg@10"
        rows.append(
            (title.partition(":")[0], measure, f"{by_name['hybrid'][measure]:.3f}", f"{without[measure]:.3f}")
        )
    return f"{table(('set', 'measure', 'with neighbours', 'without'), rows)}\n\n{_from(result, 'quality')}"


def scores() -> str:
    """How often a hit with such a score was right."""
    result = newest("quality", "what a score means")
    rows = [
        (row["score"], f"{row['hits']:,}", f"{row['right (mean of sets)']:.2f}")
        for row in result["tables"]["what a score means"]
    ]
    return f"{table(('score', 'hits', 'share that was right'), rows)}\n\n{_from(result, 'quality')}"


def rerank() -> str:
    """What a second opinion brings, set by set, with its interval."""
    result = newest("models", "rerank against no rerank")
    rows = [
        (
            row["what"].partition(":")[0],
            row["set"],
            f"{row['against']:.3f}",
            f"{row['score']:.3f}",
            _difference(row),
        )
        for row in result["tables"]["rerank against no rerank"]
    ]
    made = table(("model", "set", "without", "with", "difference, 95 % interval"), rows)
    return f"{made}\n\n{_from(result, 'models')}"


def _difference(row: dict[str, Any]) -> str:
    return f"{row['difference']:+.3f} [{row['low']:+.3f} {row['high']:+.3f}]"


def scale() -> str:
    """What an index costs as it grows."""
    result = newest("scale-1000000")
    rows = [
        (
            f"{point['chunks']:,}",
            f"{point['rate']:,.0f}",
            f"{point['search_p50_ms']:.1f} / {point['search_p95_ms']:.1f}",
            f"{point['search_rss'] / 1e6:,.0f} ({point['search_anonymous'] / 1e6:,.0f})",
            f"{point['index_bytes'] / 1e6:,.0f} ({point['index_to_text']:.2f} ×)",
        )
        for point in result["tables"]["Growth"]
    ]
    head = (
        "chunks",
        "chunks a CPU second",
        "search, CPU p50 / p95 (ms)",
        "memory (its own), MB",
        "index, MB (to text)",
    )
    return f"{table(head, rows)}\n\n{_from(result, 'scale')}"


def budgets() -> str:
    """What a context of code holds of the files it should hold."""
    result = newest("code-budget")
    rows = []
    for title, runs in result["tables"].items():
        mean = runs[-1]
        rows.append(
            (
                title.rpartition("tokens by the ")[2],
                *(f"{mean[f'{size} tokens']:.3f}" for size in (500, 2000, 8000)),
            )
        )
    return (
        f"{table(('tokens counted by the', '500', '2 000', '8 000'), rows)}\n\n{_from(result, 'code.budget')}"
    )


def others() -> str:
    """The tools that people ask about first, in one run: answers, and what a query costs."""
    result = newest("compare")
    groups = ("repositories", "labelled sets", "own files")
    found = [{row["engine"]: row for row in result["tables"][f"quality, {group}"]} for group in groups]
    engines = ("outcrop", "semble", "chromadb", "llamaindex", "tantivy", "SQLite FTS5")
    rows = [(name, *(f"{group[name]['ndcg@10']:.3f}" for group in found)) for name in engines]
    head = ("NDCG@10", "code, 21 repositories", "prose, 7 labelled sets", "code and documentation in one index")
    return f"{table(head, rows)}\n\n{_from(result, 'compare')}"


def larger_models() -> str:
    """What `mini` and the reranker bring over the model that ships."""
    result = newest("models")
    rows = []
    for row in result["tables"]["NDCG@10"]:
        search, model = row["search"], row["model"]
        if search not in ("keyword", "hybrid", "hybrid + rerank") or model not in ("", "static", "mini"):
            continue
        sets = [row[name] for name in row if name not in ("search", "model", "code") and "(recall)" not in name]
        shown = f"`{model}`{search.removeprefix('hybrid')}" if model else "words alone"
        rows.append((shown, f"{row['code']:.3f}", f"{sum(sets) / len(sets):.3f}"))
    made = table(("NDCG@10", "code", "prose, mean of 8 sets"), rows)
    return f"{made}\n\n{_from(result, 'models')} {_with_minilm()}"


def _with_minilm() -> str:
    """What a well-known transformer brings in place of ours, from the run that had it."""
    paths = readme.RESULTS.glob("models-*-minilm.json")
    result = max((json.loads(path.read_text("utf-8")) for path in paths), key=lambda one: str(one["date"]))
    ours, theirs = (
        next(row for row in result["tables"]["NDCG@10"] if (row["search"], row["model"]) == ("hybrid", name))
        for name in ("static", "minilm")
    )
    sets = [name for name in ours if name not in ("search", "model")]
    words = ", ".join(f"{name} {theirs[name]:.3f} (`static`: {ours[name]:.3f})" for name in sets)
    return f"With MiniLM-L6, a well-known transformer, at commit `{result['commit']}`: {words}."


def shown(*parts: Callable[[], list[str]]) -> Callable[[], str]:
    """Rows of `benchmarks.readme` for a page of docs/explanation, from where files have other addresses."""

    def make() -> str:
        rows = [row for part in parts for row in part()]
        if not rows:
            raise NoResult("a benchmark has no result yet")
        return re.sub(r"\]\((?!https?:)", "](../../", "\n".join(rows)).strip()

    return make


AGENTS = {
    "outcrop": "Outcrop: places, then the lines there",
    "passages": "Outcrop: passages",
    "semble": "semble: chunks",
    "aider": "aider's map, then files",
}


def agents() -> str:
    """What scripted agents read until they have seen the lines, for questions and for bug reports."""
    head = ("agent", "found %", "tokens, median", "tokens, at 90 %", "calls, median", "calls, at 90 %")
    parts = []
    for asked, label in (("questions", "questions about code"), ("reports", "bug reports")):
        title = f"{asked}: until the lines have been seen"
        try:
            result = newest("agents", title)
        except NoResult:
            continue
        rows = []
        for row in result["tables"][title]:
            name = row["agent"]
            cells = [row[f"{what} {where}"] for what in ("tokens", "calls") for where in ("median", "at 90 %")]
            shown = [f"{cell:,}" if cell is not None else "–" for cell in cells]
            rows.append((AGENTS.get(name, name), f"{row['answered %']:g}", *shown))
        trees = len(result["parameters"][f"{asked}, repositories"])
        count = f"{result['parameters'][asked]} {label}, {trees} repositories"
        parts.append(f"{count}:\n\n{table(head, rows)}\n\n{_from(result, 'agents')}")
    return "\n\n".join([*parts, "A dash: fewer than that were ever found."])
