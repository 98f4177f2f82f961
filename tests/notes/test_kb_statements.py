"""Contradictions by rules: what is about one subject and says another value, and what only looks so. None of these
pairs is one of those that the rules were made on."""

from __future__ import annotations

import time

import pytest

from outcrop.notes.contradictions import find_contradictions
from outcrop.notes.statements import content_terms, find_statements, take_values
from outcrop.text.terms import Terms

TERMS_OF = content_terms(Terms().words)

CONTRADICT = [
    ("The cache holds 500 entries.", "The cache holds 2,000 entries."),
    ("Sessions last two weeks.", "Sessions last 14 hours."),
    ("The search team is run by Priya.", "The search team is run by Tom."),
    ("- Region: Frankfurt", "- Region: Dublin"),
    ("**Default branch**: `main`", "**Default branch**: `trunk`"),
    ("Nightly builds start at 01:15.", "Nightly builds start at 03:00."),
    ("We use Kafka for events.", "We use RabbitMQ for events."),
    ("The mobile app is written in Kotlin.", "The mobile app is written in Dart."),
    ("Invoices are due after 30 days.", "Invoices are due after two weeks."),
    ("Draft pull requests are allowed.", "Draft pull requests are not allowed."),
    ("| Max connections | 50 |", "| Max connections | 200 |"),
    ("The minimum Node version is 18.2.", "The minimum Node version is 20.1."),
    ("Review day is Wednesday.", "Review day is Thursday."),
    ("The status page lives at https://status.one.test/.", "The status page lives at https://two.test/status."),
]
AGREE = [
    ("The cache holds 500 entries.", "The queue holds 2,000 entries."),
    ("Sessions last two weeks.", "Sessions last 14 days."),
    ("The search team is run by Priya.", "The billing team is run by Tom."),
    ("- Region: Frankfurt", "- Language: German"),
    ("The mobile app is written in Kotlin.", "The mobile app is slow on old phones."),
    ("Invoices are due after 30 days.", "Invoices are kept in the archive."),
    ("Draft pull requests are allowed.", "Force pushes are not allowed."),
    ("Issue 17 is about timeouts.", "Issue 93 is about colours."),
    ("Note: see the plan of 2026-01-02.", "Note: see the plan of 2026-05-06."),
    ("The office has 3 floors.", "The garden has 12 trees."),
    ("Decided on 2026-01-02.", "Decided on 2026-05-06."),
    ("Use `make lint` for style.", "Use `make docs` for links."),
]


def clash(one: str, other: str) -> bool:
    notes = {"a.md": f"# Team\n\n{one}\n", "b.md": f"# Team\n\n{other}\n"}
    return bool(
        find_contradictions([s for path, text in notes.items() for s in find_statements(path, text, TERMS_OF)])
    )


@pytest.mark.parametrize(("one", "other"), CONTRADICT)
def test_another_value_of_the_same_subject_contradicts(one: str, other: str) -> None:
    assert clash(one, other)
    assert clash(other, one)


@pytest.mark.parametrize(("one", "other"), AGREE)
def test_another_subject_or_the_same_value_does_not(one: str, other: str) -> None:
    assert not clash(one, other)


def test_notes_of_two_projects_may_differ() -> None:
    text = "# {0}\n\nDeploys are on {1}.\n\n- Owner: {2}\n"
    notes = {
        "projects/lark/plan.md": text.format("Lark", "Friday", "Ana"),
        "projects/wren/plan.md": text.format("Wren", "Monday", "Ben"),
    }
    found = [s for path, note in notes.items() for s in find_statements(path, note, TERMS_OF)]
    assert len(found) == 4
    assert find_contradictions(found) == []


def test_values_are_the_same_however_they_are_written() -> None:
    assert take_values("for an hour")[0] == take_values("for 60 minutes")[0] == {"duration": {"3600"}}
    assert take_values("1,000 rows")[0] == take_values("1000 rows")[0]
    assert take_values("v2.1")[0] == take_values("2.1")[0]


def test_front_matter_and_code_state_nothing() -> None:
    text = "---\nport: 1\n---\n# Title\n\n```\nport: 2\n```\n\nThe port is 3.\n"
    (only,) = find_statements("a.md", text, TERMS_OF)
    assert (only.line, only.text) == (10, "The port is 3.")


@pytest.mark.parametrize("text", ["a is " * 100_000, "| x " * 200_000, "is is is: " * 50_000, "1 h " * 100_000])
def test_a_hostile_note_takes_linear_time(text: str) -> None:
    began = time.process_time()
    find_statements("a.md", text, TERMS_OF)
    find_statements("a.md", text.replace(" ", "\n"), TERMS_OF)
    assert time.process_time() - began < 10


def test_many_statements_on_one_word_are_bounded() -> None:
    notes = [f"# N{i}\n\nThe lamp number {i} of house {i} has {i} watts.\n" for i in range(400)]
    found = [s for i, note in enumerate(notes) for s in find_statements(f"{i}.md", note, TERMS_OF)]
    began = time.process_time()
    find_contradictions(found)
    assert time.process_time() - began < 10
