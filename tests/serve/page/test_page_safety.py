"""Nothing in a document runs: not its text, not its name; nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect
from tests.serve.page.conftest import Server, Visit
from tests.serve.page.corpus import ATTACK, ATTACK_NAME

from outcrop.serve.page.render import highlight, render_lines, render_markdown
from outcrop.serve.page.routes import load_assets

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:alert(1))",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/api/documents/1)",
    "[x](#token=stolen)",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    '[x](https://a.example/"onclick="alert(1))',
    '[x](https://a.example "x\\" onclick=\\"alert(1)")',
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    '```"><script>alert(1)</script>\ncode\n```',
    "    <script>alert(1)</script>",
    "`<script>alert(1)</script>`",
    "| <script>alert(1)</script> |\n|---|\n| <img onerror=alert(1)> |",
    "---\n</pre><script>alert(1)</script>: 1\n---\n",
    "\x00<script>\x00alert(1)</script>",
    "<" * 2000 + "script>",
    "[" * 2000 + "x" + "](javascript:1)" * 2000,
]
TAG = re.compile(r"<(/?)([a-zA-Z0-9]+)((?:\s[^<>]*)?)>")
TAGS = set(
    "a span div p h1 h2 h3 h4 h5 h6 ul ol li table thead tbody tr th td pre code em strong s blockquote hr br".split()
)
ATTRIBUTES = {"class", "data-line", "data-end", "href", "rel", "target", "start", "title"}


def assert_harmless(html: str) -> None:
    """Only tags and attributes that can do nothing, every link to the web."""
    rest = TAG.sub("", html)
    assert "<" not in rest
    for _, name, attributes in TAG.findall(html):
        assert name.lower() in TAGS, name
        names = re.findall(r'([\w-]+)="', attributes)
        assert set(names) <= ATTRIBUTES, attributes
        assert re.fullmatch(r'(?:\s[\w-]+="[^"<>]*")*\s*/?', attributes), attributes
        for href in re.findall(r'href="([^"]*)"', attributes):
            assert href.startswith(("http://", "https://", "mailto:")), href


@pytest.mark.parametrize("text", ATTACKS, ids=range(len(ATTACKS)))
def test_no_markdown_becomes_active_html(text: str) -> None:
    assert_harmless(render_markdown(text))
    assert_harmless(render_lines(text.split("\n"), "python"))
    assert_harmless(render_lines(text.split("\n"), "vue"))


@pytest.mark.parametrize("language", ["python", "vue", "c++", "dockerfile", "nonsense", ""])
def test_highlighted_lines_are_the_lines_they_came_from(language: str) -> None:
    lines = ["", "def f():", "\treturn '<&>'  # \"x\"", "", '"""a', 'b"""', "x = 'ünï'", ""]
    shown = list(highlight(lines, language))
    bare = [re.sub(r"<[^>]*>", "", line).replace("&lt;", "<").replace("&gt;", ">") for line in shown]
    bare = [line.replace("&#x27;", "'").replace("&quot;", '"').replace("&amp;", "&") for line in bare]
    assert bare == lines


def test_a_hostile_document_is_shown_and_runs_nothing(visit: Visit) -> None:
    page = visit.go("#/search?q=quarry")
    hit = page.locator(".hit", has_text="quarry").first
    expect(hit.locator(".path")).to_have_text(ATTACK_NAME)
    hit.locator(".hit-link").first.click()
    expect(page.locator(".document.markdown")).to_contain_text('<img src=x onerror="window.pwned = 1">')
    assert page.locator(".document :is(script, img, svg, iframe, style, [onclick], [onerror])").count() == 0
    assert page.locator(".document a[href^='javascript'], .document a[href^='data']").count() == 0
    for tab in ("Why", "Document"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(120)
    page.get_by_role("button", name="As written").click()
    expect(page.locator(".lines")).to_contain_text("<script>window.pwned = 1</script>")
    for tab in ("context", "left"):
        visit.go(f"#/search?q=quarry&tab={tab}")
        expect(page.locator(".panel-body")).to_contain_text("onerror" if tab == "context" else "considered")
    visit.go("#/library?collection=field")
    page.get_by_role("link", name=ATTACK_NAME).click()
    expect(page.locator(".chunk").first).to_contain_text("onerror")
    assert page.evaluate("window.pwned") is None
    assert ATTACK.startswith("---")


@pytest.mark.parametrize(
    "address",
    [
        "#/search?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E&tag=%22%3E%3Cscript%3E",
        "#/library?document=%3Cscript%3E",
        "#/map?target=%3Csvg%20onload%3Dwindow.pwned%3D1%3E",
        "#/__proto__?hit=1",
        "#/constructor",
        "#javascript:window.pwned=1",
    ],
)
def test_a_hostile_url_runs_nothing(visit: Visit, address: str) -> None:
    visit.expected += ["404", "422"]
    page = visit.go(address)
    expect(page.locator("main > *").first).to_be_attached()
    page.wait_for_timeout(250)
    assert page.evaluate("window.pwned") is None


def test_the_content_security_policy_allows_no_inline_code_and_no_foreign_origin(
    visit: Visit, server: Server
) -> None:
    with urlopen(server.url) as answer:
        policy = answer.headers["Content-Security-Policy"]
        text = answer.read().decode()
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == directives["connect-src"] == "'self'"
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", text)
    visit.expected += ["Content Security Policy", "violates"]
    page = visit.go("#/search")
    ran = page.evaluate(
        """() => { const script = document.createElement('script'); script.textContent = 'window.pwned = 1';
        document.body.append(script); return window.pwned; }"""
    )
    assert ran is None


def test_html_is_inserted_at_one_place_only() -> None:
    sources = {
        name: content.decode() for name, (content, kind, _) in load_assets().items() if "javascript" in kind
    }
    assert len(sources) > 15
    writers = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc"
    )
    found = [
        (name, line) for name, text in sources.items() for line in text.split("\n") if writers.search(line)
    ]
    assert [name for name, _ in found] == ["document.js"], found
    elsewhere = [
        name
        for name, text in sources.items()
        if re.search(r"""^import[^;]*["'](?!\./)[^"';]*["'];$""", text, re.MULTILINE)
    ]
    assert not elsewhere


def test_every_file_of_the_page_is_asked_for_by_a_name_in_a_table(server: Server) -> None:
    names = set(load_assets())
    html = load_assets()["index.html"][0].decode()
    linked = set(re.findall(r"/assets/([\w.]+)", html))
    for name, (content, kind, _) in load_assets().items():
        if "javascript" in kind:
            linked |= set(re.findall(r'from "\./([\w.]+)"', content.decode()))
        with urlopen(f"{server.url}assets/{name}") as answer:
            assert answer.headers["Content-Type"] == kind
            assert answer.read() == content
    assert linked == names - {"index.html"}
    folder = Path(__file__).parents[3] / "src" / "outcrop" / "serve" / "page" / "static"
    assert {path.name for path in folder.iterdir()} == names
