"""What the arrays know of candidates: how surely they declare what is asked for, and what their file is called."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.index.rows import TERMS, WORDS, feed_row, view_of

from outcrop.index.bm25 import weigh_terms
from outcrop.index.candidates import add_times, find_candidates
from outcrop.index.columns import build_segment
from outcrop.index.describe import MAX_DEFINITIONS, cover_files, describe, find_declared
from outcrop.index.query import Symbol, read_query
from outcrop.index.segment import View
from outcrop.records import CodeNotes, Definition, FeedRow, Role
from outcrop.records.candidates import Candidates

Notes = tuple[str, str, str]
"""(name, kind, scope) of a declaration."""


def row(chunk_id: int, *defines: Notes, path: str = "src/other.py", text: str = "", role: Role = "") -> FeedRow:
    notes = CodeNotes(defines=tuple(Definition(*one) for one in defines))
    return feed_row(chunk_id, text, kind="code", path=path, role=role, code=notes)


def view_over(*rows: FeedRow, deleted: tuple[int, ...] = ()) -> View:
    """A view over these rows in two segments; `deleted` are chunk ids."""
    half = len(rows) // 2
    parts = [part for part in (rows[:half], rows[half:]) if part]
    gone = [np.array([item.chunk_id in deleted for item in part]) for part in parts]
    return view_of(*(build_segment(part, TERMS, 0, 0.0) for part in parts), deleted=gone)


def declared(
    view: View, query: str, allowed: set[int] | None = None, *, alone: bool = False
) -> dict[int, float]:
    """chunk id → sureness for the names of a query; only `allowed` chunks pass the filter."""
    masks: list[NDArray[np.bool_] | None] = [None] * len(view.segments)
    if allowed is not None:
        masks = [np.isin(segment.chunk_ids, list(allowed)) for segment in view.segments]
    found = find_declared(view, masks, read_query(query).symbols, alone=alone)
    return {int(view.segments[segment].chunk_ids[place]): sure for (segment, place), sure in found.items()}


def order(sureness: dict[int, float]) -> list[int]:
    """Chunk ids, the surest first; no two may be as sure."""
    assert len(set(sureness.values())) == len(sureness)
    return sorted(sureness, key=lambda chunk: -sureness[chunk])


def test_a_type_is_surer_than_a_function_and_that_surer_than_a_field() -> None:
    view = view_over(
        row(1, ("Pool", "field", "")), row(2, ("Pool", "class", "")), row(3, ("Pool", "function", ""))
    )
    assert order(declared(view, "Pool")) == [2, 3, 1]


def test_the_spelling_that_was_typed_is_surer_than_another_case() -> None:
    view = view_over(
        row(1, ("POOL", "class", "")), row(2, ("Pool", "class", "")), row(3, ("pool", "function", ""))
    )
    found = declared(view, "Pool")
    assert order(found)[0] == 2
    assert set(found) == {1, 2, 3}, "people type names as they remember them"
    found = declared(view, "pool()")
    assert found[3] > found[1] == found[2]


def test_a_name_in_the_scope_that_was_asked_for_is_surer_than_elsewhere() -> None:
    view = view_over(
        row(1, ("close", "method", "Lease")),
        row(2, ("close", "method", "Pool")),
        row(3, ("close", "function", "")),
    )
    for query in ("Pool.close", "Pool::close()", "pool->close", "app.Pool#close"):
        found = declared(view, query)
        assert max(found, key=lambda chunk: found[chunk]) == 2, query
        assert found[2] > found[1] == found[3]


def test_without_a_scope_what_stands_alone_is_surer_than_what_stands_in_a_class() -> None:
    view = view_over(row(1, ("close", "function", "Lease")), row(2, ("close", "function", "")))
    assert order(declared(view, "close")) == [2, 1]


def test_a_module_is_a_scope_too() -> None:
    view = view_over(
        row(1, ("acquire", "function", ""), path="src/lease.py"),
        row(2, ("acquire", "function", ""), path="src/pool.py"),
    )
    assert order(declared(view, "pool.acquire")) == [2, 1]


@pytest.mark.parametrize("path", ["connection_pool.py", "lib/ConnectionPool.java", "connection-pool/index.ts"])
def test_a_declaration_in_the_file_called_after_it_is_the_one(path: str) -> None:
    view = view_over(
        row(1, ("ConnectionPool", "class", "")), row(2, ("ConnectionPool", "class", ""), path=path)
    )
    found = declared(view, "ConnectionPool")
    assert order(found) == [2, 1]
    assert found[2] == 1.0


def test_where_a_name_is_all_that_was_typed_no_file_has_to_be_called_after_it() -> None:
    only = view_over(row(1, ("Pool", "class", "")), row(2, text="pool pool", path="src/pool.py"))
    assert declared(only, "Pool", alone=True) == {1: 1.0}
    assert declared(only, "Pool") == {1: 0.5}, "in a sentence it is one word of several"
    beside = view_over(row(1, ("Pool", "class", "")), row(2, ("Pool", "class", ""), path="src/pool.py"))
    assert declared(beside, "Pool", alone=True) == {1: 0.5, 2: 1.0}


def test_a_class_is_surer_than_its_constructor_in_another_file() -> None:
    view = view_over(
        row(1, ("Emitter", "constructor", "Emitter"), path="src/emitter.cpp"),
        row(2, ("Emitter", "class", "YAML"), path="include/emitter.h"),
    )
    found = declared(view, "Emitter")
    assert order(found) == [2, 1]
    assert found[1] < 0.5 * found[2]


def test_a_prototype_is_worth_little_beside_the_body() -> None:
    header = row(1, ("pool_open", "prototype", ""), path="include/pool.h")
    alone = declared(view_over(header), "pool_open")
    found = declared(view_over(header, row(2, ("pool_open", "function", ""), path="src/pool.c")), "pool_open")
    assert order(found) == [2, 1]
    assert found[1] == pytest.approx(0.3 * alone[1])


def test_another_name_for_a_type_is_worth_little_beside_the_type() -> None:
    alias = row(1, ("Field", "type", ""), path="field.go")
    alone = declared(view_over(alias), "Field")
    found = declared(view_over(alias, row(2, ("Field", "struct", ""), path="core/field.go")), "Field")
    assert alone == {1: 1.0}
    assert order(found) == [2, 1]
    assert found[1] == pytest.approx(0.4)


def test_a_row_with_several_declarations_is_as_sure_as_the_surest() -> None:
    both = view_over(row(1, ("pool", "field", ""), ("Pool", "class", ""), ("pool", "prototype", "")))
    alone = view_over(row(1, ("Pool", "class", "")))
    assert declared(both, "Pool") == declared(alone, "Pool")
    two = view_over(row(1, ("Pool", "class", ""), ("acquire", "field", "")))
    assert declared(two, "`Pool` and `acquire`") == declared(two, "Pool")


def test_removed_rows_and_those_the_filter_rules_out_declare_nothing() -> None:
    rows = [row(i, ("Pool", "class", "")) for i in range(1, 7)]
    assert set(declared(view_over(*rows, deleted=(2, 5)), "Pool")) == {1, 3, 4, 6}
    assert set(declared(view_over(*rows, deleted=(2, 5)), "Pool", allowed={1, 2, 6})) == {1, 6}
    assert declared(view_over(*rows), "Pool", allowed=set()) == {}


def test_modules_are_no_declarations_of_their_name() -> None:
    view = view_over(row(1, path="src/pool.py"), row(2, path="pool/a.py"))
    assert declared(view, "pool") == {}


def test_a_query_without_names_declares_nothing() -> None:
    view = view_over(row(1, ("closed", "class", "")))
    assert declared(view, "how are connections closed") == {}
    assert find_declared(view, (None,), ()) == {}


def test_of_a_name_declared_everywhere_only_so_many_are_looked_at_and_the_scope_decides_which() -> None:
    rows = [row(i, ("run", "method", f"Class{i}")) for i in range(1, 200)]
    view = view_of(build_segment(rows, TERMS, 0, 0.0))
    assert len(declared(view, "run()")) == MAX_DEFINITIONS
    found = declared(view, "Class150.run")
    assert 150 in found
    assert found[150] == max(found.values())


def test_a_name_that_means_nothing_in_code_is_not_there() -> None:
    view = view_over(row(1, ("Pool", "class", "")))
    assert find_declared(view, (None,), (Symbol("Nope"), Symbol("close", "Pool"))) == {}


# ------------------------------------------------------------------ what a file is called and what it is for


def described(view: View, query: str) -> Candidates:
    found = find_candidates(view, [None] * len(view.segments), weigh_terms("word", TERMS, view.segments), None)
    return describe(view, found, query, {}, TERMS)


def likeness(query: str, *paths: str) -> tuple[list[float], list[float]]:
    """How far the stem and the folders of files are what a query says."""
    view = view_over(*(row(i, path=path, text="word") for i, path in enumerate(paths, 1)))
    seen = described(view, query)
    return seen.stem.tolist(), seen.folder.tolist()


def test_a_file_whose_whole_name_is_asked_for_is_more_alike_than_one_that_shares_a_word() -> None:
    stem, _ = likeness(
        "connection pool", "a/connection_pool.py", "a/pool.py", "a/connection_pool_test_case.py", "a/queue.py"
    )
    assert stem[0] == 1.0
    assert 1 > stem[1] > 0
    assert 1 > stem[2] > 0
    assert stem[3] == 0


@pytest.mark.parametrize("query", ["connection_pool", "ConnectionPool", "connection-pool", "connectionPool()"])
def test_a_compound_is_its_parts_and_the_whole_of_it_is_nothing_more_that_is_asked(query: str) -> None:
    stem, folder = likeness(query, "a/connection_pool.py", "connection/pool/a.py")
    assert (stem[0], folder[1]) == (1.0, 1.0)


def test_a_name_is_less_alike_the_more_else_is_asked() -> None:
    queries = ("pool", "pool closing", "pool closing order after timeout")
    stems = [likeness(query, "src/pool.py")[0][0] for query in queries]
    assert stems == sorted(stems, reverse=True)
    assert stems[0] == 1 > stems[1] > stems[2] > 0


def test_styles_and_endings_of_words_do_not_matter_and_little_words_do_not_count() -> None:
    stem, _ = likeness(
        "how do the pools connect?", "a/PoolConnection.java", "a/pool-connecting.ts", "a/the_how.py"
    )
    assert stem[0] == stem[1] > 0 == stem[2]


def test_folders_count_by_the_share_of_the_query_they_hold() -> None:
    _, folder = likeness(
        "database pool", "database/pool/a.py", "app/database/b.py", "database/app/x/c.py", "d.py"
    )
    assert folder == [1.0, 0.5, 0.0, 0.0], "the two folders above a file"


def test_an_index_file_is_called_by_its_folder() -> None:
    stem, folder = likeness("pool", "app/pool/__init__.py", "pool/lease/index.ts")
    assert (stem, folder) == ([1.0, 0.0], [0.0, 1.0])


def test_the_files_of_prose_are_not_compared() -> None:
    view = view_over(
        feed_row(1, "word", path="docs/pool.md", kind="markdown"), row(2, path="pool.py", text="word")
    )
    seen = described(view, "docs pool")
    assert seen.stem[0] == seen.folder[0] == 0 < seen.stem[1]


def test_roles_headers_and_files_are_told_of_every_candidate() -> None:
    header = feed_row(
        2, "word", document_id=9, kind="code", path="a.py", role="test", code=CodeNotes(kind="header")
    )
    rows = [
        row(1, text="word", role="vendored"),
        header,
        feed_row(3, "word", document_id=9, kind="code", path="a.py", role="test", code=CodeNotes(kind="class")),
        feed_row(4, "word", kind="markdown", role="docs"),
    ]
    seen = described(view_over(*rows), "word")
    assert seen.chunk_id.tolist() == [1, 2, 3, 4]
    assert seen.role.tolist() == ["vendored", "test", "test", "docs"]
    assert seen.header.tolist() == [False, True, False, False]
    assert seen.file[1] == seen.file[2]
    assert len(set(seen.file.tolist())) == 3
    assert not seen.defines.any()


def test_how_surely_a_candidate_declares_reaches_its_entry() -> None:
    view = view_over(row(1, text="word"), row(2, ("Pool", "class", ""), text="word"), row(3, text="word"))
    sure = find_declared(view, [None, None], (Symbol("Pool"),))
    found = find_candidates(view, [None, None], weigh_terms("word", TERMS, view.segments), None, 200, sure)
    assert describe(view, found, "Pool", sure, TERMS).defines.tolist() == [0.0, next(iter(sure.values())), 0.0]


def test_nothing_found_is_described_as_nothing() -> None:
    view = view_over(row(1))
    seen = described(view, "word")
    assert len(seen) == len(seen.file) == len(seen.stem) == len(seen.role) == 0


# ------------------------------------------------------------------ what the passages of a file hold between them


def covered(rows: list[FeedRow], query: str) -> Candidates:
    view = view_over(*rows)
    words = weigh_terms(query, TERMS, view.segments)
    found = find_candidates(view, [None] * len(view.segments), words, None)
    return cover_files(words, describe(view, found, query, {}, TERMS))


@pytest.mark.parametrize("seed", range(5))
def test_a_file_covers_what_reading_all_its_passages_finds(seed: int) -> None:
    rng = random.Random(seed)
    texts = {chunk: " ".join(rng.choices(WORDS, k=rng.randrange(1, 4))) for chunk in range(1, 31)}
    files = {chunk: rng.randrange(1, 9) for chunk in texts}
    rows = [feed_row(chunk, text, document_id=files[chunk], kind="code") for chunk, text in texts.items()]
    for _ in range(10):
        asked = [*rng.sample(WORDS, rng.randrange(1, 5)), "absent"]
        rarity = weigh_terms(" ".join(asked), TERMS, view_over(*rows).segments)
        weights = {rarity.words[term]: weight for term, weight in rarity.weights.items()}
        seen = covered(rows, " ".join(asked))
        for i, chunk in enumerate(seen.chunk_id.tolist()):
            of_file = {
                word for other, text in texts.items() if files[other] == files[chunk] for word in text.split()
            }
            held = [word for word in asked if word in of_file]
            rare = sum(weights[word] for word in held) / sum(weights.values())
            assert seen.file_words[i] == pytest.approx(len(held) / len(asked))
            assert seen.file_rare_words[i] == pytest.approx(rare)


def test_each_word_counts_once_however_many_passages_hold_it() -> None:
    rows = [feed_row(i, "amber", document_id=1, kind="code") for i in (1, 2, 3)]
    seen = covered([*rows, feed_row(4, "amber basalt", kind="code")], "amber basalt")
    assert seen.file_words.tolist() == [0.5, 0.5, 0.5, 1.0]
    assert 0 < seen.file_rare_words[0] < 0.5, "the word that more rows hold is the lesser half"


def test_without_words_or_rows_nothing_is_covered() -> None:
    rows = [feed_row(1, "amber", kind="code")]
    assert len(covered(rows, "absent").file_words) == 0
    view = view_over(*rows)
    found = find_candidates(view, [None], weigh_terms("amber", TERMS, view.segments), None)
    seen = describe(view, found, "amber", {}, TERMS)
    assert (seen.file_words.tolist(), seen.file_rare_words.tolist()) == ([0], [0]), "until it is looked up"
    nothing = weigh_terms("", TERMS, view.segments)
    none = cover_files(nothing, add_times(seen, nothing))
    assert (none.file_words.tolist(), none.file_rare_words.tolist()) == ([0], [0])
