"""Search on the page: as one types, by keyboard, opened in place, explained, tuned."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.request import Request, urlopen

from playwright.sync_api import Page, Route, expect
from tests.serve.page.conftest import Server, Visit


def type_query(page: Page, text: str) -> None:
    page.locator("#query").press_sequentially(text, delay=20)
    expect(page.locator(f'.hits[data-query="{text}"]')).to_be_attached()


def test_results_appear_while_typing_in_the_order_of_their_scores(visit: Visit) -> None:
    page = visit.go("#/search")
    expect(page.locator(".hero h1")).to_have_text("Search 9 documents")
    type_query(page, "acquire connection")
    hit = page.locator(".hit").first
    expect(hit.locator(".path")).to_have_text("src/pool.py")
    expect(hit.locator(".hit-link")).to_have_text("ConnectionPool")
    assert {"acquire", "connection"} <= {text.lower() for text in hit.locator("mark").all_text_contents()}
    expect(page).to_have_url(re.compile(r"#/search\?q=acquire\+connection$"))
    scores = [float(text) for text in page.locator(".hit .score").all_text_contents()]
    assert len(scores) > 2
    assert scores == sorted(scores, reverse=True)
    page.get_by_role("button", name="By file").click()
    expect(page.locator(".group h3").first).to_have_text("src/pool.py")
    expect(page).to_have_url(re.compile("group=1"))


def test_code_is_shown_with_its_line_numbers_colours_and_gaps(visit: Visit) -> None:
    page = visit.go("#/search?q=open_connection+timeout+pool+full+lang:python")
    code = page.locator(".hit", has=page.locator(".gap")).filter(has=page.locator(".excerpt.code")).first
    source = (Path(__file__).parent / "corpus.py").read_text()
    lines = source.split("POOL = '''")[1].split("'''")[0].split("\n")
    rows = code.locator(".ln")
    expect(rows).not_to_have_count(0)
    for at in range(rows.count()):
        number = int(rows.nth(at).get_attribute("data-n") or 0)
        assert (rows.nth(at).text_content() or "").strip() == lines[number - 1].strip()
    expect(code.locator(".k, .nf, .sd")).not_to_have_count(0)
    expect(code.locator(".gap").first).to_contain_text(re.compile(r"⋯ \d+ lines?"))


def test_a_table_is_shown_as_a_table(visit: Visit) -> None:
    page = visit.go("#/search?q=status+404+retry+table")
    table = page.locator(".hit .excerpt table").first
    expect(table.locator("th")).to_have_text(["status", "retry"])
    expect(table.locator("tr", has_text="404")).to_contain_text("no")


def test_an_excerpt_shows_the_lines_that_answer_as_one_reads_them(visit: Visit) -> None:
    page = visit.go("#/search?q=when+to+retry+a+request+kind:markdown")
    excerpt = page.locator(".hit", has_text="retries.md").first.locator(".excerpt")
    expect(excerpt).to_contain_text(
        "Retry on a timeout and on status 503. Do not retry"
    )  # not the table below it
    expect(excerpt.locator("table")).to_have_count(0)
    expect(excerpt).not_to_contain_text(re.compile(r"tags:|\*\*|`"))


def test_a_quoted_phrase_is_shown_and_marked_as_a_whole(visit: Visit) -> None:
    page = visit.go("#/search")
    page.locator("#query").fill('"next caller need not"')
    hit = page.locator(".hit").first
    expect(hit.locator(".path")).to_have_text("src/pool.py")
    expect(hit.locator("mark").first).to_have_text("next caller need not")


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
    expect(page.locator('.hits[data-query="granite boulders"] .hit .path').first).to_have_text("harbour.pdf")


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
    expect(page.locator("dialog h2")).to_have_text("Keys and settings")
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
    page.locator(".hit", has_text="retries.md").locator(".hit-link").first.click()
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
    page = visit.go("#/search?q=ConnectionPool.release+kind:python")
    page.locator(".hit-link").first.click()
    line = page.locator(".line", has_text="def release")
    expect(line).to_have_class(re.compile("chunk-line"))
    assert line.get_attribute("data-line") == "24"
    expect(line.locator(".nf")).to_have_text("release")
    assert line.evaluate("node => getComputedStyle(node, '::before').content") == '"24"'


def test_why_says_one_sentence_and_its_numbers_add_up(visit: Visit) -> None:
    page = visit.go("#/search?q=ConnectionPool")
    page.locator(".hit").first.get_by_role("link", name="Why it stands here").click()
    expect(page.locator(".sentence")).to_contain_text("Named in the question, declared here")
    expect(page.locator(".figures")).to_be_hidden()
    page.get_by_text("The numbers behind it").click()
    expect(page.locator(".figures")).to_contain_text("rank by words")
    numbers = page.locator(".parts .number").all_text_contents()
    total = float(re.findall(r"Together (-?[\d.]+\d)", page.locator(".why").inner_text())[0])
    assert len(numbers) >= 2
    assert abs(sum(float(number.replace("−", "-")) for number in numbers) - total) < 0.02
    for tip in page.locator(".why .term").evaluate_all("terms => terms.map(term => term.dataset.tip)"):
        assert len(tip) > 15
    expect(page.locator(".why .badge", has_text="ConnectionPool").first).to_be_visible()


def test_what_was_left_out_is_listed_with_its_reason(visit: Visit) -> None:
    page = visit.go("#/search?q=acquire+connection&tab=left")
    expect(page.locator(".left").first).to_be_visible()
    expect(page.locator(".left .badge", has_text="below floor").first).to_be_visible()


def test_the_context_of_a_question_keeps_to_its_budget_and_says_what_it_dropped(visit: Visit) -> None:
    page = visit.go("#/search?q=acquire+connection")
    page.get_by_role("button", name="Context").click()
    page.get_by_role("slider", name="Budget").fill("1")
    expect(page.locator(".panel-body")).to_contain_text("of 500 tokens")
    tokens = int(re.findall(r"(\d+) of 500 tokens", page.locator(".panel-body").inner_text())[0])
    assert 0 < tokens <= 500
    text = page.locator(".packed-text").inner_text()
    assert "acquire" in text
    expect(page.locator(".left .badge", has_text="below floor").first).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy context").click()
    expect(page.locator(".toast")).to_have_text("Context copied")
    assert page.evaluate("navigator.clipboard.readText()").strip() == text.strip()
    page.get_by_label("As code").check()
    expect(page.locator(".packed-text")).to_contain_text("<codeRag:chunk")
    expect(
        page.locator(".packed li", has_text="merged").first
    ).to_be_visible()  # a declaration's parts are together


def test_a_hit_can_be_copied_by_key_and_opened_in_the_editor(visit: Visit, server: Server) -> None:
    page = visit.go("#/search?q=acquire+connection")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator(".hit")).not_to_have_count(0)
    page.keyboard.press("ArrowDown")
    copied = {}
    for key, words in {"c": "Passage copied", "p": "Path copied", "m": "Citation copied"}.items():
        page.keyboard.press(key)
        expect(page.locator(".toast")).to_contain_text(words)
        copied[key] = page.evaluate("navigator.clipboard.readText()")
    path = str(server.folder / "field" / "src" / "pool.py")
    assert "class ConnectionPool" in copied["c"]
    assert copied["p"] == path
    assert re.fullmatch(rf"\[src/pool\.py:\d+-\d+\]\(file://{re.escape(path)}#L\d+\)", copied["m"])
    link = page.locator(".hit").first.get_by_role("link", name="Open in the editor").get_attribute("href")
    assert re.fullmatch(rf"vscode://file{re.escape(path)}:\d+", link or "")
    page.keyboard.press("?")
    page.get_by_label("Files open in").select_option("zed")
    page.keyboard.press("Escape")
    visit.go("#/search?q=acquire+connection")
    link = page.locator(".hit").first.get_by_role("link", name="Open in the editor").get_attribute("href")
    assert (link or "").startswith("zed://file/")


def test_matches_are_stepped_through_in_the_document(visit: Visit) -> None:
    page = visit.go("#/search?q=acquire+connection+lang:python")
    page.locator(".hit-link").first.click()
    steps = page.locator(".steps")
    expect(steps).to_contain_text("matches")
    page.get_by_role("button", name="Next match").click()
    first = re.findall(r"(\d+) of (\d+)", steps.inner_text())[0]
    page.locator(".panel-body").focus()
    page.keyboard.press("n")
    second = re.findall(r"(\d+) of (\d+)", steps.inner_text())[0]
    assert int(second[0]) == int(first[0]) % int(first[1]) + 1
    assert page.evaluate("CSS.highlights.get('now').size") == 1


def test_a_slider_changes_the_order_at_once_and_says_how(visit: Visit) -> None:
    page = visit.go("#/search?q=retry+a+failed+request")
    expect(page.locator(".hit")).not_to_have_count(0)
    page.locator(".tuning summary").click()
    expect(page.get_by_label("Words ↔ meaning")).to_be_visible()
    before = page.locator(".hit-link").all_text_contents()  # inner texts of what is not drawn yet are empty
    assert len(before) > 2
    page.get_by_label("Words ↔ meaning").fill("1")
    expect(page.locator(".move").first).to_be_visible()
    expect(page).to_have_url(re.compile("balance=1"))
    expect(page.locator(".hit .move", has_text=re.compile("▲|▼|=|new"))).not_to_have_count(0)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".move")).to_have_count(0)
    expect(page.locator(".hit-link")).to_have_text(before)


def test_facets_narrow_the_search_by_a_click_and_say_how_many(visit: Visit) -> None:
    page = visit.go("#/search?q=retry")
    folder = page.locator('[data-facet="path"]')
    expect(folder).to_have_count(0)  # one folder is no choice
    kind = page.locator('[data-facet="kind"]')
    kind.locator("summary").click()
    assert dict(
        zip(kind.locator(".value").all_text_contents(), kind.locator(".count").all_text_contents(), strict=True)
    ) == {"markdown": "5", "code": "2", "text": "1", "pdf": "1"}
    page.keyboard.press("Escape")
    expect(kind.locator(".menu")).to_be_hidden()
    expect(kind.locator("summary")).to_be_focused()
    page.keyboard.press("Enter")
    kind.get_by_role("button", name="code").click()
    expect(page.locator("#query")).to_have_value("retry kind:code")
    expect(page.locator(".hit .path", has_text=".md")).to_have_count(0)
    expect(page.locator(".hit")).not_to_have_count(0)
    expect(page.locator('[data-facet="kind"] > summary')).to_have_text("code")
    page.get_by_role("button", name="code").click()
    expect(page.locator("#query")).to_have_value("retry")
    page.locator("#query").fill("retry path:nowhere/")
    expect(page.locator(".summary .notice")).to_contain_text("filters")
    page.locator("#query").fill("retry since:1d")
    expect(page.locator(".hit")).not_to_have_count(0)
    expect(page.locator('[data-facet="since"] > summary')).to_have_text("Last day")
    page.locator("#query").fill("retry until:1d")
    expect(page.locator(".summary .notice")).to_contain_text("filters")
    page.locator("#query").fill("retry since:banana")
    expect(page.locator(".summary .notice")).to_contain_text("“since:banana” is not a date")
    page.locator("#query").fill("kind:pdf")
    expect(page.locator(".summary")).to_contain_text("1 document,")
    expect(page.locator(".hits a")).to_contain_text("harbour.pdf")


def test_filters_are_completed_while_typing(visit: Visit) -> None:
    page = visit.go("#/search?q=retry")
    expect(page.locator(".facet").first).to_be_visible()
    box = page.locator("#query")
    box.press("End")
    box.press_sequentially(" kind:ma")
    expect(page.get_by_role("option")).to_have_text(["kind:markdown5"])
    expect(box).to_have_attribute("aria-activedescendant", "completion-0")
    box.press("Tab")
    expect(box).to_have_value("retry kind:markdown ")
    expect(page.get_by_role("listbox")).to_be_hidden()
    box.press_sequentially("tag:")
    expect(page.get_by_role("option").first).to_contain_text("tag:")
    box.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(box).to_have_value("retry kind:markdown tag:")


def test_an_older_link_with_filters_of_its_own_leads_to_the_same_place(visit: Visit) -> None:
    page = visit.go("#/search?q=retry&collection=field&kind=python")
    expect(page.locator("#query")).to_have_value("retry in:field kind:python")
    expect(page.locator(".hit")).not_to_have_count(0)


def test_home_shows_examples_that_find_something_collections_changes_and_recent_questions(visit: Visit) -> None:
    page = visit.go("#/search")
    examples = page.locator(".examples a")
    expect(examples).to_have_count(3)
    asked = examples.all_text_contents()
    expect(page.locator("#home-collections + ul")).to_contain_text("field")
    expect(page.locator("#home-collections + ul")).to_contain_text("9 documents")
    expect(page.locator("#home-changed + ul li")).to_have_count(6)
    for question in asked:
        visit.go("#/search")
        page.locator(".examples a", has_text=question).first.click()
        expect(page.locator(".hit")).not_to_have_count(0)
    page.locator(".hit-link").first.click()
    expect(page.locator(".panel")).to_be_visible()
    visit.go("#/search")
    expect(page.locator("#home-recent + ul a")).to_have_text([asked[-1]])
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#home-recent")).to_have_count(0)


def test_a_stale_hit_says_so(visit: Visit) -> None:
    page = visit.go("#/search?q=worker+takes+one+job+queue")
    expect(page.locator(".hit", has_text="queue.md").locator(".badge.warn")).to_have_text("stale")


def saved_cases(server: Server, query: str) -> int:
    with urlopen(Request(f"{server.url}api/eval/cases")) as answer:
        return [case["query"] for case in json.load(answer)["cases"]].count(query)


def test_thumbs_up_keeps_a_case_and_undo_takes_it_back(visit: Visit, server: Server) -> None:
    page = visit.go("#/search?q=restore+a+backup")
    up = page.locator(".hit", has_text="backups.md").get_by_role("button", name="Right answer").first
    up.click()
    expect(page.locator(".toast")).to_contain_text("Kept as a case for Eval. The ranking does not change")
    expect(up).to_have_attribute("aria-pressed", "true")
    assert saved_cases(server, "restore a backup") == 1
    visit.go("#/search?q=restore+a+backup")
    expect(up).to_have_attribute("aria-pressed", "true")  # as it was left
    up.click()
    expect(page.locator(".toast")).to_contain_text("Taken back")
    assert saved_cases(server, "restore a backup") == 0
    up.click()
    page.get_by_role("button", name="Undo").click()
    expect(up).to_have_attribute("aria-pressed", "false")
    assert saved_cases(server, "restore a backup") == 0


def test_thumbs_down_hides_a_hit_for_this_question_and_undo_brings_it_back(visit: Visit) -> None:
    page = visit.go("#/search?q=restore+a+backup")
    expect(page.locator(".hit")).not_to_have_count(0)
    before = page.locator(".hit-link").all_text_contents()
    page.locator(".hit").first.get_by_role("button", name="Not this one").click()
    expect(page.locator(".toast")).to_contain_text("Hidden for this question, in this browser")
    expect(page.locator(".hit-link")).to_have_text(before[1:])
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".hit-link")).to_have_text(before)
    page.locator(".hit").first.get_by_role("button", name="Not this one").click()
    visit.go("#/search?q=restore+a+backup")
    page.get_by_role("button", name="1 hidden: show").click()
    expect(page.locator(".hit-link")).to_have_text(before)


def test_a_server_error_is_shown_with_its_message(visit: Visit) -> None:
    visit.expected.append("404")
    page = visit.go("#/search?q=retry+in:nowhere")
    expect(page.get_by_role("alert")).to_contain_text("there is no collection 'nowhere'")
