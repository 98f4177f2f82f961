"""Many processes on one index in Postgres for a while: does anything fail, hang, get lost or drift apart?

    python -m proofs.pg_soak --minutes 10

Writers add, replace and delete documents; searchers look for what was acknowledged and for words of the texts. Every
process is a real engine of its own. Exits with 1 when anything failed: an error, a deadlock, an acknowledged document
that is not found, a row that does not fit the others.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.report import ROOT, Report, peak_rss_bytes, percentile, say  # first: it holds numpy to one core
from tests.postgres.server import PostgresServer, create_server, open_home

import outcrop
from outcrop.errors import OutcropError

SCHEMA: Final = "soak"
COLLECTION: Final = "soak"
TEXT_CHARS: Final = 6000
"""Of each file, so that a document has some ten chunks."""
REPLACED_SHARE, DELETED_SHARE = 0.2, 0.1
SERVER: Final = {"max_connections": "200", "shared_buffers": "512MB"}
CHECKED: Final = 300
"""Acknowledged documents looked for at the end, beside the comparison of all texts."""


@dataclass(slots=True)
class Tally:
    """What a process did: how long each thing took, and what went wrong."""

    milliseconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    peak_rss: int = 0


# ------------------------------------------------------------------ the processes


def texts(folder: Path) -> list[str]:
    """Beginnings of real files."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".md", ".rst", ".txt"})
    found = [path.read_text("utf-8", "replace").replace("\0", "")[:TEXT_CHARS] for path in files]
    return [text for text in found if len(text) > 200]


def document(said: Sequence[str], writer: str, number: int, turn: int) -> str:
    """The text of a document, with a word by which it alone is found."""
    return (
        f"{said[(7 * number + turn) % len(said)]}\n\nThe mark of this one is {mark_of(writer, number, turn)}.\n"
    )


def mark_of(writer: str, number: int, turn: int) -> str:
    """A word that no other document holds."""
    return f"zq{writer}x{number}y{turn}"


def write(options: argparse.Namespace, engine: outcrop.Engine) -> Tally:
    """Add, replace and delete until the time is up; each acknowledgement is a line of a file."""
    tally, said, chance = Tally(), texts(options.corpus), random.Random(options.name)
    turns: dict[int, int] = {}
    with (options.acknowledged / f"{options.name}.jsonl").open("w", encoding="utf-8") as log:
        while time.time() < options.until:
            number, turn = len(turns), 0
            here = [known for known, times in turns.items() if times >= 0]
            draw = chance.random()
            is_removal = bool(here) and draw < DELETED_SHARE
            if here and draw < DELETED_SHARE + REPLACED_SHARE:
                number = chance.choice(here)
                turn = turns[number] + 1
            name, began = f"{options.name}-{number}", time.perf_counter()
            try:
                if is_removal:
                    engine.delete(name, collection=COLLECTION)
                else:
                    engine.add(text=document(said, options.name, number, turn), id=name, collection=COLLECTION)
            except OutcropError as error:
                tally.errors.append(f"{name}: {type(error).__name__}: {error}")
                continue
            tally.milliseconds.append(1000 * (time.perf_counter() - began))
            turns[number] = -1 if is_removal else turn
            log.write(json.dumps([number, turns[number]]) + "\n")
            log.flush()
    return tally


def search(options: argparse.Namespace, engine: outcrop.Engine) -> Tally:
    """Look for words of the texts and for what a writer had acknowledged before the search began."""
    tally, said, chance = Tally(), texts(options.corpus), random.Random(options.name)
    while time.time() < options.until:
        known = newest(options.acknowledged, chance) if chance.random() < 0.5 else None
        query = mark_of(*known) if known else " ".join(chance.choice(said).split()[20:26])
        began = time.perf_counter()
        try:
            answer = engine.search(query)
        except OutcropError as error:
            tally.errors.append(f"{query!r}: {type(error).__name__}: {error}")
            continue
        tally.milliseconds.append(1000 * (time.perf_counter() - began))
        if answer.reason == "error":
            tally.errors.append(f"{query!r}: {answer.detail}")
        elif known and not any(query in hit.text for hit in answer.hits) and is_still_there(options, *known):
            tally.errors.append(f"{query!r}: acknowledged and not found")
    return tally


def is_still_there(options: argparse.Namespace, writer: str, number: int, turn: int) -> bool:
    """Whether a document was neither replaced nor deleted while it was looked for.

    A writer does one thing at a time, which may be committed before it is acknowledged: so wait for its next line.
    """
    path = options.acknowledged / f"{writer}.jsonl"
    before = path.stat().st_size
    while path.stat().st_size == before and time.time() < options.until:
        time.sleep(0.05)
    return path.stat().st_size > before and current(options.acknowledged)[writer, number] == turn


def newest(folder: Path, chance: random.Random) -> tuple[str, int, int] | None:
    """A document that is there, as far as was acknowledged."""
    there = [(writer, number, turn) for (writer, number), turn in current(folder).items() if turn >= 0]
    return chance.choice(there) if there else None


