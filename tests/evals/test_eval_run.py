"""Evaluations of a small real index, and the page made of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import html

from outcrop.engine import Engine, open_engine
from outcrop.errors import Cancelled
from outcrop.evals.dataset import EvalCase
from outcrop.evals.report import html_report
from outcrop.evals.run import EvalReport, evaluate


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(tmp_path / "i.db") as kb:
        kb.add(text="Wombats dig long burrows in the ground.", id="wombat")
        kb.add(text="Quokkas smile at people on an island.", id="quokka")
        # Two hits of one document must count as one rank.
        filler = "Nothing of note is said in this paragraph. " * 40
        kb.add(text=f"Platypus lays eggs.\n\n{filler}\n\nPlatypus eggs hatch soon.", id="platypus")
        kb.add(text="An echidna lays eggs too.", id="17")
        yield kb


def test_a_right_first_document_scores_1_everywhere(engine: Engine) -> None:
    report = evaluate(engine, [EvalCase("wombats burrows", {"wombat": 1.0})])
    assert report.rows[0].rank == 1
    figures = (report.top_1, report.mrr, report.ndcg_10, report.recall_3, report.recall_10)
    assert figures == (1, 1, 1, 1, 1)
    assert report.search_p95_ms > 0
    assert report.embed_p50_ms > 0
    assert report.similarity > 0
    assert report.missing == ()


def test_ranks_count_documents_and_not_hits(engine: Engine) -> None:
    report = evaluate(engine, [EvalCase("platypus lays eggs", {"17": 1.0})])
    paths = [found.path for found in report.rows[0].found]
    assert len(paths) == len(set(paths))
    assert paths[:2] == ["platypus", "17"]
    assert report.rows[0].rank == 2
    assert report.mrr == 0.5


def test_a_number_that_is_a_name_is_not_taken_for_an_id(engine: Engine) -> None:
    engine.add(text="Emus run fast.", id="1")
    report = evaluate(engine, [EvalCase("wombats burrows", {"1": 1.0})])
    assert report.rows[0].missing == ()
    assert report.rows[0].rank != 1  # document number 1 is the wombat


def test_a_document_that_is_not_there_counts_as_failed_and_is_named(engine: Engine) -> None:
    cases = [EvalCase("wombats", {"wombat": 1.0, "gone.md": 1.0}), EvalCase("quokkas", {"gone.md": 1.0})]
    report = evaluate(engine, cases)
    assert report.missing == ("gone.md",)
    assert report.rows[1].rank is None
    assert report.recall_10 == 0.25
    assert report.top_1 == 0.5


def test_an_evaluation_can_be_stopped(engine: Engine) -> None:
    with pytest.raises(Cancelled):
        evaluate(engine, [EvalCase("wombats", {"wombat": 1.0})], stopped=lambda: True)


def make_report(engine: Engine) -> EvalReport:
    cases = [
        EvalCase("wombats burrows", {"wombat": 1.0}),
        EvalCase("<script>alert(1)</script> & 'quokkas'", {"<b>gone</b>": 1.0}),
    ]
    return evaluate(engine, cases)


def test_the_page_stands_alone_and_escapes_everything(engine: Engine) -> None:
    page = html_report(make_report(engine), 'Quality <i>"x"</i>')
    tree = html.document_fromstring(page)
    assert not tree.xpath("//script | //link | //img | //iframe | //i | //b")
    assert not tree.xpath("//@src | //@href")
    assert "url(" not in page
    assert "http:" not in page
    assert len(tree.xpath("//*[local-name()='svg']")) == 4
    assert "prefers-color-scheme:dark" in page
    assert "not in the index" in tree.text_content()


def test_the_page_lists_failures_first(engine: Engine) -> None:
    tree = html.document_fromstring(html_report(make_report(engine)))
    ranks = [cell.text_content() for cell in tree.xpath("//table//tr/td[1]")]
    assert ranks == ["none", "1"]


def test_a_page_of_one_query_without_hits_can_be_made(engine: Engine) -> None:
    report = evaluate(engine, [EvalCase("zzyzx qqq", {"wombat": 1.0})])
    assert report.rows[0].reason
    assert "none" in html_report(report)
