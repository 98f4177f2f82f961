"""Search on the page: as one types, by keyboard, opened in place, explained, tuned."""

from __future__ import annotations

import json
import re
from urllib.request import Request, urlopen

from playwright.sync_api import Page, Route, expect
from tests.serve.page.conftest import Server, Visit


def type_query(page: Page, text: str) -> None:
    page.locator("#query").press_sequentially(text, delay=20)
    expect(page.locator(f'.hits[data-query="{text}"]')).to_be_attached()


def test_results_appear_while_typing_grouped_and_marked(visit: Visit) -> None:
    page = visit.go("#/search")
    expect(page.locator(".idle")).to_contain_text("9 documents")
    type_query(page, "acquire connection")
    group = page.locator(".group").first
    expect(group.locator("h3")).to_have_text("src/pool.py")
    expect(group.locator(".hit-link").first).to_have_text("ConnectionPool")
    assert {"acquire", "connection"} <= {text.lower() for text in group.locator("mark").all_text_contents()}
    expect(page).to_have_url(re.compile(r"#/search\?q=acquire\+connection$"))


def test_a_quoted_phrase_is_shown_and_marked_as_a_whole(visit: Visit) -> None:
    page = visit.go("#/search")
    page.locator("#query").fill('"next caller need not"')
    group = page.locator(".group").first
    expect(group.locator("h3")).to_have_text("src/pool.py")
    expect(group.locator("mark").first).to_have_text("next caller need not")


def test_a_late_answer_to_an_earlier_query_is_dropped(visit: Visit) -> None:
    page = visit.go("#/search")

    def hold_back(route: Route) -> None:
        if "backup" in str(route.request.post_data):
            page.wait_for_timeout(300)
        route.continue_()

    page.route("**/api/search", hold_back)
    page.locator("#query").fill("backup")
    page.wait_for_timeout(100)
    page.locator("#query").fill("granite boulders")
    expect(page.locator('.hits[data-query="granite boulders"]')).to_be_attached()
    page.wait_for_timeout(500)
    expect(page.locator('.hits[data-query="granite boulders"] .group h3').first).to_have_text("harbour.pdf")


