"""Real files of many formats, and a page from a real server, found through the front door."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from tests.parse.compounds import sample

import outcrop
from outcrop.errors import BlockedAddress

PAGE = """<html><head><title>Tide tables</title></head><body><nav>menu</nav><main><h1>Tides</h1>
<p>Spring tides follow the full moon by two days.</p>
<h2>Neap</h2><p>Neap tides come at half moon.</p></main></body></html>"""


def write_pdf(path: Path, pages: list[str]) -> None:
    canvas = Canvas(str(path), pagesize=A4)
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    root.mkdir()
    write_pdf(
        root / "report.pdf",
        ["The first page is about lichens.", "Glaciers carve valleys.", "Moss grows slowly."],
    )
    word = docx.Document()
    word.add_heading("Volcanoes", 1)
    word.add_paragraph("Pumice floats on water because it is full of gas.")
    word.save(str(root / "word.docx"))
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "Earthquakes"
    slide.placeholders[1].text = "Seismographs record the trembling of the ground."
    slides.save(str(root / "talk.pptx"))
    book = openpyxl.Workbook()
    book.active.append(["mineral", "hardness"])
    book.active.append(["corundum", 9])
    book.save(root / "table.xlsx")
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Analysis\n", "Sediment layers were counted."]},
        {"cell_type": "code", "metadata": {}, "source": ["varves = 12"], "outputs": [], "execution_count": 1},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / "work.ipynb").write_text(json.dumps(notebook), "utf-8")
    (root / "data.csv").write_text("site,depth\nquarry,14\nfjord,310\n", "utf-8")
    (root / "old.txt").write_bytes("Der Gletscher schmilzt größtenteils im Frühling.".encode("latin-1"))
    (root / "guide.rst").write_text("Guide\n=====\n\nStalactites hang tight to the ceiling.\n", "utf-8")
    with zipfile.ZipFile(root / "novel.epub", "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c" href="c.xhtml" '
            'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>',
        )
        archive.writestr(
            "c.xhtml", "<html><body><h1>Chapter</h1><p>The amber held a mosquito.</p></body></html>"
        )
    return root


@pytest.mark.parametrize(
    ("query", "path", "kind", "page"),
    [
        ("what carves valleys", "report.pdf", "pdf", 2),
        ("why does pumice float", "word.docx", "docx", None),
        ("seismographs", "talk.pptx", "pptx", 1),
        ("hardness of corundum", "table.xlsx", "xlsx", 1),
        ("sediment layers", "work.ipynb", "notebook", None),
        ("depth of the fjord", "data.csv", "csv", None),
        ("größtenteils", "old.txt", "text", None),
        ("stalactites", "guide.rst", "rst", None),
        ("mosquito in amber", "novel.epub", "epub", None),
    ],
)
def test_every_format_is_found_with_its_page(
    library: outcrop.Engine, query: str, path: str, kind: str, page: int | None
) -> None:
    hit = library.search(query).hits[0]
    assert (hit.document.path, hit.document.kind, hit.page) == (path, kind, page)
    assert library.text(hit.document.id)[hit.start : hit.end] == hit.text


@pytest.fixture
def library(tmp_path: Path, folder: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path / "i.db") as kb:
        report = kb.add(folder)
        assert not report.failed
        assert report.added == 9
        yield kb


@pytest.fixture
def server() -> Iterator[str]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}/tides"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_a_page_is_fetched_structured_and_known_again(tmp_path: Path, server: str) -> None:
    with outcrop.open(tmp_path / "i.db", allow_private_urls=True) as kb:
        assert kb.add(server, tags=["sea"]).added == 1
        assert kb.add(server).unchanged == 1
        hit = kb.search("when do neap tides come").hits[0]
        assert (hit.document.title, hit.document.uri, hit.document.tags) == ("Tide tables", server, ("sea",))
        assert "menu" not in kb.text(server)
        assert hit.stale is None


def test_a_private_address_is_refused_unless_it_is_allowed(tmp_path: Path, server: str) -> None:
    with outcrop.open(tmp_path / "i.db") as kb, pytest.raises(BlockedAddress):
        kb.add(server)


def test_damage_is_a_line_in_the_report_and_the_document_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "cut.md").write_bytes(b"# Cut\n\nThe pelican \xed\xa0\x80 flies.\n")
    (folder / "whole.md").write_text("# Whole\n\nThe heron stands.\n")
    with outcrop.open(tmp_path / "index.db") as kb:
        report = kb.add(folder)
        assert [(item.path, "first in line 3" in item.reason) for item in report.remarks] == [("cut.md", True)]
        assert (report.added, report.failed) == (2, ())
        assert kb.search("pelican").hits[0].document.path == "cut.md"
        assert kb.add(folder).remarks == ()  # nothing was read again


def test_files_of_old_programs_and_with_macros_are_read_from_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "old"
    root.mkdir()
    for name in ("lighthouse.doc", "harbour.ppt", "fuel.xls"):
        (root / name).write_bytes(sample(name))
    book = openpyxl.Workbook()
    book.active.append(["mineral", "gneiss"])
    book.save(root / "macros.xlsm")
    with outcrop.open(tmp_path / "i.db") as kb:
        report = kb.add(root)
        assert (report.added, report.failed, report.skipped) == (4, (), ())
        asked = {
            "trim the wick": "lighthouse.doc",
            "ships pay by length": "harbour.ppt",
            "gneiss": "macros.xlsm",
        }
        for query, name in asked.items():
            assert kb.search(query).hits[0].document.path == name
        assert kb.search("Whale oil dusk", kinds=["ppt"]).hits[0].place == "harbour.ppt slide 2"
