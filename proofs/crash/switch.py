"""Kill what is one switch: a change of model, and the migration of an older schema (see proofs.crash).

After each kill the index opens, holds every document as it was, and is wholly as before or wholly as after; the same
call then comes to its end.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import apsw
from tests.maintain.reembed_child import Letters
from tests.store.example_steps import registered

import outcrop.maintain.reembed
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.records import Text
from outcrop.store.sqlite import schema
from outcrop.store.sqlite.store import open_sqlite
from proofs.crash.check import content
from proofs.crash.kill import draw_kill, fork_and_kill

DOCUMENTS: Final = 60
ROUNDS_A_DATABASE: Final = 25
LONGEST_REEMBED_S: Final = 0.4
LONGEST_MIGRATION_S: Final = 0.02
"""How long the work takes at most, about, on a quiet machine: any moment of it is hit."""
MAX_CALLS: Final = 60_000
SMALL_BATCH: Final = 8
"""Texts of the first transaction of a re-embedding; each next one may be twice as large."""

MODELS: Final = (("first", 26), ("second", 13))


@dataclass(slots=True)
class Tally:
    """What a run of rounds came to."""

    rounds: int = 0
    documents: int = 0
    before: int = 0
    places: Counter[str] = field(default_factory=Counter)
    divergences: list[str] = field(default_factory=list)


def in_child(home: Path, work: Callable[[], Any]) -> tuple[Any, str]:
    """What some work returns, done in a fork: the parent must never have opened the database when it forks the next."""
    answer = home / "answer.json"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps([work(), ""]), "utf-8")
        except BaseException:  # noqa: BLE001 - a fork must end here, whatever happens, and the parent must hear of it
            answer.write_text(json.dumps([None, traceback.format_exc()]), "utf-8")
        os._exit(0)
    os.waitpid(child, 0)
    value, error = json.loads(answer.read_text("utf-8")) if answer.exists() else (None, "the check died")
    return value, error


# ------------------------------------------------------------------ a change of model


def _open(home: Path, url: str, which: int) -> Engine:
    db = f"{url}?schema={home.name.replace('-', '_')}" if url else str(home / "index.db")
    outcrop.maintain.reembed.FIRST_BATCH = SMALL_BATCH  # type: ignore[misc]  # final for others
    return Engine(load_config({"db": db, "data_dir": home}, environ={}), embedder=Letters(*MODELS[which]))


def _fill(home: Path, url: str) -> None:
    texts = (Text(content(f"zqbb{a}{b}c"), f"{a}{b}") for a in "bcdfghjk" for b in "bcdfghjk")
    with _open(home, url, 0) as engine:
        engine.add_texts(text for _, text in zip(range(DOCUMENTS), texts, strict=False))


def _reembed(home: Path, url: str, which: int) -> None:
    with _open(home, url, which) as engine:
        engine.reembed()


def verify_reembed(home: Path, url: str, which: int) -> tuple[list[str], bool]:
    """What is wrong after a change to that model was killed, and whether the old one still serves."""
    wrong: list[str] = []
    with _open(home, url, which) as engine:
        engine._store.put_setting("barrier", "x")  # a server may still be at what the killed process asked for
        stored = engine.status().index_model
    active = next((i for i, model in enumerate(MODELS) if stored is not None and stored.name == model[0]), -1)
    if active < 0:
        return [f"the index has vectors of {stored}"], False
    for step, used in (("after the kill", active), ("after it was done again", which)):
        if step != "after the kill":
            _reembed(home, url, which)
        with _open(home, url, used) as engine:
            documents = engine.documents()
            if len(documents) != DOCUMENTS:
                wrong.append(f"{step}: {len(documents)} documents")
            for document in documents:
                text = engine.text(document.id)
                if text != content(text.partition(".")[0].removeprefix("About ")):
                    wrong.append(f"{step}: {document.uri} is not what it was")
            for document in documents[::10]:
                answer = engine.search(
                    engine.text(document.id)[:300], mode="semantic", documents=(document.id,)
                )
                if answer.reason or not answer.hits or answer.hits[0].distance is None:
                    wrong.append(f"{step}: {document.uri} is not found by meaning ({answer.reason})")
            wrong += [f"{step}: {check.name}: {check.detail}" for check in engine.doctor() if not check.ok]
            if engine.status().index_model != Letters(*MODELS[used]).model:
                wrong.append(f"{step}: the index has vectors of {engine.status().index_model}")
    return wrong, active != which


def run_reembed(
    rounds: int, seed: int, home: Path, on_round: Callable[[Tally], None] | None = None, *, url: str = ""
) -> Tally:
    """So many rounds of a change of model that is killed; stops at the first divergence and leaves its index there."""
    chosen, tally = random.Random(seed), Tally()
    here = home
    for number in range(rounds):
        if number % ROUNDS_A_DATABASE == 0:
            shutil.rmtree(here, ignore_errors=True)
            here = home / f"model-{number}"
            here.mkdir(parents=True)
            _, error = in_child(here, lambda here=here: _fill(here, url))  # type: ignore[misc]
            tally.divergences += [error] if error else []
        which = (number + 1) % 2
        kill = draw_kill(chosen, LONGEST_REEMBED_S, MAX_CALLS)
        place = fork_and_kill(lambda here=here, which=which: _reembed(here, url, which), here, kill)  # type: ignore[misc]
        verdict, error = in_child(here, lambda here=here, which=which: verify_reembed(here, url, which))  # type: ignore[misc]
        wrong, before = verdict or ([error], False)
        if _note(
            tally, here, place, wrong, before, f"round {number} of a change of model (seed {seed}, {kill})"
        ):
            return tally
        tally.documents += DOCUMENTS
        if on_round is not None:
            on_round(tally)
    shutil.rmtree(here, ignore_errors=True)
    return tally


# ------------------------------------------------------------------ a migration


def _migrate(home: Path) -> None:
    """Open the index where the example steps follow those of its schema."""
    with registered():
        open_sqlite(home / "index.db").close()


def verify_migration(home: Path) -> tuple[list[str], int]:
    """What is wrong after a migration was killed, and how many documents there are."""
    _migrate(home)
    with registered(), _open(home, "", 0) as engine:
        documents = engine.documents()
        wrong = [
            f"{document.uri} is not what it was"
            for document in documents
            if (text := engine.text(document.id)) != content(text.partition(".")[0].removeprefix("About "))
        ]
        if len(documents) != DOCUMENTS:
            wrong.append(f"{len(documents)} documents")
        if engine.status().stats.schema_version != len(schema.MIGRATIONS):
            wrong.append(f"is of version {engine.status().stats.schema_version}")
        if not engine.search(engine.text(documents[0].id)[:100], mode="keyword").hits:
            wrong.append("does not find its words")
        wrong += [f"{check.name}: {check.detail}" for check in engine.doctor() if not check.ok]
    raw = apsw.Connection(str(home / "index.db"))
    shelves = raw.execute("SELECT count(shelf) FROM documents").fetchall()
    raw.close()
    if shelves != [(DOCUMENTS,)]:
        wrong.append(f"{shelves} shelves are filled in")
    return wrong, len(documents)


def run_migration(rounds: int, seed: int, home: Path, on_round: Callable[[Tally], None] | None = None) -> Tally:
    """So many rounds of an index of an older schema that is opened by a process that is killed."""
    chosen, tally = random.Random(seed), Tally()
    old = home / "old"
    old.mkdir(parents=True)
    _, error = in_child(old, lambda: _fill(old, ""))
    tally.divergences += [error] if error else []
    for number in range(rounds if not tally.divergences else 0):
        here = home / f"old-{number}"
        shutil.copytree(old, here)
        kill = draw_kill(chosen, LONGEST_MIGRATION_S, 300)
        place = fork_and_kill(lambda here=here: _migrate(here), here, kill)  # type: ignore[misc]
        verdict, error = in_child(here, lambda here=here: verify_migration(here))  # type: ignore[misc]
        wrong, documents = verdict or ([error], 0)
        if _note(tally, here, place, wrong, False, f"round {number} of a migration (seed {seed}, {kill})"):
            return tally
        tally.documents += documents
        if on_round is not None:
            on_round(tally)
        shutil.rmtree(here)
    return tally


def _note(tally: Tally, home: Path, place: str, wrong: list[str], before: bool, said: str) -> bool:
    """Put a round into the tally; whether it diverged."""
    tally.rounds += 1
    tally.before += before
    tally.places[place] += 1
    if (home / "error.txt").exists():
        wrong = [*wrong, f"it failed before it was killed: {(home / 'error.txt').read_text('utf-8')}"]
    tally.divergences += [f"{said}, {home}: {problem}" for problem in wrong]
    return bool(tally.divergences)
