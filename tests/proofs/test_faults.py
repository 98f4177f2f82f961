"""Some of the faults of proofs.faults on every run; all of them are for the command."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from proofs.faults.__main__ import run_scene
from proofs.faults.damage import try_damages
from proofs.faults.disks import try_limits
from proofs.faults.points import Faults, inject
from proofs.faults.scenes import SCENES, Scene, copy_of, lay, read_state, try_fault

from outcrop.errors import StoreError

EVERY = 41
"""A prime, so that the points of all scenes together are spread over all kinds of them."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory where there is one: what is synced a thousand times should not wait for a disk."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(prefix="outcrop-faults-", dir=memory if usable else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_fault_loses_nothing_and_says_what_to_do(place: Path, scene: Scene) -> None:
    line, said, wrong = run_scene(scene, place / "faults", EVERY)
    assert wrong == []
    assert line["faults"] >= 3
    assert said


def test_a_file_that_may_not_grow_is_like_a_full_disk(place: Path) -> None:
    trial = lay(SCENES[0], place)
    errors, wrong = try_limits(trial, place, 6)
    assert errors > 0
    assert wrong == []


def test_damage_is_mended_or_found_and_said(place: Path) -> None:
    lines, wrong = try_damages(place / "damage", 29)
    assert wrong == []
    assert all(line["noticed"] > 0 for line in lines)


def test_every_kind_of_point_is_reached(place: Path) -> None:
    trial = lay(next(scene for scene in SCENES if scene.name == "notes"), place)
    kinds = {point.split()[0] for point in trial.points}
    assert {"write", "sync", "open", "rename", "mkdir"} <= kinds
    assert any("index.db-wal" in point for point in trial.points)


def test_a_false_success_is_noticed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scene that swallows its error claims what it did not do."""
    trial = lay(SCENES[0], place)

    def pretend(engine: object) -> None:
        try:
            SCENES[0].do(engine)  # type: ignore[arg-type]
        except StoreError:
            return

    monkeypatch.setattr(trial, "scene", Scene("pretends", SCENES[0].lay, pretend))
    at = next(number for number, point in enumerate(trial.points, 1) if point.startswith("write index.db-wal"))
    assert any("not as after" in problem for problem in try_fault(trial, place, at, "full", lasting=True).wrong)


def test_nothing_fails_outside(place: Path) -> None:
    with inject(Faults(at=1, lasting=True), place / "elsewhere"):
        (place / "file").write_text("fine")
    trial = lay(SCENES[0], place)
    assert read_state(copy_of(trial.laid, place)) == (trial.before, [])
