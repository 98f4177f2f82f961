"""Quoted phrases: required where plainly meant so, credited in a pasted text, dropped where nothing holds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.index.searched import SearchedSqlite, Signs

import outcrop
from outcrop.config import load_config
from outcrop.engine import reading
from outcrop.read.rank import MAX_PHRASES, READ_CANDIDATES, find_held
from outcrop.records import Message, Text
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.text.terms import Terms

REPORT = """Crash when the spool is full

Since the upgrade the daemon stops. The log says "spool directory refused the ticket" and nothing else, with a
configuration of {"mode": "strict", "retry": 3}. I expected the daemon to wait. It does not depend on "the weather".
"""
TEXTS = {
    "pool.md": "The daemon keeps a spool. When the spool is full the daemon should wait, and the upgrade says so.",
    "errors.md": "Messages: spool directory refused the ticket. Another one: ticket lost.",
    "words.md": "The directory of the spool has a ticket; who is refused may log in again.",
    "other.md": "Roses are pruned in late winter.",
}


@pytest.fixture(params=["arrays", "searched in place"])
def kb(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[outcrop.Engine]:
    """An engine over each way of searching."""
    if request.param != "arrays":
        deriver = SearchDeriver(Terms(), Signs.path_weight)
        monkeypatch.setattr(reading, "open_store", lambda path, *_, **__: SearchedSqlite(path, deriver))
    config = load_config({"db": tmp_path / "index.db"}, environ={})
    with outcrop.Engine(config, embedder=Signs()) as engine:
        engine.add_texts(Text(text, id=name, title=name) for name, text in TEXTS.items())
        yield engine


def uris(answer: outcrop.Answer) -> list[str]:
    return [hit.document.uri for hit in answer.hits]


def test_a_pasted_report_with_quotation_marks_finds_what_it_finds_without_them(kb: outcrop.Engine) -> None:
    marked, bare = kb.search(REPORT), kb.search(REPORT.replace('"', " "))
    assert set(uris(marked)) == set(uris(bare)) != set()
    assert marked.query_type == bare.query_type
    assert marked.unmatched_phrases == ()
    assert marked.detail == ""


def test_a_passage_that_holds_what_a_report_quotes_is_credited_and_says_so(kb: outcrop.Engine) -> None:
    hits = {hit.document.uri: hit for hit in kb.search(REPORT).hits}
    boosts = {uri: {boost.name for boost in hit.why.boosts} for uri, hit in hits.items()}
    assert "quoted" in boosts["errors.md"]
    assert "quoted" not in boosts["words.md"], "it has the words, not the phrase"
    assert hits["errors.md"].why.matched_phrases[0] == "spool directory refused the ticket"


def test_a_phrase_of_a_short_query_still_rules_the_rest_out(kb: outcrop.Engine) -> None:
    answer = kb.search('why "refused the ticket" in the log')
    assert uris(answer) == ["errors.md"]
    assert answer.query_type == "exact"


def test_a_phrase_that_stands_nowhere_is_dropped_and_the_answer_says_so(kb: outcrop.Engine) -> None:
    answer = kb.search('"ticket refused the spool"')
    assert {"errors.md", "words.md"} <= set(uris(answer))
    assert answer.unmatched_phrases == ("ticket refused the spool",)
    assert answer.reason is None
    assert '"ticket refused the spool"' in answer.detail
    assert "without the quotation marks" in answer.detail


def test_phrases_that_do_not_stand_together_are_dropped_together(kb: outcrop.Engine) -> None:
    answer = kb.search('"late winter" "ticket lost"')
    assert {"errors.md", "other.md"} <= set(uris(answer))
    assert answer.unmatched_phrases == ("late winter", "ticket lost")
    assert "together" in answer.detail


def test_a_phrase_outside_the_filter_is_dropped_within_it(kb: outcrop.Engine) -> None:
    (document,) = [found.id for found in kb.documents() if found.uri == "words.md"]
    answer = kb.search('"refused the ticket"', documents=[document])
    assert uris(answer) == ["words.md"]
    assert "that passes the filters" in answer.detail
    nothing = kb.search('"refused the ticket"', tags=["no such tag"])
    assert (nothing.hits, nothing.reason) == ((), "filtered_out")


def test_a_dropped_phrase_keeps_a_type_that_was_forced(kb: outcrop.Engine) -> None:
    assert kb.search('"ticket refused the spool"', query_type="exact").query_type == "exact"
    assert kb.search('"ticket refused the spool"').query_type == "semantic"


def test_a_context_says_that_a_phrase_was_dropped(kb: outcrop.Engine) -> None:
    for context in (
        kb.context('"ticket refused the spool"', budget_tokens=500),
        kb.code_context('"ticket refused the spool"', budget_tokens=500),
    ):
        assert context.sources
        assert context.unmatched_phrases == ("ticket refused the spool",)
        assert "without the quotation marks" in context.detail


def test_a_conversation_with_quotation_marks_gets_a_context(kb: outcrop.Engine) -> None:
    context = kb.code_context([Message("user", REPORT)], budget_tokens=800)
    assert "refused the ticket" in context.text
    assert context.unmatched_phrases == ()


def test_of_a_pasted_file_few_phrases_and_candidates_are_read(kb: outcrop.Engine) -> None:
    asked: list[int] = []
    store = kb.parts.retriever._store
    chunks = store.chunks

    class Counting:
        def chunks(self, ids: list[int]) -> object:
            asked.extend(ids)
            return chunks(ids)

    ids = np.arange(1, 2000, dtype=np.int64)
    scores = np.zeros(len(ids), np.float32)
    phrases = [f"value number {i}" for i in range(500)]
    held = find_held(Counting(), ["refused the ticket", *phrases], ids, scores)  # type: ignore[arg-type]
    assert len(asked) == READ_CANDIDATES
    assert len(held) <= MAX_PHRASES
    asked.clear()
    find_held(Counting(), ["word", "x" * 50], ids, scores)  # type: ignore[arg-type]
    assert asked == [], "single words are looked up as such already"


def test_a_phrase_that_every_candidate_holds_says_little(kb: outcrop.Engine) -> None:
    kb.add_texts(Text(f"the spool is full again {i}", id=f"more {i}") for i in range(40))
    long = "Nothing works here since yesterday and nobody knows why this is so, "
    hits = kb.search(f'{long} the log says "refused the ticket" and "spool is full"', limit=50).hits
    added = {
        hit.document.uri: next((b.amount for b in hit.why.boosts if b.name == "quoted"), 0.0) for hit in hits
    }
    assert added["errors.md"] > 3 * added["more 1"] > 0
