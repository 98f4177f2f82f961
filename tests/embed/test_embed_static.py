"""The static model: its file format, its vectors, its speed, and what hostile text costs."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below

from outcrop.contracts import Embedder
from outcrop.embed.static import PACKAGED_MODEL, StaticEmbedder
from outcrop.errors import EmbedError
from outcrop.records import Model, Trust

PROSE = [text[at : at + 1200] for text in topics.values() for at in range(0, len(text) - 1200, 1200)]
STATIC = StaticEmbedder()
SAMPLES = {
    # text: (first three numbers of its vector, its length), from the float table before it was made int8, tokens and
    # sums by another program
    "The quick brown fox jumps over the lazy dog. The dog sleeps.": ((-0.555, -0.063, 0.037), 3.164),
    "def getUserName(self, user_id): return XMLHttpRequest2(user_id)": ((0.209, 0.175, -0.101), 2.539),
    "qzxvvkj 20240131 straße": ((-0.262, 0.609, -0.247), 2.957),
}


def write_model(folder: Path, tokens: list[str], rows: list[list[int]], query: list[float]) -> Path:
    """A model in the documented format, with scale 0.5 for every row."""
    folder.mkdir(exist_ok=True)
    np.save(folder / "static.npy", np.array(rows, np.int8))
    np.save(folder / "weights.npy", np.array([[0.5] * len(tokens), query], np.float32))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", "utf-8")
    names = ("static.npy", "weights.npy", "vocab.txt")
    card = {
        "name": "tiny",
        "version": "7",
        "dimensions": len(rows[0]),
        "tokens": len(tokens),
        "tf_exponent": 0.5,
        "path_weight": 2.0,
        "head_weight": 2.0,
        "trust": {"prose": 0.25, "code": 0.5},
        "licence": "none",
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names},
    }
    (folder / "card.json").write_text(json.dumps(card), "utf-8")
    return folder


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_model(
        tmp_path / "tiny", ["red", "blue", "ish", "12"], [[2, 0], [0, 4], [6, 8], [100, 0]], [1, 3, 1, 1]
    )


def test_a_model_in_the_documented_format_sums_weighted_rows(tiny: Path) -> None:
    embedder = StaticEmbedder(tiny)
    assert isinstance(embedder, Embedder)
    assert embedder.model == Model("tiny", "7", 2)
    assert embedder.path_weight == 2.0
    assert embedder.trust == Trust(prose=0.25, code=0.5)
    got = embedder.embed_documents(["red", "Red RED red red", "blue_redIsh", "nothing known", ""])
    assert got.dtype == np.float32
    assert got.tolist() == [[1, 0], [2, 0], [4, 6], [0, 0], [0, 0]]
    assert embedder.embed_documents([]).shape == (0, 2)


def test_title_and_headings_count_each_word_in_full_beside_the_chunk(tiny: Path) -> None:
    got = StaticEmbedder(tiny).embed_documents(
        ["Document: blue\nSection: red > red\n\nred red red red", "Document: blue\n\n", "red\n\nDocument: blue"]
    )
    assert got.tolist() == [[2 * 2 + 2, 2 * 2], [0, 4], [1, 2]]


def test_a_query_weighs_tokens_its_own_way_and_has_unit_length(tiny: Path) -> None:
    embedder = StaticEmbedder(tiny)
    np.testing.assert_allclose(embedder.embed_query("red blue"), np.array([1, 6]) / np.sqrt(37), rtol=1e-6)
    assert embedder.embed_query("unknown words").tolist() == [0, 0]
    assert embedder.embed_query("").tolist() == [0, 0]


def test_a_path_is_the_plain_sum_of_its_last_three_components_without_the_extension(tiny: Path) -> None:
    got = StaticEmbedder(tiny).embed_paths(["red/blue/red/red.red", "a.blue/red", ".red", "red", ""])
    assert got.tolist() == [[2, 2], [1, 2], [1, 0], [1, 0], [0, 0]]


def test_long_unknown_words_and_numbers_are_spelled_by_a_bounded_number_of_tokens(tiny: Path) -> None:
    embedder = StaticEmbedder(tiny)
    eight, three = embedder.embed_documents(["red" * 50, "12" * 50])
    assert eight.tolist() == pytest.approx([np.sqrt(8), 0])
    assert three.tolist() == pytest.approx([np.sqrt(3) * 50, 0])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("card.json", b"{"),
        ("card.json", b"[]"),
        ("static.npy", b"no array"),
        ("static.npy", b""),
        ("vocab.txt", b"red\n"),
        ("vocab.txt", b"red\nred\nish\n12\n"),
        ("vocab.txt", b"\xff"),
        ("weights.npy", None),
    ],
)
def test_a_damaged_model_is_refused_when_it_is_opened(tiny: Path, name: str, content: bytes | None) -> None:
    (tiny / name).unlink() if content is None else (tiny / name).write_bytes(content)
    with pytest.raises(EmbedError, match="reinstall"):
        StaticEmbedder(tiny)


def test_a_changed_table_of_the_right_size_is_found_by_its_hash(tiny: Path) -> None:
    assert StaticEmbedder(tiny).damage() == []
    table = (tiny / "static.npy").read_bytes()
    (tiny / "static.npy").write_bytes(table[:-1] + b"\x01")
    assert [problem for problem in StaticEmbedder(tiny).damage() if "static.npy" in problem]


def test_the_packaged_model_is_intact_and_small() -> None:
    assert STATIC.damage() == []
    assert STATIC.model == Model("outcrop-static", "2", 256)
    assert STATIC.path_weight == pytest.approx(0.965, abs=0.001)
    assert sum(path.stat().st_size for path in PACKAGED_MODEL.iterdir()) <= 36_000_000


def test_vectors_of_the_packaged_model_are_those_it_was_trained_to_have(tmp_path: Path) -> None:
    for name in ("card.json", "static.npy", "weights.npy", "vocab.txt"):
        (tmp_path / name).write_bytes((PACKAGED_MODEL / name).read_bytes())
    alone = StaticEmbedder(tmp_path)  # without the dictionary of other languages
    for text, (numbers, length) in SAMPLES.items():
        vector = alone.embed_documents([text])[0]
        np.testing.assert_allclose(vector[:3], numbers, atol=0.004)
        assert float(np.linalg.norm(vector)) == pytest.approx(length, abs=0.01)
    query = STATIC.embed_query("how do I read a file line by line")
    np.testing.assert_allclose(query[:3], (0.0083, 0.1054, -0.0561), atol=0.001)
    path = STATIC.embed_paths(["src/outcrop/embed/static.py"])[0]
    np.testing.assert_allclose(path[:3], (0.187, 0.001, 0.066), atol=0.004)


def test_a_text_has_the_same_bits_alone_and_in_any_batch_and_thread() -> None:
    texts = [*PROSE[:150], "", "日本語", "x" * 10_000, " ".join(PROSE[:200])]
    together = STATIC.embed_documents(texts)
    alone = np.stack([STATIC.embed_documents([text])[0] for text in reversed(texts)])[::-1]
    assert np.array_equal(together, alone)
    with ThreadPoolExecutor(4) as pool:
        for matrix in pool.map(StaticEmbedder.embed_documents, [StaticEmbedder()] * 8, [texts] * 8):
            assert np.array_equal(matrix, together)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_gives_a_finite_vector_and_a_query_of_length_one_or_zero(text: str) -> None:
    assert np.isfinite(STATIC.embed_documents([text])).all()
    query = STATIC.embed_query(text)
    assert not query.any() or float(np.linalg.norm(query)) == pytest.approx(1, abs=1e-5)


def test_the_cache_of_stretches_stays_bounded_and_does_not_change_vectors(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outcrop.embed.static._CACHED_STRETCHES", 10)
    embedder = StaticEmbedder(tiny)
    text = " ".join(f"red{number}blue" for number in range(100))
    first, again = embedder.embed_documents([text, text])
    assert np.array_equal(first, again)
    assert first[1] == pytest.approx(10 * 2)
    assert len(embedder._vocabulary._stretches) <= 10


@pytest.mark.parametrize(
    "text",
    ["a" * 5_000_000, "A" * 5_000_000, "語" * 2_000_000, "7" * 5_000_000, "aB" * 500_000, "qzx " * 500_000],
    ids=["one lower-case word", "one upper-case word", "one Chinese word", "one number", "camels", "words"],
)
def test_megabytes_of_hostile_text_take_seconds_at_most(text: str) -> None:
    with cpu_below(20):  # a second at most; a quadratic scan takes hours
        STATIC.embed_documents([text])


def test_opening_the_packaged_model_is_cheap_and_imports_numpy_alone() -> None:
    code = (
        "import sys, time, numpy; from outcrop.embed.models import open_embedder; start = time.process_time()\n"
        "open_embedder('static', url='', key='', query_prefix='').embed_query('a question')\n"
        "print(time.process_time() - start, 'ssl' in sys.modules, 'onnxruntime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, ssl, onnx = done.stdout.split()
    assert float(seconds) < 0.5  # 0.015 measured
    assert (ssl, onnx) == ("False", "False")


def test_a_copy_of_the_packaged_model_opens_elsewhere(tmp_path: Path) -> None:
    copy = StaticEmbedder(Path(shutil.copytree(PACKAGED_MODEL, tmp_path / "copy")))
    assert np.array_equal(copy.embed_query("open a file"), STATIC.embed_query("open a file"))
