"""The turn of one peer at one group of cases: what it is told, what is started, what came back in one form for all."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.compare.cases import Group, Job
from benchmarks.compare.install import Installed, model_of, node_of, program_of
from benchmarks.compare.peers import Peer
from benchmarks.compare.run import Outcome, run_measured
from benchmarks.report import ROOT, Report, say


@dataclass(slots=True)
class Comparison:
    """One run: who takes part, where they are, and what went wrong with whom."""

    work: Path
    limit_s: float
    report: Report
    peers: Sequence[Peer]
    installed: dict[str, Installed] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)

    def fail(self, peer: str, where: str, problem: str) -> None:
        """Note that a peer did not do something, and go on."""
        self.problems.setdefault(peer, []).append(f"{where}: {problem}")
        say(f"{peer} | {where}: {problem}")

    def taking_part(self, group: Group) -> list[Peer]:
        """The peers that can be asked to do a group."""
        return [
            peer
            for peer in self.peers
            if peer.name in self.installed
            and not self.installed[peer.name].problem
            and (group.course in peer.course and peer.kind != "map")
        ]


def surroundings(work: Path, peer: Peer) -> dict[str, str]:
    """Settings of a run: a home folder of its own, nothing sent anywhere, our model where it is borrowed."""
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "HF_HUB_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "CODEGRAPH_TELEMETRY": "0",
        "DO_NOT_TRACK": "1",
        "LLAMA_LOG_LEVEL": "error",
    }
    return settings | {"PYTHONPATH": str(ROOT / "src")} if peer.borrows_model else settings


def write_plan(group: Group, peer: Peer, place: Installed, work: Path) -> Path:
    """The plan of a run, as the module that runs the peer reads it."""
    rows = peer.kind == "rows"
    jobs = [
        {
            "name": job.name,
            "folder": str(rows_of(work, group, job.name) if rows else job.folder),
            "questions": [(question.id, question.text) for question in job.questions],
        }
        for job in group.jobs
    ]
    # As by default, where files are what is asked for: neighbours are one hit, and ten hits are about ten files.
    content: dict[str, Any] = {"jobs": jobs, "floor": 0.0, "merge": group.scored == "files"}
    if peer.engine == "semble":
        content |= {"model": str(model_of(Path(place.home)))}
        content |= {} if group.course == "code" else {"content": ["code", "docs", "config"]}
    if peer.engine == "probe":
        content |= {"program": str(program_of(Path(place.home), "probe"))}
    path = work / "plans" / f"{peer.engine}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def rows_of(work: Path, group: Group, job: str) -> Path:
    """Where the ready-made rows of a job are."""
    return work / "rows" / group.name.replace(" ", "-").replace(",", "") / job


def command_of(peer: Peer, place: Installed, plan: Path, work: Path) -> list[str]:
    """What is started."""
    if peer.installer == "npm":
        node, _ = node_of(work)
        script = str(ROOT / "benchmarks" / "compare" / "engines.mjs")
        return [node, "--disable-warning=ExperimentalWarning", script, peer.engine, place.home, str(plan)]
    python = sys.executable if peer.installer in ("none", "npm-program") else place.python
    module = "benchmarks.peers.engines" if peer.kind == "rows" else "benchmarks.compare.engines"
    return [python, "-m", module, peer.engine, str(plan)]


def run_peer(run: Comparison, group: Group, peer: Peer) -> tuple[Outcome, dict[str, Any]]:
    """One peer on one group: how the run went, and job → what it found and took, in one form for all."""
    place = run.installed[peer.name]
    command = command_of(peer, place, write_plan(group, peer, place, run.work), run.work)
    done = run_measured(command, limit_s=run.limit_s, settings=surroundings(run.work, peer))
    if not done.problem and not done.answer:
        done = Outcome("it said nothing", {}, done.wall_s, done.cpu_s, done.peak_rss_bytes)
    say(f"  {peer.name:<16} {group.name:<24} {done.wall_s:7.1f} s  CPU {done.cpu_s:7.1f} s  {done.problem}")
    if done.problem:
        return done, {}
    try:
        jobs = read_jobs(run, group, peer, done.answer)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        problem = f"its answer does not fit: {type(error).__name__} {error}"
        return Outcome(problem, {}, done.wall_s, done.cpu_s, done.peak_rss_bytes), {}
    outside = {"peak_rss": done.peak_rss_bytes, "run_cpu_s": done.cpu_s, "run_wall_s": done.wall_s}
    return done, {name: job | outside for name, job in jobs.items()}


def read_jobs(run: Comparison, group: Group, peer: Peer, answer: dict[str, Any]) -> dict[str, Any]:
    """job → what a peer found and took, in one form for all."""
    jobs = {job.name: answer["jobs"][job.name] for job in group.jobs}
    if peer.kind == "rows":
        jobs = {
            job.name: from_rows(jobs[job.name], rows_of(run.work, group, job.name), job) for job in group.jobs
        }
    return jobs


def from_rows(took: dict[str, Any], rows: Path, job: Job) -> dict[str, Any]:
    """What a peer of rows found, as places by question."""
    places = json.loads((rows / "places.json").read_text("utf-8"))
    found = {
        question.id: [places[row] for row in listed]
        for question, listed in zip(job.questions, took["found"], strict=True)
    }
    return {
        "chunks": len(places),
        "index_cpu_s": took["ingest_cpu_s"],
        "index_wall_s": took.get("ingest_wall_s"),
        "wall_ms": [],
        **took,
        "found": found,
    }
