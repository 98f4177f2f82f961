"""Turns of a conversation as passages that know what was said around them."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from outcrop.chunk.dialogue import MAX_AROUND_CHARS, TURNS_AROUND
from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.records import SESSION, Document, Heading

Turns = list[tuple[str, str]]

RETRIES: Turns = [
    ("User, 2026-03-02 10:00", "Why do the first calls fail?"),
    ("Claude, 2026-03-02 10:01", "I will look."),
    ("Claude, 2026-03-02 10:02", "It is in the policy."),
    ("Claude, 2026-03-02 10:03", "Three attempts do not last."),
    ("Claude, 2026-03-02 10:04", "I made it five."),
    ("User, 2026-03-02 10:05", "Thank you."),
]


def session(turns: Turns, kind: str = SESSION) -> Document:
    """A document as the parser makes it."""
    text, headings = "", []
    for head, body in turns:
        text += "\n\n" if text else ""
        headings.append(Heading(1, head, len(text)))
        text += f"{head}\n{body}"
    return Document(text=text, kind=kind, title="Retries", headings=tuple(headings))


def test_each_turn_is_a_passage_however_short() -> None:
    chunks = chunk_document(session(RETRIES))
    assert [chunk.text for chunk in chunks] == [f"{head}\n{body}" for head, body in RETRIES]
    assert [chunk.heading_path[0] for chunk in chunks] == [head for head, _ in RETRIES]


def test_a_turn_is_searched_with_how_those_around_it_begin_and_with_what_was_asked() -> None:
    paths = [chunk.heading_path[1:] for chunk in chunk_document(session(RETRIES))]
    said = [body for _, body in RETRIES]
    assert paths[0] == (said[1], said[2])
    assert paths[1] == (said[0], said[2], said[3])
    assert paths[4] == (said[0], said[3], said[5]), "of two turns before it, the question stands for the first"
    assert paths[5] == (said[0], said[4])


def test_a_task_is_asked_too() -> None:
    paths = [chunk.heading_path[1] for chunk in chunk_document(session([("Task", "Find it."), *RETRIES[1:5]]))]
    assert paths[-1] == "Find it."


def test_a_new_turn_changes_only_the_last_ones() -> None:
    """What is embedded again when a session goes on."""
    before, after = (chunk_document(session(turns)) for turns in (RETRIES, [*RETRIES, ("Claude", "Welcome.")]))
    same = [old == new for old, new in zip(before, after, strict=False)]
    assert same == [True] * (len(RETRIES) - TURNS_AROUND) + [False] * TURNS_AROUND


def test_a_long_turn_is_cut_and_each_part_knows_its_place() -> None:
    long = " ".join(f"word{number}" for number in range(3000))
    chunks = chunk_document(session([RETRIES[0], ("Claude", long), RETRIES[5]]))
    parts = [chunk for chunk in chunks if chunk.heading_path[0] == "Claude"]
    assert len(parts) > 2
    assert {chunk.heading_path for chunk in parts} == {("Claude", RETRIES[0][1], RETRIES[5][1])}
    assert not any("Thank you" in chunk.text or "first calls" in chunk.text for chunk in parts)
    assert chunks[-1].heading_path[2].endswith(" …")
    assert all(len(part) <= MAX_AROUND_CHARS + 2 for chunk in chunks for part in chunk.heading_path[1:])


def test_whoever_asks_for_larger_passages_gets_them() -> None:
    assert len(chunk_document(session(RETRIES), ChunkOptions(min_chars=120))) < len(RETRIES)


def test_other_documents_keep_their_headings() -> None:
    chunks = chunk_document(session(RETRIES, kind="md"))
    assert all(said not in path for chunk in chunks for path in chunk.heading_path for _, said in RETRIES)


WORDS = st.text(string.ascii_letters + " \n\t…é", max_size=80)


@given(st.lists(st.tuples(st.sampled_from(["User", "Claude, 2026-03-02 10:01", "Task"]), WORDS), max_size=30))
def test_any_turns_are_cut_true_to_the_text(turns: Turns) -> None:
    document = session(turns)
    for chunk in chunk_document(document):
        assert document.text[chunk.start : chunk.end] == chunk.text
        assert len(chunk.heading_path) <= 2 + 2 * TURNS_AROUND
        assert chunk.heading_path[0] in ("User", "Claude, 2026-03-02 10:01", "Task")
