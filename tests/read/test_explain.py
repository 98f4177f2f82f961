"""An answer explains itself: what its scores are made of, and what was considered and left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import outcrop
from outcrop.config import load_config
from outcrop.errors import QueryError
from outcrop.read.explain import MAX_LEFT_OUT
from outcrop.records import Answer, Explanation

PACKAGE = Path(outcrop.__file__).parent
PROSE = {
    "walks.md": "# Walks\n\nA walker starts at a seed and follows an edge, or starts again.\n\n## Rank\n\n"
    "What is visited most is what the rest leans on.\n",
    "budget.md": "# Budget\n\nA context is never over its token budget. Hits that do not fit are left out.\n",
    "copy-of-budget.md": "# Budget\n\nA context is never over its token budget. Hits that do not fit are left out.\n",
}
QUERIES = (
    "walk",
    "fuse_scores",
    "Graph.edges_from",
    "how are two rankings fused into one?",
    "where is the token budget kept?",
    "personalised pagerank from some nodes",
    "which declarations bear a name?",
    "boilerplate that repeats",
    "score people see",
    "what is never over budget",
    "usage of the merge option",
    "test for saturation",
)


class Reading:
    """A reranker that likes long texts."""

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        return [float(len(text)) for text in texts]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    folder = tmp_path_factory.mktemp("explained")
    (folder / "notes").mkdir()
    for name, text in PROSE.items():
        (folder / "notes" / name).write_text(text, "utf-8")
    config = load_config({"db": folder / "index.db"}, environ={})
    with outcrop.Engine(config, reranker=Reading()) as engine:
        engine.add(PACKAGE / "rank", collection="code")
        engine.add(PACKAGE / "index", collection="code")
        engine.add(folder / "notes")
        yield engine


def total(why: Explanation) -> float:
    return why.words + why.meaning + sum(boost.amount for boost in why.boosts)


VARIANTS: tuple[dict[str, object], ...] = (
    {},
    {"merge": False, "limit": 40},
    {"fusion": "rrf"},
    {"fusion": "rrf", "balance": 0.7},
    {"mode": "keyword"},
    {"mode": "semantic"},
    {"balance": 0.2, "reference_follow": 5.0},
    {"rerank": True, "rerank_seconds": 30.0},
)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_contributions_add_up_to_the_total_and_scores_never_rise(
    kb: outcrop.Engine, options: dict[str, object]
) -> None:
    seen = 0
    for query in QUERIES:
        answer = kb.search(query, explain=True, **options)  # type: ignore[arg-type]
        scores = [hit.score for hit in answer.hits]
        assert scores == sorted(scores, reverse=True)
        for item in (*answer.hits, *(left.hit for left in answer.left_out)):
            assert total(item.why) == pytest.approx(item.why.total, abs=1e-5)
            assert item.why.words + item.why.meaning == pytest.approx(item.why.fused, abs=1e-6)
            assert 0 < item.score < 1
            assert item.why.words >= 0
            assert item.why.meaning >= 0
            seen += 1
    assert seen > 100


def test_the_parts_of_a_score_are_named(kb: outcrop.Engine) -> None:
    names = set()
    for query in QUERIES:
        for hit in kb.search(query, rerank=True, rerank_seconds=30.0, limit=20).hits:
            names |= {boost.name for boost in hit.why.boosts}
    assert {"stretch", "definition", "file name", "coherence", "links", "rerank"} <= names


# ------------------------------------------------------------------ balance, reference_follow


def keys(answer: Answer) -> list[tuple[tuple[int, ...], float]]:
    return [(hit.chunk_ids, hit.score) for hit in answer.hits]


def test_the_ends_of_the_balance_are_words_only_and_meaning_only(kb: outcrop.Engine) -> None:
    for query in QUERIES:
        assert keys(kb.search(query, balance=0)) == keys(kb.search(query, mode="keyword"))
        assert keys(kb.search(query, balance=1.0)) == keys(kb.search(query, mode="semantic"))


def test_the_balance_moves_what_the_legs_give(kb: outcrop.Engine) -> None:
    query = "how are two rankings fused into one?"
    shares = []
    for balance in (0.1, 0.5, 0.9):
        hits = kb.search(query, balance=balance, limit=20).hits
        shares.append(sum(hit.why.meaning for hit in hits) / sum(hit.why.fused for hit in hits))
    assert shares == sorted(shares)
    assert shares[0] < 0.4
    assert shares[2] > 0.6


def test_following_references_lifts_more_the_more_it_is_told_to_and_nothing_at_0(kb: outcrop.Engine) -> None:
    def lifted(follow: float) -> float:
        hits = kb.search("walk", reference_follow=follow, limit=30, merge=False).hits
        return sum(boost.amount for hit in hits for boost in hit.why.boosts if boost.name == "links")

    assert lifted(0) == 0
    assert 0 < lifted(1.0) < lifted(4.0)
    assert keys(kb.search("walk")) == keys(kb.search("walk", reference_follow=1.0))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("balance", value) for value in (-0.1, 1.1, float("nan"), float("inf"))),
        *(("reference_follow", value) for value in (-1.0, 10.5, float("nan"), float("inf"))),
    ],
)
def test_a_wrong_balance_is_refused_with_what_is_allowed(kb: outcrop.Engine, option: str, value: float) -> None:
    with pytest.raises(QueryError, match=f"{option} must lie between 0 .*and 10?"):
        kb.search("walk", **{option: value})  # type: ignore[arg-type]


# ------------------------------------------------------------------ what was left out


def reasons(answer: Answer) -> set[str]:
    return {item.reason for item in answer.left_out}


def test_nothing_is_told_of_what_was_left_out_unless_it_is_asked_for(kb: outcrop.Engine) -> None:
    assert kb.search("walk", explain=True).left_out
    assert not kb.search("walk").left_out


def test_what_is_left_out_comes_best_first_is_no_hit_and_is_bounded(kb: outcrop.Engine) -> None:
    for query in QUERIES:
        answer = kb.search(query, explain=True, limit=3)
        scores = [item.hit.score for item in answer.left_out]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) <= MAX_LEFT_OUT
        ids = [item.hit.chunk_ids[0] for item in answer.left_out]
        assert len(ids) == len(set(ids))
        own = {hit.chunk_ids for hit in answer.hits if len(hit.chunk_ids) == 1}
        assert not own & {(id_,) for id_ in ids}
        assert keys(answer) == keys(kb.search(query, limit=3)), "to explain changes nothing"


def test_past_the_limit_and_below_the_cutoff_are_told_apart(kb: outcrop.Engine) -> None:
    assert "past the limit" in reasons(kb.search("walk", explain=True, limit=1))
    cut = kb.search("walk", explain=True, limit=40, cutoff=0.9)
    assert "below cutoff" in reasons(cut)
    least = min(hit.score for hit in cut.hits)
    assert all(item.hit.score < least for item in cut.left_out if item.reason == "below cutoff")


def test_below_the_floor_and_too_far_are_told_apart(kb: outcrop.Engine) -> None:
    answer = kb.search("zzyzx", explain=True, floor=1.0)
    assert not answer.hits
    assert reasons(answer) == {"below floor"}
    far = kb.search("walk", explain=True, max_distance=0.3)
    assert "too far" in reasons(far)
    for item in far.left_out:
        if item.reason == "too far":
            assert item.hit.distance is None or item.hit.distance > 0.3


def test_the_same_text_names_the_hit_that_has_it(kb: outcrop.Engine) -> None:
    answer = kb.search("context is never over its token budget", explain=True)
    (twin,) = [item for item in answer.left_out if item.reason == "same text as"]
    assert twin.number is not None
    assert twin.told == f"same text as {twin.number}"
    hit = answer.hits[twin.number - 1]
    assert {hit.document.path, twin.hit.document.path} == {"budget.md", "copy-of-budget.md"}


def test_a_merged_chunk_names_the_hit_it_went_into(kb: outcrop.Engine) -> None:
    merged = 0
    for query in QUERIES:
        answer = kb.search(query, explain=True)
        for item in answer.left_out:
            if item.reason == "merged into":
                assert item.number is not None
                assert item.told == f"merged into {item.number}"
                hit = answer.hits[item.number - 1]
                assert item.hit.chunk_ids[0] in hit.chunk_ids
                assert item.hit.score <= hit.score
                merged += 1
        parts = sum(len(hit.chunk_ids) - 1 for hit in answer.hits)
        if parts < MAX_LEFT_OUT // 2:
            told = sum(item.reason == "merged into" for item in answer.left_out)
            assert told <= parts
    assert merged > 3


def test_a_later_page_does_not_tell_what_earlier_hits_took_in(kb: outcrop.Engine) -> None:
    for query in QUERIES:
        first = kb.search(query, limit=5)
        second = kb.search(query, limit=5, offset=5, explain=True)
        shown = {id_ for hit in first.hits for id_ in hit.chunk_ids}
        assert not shown & {item.hit.chunk_ids[0] for item in second.left_out}
        numbers = [item.number for item in second.left_out if item.number is not None]
        assert all(1 <= number <= len(second.hits) for number in numbers)


def test_boilerplate_that_is_shown_already_is_told(tmp_path: Path) -> None:
    licence = "# Copyright Acme. Use of this zebra software is free for all purposes.\n" * 3
    for name in ("one", "two", "three"):
        (tmp_path / "repo").mkdir(exist_ok=True)
        (tmp_path / "repo" / f"{name}.py").write_text(
            f"{licence}import {name}\n\n\ndef {name}():\n    return 1\n"
        )
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(tmp_path / "repo")
        answer = kb.search("zebra software licence", explain=True)
    assert "boilerplate" in reasons(answer)


# ------------------------------------------------------------------ contexts


def test_a_context_tells_what_it_dropped_and_why(kb: outcrop.Engine) -> None:
    context = kb.context("how are rankings fused within the token budget?", budget_tokens=400, explain=True)
    assert context.tokens <= 400
    told = {item.reason for item in context.dropped}
    assert {"no room", "below cutoff"} <= told
    packed = {id_ for source in context.sources for id_ in source.hit.chunk_ids}
    assert not packed & {item.hit.chunk_ids[0] for item in context.dropped}
    assert {hit.chunk_ids[0] for hit in context.left_out} <= {item.hit.chunk_ids[0] for item in context.dropped}
    for item in context.dropped:
        if item.number is not None:
            assert item.told.endswith(f" {item.number}")
            assert 1 <= item.number <= len(context.sources)


def test_a_context_that_is_not_asked_to_explain_tells_what_had_no_room(kb: outcrop.Engine) -> None:
    context = kb.context("how are rankings fused within the token budget?", budget_tokens=400)
    assert context.left_out
    assert [item.reason for item in context.dropped] == ["no room"] * len(context.left_out)


@pytest.mark.parametrize("budget", [150, 400, 900])
def test_a_shortened_source_says_from_how_many_tokens_to_how_many(kb: outcrop.Engine, budget: int) -> None:
    for query in QUERIES:
        for context in (
            kb.context(query, budget_tokens=budget, cutoff=0.0),
            kb.code_context(query, budget_tokens=budget, explain=True),
        ):
            assert context.tokens <= budget
            for source in context.sources:
                if not source.truncated:
                    assert source.whole_tokens is source.shown_tokens is None
                else:
                    assert source.whole_tokens is not None
                    assert source.shown_tokens is not None
                    assert 0 < source.shown_tokens < source.whole_tokens
                    assert source.shown_tokens <= budget


def test_a_context_of_code_explains_what_it_dropped(kb: outcrop.Engine) -> None:
    context = kb.code_context("walk", budget_tokens=300, explain=True, limit=60)
    told = {item.reason for item in context.dropped}
    assert "no room" in told
    packed = {id_ for source in context.sources for id_ in source.hit.chunk_ids}
    assert not packed & {item.hit.chunk_ids[0] for item in context.dropped}
