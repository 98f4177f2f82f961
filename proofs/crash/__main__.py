"""Kill whatever writes, at any moment, again and again: what was acknowledged must be there, whole and in agreement.

    python -m proofs.crash --rounds 500 --seed 1 [--only ingest|notes|migration|re-embedding] [--store sqlite]

Four kinds of rounds, on both stores: an ingest (below), agents' notes (`notes_crash.py`), a change of model and the
migration of an older schema (`crash/switch.py`). Half of the processes are killed with SIGKILL at a random moment, half
kill themselves at a call that was drawn, which tells where (`crash/kill.py`).

Every round of an ingest a child changes a folder and some texts (adds, edits, deletes, moves, copies), brings the index
up to date and notes in a journal what each call that returned has acknowledged, until it is killed. Then the index is
opened again and compared with the journal:

- every document holds the acknowledged version, or the one the interrupted call was writing;
- its text and all its chunks are of that one version;
- documents, chunks, vectors and keyword rows agree, and the doctor finds nothing;
- the search arrays left on disk, once caught up, answer like arrays made anew from the store.

The parent never opens the database: children are forked from it warm, with everything imported, so that 500
rounds take minutes. Exits with 1 on any divergence.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

import outcrop.write.add  # isort: skip
import outcrop.index.arrays
import outcrop.write.commit
from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder
from outcrop.engine import Engine
from outcrop.errors import NotFound
from proofs.crash.check import Expected, Promise, Scene, content, read_journal, verify
from proofs.crash.kill import FINISHED, draw_kill, fork_and_kill

MAX_DELAY_S = 0.3
MAX_DELAY_ON_POSTGRES_S = 0.8
"""Opening takes longer there, and so does a call."""
MAX_CALLS = 100_000
"""Calls of Python's that a worker makes in some tenths of a second: the last at which one kills itself."""
ROUNDS_A_DATABASE = 25
"""Rounds one index lives through before a new one is begun: damage has time to add up, and creation is tried too."""
MAX_FILES = 40
FOLDER_COLLECTION = "files"
TEXT_COLLECTION = "texts"

# So small that every call makes several transactions and saves the arrays: more moments at which to be killed.
SMALL_BATCH_CHUNKS = 8
SMALL_SAVE_CHUNKS = 24
SMALL_SAVE_ROWS = 16

_MARK_LETTERS = "bcdfghjkmnpvwxz"
"""A mark is one plain word that no stemmer shortens, so that a keyword search for it finds it and nothing else."""


# ------------------------------------------------------------------ the child that is killed


