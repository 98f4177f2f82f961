"""A document as HTML that is safe to put on the page.

Safe by construction: every character of a document passes through `escape`, Markdown is rendered with HTML switched
off, links keep only schemes that cannot run anything, images become their words, and nothing carries a style.
Blocks and lines say which lines of the document they are (`data-line`, `data-end`), so that the page can mark a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from outcrop.records import DocumentInfo, StoredChunk
from outcrop.serve.page.highlight import highlight_source
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted
from outcrop.text.directions import LETTER, find_code, isolate_code, runs_from_right

MAX_CHARS: Final = 300_000
"""A document up to this size is shown whole: at most a second of highlighting, ten thousand lines in the browser."""
WINDOW_LINES: Final = 2_000
"""How many lines of a larger one are shown at a time (not measured)."""
MAX_LINE_CHARS: Final = 4_000
"""A longer line (minified code, data) is cut: it is neither readable nor worth highlighting (not measured)."""

_SCHEMES: Final = ("http://", "https://", "mailto:")
_LINK: Final = {"rel": "noopener noreferrer nofollow", "target": "_blank"}
_FRONT_MATTER: Final = re.compile(
    r"(---|\+\+\+)[ \t]*\n.{0,65536}?^(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ChunkMark:
    """Where a chunk lies in its document."""

    id: int
    index: int
    line_start: int
    line_end: int
    start: int
    end: int
    page: int | None
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A document, or the stretch of it that is shown: `first_line` to `last_line` of `lines`. `form` is `markdown`
    (rendered), `code` or `text` (line by line)."""

    html: str
    form: str
    kind: str
    language: str
    first_line: int
    last_line: int
    lines: int
    chunks: tuple[ChunkMark, ...]


