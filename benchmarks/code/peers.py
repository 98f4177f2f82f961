"""Outcrop beside semble at finding code: the same files, the same questions, the same machine, one run.

    python -m benchmarks.code.peers --data FOLDER --repos FOLDER --install     (--install: once)

Semble's own model is fetched from a hub at its first use. So that the run needs no network, it is given the static
table that the package wordllama carries (32 000 × 256), in its own format; its published figures with its own model
are a little higher. Each engine runs in a process of its own on one core, with its defaults, its model loaded before
any clock starts. Semble's index stays in memory; Outcrop's is on disk and durable, so its ingest is for more work.
The large case is the files of all repositories in one folder (about 25 000 chunks), asked all questions; `--trees`
adds a larger one, with all that lies outside their roots: documentation too, which semble leaves out by default.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT, Report, percentile, run_child, say  # first: it holds numpy to one core

from benchmarks.code.__main__ import (  # isort: skip
    Scores,
    add_arguments,
    add_difference,
    all_means,
    keep_questions,
    repository_rows,
)
from benchmarks.code.set import Repository, lay_out, load_repositories, mean_of, score_repository  # isort: skip

VENV = ROOT / ".artifacts" / "semble-venv"
PACKAGES = ("semble==0.7.0", "wordllama==0.4.0.post1")
LARGE, TREES = "all repositories in one index", "all trees in one index, documentation included"
ENGINES = ("outcrop", "semble")

CONVERT = """
import sys
from importlib.util import find_spec
from pathlib import Path
import numpy as np
from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer
home = Path(find_spec("wordllama").origin).parent
table = load_file(home / "weights" / "l2_supercat_256.safetensors")["embedding.weight"].astype(np.float32)
tokenizer = Tokenizer.from_file(str(home / "tokenizers" / "l2_supercat_tokenizer_config.json"))
StaticModel(table, tokenizer, normalize=True).save_pretrained(sys.argv[1])
"""
"""Run under the peer's Python: wordllama's table and tokenizer become a model folder that semble loads."""


def install(venv: Path) -> None:
    """Make a virtual environment with semble and its stand-in model, apart from the project's own."""
    say(f"installing {', '.join(PACKAGES)} into {venv}")
    python = str(venv / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True)
    subprocess.run([python, "-c", CONVERT, str(model_of(venv))], check=True)


def model_of(venv: Path) -> Path:
    """Where the model lies that semble is given."""
    return venv / "wordllama-model2vec"


def lay_out_jobs(
    repositories: Sequence[Repository], repos: Path, work: Path, *, trees: bool
) -> list[dict[str, Any]]:
    """Copy what is to be indexed; a job for every repository, and those of all together."""
    jobs = []
    everything: list[tuple[str, str]] = []
    for one in repositories:
        folder = work / "roots" / one.name
        lay_out(repos / one.name / one.root, folder)
        if trees:
            lay_out(repos / one.name, work / "trees" / one.name)
        questions = [(question.id, question.text) for question in one.questions]
        jobs.append({"name": one.name, "folder": str(folder), "questions": questions})
        everything.extend(questions)
    jobs.append({"name": LARGE, "folder": str(work / "roots"), "questions": everything})
    if trees:
        jobs.append({"name": TREES, "folder": str(work / "trees"), "questions": everything})
    return jobs


def score_engine(repositories: Sequence[Repository], jobs: dict[str, Any]) -> Scores:
    """The score of every question."""
    scores: Scores = {}
    for one in repositories:
        found = jobs[one.name]["found"]
        places = {
            name: [(one.path_of(path), first, last) for path, first, last in chunks]
            for name, chunks in found.items()
        }
        scores[one.name] = score_repository(one, places)
    return scores


def speed_row(engine: str, jobs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What some jobs took together."""
    chunks, cpu = sum(job["chunks"] for job in jobs), sum(job["index_cpu_s"] for job in jobs)
    cpu_ms = [ms for job in jobs for ms in job["cpu_ms"]]
    wall_ms = [ms for job in jobs for ms in job["wall_ms"]]
    return {
        "engine": engine,
        "chunks": chunks,
        "index CPU s": cpu,
        "index wall s": sum(job["index_wall_s"] for job in jobs),
        "µs per chunk": 1e6 * cpu / chunks,
        "query CPU p50 ms": percentile(cpu_ms, 0.5),
        "CPU p95 ms": percentile(cpu_ms, 0.95),
        "wall p50 ms": percentile(wall_ms, 0.5),
    }


def add_tables(report: Report, repositories: Sequence[Repository], got: dict[str, Any]) -> None:
    """Quality by repository, the two side by side, then speed in the small and in the large."""
    scores = {engine: score_engine(repositories, got[engine]["jobs"]) for engine in ENGINES}
    means = {engine: all_means(repositories, found) for engine, found in scores.items()}
    for engine in ENGINES:
        report.add_table(f"NDCG@10, {engine}", repository_rows(repositories, means[engine]))
    totals = [{"engine": engine, **mean_of(list(means[engine].values())).row()} for engine in ENGINES]
    report.add_table("NDCG@10, mean over repositories", totals)
    add_difference(report, "NDCG@10, outcrop − semble", scores["outcrop"], scores["semble"])
    keep_questions(report, scores["outcrop"])
    small = [speed_row(engine, [got[engine]["jobs"][one.name] for one in repositories]) for engine in ENGINES]
    report.add_table(f"{len(repositories)} repositories, one index each", small)
    for case in (LARGE, TREES):
        if case in got["outcrop"]["jobs"]:
            speeds = [speed_row(engine, [got[engine]["jobs"][case]]) for engine in ENGINES]
            report.add_table(case, speeds)
            if case == LARGE:
                ours, theirs = speeds
                ratio = ours["µs per chunk"] / theirs["µs per chunk"]
                report.add("index CPU a chunk, outcrop to semble", ratio, "times", at_most=1.0)
                report.add("query CPU p50, all in one index", ours["query CPU p50 ms"], "ms", at_most=5.0)
    for engine in ENGINES:
        report.add(f"{engine}, imports and model, CPU", got[engine]["load_cpu_s"], "s")
        report.add(f"{engine}, peak memory without children", got[engine]["peak_rss"] / 1e6, "MB")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--venv", type=Path, default=VENV, help="where semble is installed")
    parser.add_argument("--install", action="store_true", help="install it there first")
    parser.add_argument("--trees", action="store_true", help="also index the whole trees together")
    options = parser.parse_args()
    if options.install:
        install(options.venv)
    if not model_of(options.venv).is_dir():
        raise SystemExit(f"semble is not installed in {options.venv}: run with --install")
    repositories = load_repositories(options.data, filter(None, options.only.split(",")))
    report = Report("code-peers", {"packages": PACKAGES, "only": options.only})
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        plan = work / "plan.json"
        jobs = lay_out_jobs(repositories, options.repos, work, trees=options.trees)
        plan.write_text(json.dumps({"model": str(model_of(options.venv)), "jobs": jobs}), "utf-8")
        pythons = {"outcrop": sys.executable, "semble": str(options.venv / "bin" / "python")}
        got = {
            engine: run_child(["benchmarks.code.engines", engine, str(plan)], python=pythons[engine])
            for engine in ENGINES
        }
    add_tables(report, repositories, got)
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
