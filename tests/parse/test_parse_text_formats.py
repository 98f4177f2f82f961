"""Formats whose text is the file: encodings, sections, entries, titles."""

from __future__ import annotations

import json
import sys
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=20, memory_bytes=1024**3)
FRENCH = "Été à la plage : le garçon a goûté un gâteau très sucré, près du théâtre.\n" * 3
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Погода сегодня хорошая.\n" * 3
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n" * 3


def read(data: bytes | str, path: str, media_type: str | None = None) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    return parse(raw, path=path, media_type=media_type, limits=LIMITS)


def entries(document: Document) -> list[str]:
    ends = (*document.keys[1:], len(document.text))
    return [document.text[a:b].strip() for a, b in zip(document.keys, ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "utf-8"),
        (FRENCH, "utf-8-sig"),
        (FRENCH, "utf-16"),
        (FRENCH, "utf-32"),
        (FRENCH, "utf-16-le"),
        (FRENCH, "utf-16-be"),
        (FRENCH, "latin-1"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "utf-16"),
    ],
)
def test_text_survives_its_encoding(text: str, encoding: str) -> None:
    assert read(text.encode(encoding), "a.txt").text == text


def test_utf8_with_a_cut_character_stays_utf8() -> None:
    assert read(RUSSIAN.encode()[:-3], "a.txt").text == RUSSIAN[:-3] + "\ufffd"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"hello \xed\xa0\x80 world\n", "hello \ufffd\ufffd\ufffd world\n"),  # half of a pair
        (
            b"abc \xff\xfe\xfd def \x80\x81\x82 ghi\n" * 4,
            "abc \ufffd\ufffd\ufffd def \ufffd\ufffd\ufffd ghi\n" * 4,
        ),
        ("Das Straßenfest in München".encode() + b"\xc3", "Das Straßenfest in München\ufffd"),
        (b"caf\xc3\xa9 \xc3\x28 na\xc3\xafve \xa0 \xc3\xa9t\xc3\xa9\n", "café \ufffd( naïve \ufffd été\n"),
    ],
)
@pytest.mark.parametrize("path", ["a.txt", "a.md", "a.csv", "a.py"])
def test_stray_bytes_become_replacements_not_another_script_and_are_reported(
    data: bytes, text: str, path: str
) -> None:
    document = read(data, path)
    assert document.text == text
    assert (
        f"{text.count(chr(0xFFFD))} byte sequences are not characters, the first in line 1" in document.remark
    )


def test_stray_bytes_in_pages_and_notebooks_are_reported_too() -> None:
    assert (
        "not characters" in read(b"<html><body><p>hello \xed\xa0\x80 world</p></body></html>", "a.html").remark
    )
    cells = b'{"cells": [{"cell_type": "markdown", "source": "hello \xed\xa0\x80 world"}], "nbformat": 4}'
    assert "not characters" in read(cells, "a.ipynb").remark


def test_a_guessed_encoding_is_reported_and_utf8_is_not() -> None:
    assert "read as cp1251, which is a guess" in read(RUSSIAN.encode("cp1251"), "a.txt").remark
    assert read(RUSSIAN, "a.txt").remark == ""
    assert read(RUSSIAN.encode("utf-16"), "a.txt").remark == ""


def test_a_declared_charset_is_used_unless_it_is_wrong() -> None:
    data = "naïve café".encode("cp1252")
    assert read(data, "http://h/x", "text/plain; charset=ISO-8859-1").text == "naïve café"
    assert read("日本".encode(), "http://h/x", "text/plain; charset=ascii").text == "日本"
    assert read(b"abc", "http://h/x", "text/plain; charset=punycode").text == "abc"


def test_only_line_ends_and_the_byte_order_mark_change() -> None:
    assert read("\ufeffa\r\nb\rc\n\td \x0c\n", "a.txt").text == "a\nb\nc\n\td \x0c\n"


@pytest.mark.parametrize("data", [b"text\0with nul", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(256)) * 8])
def test_binary_data_is_an_error(data: bytes) -> None:
    with pytest.raises(ParseError, match="binary"):
        read(data, "a.txt")


@pytest.mark.parametrize(
    ("path", "media_type", "kind"),
    [
        ("a/README.MD", None, "markdown"),
        ("x.rst", None, "rst"),
        ("x.py", None, "code"),
        ("Makefile", None, "code"),
        ("LICENSE", None, "text"),
        ("x.unknown", None, "text"),
        ("https://h/x.md?raw=1", "text/plain; charset=utf-8", "markdown"),
        ("https://h/feed", "application/ld+json", "json"),
        ("https://h/page", "text/html", "html"),
        ("https://h/page.md", "text/html", "html"),
        ("x.tsv", None, "csv"),
        ("x.ndjson", None, "json"),
        ("x.yml", None, "yaml"),
        ("x.toml", None, "toml"),
    ],
)
def test_media_type_then_extension_choose_the_kind(path: str, media_type: str | None, kind: str) -> None:
    assert read(b"a: 1\n", path, media_type).kind == kind


def test_a_page_without_extension_is_recognised_by_its_start() -> None:
    assert read("<!DOCTYPE html><p>x", "page").kind == "html"


