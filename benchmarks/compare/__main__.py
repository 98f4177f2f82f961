"""Outcrop side by side with its peers, in one run: quality, time, memory, size, and the way from nothing to an answer.

    python -m benchmarks.compare                                         our own files, questions made from them
    python -m benchmarks.compare --data FOLDER                           and labelled sets (corpus, queries, qrels)
    python -m benchmarks.compare --repositories FOLDER --repos FOLDER    and labelled repositories with their trees
    python -m benchmarks.compare --quick | --only NAME… | --dry

Every peer is installed into a place of its own, in the version that `compare/peers.py` pins; nothing of it enters ours.
Outcrop is one of them: its wheel is built and installed like the others. Every run is a process with a limit, measured
from outside. A peer that cannot be installed, fails or takes too long is a line that says so, and the others go on.
Peers that take vectors get ours, with our chunks; what else they do is theirs. `compare/page.py` writes the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT, WORK, Report  # first: it holds numpy to one core

from scripts.build import build  # isort: skip
from benchmarks.compare.cases import ONE_INDEX, REPOSITORIES, Group, Job, code_groups, own_group, text_groups  # isort: skip
from benchmarks.compare.first import FIRST, first_group  # isort: skip
from benchmarks.compare.install import install  # isort: skip
from benchmarks.agents import Peers, study_questions  # isort: skip
from benchmarks.compare.maps import map_rows  # isort: skip
from benchmarks.compare.page import AGENTS_TABLE  # isort: skip
from benchmarks.compare.peers import OUTCROP, PEERS, Peer, pins  # isort: skip
from benchmarks.compare.run import Outcome, run_measured  # isort: skip
from benchmarks.compare.score import MB, quality_rows, speed_row  # isort: skip
from benchmarks.compare.turn import Comparison, from_rows, rows_of, run_peer  # isort: skip

LIMIT_S, QUICK_LIMIT_S = 240.0, 60.0
"""CPU seconds for one peer and one group of cases. Judgement: a peer that takes more would double the run."""
QUESTIONS, QUICK_QUESTIONS = 100, 40
"""Of a labelled set, drawn by a fixed seed. With 100 the interval of a mean is about ± .08, of a paired difference
half of that."""
QUICK_EVERY, QUICK_SETS = 5, 4
"""Sets include one whose gold is spans and the largest of them, which is left out of a quick run."""
FIRST_TABLE = "installation and first answer"
LEGS = {"dense": "outcrop, dense leg", "lexical": "outcrop, lexical leg"}


def prepare_rows(run: Comparison, group: Group) -> Outcome:
    """Our chunks and vectors of a group, for peers that take them; what our legs did with them, where it is timed."""
    plan = run.work / "plans" / "rows.json"
    plan.parent.mkdir(parents=True, exist_ok=True)
    jobs = [
        {
            "name": job.name,
            "folder": str(job.folder),
            "rows": str(rows_of(run.work, group, job.name)),
            "questions": [(question.id, question.text) for question in job.questions],
        }
        for job in group.jobs
    ]
    plan.write_text(json.dumps({"jobs": jobs, "legs": group.timed}), "utf-8")
    return run_measured([sys.executable, "-m", "benchmarks.compare.rows", str(plan)], limit_s=2 * run.limit_s)


def ready_peers(run: Comparison, group: Group) -> tuple[list[Peer], dict[str, Any]]:
    """Who can be asked to do a group once rows are made for those that take them; what our legs did with the rows."""
    peers = run.taking_part(group)
    if not any(peer.kind == "rows" for peer in peers):
        return peers, {}
    done = prepare_rows(run, group)
    if done.problem:
        for peer in peers:
            if peer.kind == "rows":
                run.fail(peer.name, group.name, f"our rows could not be made: {done.problem}")
        return [peer for peer in peers if peer.kind != "rows"], {}
    if not group.timed:
        return peers, {}
    (job,) = group.jobs
    rows = rows_of(run.work, group, job.name)
    return peers, {name: from_rows(done.answer[job.name][leg], rows, job) for leg, name in LEGS.items()}


def run_group(run: Comparison, group: Group) -> None:
    """Every peer on one group, back to back; its tables."""
    peers, legs = ready_peers(run, group)
    took: dict[str, dict[str, Any]] = {}
    for peer in peers:
        done, jobs = run_peer(run, group, peer)
        if done.problem:
            run.fail(peer.name, group.name, done.problem)
        else:
            took[peer.name] = jobs
    answers = {name: {job: of["found"] for job, of in jobs.items()} for name, jobs in took.items()}
    run.report.add_table(f"quality, {group.name}", quality_rows(group, answers))
    if group.timed:
        add_speed(run, group, took, legs)


def add_speed(run: Comparison, group: Group, took: dict[str, dict[str, Any]], legs: dict[str, Any]) -> None:
    """Two tables: those that read files beside Outcrop, those that take rows beside its legs."""
    (job,) = group.jobs
    kinds = {peer.name: peer.kind for peer in PEERS}
    files = {name: jobs[job.name] for name, jobs in took.items() if kinds[name] == "files"}
    rows = legs | {name: jobs[job.name] for name, jobs in took.items() if kinds[name] == "rows"}
    for title, engines, base in (
        ("from files", files, files.get(OUTCROP)),
        ("from ready-made rows", rows, rows.get(LEGS["dense"])),
    ):
        if base is not None:
            made = [speed_row(name, of, base) for name, of in engines.items()]
            run.report.add_table(f"speed, {group.name}, {title}", made)


def install_all(run: Comparison, peers: Sequence[Peer]) -> None:
    """Install everybody; what cannot be installed is left out, with its reason."""
    wheel = None
    if any(peer.name == OUTCROP for peer in peers):
        (wheel,) = build(ROOT, run.work / "wheel", ["wheel"])
    for peer in peers:
        done = install(peer, run.work, wheel)
        run.installed[peer.name] = done
        if done.problem:
            run.fail(peer.name, "installation", done.problem)


def install_rows(run: Comparison) -> None:
    """From an empty environment to a first answer: the installation, then a process that indexes and is asked once."""
    group = first_group(run.work)
    ready, _ = ready_peers(run, group)
    rows = []
    for peer in PEERS:
        place = run.installed.get(peer.name)
        if place is None or place.problem or not (peer.packages or peer.name == OUTCROP):
            continue
        first = None
        if peer in ready:
            done, _ = run_peer(run, group, peer)
            if done.problem:
                run.fail(peer.name, FIRST, done.problem)
            else:
                first = done.wall_s
        rows.append(
            {
                "engine": peer.name,
                "packages": place.packages,
                "installed MB": place.bytes / MB,
                "installation s": place.wall_s,
                "installation, CPU s": place.cpu_s,
                "first answer s": first,
                "both s": None if first is None else place.wall_s + first,
            }
        )
    run.report.add_table(FIRST_TABLE, rows)


def add_maps(run: Comparison, groups: Sequence[Group], options: argparse.Namespace) -> None:
    """Maps of repositories, where aider takes part and there are repositories."""
    place = run.installed.get("aider")
    if options.repositories is None or place is None or place.problem:
        return
    group = next(group for group in groups if group.name == REPOSITORIES)
    names = [job.name for job in group.jobs]
    rows, problem = map_rows(options.repositories, options.repos, names, place.python, run.work, run.limit_s)
    if problem:
        run.fail("aider", group.name, problem)
    run.report.add_table("maps of repositories", rows)


def add_agents(run: Comparison, groups: Sequence[Group], options: argparse.Namespace) -> None:
    """How much scripted agents read with each tool (benchmarks.agents), where both peers take part."""
    places = [run.installed.get(name) for name in ("semble", "aider")]
    homes = [Path(place.home) for place in places if place is not None and not place.problem]
    if options.repositories is None or len(homes) < len(places):
        return
    names = [job.name for group in groups if group.name == REPOSITORIES for job in group.jobs]
    studied = study_questions(options.repositories, options.repos, names, Peers(*homes))
    run.report.add_table(AGENTS_TABLE, studied.rows())


def make_groups(options: argparse.Namespace, work: Path) -> list[Group]:
    """What is asked, as far as data is given for it."""
    code = dict(pair.split("=", 1) for pair in options.code)
    groups = [own_group(work, options.questions)]
    if options.data is not None:
        groups += text_groups(options.data, work, options.questions, code, options.sets)
    if options.repositories is not None:
        names = sorted(path.stem for path in options.repositories.glob("*.json"))
        groups += code_groups(
            options.repositories, options.repos, work, options.questions, names[:: options.every]
        )
    groups.sort(key=lambda group: group.timed and group.course != "mixed")  # the long ones last
    if options.quick:
        groups = [
            group for group in groups if group.name != ONE_INDEX and (group.course != "text" or not group.timed)
        ]
    return groups


def compare(options: argparse.Namespace) -> Report:
    """Everything, in one run."""
    name = (
        "compare-quick"
        if options.quick
        else "compare"
        if options.data and options.repositories
        else "compare-own"
    )
    peers = [peer for peer in PEERS if not options.only or peer.name in {OUTCROP, *options.only}]
    work = options.work.resolve()
    names = ("questions", "limit", "only", "sets", "every")
    given: dict[str, Any] = {name: getattr(options, name) for name in names}
    run = Comparison(work, options.limit, Report(name, given), peers)
    groups = make_groups(options, work)
    if options.resume is not None:
        take_over(run, json.loads(options.resume.read_text("utf-8")), given)
    install_all(run, peers)
    if FIRST_TABLE not in run.report.tables:
        install_rows(run)
    for group in groups:
        if f"quality, {group.name}" in run.report.tables:
            continue
        run_group(run, group)
        finish(run, groups, peers, dry=options.dry)
    add_maps(run, groups, options)
    add_agents(run, groups, options)
    finish(run, groups, peers, dry=options.dry)
    return run.report


def take_over(run: Comparison, before: dict[str, Any], given: dict[str, Any]) -> None:
    """What an earlier run has, so that only the rest is done; from where, stands with the parameters."""
    run.report.tables |= before["tables"]
    given["resumed"] = f"{before['commit']} of {before['date']}"
    for row in before["tables"].get("peers", []):
        if row["problems"]:
            run.problems[row["peer"]] = [row["problems"]]


def finish(run: Comparison, groups: Sequence[Group], peers: Sequence[Peer], *, dry: bool) -> None:
    """Tell who took part in what, and keep what there is: a run that is ended early is not lost."""
    listed = [
        {
            "peer": peer.name,
            "packages": pins(peer) or ("this commit" if peer.name == OUTCROP else "comes with Outcrop"),
            "kind": peer.kind,
            "what": peer.what,
            "problems": "; ".join(run.problems.get(peer.name, [])),
        }
        for peer in peers
    ]
    run.report.tables["cases"] = [case_row(group, job) for group in groups for job in group.jobs]
    run.report.tables["peers"] = listed
    if not dry:
        run.report.keep()


def case_row(group: Group, job: Job) -> dict[str, Any]:
    """A case, as a table tells it."""
    files = sum(path.is_file() for path in job.folder.rglob("*"))
    return {"group": group.name, "case": job.name, "files": files, "questions": len(job.questions)}


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of labelled sets")
    parser.add_argument(
        "--code", action="append", default=[], metavar="SET=.py", help="a set whose documents are code"
    )
    parser.add_argument("--repositories", type=Path, help="a folder with a JSON file a labelled repository")
    parser.add_argument("--repos", type=Path, help="the folder where those repositories are checked out")
    parser.add_argument("--work", type=Path, default=WORK / "compare", help="where peers and indexes are put")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these peers, beside Outcrop")
    parser.add_argument("--questions", type=int, help="of each labelled set at most")
    parser.add_argument("--limit", type=float, help="CPU seconds for one peer and one group of cases")
    parser.add_argument("--sets", type=int, help="so many of the smallest sets")
    parser.add_argument("--every", type=int, help="every so-many-th repository")
    parser.add_argument("--resume", type=Path, help="a result that was ended early: what it has is taken over")
    parser.add_argument("--quick", action="store_true", help="few questions and repositories, no large index")
    parser.add_argument("--dry", action="store_true", help="print, and keep nothing")
    options = parser.parse_args(arguments)
    if (options.repositories is None) != (options.repos is None):
        parser.error("--repositories and --repos go together")
    if unknown := set(options.only) - {peer.name for peer in PEERS}:
        parser.error(
            f"no peer is called {', '.join(sorted(unknown))}; there are: {', '.join(p.name for p in PEERS)}"
        )
    options.sets = options.sets or (QUICK_SETS if options.quick else None)
    options.every = options.every or (QUICK_EVERY if options.quick else 1)
    options.questions = options.questions or (QUICK_QUESTIONS if options.quick else QUESTIONS)
    options.limit = options.limit or (QUICK_LIMIT_S if options.quick else LIMIT_S)
    return options


def main() -> None:
    """The command."""
    compare(read_options())


if __name__ == "__main__":
    main()
