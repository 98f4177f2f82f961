"""A few rounds of proofs.crash on every run; the 500 are for the command."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from proofs.crash import __main__ as crash
from proofs.crash.check import Promise, Scene, content, verify
from tests.postgres.server import PostgresServer
from tests.store.builders import repack

from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder

ROUNDS = 10
ROUNDS_ON_POSTGRES = 6


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return open_embedder("static", url="", key="", query_prefix="")


@pytest.fixture
def settled(tmp_path: Path, embedder: Embedder) -> tuple[Scene, Promise]:
    """An index of three files that nobody killed, and the promise that they are there."""
    scene = Scene(tmp_path / "settled")
    scene.folder.mkdir(parents=True)
    for number, mark in enumerate(("zqbbbbc", "zqbbbbd", "zqbbbbf")):
        (scene.folder / f"{number}.txt").write_text(content(mark), "utf-8")
    with scene.open(embedder) as engine:
        engine.add(scene.folder, collection=crash.FOLDER_COLLECTION)
    return scene, Promise(scene.files(), {}, 1, 3)


def test_what_was_acknowledged_survives_being_killed(tmp_path: Path) -> None:
    tally = crash.run(ROUNDS, seed=3, home=tmp_path)
    assert tally.divergences == []
    assert tally.rounds == ROUNDS
    assert tally.interrupted > 0, "no round was killed within a call: the rounds test nothing"
    assert tally.documents > 0


def test_so_it_does_on_postgres(postgres_server: PostgresServer, tmp_path: Path) -> None:
    tally = crash.run(ROUNDS_ON_POSTGRES, seed=5, home=tmp_path, url=postgres_server.url())
    assert tally.divergences == []
    assert tally.interrupted > 0
    assert tally.documents > 0


def test_an_index_in_order_is_found_in_order(settled: tuple[Scene, Promise], embedder: Embedder) -> None:
    scene, promise = settled
    assert verify(scene, promise, embedder) == ([], promise.kept)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM vectors WHERE id = (SELECT min(id) FROM vectors)", "no vector|path vector"),
        ("DELETE FROM chunks WHERE id = 1", "chunks"),
        ("UPDATE text_blocks SET packed = repack(packed, 'zqbbbbc', 'zqbbbbd')", "is from|not that of"),
        ("INSERT INTO removals (chunk_id) VALUES (1)", "listed as removed|arrays hold"),
    ],
)
def test_the_check_notices_damage(
    settled: tuple[Scene, Promise], embedder: Embedder, damage: str, said: str
) -> None:
    scene, promise = settled
    database = apsw.Connection(str(scene.db))
    database.create_scalar_function("repack", repack, 3)  # type: ignore[arg-type]  # a BLOB and two texts
    database.execute(damage)
    database.execute("UPDATE meta SET value = value + 1 WHERE key = 'version'")
    database.close()
    wrong, _ = verify(scene, promise, embedder)
    assert wrong
    assert any(part in problem for problem in wrong for part in said.split("|"))


def test_a_document_that_was_acknowledged_and_is_missing_is_noticed(
    settled: tuple[Scene, Promise], embedder: Embedder
) -> None:
    scene, promise = settled
    with scene.open(embedder) as engine:
        engine.delete(next(iter(promise.kept)))
    wrong, _ = verify(scene, promise, embedder)
    assert any("acknowledged zqbbbbc" in problem for problem in wrong)
