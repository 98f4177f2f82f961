"""A slice of `python -m proofs.fuzz` with fixed seeds: every target, and what happens to what it finds."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from proofs.fuzz import mutate
from proofs.fuzz.__main__ import replay, report_on, shares
from proofs.fuzz.running import Tally, attempt, run, run_here
from proofs.fuzz.seeds import Seeds, gather
from proofs.fuzz.target import Target, need
from proofs.fuzz.targets import TARGETS
from tests.proofs import hostile_targets as hostile

from outcrop.parse.code import LANGUAGES
from outcrop.parse.formats import FORMATS

SLICE = 6
"""Inputs of each target: some seconds in all."""


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Seeds:
    return gather(tmp_path_factory.mktemp("fuzz") / "seeds", None, 7)


@pytest.mark.parametrize("name", TARGETS)
def test_a_slice_of_each_target_finds_nothing(name: str, seeds: Seeds) -> None:
    assert [found.detail for found in run_here(TARGETS[name], seeds, 7, range(SLICE))] == []


def test_every_format_and_every_language_is_a_target_with_seeds(seeds: Seeds) -> None:
    kinds = {each.kind for each in FORMATS} - {"text", "code", "markdown", "notebook", "rst", "image"}
    assert {f"parse.{kind}" for kind in kinds} <= TARGETS.keys()
    assert {f"parse.code.{language.name}" for language in LANGUAGES} <= TARGETS.keys()
    for name in (
        "docx",
        "pptx",
        "xlsx",
        "ods",
        "pdf",
        "epub",
        "ipynb",
        "html",
        "session",
        "py",
        "swift",
        "dockerfile",
        "index",
    ):
        assert len(seeds.of(name)[0]) > 80, name


def test_the_same_seed_makes_the_same_inputs(seeds: Seeds) -> None:
    for target in TARGETS.values():
        assert target.input(1, 5, seeds) == target.input(1, 5, seeds)
    inputs = {TARGETS["mask"].input(seed, number, seeds) for seed in (1, 2) for number in range(20)}
    assert len(inputs) > 35


def test_a_million_inputs_are_shared_among_all_targets() -> None:
    counts = shares(1_000_000, [])
    assert 1_000_000 <= sum(counts.values()) < 1_000_100
    assert {"http", "mcp", "pack", "parse.pdf"} <= counts.keys()
    assert list(shares(50, ["parse.code"])) == [name for name in TARGETS if name.startswith("parse.code.")]


# ------------------------------------------------------------------ what is found


def _make(_chance: random.Random, _seeds: Seeds) -> bytes:
    return b"input"


def _check(data: bytes) -> None:
    need(data != b"input", "an input is something else")


def test_what_a_check_raises_is_a_finding_that_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(TARGETS, "bad", Target("bad", 1, _make, _check, "never"))
    monkeypatch.setattr("proofs.fuzz.__main__.FOUND", tmp_path)
    monkeypatch.setattr("proofs.fuzz.__main__.ROOT", tmp_path)
    found = attempt(TARGETS["bad"], b"input")
    assert found is not None
    assert "an input is something else" in found.kind
    report = report_on({"bad": Tally(inputs=1, findings=[found] * 9)}, {})
    assert [figure.name for figure in report.failed] == ["findings"]
    (file,) = tmp_path.iterdir()
    assert replay(file) == 1
    assert "an input is something else" in capsys.readouterr().out
    file.write_bytes(b"other")
    assert replay(file) == 0


@pytest.mark.parametrize(
    ("name", "why"), [("dies", "died with -9"), ("hangs", "of CPU time"), ("eats", "MB of memory")]
)
def test_a_process_that_dies_hangs_or_takes_all_memory_is_replaced(name: str, why: str, seeds: Seeds) -> None:
    target = hostile.TARGETS[name]
    bad = [number for number in range(300) if target.input(309, number, seeds) == hostile.BAD]
    tallies = [tally for _, tally in run([(target, 300)], seeds, 309, 1, "tests.proofs.hostile_targets")]
    findings = [found for tally in tallies for found in tally.findings]
    assert bad
    assert [(why in found.kind, found.data) for found in findings] == [(True, hostile.BAD)] * len(bad)
    assert sum(tally.inputs for tally in tallies) == 300


class _Greedy(random.Random):
    """Draws the largest of what it may, and always the same place."""

    def __init__(self, change: object) -> None:
        super().__init__(1)
        self.change = change

    def choice(self, seq: Any) -> Any:
        if self.change in seq:
            return self.change
        return max(seq) if isinstance(seq[0], int) else seq[0]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return min(1, start - 1)


@pytest.mark.parametrize("change", mutate._CHANGES)
def test_changes_that_repeat_what_was_repeated_stay_bounded(change: object) -> None:
    tracemalloc.start()
    try:
        data = mutate.change(b"one two\nthree four\n" * 100, _Greedy(change), [b"a b"])
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert len(data) <= mutate.LONGEST
