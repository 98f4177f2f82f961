"""add --meta and --where: metadata of one's own on the command line."""

from __future__ import annotations

import pytest
from tests.serve.cli.runner import Outcrop


@pytest.fixture
def papers(outcrop: Outcrop) -> Outcrop:
    """An index of texts with metadata."""
    given: tuple[str, ...] = (
        "--meta",
        "year=2020",
        "--meta",
        "author=Ann Lee",
        "--meta",
        "author=Bo",
        "--meta",
        "draft=true",
    )
    assert outcrop("add", "--text", "The comet was seen in May.", "--id", "a", *given).exit_code == 0
    given = ("--meta", "year='2021'", "--meta", "seen=2021-06-02", "--meta", "note=a=b")
    assert outcrop("add", "--text", "The comet was seen in June.", "--id", "b", *given).exit_code == 0
    return outcrop


def test_what_was_typed_has_the_type_it_looks_like(papers: Outcrop) -> None:
    first, second = (papers.json("show", name, "--info")["document"]["meta"] for name in ("a", "b"))
    assert first == {"year": 2020, "author": ["Ann Lee", "Bo"], "draft": True}
    assert second == {"year": "2021", "seen": "2021-06-02", "note": "a=b"}
    shown = papers("show", "a", "--info").stdout
    assert "meta.author" in shown
    assert "Ann Lee, Bo" in shown


def test_where_narrows_search_ls_context_and_rm(papers: Outcrop) -> None:
    where = ("--where", 'year >= 2020 and author contains "lee"')
    assert [hit["document"]["uri"] for hit in papers.json("search", "comet", *where)["hits"]] == ["a"]
    assert [info["uri"] for info in papers.json("ls", "--where", "seen < 2021-07-01")] == ["b"]
    assert "May" in papers("context", "comet", *where).stdout
    assert "June" not in papers("context", "comet", *where).stdout
    assert papers("rm", "--where", "draft == true").exit_code == 0
    assert [info["uri"] for info in papers.json("ls")] == ["b"]


def test_a_mistake_is_a_usage_error_that_shows_where_it_is(papers: Outcrop) -> None:
    for command in (("search", "comet"), ("ls",), ("rm",)):
        wrong = papers(*command, "--where", "year = 2020")
        assert wrong.exit_code != 0
        assert "character 6" in wrong.stderr
        assert "write `==`" in wrong.stderr
    assert "write year=2020" in papers("add", "--text", "x", "--meta", "year").stderr
    assert "front matter" in papers("add", papers.notes, "--meta", "year=1").stderr
    assert papers("rm", "--where", "draft == true", "--ref", "main").exit_code == 2
