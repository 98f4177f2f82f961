"""Kill a server in the middle of a hundred writes of notes, again and again: every acknowledged one must be there.

    python -m proofs.notes_crash --rounds 50 --seed 1 [--http]

Every round 100 notes are written, new ones and again: with `--http` to a real `outcrop serve`, else by a child that
does what a server does, which is faster: it says so after each, while a thread embeds what waits and looks for edits.
The server or the child is killed with SIGKILL after some of them. Then the index is opened again:

- every acknowledged note is on the disk and in the index as it was acknowledged (or as the write that was interrupted);
- it is found by its words before anything is embedded, and the files are whole;
- what waited is embedded then, every chunk has its vector, the note is found by meaning, the doctor finds nothing.

The parent never opens the database: children are forked from it warm. Exits with 1 on any divergence.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.report import Report, say  # first: it holds numpy to one core

from outcrop.config import load_config  # isort: skip
from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder
from outcrop.engine import Engine
from outcrop.errors import DatabaseBusy
from outcrop.notes import KnowledgeBase
from proofs.crash.kill import BY_TIME, Kill, die_at, draw_kill

WRITES = 100
NOTES = 60
"""Fewer than writes, so that notes are replaced too."""
MAX_DELAY_S = 0.02
"""From an acknowledgement to the kill: a write takes some 5 ms, so that any moment of one is hit."""
MAX_CALLS = 10_000
"""Calls of Python's that a write makes, about."""
ROUNDS_A_DATABASE = 10

_LETTERS = "bcdfghjkmnpvwxz"


@dataclass(slots=True)
class Tally:
    """What a run of rounds came to."""

    rounds: int = 0
    acknowledged: int = 0
    waited: int = 0
    verified: int = 0
    places: Counter[str] = field(default_factory=Counter)
    divergences: list[str] = field(default_factory=list)


def mark_of(number: int) -> str:
    """One plain word for each write, which no stemmer shortens."""
    letters = ""
    for _ in range(5):
        number, digit = divmod(number, len(_LETTERS))
        letters = _LETTERS[digit] + letters
    return f"zq{letters}"


def text_of(number: int) -> str:
    """The text of a write."""
    mark = mark_of(number)
    return (
        f"# Decision {mark}\n\nThe word is {mark}. "
        + f"It was settled on day {number} of the trial. " * 8
        + "\n"
    )


def path_of(number: int) -> str:
    """The note that a write goes to."""
    return f"folder-{number % NOTES % 7}/note-{number % NOTES}.md"


def open_kb(home: Path, embedder: Embedder, url: str = "") -> tuple[Engine, KnowledgeBase]:
    """The index and the notes of a round; the index in a schema of its own where a database is named."""
    db = f"{url}?schema={home.name.replace('-', '_')}" if url else home / "index.db"
    engine = Engine(load_config({"db": db, "data_dir": home}, environ={}), embedder=embedder)
    return engine, KnowledgeBase(engine, home / "kb")


def serve(home: Path, embedder: Embedder, first: int, said: int, url: str, kill: tuple[int, Kill]) -> None:
    """Write, and embed in the background, until killed or done; after so many writes die at a call, if any."""
    engine, kb = open_kb(home, embedder, url)

    def background() -> None:
        while True:
            with contextlib.suppress(DatabaseBusy):  # as a server does: the next time
                engine.embed_pending()
                kb.refresh()
            time.sleep(0.02)

    threading.Thread(target=background, daemon=True).start()
    for number in range(first, first + WRITES):
        if number == first + kill[0] and kill[1].call:
            die_at(kill[1].call, home / "place.txt")
        kb.write(path_of(number), text_of(number))
        os.write(said, number.to_bytes(8, "little"))
    time.sleep(60)


