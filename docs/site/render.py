"""Markdown to HTML: headings one can link to, code in colours, links that lead to the pages of the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_COMMENT: Final = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_FENCE: Final = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
SHORT_CODE: Final = 24
"""Characters of code in running text that stay on one line: an option, a name, a file (not measured)."""
_NOT_IN_SLUG: Final = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page, and the name by which a link leads to it."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, as words to search by."""

    heading: Heading
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as HTML, with all that others need to know of it. `links` and `images` are as they were written."""

    html: str
    title: str
    headings: tuple[Heading, ...]
    sections: tuple[Section, ...]
    links: tuple[str, ...]
    images: tuple[str, ...] = ()


Leads = Callable[[str], str]
"""From a link as it is written to the one in the site."""


def render(markdown: str, leads: Leads) -> Rendered:
    """A page from its Markdown. HTML in it is shown and not obeyed; comments are left out."""
    reader = (
        MarkdownIt("commonmark", {"html": False, "highlight": _colour})
        .enable(["table", "strikethrough"])
        .disable("autolink")
    )
    tokens = reader.parse(_without_comments(markdown))
    headings = _name_headings(tokens)
    _keep_short_code_together(tokens)
    links = _turn_links(tokens, leads)
    images = tuple(
        str(child.attrGet("src"))
        for parent in tokens
        for child in parent.children or ()
        if child.type == "image"
    )
    renderer = reader.renderer
    assert isinstance(renderer, RendererHTML)  # noqa: S101 - the default one
    html = _wrap_tables(renderer.render(tokens, reader.options, {}))
    title = next((heading.text for heading in headings if heading.level == 1), "")
    return Rendered(html, title, headings, _sections(tokens, headings), tuple(links), images)


def styles() -> str:
    """The colours of code, for light and dark."""
    light, dark = (HtmlFormatter(style=name).get_style_defs("pre") for name in ("xcode", "github-dark"))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def slug(text: str) -> str:
    """The name of a heading as GitHub makes it, so that a link works in both places."""
    return _NOT_IN_SLUG.sub("", text.lower()).replace(" ", "-")


def _without_comments(markdown: str) -> str:
    """The page without HTML comments; those inside code blocks are text and stay."""
    out, last = [], 0
    for fence in _FENCE.finditer(markdown):
        out += [_COMMENT.sub("", markdown[last : fence.start()]), fence.group()]
        last = fence.end()
    return "".join([*out, _COMMENT.sub("", markdown[last:])])


def _colour(code: str, language: str, _attributes: str) -> str:
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    formatter: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
    coloured = highlight(code, lexer, formatter)
    return f'<pre class="{escape(language or "text")}" tabindex="0"><code>{coloured}</code></pre>\n'


def _name_headings(tokens: list[Token]) -> tuple[Heading, ...]:
    found: list[Heading] = []
    used: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        text = _words(tokens[at + 1])
        name = slug(text)
        times = used.get(name, 0)
        used[name] = times + 1
        heading = Heading(int(token.tag[1]), text, f"{name}-{times}" if times else name)
        token.attrSet("id", heading.anchor)
        found.append(heading)
    return tuple(found)


def _keep_short_code_together(tokens: list[Token]) -> None:
    """A line may end after a hyphen, and `--yes` is no longer an option then."""
    for token in (child for parent in tokens for child in parent.children or ()):
        if token.type == "code_inline" and len(token.content) <= SHORT_CODE:
            token.attrSet("class", "short")


def _turn_links(tokens: list[Token], leads: Leads) -> list[str]:
    links = []
    for token in (child for parent in tokens for child in parent.children or ()):
        if token.type == "link_open":
            written = str(token.attrGet("href"))
            links.append(written)
            token.attrSet("href", leads(written))
    return links


def _words(token: Token) -> str:
    """The text of an inline token, without its marks."""
    return "".join(child.content for child in token.children or () if child.type in ("text", "code_inline"))


def _sections(tokens: list[Token], headings: tuple[Heading, ...]) -> tuple[Section, ...]:
    texts: list[list[str]] = []
    in_heading = False
    for token in tokens:
        if token.type == "heading_open":
            texts.append([])
        in_heading = token.type == "heading_open" or (in_heading and token.type != "heading_close")
        if not texts or in_heading:
            continue
        if token.type == "inline":
            texts[-1].append(_words(token))
        elif token.type in ("fence", "code_block"):
            texts[-1].append(token.content)
    return tuple(
        Section(heading, " ".join(" ".join(words).split()))
        for heading, words in zip(headings, texts, strict=True)
    )


def _wrap_tables(html: str) -> str:
    """A table may be wider than a telephone: it scrolls by itself, also by keyboard."""
    return html.replace("<table>", '<div class="wide" tabindex="0"><table>').replace(
        "</table>", "</table></div>"
    )


def relative(target: str, base: str) -> str:
    """A path of the site as seen from a page of it."""
    return posixpath.relpath(target, posixpath.dirname(base) or ".")


def attributes(**values: Any) -> str:
    """Attributes of an element; those that are None are left out."""
    return "".join(f' {name}="{escape(str(value))}"' for name, value in values.items() if value is not None)
