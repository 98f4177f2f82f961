"""Scans on their way in: read last, once, and never again; with what is missing said."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas
from tests.parse.scan.tesseract_double import put_on_path

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import Cancelled, NotAllowed, ParseError
from outcrop.parse.scan import engines
from outcrop.records import Progress
from outcrop.store.scans import SCANS, ScanStore

SECRET = "ghp_" + "A1b2C3d4E5" * 3 + "f6G7h8"


def page(dark: int) -> Image.Image:
    picture = Image.new("RGB", (500, 700), "white")
    picture.paste("black", (0, 0, 500, dark))
    return picture


def scan(*darks: int) -> bytes:
    file = io.BytesIO()
    first, *rest = map(page, darks)
    first.save(file, "PDF", save_all=True, append_images=rest)
    return file.getvalue()


def mixed(text: str, dark: int) -> bytes:
    """A page with text, an empty one, then one that is a picture."""
    file = io.BytesIO()
    canvas = Canvas(file)
    canvas.drawString(72, 700, text)
    canvas.showPage()
    canvas.showPage()
    picture = file_of(page(dark))
    canvas.drawInlineImage(Image.open(io.BytesIO(picture)), 0, 0, 500, 700)
    canvas.showPage()
    canvas.save()
    return file.getvalue()


def file_of(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = put_on_path(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return found


def open_engine(tmp_path: Path, **settings: Any) -> Engine:
    settings = {"db": tmp_path / "index.db", "ocr": "tesseract"} | settings
    return Engine(load_config(settings, environ={}))


@pytest.fixture
def engine(tmp_path: Path, log: Path) -> Iterator[Engine]:
    with open_engine(tmp_path) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    return made


def pages_read(log: Path) -> int:
    return len(log.read_text().splitlines())


def test_scans_come_last_are_counted_beforehand_and_read_once(engine: Engine, folder: Path, log: Path) -> None:
    (folder / "a.pdf").write_bytes(scan(100, 200))
    (folder / "b.png").write_bytes(file_of(page(300)))
    (folder / "z.md").write_text("# Notes\n\nNothing scanned.")
    told: list[Progress] = []
    report = engine.add(folder, progress=told.append)
    assert (report.added, report.failed, report.skipped, report.remarks) == (3, (), (), ())
    read = [(each.phase, each.done, each.total) for each in told if each.phase in ("read", "ocr")]
    assert read == [("read", n, 3) for n in (1, 2, 3)] + [("ocr", n, 3) for n in (0, 1, 2, 3)]
    assert pages_read(log) == 3
    kinds = {document.path: document.kind for document in engine.documents()}
    assert kinds == {"a.pdf": "pdf", "b.png": "image", "z.md": "markdown"}
    assert engine.get("a.pdf").title.startswith("Report darkness number")
    found = engine.search('"darkness number"', kinds=("pdf",)).hits
    assert {(hit.document.path, hit.page) for hit in found} <= {("a.pdf", 1), ("a.pdf", 2)}
    assert found
    engine.add(folder, force=True)
    (folder / "copy.pdf").write_bytes((folder / "a.pdf").read_bytes())
    (folder / "more.pdf").write_bytes(scan(100, 200, 400))
    assert engine.add(folder).added == 2
    assert pages_read(log) == 4  # of all that only one page shows anything new


def test_a_run_that_is_stopped_goes_on_where_it_was(engine: Engine, folder: Path, log: Path) -> None:
    (folder / "a.pdf").write_bytes(scan(100, 200, 300, 400))
    with pytest.raises(Cancelled):
        engine.add(folder, stopped=lambda: pages_read(log) >= 2)
    assert pages_read(log) == 2
    told: list[Progress] = []
    assert engine.add(folder, progress=told.append).added == 1
    assert pages_read(log) == 4
    assert next(each.total for each in told if each.phase == "ocr") == 2
    assert engine.text("a.pdf").count("Report") == 4


def test_only_pages_without_text_are_read_and_take_their_place(engine: Engine, folder: Path, log: Path) -> None:
    (folder / "a.pdf").write_bytes(mixed("The minutes of the meeting", 100))
    assert not engine.add(folder).failed
    assert pages_read(log) == 1
    text = engine.text("a.pdf")
    assert text.startswith("The minutes of the meeting\n\nReport darkness number")
    picture = engine.page("a.pdf", 3, lines=(3, 3))
    assert [word.text for word in picture.words if word.marked][:2] == ["Report", "darkness"]
    assert [word.text for word in engine.page("a.pdf", 1).words] == "The minutes of the meeting".split()


def test_a_picture_is_shown_with_its_words(engine: Engine, folder: Path) -> None:
    (folder / "b.jpg").write_bytes(file_of(page(300)))
    engine.add(folder / "b.jpg")
    picture = engine.page("b.jpg", 1, lines=(1, 1), width=250)
    assert (picture.width, picture.height, picture.pages) == (250, 350, 1)
    drawn = Image.open(io.BytesIO(picture.png)).convert("L")
    assert (drawn.getpixel((100, 100)), drawn.getpixel((100, 300))) == (0, 255)
    assert [word.text for word in picture.words if word.marked][:3] == ["Report", "darkness", "number"]


def test_a_secret_on_a_page_is_masked_everywhere_and_its_picture_refused(
    tmp_path: Path, folder: Path, log: Path
) -> None:
    put_on_path(tmp_path / "bin", words=("token", SECRET))
    (folder / "a.pdf").write_bytes(scan(100))
    with open_engine(tmp_path) as engine:
        assert engine.add(folder).masked == 1
        assert SECRET not in engine.text("a.pdf")
        with pytest.raises(NotAllowed, match="secrets were masked"):
            engine.page("a.pdf", 1)
        store = ScanStore(engine.config.beside(SCANS))
        kept = store.find_page(engine.get("a.pdf").sha256, 1)
        assert kept is not None
        assert SECRET not in kept.text
        assert "token" in kept.text
    with open_engine(tmp_path, index_secrets=True) as engine:
        engine.add(folder, force=True)
        assert SECRET in engine.text("a.pdf")


def test_without_ocr_the_report_says_what_to_install(tmp_path: Path, folder: Path) -> None:
    (folder / "a.pdf").write_bytes(scan(100, 200))
    (folder / "b.png").write_bytes(file_of(page(300)))
    (folder / "c.pdf").write_bytes(mixed("The minutes of the meeting", 100))
    with open_engine(tmp_path, ocr="off") as engine:
        report = engine.add(folder)
        assert [(each.path, "outcrop[ocr]" in each.reason) for each in report.failed] == [("a.pdf", True)]
        assert "2 scanned pages" in report.failed[0].reason
        assert [(each.path, "the extra ocr" in each.reason) for each in report.skipped] == [("b.png", True)]
        assert [(each.path, "--force" in each.reason) for each in report.remarks] == [("c.pdf", True)]
        assert engine.text("c.pdf") == "The minutes of the meeting"


def test_a_page_that_cannot_be_read_is_a_remark_and_the_others_are_there(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from outcrop.parse.scan.reading import ScanReader

    (folder / "a.pdf").write_bytes(scan(100, 200))
    (folder / "empty.pdf").write_bytes(scan(0))
    (folder / "icon.png").write_bytes(file_of(page(300).resize((32, 32))))
    draw = ScanReader.draw

    def fail_on_two(reader: ScanReader, number: int) -> str:
        if number == 2:
            raise ParseError("takes longer than 60 s to read")
        return draw(reader, number)

    monkeypatch.setattr(ScanReader, "draw", fail_on_two)
    report = engine.add(folder)
    assert [(each.path, each.reason) for each in report.remarks] == [
        ("a.pdf", "1 of 2 pages could not be read: page 2: takes longer than 60 s to read")
    ]
    assert {each.path: each.reason for each in report.skipped} == {
        "empty.pdf": "no text on its pages",
        "icon.png": "a picture too small to hold text",
    }
    assert not report.failed


def test_pages_of_a_file_that_was_removed_are_forgotten(engine: Engine, folder: Path, log: Path) -> None:
    (folder / "a.pdf").write_bytes(scan(100))
    engine.add(folder)
    digest = engine.get("a.pdf").sha256
    store = ScanStore(engine.config.beside(SCANS))
    assert store.find_page(digest, 1) is not None
    engine.delete("a.pdf")
    assert store.find_page(digest, 1) is None


def test_without_pillow_tesseract_reads_pdfs_and_pictures_are_left_out(
    tmp_path: Path, folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    (folder / "a.pdf").write_bytes(scan(100))
    (folder / "b.png").write_bytes(file_of(page(300)))
    with open_engine(tmp_path, ocr="auto") as engine:
        report = engine.add(folder)
        assert (report.added, [each.path for each in report.skipped]) == (1, ["b.png"])