def verify(
    home: Path, embedder: Embedder, kept: dict[str, int], last: int, url: str = ""
) -> tuple[list[str], int, bool]:
    """Everything that is wrong, in words, how many documents waited, and whether the write that was interrupted, the
    one after `last`, happened."""
    engine, kb = open_kb(home, embedder, url)
    wrong: list[str] = []
    interrupted = home / "kb" / path_of(last + 1)
    happened = interrupted.exists() and interrupted.read_text("utf-8") == text_of(last + 1)
    with engine:
        if url:
            engine._store.put_setting(
                "barrier", str(last)
            )  # a server may still be at what the killed one asked for
        waiting = engine.pending()
        for path, number in kept.items():
            allowed = {text_of(number)} | ({text_of(last + 1)} if path_of(last + 1) == path else set())
            text = kb.read(path).text
            if text not in allowed:
                wrong.append(f"{path}: the file is not what was acknowledged ({mark_of(number)})")
            if text == text_of(number) and engine.text(path, collection="kb") != text:
                wrong.append(f"{path}: the index does not hold what was acknowledged ({mark_of(number)})")
        newest = max(kept.values(), default=0)
        if kept and not _finds(kb, mark_of(newest), path_of(newest)) and path_of(last + 1) != path_of(newest):
            wrong.append(f"{path_of(newest)}: not found by its words")
        kb.refresh()
        engine.embed_pending()
        stats = engine.status().stats
        if engine.pending() or stats.chunks_with_vector != stats.chunks:
            wrong.append(f"{engine.pending()} documents still wait; {stats}")
        if kept:
            near = engine.search(text_of(newest), mode="semantic", collections=("kb",), limit=5, merge=False)
            if not near.hits or near.hits[0].distance is None:
                wrong.append(f"{path_of(newest)}: not found by meaning")
        on_disk = {file.path for file in kb.list()}
        if on_disk != {document.path for document in engine.documents()}:
            wrong.append("files and documents are not the same")
        wrong += [f"doctor: {check.name}: {check.detail}" for check in engine.doctor() if not check.ok]
    return wrong, waiting, happened


def _finds(kb: KnowledgeBase, mark: str, path: str) -> bool:
    return path in [hit.document.path for hit in kb.search(mark).hits]


# ------------------------------------------------------------------ rounds


def run(
    rounds: int,
    seed: int,
    home: Path,
    on_round: Callable[[Tally], None] | None = None,
    *,
    over_http: bool = False,
    url: str = "",
) -> Tally:
    """So many rounds in a folder; stops at the first divergence and leaves its index there."""
    embedder = open_embedder("static", url="", key="", query_prefix="")
    embedder.embed_query("warm")
    chosen = random.Random(seed)
    tally = Tally()
    kept: dict[str, int] = {}
    here, first = home / "kb-0", 0
    for number in range(rounds):
        if number % ROUNDS_A_DATABASE == 0:
            shutil.rmtree(here, ignore_errors=True)
            here, kept = home / f"kb-{number}", {}
            here.mkdir(parents=True)
        count, kill = chosen.randrange(1, WRITES - 1), draw_kill(chosen, MAX_DELAY_S, MAX_CALLS)
        if over_http:
            said, place = _write_over_http_and_kill(here, first, count, kill.delay_s), BY_TIME
        else:
            said, place = _write_and_kill(here, embedder, first, count, kill, url)
        tally.places[place] += 1
        kept |= {path_of(written): written for written in said}
        tally.acknowledged += len(said)
        last = said[-1] if said else first - 1
        wrong, waited, happened = _verify_apart(here, embedder, kept, last, url)
        tally.verified += len(kept)
        tally.rounds += 1
        tally.waited += waited
        tally.divergences += [f"round {number} (seed {seed}, {here}): {problem}" for problem in wrong]
        if (here / "error.txt").exists():
            tally.divergences.append((here / "error.txt").read_text("utf-8"))
        if on_round is not None:
            on_round(tally)
        if tally.divergences:
            return tally
        if happened:
            kept[path_of(last + 1)] = last + 1
        first += WRITES
    shutil.rmtree(here, ignore_errors=True)
    return tally


