"""A change of model: the old vectors serve until the new ones are there, and everybody follows (L12)."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.maintain.reembed_child import Letters

import outcrop
from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.errors import Cancelled, ConfigError, EmbedError, StoreError
from outcrop.index.arrays import SearchArrays
from outcrop.maintain.reembed import SAMPLE_TEXTS
from outcrop.records import Matrix, Model, Progress, Text

ROOT = Path(__file__).parents[2]
OLD, NEW = Model("old", "1", 26), Model("new", "1", 13)


def open_with(db: Path, embedder: Embedder) -> outcrop.Engine:
    return outcrop.Engine(load_config({"db": db}, environ={}), embedder=embedder)


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> dict[str, Letters]:
    """Models that are opened by name; one that is taken away is not installed."""
    models = {"static": Letters("old", 26), "mini": Letters("new", 13)}

    def open_embedder(model: str, **settings: str) -> Embedder:
        if model not in models:
            raise EmbedError(f"{model} needs pip install 'outcrop[mini]'")
        return models[model]

    monkeypatch.setattr("outcrop.read.parts.open_embedder", open_embedder)
    return models


@pytest.fixture
def db(tmp_path: Path, shelf: dict[str, Letters]) -> Path:
    path = tmp_path / "i.db"
    with outcrop.open(path) as kb:
        kb.add_texts(Text(f"note {i} about comets", id=f"n{i}") for i in range(300))
    return path


def assert_whole(kb: outcrop.Engine, model: Model) -> None:
    status = kb.status()
    assert status.index_model == model
    assert status.stats.chunks_with_vector == status.stats.chunks
    assert [check for check in kb.doctor() if not check.ok] == []
    answer = kb.search("comets", mode="semantic", floor=0.0)
    assert (answer.reason, bool(answer.hits)) == (None, True)


class Clocked(Letters):
    """A model whose every text takes a tenth of a second by its own clock, and whose first call takes ten more."""

    def __init__(self) -> None:
        super().__init__("new", 13)
        self.now = 0.0
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.now += 0.1 * len(texts) + (0 if self.texts else 10)
        self.texts += len(texts)
        return super().embed_documents(texts)


def test_how_long_it_will_take_is_told_by_a_few_texts(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Clocked()
    monkeypatch.setattr("outcrop.maintain.reembed.time.monotonic", lambda: model.now)
    with open_with(db, model) as kb:
        texts, seconds = kb.forecast_reembed()
        assert texts == 600, "300 notes and their paths, which take no time here"
        assert seconds == pytest.approx(30, rel=0.01), "loading the model does not count"
        assert model.texts <= 1 + SAMPLE_TEXTS
        assert kb.status().index_model == OLD, "nothing was changed"
        kb.reembed()
        assert kb.forecast_reembed() == (0, 0.0)


def test_the_index_remembers_its_model_there_and_back(db: Path) -> None:
    with outcrop.open(db, model="mini") as kb:
        assert kb.reembed() == 300
    with outcrop.open(db) as kb:
        assert kb.status().model == NEW
        assert_whole(kb, NEW)
    with outcrop.open(db, model="static") as kb:
        assert kb.search("comets").reason == "model_mismatch"
        assert kb.reembed() == 300
    with outcrop.open(db) as kb:
        assert_whole(kb, OLD)
        before = kb.status().stats
        assert kb.reembed() == 0
        assert kb.status().stats == before


def test_a_process_that_is_at_work_is_served_all_along_and_follows(db: Path, shelf: dict[str, Letters]) -> None:
    with outcrop.open(db) as reader, outcrop.open(db, model="mini") as switching:
        served: list[str | None] = []

        def search(what: str) -> None:
            answer = reader.search(f"comets {len(served)}", mode="semantic", floor=0.0)
            assert answer.hits
            served.append(answer.reason)

        shelf["mini"].meanwhile = search
        switching.reembed()
        assert len(served) > 2
        assert set(served) == {None}, "the old vectors serve"
        assert reader.status().model == NEW
        assert_whole(reader, NEW)
        reader.add(text="a later note on comets", id="later")
        assert_whole(switching, NEW)


def test_what_others_write_meanwhile_is_there_after_the_switch(db: Path, shelf: dict[str, Letters]) -> None:
    with outcrop.open(db) as writer, outcrop.open(db, model="mini") as switching:
        written = {"documents": 0, "paths": 0}

        def write(what: str) -> None:
            step = sum(written.values())
            if written[what] == 3:  # paths come last: what is written then has nothing before the switch
                return
            written[what] += 1
            writer.add(text=f"a comet that came {step}", id=f"came{step}")
            writer.add(text=f"note {step} was changed, comets", id=f"n{step}")
            writer.delete(f"n{200 + step}")

        shelf["mini"].meanwhile = write
        switching.reembed()
        assert written == {"documents": 3, "paths": 3}
        assert_whole(switching, NEW)
        names = {info.uri for info in switching.documents()}
        assert {f"came{i}" for i in range(6)} <= names
        assert not {f"n{200 + i}" for i in range(6)} & names
        assert switching.text("n5") == "note 5 was changed, comets"


def test_a_folder_synced_through_the_switch_goes_on_with_the_new_model(
    db: Path, tmp_path: Path, shelf: dict[str, Letters]
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("comets in a", "utf-8")
    with outcrop.open(db) as writer, outcrop.open(db, model="mini") as switching:
        once = threading.Event()

        def switch(what: str) -> None:
            if not once.is_set():  # between reading the file and writing it
                once.set()
                switching.reembed()

        shelf["static"].meanwhile = switch
        assert writer.add(notes).added == 1
        assert_whole(writer, NEW)
        assert writer.get("a.md").collection == "notes"


def test_many_texts_cannot_be_read_twice_so_the_caller_is_told(db: Path, shelf: dict[str, Letters]) -> None:
    with outcrop.open(db) as writer, outcrop.open(db, model="mini") as switching:

        def switch(what: str) -> None:
            shelf["static"].meanwhile = lambda what: None
            switching.reembed()

        shelf["static"].meanwhile = switch
        texts = [Text(f"comet {i} of many", id=f"m{i}") for i in range(10)]
        with pytest.raises(StoreError, match="add them again"):
            writer.add_texts(iter(texts))
        assert writer.add_texts(texts).added == 10
        assert_whole(writer, NEW)


def test_a_watch_goes_on_after_the_switch(tmp_path: Path, shelf: dict[str, Letters]) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("comets in a", "utf-8")
    with outcrop.open(tmp_path / "i.db") as watcher:
        stop = threading.Event()
        reports = watcher.watch([notes], stop=stop)
        assert next(reports).added == 1
        with outcrop.open(tmp_path / "i.db", model="mini") as switching:
            switching.reembed()
            pump = threading.Thread(target=lambda: list(reports))
            pump.start()
            try:
                (notes / "a.md").write_text("hellebore in a", "utf-8")
                deadline = time.monotonic() + 60
                while not switching.search("hellebore", mode="keyword").hits:
                    assert time.monotonic() < deadline
                    assert pump.is_alive()
                    time.sleep(0.02)
            finally:
                stop.set()
                pump.join()
            assert_whole(switching, NEW)


def test_where_the_new_model_is_not_installed_words_still_serve_and_the_answer_says_what_to_do(
    db: Path, shelf: dict[str, Letters]
) -> None:
    with outcrop.open(db) as reader:
        assert reader.search("comets").reason is None
        with outcrop.open(db, model="mini") as switching:
            switching.reembed()
        del shelf["mini"]
        answer = reader.search("comets")
        assert answer.reason == "model_mismatch"
        assert "pip install 'outcrop[mini]'" in answer.detail
        assert answer.hits[0].match_type == "keyword"
    with outcrop.open(db) as kb, pytest.raises(EmbedError, match="pip install"):
        kb.search("comets")
    with outcrop.open(db, model="static") as kb:
        kb.reembed()
        assert_whole(kb, OLD)


def test_switching_to_what_is_not_installed_changes_nothing(db: Path, shelf: dict[str, Letters]) -> None:
    del shelf["mini"]
    with outcrop.open(db, model="mini") as kb, pytest.raises(EmbedError, match=r"outcrop\[mini\]"):
        kb.reembed()
    with outcrop.open(db) as kb:
        assert_whole(kb, OLD)


def test_a_kill_right_after_the_switch_leaves_nothing_half_done(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(arrays: SearchArrays) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, outcrop.open(db, model="mini") as kb:
        patch.setattr(SearchArrays, "rebuild", killed)
        with pytest.raises(KeyboardInterrupt):
            kb.reembed()
    with outcrop.open(db) as kb:
        assert_whole(kb, NEW)


def test_one_that_was_given_up_leaves_the_old_model_in_use(db: Path) -> None:
    with outcrop.open(db, model="mini") as kb, pytest.raises(Cancelled):
        kb.reembed(stopped=lambda: True)
    with outcrop.open(db) as kb:
        assert_whole(kb, OLD)
        kb.add(text="one more comet", id="more")
        assert_whole(kb, OLD)


def test_progress_counts_chunks_summaries_and_paths_to_the_end(
    tmp_path: Path, shelf: dict[str, Letters]
) -> None:
    source = tmp_path / "src"
    source.mkdir()
    for i in range(80):
        (source / f"m{i}.py").write_text(f"def comet_{i}(orbit):\n    return orbit * {i}\n", "utf-8")
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(source)
        texts = kb.status().stats.vectors
    seen: list[Progress] = []
    with outcrop.open(tmp_path / "i.db", model="mini") as kb:
        with pytest.raises(Cancelled):
            kb.reembed(progress=seen.append, stopped=lambda: len(seen) == 1)
        assert (seen[0].total, seen[0].phase) == (texts, "embed")
        kb.reembed(progress=seen.append)
    assert seen[1].total == texts - seen[0].done, "what is left, not what was"
    assert seen[-1].done == seen[-1].total
    assert [p.done for p in seen[1:]] == sorted(p.done for p in seen[1:])


def test_dropped_vectors_give_their_room_back(tmp_path: Path, shelf: dict[str, Letters]) -> None:
    shelf["static"] = Letters("old", 2000)
    shelf["mini"] = Letters("new", 500)
    sizes = []
    for model in ("static", "mini"):
        with outcrop.open(tmp_path / f"{model}.db", model=model) as kb:
            kb.add_texts(Text(f"note {i} about comets", id=f"n{i}") for i in range(500))
            sizes.append(kb.status().stats.bytes_on_disk)
    with outcrop.open(tmp_path / "static.db", model="mini") as kb:
        kb.reembed()
    assert (tmp_path / "static.db").stat().st_size < 1.5 * sizes[1] < sizes[0]


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """An index whose re-embedding was killed half-way."""
    db = tmp_path / "i.db"
    with open_with(db, Letters("first")) as kb:
        kb.add_texts(Text(f"note {i} about comets", id=f"n{i}") for i in range(1000))
    command = [sys.executable, "-m", "tests.maintain.reembed_child", str(db)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for _ in range(3):
            assert child.stdout.readline() == "documents\n"
            child.stdin.write("go on\n")
        child.kill()  # somewhere in the third batch
    return db


def test_a_killed_run_serves_the_old_vectors_and_is_gone_on_with(killed: Path) -> None:
    with open_with(killed, Letters("first")) as kb:
        assert_whole(kb, Model("first", "1", 26))
        kb.add(text="a comet that came after the kill", id="after")
    second = Letters("second", 13)
    with open_with(killed, second) as kb:
        made = kb.reembed()
        assert 100 < made < 1001, "what was done is not done again"
        assert len(second.embedded) == made
        assert_whole(kb, Model("second", "1", 13))


def test_a_model_in_a_folder_is_remembered_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def open_embedder(model: str, **settings: str) -> Embedder:
        asked.append(model)
        if model == "nonsense":
            raise ConfigError("there is no model")
        return Letters(model.rpartition("/")[2] or model)

    monkeypatch.setattr("outcrop.read.parts.open_embedder", open_embedder)
    monkeypatch.chdir(tmp_path)
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(text="comets", id="c")
    with outcrop.open(tmp_path / "i.db", model="onnx:models/tiny") as kb:
        kb.reembed()
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.search("comets")
    assert asked == ["static", "onnx:models/tiny", f"onnx:{tmp_path}/models/tiny"]


def test_a_write_after_an_upgrade_brings_the_vectors_up_to_date(db: Path) -> None:
    newer = Letters("old", 13)
    newer.model = Model("old", "2", 13)
    with open_with(db, newer) as kb:
        assert kb.search("comets").reason == "model_mismatch"  # by words until then
        kb.add(text="one more about comets")
        assert_whole(kb, newer.model)
        assert kb.status().stats.documents == 301
    earlier = Letters("old", 26)
    with open_with(db, earlier) as kb, pytest.raises(StoreError, match="reembed"):
        kb.add(text="an earlier program does not turn back what a later one made")
