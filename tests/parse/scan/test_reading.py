"""Pages read by the models that ship, and by Tesseract, in a process that is watched."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from benchmarks.ocr.__main__ import count_errors
from benchmarks.ocr.sheets import Condition, make_sheets, read_texts
from PIL import Image
from tests.parse.scan.tesseract_double import put_on_path

from outcrop.errors import ConfigError, ParseError
from outcrop.parse.limits import ParseLimits
from outcrop.parse.scan import engines
from outcrop.parse.scan.engines import ScanEngine, find_engine, say_missing
from outcrop.parse.scan.reading import ScanReader
from outcrop.parse.scan.sheet import open_sheets
from outcrop.parse.scan.tesseract import read_rows
from outcrop.records import ScanPage

LIMITS = ParseLimits(timeout_s=120, memory_bytes=1024**3)


def models() -> ScanEngine:
    engine = find_engine("models")
    assert engine is not None
    return engine


def as_file(picture: Image.Image, form: str = "PNG") -> bytes:
    file = io.BytesIO()
    picture.save(file, form)
    return file.getvalue()


def sheets(condition: Condition, language: str, font: str) -> tuple[str, Image.Image]:
    for sheet in make_sheets((condition,), 5, read_texts()):
        if (sheet.language, sheet.font) == (language, font):
            return " ".join(sheet.text.split()), sheet.picture
    raise AssertionError


def test_a_noisy_tilted_page_of_two_columns_and_one_on_its_side_are_read() -> None:
    """Both with the same process; German and French, so that letters with marks count."""
    with ScanReader(models(), LIMITS) as reader:
        for condition, language in (
            (Condition("tilted", tilt=1.5, noise=25, blur=0.5, columns=2), "de"),
            (Condition("side", turned=90), "fr"),
        ):
            printed, picture = sheets(condition, language, "Times-Roman")
            assert reader.open("image", as_file(picture)) == 1
            assert len(reader.draw(1)) == 64
            page = ScanPage(reader.read())
            wrong = count_errors(" ".join(page.text.split()), printed)
            assert wrong <= 0.02 * len(printed), page.text
            boxes = [word for line in page.lines for word in line.words]
            assert all(0 <= word.x <= 1 and 0 <= word.y <= 1 and word.width > 0 for word in boxes)


def test_a_bad_file_is_an_error_and_the_next_one_is_read() -> None:
    with ScanReader(models(), LIMITS) as reader:
        for data in (b"\x89PNG\r\n\x1a\nbroken", b"not a picture", as_file(Image.new("RGB", (70, 70)))):
            with pytest.raises(ParseError, match="a picture"):
                reader.open("image", data)
        with pytest.raises(ParseError, match="damaged"):
            reader.open("pdf", b"%PDF-1.4 nothing")
        assert reader.open("image", as_file(Image.new("RGB", (900, 900), "white"))) == 1
        name = reader.draw(1)
        assert reader.read() == ()
        assert reader.draw(1) == name
        with pytest.raises(ParseError, match="cannot be read"):
            reader.draw(2)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")  # of the same damage
def test_a_damaged_tiff_is_an_error_whatever_pillow_stumbles_over() -> None:
    file = io.BytesIO()
    Image.new("L", (300, 300)).save(file, "TIFF")
    whole = file.getvalue()
    tags = int.from_bytes(whole[4:8], "little")
    following = tags + 2 + 12 * whole[tags]
    second = len(whole).to_bytes(4, "little")  # a page without a single tag
    with pytest.raises(ParseError, match="cannot be read"):
        open_sheets("image", whole[:following] + second + whole[following + 4 :] + bytes(6))


def test_a_picture_larger_than_memory_allows_is_refused() -> None:
    huge = as_file(Image.new("1", (12_000, 12_000)))
    with (
        ScanReader(models(), LIMITS) as reader,
        pytest.raises(ParseError, match=r"cannot be read.*exceeds limit"),
    ):
        reader.open("image", huge)


def test_transparent_and_deep_pictures_and_frames_become_pages_on_white() -> None:
    clear = Image.new("RGBA", (400, 400), (0, 0, 0, 0))
    deep = Image.new("I;16", (400, 400), 40_000)
    white = Image.new("RGB", (400, 400), "white")
    frames = io.BytesIO()
    white.save(frames, "TIFF", save_all=True, append_images=[white, clear.convert("RGB")])
    with ScanReader(models(), LIMITS) as reader:
        names = []
        for data in (as_file(clear), as_file(white), as_file(white, "WEBP")):
            reader.open("image", data)
            names.append(reader.draw(1))
        assert len(set(names)) == 1
        reader.open("image", as_file(deep))
        assert reader.draw(1)
        assert reader.open("image", frames.getvalue()) == 3
        assert reader.draw(1) == reader.draw(2) == names[0] != reader.draw(3)


def test_a_process_that_dies_or_hangs_is_replaced_for_the_next_page(monkeypatch: pytest.MonkeyPatch) -> None:
    white = as_file(Image.new("RGB", (400, 400), "white"))
    with ScanReader(models(), LIMITS) as reader:
        reader.open("image", white)
        assert reader._worker is not None
        reader._worker.kill()
        with pytest.raises(ParseError, match="the reader crashed"):
            reader.draw(1)
        assert reader.draw(1)
        assert reader.read() == ()


def test_tesseract_reads_in_its_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = put_on_path(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    engine = find_engine("tesseract")
    assert engine is not None
    assert (engine.version, engine.languages) == ("tesseract 5.0-double eng", "eng")
    page = Image.new("RGB", (600, 900), "white")
    page.paste("black", (0, 0, 600, 50))
    with ScanReader(engine, LIMITS) as reader:
        reader.open("image", as_file(page))
        reader.draw(1)
        assert ScanPage(reader.read()).text.startswith("Report darkness number 3")
    assert log.read_text() == "eng\n"
    with pytest.raises(ConfigError, match="no language pack deu; it has eng"):
        find_engine("tesseract", "deu+eng")
    put_on_path(tmp_path / "bin", slow=True)
    short = ParseLimits(timeout_s=2, memory_bytes=1024**3)
    with ScanReader(engine, short) as reader:
        reader.open("image", as_file(page))
        reader.draw(1)
        with pytest.raises(ParseError, match="longer than 2 s"):
            reader.read()


def test_rows_of_a_table_become_lines_and_stains_are_left_out() -> None:
    header = "\t".join(
        "level page_num block_num par_num line_num word_num left top width height conf text".split()
    )
    rows = (
        (1, 1, 0, 0, 0, 0, 0, 0, 100, 200, -1, ""),
        (5, 1, 1, 1, 1, 1, 10, 20, 30, 10, 96.1, "Hello"),
        (5, 1, 1, 1, 1, 2, 50, 20, 30, 10, 90, "there"),
        (5, 1, 1, 1, 2, 1, 10, 40, 30, 10, 12, "~"),
        (5, 1, 1, 1, 3, 1, 10, 40, 30, 10, 80, "again"),
        (5, 1, 2, 1, 1, 1, 10, 90, 30, 10, 80, "below"),
    )
    table = "\n".join((header, *("\t".join(map(str, row)) for row in rows), "cut\toff"))
    lines = read_rows(table)
    assert ScanPage(tuple(lines)).text == "Hello there\nagain\n\nbelow"
    assert lines[0].words[0][1:] == (0.1, 0.1, 0.3, 0.05)


def test_a_word_without_a_line_begins_one() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    [line] = read_rows(head + "5\t1\t\t\t\t1\t1\t2\t3\t4\t90\tHello\n")
    assert [word.text for word in line.words] == ["Hello"]


def test_what_is_installed_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_engine("off") is None
    auto = find_engine("auto")
    assert auto is not None
    assert auto.name == "models"
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_engine("auto") is None
    with pytest.raises(ConfigError, match=r"outcrop\[ocr\]"):
        find_engine("models")
    with pytest.raises(ConfigError, match="install Tesseract"):
        find_engine("tesseract")
    put_on_path(tmp_path)
    found = find_engine("auto")
    assert found is not None
    assert (found.name, found.reads_pictures) == ("tesseract", False)
    assert "212 scanned pages without text" in say_missing(212)