def _write_and_kill(
    home: Path, embedder: Embedder, first: int, count: int, kill: Kill, url: str
) -> tuple[list[int], str]:
    """The numbers of the writes that were acknowledged, and where it was killed."""
    (home / "place.txt").unlink(missing_ok=True)
    hears, said = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(hears)
            serve(home, embedder, first, said, url, (count, kill))
        except BaseException:  # noqa: BLE001 - a fork must end here, whatever happens, and the parent must hear of it
            (home / "error.txt").write_text(traceback.format_exc(), "utf-8")
        os._exit(3)
    os.close(said)
    heard = b""
    enough = 8 * WRITES if kill.call else 8 * count
    while len(heard) < enough and (more := os.read(hears, 8)):
        heard += more
    time.sleep(kill.delay_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(hears, 4096):
        heard += more
    os.close(hears)
    place = home / "place.txt"
    where = place.read_text("utf-8") if place.exists() else BY_TIME
    return [int.from_bytes(heard[at : at + 8], "little") for at in range(0, len(heard) - 7, 8)], where


def _write_over_http_and_kill(home: Path, first: int, count: int, delay_s: float) -> list[int]:
    """The same with a real server."""
    command = [sys.executable, "-m", "outcrop", "--db", str(home / "index.db"), "--json", "serve"]
    server = subprocess.Popen(
        [*command, "--port", "0", "--kb", str(home / "kb")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with server:
        assert server.stdout is not None
        place = urlsplit(json.loads(server.stdout.readline())["url"])
        said: list[int] = []
        enough = threading.Event()

        def write() -> None:
            connection = http.client.HTTPConnection(str(place.hostname), int(place.port or 0), timeout=30)
            headers = {"Content-Type": "application/json"}
            with contextlib.suppress(OSError, http.client.HTTPException):  # the kill
                for number in range(first, first + WRITES):
                    body = json.dumps({"path": path_of(number), "text": text_of(number)})
                    connection.request("PUT", "/api/kb/file", body, headers)
                    answer = connection.getresponse()
                    answer.read()
                    if answer.status != 200:
                        break
                    said.append(number)
                    if len(said) == count:
                        enough.set()
            enough.set()

        writer = threading.Thread(target=write)
        writer.start()
        enough.wait()
        time.sleep(delay_s)
        server.kill()
        writer.join()
    return said


def _verify_apart(
    home: Path, embedder: Embedder, kept: dict[str, int], last: int, url: str
) -> tuple[list[str], int, bool]:
    """Verify in a child: the parent must never have opened the database when it forks the next one."""
    answer = home / "verdict.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(verify(home, embedder, kept, last, url)), "utf-8")
            os._exit(0)
        except BaseException:  # noqa: BLE001 - see above
            answer.write_text(json.dumps(([traceback.format_exc()], 0, False)), "utf-8")
        os._exit(3)
    os.waitpid(child, 0)
    if not answer.exists():
        return ["the check died"], 0, False
    wrong, waited, happened = json.loads(answer.read_text("utf-8"))
    return wrong, waited, happened


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--http", action="store_true", help="kill a real server")
    parser.add_argument("--seed", type=int, default=None, help="default: drawn anew, and printed")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    say(f"seed {seed}")

    def progress(tally: Tally) -> None:
        if tally.rounds % 10 == 0:
            say(f"{tally.rounds:>6} rounds, {tally.acknowledged} writes acknowledged")

    home = Path(tempfile.mkdtemp(prefix="outcrop-notes-crash-"))
    tally = run(options.rounds, seed, home, progress, over_http=options.http)
    facts = {"rounds": options.rounds, "seed": seed, "writes": WRITES, "http": options.http}
    report = Report("notes_crash", facts)
    report.add("rounds killed", tally.rounds, "rounds")
    report.add("writes acknowledged", tally.acknowledged, "writes")
    report.add("documents that waited for vectors at the kill", tally.waited, "documents")
    report.add("divergences", len(tally.divergences), "divergences", at_most=0)
    for divergence in tally.divergences:
        say(divergence)
    report.keep()
    if not tally.divergences:
        shutil.rmtree(home)
    return 1 if tally.divergences else 0


if __name__ == "__main__":
    sys.exit(main())
