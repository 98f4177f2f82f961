"""Markdown: the text as it is, its front matter, and its headings.

A single pass over lines that knows CommonMark's blocks well enough to tell a heading from a `#` inside code, a
comment, a list item or a quote. Only headings of the document itself count: one inside a list item or a quote
does not open a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile, islice, repeat

from outcrop.parse.limits import MAX_HEADINGS
from outcrop.parse.title import cut_title, file_stem, first_line, without_id
from outcrop.records import Document, Heading
from outcrop.system.limits import timed
from outcrop.text.pattern import pattern

# Deeper nesting is an attack, not a list; beyond it the rest of a line is read as words.
_MAX_DEPTH = 32
# An underlined heading with more lines is a paragraph above a stray rule; its first lines make a good enough title.
_MAX_SETEXT_LINES = 10
_QUOTE = -1  # an open block quote; list items are stored as the column of their content

_ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_ATX_END = re.compile(r"(?:^|[ \t])#+$")
_FENCE = re.compile(r"(`{3,}+)(?=[^`]*$)|(~{3,}+)")
_BULLET = re.compile(r"[-+*](?=[ ]|$)")
_ORDERED = re.compile(r"(\d{1,9})[.)](?=[ ]|$)")
_SETEXT = re.compile(r"(=+|-+)[ ]*$")
_DEFINITION = pattern(
    r"[ ]{0,3}\[(?:[^\[\]\\]|\\.){1,999}\]:[ ]*(?:<[^<>]*>|\S+)(?:[ ]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ ]*$"
)
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|"
    "dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|"
    "menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|"
    "title|tr|track|ul"
)
_RAW_TAGS = "script|pre|style|textarea"
# The seven kinds of HTML block: how one starts, and what ends it (None: a blank line).
_HTML_BLOCKS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (re.compile(rf"<(?:{_RAW_TAGS})(?:[\s>]|$)", re.I), re.compile(rf"</(?:{_RAW_TAGS})>", re.I)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I), None),
)  # fmt: skip
# The seventh cannot interrupt a paragraph: a complete tag alone on its line.
_HTML_TAG = pattern(
    r"(?:<[A-Za-z][A-Za-z0-9-]*+(?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?)*+\s*+/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>)\s*+$"
)

# The rest of a longer heading is ignored: the patterns below look ahead, and titles are one line.
_MAX_HEADING_CHARS = 500

_MARKUP = re.compile("[`*_~\\[<&\\\\{\0\ue000\ue001]")  # absent from most titles
_CODE = pattern(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = pattern(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_AUTOLINK = pattern(r"<((?:https?|mailto):[^<>\s]+)>")
_TAG = pattern(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
_STRONG = pattern(r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1")
_UNDERSCORES = pattern(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ATTRIBUTES = pattern(r"\s*\{[#.:][^{}]*\}$")
_ESCAPE = pattern(r"\\([!-/:-@\[-`{-~])")
_KEPT = pattern("\ue000(\\d+)\ue001")

MAX_TAGS = 100
_TAGS = pattern(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*+(?s:.*?)(?:^[ \t]*(?P=fence)|\Z)|`[^`\n]{1,500}`"
    r"|(?:(?<=\s)|^)#(?P<tag>[^\W_][\w/-]{0,100})",
    re.MULTILINE,
)

_BLANK_LINES = pattern(r"(?<=\n\n)\n+(?=\n)")


def read_markdown(text: str, path: str) -> Document:
    """A Markdown file with its front matter, headings and title."""
    from outcrop.parse.front_matter import read_front_matter  # a search, which looks for headings, does without

    front = read_front_matter(text)
    headings = find_headings(text, front.end)
    top = next((h for h in headings if h.level == 1), headings[0] if headings else None)
    first = first_line(text, front.end)
    if "[[" in first:  # a note of a vault, which is called by its file
        first = ""
    title = front.title or (top.title if top else "") or first or without_id(file_stem(path))
    tags = front.tags
    if "[[" in text or "aliases" in front.meta:  # a note of a vault; elsewhere `#` has other meanings
        tags = tuple(dict.fromkeys((*tags, *islice(inline_tags(text, front.end), MAX_TAGS))))
    return Document(
        text=text,
        kind="markdown",
        title=cut_title(title),
        headings=tuple(headings),
        tags=tags,
        meta=front.meta,
    )


def inline_tags(text: str, start: int = 0) -> Iterator[str]:
    """The tags that a note has in its text (`#idea`, `#work/plan`), outside of code."""
    for match in timed(_TAGS.finditer(text, start)):
        if match["tag"] and not match["tag"].isdecimal():
            yield match["tag"].rstrip("/")


def find_headings(text: str, start: int = 0) -> list[Heading]:
    """The headings of a Markdown text from an offset on, in order."""
    scanner = _Scanner()
    offset = start
    for _ in timed(repeat(None)):
        if offset > len(text) or len(scanner.headings) >= MAX_HEADINGS:
            break
        end = text.find("\n", offset)
        if end < 0:
            end = len(text)
        scanner.scan_line(text[offset:end], offset)
        offset = end + 1
        if blank := _BLANK_LINES.match(text, offset):  # more than two change nothing
            offset = blank.end()
    return scanner.headings


class _Scanner:
    """Open containers and the open leaf block, line by line."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self._containers: list[int] = []
        self._paragraph: list[tuple[int, str]] = []  # offset and words of each line of the open paragraph
        self._in_paragraph = False
        self._fence = ""
        self._html_end: re.Pattern[str] | None = None
        self._in_html = False
        self._item_is_empty = False  # the last item has only its marker so far

    def scan_line(self, line: str, offset: int) -> None:
        """Take one line, without its line end, and the offset where it starts."""
        if not self._containers and not self._in_html and self._scan_plain(line, offset):
            return
        if "\t" in line:
            line = line.expandtabs(4)
        depth, column = self._match_containers(line)
        content = _first_not_space(line, column)
        if depth < len(self._containers) and not self._goes_on_lazily(line, column, content):
            self._close_containers(depth)
        elif depth < len(self._containers):
            if content < len(line):
                self._add_words(line[content:], offset)
                return
            self._close_containers(depth)
        self._scan_block(line, column, content, offset)

    def _scan_plain(self, line: str, offset: int) -> bool:
        """Handle the commonest lines (words, empty lines, fenced code) by their first character."""
        first = line[:1]
        if self._fence:
            return first not in {self._fence[0], " ", "\t"}
        if not first:
            self._end_paragraph()
            return True
        if first.isalpha():
            self._add_words(line, offset)
            return True
        return False

    def _match_containers(self, line: str) -> tuple[int, int]:
        """How many open containers this line continues, and the column where the rest of it begins."""
        column = 0
        for depth, container in enumerate(self._containers):
            content = _first_not_space(line, column)
            if container == _QUOTE:
                if content - column > 3 or line[content : content + 1] != ">":
                    return depth, column
                column = content + 1
                column += line[column : column + 1] == " "
            elif content == len(line):
                # A blank line continues an item, unless the item began with one.
                if self._item_is_empty and depth == len(self._containers) - 1:
                    return depth, column
                column = content
            elif content - column >= container:
                column += container
            else:
                return depth, column
        return len(self._containers), column

    def _goes_on_lazily(self, line: str, column: int, content: int) -> bool:
        """Whether words without the container's marker continue its paragraph (lazy continuation)."""
        if not self._in_paragraph or content >= len(line):
            return False
        return content - column > 3 or not self._starts_block(line, content)

    def _starts_block(self, line: str, content: int) -> bool:
        """Whether a line outside the open paragraph's container ends that paragraph."""
        char = line[content]
        if char == ">" or (char == "#" and _ATX.match(line, content)):
            return True
        if char in "`~" and _FENCE.match(line, content):
            return True
        if char == "<" and any(opening.match(line, content) for opening, _ in _HTML_BLOCKS):
            return True
        return _is_break(line, content) or self._item_marker(line, content, interrupts=False) is not None

    def _item_marker(self, line: str, content: int, *, interrupts: bool) -> int | None:
        """The end of the list marker here, if there is one."""
        match = _BULLET.match(line, content)
        ordered = None if match else _ORDERED.match(line, content)
        if match is None and ordered is None:
            return None
        end = match.end() if match else ordered.end() if ordered else content
        if interrupts:
            empty = _first_not_space(line, end) == len(line)
            if empty or (ordered and int(ordered[1]) != 1):
                return None
        return end

    def _scan_block(self, line: str, column: int, content: int, offset: int) -> None:
        """Take the rest of a line after its containers: more of the open leaf block, or a new block."""
        if self._fence or self._in_html:
            self._continue_raw(line, column, content)
            return
        while content < len(line):
            if content - column > 3 and not self._in_paragraph:
                return  # indented code
            if content - column <= 3:
                opened = self._open_container(line, column, content)
                if opened is not None:
                    column = opened
                    content = _first_not_space(line, column)
                    continue
                if self._open_leaf(line, content, offset):
                    return
            self._item_is_empty = False
            self._add_words(line[content:], offset)
            return
        self._end_paragraph()

    def _open_container(self, line: str, column: int, content: int) -> int | None:
        """Open a quote or list item that starts here, and return the column of its content."""
        if len(self._containers) >= _MAX_DEPTH:
            return None
        if line[content] == ">":
            self._end_paragraph()
            self._containers.append(_QUOTE)
            self._item_is_empty = False
            return content + 1 + (line[content + 1 : content + 2] == " ")
        if _is_break(line, content):
            return None
        # Only some markers may interrupt an open paragraph of the same container.
        end = self._item_marker(line, content, interrupts=self._in_paragraph)
        if end is None or (self._in_paragraph and _SETEXT.match(line, content)):
            return None
        self._end_paragraph()
        start = _first_not_space(line, end)
        empty = start == len(line)
        # Of more than four spaces after a marker, one belongs to it and the others indent code.
        inside = end + 1 if empty or start - end > 4 else start
        self._containers.append(inside - column)
        self._item_is_empty = empty
        return min(inside, len(line))

    def _open_leaf(self, line: str, content: int, offset: int) -> bool:
        """Take a heading, break, fence or HTML block that starts here; False when there are only words."""
        char = line[content]
        if char == "#" and (match := _ATX.match(line, content)):
            self._end_paragraph()
            self._note(len(match[1]), _ATX_END.sub("", line[match.end() :].rstrip()), offset)
        elif char in "=-" and self._in_paragraph and (setext := _SETEXT.match(line, content)):
            return self._underline(1 if setext[1][0] == "=" else 2, line, content)
        elif _is_break(line, content):
            self._end_paragraph()
        elif char in "`~" and (fence := _FENCE.match(line, content)):
            self._end_paragraph()
            self._fence = fence[1] or fence[2]
        elif char != "<" or not self._open_html(line, content):
            return False
        self._item_is_empty = False
        return True

    def _underline(self, level: int, line: str, content: int) -> bool:
        """An underline makes the open paragraph a heading, unless it holds link definitions only."""
        if not self._containers:
            words = dropwhile(lambda entry: _DEFINITION.match(entry[1]), self._paragraph)
            lines = list(islice(words, _MAX_SETEXT_LINES))
            if not lines:
                if not _is_break(line, content):
                    return False
                self._end_paragraph()
                return True
            self._note(level, " ".join(words for _, words in lines), lines[0][0])
        self._end_paragraph()
        return True

    def _open_html(self, line: str, content: int) -> bool:
        for opening, ending in _HTML_BLOCKS:
            if opening.match(line, content):
                self._end_paragraph()
                self._in_html = ending is None or not ending.search(line, content)
                self._html_end = ending
                return True
        if not self._in_paragraph and _HTML_TAG.match(line, content):
            self._in_html, self._html_end = True, None
            return True
        return False

    def _continue_raw(self, line: str, column: int, content: int) -> None:
        """Inside a fence or an HTML block, look only for its end."""
        if self._fence:
            rest = line[content:].rstrip()
            closes = (
                rest and content - column <= 3 and rest == rest[0] * len(rest) and rest.startswith(self._fence)
            )
            if closes:
                self._fence = ""
        elif self._html_end is None:
            self._in_html = content < len(line)
        elif self._html_end.search(line, column):
            self._in_html = False

    def _add_words(self, words: str, offset: int) -> None:
        self._in_paragraph = True
        if not self._containers:
            self._paragraph.append((offset, words.strip()))

    def _end_paragraph(self) -> None:
        self._in_paragraph = False
        self._paragraph = []

    def _close_containers(self, depth: int) -> None:
        del self._containers[depth:]
        self._end_paragraph()
        self._fence = ""
        self._in_html = False
        self._item_is_empty = False

    def _note(self, level: int, title: str, offset: int) -> None:
        if not self._containers:
            self.headings.append(Heading(level, strip_inline(title), offset))


