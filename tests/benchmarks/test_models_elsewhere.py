"""Vectors made on another machine: texts are written down here, embedded there, and found again."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.models.named import MadeElsewhere, Marked, Scribe, open_model

from outcrop.config import Config
from outcrop.contracts import Embedder
from outcrop.embed.static import StaticEmbedder
from outcrop.engine import Engine
from outcrop.records import Trust

FILES = {
    "guide/retries.md": "# Retries\n\nA failed request is sent again after a pause.\n",
    "src/pool/client.py": "def hang_up(socket):\n    socket.close()\n",
    "Größe.txt": "Die Größe eines Fensters.\n",
    "empty.py": "",
}


def read_texts(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "texts.jsonl").read_text("utf-8").splitlines()
    return [(one["kind"], one["text"]) for one in map(json.loads, lines)]


def make_vectors(texts: Path, into: Path) -> None:
    """What the other machine does, with the packaged model and the files as they are documented."""
    model = StaticEmbedder()
    rows = [(kind, text) for kind, text in read_texts(texts) if text.strip()]
    vectors = np.array(
        [
            model.embed_query(text) if kind == "query" else model.embed_documents([text])[0]
            for kind, text in rows
        ]
    )
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
    keys = [hashlib.blake2b(f"{kind}\0{text}".encode(), digest_size=16).digest() for kind, text in rows]
    into.mkdir()
    np.save(into / "keys.npy", np.frombuffer(b"".join(keys), np.uint8))
    np.save(into / "vectors.npy", np.round(vectors / scales[:, None]).astype(np.int8))
    np.save(into / "scales.npy", scales.astype(np.float32))
    card = {"path_weight": 0.25, "trust": {"prose": 0.5, "code": 0.75}}
    (into / "card.json").write_text(json.dumps(card))


def write_files(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def search(place: Path, embedder: Embedder, *queries: str) -> list[list[str]]:
    """The paths an engine finds by vectors alone in a fresh index of the files."""
    with Engine(Config(db=place / f"{embedder.model.name}.db"), embedder=embedder) as engine:
        assert not engine.add(write_files(place / "files")).failed
        answers = [engine.search(query, mode="semantic", floor=0.0) for query in queries]
        return [[hit.document.path for hit in answer.hits] for answer in answers]


def test_what_an_engine_asks_for_is_written_down_once_and_found_again(tmp_path: Path) -> None:
    queries = ("send a request again", "close the socket")
    search(tmp_path, open_model(f"texts:{tmp_path / 'asked'}"), *queries)
    texts = read_texts(tmp_path / "asked")
    assert len(set(texts)) == len(texts)
    assert {kind for kind, _ in texts} == {"text", "path", "query"}
    assert [text for kind, text in texts if kind == "query"] == list(queries)
    assert ("path", "src pool client") in texts
    make_vectors(tmp_path / "asked", tmp_path / "made")
    found = search(tmp_path, open_model(f"vectors:{tmp_path / 'made'}"), *queries)
    assert [paths[0] for paths in found] == ["guide/retries.md", "src/pool/client.py"]


def test_vectors_come_back_as_they_were_made(tmp_path: Path) -> None:
    scribe, model = Scribe(tmp_path / "asked"), StaticEmbedder()
    texts = ["Document: Größe\n\nDie Größe.", "def hang_up(): pass", " \n"]
    assert scribe.embed_documents(texts).shape == (3, scribe.model.dimensions)
    assert scribe.embed_paths(["a/src/pool/client.py"]).shape == (1, scribe.model.dimensions)
    assert np.linalg.norm(scribe.embed_query("hang up")) == pytest.approx(1.0)
    make_vectors(tmp_path / "asked", tmp_path / "made")
    made = MadeElsewhere(tmp_path / "made")
    assert (made.path_weight, made.trust) == (0.25, Trust(prose=0.5, code=0.75))
    assert (made.model.name, made.model.dimensions) == ("made", model.model.dimensions)
    expected = model.embed_documents(texts)
    near = float(np.abs(expected).max()) / 127
    np.testing.assert_allclose(made.embed_documents(texts), expected, atol=near)
    assert not made.embed_documents([" \n", ""]).any()  # what says nothing is not asked of a model
    assert made.embed_documents([]).shape == (0, made.model.dimensions)
    np.testing.assert_allclose(made.embed_query("hang up"), model.embed_query("hang up"), atol=0.01)
    as_text = model.embed_documents(["src pool client"])
    np.testing.assert_allclose(made.embed_paths(["b/src/pool/client.py"]), as_text, atol=near)


def test_an_interrupted_list_of_texts_goes_on_without_writing_any_twice(tmp_path: Path) -> None:
    Scribe(tmp_path).embed_documents(["one", "two", "one"])
    again = Scribe(tmp_path)
    again.embed_documents(["two", "three"])
    again.embed_query("one")
    assert read_texts(tmp_path) == [("text", "one"), ("text", "two"), ("text", "three"), ("query", "one")]


def test_a_text_that_was_not_written_down_ends_the_run_and_says_what_to_do(tmp_path: Path) -> None:
    search(tmp_path, Scribe(tmp_path / "asked"), "close the socket")
    make_vectors(tmp_path / "asked", tmp_path / "made")
    made = MadeElsewhere(tmp_path / "made")
    said = (
        re.escape(f"{tmp_path / 'made'} has no vector of this query: 'other'") + ".* make vectors of that list"
    )
    with pytest.raises(SystemExit, match=said):
        made.embed_query("other")
    with pytest.raises(SystemExit, match="no vector of this text: 'close the socket'"):
        made.embed_documents(["close the socket"])  # a query is no text
    with pytest.raises(SystemExit, match="no vector of this path: 'x'"):
        made.embed_paths(["x.py"])
    # Through the engine too, which goes on by words alone when a model is merely gone.
    with pytest.raises(SystemExit, match="no vector of this query"):
        search(tmp_path, Marked(made, "made"), "other")
    (tmp_path / "files" / "new.md").write_text("Something else.\n")
    with pytest.raises(SystemExit, match="no vector of this text"):
        search(tmp_path, made, "close the socket")
