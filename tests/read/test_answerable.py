"""Whether the index answers at all: told beside the hits, on every face."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.read.explain import NOT_HERE

SOURCES = Path(outcrop.__file__).parent
HERE = ("how are two lists of hits fused", "where are copies merged", "which columns does a signal make")
ELSEWHERE = (
    "which wines go with a long dinner in spring",
    "opening hours of the swimming pool",
    "tax return deadline for freelancers",
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path_factory.mktemp("index") / "i.db") as engine:
        engine.add(SOURCES / "rank")
        engine.add(SOURCES / "read")
        yield engine


@pytest.mark.parametrize("question", HERE)
def test_a_question_that_is_answered_is_not_doubted(kb: outcrop.Engine, question: str) -> None:
    answer = kb.search(question)
    assert answer.answerable is not None
    assert not answer.is_doubtful
    assert NOT_HERE not in answer.detail
    assert NOT_HERE not in kb.code_context(question).detail


@pytest.mark.parametrize("question", ELSEWHERE)
def test_a_question_about_something_else_is_told_so(kb: outcrop.Engine, question: str) -> None:
    answer = kb.search(question)
    assert answer.answerable is not None
    assert answer.is_doubtful
    assert answer.hits
    assert answer.reason is None
    assert NOT_HERE in answer.detail
    assert max(hit.score for hit in answer.hits) <= answer.answerable + 1e-6
    for context in (kb.context(question), kb.code_context(question)):
        assert context.is_doubtful
        assert NOT_HERE in context.detail


def test_nothing_found_is_no_chance_and_one_leg_alone_is_not_judged(kb: outcrop.Engine) -> None:
    assert kb.search("zzyzx qwfpgj").answerable == 0.0
    assert kb.search(HERE[0], mode="keyword").answerable is None
    assert kb.search('"weighted sum"').answerable is None


def test_the_score_of_prose_is_nearly_the_same_with_and_without_a_filter(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as engine:
        engine.add(SOURCES / "rank", collection="code")
        engine.add(
            text="# Leave\n\nOffice staff apply for parental leave eight weeks ahead.",
            id="l.md",
            collection="office",
        )
        everywhere = engine.search("how many weeks ahead do I apply for parental leave").hits[0]
        office = engine.search(
            "how many weeks ahead do I apply for parental leave", collections=["office"]
        ).hits[0]
        assert everywhere.document.uri == office.document.uri == "l.md"
        assert everywhere.score == pytest.approx(office.score, abs=0.03)
