"""PDFs beside their hits: the page as it looks with what matched marked on it, or the text and why it is not shown."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from reportlab.pdfgen import canvas
from tests.serve.page.conftest import Server, Visit, serve

import outcrop

KEY = "ghp_" + "a1B2c3D4e5F6" * 3


def write(path: Path, pages: list[list[str]]) -> None:
    pdf = canvas.Canvas(str(path), pagesize=(400, 500))
    for lines in pages:
        for row, line in enumerate(lines):
            pdf.drawString(40, 440 - 24 * row, line)
        pdf.showPage()
    pdf.save()


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("papers")
    corpus = folder / "papers"
    corpus.mkdir()
    write(
        corpus / "granite.pdf",
        [["Limestone walls"], ["On stones", "Granite boulders came by ice."], ["Clay below"]],
    )
    write(corpus / "vault.pdf", [["The vault is opened with the token", KEY]])
    write(corpus / "light.pdf", [["The lighthouse keeper sleeps by day"]])
    write(corpus / "tide.pdf", [["The tide turns at noon"]])
    with outcrop.open(folder / "data" / "index.db") as engine:
        assert not engine.add(corpus, collection="papers").failed
    write(corpus / "tide.pdf", [["Another tide"]])
    with serve(folder / "data" / "index.db", "--root", str(folder)) as url:
        yield url


def open_first(visit: Visit, query: str) -> Page:
    page = visit.go(f"#/search?q={query.replace(' ', '+')}")
    page.locator(".hit-link").first.click()
    return page


def colour_in(page: Page, selector: str) -> tuple[int, ...]:
    """The commonest colour of what is seen of an element."""
    shot = Image.open(io.BytesIO(page.locator(selector).first.screenshot())).convert("RGB")
    counted = Counter(zip(*[iter(shot.tobytes())] * 3, strict=True))
    return counted.most_common(1)[0][0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_pdf_is_shown_as_its_page_with_what_matched_marked(
    theme: str, papers: str, open_page: Callable[..., Visit]
) -> None:
    page = open_first(open_page(papers, theme), "granite boulders")
    picture = page.locator(".sheet img")
    expect(picture).to_be_visible()
    assert picture.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }") >= 600
    expect(page.locator(".document-info")).to_contain_text("Page 2 of 3")
    expect(page.locator(".sheet .own")).to_have_count(2)  # a box a line
    expect(page.locator(".sheet .match")).to_have_count(2)
    red, green, blue = colour_in(page, ".sheet .match")
    assert min(red, green) > 200
    assert blue < 180  # yellow, over paper that is white in both themes
    box, sheet = page.locator(".sheet .match").first.bounding_box(), page.locator(".sheet").bounding_box()
    assert box
    assert sheet
    assert 0.09 < (box["x"] - sheet["x"]) / sheet["width"] < 0.12  # where the PDF has it: 40 of 400
    assert 0.14 < (box["y"] - sheet["y"]) / sheet["height"] < 0.18


def test_pages_are_turned_and_matches_stepped_by_keys(papers: str, open_page: Callable[..., Visit]) -> None:
    page = open_first(open_page(papers), "granite boulders")
    info = page.locator(".document-info")
    expect(info).to_contain_text("2 matches")
    page.locator(".panel-body").focus()
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(info).to_contain_text("2 of 2")
    expect(page.locator(".sheet .match.now")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(info).to_contain_text("Page 3 of 3")
    expect(page.locator(".sheet .own")).to_have_count(0)
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()
    page.get_by_role("button", name="Previous page").click()
    expect(info).to_contain_text("Page 2 of 3")


def test_a_single_page_is_not_turned(papers: str, open_page: Callable[..., Visit]) -> None:
    page = open_first(open_page(papers), "lighthouse keeper")
    expect(page.locator(".document-info")).to_contain_text("Page 1 of 1")
    page.locator(".panel-body").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("n")
    expect(page.locator(".document-info")).to_contain_text("1 of 2")
    expect(page.locator(".sheet img")).to_be_visible()


def test_a_citation_leads_to_the_page(papers: str, open_page: Callable[..., Visit]) -> None:
    visit = open_page(papers)
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.go("#/search?q=granite+boulders")
    page.locator(".hit-link").first.focus()
    page.keyboard.press("m")
    expect(page.locator(".toast")).to_contain_text("Citation copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"\[granite\.pdf p\. 2\]\(file:///.*/granite\.pdf#page=2\)", copied)
    expect(page.get_by_role("link", name="Open in the editor")).to_have_count(0)  # which could not show it


def test_the_text_is_a_click_away(papers: str, open_page: Callable[..., Visit]) -> None:
    page = open_first(open_page(papers), "granite boulders")
    page.get_by_role("button", name="As text").click()
    expect(page.locator(".page-mark")).to_have_text(["Page 1", "Page 2", "Page 3"])
    expect(page.locator(".chunk-line", has_text="Granite boulders")).to_be_visible()
    page.get_by_role("button", name="As pages").click()
    expect(page.locator(".sheet img")).to_be_visible()


@pytest.mark.parametrize(
    ("query", "status", "why"),
    [
        ("vault token", 403, "secrets were masked in this document"),
        ("tide noon", 409, "the file has changed since it was indexed: sync"),
    ],
)
def test_where_a_picture_may_not_be_shown_the_text_is_with_the_reason(
    query: str, status: int, why: str, papers: str, open_page: Callable[..., Visit]
) -> None:
    visit = open_page(papers)
    visit.expected = [f"{status}"]  # the browser reports what was refused
    page = open_first(visit, query)
    expect(page.locator(".panel .notice")).to_contain_text(why)
    expect(page.locator(".document .chunk-line").first).to_be_visible()
    expect(page.locator(".sheet")).to_have_count(0)
    expect(page.locator(".panel")).not_to_contain_text(re.compile(KEY[:8]))
    expect(page.get_by_role("button", name="As pages")).to_have_count(0)


def test_a_cited_pdf_opens_as_its_page(server: Server, open_page: Callable[..., Visit]) -> None:
    page = open_page(server.url).go("#/chat")
    page.get_by_label("Message").fill("Where did the granite boulders come from?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("Source 1: .*harbour.pdf")).first.click()
    expect(page.locator(".source-body .sheet img")).to_be_visible()
    expect(page.locator(".source-body .sheet .own")).not_to_have_count(0)
