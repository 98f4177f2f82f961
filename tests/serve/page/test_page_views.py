"""Library, map, chat, eval, the first steps and the token, each used as a person would."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import expect
from tests.serve.page.conftest import ChatModel, Server, Visit, serve

import outcrop
from outcrop.chat.local import PORTS


def test_the_library_lists_documents_and_draws_their_chunks(visit: Visit) -> None:
    page = visit.go("#/library")
    page.get_by_role("link", name="field").click()
    expect(page.locator("tbody tr")).to_have_count(9)
    expect(page.locator("tr", has_text="queue.md").locator(".badge.warn")).to_have_text("changed")
    page.get_by_role("link", name="src/pool.py").click()
    expect(page.locator(".chunk")).to_have_count(3)
    expect(page.locator(".chunk-label").nth(1)).to_contain_text("ConnectionPool")
    shown = "".join(page.locator(".chunk pre").all_inner_texts())
    assert "def acquire" in shown
    assert "raise TimeoutError(attempts)" in shown


def test_a_folder_is_added_with_progress_and_its_failures_have_reasons(visit: Visit, server: Server) -> None:
    extra = server.folder / "extra"
    extra.mkdir()
    for number in range(30):
        (extra / f"note{number}.md").write_text(
            f"# Note {number}\n\nAbout lighthouses and tides, number {number}.\n"
        )
    (extra / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    page = visit.go("#/library")
    page.get_by_label("Folder, file or URL").fill(str(extra))
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".collections a", has_text="extra")).to_be_visible()
    work = page.locator("section", has=page.get_by_role("heading", name="Work"))
    expect(work).to_contain_text("30 added")
    expect(work.locator(".reasons")).to_contain_text("torn.pdf")
    expect(work.locator(".reasons")).to_contain_text("damaged PDF")

    page.get_by_role("link", name="extra").click()
    expect(page.locator("tbody tr")).to_have_count(30)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("tbody tr")).to_have_count(30)
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".collections a", has_text="extra")).to_have_count(0)
    assert (extra / "note1.md").exists()


def test_a_folder_outside_the_roots_is_refused_with_a_message(visit: Visit) -> None:
    visit.expected.append("403")
    page = visit.go("#/library")
    page.get_by_label("Folder, file or URL").fill("/etc")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("no folder that may be indexed from here")


def test_the_map_is_walked_by_click_and_by_keyboard(visit: Visit) -> None:
    page = visit.go("#/map?collection=field")
    expect(page.locator(".node")).not_to_have_count(0)
    names = page.locator(".map-link").all_inner_texts()
    assert {"ConnectionPool", "Orders"} <= set(names)
    first = page.locator(".node circle").evaluate_all("nodes => nodes.map(node => node.getAttribute('cx'))")
    page.locator(".node", has_text="Orders").click()
    expect(page.locator(".map-target")).to_have_text("Orders")
    expect(page).to_have_url(re.compile(r"target=\d+"))
    page.locator(".map-link").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".map-target")).not_to_have_text("Orders")
    page.go_back()
    expect(page.locator(".map-target")).to_have_text("Orders")
    visit.go("#/map?collection=field")
    expect(page.locator(".node")).to_have_count(len(first))
    again = page.locator(".node circle").evaluate_all("nodes => nodes.map(node => node.getAttribute('cx'))")
    assert again == first  # the same graph, the same picture


def test_a_chat_streams_and_its_citation_opens_the_passage(visit: Visit) -> None:
    page = visit.go("#/chat")
    expect(page.get_by_label("Context")).to_be_checked()
    page.get_by_label("Message").fill("When should a request be sent again?")
    page.keyboard.press("Enter")
    turn = page.locator(".turn.assistant")
    expect(turn).to_contain_text("The pause doubles each time")
    expect(page.locator(".source").first).to_be_visible()
    turn.get_by_role("button", name=re.compile("Source 1")).first.click()
    expect(page.locator(".source-body .chunk-line").first).to_be_visible()


def test_a_chat_is_copied_asked_again_and_found_again_later(visit: Visit) -> None:
    page = visit.go("#/chat")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("Message").fill("When should a request be sent again?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.locator(".toast")).to_have_text("Answer copied")
    assert "doubles each time" in page.evaluate("navigator.clipboard.readText()")
    expect(page.locator(".source .score").first).to_have_text(re.compile(r"0\.\d\d"))
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.locator(".turn")).to_have_count(2)
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.locator(".turn")).to_have_count(0)
    visit.go("#/chat")
    page.locator(".chat-history button", has_text="When should a request").click()
    expect(page.locator(".turn.assistant")).to_contain_text("The pause doubles each time")
    page.get_by_role("button", name="Forget all").click()
    expect(page.locator(".chat-history button")).to_have_count(0)


def local_model() -> tuple[str, ThreadingHTTPServer]:
    """A chat model at the usual port of one of the servers that people run: the first that is free."""
    for name, (_, port) in PORTS.items():
        try:
            return name, ThreadingHTTPServer(("127.0.0.1", port), ChatModel)
        except OSError:  # somebody uses it
            continue
    raise AssertionError(f"all of these ports are in use: {PORTS}")


def test_a_model_found_on_this_machine_is_picked_and_answers(
    open_page: Callable[..., Visit], tmp_path: Path
) -> None:
    (tmp_path / "one.md").write_text("# Tides\n\nHigh water comes fifty minutes later each day.\n")
    with outcrop.open(tmp_path / "data" / "index.db") as engine:
        engine.add(tmp_path / "one.md")
    name, model = local_model()
    thread = threading.Thread(target=model.serve_forever)
    thread.start()
    try:
        with serve(tmp_path / "data" / "index.db") as url:
            page = open_page(url).go("#/chat")
            page.locator(".servers p", has_text=PORTS[name][0]).get_by_role("button", name="small").click()
            page.get_by_label("Message").fill("When is high water?")
            page.keyboard.press("Enter")
            expect(page.locator(".turn.assistant")).to_contain_text("The pause doubles each time")
            page.reload()
            expect(page.get_by_label("Message")).to_be_enabled()  # it is remembered
            page.close()  # before the server: what it asks later would be a complaint
    finally:
        model.shutdown()
        model.server_close()
        thread.join()


class Talkative(ChatModel):
    """Cites in every form, and states an option that no source holds."""

    words = "High water comes fifty minutes later [1-2], or with `--tide` [1; 2]."


def test_a_chat_shows_prose_of_its_sources_and_puts_remarks_below_the_answer(
    open_page: Callable[..., Visit], tmp_path: Path
) -> None:
    fields = "---\ntitle: Tides\neleventyNavigation:\n  key: tides\n---\n\n"
    (tmp_path / "one.md").write_text(f"{fields}# Tides\n\n**High water** comes fifty minutes later each day.\n")
    (tmp_path / "two.md").write_text("# Moon\n\nHigh water follows the moon, which comes later each day.\n")
    with outcrop.open(tmp_path / "data" / "index.db") as engine:
        engine.add(tmp_path / "one.md")
        engine.add(tmp_path / "two.md")
    model = ThreadingHTTPServer(("127.0.0.1", 0), Talkative)
    thread = threading.Thread(target=model.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{model.server_port}/v1"
        with serve(tmp_path / "data" / "index.db", chat_model="small", chat_url=url) as address:
            page = open_page(address).go("#/chat")
            page.get_by_label("Message").fill("When is high water?")
            page.keyboard.press("Enter")
            turn = page.locator(".turn.assistant")
            expect(turn.locator(".said-text + .notice")).to_contain_text("--tide")
            expect(turn.locator(".cite")).to_have_count(4)
            first = page.locator(".source", has_text="one.md")
            expect(first.locator(".source-text")).to_have_text(
                re.compile(r"^Tides High water comes fifty minutes later each day\.$")
            )
            page.set_viewport_size({"width": 390, "height": 700})
            turn.locator(".cite").first.click()
            expect(page.locator(".source-body")).to_be_in_viewport()  # it stands below the conversation
            page.close()  # before the server: what it asks later would be a complaint
    finally:
        model.shutdown()
        model.server_close()
        thread.join()


def test_labels_of_the_map_never_overlap_and_it_can_be_zoomed(visit: Visit) -> None:
    page = visit.go("#/map?collection=field")
    expect(page.locator(".node text").first).to_be_visible()
    expect(page.locator(".hull")).to_have_count(1)

    def clashes() -> object:
        return page.locator(".map-picture text").evaluate_all(
            """texts => { const boxes = texts.map(text => text.getBoundingClientRect());
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
              a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)).length; }"""
        )

    def spread() -> float:
        return float(
            page.locator(".node circle").evaluate_all(
                "all => { const xs = all.map(one => one.cx.baseVal.value); return Math.max(...xs) - Math.min(...xs); }"
            )
        )

    assert clashes() == 0
    before = spread()
    page.get_by_role("button", name="Zoom in").click()
    assert spread() > 1.3 * before
    assert clashes() == 0
    page.get_by_role("button", name="Show all").click()
    assert abs(spread() - before) < 1


def test_eval_runs_the_cases_and_plots_them(visit: Visit) -> None:
    page = visit.go("#/search?q=granite+boulders+glaciers")
    page.get_by_role("button", name="Right answer").first.click()
    expect(page.locator(".toast")).to_contain_text("Kept as a case")
    page = visit.go("#/eval")
    expect(page.locator(".cases li", has_text="granite boulders glaciers")).to_be_visible()
    rows = page.locator(".runs tbody tr")
    expect(rows).not_to_have_count(0)
    runs = rows.count()
    for count in (runs + 1, runs + 2):
        page.get_by_role("button", name="Run", exact=True).click()
        expect(rows).to_have_count(count)
    expect(page.locator(".plot svg")).to_be_visible()
    rows.first.locator("button").click()
    expect(page.locator(".badge.good", has_text="rank 1").first).to_be_visible()
    expect(page.locator(".compared tbody tr")).to_have_count(5)
    expect(rows.first).to_contain_text("hybrid · outcrop-static")
    page.get_by_label("against").select_option(index=0)
    expect(page.locator(".compared")).to_have_count(0)
    page.locator(".cases a", has_text="granite boulders glaciers").first.click()
    expect(page.locator("#query")).to_have_value("granite boulders glaciers")


def test_an_empty_index_shows_how_to_start_and_the_token_is_asked_for(
    open_page: Callable[..., Visit], tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "one.md").write_text("# Tides\n\nHigh water comes fifty minutes later each day.\n")
    with serve(tmp_path / "data" / "index.db", "--root", str(notes), token="hand-axe-7") as url:
        visit = open_page(url)
        visit.expected.append("401")
        page = visit.go("#/search")
        page.locator("#token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#token")).to_have_value("")  # asked again
        page.locator("#token").fill("hand-axe-7")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Nothing is indexed yet")).to_be_visible()
        expect(page.locator(".commands code")).to_have_count(3)
        page.get_by_label("Folder, file or URL").fill(str(notes))
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".collections a", has_text="notes")).to_be_visible()
        page = visit.go("#/chat")
        expect(page.locator(".notice")).to_contain_text("No chat model is set up")
        expect(page.locator(".notice")).to_contain_text("OUTCROP_CHAT_MODEL")
        friend = open_page(url)
        page = friend.go("#token=hand-axe-7&/search?q=high+water")
        expect(page.locator(".hit")).to_have_count(1)
        assert "hand-axe-7" not in page.url
        for opened in (visit, friend):  # before the server: what they ask later would be a complaint
            opened.page.close()
