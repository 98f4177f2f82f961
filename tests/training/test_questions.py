"""First sentences become what people type."""

from __future__ import annotations

import pytest
from training.pairs.english import bare_verb, gerund, is_english, participle, third_person
from training.pairs.questions import keywords, questions, read_sentence, without_name


@pytest.mark.parametrize(
    ("sentence", "asked"),
    [
        ("Returns True if the file is empty.", "check if the file is empty"),
        ("Check whether the path exists", "check if the path exists"),
        ("Determines if a user may log in.", "check if a user may log in"),
        ("Whether the pool is closed", "check if the pool is closed"),
        ("Parses a date string into a date.", "parse a date string into a date"),
        ("This function computes the hash of a file.", "compute the hash of a file"),
        ("Helper to build a url from parts", "build a url from parts"),
        ("Given a list of names, return the longest one.", "return the longest one"),
        ("Copies the tree and returns it", "copy the tree"),
        ("Read-only property for getting the HTTP method", "the HTTP method"),
        ("List of all known users", "List of all known users"),
        ("DataQueue is a general-purpose blocking queue", "general-purpose blocking queue"),
    ],
)
def test_a_sentence_is_read_as_what_one_can_do(sentence: str, asked: str) -> None:
    found = read_sentence(sentence)
    assert found is not None
    assert found.phrase.lower() == asked.lower()


def test_what_happens_on_an_error_is_asked_as_such() -> None:
    asked = questions(
        "Raised when the lock cannot be taken.", language="python", kind="class", around="", seed="a", count=6
    )
    assert asked
    assert all("when the lock" in text or "when lock" in text for text in asked)


def test_sentences_without_an_instruction_or_a_name_ask_nothing() -> None:
    for sentence in ("If enabled, it stays.", "Don't add accounts to it", "It.", ""):
        assert questions(sentence, language="go", kind="function", around="", seed="a", count=2) == []


def test_questions_are_the_same_in_every_run_and_differ_by_place() -> None:
    def ask(seed: str) -> list[str]:
        return questions(
            "Write the rows to disk.", language="python", kind="function", around="", seed=seed, count=3
        )

    assert ask("a") == ask("a")
    assert len({tuple(ask(str(seed))) for seed in range(20)}) > 10


def test_many_questions_name_the_language_and_hardly_any_ends_with_a_full_stop() -> None:
    asked = [
        text
        for seed in range(200)
        for text in questions(
            "Return the size of a file.", language="python", kind="function", around="", seed=str(seed), count=1
        )
    ]
    assert 0.4 < sum("python" in text for text in asked) / len(asked) < 0.8
    assert not any(text.endswith(".") for text in asked)


def test_what_says_too_little_is_completed_by_its_class() -> None:
    asked = questions("Return the name.", language="go", kind="method", around="http cookie", seed="a", count=3)
    assert asked
    assert all("cookie" in text for text in asked)
    assert questions("Return the name.", language="go", kind="method", around="", seed="a", count=3) == []


def test_the_name_that_go_comments_begin_with_is_left_out() -> None:
    assert without_name("Open opens a file.", "Open") == "opens a file."
    assert without_name("Opens a file.", "Open") == "Opens a file."


def test_braces_in_a_sentence_are_plain_text() -> None:
    assert questions(
        "Format the {name} of a {place}", language="rust", kind="function", around="", seed="a", count=9
    )


def test_verbs_take_their_forms() -> None:
    assert [third_person(verb) for verb in ("pass", "copy", "get")] == ["passes", "copies", "gets"]
    assert [gerund(verb) for verb in ("write", "map", "see")] == ["writing", "mapping", "seeing"]
    assert [participle(verb) for verb in ("parse", "send", "strip", "apply")] == [
        "parsed",
        "sent",
        "stripped",
        "applied",
    ]
    assert bare_verb("Returns", "the") == "return"
    assert bare_verb("List", "of") == ""
    assert bare_verb("List", "the") == "list"


def test_other_languages_are_told_from_english() -> None:
    assert is_english("Open the file that the user chose.")
    assert not is_english("Öffnet die Datei und gibt sie zurück, wenn das nicht geht")
    assert not is_english("ファイルを開く")


def test_keywords_leave_out_what_says_nothing() -> None:
    assert keywords("Get the size of the file, in bytes (or 0)") == ["get", "size", "file", "bytes"]
