"""Ordered chunks to hits: neighbours joined, duplicates once, the limit filled."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outcrop.rank.merge import MAX_MERGED, Fate, Merger, merge_hits
from outcrop.records import CodeNotes, DocumentInfo, Explanation, Hit, StoredChunk


def document(id_: int) -> DocumentInfo:
    return DocumentInfo(
        *(id_, "main", f"/d{id_}.md", f"d{id_}.md", "file", None, "markdown", f"Title {id_}", (), {}),
        *("0", None, None, 0.0, 0.0, 9, 99),
    )


def chunks_of(
    id_: int, text: str, cuts: Sequence[tuple[int, int]], pages: Sequence[int | None] = ()
) -> list[StoredChunk]:
    """Chunks cut from a text, with the gaps a store would keep."""
    ends = [0, *(end for _, end in cuts)]
    return [
        StoredChunk(
            id=100 * id_ + i,
            document=document(id_),
            index=i,
            start=start,
            end=end,
            text=text[start:end],
            tokens=end - start,
            heading_path=(f"Part {i}",),
            line_start=i + 1,
            line_end=i + 1,
            page=pages[i] if pages else None,
            gap=text[ends[i] : start] if ends[i] < start else "",
        )
        for i, (start, end) in enumerate(cuts)
    ]


def plain(id_: int, count: int, pages: Sequence[int | None] = ()) -> tuple[str, list[StoredChunk]]:
    """A document of short chunks with blank space between them."""
    text, cuts = "", []
    for i in range(count):
        text += " \n"[i % 2] * (i % 3)
        cuts.append((len(text), len(text) + len(f"d{id_}c{i}.")))
        text += f"d{id_}c{i}."
    return text, chunks_of(id_, text, cuts, pages)


def scored(chunks: Sequence[StoredChunk], order: Sequence[int]) -> list[Hit]:
    """These chunks, best first."""
    return [
        Hit.of(chunks[i], 0.9 - 0.01 * rank, Explanation(rank + 1, 0.5, None, 0.4, 0.5, (), (f"t{i}",)))
        for rank, i in enumerate(order)
    ]


def merge(hits: Iterable[Hit], limit: int) -> tuple[list[Hit], dict[int, Fate]]:
    """The hits, and what became of the others."""
    merger = Merger(limit)
    for hit in hits:
        assert merger.add(hit)
    return merger.hits(), merger.fates


def indexes(hit: Hit) -> list[int]:
    return [chunk_id % 100 for chunk_id in hit.chunk_ids]


def test_neighbours_become_one_hit_with_the_better_score() -> None:
    text, chunks = plain(1, 6)
    (hit,) = merge_hits(scored(chunks, [3, 4, 2]), 10)
    assert indexes(hit) == [2, 3, 4]
    assert hit.text == text[hit.start : hit.end]
    assert (hit.score, hit.index, hit.line_start, hit.line_end) == (0.9, 2, 3, 5)
    assert hit.tokens == sum(chunk.tokens for chunk in chunks[2:5])
    assert hit.heading_path == ("Part 3",)
    assert hit.why.matched_terms == ("t3", "t4", "t2")
    assert hit.distance == pytest.approx(0.6)


def test_a_chunk_that_closes_a_gap_makes_one_hit_of_two_and_the_limit_is_still_filled() -> None:
    text, chunks = plain(1, 12)
    hits = merge_hits(scored(chunks, [4, 2, 3, 8, 10]), 2)
    assert [indexes(hit) for hit in hits] == [[2, 3, 4], [8]]
    assert hits[0].score == 0.9
    assert hits[0].text == text[hits[0].start : hits[0].end]


def test_of_two_hits_with_one_score_the_earlier_gives_the_place() -> None:
    _, chunks = plain(1, 12)
    equal = [replace(hit, score=0.5) for hit in scored(chunks, [4, 8, 2, 3])]
    assert [indexes(hit) for hit in merge_hits(equal, 4)] == [[2, 3, 4], [8]]


@pytest.mark.parametrize(
    ("order", "merged"),
    [
        ([3, 4, 2], {104: 103, 102: 103}),
        ([2, 4, 3], {103: 102, 104: 102}),  # the last one closes the gap
        ([4, 2, 3], {103: 102, 102: 104}),
    ],
)
def test_what_was_merged_is_told_with_the_chunk_it_went_to(order: list[int], merged: dict[int, int]) -> None:
    (hit,), fates = merge(scored(plain(1, 6)[1], order), 10)
    assert fates == {chunk: Fate("merged into", other) for chunk, other in merged.items()}
    assert sorted([*fates, 100 + order[0]]) == list(hit.chunk_ids)


def test_two_hits_that_are_one_with_what_lies_between_may_hold_as_many_chunks_as_allowed() -> None:
    (hit,) = merge_hits(scored(plain(1, 6)[1], [0, 1, 3, 4, 5, 2]), 10)
    assert len(hit.chunk_ids) == MAX_MERGED == 6


def test_a_hit_never_holds_more_chunks_than_allowed() -> None:
    _, chunks = plain(1, 20)
    hits = merge_hits(scored(chunks, range(20)), 10)
    assert [len(hit.chunk_ids) for hit in hits] == [MAX_MERGED, MAX_MERGED, MAX_MERGED, 2]
    full = merge_hits(scored(chunks, [0, 1, 2, 4, 5, 6, 3]), 10)
    assert sorted(map(indexes, full)) == [[0, 1, 2, 3], [4, 5, 6]]


def test_pages_are_never_merged_across() -> None:
    _, chunks = plain(1, 6, [1, 1, 1, 2, 2, 2])
    hits = merge_hits(scored(chunks, [2, 3, 1, 4, 0, 5]), 10)
    assert [(indexes(hit), hit.page) for hit in hits] == [([0, 1, 2], 1), ([3, 4, 5], 2)]


def test_documents_are_never_merged_across() -> None:
    _, one = plain(1, 2)
    _, two = plain(2, 2)
    hits = merge_hits(scored([one[0], two[1], one[1], two[0]], range(4)), 10)
    assert [hit.document.id for hit in hits] == [1, 2]
    assert all(indexes(hit) == [0, 1] for hit in hits)


def test_the_same_text_is_returned_once() -> None:
    one = chunks_of(1, "same text", [(0, 9)])
    two = chunks_of(2, "same \n text", [(0, 11)])
    assert [hit.document.id for hit in merge_hits(scored([two[0], one[0]], [0, 1]), 10)] == [2]


def test_without_merging_each_chunk_is_a_hit() -> None:
    _, chunks = plain(1, 5)
    hits = merge_hits(scored(chunks, [2, 1, 3]), 2, merge=False)
    assert [indexes(hit) for hit in hits] == [[2], [1]]


def test_no_more_is_read_than_is_needed() -> None:
    _, chunks = plain(1, 30)
    feed = iter(scored(chunks, range(0, 30, 2)))
    assert len(merge_hits(feed, 3)) == 3
    assert len(list(feed)) == 11, "one chunk past the limit shows that the hits are complete"


def test_overlapping_chunks_give_their_common_part_once() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    chunks = chunks_of(1, text, [(0, 19), (10, 30), (26, 44)])
    (hit,) = merge_hits(scored(chunks, [1, 0, 2]), 5)
    assert hit.text == text


@pytest.mark.parametrize(
    ("lexical", "dense", "expected"), [(1, None, "keyword"), (None, 1, "semantic"), (2, 3, "both")]
)
def test_a_hit_says_which_leg_found_it(lexical: int | None, dense: int | None, expected: str) -> None:
    assert Explanation(lexical, None, dense, None, 0.1).match_type == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans())
def test_hits_of_any_order_are_whole_and_in_order(seed: int, limit: int, overlap: bool) -> None:
    rng = random.Random(seed)
    texts, chunks = {}, []
    for id_ in range(1, rng.randrange(2, 5)):
        texts[id_] = "".join(rng.choices("abc d\n", k=120))
        starts = sorted(rng.sample(range(100), rng.randrange(1, 9)))
        cuts = [(a, b + (rng.randrange(4) if overlap else 0)) for a, b in pairwise([*starts, 110])]
        chunks += chunks_of(id_, texts[id_], cuts, [rng.choice([1, 1, 1, 2]) for _ in cuts])
    rng.shuffle(chunks)
    hits = merge_hits(scored(chunks, range(len(chunks))), limit)
    assert 0 < len(hits) <= limit
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    taken = [chunk_id for hit in hits for chunk_id in hit.chunk_ids]
    assert len(taken) == len(set(taken))
    by_id = {chunk.id: chunk for chunk in chunks}
    for hit in hits:
        assert hit.text == texts[hit.document.id][hit.start : hit.end]
        assert len(hit.chunk_ids) <= MAX_MERGED
        assert {by_id[chunk_id].page for chunk_id in hit.chunk_ids} == {hit.page}
        assert list(indexes(hit)) == list(range(hit.index, hit.index + len(hit.chunk_ids)))
    if len(hits) < limit:
        distinct = {" ".join(chunk.text.split()) for chunk in chunks}
        assert {" ".join(by_id[chunk_id].text.split()) for chunk_id in taken} == distinct


def test_a_joined_hit_is_about_the_code_of_its_best_chunk() -> None:
    _, chunks = plain(1, 3)
    notes = [CodeNotes(kind="header"), CodeNotes(symbol="Pool", kind="class"), CodeNotes(symbol="Lease")]
    coded = [replace(chunk, code=note) for chunk, note in zip(chunks, notes, strict=True)]
    (hit,) = merge_hits(scored(coded, [1, 0, 2]), 5)
    assert hit.chunk_ids == (100, 101, 102)
    assert hit.code == notes[1]
    assert [one.code for one in merge_hits(scored(coded, [1, 0, 2]), 5, merge=False)] == [
        notes[i] for i in (1, 0, 2)
    ]


LICENCE = "# Licensed under the Apache License\n# without warranties of any kind\n"


def heads(*texts: str, kind: str = "header", documents: Sequence[int] = ()) -> list[Hit]:
    """Hits with these texts, best first, each of a document of its own unless said."""
    numbers = documents or range(1, len(texts) + 1)
    chunks = [chunks_of(id_, text, [(0, len(text))])[0] for id_, text in zip(numbers, texts, strict=True)]
    coded = [replace(chunk, index=2 * i, code=CodeNotes(kind=kind)) for i, chunk in enumerate(chunks)]
    return scored(coded, range(len(coded)))


def test_boilerplate_that_another_file_has_shown_is_left_out_unless_it_is_asked_for() -> None:
    hits = heads(LICENCE + "import os\n", LICENCE + "import json\n\n", "import socket\n", "  " + LICENCE)
    assert [hit.document.id for hit in merge_hits(hits, 10)] == [1, 3]
    assert [hit.document.id for hit in merge_hits(hits, 10, merge=False)] == [1, 3]
    assert [hit.document.id for hit in merge_hits(hits, 10, repeats=True)] == [1, 2, 3, 4]


def test_boilerplate_is_repeated_when_one_other_file_shows_half_of_it() -> None:
    first = LICENCE.partition("\n")[0]
    hits = heads(LICENCE, "import os\n", f"{first}\nimport os\nimport json\n")
    assert [hit.document.id for hit in merge_hits(hits, 10)] == [1, 2]
    hits = heads(LICENCE, f"{first}\nimport one_that_is_long\nimport another_that_is_longer\n")
    assert [hit.document.id for hit in merge_hits(hits, 10)] == [1, 2], "most of it is new"


def test_code_that_does_something_and_parts_of_one_file_are_never_repetition() -> None:
    texts = ("def get(url):\n    return send('GET', url)\n", "def get(url):\n    return send('GET', url, 3)\n")
    assert len(merge_hits(heads(*texts, kind="function"), 10)) == 2
    again = ("import os\nimport json\n# a\n", "import os\nimport json\n# b\n")
    assert len(merge_hits(heads(*again, documents=(1, 1)), 10)) == 2
    assert len(merge_hits(heads(*again), 10)) == 1


def test_half_of_a_head_is_enough_and_code_that_shares_lines_with_one_is_code() -> None:
    half = heads("import alpha\nimport delta", "import alpha\nimport gamma")
    assert len(merge_hits(half, 10)) == 1
    (head,), (code,) = heads("import alpha\nimport delta"), heads("import alpha\nimport gamma", kind="function")
    code = replace(code, chunk_ids=(900,), document=document(9))
    assert len(merge_hits([head, code], 10)) == 2


def test_what_is_no_hit_of_its_own_is_told_with_the_reason() -> None:
    hits = heads("same words", "same  words", LICENCE, LICENCE + "import os\n", kind="header")
    _, fates = merge(hits, 10)
    assert fates == {200: Fate("same text as", 100), 400: Fate("boilerplate")}