class Worker:
    """Changes things and brings the index up to date, noting before each call what it wants and after it that it is."""

    def __init__(self, scene: Scene, embedder: Embedder, seed: str) -> None:
        self._scene = scene
        self._chosen = random.Random(seed)
        self._journal = os.open(scene.journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._marks = scene.next_mark
        self._texts = {uri: mark for uri, mark in scene.acknowledged.items() if not uri.startswith("/")}
        self._embedder = embedder

    def close(self) -> None:
        """Close the journal, which the parent does not need."""
        os.close(self._journal)

    def run(self) -> None:
        """Work until killed."""
        outcrop.write.commit.BATCH_CHUNKS = SMALL_BATCH_CHUNKS
        outcrop.write.add.SAVE_EVERY_CHUNKS = SMALL_SAVE_CHUNKS
        outcrop.index.arrays.SAVE_AFTER_ROWS = SMALL_SAVE_ROWS  # type: ignore[misc]  # final for everybody else
        engine = self._scene.open(self._embedder)
        self._call(self._scene.files(), lambda: engine.add(self._scene.folder, collection=FOLDER_COLLECTION))
        while True:
            if self._chosen.random() < 0.7:
                for _ in range(self._chosen.randint(1, 6)):
                    self._change_folder()
                files = self._scene.files()
                if self._chosen.random() < 0.5:
                    self._call(files, lambda: engine.add(self._scene.folder, collection=FOLDER_COLLECTION))
                else:
                    self._call(files, lambda: engine.sync(self._scene.folder, collection=FOLDER_COLLECTION))
            else:
                self._change_text(engine)

    def _call(self, wanted: Mapping[str, str | None], work: Callable[[], object]) -> None:
        self._note("want", wanted)
        work()
        self._note("have", wanted)

    def _note(self, kind: str, state: Mapping[str, str | None]) -> None:
        """One write to the journal; it outlives the process as soon as the call returns."""
        os.write(
            self._journal, (json.dumps({"kind": kind, "state": state, "marks": self._marks}) + "\n").encode()
        )

    def _new_mark(self) -> str:
        self._marks += 1
        number, letters = self._marks, ""
        for _ in range(5):
            number, digit = divmod(number, len(_MARK_LETTERS))
            letters = _MARK_LETTERS[digit] + letters
        return f"zq{letters}"

    def _change_folder(self) -> None:
        files = sorted(self._scene.folder.rglob("*.txt"))
        kind = self._chosen.choice(("add", "add", "edit", "edit", "delete", "move", "copy"))
        if not files or (kind == "add" and len(files) < MAX_FILES):
            mark = self._new_mark()
            self._put(self._new_path(), content(mark))
            return
        path = self._chosen.choice(files)
        if kind == "delete" or (kind == "add" and len(files) >= MAX_FILES):
            path.unlink()
        elif kind == "move":
            path.rename(self._new_path())
        elif kind == "copy" and len(files) < MAX_FILES:
            self._put(self._new_path(), path.read_text("utf-8"))
        else:
            self._put(path, content(self._new_mark()))

    def _new_path(self) -> Path:
        folder = self._scene.folder / self._chosen.choice(("a", "b", "b/c"))
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._chosen.getrandbits(32):08x}.txt"

    def _put(self, path: Path, text: str) -> None:
        """Replace a file in one step, so that a kill never leaves half a file: that is not what is tested here."""
        temporary = self._scene.home / "new.tmp"
        temporary.write_text(text, "utf-8")
        temporary.replace(path)

    def _change_text(self, engine: Engine) -> None:
        uri = f"text-{self._chosen.randint(0, 9)}"
        if uri in self._texts and self._chosen.random() < 0.4:

            def delete() -> None:
                # gone already where the delete before the kill was committed but not acknowledged
                try:
                    engine.delete(uri, collection=TEXT_COLLECTION)
                except NotFound:
                    return

            self._call({uri: None}, delete)
            del self._texts[uri]
            return
        mark = self._new_mark()
        self._call({uri: mark}, lambda: engine.add(text=content(mark), id=uri, collection=TEXT_COLLECTION))
        self._texts[uri] = mark


# ------------------------------------------------------------------ rounds


@dataclass(slots=True)
class Tally:
    """What a run of rounds came to."""

    rounds: int = 0
    acknowledgements: int = 0
    interrupted: int = 0
    documents: int = 0
    places: Counter[str] = field(default_factory=Counter)
    divergences: list[str] = field(default_factory=list)


def run(
    rounds: int, seed: int, home: Path, on_round: Callable[[Tally], None] | None = None, *, url: str = ""
) -> Tally:
    """So many rounds in a folder; stops at the first round with a divergence and leaves its index there."""
    embedder = open_embedder("static", url="", key="", query_prefix="")
    embedder.embed_query("warm")
    if url:
        import outcrop.store.postgres  # here, so that a child need not  # noqa: F401
    longest_s = MAX_DELAY_ON_POSTGRES_S if url else MAX_DELAY_S
    chosen = random.Random(seed)
    tally = Tally()
    scene = Scene(home / "db-0", url=url)
    for number in range(rounds):
        if number % ROUNDS_A_DATABASE == 0:
            shutil.rmtree(scene.home, ignore_errors=True)
            scene = Scene(home / f"db-{number}", url=url)
            scene.folder.mkdir(parents=True)
        scene.journal.unlink(missing_ok=True)
        kill = draw_kill(chosen, longest_s, MAX_CALLS)
        worker = Worker(scene, embedder, f"{seed}-{number}")
        tally.places[fork_and_kill(worker.run, scene.home, kill)] += 1
        worker.close()
        promise = read_journal(scene)
        wrong, holds = _verify_apart(scene, promise, embedder)
        tally.rounds += 1
        tally.acknowledgements += promise.acknowledgements
        tally.interrupted += bool(promise.wanted)
        tally.documents += len(holds)
        tally.divergences += [f"round {number} (seed {seed}, {scene.home}): {problem}" for problem in wrong]
        scene.acknowledged, scene.next_mark = holds, promise.marks
        if on_round is not None:
            on_round(tally)
        if tally.divergences:
            return tally
    shutil.rmtree(scene.home, ignore_errors=True)
    return tally


