"""The mean that is taken away from the vectors of multilingual-e5-small."""

from __future__ import annotations

import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from outcrop.embed.e5 import E5_CARD, MEAN
from training import e5_mean

RAINS = ["Il pleut beaucoup en novembre.", "The valley is dry in summer.", "Im Winter fällt Schnee."]


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    for name, count in (("man_en", 3), ("news_fr", 45)):
        folder = tmp_path / "sets" / name
        folder.mkdir(parents=True)
        rows = [json.dumps({"id": str(number), "text": RAINS[number % 3] * 40}) for number in range(count)]
        (folder / "corpus.jsonl").write_text("\n".join(rows), "utf-8")
    return tmp_path / "sets"


def test_as_many_beginnings_are_taken_of_each_set(sets: Path) -> None:
    texts = e5_mean.take_texts(sets)
    assert len(texts) == 3 + e5_mean.TEXTS
    assert {len(text) for text in texts} == {e5_mean.CHARACTERS}
    assert texts[:3] == [(text * 40)[: e5_mean.CHARACTERS] for text in RAINS]


def test_the_mean_is_written_beside_the_card_with_its_hash(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(E5_CARD, tmp_path / "card")
    monkeypatch.setattr(e5_mean, "E5_CARD", tmp_path / "card")
    monkeypatch.setattr(sys, "argv", ["e5_mean", str(sets)])
    e5_mean.main()
    assert (tmp_path / "card" / MEAN).read_bytes() == (E5_CARD / MEAN).read_bytes()
    monkeypatch.setattr(sys, "argv", ["e5_mean", str(sets), "--write"])
    e5_mean.main()
    assert capsys.readouterr().out.startswith("23 texts; the mean has a length of 0.")
    made, shipped = np.load(tmp_path / "card" / MEAN), np.load(E5_CARD / MEAN)
    # Texts about the weather in three languages lean the same way as those of twenty sets.
    assert made @ shipped / np.linalg.norm(made) / np.linalg.norm(shipped) > 0.9
    card = json.loads((tmp_path / "card" / "card.json").read_text("utf-8"))
    assert card["sha256"][MEAN] == sha256((tmp_path / "card" / MEAN).read_bytes()).hexdigest()