def test_everything_can_be_done_by_keyboard(visit: Visit) -> None:
    page = visit.go("#/library")
    expect(page.locator("table")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    type_query(page, "retry timeout")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    links = page.locator(".hit-link")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".panel .chunk-line").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_be_hidden()
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("w")
    expect(page.get_by_role("tab", name="Why")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("?")
    expect(page.locator("dialog h2")).to_have_text("Keys")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    for key, view in {"l": "library", "m": "map", "c": "chat", "e": "eval", "s": "search"}.items():
        arrived = page.locator(f"main.view-{view}")
        for _ in range(
            10
        ):  # a view takes the focus when it is ready, and two keys are one command within 1.2 s
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press("g")
            page.keyboard.press(key)
            page.wait_for_timeout(200)
            if arrived.count():
                break
        expect(arrived).to_be_attached()
    expect(page.locator("#query")).to_have_value("retry timeout")  # as it was left


def test_a_hit_opens_in_place_and_back_closes_it(visit: Visit) -> None:
    page = visit.go("#/search?q=when+to+retry+503")
    page.locator(".group", has_text="retries.md").locator(".hit-link").first.click()
    document = page.locator(".document.markdown")
    expect(document.locator("h1")).to_have_text("Retries")
    expect(document.locator("td").first).to_have_text("503")
    expect(document.locator(".chunk-line", has_text="Retry on a timeout")).to_be_visible()
    expect(document.locator("pre .k", has_text="def")).to_be_visible()
    expect(document.locator("a")).to_have_attribute("href", "https://example.org/backoff")
    page.get_by_role("button", name="As written").click()
    expect(page.locator(".lines .line").nth(4)).to_have_text("# Retries")
    address = page.url
    page.go_back()
    expect(page.locator(".panel")).to_be_hidden()
    visit.go(address.removeprefix(visit.base))
    expect(page.locator(".document.markdown .chunk-line").first).to_be_visible()


def test_code_has_line_numbers_and_its_chunk_marked(visit: Visit) -> None:
    page = visit.go("#/search?q=ConnectionPool.release&kind=python")
    page.locator(".hit-link").first.click()
    line = page.locator(".line", has_text="def release")
    expect(line).to_have_class(re.compile("chunk-line"))
    assert line.get_attribute("data-line") == "24"
    expect(line.locator(".nf")).to_have_text("release")
    assert line.evaluate("node => getComputedStyle(node, '::before').content") == '"24"'


def test_a_pdf_shows_its_pages(visit: Visit) -> None:
    page = visit.go("#/search?q=granite+boulders")
    expect(page.locator(".hit-meta").first).to_contain_text("page 2")
    page.locator(".hit-link").first.click()
    expect(page.locator(".page-mark")).to_have_text(["Page 1", "Page 2"])
    expect(page.locator(".chunk-line", has_text="Granite boulders")).to_be_visible()


def test_why_shows_contributions_that_add_up_to_the_score(visit: Visit) -> None:
    page = visit.go("#/search?q=acquire+connection")
    page.locator(".hit").first.get_by_role("link", name="why").click()
    label = page.locator(".bars").get_attribute("aria-label") or ""
    parts = [float(number) for number in re.findall(r" (-?\d+\.\d+)", label)]
    total = float(re.findall(r"Together (-?[\d.]+\d)", page.locator(".why").inner_text())[0])
    assert len(parts) >= 2
    assert abs(sum(parts) - total) < 0.005
    expect(page.locator(".figures")).to_contain_text("rank by words")
    expect(page.locator(".why .badge", has_text="acquire")).to_be_visible()


def test_what_was_left_out_is_listed_with_its_reason(visit: Visit) -> None:
    page = visit.go("#/search?q=acquire+connection")
    page.locator(".hit-link").first.click()
    page.get_by_role("tab", name="Left out").click()
    expect(page.locator(".left").first).to_be_visible()
    expect(page.locator(".left .badge", has_text="below floor").first).to_be_visible()


def test_the_packed_context_counts_its_tokens_and_says_what_it_dropped(visit: Visit) -> None:
    page = visit.go("#/search?q=acquire+connection")
    page.locator(".hit-link").first.click()
    page.get_by_role("tab", name="Context").click()
    page.get_by_label("Budget", exact=True).select_option("500")
    expect(page.locator(".panel-body")).to_contain_text("of 500 tokens")
    tokens = int(re.findall(r"(\d+) of 500 tokens", page.locator(".panel-body").inner_text())[0])
    assert 0 < tokens <= 500
    expect(page.locator(".packed-text")).to_contain_text("acquire")
    expect(page.locator(".left .badge", has_text="below floor").first).to_be_visible()
    page.get_by_label("as code").check()
    expect(page.locator(".packed-text")).to_contain_text("<codeRag:chunk")
    expect(
        page.locator(".packed li", has_text="merged").first
    ).to_be_visible()  # a declaration's parts are together
    expect(page.get_by_role("heading", name="Dropped")).to_be_visible()


def test_a_slider_changes_the_order_at_once_and_says_how(visit: Visit) -> None:
    page = visit.go("#/search?q=retry+a+failed+request")
    expect(page.locator(".hit")).not_to_have_count(0)
    page.locator(".tuning summary").click()
    before = page.locator(".hit-link").all_text_contents()  # inner texts of what is not drawn yet are empty
    assert len(before) > 2
    page.get_by_label("Words ↔ meaning").fill("1")
    expect(page.locator(".move").first).to_be_visible()
    expect(page).to_have_url(re.compile("balance=1"))
    expect(page.locator(".hit .move", has_text=re.compile("▲|▼|=|new"))).not_to_have_count(0)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".move")).to_have_count(0)
    expect(page.locator(".hit-link")).to_have_text(before)


def test_filters_narrow_the_search(visit: Visit) -> None:
    page = visit.go("#/search?q=retry")
    page.get_by_label("Path pattern").fill("src/**")
    expect(page.locator(".group h3", has_text=".md")).to_have_count(0)
    expect(page.locator(".group")).not_to_have_count(0)
    page.get_by_label("Path pattern").fill("nowhere/**")
    expect(page.locator(".summary .notice")).to_contain_text("filters")


def test_a_stale_hit_says_so(visit: Visit) -> None:
    page = visit.go("#/search?q=worker+takes+one+job+queue")
    expect(page.locator(".group", has_text="queue.md").locator(".badge.warn")).to_have_text("stale")


def test_marking_a_hit_as_right_saves_an_eval_case(visit: Visit, server: Server) -> None:
    page = visit.go("#/search?q=restore+a+backup")
    page.locator(".group", has_text="backups.md").get_by_role("button", name="this one was right").first.click()
    expect(page.get_by_role("button", name="saved for Eval")).to_be_visible()
    with urlopen(Request(f"{server.url}api/eval/cases")) as answer:
        cases = json.load(answer)["cases"]
    assert [case["query"] for case in cases].count("restore a backup") == 1


def test_a_server_error_is_shown_with_its_message(visit: Visit) -> None:
    visit.expected.append("404")
    page = visit.go("#/search?q=retry&collection=nowhere")
    expect(page.get_by_role("alert")).to_contain_text("there is no collection 'nowhere'")
