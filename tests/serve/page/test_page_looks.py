"""Every view, light and dark, wide and on a phone: a picture is kept, axe finds nothing serious, nothing overflows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.serve.page.conftest import SHOTS, Server, Visit

AXE = Axe()


def open_hit(page: Page) -> None:
    page.locator(".hit-link").first.click()
    expect(page.locator(".document .chunk-line").first).to_be_visible()


def open_tab(name: str, ready: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        open_hit(page)
        page.get_by_role("tab", name=name).click()
        expect(page.locator(ready).first).to_be_visible()

    return act


def wait_for(selector: str) -> Callable[[Page], None]:
    return lambda page: expect(page.locator(selector).first).to_be_visible()


def open_document(page: Page) -> None:
    page.get_by_role("link", name="src/pool.py").click()
    expect(page.locator(".chunk").first).to_be_visible()


def talk(page: Page) -> None:
    page.get_by_label("Message").fill("When should a request be sent again?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn.assistant")).to_contain_text("each time")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def open_run(page: Page) -> None:
    expect(page.locator(".cases li").first).to_be_visible()
    page.locator("tbody button").first.click()
    expect(page.locator(".cases .badge").first).to_be_visible()


def show_keys(page: Page) -> None:
    expect(page.locator(".idle")).to_be_visible()
    page.locator("#help").click()


VIEWS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "start": ("#/search", wait_for(".idle")),
    "search": ("#/search?q=how+are+retries+configured", wait_for(".hit")),
    "markdown": ("#/search?q=when+to+retry+503&path=*.md", open_hit),
    "code": ("#/search?q=acquire+a+connection&kind=python", open_hit),
    "pdf": ("#/search?q=granite+boulders", open_hit),
    "why": ("#/search?q=acquire+a+connection", open_tab("Why", ".bars")),
    "left-out": ("#/search?q=acquire+a+connection", open_tab("Left out", ".left")),
    "context": ("#/search?q=acquire+a+connection", open_tab("Context", ".packed-text")),
    "tuned": ("#/search?q=acquire+a+connection&balance=0.9&cutoff=0.1", wait_for(".hit")),
    "library": ("#/library?collection=field", wait_for("tbody tr")),
    "chunks": ("#/library?collection=field", open_document),
    "map": ("#/map?collection=field", wait_for(".node")),
    "map-around": ("#/map?collection=field&target=ConnectionPool", wait_for(".node.target")),
    "chat": ("#/chat", talk),
    "eval": ("#/eval", open_run),
    "keys": ("#/search", show_keys),  # last: it stays open
}
PHONE = ("search", "markdown", "code", "why", "tuned", "library", "chunks", "map", "chat", "eval")


def examine(page: Page) -> list[str]:
    """What axe finds serious or critical."""
    found = AXE.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {one['help']} {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.fixture
def themed(request: pytest.FixtureRequest, open_page: Callable[..., Visit], server: Server) -> Visit:
    """A page in a theme, of a size."""
    theme, width = request.param
    return open_page(server.url, theme, width, 820 if width > 400 else 740)


@pytest.mark.parametrize(
    "themed",
    [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)],
    indirect=True,
    ids=lambda p: f"{p[0]}-{p[1]}",
)
def test_every_view_is_accessible_and_fits(themed: Visit, request: pytest.FixtureRequest) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    theme, width = request.node.callspec.params["themed"]
    serious: list[str] = []
    page = themed.go("#/search")
    for name, (address, act) in VIEWS.items():
        if width < 400 and name not in PHONE[: 5 if theme == "dark" else None]:
            continue
        page.goto(
            "about:blank"
        )  # else the hits of the view before stand there until those of this one have come
        page.goto(f"{themed.base}{address}")
        act(page)
        size = "phone" if width < 400 else "wide"
        page.screenshot(path=SHOTS / f"{name}-{theme}-{size}.png")
        if (theme, size) != (
            "dark",
            "phone",
        ):  # colours as when wide, structure as when light
            serious += [f"{name} {theme} {size}: {found}" for found in examine(page)]
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            serious.append(f"{name} {theme} {size}: {over} px too wide")
        shown = page.evaluate("document.documentElement.dataset.theme")
        assert shown == theme
    assert not serious, "\n".join(serious)


def test_the_toggle_keeps_the_theme_that_was_chosen(visit: Visit) -> None:
    page = visit.go("#/search")
    page.get_by_role("button", name="Use the dark theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    visit.go("#/library")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