@pytest.mark.parametrize(
    ("path", "title"),
    [("notes.txt", "First line"), ("main.rs", "main.rs"), ("data.csv", "data"), ("conf.yaml", "conf")],
)
def test_titles_of_files_without_headings(path: str, title: str) -> None:
    assert read("\n  First   line\nsecond", path).title == title
    assert read("", path).title


def test_a_txt_page_of_a_sphinx_project_is_read_with_its_sections() -> None:
    page = "========\nSettings\n========\n\n.. setting:: TIMEOUT\n\n``TIMEOUT``\n-----------\n\nDefault: 30\n"
    document = read(page, "settings.txt")
    assert document.kind == "rst"
    assert [heading.title for heading in document.headings] == ["Settings", "TIMEOUT"]
    assert read(page, "settings.txt", media_type="text/x-raw").kind == "text"  # as somebody says who knows
    underlined = "Shopping\n--------\n\nbread, milk\n"
    assert read(underlined, "list.txt").kind == "text"
    assert read(".. note:: later\n\nno title here\n", "list.txt").kind == "text"


def test_rst_sections_get_levels_by_first_appearance() -> None:
    text = (
        "=====\nTitle\n=====\n\nIntro.\n\nOne\n---\n\ntext::\n\n  Not\n  ---\n\nA :ref:`Sub <x>` *here*\n"
        "~~~~~~~~~~~~~~~~~~~~\n\nTwo\n---\n\n----\n\n=== ===\na   b\n=== ===\n"
    )
    document = read(text, "x.rst")
    assert document.text == text
    assert [(h.level, h.title) for h in document.headings] == [
        (1, "Title"),
        (2, "One"),
        (3, "A Sub here"),
        (2, "Two"),
    ]
    assert [text[h.start :].split("\n", maxsplit=1)[0] for h in document.headings][:2] == ["=====", "One"]
    assert document.title == "Title"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=5), st.sampled_from([None, 2]))
def test_each_member_of_a_json_object_is_an_entry(value: dict[str, object], indent: int | None) -> None:
    document = read(json.dumps(value, indent=indent), "x.json")
    assert len(document.keys) == len(value)
    for start, key in zip(document.keys, value, strict=True):
        assert document.text[start:].startswith(json.dumps(key))


@given(st.lists(JSON_VALUES, max_size=5))
def test_each_item_of_a_json_array_is_an_entry(value: list[object]) -> None:
    document = read(json.dumps(value, indent=1), "x.json")
    decoder = json.JSONDecoder()
    assert [decoder.raw_decode(document.text, start)[0] for start in document.keys] == value


@pytest.mark.parametrize(
    "text", ["{", '{"a": 1', '{"a": 1,}', "[1 2]", "// c\n{}", "", "nul", '{"a": 1} x', "{1: 2}"]
)
def test_invalid_json_is_text_without_entries(text: str) -> None:
    document = read(text, "x.json")
    assert (document.text, document.keys) == (text, ())


def test_json_lines_start_entries_and_huge_numbers_cost_nothing() -> None:
    assert entries(read('{"a":1}\n\n  {"b":2}\n', "x.jsonl")) == ['{"a":1}', '{"b":2}']
    assert read("[" + "9" * 1_000_000 + "]", "x.json").keys == (1,)


def test_json_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        read("[" * 1_000_000, "x.json")


def test_yaml_entries_are_keys_items_and_documents_at_column_zero() -> None:
    text = (
        '# comment\na: 1\nb:\n- x\n- y\n"quoted key": |\n  not: a key\n\n  - nor this\nc: "one\n  two: three\n'
        'still: inside"\nurl: http://x:80\n---\n- first\n  more: 1\n- second\n'
    )
    document = read(text, "x.yaml")
    assert [e.split("\n")[0] for e in entries(document)] == [
        "a: 1",
        "b:",
        '"quoted key": |',
        'c: "one',
        "url: http://x:80",
        "---",
        "- first",
        "- second",
    ]


def test_toml_entries_are_top_level_keys_and_tables() -> None:
    text = (
        'a = 1\nb = """\n[not.a.table]\nc = 2\n"""\nd = [\n  [1, 2],\n  "]",\n]\n# [comment]\n'
        "[table]\nkey = '[x]'\n[[array]]\nk = '''\n[no]\n'''\n"
    )
    tomllib.loads(text)
    document = read(text, "x.toml")
    assert [e.split("\n")[0] for e in entries(document)] == [
        "a = 1",
        'b = """',
        "d = [",
        "[table]",
        "[[array]]",
    ]


def test_a_text_above_the_limit_is_an_error() -> None:
    with pytest.raises(ParseError, match="split it"):
        parse(b"x" * 101, path="a.txt", limits=ParseLimits(1, 1024**3, max_text_chars=100))


def test_importing_parse_does_not_import_the_libraries() -> None:
    import subprocess

    code = "import sys, outcrop.parse; print([m for m in ('lxml','pypdfium2','python_calamine') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_rule_or_a_directive_is_not_a_title() -> None:
    assert read("=====\nForms\n=====\n\nText.\n", "forms.txt").title == "Forms"
    assert read(".. currentmodule:: asyncio\n\nTasks\n", "tasks.txt").title == "Tasks"
    assert read("-----\n*****\n", "rules.txt").title == "rules"
