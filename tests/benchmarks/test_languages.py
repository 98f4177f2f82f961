"""Sets in several languages: which are translations of each other, and what each system finds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.languages import systems
from benchmarks.languages.__main__ import ask_all, load_sets
from benchmarks.languages.encoder import Encoder
from benchmarks.languages.systems import Encoded, Fused, Ours, System, Trigrams, choose_systems
from numpy.typing import NDArray

SETS = {
    "notes_de": ["Der Igel schläft im Winter.", "Die Katze fängt eine Maus.", "Der Zug fährt nach Köln."],
    "notes_fr": [
        "Le hérisson dort en hiver.",
        "Le chat attrape une souris.",
        "Le train va à Cologne.",
    ],
}
ASKED = {
    "notes_de": ["Wann schläft der Igel?", "Wer fängt die Maus?", "Wohin fährt der Zug?"],
    "notes_fr": ["Quand dort le hérisson ?", "Qui attrape la souris ?", "Où va le train ?"],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, texts in SETS.items():
        folder = tmp_path / name
        folder.mkdir()
        rows = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts)]
        asked = [{"id": f"q{number}", "text": text} for number, text in enumerate(ASKED[name])]
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
        (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
        lines = [f"q{number}\td{number}\t1" for number in range(len(rows))]
        (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]), "utf-8")
    (tmp_path / "notes_fr" / "meta.json").write_text('{"language": "French"}', "utf-8")
    return tmp_path


def test_a_set_has_the_language_that_it_names_or_that_its_name_ends_with(data: Path) -> None:
    german, french = load_sets(data, set())
    assert (german.language, french.language) == ("de", "French")
    assert german.is_translation_of(french)
    assert [one.language for one in load_sets(data, {"French"})] == ["French"]


@pytest.mark.parametrize(
    "system",
    [Trigrams(), Ours({"mode": "keyword"}, {}), Fused(Trigrams(), Ours({"mode": "keyword"}, {}))],
    ids=["trigrams", "ours", "fused"],
)
def test_each_system_finds_what_shares_words(data: Path, system: System) -> None:
    german, french = load_sets(data, set())
    found = ask_all(system, german, [german, french], 0, across=True)
    system.close()
    assert found["de"]["ndcg@10"].tolist() == [1.0, 1.0, 1.0]
    if isinstance(system, Trigrams):  # the engine knows what words are called in French
        assert found["French"]["ndcg@10"].mean() < 1


class Letters:
    """An encoder that counts letters."""

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        counts = np.array([[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts])
        unit: NDArray[np.float32] = (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)
        return unit


def test_the_encoder_is_asked_by_cosine(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "start_encoder", Letters)
    encoded = Encoded()
    encoded.index(load_sets(data, {"de"})[0].data)
    assert encoded.rank("Eine Maus!")[0] == "d1"
    assert len(encoded.rank("Köln")) == 3


def test_an_encoder_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--install"):
        Encoder(tmp_path)


def test_an_unknown_system_is_named() -> None:
    with pytest.raises(SystemExit, match="no system is named nothing"):
        choose_systems(["nothing"])
