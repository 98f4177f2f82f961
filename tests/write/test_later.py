"""Adding without vectors: found by words at once, by meaning after `embed_pending`, whoever calls it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import outcrop
from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder
from outcrop.errors import Cancelled, EmbedError
from outcrop.records import Matrix, Model, Text, Trust, Vector

STATIC = open_embedder("static", url="", key="", query_prefix="")


class Watched:
    """The shipped model, with a count of the texts it saw and a word that it refuses."""

    path_weight = STATIC.path_weight
    trust: Trust = STATIC.trust

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.seen: list[str] = []
        self.batches: list[int] = []

    @property
    def model(self) -> Model:
        return STATIC.model

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.batches.append(len(texts))
        if self.refuses and any(self.refuses in text for text in texts):
            raise EmbedError("the endpoint refuses this text")
        self.seen += texts
        return STATIC.embed_documents(texts)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        return STATIC.embed_paths(paths)

    def embed_query(self, text: str) -> Vector:
        return STATIC.embed_query(text)


@pytest.fixture
def model() -> Watched:
    return Watched()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "i.db"


def open_with(db: Path, embedder: Embedder) -> outcrop.Engine:
    return outcrop.Engine(load_config({"db": db}, environ={}), embedder=embedder)


def in_order(engine: outcrop.Engine) -> bool:
    return all(check.ok for check in engine.doctor())


NOTE = "# Payments\n\nThe invoice is sent again after a failed charge.\n"
BY_WORDS, BY_MEANING = "failed charge", "retrying declined credit card payments"


def found(engine: outcrop.Engine, query: str, mode: str) -> list[str]:
    options = {"mode": mode, "floor": 0.2}
    return [hit.document.uri for hit in engine.search(query, **options).hits]  # type: ignore[arg-type]


def test_a_text_added_later_is_found_by_words_at_once_and_by_meaning_once_it_is_embedded(
    db: Path, model: Watched
) -> None:
    with open_with(db, model) as engine:
        engine.add(text="Apples are grown in orchards.", id="other")
        model.seen.clear()
        report = engine.add(text=NOTE, id="note", defer_embedding=True)
        assert (report.added, report.embedded, model.seen) == (1, 0, [])
        assert found(engine, BY_WORDS, "keyword") == ["note"]
        assert found(engine, BY_WORDS, "hybrid")[0] == "note"
        assert "note" not in found(engine, BY_MEANING, "semantic")
        assert engine.search(BY_WORDS).hits[0].match_type == "keyword"
        assert engine.pending() == 1
        assert in_order(engine)
        assert engine.embed_pending() == 1
        assert engine.pending() == 0
        assert found(engine, BY_MEANING, "semantic")[0] == "note"
        assert engine.search(BY_WORDS).hits[0].match_type == "both"
        assert len(engine.search(BY_WORDS).hits) == 1, "the chunk is there once"
        assert engine.embed_pending() == 0
        assert in_order(engine)


def test_what_one_process_left_waiting_another_embeds_and_the_first_sees_it(db: Path, model: Watched) -> None:
    with open_with(db, model) as first, open_with(db, model) as second:
        first.add(text=NOTE, id="note", defer_embedding=True)
        assert found(first, BY_MEANING, "semantic") == []
        assert second.pending() == 1
        assert second.embed_pending() == 1
        assert found(first, BY_MEANING, "semantic") == ["note"]
        assert first.embed_pending() == 0


def test_files_and_folders_can_be_added_later(db: Path, tmp_path: Path, model: Watched) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(NOTE)
    (folder / "pool.py").write_text("def acquire(pool):\n    return pool.pop()\n")
    single = tmp_path / "single.md"
    single.write_text("# Lantern\n\nA copper lantern.\n")
    with open_with(db, model) as engine:
        engine.add(folder, defer_embedding=True)
        engine.add(single, defer_embedding=True)
        engine.add_texts([Text("More of it", id="more")], defer_embedding=True)
        assert (engine.pending(), model.seen) == (4, [])
        assert found(engine, "acquire", "keyword") == [str(folder / "pool.py")]
        assert engine.embed_pending() == 4
        assert found(engine, BY_MEANING, "semantic")[0] == str(folder / "a.md")
        assert in_order(engine)
        stats = engine.status().stats
        assert stats.chunks_with_vector == stats.chunks


def test_a_plain_sync_completes_what_waits_though_nothing_changed(
    db: Path, tmp_path: Path, model: Watched
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(NOTE)
    with open_with(db, model) as engine:
        engine.add(folder, defer_embedding=True)
        engine.add(text="Words of a text", id="t", defer_embedding=True)
        again = engine.add(folder, defer_embedding=True)
        assert (again.unchanged, again.changed, engine.pending()) == (1, 0, 2)
        engine.sync()
        engine.add(text="Words of a text", id="t")
        assert engine.pending() == 0
        assert found(engine, BY_MEANING, "semantic")[0] == str(folder / "a.md")
        assert engine.sync().unchanged == 1
        assert in_order(engine)


def test_an_edit_of_a_long_document_embeds_what_is_new_and_keeps_its_chunks_in_order(
    db: Path, model: Watched
) -> None:
    parts = [f"## Part {i}\n\n" + f"Sentence {i} about subject number {i}. " * 30 for i in range(150)]
    with open_with(db, model) as engine:
        engine.add(text="\n\n".join(parts), id="long", defer_embedding=True)
        assert engine.embed_pending() == 1
        assert max(model.batches) <= 64, "small batches: a stop waits for one of them"
        assert len(model.batches) > 2
        model.seen.clear()
        parts[7] = "## Part 7\n\nA wholly different story of copper lanterns.\n"
        engine.add(text="\n\n".join(parts), id="long", defer_embedding=True)
        engine.embed_pending()
        assert len(model.seen) == 1
        chunks = engine.chunks("long")
        ids = [chunk.id for chunk in chunks]
        assert ids == list(range(ids[0], ids[0] + len(ids))), (
            "neighbours in the text are neighbours in the arrays"
        )
        assert in_order(engine)


def test_a_stop_keeps_what_was_embedded_and_the_next_call_goes_on(db: Path, model: Watched) -> None:
    with open_with(db, model) as engine:
        engine.add_texts((Text(f"note {i} on comets", id=f"n{i}") for i in range(200)), defer_embedding=True)
        with pytest.raises(Cancelled):
            engine.embed_pending(stopped=lambda: len(model.batches) >= 2)
        left = engine.pending()
        assert 0 < left < 200
        seen = len(model.seen)
        assert engine.embed_pending() == left
        assert len(model.seen) == 200
        assert seen > 0
        assert in_order(engine)


def test_a_text_that_the_model_refuses_does_not_hold_up_the_others(db: Path) -> None:
    model = Watched(refuses="poison")
    with open_with(db, model) as engine:
        engine.add_texts(
            (Text(f"note {i} {'poison' if i == 3 else ''}", id=f"n{i}") for i in range(9)), defer_embedding=True
        )
        with pytest.raises(EmbedError):
            engine.embed_pending()
        assert engine.pending() == 1
        model.refuses = ""
        assert engine.embed_pending() == 1


def test_a_model_that_is_away_is_asked_a_few_times_and_no_more(db: Path) -> None:
    model = Watched(refuses="note")
    with open_with(db, model) as engine:
        engine.add_texts((Text(f"note {i}", id=f"n{i}") for i in range(50)), defer_embedding=True)
        with pytest.raises(EmbedError):
            engine.embed_pending()
        assert engine.pending() == 50
        assert len(model.batches) < 10


def test_a_re_embedding_takes_in_what_waits(db: Path, model: Watched) -> None:
    with open_with(db, model) as engine, open_with(db, model) as other:
        engine.add(text=NOTE, id="note", defer_embedding=True)
        assert found(other, BY_MEANING, "semantic") == []
        assert engine.reembed() == 1
        assert engine.pending() == 0
        assert found(engine, BY_MEANING, "semantic") == ["note"]
        assert found(other, BY_MEANING, "semantic") == ["note"]
        assert in_order(engine)
