"""From what engines found and took to the rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.report import percentile  # first: it holds numpy to one core

import numpy as np  # isort: skip
from numpy.typing import NDArray  # isort: skip

from benchmarks.code.set import TOP, Place, Question, ndcg  # isort: skip
from benchmarks.compare.cases import Group, Job  # isort: skip
from benchmarks.compare.peers import OUTCROP  # isort: skip
from benchmarks.quality import interval  # isort: skip

MB = 1_000_000
Answers = Mapping[str, Sequence[Place]]
"""question id → what was found, best first."""


def score_question(question: Question, found: Sequence[Place], scored: str) -> tuple[float, float]:
    """(NDCG@10, recall@10) of one answer; a file counts once where files are what is asked for."""
    places = list(found)[:TOP]
    if scored == "files":
        firsts: dict[str, Place] = {}
        for place in places:
            firsts.setdefault(place[0], place)
        places = list(firsts.values())
    met = sum(any(target.is_met(place) for place in places) for target in question.targets)
    return ndcg(places, question.targets), met / len(question.targets)


def score_job(job: Job, answers: Answers, scored: str) -> dict[str, tuple[float, float]]:
    """question id → its scores; a question without an answer scores nothing."""
    return {
        question.id: score_question(question, answers.get(question.id, ()), scored)
        for question in job.questions
    }


def quality_rows(group: Group, found: Mapping[str, Mapping[str, Answers]]) -> list[dict[str, Any]]:
    """A row an engine, `found` being engine → job → answers. Means are over jobs, each counting alike.

    `difference` is to Outcrop, over all questions alike, with its 95 % interval: above zero is better than ours.
    """
    scores = {
        engine: {job.name: score_job(job, answers[job.name], group.scored) for job in group.jobs}
        for engine, answers in found.items()
    }
    ours = _pooled(scores[OUTCROP]) if OUTCROP in scores else None
    rows = []
    for engine, of in scores.items():
        means = {name: fmean(ndcg for ndcg, _ in job.values()) for name, job in of.items()}
        recalls = [fmean(recall for _, recall in job.values()) for job in of.values()]
        row = {"engine": engine, "ndcg@10": fmean(means.values()), "recall@10": fmean(recalls)}
        row |= means if len(group.jobs) > 1 and group.course == "text" else _by_category(group, of)
        if ours is not None and engine != OUTCROP:
            theirs = _pooled(of)
            low, high = interval(theirs, ours)
            row |= {"difference": float((theirs - ours).mean()), "low": low, "high": high}
        elif ours is not None:
            row |= {"difference": None, "low": None, "high": None}
        rows.append(row)
    return rows


def _pooled(scores: Mapping[str, Mapping[str, tuple[float, float]]]) -> NDArray[np.float64]:
    """NDCG@10 of every question of every job, in one order for all engines."""
    return np.array([ndcg for job in scores.values() for ndcg, _ in job.values()])


def _by_category(group: Group, scores: Mapping[str, Mapping[str, tuple[float, float]]]) -> dict[str, float]:
    """NDCG@10 of the questions of each category; of a repository first, as its authors have it."""
    found: dict[str, dict[str, list[float]]] = {}
    for job in group.jobs:
        for question in job.questions:
            of = found.setdefault(question.category, {}).setdefault(job.name, [])
            of.append(scores[job.name][question.id][0])
    return (
        {name: fmean(map(fmean, jobs.values())) for name, jobs in sorted(found.items())}
        if len(found) > 1
        else {}
    )


def speed_row(engine: str, took: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """What one index took; `× ours` is more than ours where above one."""
    cpu_ms, wall_ms = took["cpu_ms"], took["wall_ms"]
    p50 = percentile(cpu_ms, 0.5)
    ours = percentile(base["cpu_ms"], 0.5)
    index_cpu = took["index_cpu_s"]
    indexes = bool(took["bytes"])
    return {
        "engine": engine,
        "chunks": took.get("chunks") if indexes else None,
        "ingest wall s": took["index_wall_s"] if indexes else None,
        "ingest CPU s": index_cpu if indexes else None,
        "ingest × ours": index_cpu / base["index_cpu_s"] if indexes else None,
        "query CPU p50 ms": p50,
        "query CPU p95 ms": percentile(cpu_ms, 0.95),
        "query × ours": p50 / ours,
        "query wall p50 ms": percentile(wall_ms, 0.5) if wall_ms else None,
        "query wall p95 ms": percentile(wall_ms, 0.95) if wall_ms else None,
        "peak memory MB": took["peak_rss"] / MB if took.get("peak_rss") else None,
        "index MB": took["bytes"] / MB if indexes else None,
        "whole run, CPU s": took.get("run_cpu_s"),
        "whole run, wall s": took.get("run_wall_s"),
    }
