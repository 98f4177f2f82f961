"""A passage that many files repeat, with a word changed here and there, is shown once and says where else it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rank.test_merge_hits import chunks_of, merge, scored

import outcrop
from outcrop.engine import Engine
from outcrop.rank.merge import MAX_PLACES, SAME_SHARE, Fate, _Passage, join_copies, merge_hits
from outcrop.records import Hit

HELPER = '''def read_settings_{i}(path: str) -> dict[str, str]:
    """Read the settings file and give back its lines as names and values."""
    found: dict[str, str] = {{}}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    if not found:
        raise ValueError("the settings file {i} holds nothing")
    return found
'''
FILES = 25


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("copies") / "project"
    for i in range(FILES):
        (root / f"part{i}").mkdir(parents=True)
        (root / f"part{i}" / "load.py").write_text(HELPER.format(i=i), "utf-8")
    (root / "README.md").write_text("# Settings\n\nThe settings file is read by each part itself.\n", "utf-8")
    (root / "write.py").write_text(
        'def write_settings(path: str, found: dict[str, str]) -> None:\n    """Write a settings file."""\n'
        '    with open(path, "w") as file:\n        file.writelines(f"{k}={v}" for k, v in found.items())\n',
        "utf-8",
    )
    with outcrop.open(root.parent / "index.db") as opened:
        opened.add(root)
        yield opened


QUERY = "read the settings file"


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("limit", [3, 10])
def test_a_search_shows_a_helper_once_and_counts_the_rest(engine: Engine, merge: bool, limit: int) -> None:
    hits = engine.search(QUERY, merge=merge, limit=limit).hits
    helpers = [hit for hit in hits if hit.document.path.endswith("load.py")]
    assert len(helpers) == 1
    assert helpers[0].copies == FILES - 1
    assert helpers[0].elsewhere == "and 24 more places"
    assert len(helpers[0].also) == MAX_PLACES
    places = {copy.path for copy in helpers[0].also}
    assert len(places) == MAX_PLACES
    assert helpers[0].document.path not in places
    assert {"README.md", "write.py"} <= {hit.document.path for hit in hits}, "there is room for others"
    assert all(not hit.copies for hit in hits if hit not in helpers)


def test_what_was_left_out_says_of_what_it_is_a_copy(engine: Engine) -> None:
    answer = engine.search(QUERY, explain=True)
    number = next(n for n, hit in enumerate(answer.hits, 1) if hit.copies)
    told = [item for item in answer.left_out if item.told == f"near copy of {number}"]
    assert len(told) == FILES - 1


def test_a_context_holds_a_helper_once(engine: Engine) -> None:
    context = engine.context(QUERY, budget_tokens=4000)
    assert len(re.findall(r"def read_settings_\d+", context.text)) == 1
    assert re.search(r"\[\d\] part\d+/load\.py:\S+ .*and 24 more places$", context.text, re.MULTILINE)
    assert context.tokens <= 4000


@pytest.mark.parametrize("query", [QUERY, "read_settings_3 and read_settings_7"])
def test_a_context_of_code_holds_a_helper_as_often_as_it_is_asked_for(engine: Engine, query: str) -> None:
    context = engine.code_context(query, budget_tokens=4000)
    asked = max(1, query.count("read_settings"))
    assert 1 <= len(re.findall(r"def read_settings_\d+", context.text)) <= asked + 1
    assert re.search(r'also="2\d more places"', context.text)


def test_who_names_one_of_the_copies_gets_that_one(engine: Engine) -> None:
    assert engine.search("read_settings_7").hits[0].document.path == "part7/load.py"


def test_a_quoted_phrase_asks_for_every_place(engine: Engine) -> None:
    hits = engine.search('"read the settings file"', limit=30).hits
    assert len([hit for hit in hits if hit.document.path.endswith("load.py")]) == FILES


def test_json_has_the_places(engine: Engine) -> None:
    from outcrop.serve.as_json import dump

    found = json.loads(dump(engine.search(QUERY)))
    hit = next(hit for hit in found["hits"] if hit["copies"])
    assert hit["also"][0].keys() == {"chunk_id", "document_id", "collection", "path", "place"}


def test_the_command_line_and_agents_are_told_in_how_many_places_it_stands(engine: Engine) -> None:
    from io import StringIO

    from rich.console import Console

    from outcrop.serve.cli.render import print_answer
    from outcrop.serve.cli.session import Screen
    from outcrop.serve.mcp.find import show_answer

    answer = engine.search(QUERY)
    console = Console(file=StringIO(), width=200)
    print_answer(Screen(lambda: console), answer, verbose=True)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "and 24 more places" in printed
    assert printed.count("   also part") == MAX_PLACES
    told = show_answer(answer, 10, 0, 4000).text
    assert re.search(r"and 24 more places: part\d+/load\.py:1-10, .*, …", told)


# ------------------------------------------------------------------ what a near copy is


def hit(document: int, text: str, *terms: str, score: float = 0.5, kind: str = "code") -> Hit:
    found = scored(chunks_of(document, text, [(0, len(text))]), [0])[0]
    why = replace(found.why, matched_terms=terms)
    return replace(found, score=score, why=why, document=replace(found.document, kind=kind))


LONG = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)


def test_a_word_in_ten_may_differ_and_no_more() -> None:
    words = LONG.split()
    near = hit(2, " ".join(["ONE", *words[1:-1], "other"]))
    far = hit(3, " ".join([*words[:-3], "x", "y", "z"]))
    assert [found.copies for found in join_copies([hit(1, LONG), near, far])] == [1, 0]


def test_what_was_asked_for_tells_copies_apart() -> None:
    first, second = hit(1, f"{LONG} 404", "error", "404"), hit(2, f"{LONG} 405", "error")
    assert len(join_copies([first, second])) == 2
    followed = hit(3, f"{LONG} 406")
    assert [found.copies for found in join_copies([first, followed])] == [1], "found by no words"


def test_short_passages_are_copies_only_where_they_are_equal() -> None:
    found, fates = merge([hit(1, "timeout = 30"), hit(2, "timeout = 60"), hit(3, "timeout  = 30")], 9)
    assert [(h.document.id, h.copies) for h in found] == [(1, 1), (2, 0)]
    assert fates == {300: Fate("same text as", 100)}


def test_copies_of_neighbours_that_are_joined_are_one_place() -> None:
    text = f"{LONG}{LONG.upper().replace(' ', ' un')} the end"
    cuts = [(0, len(LONG)), (len(LONG), len(text))]
    both = [
        hit
        for document in (1, 2)
        for hit in scored(chunks_of(document, text + f" {'ab'[document - 1]}", cuts), [0, 1])
    ]
    (found,) = merge_hits([both[0], both[2], both[1], both[3]], 5)
    assert (found.chunk_ids, found.copies) == ((100, 101), 1)


@given(st.lists(st.text("abcde ", max_size=60), max_size=12))
def test_no_passage_is_lost(texts: list[str]) -> None:
    hits = [hit(i, text) for i, text in enumerate(texts, 1)]
    shown = join_copies(hits)
    assert sum(1 + found.copies for found in shown) == len(hits)
    assert 0 < SAME_SHARE < 1


YEARLY = (
    "As of December 31, {year}, the company had gross state income tax credits of approximately $20 million, which"
    " expire from {year} onwards, and recorded a deferred tax asset, net of federal benefits, for these credits."
)


@pytest.mark.parametrize(("kind", "shown"), [("text", 2), ("code", 1)])
def test_prose_that_differs_in_a_number_is_no_copy(kind: str, shown: int) -> None:
    years = [hit(i, YEARLY.format(year=2016 + i), kind=kind) for i in (1, 2)]
    assert len(join_copies(years)) == shown
    same = [hit(i, YEARLY.format(year=2016), kind=kind) for i in (1, 2)]
    assert len(join_copies([same[0], replace(same[1], text=same[1].text.replace("gross", "net"))])) == 1


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_the_words_of_ascii_are_those_of_the_pattern(text: str) -> None:
    assert _Passage(hit(1, text)).words == re.findall(r"\w+", text.lower())
