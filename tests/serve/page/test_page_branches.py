"""Branches and worktrees on the page: a menu each, one tree at a time, in the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.serve.page.conftest import Visit, serve
from tests.sources.repositories import commit, git, make

import outcrop


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A repository with a branch that is not checked out, and a worktree."""
    root = tmp_path_factory.mktemp("branches")
    top = make(root / "project")
    commit(top, "start", {"guide.md": "# Oven\n\nThe oven is heated to 230 degrees.\n", "src/a.py": "a = 1\n"})
    git(top, "branch", "old")
    commit(top, "hotter", {"guide.md": "# Oven\n\nThe oven is heated to 250 degrees.\n"})
    git(top, "worktree", "add", "-q", "-b", "rye", str(root / "rye loaf"))
    (root / "rye loaf/guide.md").write_text("# Oven\n\nThe oven is heated to 210 degrees, for rye.\n")
    (root / "other").mkdir()
    (root / "other/note.md").write_text("# Ovens\n\nAn oven of no repository.\n")
    db = root / "data/index.db"
    with outcrop.open(db) as engine:
        for folder, branches in ((top, ["old", "main"]), (root / "rye loaf", []), (root / "other", [])):
            assert not engine.add(folder, branches=branches).failed
    with serve(db) as address:
        yield address


def choose(page: Page, menu: str, value: str) -> None:
    if not page.locator(f'.facet[data-facet="{menu}"][open]').count():  # it stays open for more
        page.locator(f'.facet[data-facet="{menu}"] > summary').click()
    page.locator(f'.facet[data-facet="{menu}"] .menu button', has_text=value).click()


def test_a_branch_or_a_worktree_is_chosen_from_a_menu(url: str, open_page: Callable[..., Visit]) -> None:
    page = open_page(url).go("#/search?q=oven+degrees")
    hits = page.locator(".hits")
    expect(hits).to_contain_text("250 degrees")  # the repository's own checkout
    expect(page.locator('.facet[data-facet="ref"] > summary')).to_have_text("Branch")
    choose(page, "ref", "old")
    expect(hits).to_contain_text("230 degrees")
    expect(hits).not_to_contain_text("250 degrees")
    expect(page).to_have_url(re.compile(r"ref%3Aold"))
    expect(page.locator("#query")).to_have_value("oven degrees ref:old")
    expect(page.locator('.facet[data-facet="ref"] > summary')).to_have_text("old")
    page.locator(".hit").first.click()
    expect(page.locator(".panel-body")).to_contain_text("230 degrees")
    page.keyboard.press("Escape")
    choose(page, "worktree", "rye loaf")  # instead of the branch: one tree at a time
    expect(hits).to_contain_text("210 degrees")
    expect(page.locator("#query")).to_have_value(re.compile(r'^oven degrees worktree:".*rye loaf"$'))
    expect(page.locator('.facet[data-facet="worktree"] > summary')).to_contain_text("rye loaf")
    choose(page, "worktree", "rye loaf")
    expect(hits).to_contain_text("250 degrees")
    page.go_back()
    expect(hits).to_contain_text("210 degrees")


def test_a_name_that_is_typed_is_completed_and_waits_until_it_is_one(
    url: str, open_page: Callable[..., Visit]
) -> None:
    page = open_page(url).go("#/search?q=oven+degrees")
    expect(page.locator(".hits")).to_contain_text("250 degrees")
    page.locator("#query").press_sequentially(" ref:o", delay=20)
    expect(page.locator(".completions li")).to_have_count(1)
    expect(page.locator(".summary")).not_to_contain_text("no ref")
    page.keyboard.press("Tab")
    expect(page.locator(".hits")).to_contain_text("230 degrees")


def test_a_branch_that_is_not_there_is_said(url: str, open_page: Callable[..., Visit]) -> None:
    visit = open_page(url)
    visit.expected.append("404")
    page = visit.go("#/search?q=oven+ref:nope")
    expect(page.locator(".summary")).to_contain_text("there is no ref 'nope'")
    expect(page.locator(".summary")).to_contain_text("main, old")
