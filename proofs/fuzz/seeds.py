"""Real files to begin with, by kind: files of this repository, files made by the libraries that write a format, and
files of a folder that is given. They lie in one folder on disk, from which every process reads what it needs."""

from __future__ import annotations

import ast
import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.mail import mailbox, make_archive
from benchmarks.report import ROOT
from tests.parse import test_exports as exports
from tests.parse import test_rich_texts as rich
from tests.parse.compounds import compound, sample
from tests.parse.test_binary_office import STREAMS

from outcrop.parse.code import LANGUAGES
from outcrop.parse.compound import CompoundFile
from outcrop.parse.formats import FORMATS, LibraryFormat

MAX_OF_A_KIND = 60
"""Files of one kind that are kept: mutations make the rest (not measured)."""
LONGEST_TEXT = 12_000
"""Bytes of a text that are kept of a file: a parse takes milliseconds, and a thousand lines hold all there is."""
LONGEST_BINARY = 150_000
LONGEST_STREAM = 30_000
"""Of an old Office file: all of its text, and not the picture of its first page."""
_SKIPPED = frozenset({".git", ".venv", ".artifacts", "node_modules", "results", "__pycache__"})
_MAX_LISTED = 200_000
"""Files of a corpus that are listed at most, so that a tree of millions costs seconds."""


class Seeds:
    """Seed files by kind; a kind is an extension, such as `.py`, or a name such as `dockerfile`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, kind: str) -> list[bytes]:
        """The files of a kind; a word where there is none."""
        return _read(self.folder / kind.removeprefix(".")) or [b"words\n"]


@cache
def _read(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(folder.glob("*"))] if folder.is_dir() else []


def gather(folder: Path, corpus: Path | None, seed: int) -> Seeds:
    """Write the seed files below a folder: those of the repository, made ones, and some of a corpus."""
    found: dict[str, list[bytes]] = {}
    for top in (ROOT, *([corpus] if corpus else [])):
        _gather_files(top, found, random.Random(seed))
    for kind, content in [*_samples(), *_made(), *_mails(), *_exports()]:
        found.setdefault(kind, []).insert(0, content)
    for kind, files in found.items():
        home = folder / kind
        home.mkdir(parents=True)
        for number, content in enumerate(files[:MAX_OF_A_KIND]):
            (home / f"{number:03}").write_bytes(content)
    return Seeds(folder)


def _gather_files(top: Path, found: dict[str, list[bytes]], chance: random.Random) -> None:
    wanted = {extension for each in FORMATS for extension in each.extensions}
    binary = {extension for each in FORMATS if isinstance(each, LibraryFormat) for extension in each.extensions}
    by_kind: dict[str, list[Path]] = {}
    listed = 0
    for here, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            suffix = Path(name).suffix.lower()
            if suffix in wanted:
                by_kind.setdefault(suffix, []).append(Path(here, name))
        listed += len(names)
        if listed > _MAX_LISTED:
            break
    for kind, files in by_kind.items():
        for file in chance.sample(files, min(len(files), MAX_OF_A_KIND)):
            try:
                with file.open("rb") as stream:
                    content = stream.read(LONGEST_BINARY + 1)
            except OSError:
                continue
            if kind in binary and kind not in {".html", ".htm"} and len(content) > LONGEST_BINARY:
                continue
            cut = content if kind in binary - {".html", ".htm", ".xhtml"} else content[:LONGEST_TEXT]
            found.setdefault(kind.removeprefix("."), []).append(cut)


def _exports() -> list[tuple[str, bytes]]:
    """What services and offices write, as the tests have it."""
    values = [("chat", exports.SLACK), ("chat", exports.GOOGLE), ("chat", exports.POST), ("keep", exports.KEEP)]
    values += [("issue", exports.GITHUB), ("issue", exports.JIRA)]
    lists = [[exports.GITHUB] * 3, {"issues": [exports.JIRA] * 2}]
    posts = b"".join(
        json.dumps(line).encode() + b"\n" for line in ({"type": "version"}, exports.POST, exports.POST)
    )
    return [
        *((kind, json.dumps(value).encode()) for kind, value in values),
        *(("export", json.dumps(each, indent=1, ensure_ascii=False).encode()) for each in lists),
        ("export", posts),
        ("ics", exports.ICS.encode()),
        ("vcf", exports.VCF.encode()),
        ("rtf", rich.RTF),
        ("odt", rich.packed("text", rich.TEXT)),
        ("odp", rich.packed("presentation", rich.SLIDES)),
        *((kind, compound(streams)) for kind, streams in _office()),
    ]


def _office() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The streams of documents of LibreOffice that hold text."""
    for name in ("lighthouse.doc", "salt.doc", "harbour.ppt"):
        kind = name.rpartition(".")[2]
        file = CompoundFile(sample(name))
        yield kind, {each: file.stream(each)[:LONGEST_STREAM] for each in STREAMS[kind]}


