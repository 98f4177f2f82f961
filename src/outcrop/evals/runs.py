"""Evaluations that were run, kept as files, so that one can see whether a change made search better.

A run is one JSON file in a folder beside the index. Its name begins with the time in UTC, so that names sort by it.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final

from outcrop.errors import NotFound, ParseError, SourceError
from outcrop.evals.run import EvalReport
from outcrop.records import SearchOptions
from outcrop.system.dataclass import dataclass
from outcrop.system.private import make_folder, write_text

KEPT_RUNS: Final = 200
"""The oldest are dropped when there are more: a run a day for half a year (not measured)."""
METRICS: Final = ("top_1", "recall_3", "recall_5", "recall_10", "mrr", "ndcg_10", "similarity")
TIMES: Final = ("embed_p50_ms", "embed_p95_ms", "search_p50_ms", "search_p95_ms")

RUNS_ENDING: Final = ".evals"
"""The folder of an index's runs lies beside it, under its name with this ending."""

_ID: Final = re.compile(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{6}")
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class RankedCase:
    """How a query went: the rank of the first right document (None: not found), and what came first."""

    query: str
    expected: tuple[str, ...]
    rank: int | None
    ndcg_10: float
    first: str = ""


@dataclass(frozen=True, slots=True)
class EvalRun:
    """A run as it is kept. `time` is in seconds since the epoch; `options` are those that differ from the usual ones;
    `id` is given when it is saved."""

    id: str
    time: float
    name: str
    model: str
    options: Mapping[str, Any]
    metrics: Mapping[str, float]
    cases: tuple[RankedCase, ...]


@dataclass(frozen=True, slots=True)
class RunLine:
    """A kept run without its cases; or a file that cannot be read, and why."""

    id: str
    time: float = 0.0
    name: str = ""
    model: str = ""
    options: Mapping[str, Any] | None = None
    metrics: Mapping[str, float] | None = None
    queries: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RankChange:
    """A query whose first right document stands elsewhere than before."""

    query: str
    before: int | None
    after: int | None


def as_run(report: EvalReport, options: SearchOptions | None = None, name: str = "") -> EvalRun:
    """A report as a run of now, to be saved."""
    usual, used = SearchOptions(), options or SearchOptions()
    plain = {field.name: getattr(used, field.name) for field in fields(SearchOptions) if field.name != "where"}
    told: dict[str, Any] = {key: value for key, value in plain.items() if value != getattr(usual, key)}
    if used.where.collections:
        told["collections"] = list(used.where.collections)
    return EvalRun(
        id="",
        time=time.time(),
        name=name,
        model=report.model,
        options={**told, "limit": report.limit},
        metrics={key: round(float(getattr(report, key)), 6) for key in (*METRICS, *TIMES)},
        cases=tuple(
            RankedCase(
                query=row.query,
                expected=row.expected,
                rank=row.rank,
                ndcg_10=round(row.ndcg_10, 6),
                first=row.found[0].path if row.found else "",
            )
            for row in report.rows
        ),
    )


def save_run(folder: Path, run: EvalRun) -> str:
    """Keep a run; the id it is found by."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(run.time))
    id_ = f"{stamp}{int(run.time * 1000) % 1000:03d}Z-{secrets.token_hex(3)}"
    text = json.dumps(asdict(replace(run, id=id_)))
    draft = folder / f".{id_}.part"
    try:
        make_folder(folder)
        write_text(draft, text, "ascii")
        draft.replace(folder / f"{id_}{_SUFFIX}")
    except OSError as error:
        raise SourceError(f"the run cannot be kept in {folder}: {error}") from error
    for old in _ids(folder)[KEPT_RUNS:]:
        (folder / f"{old}{_SUFFIX}").unlink(missing_ok=True)
    return id_


def list_runs(folder: Path, limit: int = KEPT_RUNS) -> tuple[RunLine, ...]:
    """The latest runs, newest first. A file that is damaged is a line that says so."""
    lines = []
    for id_ in _ids(folder)[:limit]:
        try:
            run = load_run(folder, id_)
        except (NotFound, ParseError) as error:  # deleted meanwhile, or damaged
            lines.append(RunLine(id_, problem=str(error)))
            continue
        lines.append(
            RunLine(id_, run.time, run.name, run.model, run.options, run.metrics, queries=len(run.cases))
        )
    return tuple(lines)


def load_run(folder: Path, id: str) -> EvalRun:
    """A run by its id; NotFound if there is none, ParseError if its file is damaged."""
    path = folder / f"{id}{_SUFFIX}"
    try:
        if not _ID.fullmatch(id):
            raise FileNotFoundError(id)
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise NotFound(f"there is no run {id[:80]!r}; `outcrop eval --runs` lists them") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ParseError(f"{path} cannot be read: {error}") from error
    try:
        return _as_run(data, id)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError(f"{path} is not a run: {error!r}") from error


def compare_runs(before: EvalRun, after: EvalRun) -> tuple[RankChange, ...]:
    """The queries of both that went otherwise, those that changed most first: not found counts as far down."""
    old = {(case.query, case.expected): case.rank for case in before.cases}
    changes = [
        RankChange(case.query, old[case.query, case.expected], case.rank)
        for case in after.cases
        if old.get((case.query, case.expected), case.rank) != case.rank
    ]
    return tuple(sorted(changes, key=lambda change: -abs(_gain(change.after) - _gain(change.before))))


def _gain(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / rank


def _ids(folder: Path) -> list[str]:
    """Newest first; other files are none of ours."""
    names = (path.name.removesuffix(_SUFFIX) for path in folder.glob(f"*{_SUFFIX}"))
    return sorted((name for name in names if _ID.fullmatch(name)), reverse=True)


def _as_run(data: Any, id_: str) -> EvalRun:
    if not isinstance(data["cases"], list):
        raise TypeError("cases is a list")
    cases = tuple(
        RankedCase(
            query=str(case["query"]),
            expected=tuple(map(str, case["expected"])),
            rank=None if case["rank"] is None else int(case["rank"]),
            ndcg_10=_number(case["ndcg_10"]),
            first=str(case.get("first", "")),
        )
        for case in data["cases"]
    )
    return EvalRun(
        id=id_,
        time=_number(data["time"]),
        name=str(data["name"]),
        model=str(data["model"]),
        options=dict(data["options"].items()),
        metrics={str(key): _number(value) for key, value in data["metrics"].items()},
        cases=cases,
    )


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not a finite number")
    return number
