"""Text to terms: what finds what, and what no input can do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below

import outcrop.text.terms as terms_module
from outcrop.text.terms import MAX_SURFACE_CHARS, STOP_WORDS, TERM_BYTES, Terms, term_number


def finds(terms: Terms, query: str, text: str) -> bool:
    """Whether every term of the query is in the text."""
    return set(terms.of(query)) <= set(terms.of(text)) and bool(terms.of(query))


@pytest.mark.parametrize(
    ("identifier", "queries"),
    [
        ("getUserName", ["getUserName", "getusername", "user name", "get", "GETUSERNAME"]),
        ("HTTPServer", ["HTTPServer", "httpserver", "http server", "Servers"]),
        ("snake_case", ["snake_case", "SNAKE_CASE", "snake case", "cases"]),
        ("_private_name", ["_private_name", "private name"]),
        ("__init__.py", ["__init__.py", "init", "py"]),
        ("os.path.join", ["os.path.join", "path", "os path join", "joins"]),
        ("TS-999", ["TS-999", "ts-999", "999", "TS 999"]),
        ("C++", ["C++", "c++"]),
        ("C#", ["C#", "c#"]),
        ("utf8", ["utf8", "UTF8", "utf 8"]),
        ("std::vector<int>", ["std::vector", "vector", "int"]),
        ("user@example.com", ["user@example.com", "example"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"[:1]]),
        ("don't", ["don't", "don"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(
    terms: Terms, identifier: str, queries: list[str]
) -> None:
    text = f"We call {identifier} here."
    for query in queries:
        assert finds(terms, query, text), query


@pytest.mark.parametrize(
    ("query", "text"), [("C++", "plain C"), ("C#", "C++"), ("TS-999", "TS-998"), ("snake_case", "snakes")]
)
def test_a_lookalike_is_not_found(terms: Terms, query: str, text: str) -> None:
    assert not finds(terms, query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [("connections", "connected"), ("Running", "runs"), ("studies", "study"), ("indexes", "indexing")],
)
def test_forms_of_a_word_find_each_other(terms: Terms, query: str, text: str) -> None:
    assert finds(terms, query, text)
    assert finds(terms, text, query)


@pytest.mark.parametrize(
    "text",
    [
        "人工智能是计算机科学的一个分支",
        "東京都は日本の首都です",
        "ภาษาไทยไม่มีช่องว่างระหว่างคำที่นี่",
        "대한민국의수도는서울이다",
        "ကွန်ပျူတာ",
        "カタカナ",
    ],
)
def test_scripts_without_spaces_are_found_by_any_two_characters(terms: Terms, text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    for i in range(len(text) - 1):
        assert finds(terms, text[i : i + 2], text * 20), text[i : i + 2]
    assert not finds(terms, "魚類", text)


def test_korean_is_found_without_its_particles(terms: Terms) -> None:
    assert finds(terms, "한국어", "저는 한국어를 배웁니다")


def test_words_between_chinese_characters_are_stemmed_like_any_other(terms: Terms) -> None:
    assert finds(terms, "running getUserName", "请使用running和getUserName时")


@pytest.mark.parametrize("word", ["हिन्दी", "தமிழ்", "বাংলা", "اللُّغَة", "שָׁלוֹם", "Việt"])
def test_words_do_not_fall_apart_at_their_marks(terms: Terms, word: str) -> None:
    assert len(terms.of(word)) == 1
    assert not finds(terms, word[0], word)


@pytest.mark.parametrize(
    ("one", "other"),
    [("café", "cafe\u0301"), ("ﬁle", "file"), ("ＡＢＣ", "abc"), ("ｶﾀｶﾅ", "カタカナ"), ("Ａ１", "a1")],
)
def test_a_character_is_the_same_however_it_was_typed(terms: Terms, one: str, other: str) -> None:
    assert list(terms.of(one)) == list(terms.of(other))


def test_a_long_path_is_found_by_its_parts(terms: Terms) -> None:
    path = "src/components/authentication/providers/internal/__tests__/refreshToken/handlers.test.tsx"
    assert len(path) > MAX_SURFACE_CHARS
    for query in ("authentication", "refresh token", "handlers", "tsx"):
        assert finds(terms, query, path)


def test_a_long_sentence_without_spaces_is_found_by_its_words(terms: Terms) -> None:
    assert finds(terms, "智能", "计算机科学" * 20 + "智能" + "企图了解" * 20)


def test_a_blob_is_one_bounded_term(terms: Terms) -> None:
    assert len(terms.of("x" * 5_000_000)) == 1
    assert len(terms.of("aZ9" * 1_000)) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("a." * 1_000_000, "_" * 1_000_000, "'" * 1_000_000, "a" + "_" * 1_000_000, "_a" * 500_000),
        *("a_.-':/+#@" * 100_000, "_.-':/+#@" * 100_000, "x" * 5_000_000, "1" * 1_000_000, "+#" * 500_000),
        *("漢字" * 250_000, "e\u0301" * 500_000, "\u0301" * 1_000_000, "aA" * 500_000, "a__." * 250_000),
    ],
    ids=lambda text: f"{text[:10]}×{len(text)}".encode("ascii", "replace").decode(),
)
def test_time_is_linear_whatever_the_text(text: str) -> None:
    with cpu_below(30):  # 1 to 2 s at most; a quadratic scan of these takes hours
        Terms().of(text)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="aZ_9.-'’:/+#@\u0301ทา漢é👍 ", max_size=80))
def test_terms_of_any_text_are_48_bit_numbers_and_always_the_same(text: str) -> None:
    fresh = Terms()
    found = fresh.of(text)
    assert list(found) == list(fresh.of(text))
    assert list(found) == [term for _, numbers in fresh.words(text) for term in numbers]
    assert all(0 <= term < 1 << 8 * TERM_BYTES for term in found)


@pytest.mark.parametrize(
    "text", ["", " ", "👍🏽", "\ud800", "a\ud800b", "\x00", "—", "\u200d", "_", "__", "+", "#"]
)
def test_odd_input_raises_no_error(terms: Terms, text: str) -> None:
    terms.of(text)
    terms.words(text)


def test_the_cache_stays_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "CACHE_ENTRIES", 100)
    fresh = Terms()
    for i in range(1_000):
        fresh.of(f"word{i} {'long' * 20}{i}/{i}")
        assert len(fresh._seen) <= 100
        assert all(len(surface) <= MAX_SURFACE_CHARS for surface in fresh._seen)


def test_any_number_of_threads_get_the_same_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "CACHE_ENTRIES", 50)
    texts = [" ".join(f"running{i * j} connectionsOf{j} snake_{i}" for j in range(40)) for i in range(10)]
    expected = [list(Terms().of(text)) for text in texts]
    shared = Terms()
    wrong: list[str] = []

    def work() -> None:
        for _ in range(10):
            wrong.extend(t for t, known in zip(texts, expected, strict=True) if list(shared.of(t)) != known)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_numbers_are_the_same_in_every_process(terms: Terms) -> None:
    text = "getUserName TS-999 C++ 漢字 running café"
    script = f"from outcrop.text.terms import Terms; print(*Terms().of({text!r}))"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.split() == [str(term) for term in terms.of(text)]


def test_the_number_of_a_term_never_changes() -> None:
    assert term_number("outcrop") == int.from_bytes(bytes.fromhex(OUTCROP), "little")


OUTCROP = "171c2a7139d8"  # written into every saved index: a change must raise the format of the files


def test_stop_words_are_single_surface_tokens(terms: Terms) -> None:
    assert all([surface for surface, _ in terms.words(word)] == [word] for word in STOP_WORDS)


@given(st.text("aZ_9.-':/+#@ \n\\\x1f", max_size=80))
def test_the_fast_path_for_ascii_gives_the_same_tokens(text: str) -> None:
    assert Terms().words(text) == Terms().words(f"{text} é")[:-1]


@given(st.text(alphabet="aBc9_.-':/+#@ \n,(", max_size=80))
@settings(max_examples=300, deadline=None)
def test_a_text_read_by_stretches_has_the_terms_of_its_surface_tokens(text: str) -> None:
    terms = Terms()
    assert list(terms.of(text)) == [term for _, found in Terms().words(text) for term in found]
    assert list(terms.of(text)) == list(Terms().of(text))  # what is remembered changes nothing
