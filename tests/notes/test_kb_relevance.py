"""A right note comes back whatever the size of the index, an unrelated question stays without an answer."""

from __future__ import annotations

import pytest
from tests.notes.asked_notes import ASKED, BORDERLINE, NOTES, RIGHT_AT_LEAST, UNRELATED

from outcrop.engine import Engine
from outcrop.errors import EmbedError
from outcrop.notes import KnowledgeBase
from outcrop.notes.relevance import relevance
from outcrop.records import Explanation, Text


@pytest.fixture
def noted(kb: KnowledgeBase, engine: Engine) -> KnowledgeBase:
    for path, text in NOTES.items():
        kb.write(path, text)
    engine.embed_pending()
    return kb


def missed(kb: KnowledgeBase) -> list[str]:
    """Questions whose note does not come back."""
    return [query for query, note in ASKED if note not in [hit.document.path for hit in kb.search(query).hits]]


def test_right_notes_come_back(noted: KnowledgeBase) -> None:
    assert len(missed(noted)) <= len(ASKED) - RIGHT_AT_LEAST, missed(noted)
    first = [noted.search(query).hits[:1] for query, _ in ASKED]
    right = [hits and hits[0].document.path == note for hits, (_, note) in zip(first, ASKED, strict=True)]
    assert sum(map(bool, right)) >= 22


@pytest.mark.parametrize("query", UNRELATED)
def test_an_unrelated_question_comes_back_empty(query: str, noted: KnowledgeBase) -> None:
    answer = noted.search(query)
    assert (answer.hits, answer.reason) == ((), "no_hits")


def test_an_unrelated_question_that_shares_a_word_scores_low_at_most(noted: KnowledgeBase) -> None:
    """A known weakness: such a note may be shown, but never as a good one."""
    assert all(hit.score < 0.4 for hit in noted.search(BORDERLINE).hits)


def test_scores_fit_the_bands_an_agent_is_told(noted: KnowledgeBase) -> None:
    """Above 0.6 a note is usually right, and most right notes are there; scores descend."""
    strong = [
        (hit.document.path, note)
        for query, note in ASKED
        for hit in noted.search(query).hits
        if hit.score > 0.6
    ]
    right = [path == note for path, note in strong]
    assert sum(right) >= 2 * len(ASKED) / 3
    assert sum(right) >= 0.75 * len(right)
    for query, _ in ASKED:
        scores = [hit.score for hit in noted.search(query, limit=10).hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0.3 <= score <= 1 for score in scores)


def test_notes_are_found_beside_a_large_index(noted: KnowledgeBase, engine: Engine) -> None:
    """The floor does not move with what else is indexed."""
    texts = [
        Text(
            f"guide-{number}", f"Chapter {number}. " + " ".join(list(NOTES.values())[number % 10].split()[::-1])
        )
        for number in range(300)
    ]
    engine.add_texts(texts, collection="guides")
    assert len(missed(noted)) <= len(ASKED) - RIGHT_AT_LEAST, missed(noted)
    assert not noted.search("When did Krakatoa erupt?").hits


def test_a_single_note_is_found(kb: KnowledgeBase, engine: Engine) -> None:
    kb.write("api", "The authentication method is JWT tokens with 1-hour expiry.\n")
    for embedded in (False, True):
        if embedded:
            engine.embed_pending()
        for query in ("authentication method", "What authentication method do I use?"):
            assert [hit.score > 0.6 for hit in kb.search(query).hits] == [True], (query, embedded)


def test_a_note_just_written_is_found_by_its_words(kb: KnowledgeBase) -> None:
    for path, text in NOTES.items():
        kb.write(path, text)
    assert len(missed(kb)) <= 6, missed(kb)
    assert not kb.search("When did Krakatoa erupt?").hits


def test_notes_are_found_by_their_words_while_the_model_fails(
    noted: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, text: str) -> object:
        raise EmbedError("the endpoint is away")

    monkeypatch.setattr("outcrop.embed.static.StaticEmbedder.embed_query", fail)
    answer = noted.search("authentication method of the orders API")
    assert answer.hits[0].document.path == "projects/orders/auth.md"
    assert answer.reason == "error"


def test_either_words_or_meaning_is_enough() -> None:
    def scored(coverage: float, similarity: float | None) -> float:
        return relevance(Explanation(None, None, None, similarity, 0.0, coverage=coverage))

    assert scored(1.0, 0.0) > 0.7
    assert scored(0.0, 0.8) > 0.7
    assert scored(0.0, 0.0) < scored(0.0, 0.3) < 0.3
    assert scored(0.25, 0.25) < 0.3 < scored(0.5, 0.25)
    assert scored(0.5, None) == scored(0.5, 0.25)  # no vector yet is not the same as nothing in common
    assert scored(0.5, -0.4) == scored(0.5, 0.0)
