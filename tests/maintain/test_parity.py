"""Whether two indexes answer alike, asked with questions from their own text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.maintain.reembed_child import Letters
from tests.store.builders import make_code, make_write, put

import outcrop
from outcrop.config import load_config
from outcrop.contracts import Store
from outcrop.errors import ConfigError, Conflict
from outcrop.maintain.compare import MAX_CHARACTERS, QUERIES, compare_rankings, draw_queries
from outcrop.records import MIN_OVERLAP, RankingParity, Text
from outcrop.store.sqlite.store import open_sqlite

TOPICS = ("comets", "harbours", "ledgers", "orchards", "glaciers", "violins", "turbines", "lanterns")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_sqlite(tmp_path / "index.db")
    yield opened
    opened.close()


def test_questions_come_from_the_text_and_are_always_the_same(store: Store) -> None:
    texts = [f"Today {topic} are quiet. Nobody counted {topic} before noon!" for topic in TOPICS]
    put(store, *(make_write(f"{n}.md", text) for n, text in enumerate(texts)))
    queries = draw_queries(store)
    assert len(queries) > len(TOPICS)
    assert len(set(queries)) == len(queries)
    words = set(" ".join(texts).replace(".", "").replace("!", "").split())
    assert all(set(query.split()) <= words for query in queries)
    assert draw_queries(store) == queries
    assert draw_queries(store, seed=2) != queries


def test_names_and_headings_are_asked_for_too(store: Store) -> None:
    put(store, make_code(), make_write("a.md", "One two three.\n\nFour five six."))
    queries = draw_queries(store)
    assert "Pool" in queries
    assert "Part 1" in queries
    assert "One two three" in queries


def test_there_are_enough_and_not_more(store: Store) -> None:
    put(store, *(make_write(f"{n}.md", f"A sentence with number {n} in it.") for n in range(200)))
    assert len(draw_queries(store)) == QUERIES
    assert len(draw_queries(store, count=5)) == 5


def test_a_question_is_short_and_has_words_only(store: Store) -> None:
    put(store, make_write("a.md", 'Say "this is it" -not \0 that. ' + "字" * 500 + "\n\n*** --- ***"))
    queries = draw_queries(store)
    assert queries
    assert all(0 < len(query) <= MAX_CHARACTERS for query in queries)
    assert not any(sign in query for query in queries for sign in '"\0*')


def test_an_index_without_words_has_no_questions(store: Store) -> None:
    assert draw_queries(store) == []
    put(store, make_write("a.md", "*** --- ***"))
    assert "Guide" not in draw_queries(store)
    store.delete(store.select(outcrop.Filter()).tolist())
    assert draw_queries(store) == []


@pytest.mark.parametrize("kept", [1, 2, 3, 7, 8, 9, 16])
def test_every_chunk_can_be_drawn_whatever_was_deleted(store: Store, kept: int) -> None:
    ids = put(store, *(make_write(f"{n}.md", f"number{n}.") for n in range(17)))
    store.delete(ids[kept:])
    assert set(draw_queries(store, count=200)) == {f"number{n}" for n in range(kept)}


def test_what_differs_is_measured_and_named(tmp_path: Path) -> None:
    texts = [Text(f"A note about {topic}.", id=topic) for topic in TOPICS]
    with outcrop.open(tmp_path / "a.db") as here, outcrop.open(tmp_path / "b.db") as there:
        here.add_texts(texts)
        there.add_texts(texts[1:])

        def ask(kb: outcrop.Engine) -> RankingParity:
            return compare_rankings(
                TOPICS,
                lambda query, limit: here.search(query, limit=limit, mode="keyword").hits,
                lambda query, limit: kb.search(query, limit=limit, mode="keyword").hits,
            )

        assert ask(here) == RankingParity(len(TOPICS), 1.0)
        assert ask(there) == RankingParity(len(TOPICS), 1 - 1 / len(TOPICS), ((TOPICS[0], 0.0),))
        assert compare_rankings([], lambda *_: [], lambda *_: []).overlap == 1


def test_which_of_two_copies_is_shown_is_no_difference(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "a.db") as here, outcrop.open(tmp_path / "b.db") as there:
        for kb, first, second in ((here, "one", "two"), (there, "two", "one")):
            for name in (first, second):
                kb.add(text="A note about comets and harbours.", id=name)

        def shown(kb: outcrop.Engine) -> list[str]:
            return [hit.document.uri for hit in kb.search("comets", mode="keyword").hits]

        assert (shown(here), shown(there)) == (["one"], ["two"])
        best = [
            lambda query, limit, kb=kb: kb.search(query, limit=limit, mode="keyword").hits
            for kb in (here, there)
        ]
        assert compare_rankings(["comets"], *best) == RankingParity(1, 1.0)


def test_an_engine_moves_to_another_and_says_that_both_rank_alike(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "a.db") as here, outcrop.open(tmp_path / "b.db") as there:
        here.add(Path(__file__).parents[2] / "src" / "outcrop" / "chunk")
        here.add_texts(Text(f"A note about {topic}.", id=topic, tags=("note",)) for topic in TOPICS)
        here.add(text="It waits for its vectors.", id="later", defer_embedding=True)
        report = here.move_to(there)
        assert report.ok
        assert report.parity is not None
        assert report.parity.queries == QUERIES
        assert report.parity.overlap >= MIN_OVERLAP
        assert there.pending() == 1
        assert there.search("note about comets", tags=["note"]).hits[0].document.uri == "comets"
        related = there.related("cut.py").target
        assert related == here.related("cut.py").target
        assert [(info.uri, info.updated_at) for info in there.documents()] == [
            (info.uri, info.updated_at) for info in here.documents()
        ]
        there.add(text="Something new.", id="new")
        with pytest.raises(Conflict):
            here.move_to(there)


def test_what_was_edited_weighs_no_words_when_rankings_are_compared(tmp_path: Path) -> None:
    """Words of rows that are gone count in an index that is in use until its arrays are tidied; in a copy never."""
    with outcrop.open(tmp_path / "a.db") as here, outcrop.open(tmp_path / "b.db") as there:
        here.add_texts(Text(f"A note about {topic} and the weather.", id=topic) for topic in TOPICS)
        assert here.search("comets").hits
        here.add(text="A note about glaciers.", id=TOPICS[0])
        assert here.move_to(there).ok
        for query in ("weather", "glaciers", "a note about the weather"):
            found = [
                [(hit.document.uri, hit.score) for hit in kb.search(query, mode="keyword", floor=0).hits]
                for kb in (here, there)
            ]
            assert found[0] == found[1]


def test_rankings_are_reported_but_not_judged_while_documents_are_pending(tmp_path: Path) -> None:
    """A copy of words that wait has a vector in the copy of the index, if another document brought it since."""
    with outcrop.open(tmp_path / "a.db") as here, outcrop.open(tmp_path / "b.db") as there:
        here.add(text="A note about comets.", id="waits", defer_embedding=True)
        assert here.search("comets").hits
        here.add_texts([Text("A note about comets.", id="comets"), Text("A note about violins.", id="violins")])
        report = here.move_to(there)
        assert report.pending == 1
        assert report.parity is not None
        low = replace(report, parity=replace(report.parity, overlap=0.5))
        assert report.ok
        assert low.ok
        assert not replace(low, pending=0).ok


def test_a_target_that_is_held_to_another_model_is_refused(tmp_path: Path) -> None:
    with (
        outcrop.open(tmp_path / "a.db") as here,
        outcrop.Engine(load_config({"db": tmp_path / "b.db"}, {}), embedder=Letters("letters")) as there,
    ):
        here.add(text="A note about comets.", id="comets")
        with pytest.raises(ConfigError, match="letters@1/26"):
            here.move_to(there)
        assert there.count() == 0


def test_what_a_database_is_searched_by_is_not_made_with_another_model(
    tmp_path: Path, postgres_url: str
) -> None:
    with outcrop.Engine(load_config({"db": tmp_path / "a.db"}, {}), embedder=Letters("letters")) as here:
        here.add(text="A note about comets.", id="comets")
    with (
        outcrop.open(tmp_path / "a.db") as here,
        outcrop.open(postgres_url, data_dir=tmp_path) as there,
    ):
        with pytest.raises(ConfigError, match="outcrop reembed"):
            here.move_to(there)
        assert there.count() == 0
        here.reembed()
        assert here.move_to(there).ok


def test_an_index_whose_model_is_not_there_is_moved_and_says_so(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "a.db") as here:
        here.add(text="A note about comets.", id="comets")
        here._store.put_setting("model outcrop-static@2/256", f"onnx:{tmp_path / 'nowhere'}")
    with outcrop.open(tmp_path / "a.db") as here, outcrop.open(tmp_path / "b.db") as there:
        report = here.move_to(there)
        assert not report.ok
        assert report.problems == ()
        assert report.parity is None
        assert "nowhere" in report.unranked
        assert there.count() == 1
