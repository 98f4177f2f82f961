"""Every view, light and dark, at three widths: axe finds nothing, nothing overflows, and it looks as it did. A view is
loaded once for a width, and its theme switched where it stands.

Fonts differ from machine to machine, so the pictures that are compared are written in one that comes with a library of
the tests; how letters are smoothed differs too, so they are compared as a person squints: in cells in which no letter
is left.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import reportlab
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect
from tests.serve.page.conftest import SHOTS, Server, Visit

AXE = Axe()
BASELINES = Path(__file__).parent / "baselines"
THUMB = 4
"""A baseline is this much smaller than the screen."""
CELL = 32
"""Pixels of the screen that are compared by their mean colour."""
TOLERANCE = 0.35
"""Of what stands out from the ground in a view. Measured: up to 0.29 where the machine has other fonts for the signs
that this one lacks, 0.6 and more between two views."""
FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
USE_FONT = """
const data = Uint8Array.from(atob("%s"), (letter) => letter.charCodeAt(0));
const font = new FontFace("Baseline", data.buffer);
document.fonts.add(font);
addEventListener("readystatechange", () => {
  for (const name of ["--sans", "--mono"]) document.documentElement.style.setProperty(name, "Baseline");
}, { capture: true, once: true });
"""


def open_hit(page: Page) -> None:
    page.locator(".hit-link").first.click()
    expect(page.locator(".document .chunk-line").first).to_be_visible()


def open_pdf(page: Page) -> None:
    page.locator(".hit-link").first.click()
    expect(page.locator(".sheet img")).to_be_visible()


def open_why(page: Page) -> None:
    open_hit(page)
    page.get_by_role("tab", name="Why").click()
    page.get_by_text("The numbers behind it").click()
    expect(page.locator(".parts")).to_be_visible()


def open_tuning(page: Page) -> None:
    page.locator(".tuning summary").click()
    expect(page.locator(".slider").first).to_be_visible()


def open_facet(page: Page) -> None:
    page.locator('[data-facet="kind"] summary').click()
    expect(page.locator('[data-facet="kind"] button').first).to_be_visible()


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
    page.locator(".runs button").first.click()
    expect(page.locator(".cases .badge").first).to_be_visible()


def show_keys(page: Page) -> None:
    expect(page.locator(".home section").first).to_be_visible()
    page.locator("#help").click()


VIEWS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "home": ("#/search", wait_for("#home-changed")),
    "search": ("#/search?q=how+are+retries+configured", wait_for(".facet")),
    "markdown": ("#/search?q=when+to+retry+503+kind:markdown", open_hit),
    "code": ("#/search?q=acquire+a+connection+lang:python", open_hit),
    "pdf": ("#/search?q=granite+boulders", open_pdf),
    "why": ("#/search?q=acquire+a+connection", open_why),
    "left-out": ("#/search?q=acquire+a+connection&tab=left", wait_for(".left")),
    "context": ("#/search?q=acquire+a+connection&tab=context", wait_for(".packed-text")),
    "tuned": ("#/search?q=acquire+a+connection&balance=0.9&cutoff=0.1", open_tuning),
    "facet": ("#/search?q=retry", open_facet),
    "library": ("#/library?collection=field", wait_for("tbody tr")),
    "chunks": ("#/library?collection=field", open_document),
    "map": ("#/map?collection=field", wait_for(".node")),
    "map-around": ("#/map?collection=field&target=ConnectionPool", wait_for(".node.target")),
    "chat": ("#/chat", talk),
    "eval": ("#/eval", open_run),
    "keys": ("#/search", show_keys),  # last: it stays open
}
KEPT = ("home", "search", "code", "pdf", "why", "context", "library", "map", "chat", "eval")
"""Views of which baselines are kept."""


COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that depend on colours. All others go by elements and sizes, which the themes share."""
STRUCTURE = """() => {
  const whole = document.documentElement.cloneNode(true);
  whole.removeAttribute("data-theme");
  whole.querySelector("#theme").remove();
  return whole.outerHTML;
}"""


