"""Names of code: which rows declare and use them, whatever case they are typed in, and what a file is called."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index.rows import TERMS, feed_row

from outcrop.index.columns import build_segment
from outcrop.index.merging import merge_segments
from outcrop.index.names import (
    CALLABLE,
    FILE_WORDS,
    HEADER,
    LOCAL,
    METHOD,
    MODULE,
    OWN,
    PACKAGE,
    PRIVATE,
    PROTOTYPE,
    ROLES,
    ROOT,
    SMALL,
    TITLE,
    UNKNOWN,
    USES,
    WHOLE,
    Names,
    family_number,
    file_stem,
    file_title,
    file_words,
    hint_number,
    module_number,
    module_of,
    name_mark,
    name_number,
    spoken_number,
)
from outcrop.index.segment import Segment
from outcrop.records import CodeNotes, Definition, FeedRow, Mention, ReferenceKind


def row(
    chunk_id: int, *notes: Definition | Mention, path: str = "src/pool.py", document_id: int | None = None
) -> FeedRow:
    """A row of code that declares and uses this."""
    defines = tuple(note for note in notes if isinstance(note, Definition))
    mentions = tuple(note for note in notes if isinstance(note, Mention))
    code = CodeNotes(defines=defines, mentions=mentions)
    return feed_row(chunk_id, kind="code", path=path, document_id=document_id, code=code)


def segment_of(*rows: FeedRow) -> Segment:
    return build_segment(rows, TERMS, 0, 0.0)


def defined(names: Names, number: int) -> list[tuple[int, int]]:
    """(row, kind) of each declaration of a name."""
    where = names.definitions(number)
    return list(zip(names.defined_rows[where].tolist(), names.defined_kinds[where].tolist(), strict=True))


def used(names: Names, row: int) -> list[tuple[int, int, str, int]]:
    """(name, hint, kind, count) of each use in a row."""
    return [
        (int(names.used[i]), int(names.used_hints[i]), USES[names.used_kinds[i]], int(names.used_counts[i]))
        for i in np.flatnonzero(names.used_rows == row)
    ]


def test_the_rows_that_declare_a_name_are_found_whatever_its_case() -> None:
    names = segment_of(
        row(1, Definition("Pool", "class"), Definition("acquire", "method", "Pool")),
        row(2, Definition("acquire", "function"), path="b.py"),
        row(3, Definition("POOL", "constant"), path="c.py"),
    ).names
    assert defined(names, name_number("pool")) == [(0, WHOLE), (2, SMALL)]
    assert defined(names, name_number("ACQUIRE")) == [(0, METHOD), (1, CALLABLE)]
    assert defined(names, name_number("release")) == []
    assert segment_of().names.definitions(name_number("pool")) == slice(0, 0)
    where = names.definitions(name_number("acquire"))
    assert names.defined_scopes[where].tolist() == [name_number("Pool"), 0]


def test_marks_tell_spellings_of_one_name_apart() -> None:
    names = segment_of(
        row(1, Definition("Pool", "class"), Mention("pool", "use"), Mention("Pool", "call"))
    ).names
    (mark,) = names.defined_marks[names.definitions(name_number("pOOl"))]
    assert mark == name_mark("Pool")
    assert names.used_marks.tolist() == [name_mark("pool"), name_mark("Pool")]
    spellings = ("pool", "Pool", "POOL", "pOOL")
    assert len({name_number(spelling) for spelling in spellings}) == 1
    assert len({name_mark(spelling) for spelling in spellings}) == len(spellings)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("Pool", "class", WHOLE),
        ("Pool", "a kind nobody knows", WHOLE),
        ("run", "function", CALLABLE),
        ("run", "method", METHOD),
        ("run", "local", LOCAL),
        ("run", "prototype", PROTOTYPE),
        ("SIZE", "constant", SMALL),
        ("_run", "function", CALLABLE | PRIVATE),
        ("__init__", "constructor", CALLABLE | PRIVATE),
    ],
)
def test_kinds_are_as_coarse_as_ranking_needs_them_and_know_what_is_private(
    name: str, kind: str, expected: int
) -> None:
    names = segment_of(row(1, Definition(name, kind))).names
    assert defined(names, name_number(name)) == [(0, expected)]


def test_the_names_a_row_uses_come_back_with_hint_kind_and_count() -> None:
    names = segment_of(
        row(1),
        row(2, Mention("acquire", "call", "self.pool", 3), Mention("Pool", "type", "", 400), document_id=1),
        row(3, Mention("close", "call", "self"), document_id=1),
    ).names
    assert used(names, 0) == []
    assert used(names, 1) == [
        (name_number("acquire"), name_number("pool"), "call", 3),
        (name_number("Pool"), 0, "type", 255),
    ]
    assert used(names, 2) == [(name_number("close"), OWN, "call", 1)]
    assert names.used_rows.tolist() == [1, 1, 2], "by row"


def test_uses_can_be_walked_by_name() -> None:
    texts = ["zeta", "alpha", "mu", "alpha", "zeta"]
    names = segment_of(*(row(i, Mention(text, "use"), document_id=1) for i, text in enumerate(texts, 1))).names
    by_name = names.used[names.used_order]
    assert (by_name[:-1] <= by_name[1:]).all()
    number = np.uint64(name_number("alpha"))
    places = names.used_order[np.searchsorted(by_name, number) : np.searchsorted(by_name, number, "right")]
    assert names.used_rows[places].tolist() == [1, 3]


def test_a_document_declares_itself_once_as_a_module_and_as_part_of_its_package() -> None:
    names = segment_of(
        row(1, path="app/db/pool.py", document_id=1),
        row(2, path="app/db/pool.py", document_id=1),
        row(3, path="app/db/__init__.py", document_id=2),
        row(4, path="README.md", document_id=3),
    ).names
    assert defined(names, module_number("pool")) == [(0, MODULE)]
    assert sorted(defined(names, module_number("db"))) == [(0, PACKAGE), (2, MODULE)]
    assert defined(names, module_number("readme")) == [(3, MODULE)], "a file at the top stands for itself"
    assert defined(names, module_number("app")) == [(2, PACKAGE)]
    assert defined(names, name_number("pool")) == [], "a module is no declaration of its name"
    (scope,) = names.defined_scopes[names.definitions(module_number("pool"))]
    assert scope == name_number("db")


def test_only_a_file_that_its_language_takes_for_the_folder_declares_the_folders_module() -> None:
    paths = ("app/main.py", "crate/main.rs", "web/index.tsx", "go/init.go")
    names = segment_of(*(row(i, path=path) for i, path in enumerate(paths))).names
    modules = {"main": 0, "crate": 1, "web": 2, "init": 3}
    for name, place in modules.items():
        assert (place, MODULE) in defined(names, module_number(name)), name


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/app/pool.py", ("pool", "app", "src")),
        ("pool.py", ("pool", "", "")),
        ("app/__init__.py", ("app", "", "")),
        ("a/b/web/index.d.ts", ("web", "b", "a")),
        ("index.ts", ("index", "", "")),
        ("src/Makefile", ("Makefile", "src", "")),
        ("src/.env", (".env", "src", "")),
        ("v1.2/notes", ("notes", "v1.2", "")),
    ],
)
def test_a_file_is_known_by_its_name_or_if_it_stands_for_its_folder_by_that(
    path: str, expected: tuple[str, str, str]
) -> None:
    assert file_stem(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("os/path", ("path", "os")),
        ("./pool", ("pool", "")),
        ("../web/index.js", ("web", "")),
        ("app/web/index", ("web", "app")),
        ("guide/start.md", ("start", "guide")),
        ("..", ("", "")),
        ("", ("", "")),
    ],
)
def test_what_an_import_or_a_link_names(path: str, expected: tuple[str, str]) -> None:
    assert module_of(path) == expected


def test_an_import_uses_the_module_and_what_is_taken_from_it() -> None:
    names = segment_of(
        row(1, Mention("app/db/pool", "import", "Pool")),
        row(2, Mention("app/db/pool", "import")),
        row(3, Mention("pool", "import")),
    ).names
    module = (module_number("pool"), name_number("db"), "import", 1)
    taken = (module_number("Pool"), name_number("pool"), "import", 1)
    assert used(names, 0) == [module, taken, (name_number("Pool"), name_number("pool"), "use", 1)]
    assert used(names, 1) == [module]
    assert used(names, 2) == [(module_number("pool"), 0, "import", 1)], "wherever it is"


def test_a_relative_import_is_of_the_place_it_leads_to() -> None:
    paths = ("app/web/page.ts", "app/web/page.ts", "app/web/page.ts", "page.ts", "app/web/page.ts")
    targets = ("./pool", "../db/pool", "../../pool", "./pool", "..")
    rows = [row(i, Mention(t, "import"), path=p) for i, (p, t) in enumerate(zip(paths, targets, strict=True))]
    names = segment_of(*rows).names
    found = [[(name, hint) for name, hint, *_ in used(names, i)] for i in range(len(rows))]
    pool = module_number("pool")
    assert found[:3] == [[(pool, name_number("web"))], [(pool, name_number("db"))], [(pool, ROOT)]]
    assert found[3:] == [[(pool, ROOT)], [(module_number("app"), ROOT)]]


def test_a_link_uses_the_file_it_leads_to_and_a_label_nothing() -> None:
    names = segment_of(
        row(1, Mention("../guide/start.md", "link"), path="docs/index.md"),
        row(2, Mention("src/pool.py", "link"), path="docs/index.md"),
        row(3, Mention("start.md", "link"), path="docs/index.md"),
        row(4, Mention("some-label", "link", "label"), path="docs/index.md"),
        row(5, Mention(".", "link"), path="README.md"),
    ).names
    assert used(names, 0) == [(module_number("start"), name_number("guide"), "link", 1)]
    assert used(names, 1) == [(module_number("pool"), name_number("src"), "link", 1)]
    assert used(names, 2) == [(module_number("start"), ROOT, "link", 1)]
    assert used(names, 3) == used(names, 4) == []


@pytest.mark.parametrize(
    ("qualifier", "expected"),
    [
        ("", 0),
        ("self", OWN),
        ("this", OWN),
        ("$this", OWN),
        ("pool", name_number("pool")),
        ("self.pool", name_number("pool")),
        ("a::std", name_number("STD")),
        ("f(x)", UNKNOWN),
        ("rows[0]", UNKNOWN),
        ('"text"', UNKNOWN),
        ("12", UNKNOWN),
    ],
)
def test_a_hint_is_the_last_name_of_what_stands_before(qualifier: str, expected: int) -> None:
    assert hint_number(qualifier) == expected


def test_numbers_of_modules_names_and_marks_never_meet() -> None:
    words = ["pool", "db", "self", "a", ""]
    assert not {module_number(word) for word in words} & {name_number(word) for word in words}
    assert min(name_number(word) for word in words if word) > max(OWN, UNKNOWN)
    assert name_number("") == 0


def test_every_role_and_use_has_a_number_that_fits_beside_the_mark_of_a_header() -> None:
    assert len(ROLES) < HEADER
    assert ROLES[0] == ""
    kinds: tuple[ReferenceKind, ...] = ("call", "type", "inherit", "import", "use", "link")
    assert set(USES) == set(kinds)
    header = CodeNotes(kind="header")
    segment = segment_of(
        feed_row(1, role="test", code=header), feed_row(2, role="lock"), feed_row(3, code=header)
    )
    assert segment.roles.tolist() == [ROLES.index("test") | HEADER, ROLES.index("lock"), HEADER]


def test_languages_that_share_names_are_one_family() -> None:
    assert family_number("typescript") == family_number("javascript") == family_number("vue")
    assert family_number("java") == family_number("kotlin")
    assert len({family_number(name) for name in ("python", "go", "rust", "c", "java", "ruby", "php")}) == 7
    assert family_number("") == 0 < family_number("python") <= 255


def test_a_files_title_is_one_name_in_any_style() -> None:
    paths = ("connection_pool.py", "src/ConnectionPool.java", "connection-pool.ts", "connection_pool/index.js")
    assert {file_title(path) for path in paths} == {name_number("connectionpool")}


def test_the_words_of_a_file_are_those_of_its_name_and_of_two_folders_above() -> None:
    stem, folders = file_words("deep/webServer/http/HTTPConnectionPool2.py", TERMS)
    assert stem == [TERMS.of(word)[0] for word in ("http", "connection", "pool", "2")]
    assert folders == [TERMS.of(word)[0] for word in ("web", "server", "http")]
    long, _ = file_words("one_two_three_four_five_six_seven_eight.py", TERMS)
    assert len(long) == FILE_WORDS


def test_names_of_removed_rows_are_gone_after_a_merge() -> None:
    segments = [
        segment_of(row(1, Definition("Pool", "class")), row(2, Mention("Pool", "call"), path="b.py")),
        segment_of(row(3, Definition("Pool", "class"), Mention("close", "call"), path="c.py")),
    ]
    merged = merge_segments(segments, [np.array([True, False]), np.array([False])])
    assert defined(merged.names, name_number("pool")) == [(1, WHOLE)]
    assert defined(merged.names, module_number("pool")) == []
    assert defined(merged.names, module_number("c")) == [(1, MODULE)]
    assert [name for name, *_ in used(merged.names, 0)] == [name_number("Pool")]
    assert [name for name, *_ in used(merged.names, 1)] == [name_number("close")]


@pytest.mark.parametrize(
    ("title", "spoken"),
    [
        ("Ed Wood (film)", "Ed Wood"),
        ("14.1. Using EXPLAIN", "using explain"),
        ("connection_pooling", "Connection Pooling"),
        ("2004 Summer Olympics", "2004 Summer Olympics"),
    ],
)
def test_a_title_is_known_as_people_say_it(title: str, spoken: str) -> None:
    assert spoken_number(title) == spoken_number(spoken) != 0


def test_prose_declares_its_title_and_names_of_several_words_once() -> None:
    names = segment_of(
        *(
            feed_row(
                chunk_id,
                document_id=1,
                title="Recovery",
                path="docs/crash-recovery.md",
                heading_path=("What a crash costs",),
            )
            for chunk_id in (1, 2)
        )
    ).names
    for title in ("Recovery", "Crash Recovery", "what a crash costs"):
        assert defined(names, spoken_number(title)) == [(0, TITLE)]
    plain = segment_of(feed_row(1, path="docs/usage.md", title="It", heading_path=("Introduction",))).names
    assert not [kind for kind in plain.defined_kinds.tolist() if kind == TITLE]


def test_code_declares_no_titles() -> None:
    assert TITLE not in segment_of(row(1, path="src/connection_pool.py")).names.defined_kinds.tolist()
