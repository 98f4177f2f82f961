"""Any script on the page: text from the right with code in it, and the right characters marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, expect
from tests.serve.page.conftest import Visit, serve

import outcrop

TEXTS = {
    "ar.md": "# تثبيت الخادم\n\nتستدعي الخدمة الدالة `getUserName()` عند كل طلب.\n\n"
    "- الدالة getUserName() تقرأ /etc/app.conf أولا.\n",
    "he.txt": "התקנת השרת\n\n"
    "השירות קורא לפונקציה getUserName() בכל בקשה, ואחר כך קורא את /etc/app.conf לפני ההפעלה של השרת.\n",
    "hi.md": "# सर्वर\n\nशहर के अस्पताल बंद रहते हैं, और getUserName() नाम बताता है।\n",
    "th.md": "# เซิร์ฟเวอร์\n\nโรงพยาบาลของเมืองปิด และเรียกใช้ getUserName() ก่อนเริ่ม\n",
    "zh.md": "# 服务器\n\n城市的医院周末关闭，然后调用 getUserName() 读取名称。\n",
    "ja.md": "# サーバー\n\n市の病院は週末に閉まり、getUserName() を呼び出します。\n",
}
ENDS = """element => {
  const place = at => {
    let node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), text, left = at;
    while ((text = node.nextNode()) && left >= text.length) left -= text.length;
    const range = new Range();
    range.setStart(text, left);
    range.setEnd(text, left + 1);
    return range.getBoundingClientRect().left;
  };
  return [place(0), place(element.textContent.length - 1)];
}"""
"""Where the first and the last character of an element are drawn."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("scripts")
    (root / "notes").mkdir()
    for name, text in TEXTS.items():
        (root / "notes" / name).write_text(text, "utf-8")
    db = root / "data/index.db"
    with outcrop.open(db) as engine:
        assert not engine.add(root / "notes").failed
    with serve(db) as address:
        yield address


def assert_from_the_left(code: Locator, text: str) -> None:
    expect(code).to_have_text(text)
    first, last = code.evaluate(ENDS)
    assert first < last, f"the end of {text} is shown before its beginning"


@pytest.mark.parametrize(("name", "query"), [("ar.md", "الدالة getUserName"), ("he.txt", "השרת getUserName")])
def test_code_in_text_from_the_right_is_shown_from_the_left(
    url: str, open_page: Callable[..., Visit], name: str, query: str
) -> None:
    page = open_page(url).go(f"#/search?q={query}")
    hit = page.locator(".hit", has=page.locator(".path", has_text=name))
    for text in ("getUserName()", "/etc/app.conf"):
        assert_from_the_left(hit.locator(".excerpt bdi", has_text=text).first, text)
    expect(hit.locator(".excerpt mark", has_text="getUserName").first).to_have_text("getUserName")
    hit.click()
    document = page.locator(".panel .document")
    for text in ("getUserName()", "/etc/app.conf"):
        assert_from_the_left(document.locator("bdi, code", has_text=text).first, text)
    if name == "ar.md":
        assert_from_the_left(document.locator("code"), "getUserName()")
        assert document.locator("ul").evaluate("list => getComputedStyle(list).direction") == "rtl"
    else:
        line = document.locator(".line[dir=rtl]").first
        assert line.evaluate(
            "line => { const r = new Range(); r.selectNodeContents(line); "
            "return r.getBoundingClientRect().right <= line.getBoundingClientRect().right + 1 }"
        )


@pytest.mark.parametrize(
    ("name", "query", "marked"),
    [
        ("hi.md", "अस्पताल getUserName", {"अस्पताल", "getUserName"}),
        ("th.md", "โรงพยาบาล", {"โรงพยาบาล"}),
        ("zh.md", "医院 getUserName", {"医院", "getUserName"}),
        ("ja.md", "病院 週末 getUserName", {"病院", "週末", "getUserName"}),
    ],
)
def test_the_words_of_a_question_are_marked_in_any_script(
    url: str, open_page: Callable[..., Visit], name: str, query: str, marked: set[str]
) -> None:
    page = open_page(url).go(f"#/search?q={query}")
    hit = page.locator(".hit", has=page.locator(".path", has_text=name))
    expect(hit.locator("mark").first).to_be_visible()
    assert set(hit.locator("mark").all_text_contents()) == marked
