"""A few rounds of proofs/notes_crash.py on every run; the 50 are for the command."""

from __future__ import annotations

from pathlib import Path

from outcrop.embed.models import open_embedder
from proofs import notes_crash

ROUNDS = 3


def test_what_was_acknowledged_survives_a_killed_server_and_is_embedded_after_it(tmp_path: Path) -> None:
    tally = notes_crash.run(ROUNDS, seed=5, home=tmp_path)
    assert tally.divergences == []
    assert tally.rounds == ROUNDS
    assert tally.acknowledged > ROUNDS


def test_the_same_holds_for_a_real_server(tmp_path: Path) -> None:
    tally = notes_crash.run(1, seed=5, home=tmp_path, over_http=True)
    assert tally.divergences == []
    assert tally.acknowledged > 1


def test_a_note_that_was_acknowledged_and_is_missing_or_changed_is_noticed(tmp_path: Path) -> None:
    embedder = open_embedder("static", url="", key="", query_prefix="")
    engine, kb = notes_crash.open_kb(tmp_path, embedder)
    with engine:
        for number in range(3):
            kb.write(notes_crash.path_of(number), notes_crash.text_of(number))
    kept = {notes_crash.path_of(number): number for number in range(3)}
    assert notes_crash.verify(tmp_path, embedder, kept, 2) == ([], 3, False)
    (tmp_path / "kb" / notes_crash.path_of(1)).write_text("something else")
    wrong, *_ = notes_crash.verify(tmp_path, embedder, kept, 2)
    assert any("not what was acknowledged" in problem for problem in wrong)
