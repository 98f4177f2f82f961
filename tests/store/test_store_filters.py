"""Which documents a filter lets through."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost import cpu_below
from tests.store.builders import make_write, put

from outcrop.contracts import Store
from outcrop.errors import QueryError
from outcrop.records import Filter
from outcrop.store import filters
from outcrop.store.filters import MAX_PATTERN_CHARS, MAX_PATTERNS, glob_plain, glob_regex, path_matches

PATHS = [
    "README.md",
    "docs/README.md",
    "docs/guide/start.md",
    "docs/guide/deep/er.txt",
    "src/app.py",
    "src/lib/app.py",
    "src/lib/a[1].py",
    "data.d/x.json",
    "docs2/z.md",
    ".hidden/notes.md",
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["src/app.py", "src/lib/app.py", "src/lib/a[1].py"]),
        ("README.md", ["README.md", "docs/README.md"]),
        ("/README.md", ["README.md"]),
        ("./README.md", ["README.md"]),
        ("src/*.py", ["src/app.py"]),
        ("src/**/*.py", ["src/app.py", "src/lib/app.py", "src/lib/a[1].py"]),
        ("src/**.py", ["src/app.py", "src/lib/app.py", "src/lib/a[1].py"]),
        ("**/app.py", ["src/app.py", "src/lib/app.py"]),
        ("docs", ["docs/README.md", "docs/guide/start.md", "docs/guide/deep/er.txt"]),
        ("docs/", ["docs/README.md", "docs/guide/start.md", "docs/guide/deep/er.txt"]),
        ("guide/", ["docs/guide/start.md", "docs/guide/deep/er.txt"]),
        ("docs/guide", ["docs/guide/start.md", "docs/guide/deep/er.txt"]),
        ("docs/**", ["docs/README.md", "docs/guide/start.md", "docs/guide/deep/er.txt"]),
        ("docs/*", ["docs/README.md"]),
        ("docs/*/", ["docs/guide/start.md", "docs/guide/deep/er.txt"]),
        ("*/README.md", ["docs/README.md"]),
        ("doc?/*.md", ["docs/README.md"]),
        ("src/lib/a[[]1].py", ["src/lib/a[1].py"]),
        ("[a-z]*.json", ["data.d/x.json"]),
        ("[!a-z]*.md", ["README.md", "docs/README.md"]),
        ("data.d/x.json/", []),
        ("readme.md", []),
        ("app", []),
        ("data?d/x.json", ["data.d/x.json"]),
        ("dataxd/x.json", []),
        ("**", PATHS),
        ("/", PATHS),
        ("*", PATHS),
    ],
)
def test_a_pattern_matches_these_paths(pattern: str, expected: list[str]) -> None:
    regex = glob_regex([pattern])
    assert [path for path in PATHS if path_matches(regex, path)] == expected


@given(st.lists(st.text("ab*?[]!^-/.\\|&~{}(", max_size=12), max_size=3), st.text("ab/.-\n", max_size=12))
def test_any_pattern_is_a_pattern_or_a_query_error(patterns: list[str], path: str) -> None:
    with contextlib.suppress(QueryError):
        path_matches(glob_regex(patterns), path)


@given(st.text(max_size=20).filter(lambda text: text.strip("/.")))
def test_a_path_without_wildcards_matches_itself(path: str) -> None:
    path = "/".join(part for part in re.sub(r"[*?\[]", "x", path).split("/") if part)
    assert path_matches(glob_regex(["/" + path]), path)


def test_a_pattern_full_of_stars_is_not_slow() -> None:
    with cpu_below(1):
        for pattern in ("*a" * 30 + "b", "a*" * 30 + "b", "**/" * 20 + "b", "*a*?" * 12 + "b"):
            assert not path_matches(glob_regex([pattern]), "a" * 200)
            assert not path_matches(glob_regex([pattern]), "aaa/" * 10 + "a" * 60)


def test_a_pattern_full_of_folders_is_not_slow() -> None:
    with cpu_below(2):
        for pattern in ("**/a/" * 200 + "z", "**/*a*/" * 100 + "z", "**/a/b/" * 50 + "**/z"):
            assert not path_matches(glob_regex([pattern]), "a/" * 1000 + "b")


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**", "**a", "?", "[ab]"]), min_size=1, max_size=6).map("/".join),
    st.lists(st.sampled_from(["a", "b", "aa", "ab"]), min_size=1, max_size=6).map("/".join),
)
def test_no_way_through_the_folders_is_missed(pattern: str, path: str) -> None:
    """The form that tries every way, and that Postgres is given, says the same."""
    tried = re.search(glob_plain([pattern]), path, re.DOTALL) is not None
    assert path_matches(glob_regex([pattern]), path) == tried


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["*.py"] * (MAX_PATTERNS + 1), "at most 100"),
        (["a" * (MAX_PATTERN_CHARS + 1)], "at most 4,096"),
        (["a" * MAX_PATTERN_CHARS] * 3, "at most 8,192"),
    ],
)
def test_patterns_that_cost_seconds_are_refused(patterns: list[str], said: str) -> None:
    for build in (glob_regex, glob_plain):
        with cpu_below(1), pytest.raises(QueryError, match=said):
            build(patterns)


def test_large_patterns_do_not_pile_up() -> None:
    for number in range(60):
        glob_regex([f"{number}{'*a' * 2000}"])
    assert filters._kept.weight <= filters._MAX_COMPILED
    kept = getattr(re, "_cache", {})  # the module's own
    assert sum(len(key[1]) for key in kept) < 500_000


DAY = 86400.0


def fill(store: Store) -> dict[str, int]:
    second = 1_000_000_000
    writes = [
        make_write("a.md", tags=("x", "y"), mtime_ns=int(10 * DAY) * second),
        make_write("b.md", tags=("x",), mtime_ns=int(20 * DAY) * second, meta={"date": "1970-01-06"}),
        make_write("sub/c.txt", kind="text", tags=("y",), mtime_ns=int(30 * DAY) * second),
        make_write("d.md", collection="other", mtime_ns=None, meta={"date": "not a date"}),
        make_write("e.md", collection="other", tags=("x", "y"), meta={"date": "1970-01-11T12:00:00+02:00"}),
    ]
    return dict(zip("abcde", put(store, *writes), strict=True))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "abcde"),
        (Filter(collections=("main",)), "abc"),
        (Filter(collections=("main", "other")), "abcde"),
        (Filter(collections=("none",)), ""),
        (Filter(kinds=("text",)), "c"),
        (Filter(kinds=("text", "markdown")), "abcde"),
        (Filter(tags=("x",)), "abe"),
        (Filter(tags=("x", "y", "x")), "ae"),
        (Filter(tags=("x", "nope")), ""),
        (Filter(paths=("*.txt", "a.*")), "ac"),
        (Filter(paths=("sub",), kinds=("markdown",)), ""),
        (Filter(tags=("x",), collections=("other",)), "e"),
        (Filter(until=10 * DAY), "b"),
        (Filter(since=10 * DAY, until=11 * DAY), "ae"),
        (Filter(since=5 * DAY, until=5 * DAY + 1), "b"),
        (Filter(since=30 * DAY), "cd"),
        (Filter(since=31 * DAY), "d"),
    ],
)
def test_select_and_documents_agree_on_what_passes(store: Store, where: Filter, expected: str) -> None:
    ids = fill(store)
    selected = store.select(where)
    assert selected.dtype == np.int64
    assert selected.tolist() == [ids[name] for name in expected]
    assert sorted(info.id for info in store.documents(where)) == selected.tolist()


def test_documents_can_be_left_out_by_id(store: Store) -> None:
    ids = fill(store)
    assert store.select(Filter(hidden=(ids["a"], 999), collections=("main",))).tolist() == [ids["b"], ids["c"]]
    assert store.select(Filter(hidden=tuple(ids.values()))).tolist() == []


def test_documents_are_found_by_what_their_front_matter_has(store: Store) -> None:
    writes = [
        make_write("a.md", meta={"valid_until": "2026-01-01"}),
        make_write("b.md", meta={"title": 'says "valid_until"', "validxuntil": "no"}),
        make_write("c.txt", kind="text", meta={"valid_until": "2026-01-01"}),
        make_write("d.md", collection="other", meta={"supersedes": "a"}),
        make_write("e.md", meta={"supersedes": "a.md", "valid_until": "x"}),
    ]
    ids = dict(zip("abcde", put(store, *writes), strict=True))
    names = ("valid_until", "supersedes")
    assert [info.id for info in store.with_entries("main", names)] == [ids["a"], ids["e"]]
    assert [info.meta for info in store.with_entries("other", names)] == [{"supersedes": "a"}]
    assert store.with_entries("main", ()) == []


def test_documents_can_be_chosen_by_id(store: Store) -> None:
    ids = fill(store)
    chosen = Filter(documents=(ids["e"], ids["b"], 999))
    assert store.select(chosen).tolist() == [ids["b"], ids["e"]]


def test_touching_a_file_moves_its_date_unless_it_states_one(store: Store) -> None:
    ids = fill(store)
    store.touch({ids["a"]: (int(50 * DAY) * 10**9, 1), ids["b"]: (int(50 * DAY) * 10**9, 1)})
    assert store.select(Filter(since=49 * DAY, until=51 * DAY)).tolist() == [ids["a"]]


def test_documents_come_by_collection_and_path_in_pages(store: Store) -> None:
    fill(store)
    everything = [info.path for info in store.documents()]
    assert everything == ["a.md", "b.md", "sub/c.txt", "d.md", "e.md"]
    assert [info.path for info in store.documents(limit=2)] == everything[:2]
    assert [info.path for info in store.documents(limit=2, offset=2)] == everything[2:4]
    assert [info.path for info in store.documents(Filter(kinds=("markdown",)), offset=3)] == everything[4:]
    assert store.documents(limit=0) == []


def test_a_pattern_nobody_can_read_is_a_query_error(store: Store) -> None:
    with pytest.raises(QueryError, match=r"\[z-a\]"):
        store.select(Filter(paths=("[z-a]",)))
