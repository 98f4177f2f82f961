"""A store that is searched in place gives the answers that arrays of all of it give."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.index.searched import Both, SearchedSqlite
from tests.store.builders import MODEL, key, make_code, make_write, put, vector

from outcrop.errors import StoreError
from outcrop.index.names import spoken_number
from outcrop.index.query import read_query
from outcrop.index.seam import Index, Matches
from outcrop.read import search as retrieve
from outcrop.read.search import Retriever
from outcrop.records import Answer, Filter, Matrix, SearchMode, SearchOptions, Trust, Vector
from outcrop.records.derived import TermRows, Totals
from outcrop.store.postgres.in_place import derive
from outcrop.store.postgres.in_place import postings as choosing
from outcrop.store.postgres.in_place import search as database
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.store.postgres.in_place.search import DatabaseSearch
from outcrop.text.terms import Terms

QUESTIONS = [
    "how are removed rows masked until a segment is rewritten?",
    "what happens when the reranker fails",
    "why is the text of a chunk kept once",
    "where does an ingest begin again after a kill",
    "how much faster is the column-wise bit scan",
    "which formats need a worker process",
    "explain how a phrase in quotes is matched",
    "what does the store promise to readers while somebody writes?",
    "does a search wait for an ingest",
]
NAMES = [
    "SearchArrays.refresh",
    "weigh_terms",
    "Graph",
    "read_query",
    "open_sqlite",
    "MAX_TERMS",
    "postings()",
    "Names.definitions",
    "close",
    "Connections.snapshot writes",
    "outcrop.index.segment",
    "searcharrays",
    "BM25",
]
WORDS = [
    "segment rows",
    "token budget",
    "keyword index phrases",
    "personalised PageRank",
    "sqlite wal reader",
    "pdf",
    "the of and",
    "walk graph seeds",
    "git ignore rules",
    "xyzzyplugh",
    "naïve café",
]
PHRASES = [
    '"one transaction"',
    '"which rows" segment',
    '"the store" "the index"',
    '"no such words here at all"',
    '"Hamming distance"',
]
QUERIES = QUESTIONS + NAMES + WORDS + PHRASES

FILTERS = [
    Filter(),
    Filter(collections=("docs",)),
    Filter(collections=("code",), paths=("**/s*.py",)),
    Filter(kinds=("markdown",)),
    Filter(paths=("**/search/g*.py",)),
    Filter(documents=(3, 40)),
    Filter(paths=("nowhere/**",)),
]


def same_answers(both: Both, text: str, options: SearchOptions) -> Answer:
    """The answer, which is the same in both ways."""
    one, other = (retriever.search(text, options) for retriever in both.retrievers())
    assert (one.query_type, one.reason, one.detail) == (other.query_type, other.reason, other.detail)
    assert [hit.chunk_ids for hit in one.hits] == [hit.chunk_ids for hit in other.hits]
    assert [left.hit.chunk_ids for left in one.left_out] == [left.hit.chunk_ids for left in other.left_out]
    told = [[*answer.hits, *(left.hit for left in answer.left_out)] for answer in (one, other)]
    for a, b in zip(*told, strict=True):
        assert a.score == pytest.approx(b.score, abs=1e-5)
        assert a.why.matched == b.why.matched
        assert (a.why.lexical_rank, a.why.dense_rank) == (b.why.lexical_rank, b.why.dense_rank)
        boosts = [
            {boost.name: boost.amount for boost in hit.why.boosts if abs(boost.amount) > 1e-6} for hit in (a, b)
        ]
        assert boosts[0] == pytest.approx(boosts[1], abs=1e-5)
    return other


@pytest.mark.parametrize("text", QUERIES)
def test_the_same_hits_whatever_the_options(both: Both, text: str) -> None:
    for where in FILTERS:
        same_answers(both, text, SearchOptions(where=where))
        same_answers(both, text, SearchOptions(where=where, mode="keyword", limit=20))
    same_answers(both, text, SearchOptions(mode="semantic", floor=0.0))
    same_answers(both, text, SearchOptions(fusion="rrf"))
    same_answers(both, text, SearchOptions(balance=0.8, merge=False, limit=30))
    same_answers(both, text, SearchOptions(max_distance=0.8, cutoff=0.5, limit=5, offset=5))


def test_the_same_hits_by_the_model_that_ships(both_real: Both) -> None:
    """Rounding decides near ties, and who is at the edge of the pool. The texts are this project's own and change, and
    with them how many near ties there are: so hits are counted, not queries in which all are the same."""
    first = shared = total = 0
    for text in QUERIES:
        one, other = (retriever.search(text, SearchOptions()) for retriever in both_real.retrievers())
        assert one.reason == other.reason
        ids = [[hit.chunk_ids for hit in answer.hits] for answer in (one, other)]
        shared += len(set(ids[0]) & set(ids[1]))
        total += max(map(len, ids))
        first += ids[0][:1] == ids[1][:1]
        if ids[0] == ids[1]:
            for a, b in zip(one.hits, other.hits, strict=True):
                assert b.score == pytest.approx(a.score, abs=2e-2)
    assert shared >= 0.97 * total
    assert first >= 0.95 * len(QUERIES)


def test_the_same_candidates_and_neighbours(both: Both) -> None:
    beside = 0
    for text in QUERIES:
        for where in FILTERS:
            one, other = (by_words(index, text, where, 12) for index in (both.arrays, both.database))
            a, b = one.found, other.found
            for column in ("chunk_id", "document_id", "code", "lexical_rank", "dense_rank", "candidate"):
                np.testing.assert_array_equal(
                    getattr(a, column), getattr(b, column), err_msg=f"{text} {column}"
                )
            np.testing.assert_array_equal(a.lexical, b.lexical)
            for step in (-1, 1):
                np.testing.assert_array_equal(a.neighbour(a.lexical, step), b.neighbour(b.lexical, step))
            sure = [
                {
                    int(seen.view.segments[segment].chunk_ids[row]): share
                    for (segment, row), share in seen.declared.items()
                }
                for seen in (one, other)
            ]
            assert sure[0] == sure[1]
            beside += int((~b.candidate).sum())
            assert one.filtered_out == other.filtered_out
    assert beside > 500, "rows that only stand beside were looked at too"


def test_the_same_titles_and_rows_added_later(both: Both) -> None:
    """What the best hits name is looked up, and described although no leg lists it."""
    query, embedder = read_query("token budget of a context"), both.embedder
    meant, found = embedder.embed_query(query.text), []
    titles = [spoken_number(document.title) for document in both.store.documents()]
    for index in (both.arrays, both.database):
        with index.snapshot(index.refresh()) as view:
            seen = index.find(view, query, Filter(), "hybrid", meant, 5)
            named = sorted(index.find_titled(view, titles, 3))
            late = np.array(sorted({chunk for *_, chunk in named}), np.int64)
            for where in (Filter(), Filter(collections=("docs",)), Filter(paths=("nowhere/**",))):
                more = index.add_rows(seen, late, where)
                found.append((named, more.found))
                assert len(more.found) == len(index.passing(late, where).nonzero()[0])
    assert found[0][0]
    for (named, rows), (others, same) in zip(found[:3], found[3:], strict=True):
        assert named == others
        one, other = (np.argsort(part.chunk_id) for part in (rows, same))
        for column in ("chunk_id", "document_id", "lexical", "cosine"):
            assert getattr(rows, column)[one] == pytest.approx(getattr(same, column)[other], abs=1e-5)


def by_words(index: Index, text: str, where: Filter, pool: int) -> Matches:
    with index.snapshot(index.refresh()) as view:
        return index.find(view, read_query(text), where, "keyword", None, pool)


def test_chunks_far_apart_in_a_document_are_no_neighbours(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        words = ["amber" if i in (2, 8) else f"word{i}" for i in range(13)]
        (document,) = put(store, make_write(text="\n\n".join(words)))
        ids = [chunk.id for chunk in store.chunks_of(document)]
        index = DatabaseSearch(store, TERMS, 0.5, None)
        found = find(index, "amber").found
        assert found.chunk_id.tolist() == [ids[i] for i in (0, 1, 2, 3, 4, 6, 7, 8, 9, 10)]
        assert found.chunk_id[found.candidate].tolist() == [ids[i] for i in (1, 2, 3, 7, 8, 9)]
        places = np.array([ids.index(id_) for id_ in found.chunk_id.tolist()], np.float32)
        after, before = found.neighbour(places, +1), found.neighbour(places, -1)
        np.testing.assert_array_equal(after, [1, 2, 3, 4, np.nan, 7, 8, 9, 10, np.nan])
        np.testing.assert_array_equal(before, [np.nan, 0, 1, 2, 3, np.nan, 6, 7, 8, 9])


def test_of_filters_that_many_chunks_pass_the_store_is_asked_afterwards(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "FEW_CHUNKS", 0)
    for where in FILTERS:
        for text in QUERIES[::3]:
            options = SearchOptions(mode="keyword", where=where, limit=20)
            one, other = (retriever.search(text, options) for retriever in both.retrievers())
            assert [hit.chunk_ids for hit in one.hits] == [hit.chunk_ids for hit in other.hits]
    where = Filter(documents=(3,))
    answer = both.retrievers()[1].search(
        "rows of the store", SearchOptions(where=where, merge=False, floor=0.0)
    )
    assert {hit.document.id for hit in answer.hits} == {3}
    assert len(answer.hits) == min(10, len(both.store.chunks_of(3))), "a small slice gives full results"


def test_pages_follow_each_other(both: Both) -> None:
    whole = both.retrievers()[1].search("rows of a segment", SearchOptions(limit=30, merge=False))
    pages = [
        both.retrievers()[1].search("rows of a segment", SearchOptions(limit=10, offset=at, merge=False))
        for at in (0, 10, 20)
    ]
    assert [hit.chunk_ids for page in pages for hit in page.hits] == [hit.chunk_ids for hit in whole.hits]


@pytest.mark.parametrize("text", ["SearchArrays.refresh", "how are segments merged", '"the store"'])
def test_hits_explain_themselves_and_what_was_left_out(both: Both, text: str) -> None:
    options = SearchOptions(explain=True, limit=5, cutoff=0.4, floor=0.2)
    reasons = {left.reason for left in same_answers(both, text, options).left_out}
    assert reasons & {"below cutoff", "past the limit"}


def test_common_words_are_left_out_of_looking_and_still_count(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "hamming distance of the rows in a segment"
    monkeypatch.setattr(retrieve, "POOL", 20)
    options = SearchOptions(mode="keyword", merge=False)
    whole = both.retrievers()[1].search(text, options)
    read: list[int] = []
    look_up = both.store.term_rows

    def counted(terms: Collection[int], collections: Sequence[str] = ()) -> dict[int, TermRows]:
        found = look_up(terms, collections)
        read.append(sum(len(rows.chunk_ids) for rows in found.values()))
        return found

    monkeypatch.setattr(both.store, "term_rows", counted)
    monkeypatch.setattr(choosing, "MAX_POSTINGS", 30)
    pruned = both.retrievers()[1].search(text, options)
    assert 20 <= read[-1] < max(read), "the rare words, as far as they bring up enough; all were counted"
    scores = {hit.chunk_ids: hit.why.lexical_score for hit in whole.hits}
    same = [hit for hit in pruned.hits if hit.chunk_ids in scores]
    assert pruned.hits[0].chunk_ids == whole.hits[0].chunk_ids
    assert len(same) >= 3
    assert [hit.why.lexical_score for hit in same] == [scores[hit.chunk_ids] for hit in same]
    assert any("rows" in hit.why.matched_terms for hit in same), "a word that was not looked for"


def test_a_query_without_a_use_for_a_leg_goes_by_the_other(both: Both) -> None:
    for useless in (np.zeros(64, np.float32), np.full(64, np.nan, np.float32)):
        seen = find(both.database, "segment", "hybrid", useless)
        assert len(seen.found)
        assert not seen.found.cosine.any()
        assert not seen.found.dense_rank.any()


def test_the_second_opinion_knows_the_weights_of_a_search_by_meaning(both: Both) -> None:
    arrays, searched = both.arrays, both.database
    for text in QUERIES:
        assert searched.weigh(searched.refresh(), text) == arrays.weigh(arrays.refresh(), text)


# ------------------------------------------------------------------ following the store


def test_every_write_is_seen_by_the_next_search(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        index = DatabaseSearch(store, TERMS, 0.5, None)
        assert (index.refresh().chunks, index.refresh().model) == (0, None)
        assert not len(find(index, "amber").found)
        (first,) = put(store, make_write("a.md", "amber one"))
        view = index.refresh()
        assert (view.chunks, view.model) == (1, MODEL)
        assert index.refresh() is view, "the same object until something is written"
        assert texts(store, find(index, "amber")) == ["amber one"]
        put(store, make_write("a.md", "amber two"), make_write("b.md", "amber three"))
        with index.snapshot(view) as now:
            assert now is not view
            assert now.chunks == 2
        assert texts(store, find(index, "amber")) == ["amber two", "amber three"]
        store.delete([first])
        assert texts(store, find(index, "amber")) == ["amber three"]


def test_a_search_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        put(store, *(make_write(f"{i}.md", f"amber version {i}\n\nbasalt version {i}") for i in range(8)))
        index = DatabaseSearch(store, TERMS, 0.5, None)
        stop = threading.Event()
        wrong: list[str] = []
        searched = 0

        def write() -> None:
            for turn in range(1000):
                if stop.is_set():
                    return
                number = turn % 8
                put(store, make_write(f"{number}.md", f"amber version {turn}\n\nbasalt version {turn}"))

        def search() -> None:
            nonlocal searched
            try:
                for _ in range(25):
                    with index.snapshot(index.refresh()) as view:
                        seen = index.find(view, read_query("amber version"), Filter(), "keyword", None, 50)
                        held = [chunk.text for chunk in store.chunks(seen.found.chunk_id.tolist())]
                    if sum("amber" in text for text in held) != 8 or len(held) != 16:
                        wrong.append(f"{held}")
                    searched += 1
            except Exception as error:  # noqa: BLE001 - a thread's failure must reach the test
                wrong.append(repr(error))

        writing = threading.Thread(target=write)
        searching = [threading.Thread(target=search) for _ in range(3)]
        for thread in (writing, *searching):
            thread.start()
        for thread in searching:
            thread.join()
        stop.set()
        writing.join()
        assert not wrong
        assert searched == 75


def test_an_answer_is_remembered_until_something_is_written(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)) as store:
        put(store, make_write("a.md", "amber one"))
        retriever = Retriever(store, DatabaseSearch(store, TERMS, 0.5, None), Small(), TERMS)
        first = retriever.search("amber", SearchOptions())
        assert retriever.search("amber", SearchOptions()).hits is first.hits
        put(store, make_write("b.md", "amber two"))
        assert len(retriever.search("amber", SearchOptions()).hits) == 2


# ------------------------------------------------------------------ maintenance


def test_care_is_the_business_of_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    with closing(open_store(tmp_path)) as store:
        (first,) = put(store, make_code(), make_write("b.md", "amber two"))[:1]
        index = DatabaseSearch(store, TERMS, 0.5, folder)
        index.warm()
        index.save()
        index.save_after_search()
        view = index.rebuild()
        assert (store.settled, store.rederived, view.chunks) == (1, 1, 3)
        assert (list(index.check()), index.bytes_on_disk()) == ([], 0)
        with pytest.raises(IndexError, match="row 7"):
            index.mend(IndexError("row 7"))
        assert store.chunks(index.declaring("LEASE"))[0].text == "class Lease:"
        chunks = store.chunks(index.declaring("close"))
        assert [chunk.text for chunk in chunks] == ["class Pool:", "class Lease:"]
        other = store.match_phrase("amber two")
        passes = index.passing(np.array([99, chunks[1].id, *other, chunks[0].id]), Filter(documents=(first,)))
        assert passes.tolist() == [False, True, False, True]


def test_the_whole_graph_is_made_of_arrays_that_leave_no_trace_of_what_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    with closing(open_store(tmp_path)) as store:
        first, _ = put(store, make_code(), make_write("b.md", "amber two"))
        index = DatabaseSearch(store, TERMS, 0.5, folder)
        assert len(index.whole()) == 3
        assert index.bytes_on_disk() == 0
        index.purge()
        assert index.bytes_on_disk() > 0, "as arrays are: what was removed is not in them"
        other = DatabaseSearch(store, TERMS, 0.5, folder)
        assert other.bytes_on_disk() == index.bytes_on_disk()
        store.delete([first])
        other.purge()
        assert not folder.exists(), "a process that has no arrays does not make some to purge them"
        assert len(index.whole()) == 1
        index.rebuild()
        assert index.bytes_on_disk() > 0


def test_rows_of_another_version_or_none_are_reported_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(tmp_path)) as store:
        put(store, make_code(), make_write("b.md", "amber two"))
        index = DatabaseSearch(store, TERMS, 0.5, None)
        assert list(index.check()) == []
        with monkeypatch.context() as patched:
            patched.setattr(derive, "FORMAT", derive.FORMAT + 1)
            assert ["doctor --repair" in problem for problem in index.check()] == [True]
            with pytest.raises(StoreError):
                find(index, "amber")
            index.rebuild()
            assert list(index.check()) == []
            assert texts(store, find(index, "amber")) == ["amber two"]
        monkeypatch.setattr(store, "totals", lambda: Totals(1, 10))
        index.rebuild()
        assert "1 of 3 chunks" in "".join(index.check())


TERMS = Terms()


class Small:
    """An embedder for the vectors of the builders."""

    model = MODEL
    path_weight = 0.5
    trust = Trust()

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return np.stack([vector(key(text)) for text in texts])

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        return self.embed_documents(paths)

    def embed_query(self, text: str) -> Vector:
        made = vector(key(text))
        return made / np.linalg.norm(made)


def open_store(folder: Path) -> SearchedSqlite:
    return SearchedSqlite(folder / "index.db", SearchDeriver(TERMS, 0.5))


def find(
    index: DatabaseSearch, text: str, mode: SearchMode = "keyword", of_query: Vector | None = None
) -> Matches:
    with index.snapshot(index.refresh()) as view:
        return index.find(view, read_query(text), Filter(), mode, of_query, 50)


def texts(store: SearchedSqlite, seen: Matches) -> list[str]:
    return [chunk.text for chunk in store.chunks(seen.found.chunk_id[seen.found.candidate].tolist())]
