"""PDF: the text of each page, and outline entries as headings where their titles are found on the page."""

from __future__ import annotations

import re

import pypdfium2

from outcrop.errors import ParseError
from outcrop.parse.limits import MAX_HEADINGS, RawFile
from outcrop.parse.scan.need import is_garbage, needs_reading
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document, Heading

# Titles left behind by authoring programs: file names, and "Microsoft Word - thesis".
_JUNK_TITLE = re.compile(
    r"^(?:untitled|unknown|title|document\d*|slide \d+|microsoft \w+ - .*|\(anonymous\)|\(unspecified\)|none)$"
    r"|\.(?:docx?|pptx?|xlsx?|indd|dvi|tex|pdf|ps|qxd|p65|rtf|odt)$",
    re.IGNORECASE,
)
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
        layer, unread = _page_texts(pdf, raw.max_text_chars)
        texts = _join_hyphens(layer)
        writer = TextWriter(raw.max_text_chars)
        for text in texts:
            writer.start_page()
            writer.write(text)
        text = writer.finish()
        if not text and not unread:
            raise ParseError("there is nothing on its pages")
        pages = tuple(writer.pages)
        headings = _outline_headings(pdf, text, pages)
        properties = pdf.get_metadata_dict(skip_empty=True)
    finally:
        pdf.close()
    title = _sensible_title(properties.get("Title", "")) or first_line(text) or file_stem(raw.path)
    names = {"Author": "author", "Subject": "description", "Keywords": "keywords", "CreationDate": "date"}
    meta = {ours: clean_text(properties[theirs]) for theirs, ours in names.items() if properties.get(theirs)}
    if "date" in meta:
        meta["date"] = _iso_date(meta["date"])
    return Document(
        text=text,
        kind="pdf",
        title=cut_title(title),
        headings=headings,
        pages=pages,
        meta=meta,
        unread=unread,
    )


def _page_texts(pdf: pypdfium2.PdfDocument, max_text_chars: int) -> tuple[list[str], tuple[int, ...]]:
    """The text of each page, and the numbers of those that have to be read by their picture; one that cannot be read
    is empty, so that page numbers stay right."""
    texts: list[str] = []
    unread: list[int] = []
    length = 0
    for number in range(len(pdf)):
        try:
            page = pdf[number]
        except pypdfium2.PdfiumError:
            texts.append("")
            continue
        try:
            textpage = page.get_textpage()
            text = textpage.get_text_bounded()
            textpage.close()
            if needs_reading(page, text):
                unread.append(number + 1)
                text = "" if is_garbage(text) else text
        except pypdfium2.PdfiumError:
            text = ""
        finally:
            page.close()
        lines = _MARKED_HYPHEN.sub("\x02", text).replace("\r\n", "\n").split("\n")
        texts.append("\n".join(line.rstrip() for line in lines))
        length += len(text)
        if length > max_text_chars:
            break  # the writer will report that it is too long
    return texts, tuple(unread)


def _join_hyphens(texts: list[str]) -> list[str]:
    """Join words hyphenated at line ends, only where the joined word occurs elsewhere in the document."""
    cut = {match[1] + match[3] for text in texts for match in _LINE_HYPHEN.finditer(text)}
    known = {word for text in texts for word in _WORD.findall(text) if word in cut}

    def join(match: re.Match[str]) -> str:
        word = match[1] + match[3]
        return word if word in known and match[3][0].islower() else match[0]

    return [_LINE_HYPHEN.sub(join, text).replace("\x02", "-") for text in texts]


def _outline_headings(pdf: pypdfium2.PdfDocument, text: str, pages: tuple[int, ...]) -> tuple[Heading, ...]:
    """Outline entries whose title starts a line of the page they lead to."""
    found: dict[int, Heading] = {}
    lines_of: dict[int, dict[str, int]] = {}
    for seen, entry in enumerate(pdf.get_toc(max_depth=_MAX_OUTLINE_DEPTH)):
        if seen >= MAX_HEADINGS:
            break
        destination = entry.get_dest()
        page = None if destination is None else destination.get_index()
        title = " ".join(clean_text(entry.get_title() or "").split())
        if not title or page is None or not 0 <= page < len(pages):
            continue
        if page not in lines_of:
            end = pages[page + 1] if page + 1 < len(pages) else len(text)
            lines_of[page] = _page_lines(text, pages[page], end)
        start = lines_of[page].get(_loose(title))
        if start is not None:
            found.setdefault(start, Heading(entry.level + 1, cut_title(title), start))
    return tuple(found[start] for start in sorted(found))


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


def _sensible_title(title: str) -> str:
    title = " ".join(clean_text(title).split())
    return "" if len(title) > 200 or len(title) < 3 or _JUNK_TITLE.search(title) else title


def _iso_date(value: str) -> str:
    match = re.match(r"D?:?(\d{4})(\d{2})?(\d{2})?", value)
    return "-".join(part for part in match.groups() if part) if match else value