def render_view(
    document: DocumentInfo, text: str, chunks: Sequence[StoredChunk], *, at: int = 1, source: bool = False
) -> View:
    """A document for the page. A large one is shown around line `at`; `source` shows Markdown as it was written."""
    lines = text.split("\n")
    first, last = 1, len(lines)
    if len(text) > MAX_CHARS:
        first = max(1, min(at - WINDOW_LINES // 2, last - WINDOW_LINES + 1))
        last = min(last, first + WINDOW_LINES - 1)
    whole = (first, last) == (1, len(lines))
    shown = lines[first - 1 : last]
    if document.kind == "markdown" and whole and not source:
        form, html = "markdown", render_markdown(text)
    else:
        form = "code" if document.language else "text"
        html = render_lines(shown, document.language, first, _page_starts(chunks))
    marks = tuple(
        ChunkMark(c.id, c.index, c.line_start, c.line_end, c.start, c.end, c.page, c.heading_path)
        for c in chunks
    )
    return View(html, form, document.kind, document.language, first, last, len(lines), marks)


def _page_starts(chunks: Sequence[StoredChunk]) -> dict[int, int]:
    """line → the page whose first chunk begins on it."""
    starts: dict[int, int] = {}
    seen: set[int] = set()
    for chunk in chunks:
        if chunk.page is not None and chunk.page not in seen:
            seen.add(chunk.page)
            starts.setdefault(chunk.line_start, chunk.page)
    return starts


def render_lines(
    lines: Sequence[str], language: str, first: int = 1, pages: Mapping[int, int] | None = None
) -> str:
    """Lines, numbered and highlighted, with a mark where a page begins."""
    parts: list[str] = []
    for number, html in enumerate(highlight(lines, language), first):
        if pages and number in pages:
            parts.append(f'<div class="page-mark">Page {pages[number]}</div>')
        side = ' dir="rtl"' if not language and runs_from_right(lines[number - first]) else ""
        parts.append(f'<div class="line" data-line="{number}"{side}>{html or " "}</div>')
    return f'<div class="lines">{"".join(parts)}</div>'


def highlight(lines: Sequence[str], language: str) -> Iterator[str]:
    """Each line as HTML: escaped text, with classes around it where the language has a grammar here."""
    cut = [line if len(line) <= MAX_LINE_CHARS else line[:MAX_LINE_CHARS] + " …" for line in lines]
    whole = all(len(line) <= MAX_LINE_CHARS for line in lines)  # a line that was cut is no source any more
    pieces = highlight_source("\n".join(cut), language) if language and whole else None
    if pieces is None:
        yield from (map(escape, cut) if language else (isolate_code(line, escape) for line in cut))
        return
    done: list[str] = []
    for value, style in pieces:
        for at, piece in enumerate(value.split("\n")):
            if at:
                yield "".join(done)
                done = []
            if piece:
                done.append(f'<span class="{style}">{escape(piece)}</span>' if style else escape(piece))
    yield "".join(done)


def render_markdown(text: str) -> str:
    """Markdown as HTML. Front matter stays as text above it."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return str(_MARKDOWN.render(text))
    head = match[0]
    height = head.count("\n")
    front = f'<pre class="front" data-line="1" data-end="{max(height, 1)}">{escape(head.strip())}</pre>'
    return front + str(_MARKDOWN.render("\n" * height + text[match.end() :]))


def _tame_links(state: StateCore) -> None:
    """Let links lead to the web only; any other is shown as its words."""
    for child in (child for token in state.tokens for child in token.children or ()):
        if child.type == "link_open":
            href = str(child.attrGet("href") or "")
            leads = href.lower().startswith(_SCHEMES)
            tag = "a" if leads else "span"
            child.attrs = {"href": href, **_LINK} if leads else {"class": "ref"}
        if child.type in ("link_open", "link_close"):  # links never nest
            child.tag = tag


def _draw_image(_renderer: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    words = tokens[at].content or str(tokens[at].attrGet("src") or "")
    return f'<span class="image">{escape(words)}</span>'


def _note_lines(state: StateCore) -> None:
    """Say on every block which lines it came from, and take styles off: the page's policy forbids them."""
    for token in state.tokens:
        style = token.attrs.pop("style", None)
        if isinstance(style, str) and style.startswith("text-align:"):
            token.attrSet("class", f"align-{style.removeprefix('text-align:')}")
        if token.map is not None and token.nesting >= 0 and token.type != "inline":
            token.attrSet("data-line", str(token.map[0] + 1))
            token.attrSet("data-end", str(token.map[1]))


def _note_directions(state: StateCore) -> None:
    """Let blocks run in the direction of the first text in them, and keep code apart in text from the right."""
    undecided: list[Token] = []
    for token in state.tokens:
        if token.type == "inline" and LETTER.search(token.content):
            if runs_from_right(token.content):
                for block in undecided:
                    block.attrSet("dir", "rtl")
                token.children = [part for child in token.children or () for part in _isolate(child)]
            undecided = []
        elif token.nesting > 0:
            undecided.append(token)
        elif token.nesting < 0 and undecided:
            undecided.pop()


def _isolate(token: Token) -> Iterator[Token]:
    """A token in parts, those of code between the tags of an isolate."""
    done = 0
    for start, end in find_code(token.content) if token.type == "text" else ():
        yield token.copy(content=token.content[done:start])
        yield Token("bdi_open", "bdi", 1, attrs={"dir": "ltr"})
        yield token.copy(content=token.content[start:end])
        yield Token("bdi_close", "bdi", -1)
        done = end
    yield token.copy(content=token.content[done:]) if done else token


def _ask_whether_wanted(*_: object) -> bool:
    """A rule that matches nothing: asked at every block, and within one at every place where something may begin, it
    ends the work when nobody waits for it any more."""
    check_wanted()
    return False


def _highlight_fence(code: str, language: str, _attributes: str) -> str:
    return "\n".join(highlight(code.split("\n"), language))


def _make_markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _highlight_fence})
    made.enable(["table", "strikethrough"])
    made.validateLink = bool  # type: ignore[assignment]  # every link is parsed, so that its words are shown as words
    made.core.ruler.push("note_lines", _note_lines)
    made.core.ruler.push("tame_links", _tame_links)
    made.core.ruler.push("note_directions", _note_directions)
    made.block.ruler.before("table", "wanted", _ask_whether_wanted)
    made.inline.ruler.before("text", "wanted", _ask_whether_wanted)
    made.add_render_rule("image", _draw_image)
    return made


_MARKDOWN: Final = _make_markdown()
