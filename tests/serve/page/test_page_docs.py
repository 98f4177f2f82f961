"""The documentation in a real browser, from disk: search works, axe finds nothing serious, nothing overflows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from docs.site.build import read_site, write_site
from playwright.sync_api import expect
from tests.serve.page.conftest import SHOTS, Visit


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out: Path = tmp_path_factory.mktemp("docs") / "site"
    write_site(read_site(), out)
    return f"{out.as_uri()}/"


def test_a_search_leads_to_the_section(open_page: Callable[..., Visit], address: str) -> None:
    page = open_page(address).go("how-to/agents.html")
    page.keyboard.press("/")
    page.keyboard.type("outcrop reembed")
    expect(page.locator("#found a").first).to_contain_text("outcrop reembed")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Commands")
    assert page.url.endswith("reference/commands.html#outcrop-reembed")


def test_a_search_without_results_says_so(open_page: Callable[..., Visit], address: str) -> None:
    page = open_page(address).go("index.html")
    page.get_by_label("Search the documentation").fill("xylophone")
    expect(page.locator("#found")).to_have_text("Nothing found.")
    page.keyboard.press("Escape")
    expect(page.locator("#found")).to_be_hidden()


@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [
        ("tutorial", "light", 1280),
        ("reference/errors", "light", 390),
        ("explanation/ranking", "dark", 390),
        ("recipes/notebook", "dark", 1280),
    ],
)
def test_pages_look_right(
    open_page: Callable[..., Visit], address: str, name: str, theme: str, width: int
) -> None:
    page = open_page(address, theme, width).go(f"{name}.html")
    found = Axe().run(
        page, options={"preload": False}
    )  # it would fetch the style sheet, which the policy forbids
    serious = [wrong for wrong in found.response["violations"] if wrong["impact"] in ("serious", "critical")]
    assert not serious, [(wrong["id"], [node["html"] for node in wrong["nodes"]][:3]) for wrong in serious]
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"docs-{name.replace('/', '-')}-{theme}-{width}.png")