def _verify_apart(scene: Scene, promise: Promise, embedder: Embedder) -> tuple[list[str], Expected]:
    """Verify in a child: the parent must never have opened the database when it forks the next worker."""
    answer = scene.home / "verdict.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(verify(scene, promise, embedder)), "utf-8")
            os._exit(0)
        except BaseException:  # noqa: BLE001 - see above
            answer.write_text(json.dumps(([traceback.format_exc()], {})), "utf-8")
        os._exit(3)
    os.waitpid(child, 0)
    wrong, holds = json.loads(answer.read_text("utf-8")) if answer.exists() else (["the check died"], {})
    error = scene.home / "error.txt"
    if error.exists():
        wrong.append(f"the worker failed before it was killed:\n{error.read_text('utf-8')}")
    return wrong, holds


# ------------------------------------------------------------------ the command


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of rounds: what is killed, in which store, and its share of all rounds."""

    name: str
    store: str
    share: float


KINDS = (
    Kind("ingest", "sqlite", 0.3),
    Kind("ingest", "postgres", 0.1),
    Kind("notes", "sqlite", 0.2),
    Kind("notes", "postgres", 0.06),
    Kind("migration", "sqlite", 0.16),
    Kind("re-embedding", "sqlite", 0.12),
    Kind("re-embedding", "postgres", 0.06),
)
"""Migrations on Postgres are killed in tests/store. Shares by what a round takes: on Postgres it is slower."""


def run_kind(
    kind: Kind, rounds: int, seed: int, home: Path, url: str
) -> tuple[dict[str, Any], Counter[str], list[str]]:
    """So many rounds of a kind: its line of the table, where it was killed, what diverged."""
    from proofs import notes_crash
    from proofs.crash import switch as crash_switch

    here = home / f"{kind.name}-{kind.store}"
    here.mkdir(parents=True)
    url = url if kind.store == "postgres" else ""
    if kind.name == "ingest":
        tally = run(rounds, seed, here, url=url)
        verified, within = tally.documents, tally.interrupted
        done, places, wrong = tally.rounds, tally.places, tally.divergences
    elif kind.name == "notes":
        notes = notes_crash.run(rounds, seed, here, url=url)
        verified, within = notes.verified, notes.rounds - notes.places[FINISHED]
        done, places, wrong = notes.rounds, notes.places, notes.divergences
    else:
        if kind.name == "migration":
            switch = crash_switch.run_migration(rounds, seed, here)
        else:
            switch = crash_switch.run_reembed(rounds, seed, here, url=url)
        verified, within = switch.documents, switch.rounds - switch.places[FINISHED]
        done, places, wrong = switch.rounds, switch.places, switch.divergences
    line = {
        "what": kind.name,
        "store": kind.store,
        "rounds": done,
        "killed within a call": within,
        "documents verified": verified,
        "divergences": len(wrong),
    }
    return line, places, wrong


@contextmanager
def _server(wanted: bool) -> Iterator[str]:
    if not wanted:
        yield ""
        return
    from tests.postgres.server import create_server, open_home

    with open_home() as place:
        yield create_server(place, "crash").url()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=500, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=None, help="default: drawn anew, and printed")
    parser.add_argument("--only", help="one kind: ingest, notes, migration, re-embedding")
    parser.add_argument("--store", choices=("sqlite", "postgres"), help="in one store only")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    say(f"seed {seed}")
    kinds = [k for k in KINDS if options.only in (None, k.name) and options.store in (None, k.store)]
    whole = sum(kind.share for kind in kinds)
    home = Path(tempfile.mkdtemp(prefix="outcrop-crash-"))
    lines, wrong = [], []
    places: Counter[tuple[str, str]] = Counter()
    with _server(any(kind.store == "postgres" for kind in kinds)) as url:
        for kind in kinds:
            rounds = math.ceil(options.rounds * kind.share / whole)
            line, killed, diverged = run_kind(kind, rounds, seed, home, url)
            say(f"{kind.name} on {kind.store}: {line['rounds']} rounds, {len(diverged)} divergences")
            lines.append(line)
            wrong += diverged
            places.update({(kind.name, place): times for place, times in killed.items()})
    name = "-".join(part for part in ("crash", options.only, options.store) if part)
    report = Report(
        name, {"rounds": options.rounds, "seed": seed, "only": options.only, "store": options.store}
    )
    report.add("rounds killed", sum(line["rounds"] for line in lines), "rounds")
    report.add("rounds killed within a call", sum(line["killed within a call"] for line in lines), "rounds")
    report.add("documents verified", sum(line["documents verified"] for line in lines), "documents")
    report.add("divergences", len(wrong), "divergences", at_most=0)
    report.add_table("what was killed", lines)
    report.add_table(
        "where", [{"what": what, "in": place, "times": n} for (what, place), n in sorted(places.items())]
    )
    for divergence in wrong:
        say(divergence)
    report.keep()
    if not wrong:
        shutil.rmtree(home)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
