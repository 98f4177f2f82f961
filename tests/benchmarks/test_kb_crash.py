"""A few rounds of benchmarks/kb_crash.py on every run; the 50 are for the command."""

from __future__ import annotations

from pathlib import Path

from benchmarks import kb_crash
from outcrop.embed.models import open_embedder

ROUNDS = 3


def test_what_was_acknowledged_survives_a_killed_server_and_is_embedded_after_it(tmp_path: Path) -> None:
    tally = kb_crash.run(ROUNDS, seed=5, home=tmp_path)
    assert tally.divergences == []
    assert tally.rounds == ROUNDS
    assert tally.acknowledged > ROUNDS


def test_the_same_holds_for_a_real_server(tmp_path: Path) -> None:
    tally = kb_crash.run(1, seed=5, home=tmp_path, over_http=True)
    assert tally.divergences == []
    assert tally.acknowledged > 1


def test_a_note_that_was_acknowledged_and_is_missing_or_changed_is_noticed(tmp_path: Path) -> None:
    embedder = open_embedder("static", url="", key="", query_prefix="")
    engine, kb = kb_crash.open_kb(tmp_path, embedder)
    with engine:
        for number in range(3):
            kb.write(kb_crash.path_of(number), kb_crash.text_of(number))
    kept = {kb_crash.path_of(number): number for number in range(3)}
    assert kb_crash.verify(tmp_path, embedder, kept, 2) == ([], 3, False)
    (tmp_path / "kb" / kb_crash.path_of(1)).write_text("something else")
    wrong, *_ = kb_crash.verify(tmp_path, embedder, kept, 2)
    assert any("not what was acknowledged" in problem for problem in wrong)