def _mails() -> list[tuple[str, bytes]]:
    """Messages as the benchmark of mail makes them, and a mailbox of some."""
    messages = make_archive(60, 1)
    boxes = [b"".join(mailbox(messages[first : first + 6])) for first in range(0, 60, 6)]
    return [*(("eml", message.raw) for message in messages), *(("mbox", box) for box in boxes)]


def _samples() -> list[tuple[str, bytes]]:
    """The sources by which the tests know each language."""
    kinds = {language.name.replace("_", ""): kind_of(language.name) for language in LANGUAGES}
    samples = []
    for file in sorted((ROOT / "tests" / "parse").glob("test_code_languages_*.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                name, text = ast.unparse(node.targets[0]).lower(), node.value.value
                if isinstance(text, str) and name in kinds:
                    samples.append((kinds[name], text.encode()))
    return samples


def kind_of(language: str) -> str:
    """Where the seeds of a language lie: its first extension, or its name where its files have none."""
    found = next(each for each in LANGUAGES if each.name == language)
    return found.extensions[0].removeprefix(".") if found.extensions else language


def _made() -> list[tuple[str, bytes]]:
    text = "A failed request is retried three times, then given up. 検索 ñandú 🚀"
    return [
        ("docx", _word(text)),
        ("pptx", _slides(text)),
        ("xlsx", _sheet(text)),
        ("pdf", _pdf(text, False)),
        ("pdf", _pdf(text, True)),
        ("epub", _epub(text)),
        ("ods", _ods(text)),
        ("ipynb", json.dumps(_notebook(text)).encode()),
        ("html", f"<html><title>T</title><h1>Head</h1><p>{text}<ul><li>a<li>b</ul><pre>x\n y</pre>".encode()),
        *(("session", session.encode()) for session in _sessions()),
        ("index", _git_index(2)),
        ("index", _git_index(4)),
    ]


def _sessions() -> list[str]:
    """The sessions of coding agents by which the tests know them."""
    from tests.parse.recorded import CALL, CLAUDE, CODEX, GEMINI_HEAD, gemini

    turns = [gemini("1", "user", "Why retry?"), gemini("2", "gemini", "It fails.", toolCalls=[CALL])]
    return [CLAUDE, CODEX, json.dumps({**GEMINI_HEAD, "messages": turns})]


def _word(text: str) -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Retries", 1)
    document.add_paragraph(text)
    document.add_paragraph("an item", style="List Bullet")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "a", "b"
    return _saved(document)


def _slides(text: str) -> bytes:
    import pptx

    slides = pptx.Presentation()
    for title in ("One", "Two"):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
        slide.notes_slide.notes_text_frame.text = "a note"
    return _saved(slides)


def _sheet(text: str) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in range(1, 9):
        book.active.append([row, row / 7, text[:row], f"=A{row}", None, row > 3])
    book.create_sheet("Other").append(["x"])
    return _saved(book)


def _saved(library_object: object) -> bytes:
    buffer = io.BytesIO()
    library_object.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def _pdf(text: str, compressed: bool) -> bytes:
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    paper = canvas.Canvas(buffer, pageCompression=int(compressed))
    for page in range(3):
        paper.bookmarkPage(f"p{page}")
        paper.addOutlineEntry(f"Page {page}", f"p{page}", 0)
        paper.drawString(72, 700, f"{page} {text[:60]}")
        paper.showPage()
    paper.save()
    return buffer.getvalue()


def zipped(entries: dict[str, bytes]) -> bytes:
    """A zip of these files, stored as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def _epub(text: str) -> bytes:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="o/book.opf"/></rootfiles></container>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:title>Book</dc:title></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>One</h1><p>{text}</p></body></html>'
    return zipped(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "o/book.opf": book.encode(),
            "o/a.xhtml": page.encode(),
            "o/b.xhtml": page.encode(),
        }
    )


def _ods(text: str) -> bytes:
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        '<table:table table:name="S"><table:table-row><table:table-cell office:value-type="string">'
        f"<text:p>{text}</text:p></table:table-cell></table:table-row></table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    return zipped(
        {"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": content.encode()}
    )


def _notebook(text: str) -> dict[str, object]:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Head\n", text]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "source": "import os\nos.name",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["out\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["'posix'"]}, "metadata": {}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE"]},
            ],
        },
    ]
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"language": "python"}},
        "cells": cells,
    }


def _git_index(version: int) -> bytes:
    """An index as git writes it, without its checksum: a mutation would only ever be found out by that."""
    entries = b""
    before = b""
    for name in (b"README.md", b"src/a.py", b"src/b.py"):
        entry = (
            struct.pack(">10I", 1, 2, 3, 4, 5, 6, 0o100644, 8, 9, 10)
            + b"\7" * 20
            + struct.pack(">H", len(name))
        )
        if version == 4:
            shared = next((n for n in range(min(len(name), len(before)), 0, -1) if name[:n] == before[:n]), 0)
            entries += entry + bytes([len(before) - shared]) + name[shared:] + b"\0"
            before = name
        else:
            entry += name
            entries += entry + b"\0" * (8 - len(entry) % 8)
    return struct.pack(">4sII", b"DIRC", version, 3) + entries + b"\0" * 20
