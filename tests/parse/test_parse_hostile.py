"""Hostile input costs an error, bounded time and bounded memory, and the next file is fine."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
import zipfile

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost import PATIENCE_S, cpu_below

from outcrop.errors import ParseError
from outcrop.parse import isolate
from outcrop.parse.entry import parse
from outcrop.parse.formats import FORMATS
from outcrop.parse.isolate import close_worker
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

MB = 1_000_000
LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)
EXTENSIONS = sorted(extension for f in FORMATS for extension in f.extensions)


def read(data: bytes | str, path: str, limits: ParseLimits = LIMITS) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    return parse(raw, path=path, limits=limits)


def check(document: Document) -> None:
    """What every Document promises."""
    text = document.text
    assert not any(char in text for char in "\0\r")
    text.encode("utf-8")
    document.title.encode("utf-8")
    assert document.title or not text
    starts = [heading.start for heading in document.headings]
    assert starts == sorted(set(starts))
    for offsets in (starts, list(document.pages), list(document.keys)):
        assert offsets == sorted(offsets)
        assert all(0 <= offset <= len(text) for offset in offsets)
    assert all(start == 0 or text[start - 1] == "\n" for start in starts)
    for heading in document.headings:
        if document.kind in {"markdown", "rst"}:
            near = text[heading.start :].split("\n")[:11]
            words = [word for word in heading.title.split() if word.isalnum()]
            assert all(any(word in line for line in near) for word in words)


HOSTILE = st.sampled_from(
    [b"%PDF-1.7\n", b"PK\x03\x04", b"<div>", b"# h\n", b"---\n", b"===\n", b"- x\n", b"{", b"[", b'"', b"'''", b"\\",
     b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"\r", b"&#0;", b"&#xd800;", b"<!--", b"title: x\n", b"\xe3\x81", b"\t",
     b"+++\n", b"<pre>", b"<table><tr><td>", b"\xd0\xcf\x11\xe0", b'{"cells": [{"cell_type": "markdown"}]}']
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.binary(max_size=200) | st.lists(HOSTILE | st.binary(max_size=6), max_size=20).map(b"".join),
    st.sampled_from([*EXTENSIONS, "", ".bin"]),
)
def test_any_bytes_under_any_extension_are_a_valid_document_or_a_parse_error(
    data: bytes, extension: str
) -> None:
    outcome = read_or_error(data, f"x{extension}")
    if isinstance(outcome, ParseError):
        assert str(outcome)
    else:
        check(outcome)


STRUCTURED = [".md", ".rst", ".json", ".yaml", ".toml"]
LONG_LINES = [("x", 10), ("[", 10), ("#", 10), ("- ", 2), ("> ", 2), ('"', 2), ('"""\\', 2), ("`<", 2)]
SHORT_LINES = ["=\n", "a:\n", "```\n", "- a\n"]


