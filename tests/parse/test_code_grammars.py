"""A language whose grammar is not installed: its files are read by lines, and the doctor says what to install."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.parse.code import LANGUAGES, find_language, missing_grammars, read_code
from outcrop.parse.code.conditionals import first_branches
from outcrop.parse.code.extract import offsets_of
from outcrop.parse.code.languages import NoGrammar, grammar_of

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
SOURCE = "module Stone where\n\nimport Data.List\n\nweigh :: Int -> Int\nweigh grams = grams * 2\n"


@pytest.fixture
def without_haskell(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    grammar_of.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "tree_sitter_haskell", None)  # how Python notes that there is no such module
        yield
    grammar_of.cache_clear()


def test_every_grammar_of_the_table_is_a_dependency_or_in_the_extra() -> None:
    project = PYPROJECT["project"]
    base, extra = project["dependencies"], PYPROJECT["tool"]["outcrop"]["extras"]["languages"]
    named = [line.partition(">")[0] for line in (*base, *extra)]
    assert not set(base) & set(extra)
    for language in LANGUAGES:
        assert language.grammar.partition(":")[0].replace("_", "-") in named


def test_the_packages_of_all_extras_are_installed_for_the_tests() -> None:
    """But for sentence-transformers, which brings torch, and our own models, which lie beside."""
    extras = PYPROJECT["tool"]["outcrop"]["extras"]
    wanted = {line for name, lines in extras.items() for line in lines if name != "transformers"}
    groups = PYPROJECT["dependency-groups"]
    included = [line["include-group"] for line in groups["dev"] if not isinstance(line, str)]
    there = {line for name in ("dev", *included) for line in groups[name] if isinstance(line, str)}
    assert {line for line in wanted if not line.startswith("outcrop-models")} <= there


def test_all_grammars_are_here() -> None:
    assert missing_grammars() == []


@pytest.mark.usefixtures("without_haskell")
def test_a_file_without_its_grammar_keeps_its_language_and_its_text() -> None:
    language = find_language("Stone.hs")
    assert language is not None
    with pytest.raises(NoGrammar, match=r"outcrop\[languages\]"):
        grammar_of(language)
    document = read_code(SOURCE, "src/Stone.hs")
    assert document.text == SOURCE
    assert document.outline is not None
    assert (document.outline.language, document.outline.declarations) == ("haskell", ())


def test_a_file_without_its_grammar_is_searchable_and_read_again_once_it_is_installed(
    without_haskell: None, tmp_path: Path
) -> None:
    root = tmp_path / "stones"
    root.mkdir()
    (root / "Stone.hs").write_text(SOURCE)
    (root / "stone.py").write_text("def weigh(grams):\n    return grams * 2\n")
    with outcrop.open(tmp_path / "index.db") as kb:
        assert not kb.add(root).failed
        hit = kb.search("weigh grams", kinds=["haskell"]).hits[0]
        assert (hit.document.path, hit.document.language) == ("Stone.hs", "haskell")
        assert hit.code is not None
        assert not hit.code.defines
        assert kb.search("weigh grams", kinds=["python"]).hits[0].code is not None
        (check,) = (check for check in kb.doctor() if check.name == "languages")
        assert check.ok
        assert check.detail.startswith("haskell: read by lines")
        assert "pip install 'outcrop[languages]'" in check.detail
    grammar_of.cache_clear()
    del sys.modules["tree_sitter_haskell"]
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.sync(force=True)
        hit = kb.search("weigh grams", kinds=["haskell"]).hits[0]
        assert hit.code is not None
        assert "weigh" in {item.name for item in hit.code.defines}
        assert [check.detail for check in kb.doctor() if check.name == "languages"] == ["all grammars are here"]


@pytest.mark.parametrize("text", ["plain", "naïve café — 日本語 🎉 end", "é", ""])
def test_every_byte_that_begins_a_character_has_its_offset(text: str) -> None:
    data = text.encode()
    offset = offsets_of(text, data)
    assert [offset(len(text[:at].encode())) for at in range(len(text) + 1)] == list(range(len(text) + 1))


SWIFT = """let top = 1
class Point {
    let x: Int
    func length() -> Int { let local = 2; return local }
    static func == (a: Point, b: Point) -> Bool { true }
}
"""


def test_what_a_pattern_leaves_to_be_looked_at_is_found_as_by_the_pattern() -> None:
    outline = read_code(SWIFT, "point.swift").outline
    assert outline is not None
    found = [
        (item.name, item.kind, item.scope, SWIFT[item.body : item.body + 1]) for item in outline.declarations
    ]
    assert found == [
        ("top", "constant", (), "\n"),
        ("Point", "class", (), "{"),
        ("x", "property", ("Point",), "\n"),
        ("length", "method", ("Point",), "{"),
        ("==", "operator", ("Point",), "{"),
    ]


def test_what_patterns_set_is_known() -> None:
    known = {"name", "inside"}
    for language in LANGUAGES:
        grammar = grammar_of(language)
        assert all(told.keys() <= known for told in grammar.settings.values()), language.name
        assert all(kinds for told in grammar.settings.values() for kinds in told.values()), language.name


SPLIT = """#include <poll.h>

static int first(int x) {
#ifdef HAS_POLL
    if (poll(x)) {
#else
    if (select(x)) {
#endif
        return 1;
    }
    return 0;
}

#ifdef HAS_POLL
int second(void) { return 2; }
#else
int second_without(void) { return 3; }
#endif

/* The last of them. */
int third(int a) {
    return first(a) + second() + first(a + 1) + first(a + 2) + first(a + 3) + first(a + 4) + first(a + 5);
}
"""


@pytest.mark.parametrize("path", ["a.c", "a.cpp"])
def test_functions_around_branches_that_leave_braces_open_are_found(path: str) -> None:
    outline = read_code(SPLIT, path).outline
    assert outline is not None
    found = {item.name: (item.kind, item.doc) for item in outline.declarations}
    assert found == {
        "first": ("function", ""),
        "second": ("function", ""),
        "second_without": ("function", ""),
        "third": ("function", "The last of them."),
    }
    assert [item.name for item in outline.references if item.name == "poll"] == ["poll"]


def test_branches_whose_braces_match_stay_and_others_leave_their_place() -> None:
    data = SPLIT.encode()
    straight = first_branches(data)
    assert len(straight) == len(data)
    assert (b"select(x)" in straight, b"poll(x)" in straight, b"second_without" in straight) == (
        False,
        True,
        True,
    )
    assert first_branches(b"#if 1\n{\n#if 2\n}\n#else\n  ;\n#endif\n#endif\n#else\n#endif") == (
        b"#if 1\n{\n     \n}\n     \n   \n      \n#endif\n#else\n#endif"
    )
    assert first_branches(b"#endif\n#else\n{\n#if 1") == b"#endif\n#else\n{\n#if 1"