def examine(page: Page, *rules: str) -> list[str]:
    """What axe finds, by all its rules or by some. A page gets axe once: reading it takes as long as a run of it."""
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    found = page.evaluate("options => axe.run(options).then((results) => results.violations)", options)
    return [f"{one['id']}: {one['help']} {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found]


def cells_of(picture: Image.Image) -> np.ndarray:
    """The mean colours of a thumb's cells, 0 to 1."""
    small = picture.convert("RGB")
    small = small.resize((small.width * THUMB // CELL, small.height * THUMB // CELL), Image.Resampling.BOX)
    return np.asarray(small, np.float64) / 255


def shrink(screenshot: bytes) -> Image.Image:
    """The screen as a baseline is kept."""
    with Image.open(io.BytesIO(screenshot)) as whole:
        small = whole.convert("RGB").resize((whole.width // THUMB, whole.height // THUMB), Image.Resampling.BOX)
    return small.quantize(64)


def differ(name: str, now: Image.Image) -> str | None:
    """How far a view is from its baseline, where that is too far."""
    again = "if it is as it should be, copy .artifacts/screenshots/baselines to tests/serve/page/baselines"
    if not (BASELINES / f"{name}.png").exists():
        return f"{name} has no baseline: {again}"
    with Image.open(BASELINES / f"{name}.png") as kept:
        if kept.size != now.size:
            return f"{name}: {now.size} instead of {kept.size}"
        here, there = cells_of(now), cells_of(kept)
    off = float(np.abs(here - there).mean() / np.abs(there - np.median(there, axis=(0, 1))).mean())
    return f"{name} differs from its baseline by {off:.3f}: {again}" if off > TOLERANCE else None


@pytest.fixture
def themed(request: pytest.FixtureRequest, open_page: Callable[..., Visit], server: Server) -> Visit:
    """A page in a theme, of a size."""
    theme, width = request.param
    visit = open_page(server.url, theme, width, 844 if width < 400 else 900)
    visit.page.add_init_script(USE_FONT % base64.b64encode(FONT.read_bytes()).decode())
    return visit


def look(page: Page, view: str, theme: str, width: int, *, by: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with a view in a theme, as it stands; its picture is kept."""
    name = f"{view}-{theme}-{width}"
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    wrong = []
    if width != 1024:  # colours and structure are those of the others
        wrong += [f"{name}: {found}" for found in examine(page, *by)]
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if over > 0:
        wrong.append(f"{name}: {over} px too wide")
    screenshot = page.screenshot(path=SHOTS / f"{name}.png")
    if view in KEPT:
        thumb = shrink(screenshot)
        thumb.save(SHOTS / "baselines" / f"{name}.png", optimize=True)
        wrong += filter(None, [differ(name, thumb)])
    return wrong


@pytest.mark.parametrize(
    "themed",
    [("light", 1440), ("dark", 1024), ("dark", 390)],
    indirect=True,
    ids=lambda p: f"{p[1]}-{p[0]}-first",
)
def test_every_view_is_accessible_fits_and_looks_as_it_did(
    themed: Visit, request: pytest.FixtureRequest
) -> None:
    (SHOTS / "baselines").mkdir(parents=True, exist_ok=True)
    first, width = request.node.callspec.params["themed"]
    second: Literal["light", "dark"] = "light" if first == "dark" else "dark"
    wrong: list[str] = []
    page = themed.go("#/search")
    for view, (address, act) in VIEWS.items():
        if width == 1024 and view not in KEPT:
            continue
        page.goto(
            "about:blank"
        )  # else the hits of the view before stand there until those of this one have come
        page.emulate_media(color_scheme=first)
        page.goto(f"{themed.base}{address}")
        page.evaluate("localStorage.clear()")
        act(page)
        wrong += look(page, view, first, width)
        loaded = page.evaluate(STRUCTURE)
        page.emulate_media(color_scheme=second)
        wrong += look(page, view, second, width, by=COLOURS)
        assert page.evaluate(STRUCTURE) == loaded, f"{view}: the themes differ in more than their colours"
    assert not wrong, "\n".join(wrong)


def test_axe_sees_bad_colours_after_a_switch_of_themes(visit: Visit) -> None:
    page = visit.go("#/search")
    wait_for("#home-changed")(page)
    assert examine(page, *COLOURS) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert examine(page, *COLOURS) == []
    page.evaluate("document.documentElement.style.setProperty('--ink', '#333')")
    assert "color-contrast" in "".join(examine(page, *COLOURS))


@pytest.mark.parametrize("themed", [("light", 1440)], indirect=True)
@pytest.mark.parametrize("sheet", ["base.css", "search.css"])
def test_a_view_that_lost_a_style_sheet_is_noticed(themed: Visit, sheet: str) -> None:
    themed.expected.append("ERR_FAILED")
    themed.page.route(f"**/{sheet}", lambda route: route.abort())
    page = themed.go("#/search?q=how+are+retries+configured")
    expect(page.locator(".facet").first).to_be_attached()
    expect(page.locator(".hit").first).to_be_attached()
    assert differ("search-light-1440", shrink(page.screenshot())) is not None


def test_the_toggle_keeps_the_theme_that_was_chosen(visit: Visit) -> None:
    page = visit.go("#/search")
    page.get_by_role("button", name="Use the dark theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    visit.go("#/library")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
