"""Weights between those of two models."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from training.average import average, main
from training.weights import load_arrays, save_arrays


def keep(folder: Path, value: float, *names: str, group: int | None = None) -> Path:
    save_arrays(
        folder / "encoder.npz", {name: np.full((2, 4), value, np.float32) for name in names}, group=group
    )
    (folder / "tokenizer.json").write_text(f'"{folder.name}"')
    (folder / "about.json").write_text(json.dumps({"pooling": folder.name}))
    return folder


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.25, 2.0), (1.0, 5.0)])
def test_the_share_is_how_much_the_fine_tuned_weights_count(
    tmp_path: Path, share: float, expected: float
) -> None:
    before = keep(tmp_path / "before", 1.0, "word", "pool")
    after = keep(tmp_path / "after", 5.0, "word", "pool")
    average(before, after, share, tmp_path / "a" / "mean")
    made = load_arrays(tmp_path / "a" / "mean" / "encoder.npz")
    assert made.keys() == {"word", "pool"}
    for values in made.values():
        np.testing.assert_allclose(values, expected)


def test_the_tokenizer_and_the_note_are_those_from_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path / "before", 1.0, "word")
    keep(tmp_path / "after", 5.0, "word")
    arguments = {"--before": "before", "--after": "after", "--into": "mean"}
    typed = [part for option, name in arguments.items() for part in (option, str(tmp_path / name))]
    monkeypatch.setattr(sys, "argv", ["average", *typed, "--share", "0.5"])
    main()
    assert (tmp_path / "mean" / "tokenizer.json").read_text() == '"before"'
    assert json.loads((tmp_path / "mean" / "about.json").read_text()) == {"pooling": "before"}
    np.testing.assert_allclose(load_arrays(tmp_path / "mean" / "encoder.npz")["word"], 3.0)


def test_weights_kept_in_int8_meet_weights_kept_in_float(tmp_path: Path) -> None:
    before = keep(tmp_path / "before", 1.0, "word", group=2)
    average(before, keep(tmp_path / "after", 5.0, "word"), 0.5, tmp_path / "mean")
    np.testing.assert_allclose(load_arrays(tmp_path / "mean" / "encoder.npz")["word"], 3.0, rtol=1e-2)


def test_what_only_the_earlier_model_had_is_left_out(tmp_path: Path) -> None:
    before, after = keep(tmp_path / "before", 1.0, "word", "head"), keep(tmp_path / "after", 5.0, "word")
    average(before, after, 0.5, tmp_path / "mean")
    assert load_arrays(tmp_path / "mean" / "encoder.npz").keys() == {"word"}


def test_two_models_of_different_parts_have_no_mean(tmp_path: Path) -> None:
    before, after = keep(tmp_path / "before", 1.0, "word"), keep(tmp_path / "after", 5.0, "word", "head")
    with pytest.raises(SystemExit, match="it has no head"):
        average(before, after, 0.5, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
