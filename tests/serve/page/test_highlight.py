"""Source in colours: nothing is lost, and no text takes long."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below

import outcrop
from outcrop.parse.code.languages import LANGUAGES
from outcrop.serve.page.highlight import MAX_CHARS, highlight_source, language_named

SAMPLES = {
    "bash": ("# note\nif true; then\n  echo \"a $x\"\nfi\n", {"if": "k", "# note": "c", '"a ': "s"}),
    "c": ('#include <stdio.h>\n/* note */\nint main(void) { return f("a"); }\n', {"int": "kt", "/* note */": "c",
          "return": "k", '"a"': "s", "main": "nf", "f": "nf", "#include": "cp"}),
    "cpp": ("class Pool { public: int take() { return 1; } };\n", {"class": "k", "Pool": "nc", "1": "m", "int": "kt"}),
    "c_sharp": ('class A { string F() { return "x"; } }\n', {"class": "k", "A": "nc", '"x"': "s", "F": "nf"}),
    "css": (".a { color: red; } /* c */\n", {"/* c */": "c", "color": "na"}),
    "go": ('package a\n\nfunc Take() string { return "x" }\n', {"func": "k", "Take": "nf", '"x"': "s"}),
    "hcl": ('resource "a" "b" {\n  x = 1\n}\n# c\n', {"1": "m", "# c": "c"}),
    "java": ('class A { int f() { return g("x"); } }\n', {"class": "k", "A": "nc", "f": "nf", "g": "nf", "int": "kt"}),
    "javascript": ("const a = `x ${y} z`; // c\n", {"const": "k", "// c": "c", "`x ": "s"}),
    "json": ('{"a": [1, true]}\n', {'"a"': "s", "1": "m", "true": "kc"}),
    "python": ('class A:\n    """Doc."""\n    def f(self):\n        return g("x", 1, None)  # c\n', {"class": "k",
               "A": "nc", '"""Doc."""': "sd", "f": "nf", '"x"': "s", "1": "m", "None": "kc", "# c": "c", "g": "nf"}),
    "ruby": ("def f\n  'x' # c\nend\n", {"def": "k", "f": "nf", "'x'": "s", "# c": "c", "end": "k"}),
    "rust": ('fn take() -> u8 { 1 } // c\n', {"fn": "k", "take": "nf", "u8": "kt", "1": "m", "// c": "c"}),
    "sql": ("select 'a' from b -- c\n", {"select": "k", "'a'": "s", "-- c": "c"}),
    "typescript": ("interface A { b: string }\n", {"interface": "k", "A": "nc", "string": "kt"}),
}  # fmt: skip
UNITS = (
    "\n",
    "a\n",
    " \n",
    "\t\n",
    "\\\n",
    "#\n",
    "/",
    "{",
    "(",
    "<",
    "'",
    '"',
    "$x\n",
    "x ",
    "/*",
    "//\n",
    "@a\n",
    "a.",
)
FENCES = (
    "c",
    "cpp",
    "c++",
    "csharp",
    "java",
    "python",
    "markdown",
    "md",
    "hcl",
    "terraform",
    "html",
    "sh",
    "nonsense",
)


@pytest.mark.parametrize("name", SAMPLES)
def test_tokens_get_the_right_highlight_class(name: str) -> None:
    text, expected = SAMPLES[name]
    pieces = highlight_source(text, name)
    assert pieces is not None
    assert "".join(piece for piece, _ in pieces) == text
    told = dict(reversed(pieces))
    assert {word: told.get(word) for word in expected} == expected


def test_a_keyword_argument_is_not_highlighted_as_a_keyword() -> None:
    assert highlight_source("f(a=b)", "python") == [("f", "nf"), ("(a=b)", "")]


@given(text=st.text(min_size=1, max_size=300), language=st.sampled_from([each.name for each in LANGUAGES]))
@settings(max_examples=150, deadline=None)
def test_highlighting_keeps_the_whole_text(text: str, language: str) -> None:
    pieces = highlight_source(text, language)
    if pieces is not None:
        assert "".join(piece for piece, _ in pieces) == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize(
    "language", ["c", "cpp", "c_sharp", "java", "python", "hcl", "javascript", "bash", "sql"]
)
def test_source_crafted_to_be_slow_is_highlighted_quickly(language: str) -> None:
    for unit in UNITS:
        text = (unit * (250_000 // len(unit) + 1))[:250_000]
        with cpu_below(60):  # each step has a limit of 1.2 s; a quadratic lexer took hours
            highlight_source(text, language)


def test_the_language_after_a_fence_selects_a_grammar_or_none() -> None:
    for name in FENCES:
        language = language_named(name)
        assert language is None or language in LANGUAGES
    assert language_named("x" * 100_000) is None
    assert language_named("../../etc/passwd") is None
    assert language_named("py") is language_named("Python")
    assert highlight_source("x = 1\n", "markdown") is None


def test_long_texts_are_shown_without_highlighting() -> None:
    assert highlight_source("x = 1\n" * MAX_CHARS, "python") is None


def test_nothing_that_ships_highlights_by_regular_expressions() -> None:
    package = Path(outcrop.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("pygments", "rich.syntax", "rich.markdown")) for name in names), (
                path
            )