@pytest.mark.parametrize("extension", STRUCTURED)
@pytest.mark.parametrize(("unit", "megabytes"), LONG_LINES)
def test_an_endless_line_takes_seconds_at_most(unit: str, megabytes: int, extension: str) -> None:
    check_cost(unit * (megabytes * MB // len(unit)), extension)


@pytest.mark.parametrize("extension", STRUCTURED)
@pytest.mark.parametrize("unit", SHORT_LINES)
def test_a_hundred_thousand_short_lines_take_seconds_at_most(unit: str, extension: str) -> None:
    check_cost(unit * 100_000, extension)


def check_cost(data: str, extension: str) -> None:
    with cpu_below(30):
        outcome = read_or_error(data, "x" + extension)
    if isinstance(outcome, ParseError):
        assert "nested" in str(outcome)
    else:
        check_offsets_only(outcome)


def read_or_error(data: bytes | str, path: str) -> Document | ParseError:
    try:
        return read(data, path)
    except ParseError as error:
        return error


def check_offsets_only(document: Document) -> None:
    assert all(0 <= heading.start <= len(document.text) for heading in document.headings)
    assert len(document.headings) <= 50_000
    assert len(document.keys) <= 200_000


def test_a_million_headings_are_capped() -> None:
    assert len(read("# h\n" * MB, "x.md").headings) == 50_000


def test_deep_nesting_does_not_crash() -> None:
    for path, data in (
        ("x.html", "<div>" * MB + "deep"),
        ("x.html", "<ul><li>" * 100_000),
        ("x.ipynb", "[" * MB),
    ):
        outcome = read_or_error(data, path)
        if isinstance(outcome, ParseError):
            assert "crashed" not in str(outcome)
        else:
            check(outcome)
    assert read("<div>" * 1000 + "deep", "x.html").text == "deep"


def test_a_parse_past_its_deadline_is_stopped_and_the_next_works() -> None:
    read("<p>warm", "x.html")
    big = "<p>some <b>words</b> in a row</p>" * 400_000
    with pytest.raises(ParseError, match=r"took longer than 0\.05 s"):
        read(big, "x.html", ParseLimits(timeout_s=0.05, memory_bytes=1024**3))
    assert read("<p>fine", "x.html").text == "fine"


def test_a_parse_past_its_memory_is_an_error_and_the_next_works() -> None:
    small = ParseLimits(timeout_s=PATIENCE_S, memory_bytes=48 * 1024**2)
    with pytest.raises(ParseError, match="48 MiB of memory"):
        read("<p>x</p>" * 1_000_000, "x.html", small)
    assert read("<p>fine", "x.html", small).text == "fine"
    close_worker()


def test_a_worker_that_dies_is_replaced() -> None:
    read("<p>warm", "x.html")
    assert isolate._worker is not None
    worker = isolate._worker
    worker.kill()
    deadline = time.monotonic() + 60
    while worker.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert read("<p>fine", "x.html").text == "fine"


def test_threads_share_the_worker_without_mixing_answers() -> None:
    answers: dict[int, str] = {}

    def work(number: int) -> None:
        answers[number] = read(f"<p>page {number}", "x.html").text

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"page {number}" for number in range(20)}


def test_a_process_that_parsed_exits_at_once_and_without_warnings() -> None:
    code = (
        "from outcrop.parse.entry import parse\nfrom outcrop.parse.limits import ParseLimits\n"
        "print(parse(b'<p>hi', path='x.html', limits=ParseLimits(20, 10**9)).text)"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("hi\n", "")


def test_the_worker_dies_with_its_parent() -> None:
    code = (
        "import os, signal\nfrom outcrop.parse import isolate\n"
        "from outcrop.parse.entry import parse\nfrom outcrop.parse.limits import ParseLimits\n"
        "parse(b'<p>hi', path='x.html', limits=ParseLimits(20, 10**9))\n"
        "print(isolate._worker.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    worker = int(done.stdout)
    deadline = time.monotonic() + 60
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(worker)


def is_running(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in {"", "Z"}


def test_a_forked_child_starts_its_own_worker() -> None:
    code = (
        "import os\nfrom outcrop.parse.entry import parse\nfrom outcrop.parse.limits import ParseLimits\n"
        "def go(n): return parse(b'<p>%d' % n, path='x.html', limits=ParseLimits(20, 10**9)).text\n"
        "go(0)\npid = os.fork()\n"
        "if not pid:\n    assert go(1) == '1'\nelse:\n    assert go(2) == '2'\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n    assert go(3) == '3'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def make_zip(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("extension", ["docx", "pptx", "xlsx", "epub", "ods"])
def test_zip_bombs_and_encrypted_archives_are_refused(extension: str) -> None:
    with pytest.raises(ParseError, match="times its size"):
        read(make_zip({"a.xml": b" " * (20 * MB)}), f"x.{extension}")
    with pytest.raises(ParseError, match="10,000 entries"):
        read(make_zip({str(n): b"" for n in range(10_001)}), f"x.{extension}")
    locked = bytearray(make_zip({"a.xml": b"secret"}))
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ParseError, match="without a password"):
        read(bytes(locked), f"x.{extension}")


def test_billion_laughs_in_a_docx_are_refused_with_a_reason() -> None:
    buffer = io.BytesIO()
    source = docx.Document()
    source.add_paragraph("MARK")
    source.save(buffer)
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = io.BytesIO()
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(bomb, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "word/document.xml":
                head, _, rest = content.partition(b"?>")
                doctype = f'<!DOCTYPE d [<!ENTITY l0 "ha">{laughs}]>'.encode()
                content = head + b"?>" + doctype + rest.replace(b"MARK", b"MARK&l11;")
            new.writestr(info, content)
    with pytest.raises(ParseError, match=r"'word/document\.xml' in it declares XML entities"):
        read(bomb.getvalue(), "x.docx")


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha "><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("extension", ["xlsx", "ods", "pptx", "docx"])
def test_an_entity_bomb_in_any_part_of_an_office_file_is_refused(extension: str, encoding: str) -> None:
    part = f'<?xml version="1.0" encoding="{encoding}"?><!-- <a> -->{LAUGHS}<x>&c;</x>'.encode(encoding)
    with pytest.raises(ParseError, match="declares XML entities"):
        read(make_zip({"deep/part.xml": part}), f"x.{extension}")


def test_an_entity_bomb_in_a_page_or_chapter_is_refused_and_a_plain_entity_is_not() -> None:
    page = f'<?xml version="1.0"?>{LAUGHS}<html><body><p>Page &c;</p></body></html>'
    with pytest.raises(ParseError, match="nested entities"):
        read(page.encode(), "x.xhtml")
    book = {
        "META-INF/container.xml": b'<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>',
        "p.opf": b'<package><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine>'
        b"</package>",
        "a.xhtml": page.encode(),
    }
    with pytest.raises(ParseError, match="nested entities"):
        read(make_zip(book), "x.epub")
    plain = page.replace(LAUGHS, '<!DOCTYPE html [<!ENTITY name "Ann &#38; Bob">]>').replace("&c;", "text")
    assert "Page text" in read(plain.encode(), "x.xhtml").text


def test_truncated_and_scrambled_real_files_never_escape_as_other_errors() -> None:
    buffer = io.BytesIO()
    source = docx.Document()
    source.add_heading("Head", 1)
    source.add_paragraph("text " * 50)
    source.save(buffer)
    from reportlab.pdfgen import canvas

    paper = io.BytesIO()
    pdf = canvas.Canvas(paper)
    for page in range(5):
        pdf.drawString(72, 700, f"page {page}")
        pdf.showPage()
    pdf.save()
    for path, data in (("x.docx", buffer.getvalue()), ("x.pdf", paper.getvalue())):
        for cut in range(1, 8):
            size = len(data) * cut // 8
            for damaged in (data[:size], data[:size] + b"\xff" * 20 + data[size + 20 :]):
                outcome = read_or_error(damaged, path)
                if isinstance(outcome, Document):
                    check(outcome)


def test_file_names_that_are_not_valid_unicode_are_accepted() -> None:
    check(read("", "bad\udcff.csv"))
    check(read("<p>", "bad\udcff.html"))
