"""What stands beside a hit: its section, page or declaration comes along, from its own document only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.read.test_pack import make_answer, make_hit

import outcrop
from outcrop.rank.merge import merge_hits
from outcrop.read.beside import NEAR_SHARE, PART_SHARE, REACH, look_beside
from outcrop.read.pack import pack
from outcrop.records import CodeNotes, Explanation, Hit, StoredChunk


def stored(number: int, document: int = 1, /, **changes: object) -> StoredChunk:
    hit = make_hit(f"Text {number}.", document)
    chunk = StoredChunk(
        number, hit.document, number, 10 * number, 10 * number + 9, hit.text, 20, (), number, number, None
    )
    return replace(chunk, **changes)  # type: ignore[arg-type]


def found(chunk: StoredChunk, score: float = 0.8) -> Hit:
    return Hit.of(chunk, score, Explanation(1, 0.5, None, None, 0.5))


def look(
    hits: Sequence[Hit], chunks: Sequence[StoredChunk], *, parts_only: bool = False
) -> tuple[dict[int, float], dict[int, float]]:
    lifted, beside = look_beside(
        hits, lambda ids: [chunk for chunk in chunks if chunk.id in ids], parts_only=parts_only
    )
    scores = [{hit.chunk_ids[0]: round(hit.score, 6) for hit in some} for some in (lifted, beside)]
    return scores[0], scores[1]


def test_the_nearer_a_chunk_the_higher_it_scores() -> None:
    chunks = [stored(number) for number in range(1, 30)]
    hits, beside = look([found(chunks[9])], chunks)
    assert hits == {10: 0.8}
    assert beside.keys() == {*range(10 - REACH, 10), *range(11, 11 + REACH)}
    assert beside[9] == beside[11] == pytest.approx(0.8 * NEAR_SHARE)
    assert beside[8] == beside[12] == pytest.approx(0.8 * NEAR_SHARE**2)


@pytest.mark.parametrize(
    "same",
    [{"code": CodeNotes(symbol="Pool.take")}, {"heading_path": ("Plan", "Risks")}, {"page": 3}],
    ids=["declaration", "section", "page"],
)
def test_parts_of_one_thing_score_nearly_alike_and_can_be_all_that_is_wanted(same: dict[str, object]) -> None:
    chunks = [stored(1), stored(2, **same), stored(3, **same), stored(4)]
    _, beside = look([found(chunks[1])], chunks)
    assert beside[3] == pytest.approx(0.8 * PART_SHARE)
    assert beside[1] == pytest.approx(0.8 * NEAR_SHARE)
    _, parts = look([found(chunks[1])], chunks, parts_only=True)
    assert parts.keys() == {3}


def test_a_text_without_headings_is_not_one_section() -> None:
    chunks = [stored(1), stored(2)]
    assert look([found(chunks[0])], chunks, parts_only=True)[1] == {}


def test_a_hit_beside_a_better_one_of_its_declaration_is_lifted_and_says_why() -> None:
    notes = CodeNotes(symbol="Pool.take")
    doc, body = stored(1, code=notes), stored(2, code=notes)
    hits, beside = look_beside([found(doc, 0.9), found(body, 0.2)], lambda _: [])
    assert [round(hit.score, 2) for hit in hits] == [0.9, 0.81]
    assert hits[1].why.boosts[-1].name == "beside"
    assert beside == []


def test_chunks_of_other_documents_and_numbers_that_do_not_follow_are_left_alone() -> None:
    hit = found(stored(5))
    assert look([hit], [stored(4, 2), stored(6, 2)])[1] == {}
    assert look([hit], [stored(6, index=9)])[1] == {}


def test_without_hits_nothing_is_fetched() -> None:
    def fail(ids: Sequence[int]) -> Sequence[StoredChunk]:
        raise AssertionError(f"{ids} were fetched")

    assert look_beside([], fail) == ([], [])


def test_the_rest_of_a_section_is_packed_from_room_that_no_hit_needs() -> None:
    first, second = make_hit("One. " * 20, 1), make_hit("Two. " * 20, 2)
    part = replace(
        make_hit("Part. " * 20, 1), chunk_ids=(9,), index=1, start=200, end=300, gap="\n\n", score=0.4
    )

    def join(hits: Sequence[Hit]) -> Sequence[Hit]:
        return merge_hits(hits, len(hits), repeats=True)

    answer = make_answer(first, second)
    roomy = pack(answer, 1000, merge=join, beside=[part])
    assert [source.hit.chunk_ids for source in roomy.sources] == [(1, 9), (2,)]
    tight = pack(answer, pack(answer, 1000, merge=join).tokens + 4, merge=join, beside=[part])
    assert [source.hit.chunk_ids for source in tight.sources] == [(1,), (2,)]
    assert tight.left_out == ()


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    folder: Path = tmp_path_factory.mktemp("kb")
    rules = "\n\n".join(
        f"Rule {i}: a {word} is kept dry, counted every week and written into the book of the house."
        for i, word in enumerate(
            "anvil barrel candle drum easel fiddle grindstone hammer inkwell jug kettle".split()
        )
    )
    (folder / "house.md").write_text(
        f"# House\n\nWelcome.\n\n## Storage\n\n{rules}\n\n## Garden\n\nRoses bloom.\n"
    )
    with outcrop.open(folder / "index.db") as engine:
        engine.add(folder / "house.md")
        yield engine


def test_a_section_is_whole_where_there_is_room(kb: outcrop.Engine) -> None:
    (hit,) = kb.search('"a fiddle is kept dry"', merge=False).hits
    assert "Rule 0:" not in hit.text
    context = kb.context('"a fiddle is kept dry"', budget_tokens=2000)
    assert all(f"Rule {i}:" in context.text for i in range(11))
    assert "Roses" not in context.text
    assert not context.left_out