def _first_not_space(line: str, column: int) -> int:
    """The first position from `column` on that is not a space, or the line's length."""
    if line[column : column + 1] not in {" ", ""}:
        return column
    return len(line) - len(line[column:].lstrip(" "))


def _is_break(line: str, content: int) -> bool:
    """Whether this is a thematic break: three or more of the same mark and nothing else."""
    char = line[content]
    if char not in "-_*":
        return False
    rest = line[content:].replace(" ", "")
    return len(rest) >= 3 and not rest.strip(char)


def strip_inline(title: str) -> str:
    """The words of a heading, without backticks, emphasis, links, tags, entities and attributes."""
    title = title[:_MAX_HEADING_CHARS]
    if not _MARKUP.search(title):
        return " ".join(title.split())
    title = title.replace("\ue000", "").replace("\ue001", "")
    kept: list[str] = []

    def keep(words: str) -> str:
        kept.append(words)
        return f"\ue000{len(kept) - 1}\ue001"

    # Code and escapes are set aside first: what looks like markup inside them is not.
    title = _CODE.sub(lambda match: keep(match[2].strip()), title)
    title = _ESCAPE.sub(lambda match: keep(match[1]), title)
    title = _AUTOLINK.sub(r"\1", title)
    for _ in range(2):  # an image inside a link, bold around italics
        title = _LINK.sub(r"\1", title)
        title = _STRONG.sub(r"\2", title)
        title = _UNDERSCORES.sub(r"\2", title)
    title = _TAG.sub("", title)
    title = _ATTRIBUTES.sub("", title)
    if "&" in title:
        import html  # only here, with its table of entities

        title = html.unescape(title)
    title = _KEPT.sub(lambda match: kept[int(match[1])], title)
    return " ".join(title.replace("\0", "").split())
