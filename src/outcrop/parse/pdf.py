"""PDF: the text of each page as people read it, without what every page repeats.

Headings are the outline's entries where their titles are found on the page, else what stands out by its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pypdfium2

from outcrop.errors import ParseError
from outcrop.parse.layout.cover import title_of
from outcrop.parse.layout.edges import find_running
from outcrop.parse.layout.headings import find_headings
from outcrop.parse.layout.letters import HYPHENS, find_rules, read_pieces
from outcrop.parse.layout.order import Line, arrange
from outcrop.parse.limits import MAX_HEADINGS, RawFile
from outcrop.parse.scan.need import is_garbage, needs_reading
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document, Heading

# What programs write where nobody said who and what.
_NOBODY = frozenset(("", "anonymous", "unspecified", "unknown", "untitled", "none"))
# Titles left behind by authoring programs: file names, and "Microsoft Word - thesis".
_JUNK_TITLE = re.compile(
    r"^(?:untitled|unknown|title|document\d*|slide \d+|microsoft \w+ - .*|\(anonymous\)|\(unspecified\)|none)$"
    r"|\.(?:docx?|pptx?|xlsx?|indd|dvi|tex|pdf|ps|qxd|p65|rtf|odt|html?|txt|xml|csv)$",
    re.IGNORECASE,
)
# Accession numbers and other ids: digits in one word with hardly a letter.
_NUMBER_TITLE = re.compile(r"(?=\S*\d)(?:[\W\d_]|(?<![^\W\d_])[^\W\d_]{1,2}(?![^\W\d_]))+")
_UNMARKED = dict.fromkeys(map(ord, HYPHENS), "-")
# PDFium marks a hyphen at a line's end with \x02 (\ufffe in other calls) and drops the line end.
_MARKED_HYPHEN = re.compile("[\ufffe\x02]\r?\n?")
_LINE_HYPHEN = re.compile("(\\w+)(\x02|-\n)(\\w+)")
_WORD = re.compile(r"\w+")
_MAX_OUTLINE_DEPTH = 6


def read(raw: RawFile) -> Document:
    """The text layer of a PDF, and which pages need another look; ParseError for an encrypted or empty one."""
    try:
        pdf = pypdfium2.PdfDocument(raw.data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise ParseError("encrypted; save it without a password") from error
        raise ParseError("damaged PDF; check that the download is complete") from error
    try:
        layer = _read_layer(pdf, raw.max_text_chars)
        running = find_running(layer.pages, layer.heights)
        lines = [
            [line for at, line in enumerate(page) if (number, at) not in running]
            for number, page in enumerate(layer.pages)
        ]
        texts = _join_hyphens([_as_text(page) for page in lines])
        writer = TextWriter(raw.max_text_chars)
        for text in texts:
            writer.start_page()
            writer.write(text)
        text = writer.finish()
        if not text and not layer.unread:
            raise ParseError("there is nothing on its pages")
        pages = tuple(writer.pages)
        headings = _place(_outline(pdf), text, pages) or _place(_large(lines), text, pages)
        properties = pdf.get_metadata_dict(skip_empty=True)
    finally:
        pdf.close()
    title = _sensible_title(properties.get("Title", "")) or _say(title_of(lines)) or first_line(text)
    names = {"Author": "author", "Subject": "description", "Keywords": "keywords", "CreationDate": "date"}
    known = {ours: clean_text(properties.get(theirs, "")).strip() for theirs, ours in names.items()}
    meta = {name: value for name, value in known.items() if value.strip("()").lower() not in _NOBODY}
    if "date" in meta:
        meta["date"] = _iso_date(meta["date"])
    return Document(
        text=text,
        kind="pdf",
        title=cut_title(title or file_stem(raw.path)),
        headings=headings,
        pages=pages,
        meta=meta,
        unread=tuple(layer.unread),
    )


@dataclass(slots=True)
class _Layer:
    """The text layer: the lines of each page and how high the page is, and which pages are to be read by their
    picture. A page that cannot be read is empty, so that page numbers stay right."""

    pages: list[list[Line]] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


def _read_layer(pdf: pypdfium2.PdfDocument, max_text_chars: int) -> _Layer:
    layer = _Layer()
    length = 0
    for number in range(len(pdf)):
        lines: list[Line] = []
        height = 0.0
        try:
            page = pdf[number]
        except pypdfium2.PdfiumError:
            page = None
        if page is not None:
            try:
                height = page.get_height()
                lines, unread = _read_page(page)
                if unread:
                    layer.unread.append(number + 1)
            except pypdfium2.PdfiumError:
                lines = []
            finally:
                page.close()
        layer.pages.append(lines)
        layer.heights.append(height)
        length += sum(len(line.text) for line in lines)
        if length > max_text_chars:
            break  # the writer will report that it is too long
    return layer


def _read_page(page: pypdfium2.PdfPage) -> tuple[list[Line], bool]:
    """The lines of a page, and whether it has to be read by its picture."""
    textpage = page.get_textpage()
    try:
        text = textpage.get_text_bounded()
        unread = needs_reading(page, text)
        if unread and is_garbage(text):
            return [], True
        pieces = read_pieces(page, textpage)
        if pieces:
            return arrange(pieces, *find_rules(page)), unread
    finally:
        textpage.close()
    plain = _MARKED_HYPHEN.sub("\x02", text).replace("\r\n", "\n").split("\n")
    return [Line(line.rstrip(), 0.0, 0.0, 0.0, 0.0) for line in plain], unread


def _as_text(lines: Sequence[Line]) -> str:
    return _MARKED_HYPHEN.sub("\x02", "\n".join(line.text.rstrip() for line in lines))


def _join_hyphens(texts: list[str]) -> list[str]:
    """Join words hyphenated at line ends, only where the joined word occurs elsewhere in the document."""
    cut = {match[1] + match[3] for text in texts for match in _LINE_HYPHEN.finditer(text)}
    known = {word for text in texts for word in _WORD.findall(text) if word in cut}

    def join(match: re.Match[str]) -> str:
        word = match[1] + match[3]
        return word if word in known and match[3][0].islower() else match[0]

    return [_LINE_HYPHEN.sub(join, text).replace("\x02", "-") for text in texts]


Entry = tuple[int, int, str, str]
"""A heading: its page, its level, the line it begins with, and all of it."""


def _outline(pdf: pypdfium2.PdfDocument) -> Iterator[Entry]:
    for seen, entry in enumerate(pdf.get_toc(max_depth=_MAX_OUTLINE_DEPTH)):
        if seen >= MAX_HEADINGS:
            break
        destination = entry.get_dest()
        page = None if destination is None else destination.get_index()
        title = _say(entry.get_title() or "")
        if title and page is not None:
            yield page, entry.level + 1, title, title


def _large(pages: Sequence[Sequence[Line]]) -> Iterator[Entry]:
    for seen, (page, at, level, title) in enumerate(find_headings(pages)):
        if seen >= MAX_HEADINGS:
            break
        yield page, level, pages[page][at].text, _say(title)


def _place(entries: Iterator[Entry], text: str, pages: tuple[int, ...]) -> tuple[Heading, ...]:
    """The entries whose title starts a line of the page they are on."""
    found: dict[int, Heading] = {}
    lines_of: dict[int, dict[str, int]] = {}
    for page, level, line, title in entries:
        if not 0 <= page < len(pages):
            continue
        if page not in lines_of:
            end = pages[page + 1] if page + 1 < len(pages) else len(text)
            lines_of[page] = _page_lines(text, pages[page], end)
        start = lines_of[page].get(_loose(line))
        if start is None:
            end = pages[page + 1] if page + 1 < len(pages) else len(text)
            start = _find_start(text, line, pages[page], end)
        if start is not None:
            found.setdefault(start, Heading(level, cut_title(title), start))
    return tuple(found[start] for start in sorted(found))


def _find_start(text: str, title: str, start: int, end: int) -> int | None:
    """Where a line begins with a title: `abs   Miscellaneous functions`."""
    for opening in (f"{title} ", f"| {title} |"):
        if text.startswith(opening, start, end):
            return start
        at = text.find(f"\n{opening}", start, end)
        if at >= 0:
            return at + 1
    return None


def _page_lines(text: str, start: int, end: int) -> dict[str, int]:
    """Where each line of a page starts, by its letters; also pairs of lines, since long titles wrap."""
    lines: dict[str, int] = {}
    previous, previous_start = "", start
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        line = _loose(text[start:stop])
        lines.setdefault(line, start)
        lines.setdefault(previous + line, previous_start)
        previous, previous_start = line, start
        start = stop + 1
    return lines


def _loose(line: str) -> str:
    """Letters only: outline and page differ in spaces, dashes and section numbers."""
    return "".join(char for char in line[:300].casefold() if char.isalpha())


def _say(title: str) -> str:
    """A title in one line, without the marks of hyphens."""
    return " ".join(clean_text(title.translate(_UNMARKED)).split())


def _sensible_title(title: str) -> str:
    title = " ".join(clean_text(title).split())
    is_junk = _JUNK_TITLE.search(title) or _NUMBER_TITLE.fullmatch(title)
    return "" if len(title) > 200 or len(title) < 3 or is_junk else title


def _iso_date(value: str) -> str:
    match = re.match(r"D?:?(\d{4})(\d{2})?(\d{2})?", value)
    return "-".join(part for part in match.groups() if part) if match else value