def current(folder: Path) -> dict[tuple[str, int], int]:
    """(writer, number) → the last acknowledged turn of a document, -1 when it was deleted."""
    found: dict[tuple[str, int], int] = {}
    for path in folder.glob("*.jsonl"):
        for line in path.read_text("utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                number, turn = json.loads(line)
                found[path.stem, number] = turn
    return found


def work(options: argparse.Namespace) -> None:
    """One process: work until the time is up and print what happened."""
    with (
        tempfile.TemporaryDirectory() as folder,
        outcrop.open(options.url, data_dir=folder, model="static") as engine,
    ):
        tally = write(options, engine) if options.part == "write" else search(options, engine)
    tally.peak_rss = peak_rss_bytes()
    say(json.dumps(asdict(tally)))


# ------------------------------------------------------------------ the run


def start(options: argparse.Namespace, part: str, name: str, url: str, acknowledged: Path, until: float) -> Any:
    """A process of ours."""
    words = [
        "--part",
        part,
        "--name",
        name,
        "--url",
        url,
        "--acknowledged",
        str(acknowledged),
        "--until",
        str(until),
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "proofs.pg_soak", *words, "--corpus", str(options.corpus)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def gather(process: Any) -> Tally:
    """What a process printed at its end; its last words when it has none."""
    out, err = process.communicate()
    try:
        return Tally(**json.loads(out.strip().splitlines()[-1]))
    except (ValueError, IndexError, TypeError):
        return Tally(errors=[f"ended with {process.returncode}: {err[-2000:]}"])


def compare(url: str, acknowledged: Path, said: Sequence[str]) -> Iterator[str]:
    """What differs between that which was acknowledged and that which is there."""
    wanted = current(acknowledged)
    there = {
        f"{writer}-{number}": (writer, number, turn) for (writer, number), turn in wanted.items() if turn >= 0
    }
    with tempfile.TemporaryDirectory() as folder, outcrop.open(url, data_dir=folder, model="static") as engine:
        stored = {one.uri for one in engine.documents(outcrop.Filter(collections=(COLLECTION,)))}
        yield from (f"{name} was acknowledged and is not there" for name in there.keys() - stored)
        yield from (f"{name} is there and was not acknowledged, or deleted" for name in stored - there.keys())
        for name in sorted(there.keys() & stored):
            if engine.text(name, collection=COLLECTION) != document(said, *there[name]):
                yield f"{name} holds another text than was acknowledged"
        chosen = random.Random(1).sample(sorted(there.keys() & stored), min(CHECKED, len(there)))
        for name in chosen:
            if not any(hit.document.uri == name for hit in engine.search(mark_of(*there[name])).hits):
                yield f"{name} is not found by its mark"
        yield from (f"{check.name}: {check.detail}" for check in engine.doctor() if not check.ok)


def soak(options: argparse.Namespace, server: PostgresServer, report: Report) -> None:
    """Let them work, then look at everything."""
    url = server.url(SCHEMA)
    said = texts(options.corpus)
    with tempfile.TemporaryDirectory() as folder:
        acknowledged = Path(folder)
        until = time.time() + 60 * options.minutes
        parts = [("write", f"w{number}") for number in range(options.writers)]
        parts += [("search", f"s{number}") for number in range(options.searchers)]
        processes = [(part, start(options, part, name, url, acknowledged, until)) for part, name in parts]
        tallies = [(part, gather(process)) for part, process in processes]
        problems = list(compare(url, acknowledged, said))
        documents = sum(turn >= 0 for turn in current(acknowledged).values())
    for part in ("write", "search"):
        mine = [tally for kind, tally in tallies if kind == part]
        times = [one for tally in mine for one in tally.milliseconds] or [0.0]
        report.add(f"{part}: done", len(times), "")
        report.add(f"{part}: p50", percentile(times, 0.5), "ms")
        report.add(f"{part}: p99", percentile(times, 0.99), "ms")
        report.add(f"{part}: most memory of a process", max(tally.peak_rss for tally in mine) / 1e6, "MB")
        report.add(f"{part}: errors", sum(len(tally.errors) for tally in mine), "", at_most=0)
    [(deadlocks, conflicts)] = server.execute(
        "SELECT deadlocks, xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    )
    said_errors = [line for line in server.log(10**9).splitlines() if "ERROR" in line or "PANIC" in line]
    report.add("deadlocks", deadlocks, "", at_most=0)
    report.add("transactions rolled back", conflicts, "")
    report.add("errors in the server's log", len(said_errors), "", at_most=0)
    report.add("documents at the end", documents, "")
    report.add("problems found at the end", len(problems), "", at_most=0)
    errors = [{"part": part, "error": error} for part, tally in tallies for error in tally.errors[:20]]
    errors += [{"part": "end", "error": problem} for problem in problems[:50]]
    errors += [{"part": "server", "error": line} for line in said_errors[:20]]
    if errors:
        report.add_table("errors", errors)


def main() -> None:
    """The run, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--searchers", type=int, default=8)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--corpus", type=Path, default=ROOT / "src", help="a folder of texts")
    for name in ("--part", "--name", "--url"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--acknowledged", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        work(options)
        return
    report = Report(
        "pg_soak",
        {name: getattr(options, name) for name in ("minutes", "searchers", "writers")}
        | {"corpus": options.corpus.name},
    )
    with open_home() as home:
        server = create_server(
            home, "soak", durable=True, settings={"max_connections": "200", "shared_buffers": "512MB"}
        )
        soak(options, server, report)
    report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
