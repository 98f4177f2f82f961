"""What documents and configuration point to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost import cpu_below

from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.parse.links import MAX_REFERENCES, links_in
from outcrop.records import Document, Reference


def read(text: str, kind: str = "markdown", path: str = "docs/guide.md") -> list[Reference]:
    return list(links_in(Document(text=text, kind=kind, title=""), path))


def links(text: str, kind: str = "markdown", path: str = "docs/guide.md") -> list[str]:
    return [reference.name for reference in read(text, kind, path) if reference.kind == "link"]


def uses(text: str, kind: str = "markdown", path: str = "docs/guide.md") -> list[tuple[str, str]]:
    return [(r.qualifier, r.name) for r in read(text, kind, path) if r.kind == "use"]


def test_a_relative_link_is_a_path_from_the_root_at_its_offset() -> None:
    text = "See [the pool](../src/pool.py#L10)."
    assert read(text) == [Reference("src/pool.py", "link", text.index("../src"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](./api.md) and [b](api/pool.md?x=1 'title')", ["docs/api.md", "docs/api/pool.md"]),
        ("[a](/src/pool.py)", ["src/pool.py"]),
        ("[a](<with space.md>)", []),
        ("[a](/api/pool#a) [b](/vi.html) [c](/guide/)", ["docs/api/pool.md", "docs/vi.md", "docs/guide/index.md"]),
        ("[a](with%20space.md)", ["docs/with space.md"]),
        ("[a](pool_(new).md)", ["docs/pool_(new).md"]),
        ("[a](https://example.com/x.md) [b](mailto:a@b.c) [c](#here) [d](//cdn/x)", []),
        ("![image](pool.png)", []),
        ("[![badge](badge.svg)](LICENSE)", ["docs/LICENSE"]),
        ("[a](../../outside.md)", []),
        ("[the pool][pool] and [Pool][] and [pool]\n\n[pool]: ../src/pool.py 'x'\n", ["src/pool.py"] * 3),
        ("[a][b]\n\n[b]: https://example.com\n[^1]: note.md\n", []),
        ("```\n[a](b.md)\n```\n[c](d.md)", ["docs/d.md"]),
        ("<!-- [a](b.md) -->[c](d.md)", ["docs/d.md"]),
        ("open `src/pool.py` or `./local.md`, not `pool.py`, `and/or` or `a/b/*.py`", ["src/pool.py", "docs/local.md"]),
    ],
)  # fmt: skip
def test_markdown_links_are_resolved_and_anything_else_is_ignored(text: str, expected: list[str]) -> None:
    assert links(text) == expected


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ("Pool.acquire", ("Pool", "acquire")),
        ("outcrop.rank.fuse_scores()", ("outcrop.rank", "fuse_scores")),
        ("acquire()", ("", "acquire")),
        ("acquire(timeout=3)", ("", "acquire")),
        ("foo_bar", ("", "foo_bar")),
        ("fooBar", ("", "fooBar")),
        ("ConnectionPool", ("", "ConnectionPool")),
        ("Context", ("", "Context")),
        ("std::io::Read", ("std::io", "Read")),
        ("Array#each", ("Array", "each")),
        ("~a.b.C", ("a.b", "C")),
    ],
)
def test_code_in_backticks_that_is_spelled_like_a_name_is_a_use(span: str, expected: tuple[str, str]) -> None:
    assert uses(f"Call `{span}` first.") == [expected]
    assert uses(f"Call ``{span}`` first.", "rst") == [expected]


@pytest.mark.parametrize(
    "span",
    [
        "pool.py",
        "README.md",
        "example.com",
        "npm install",
        "--flag",
        "GET",
        "None",
        "3.11",
        "x",
        "word",
        "a = b",
    ],
)
def test_code_in_backticks_that_is_not_a_name_is_ignored(span: str) -> None:
    assert read(f"Type `{span}` here.") == []


def test_rst_roles_and_directives_point_to_pages_labels_and_code() -> None:
    text = (
        ":ref:`the pool <pool-label>` :doc:`api` :doc:`/install` :class:`~a.b.C` :py:func:`a.f()` :class:`!Hidden`\n"
        "\n.. automodule:: a.b\n\n.. literalinclude:: ../examples/pool.py\n\n`site <http://x.y>`_ `here <other.rst>`_\n"
    )
    path = "docs/guide/index.rst"
    assert links(text, "rst", path) == [
        "pool-label", "docs/guide/api.rst", "docs/install.rst", "docs/examples/pool.py", "docs/guide/other.rst",
    ]  # fmt: skip
    assert uses(text, "rst", path) == [("a.b", "C"), ("a", "f"), ("a", "b")]
    assert read(text, "rst", path)[0].qualifier == "ref"


def test_a_toctree_points_to_each_of_its_pages() -> None:
    text = ".. toctree::\n   :maxdepth: 2\n\n   install\n   The API <api/index>\n\nText after.\n"
    assert links(text, "rst", "docs/index.rst") == ["docs/install.rst", "docs/api/index.rst"]


def test_toml_values_that_name_code_or_files_are_references() -> None:
    text = (
        '[project]\nname = "pool"\nreadme = "README.md"\nurl = "https://example.com/a.py"\nrequires = ["hatch>=1"]\n'
        '[project.scripts]\npool = "pool.cli:main"\nother = "pool:App.run"\n'
        '[build-system]\nbuild-backend = "setuptools.build_meta"\n# "a.b:c"\n"a.b" = 1\n[tool.x]\nversion = "1.2.3"\n'
    )
    assert links(text, "toml", "pyproject.toml") == ["README.md"]
    assert uses(text, "toml", "pyproject.toml") == [
        ("pool.cli", "main"), ("pool.App", "run"), ("setuptools", "build_meta"),
    ]  # fmt: skip


def test_json_values_that_are_paths_are_links_from_the_folder_of_the_file() -> None:
    text = (
        '{"main": "index.js", "types": "./lib/index.d.ts", "x.y": "application/json", "n": "pool", "v": "1.2.3",\n'
        '"files": ["src/main.ts", "src/**/*.ts", "github.com/a/b.git"]}'
    )
    assert links(text, "json", "packages/a/package.json") == [
        "packages/a/index.js", "packages/a/lib/index.d.ts", "packages/a/src/main.ts",
    ]  # fmt: skip


def test_yaml_values_are_references_but_what_a_shell_runs_is_not() -> None:
    text = (
        "image: nginx:latest\nhandler: app.views.PoolView\nuses: actions/checkout@v4\nnav:\n  - Guide: guide/pool.md\n"
        "  - src/a.py  # why\nsteps:\n  - run: ./build.sh\n  - name: some words\nport: 80:8080\nfactory: a.b:make\n"
    )
    assert links(text, "yaml", "mkdocs.yml") == ["docs/guide/pool.md", "docs/src/a.py"]
    assert uses(text, "yaml", "mkdocs.yml") == [("app.views", "PoolView"), ("a.b", "make")]
    assert links("main: src/a.py\nlog: /var/log/a.log\n", "yaml", "deploy/app.yml") == ["deploy/src/a.py"]
    assert links("path: src/a.py\n", "yaml", ".github/workflows/ci.yml") == ["src/a.py"]


def test_other_kinds_and_lock_files_point_to_nothing() -> None:
    assert read("[a](b.md)", "csv") == []
    assert (
        links_in(Document(text='{"a": "./b.js"}', kind="json", title="", role="lock"), "package-lock.json")
        == ()
    )
    limits = ParseLimits(timeout_s=30.0, memory_bytes=0)
    data = b'{"a": "./b.js"}'
    assert parse(data, path="package-lock.json", limits=limits).outline is None
    assert parse(data, path="package.json", limits=limits).outline is not None


def test_a_path_from_the_root_of_a_repository_stays_as_it_is() -> None:
    assert links("[a](/middleware) [b](/src/pool.py)", path="README.md") == ["middleware", "src/pool.py"]


def test_a_page_from_the_web_has_no_paths() -> None:
    assert links("[a](b.md)", path="https://example.com/guide.md") == []


def test_there_are_never_more_references_than_the_limit() -> None:
    assert len(read("[a](b.md) " * (MAX_REFERENCES + 50))) == MAX_REFERENCES


@pytest.mark.parametrize("kind", ["markdown", "rst", "toml", "json", "yaml"])
def test_hostile_text_takes_linear_time(kind: str) -> None:
    for seed in (
        "[", "](", "![", "`", "``x", "<!--", "\n```\n", "[a]: b\n", "[a](", ":a:`", "`a <", ".. a:: ", "'", '"', '"""',
        "- a: ", " ", "\n", "\\", "[[a](", ".. toctree::\n  a\n", "a.b", "> ", "{", "a:",
    ):  # fmt: skip
        with cpu_below(2):
            read(seed * (100_000 // len(seed)), kind)


@given(
    st.text(alphabet="[]()`<>!#:_.~/\\\"'\n -=ab{}", max_size=300),
    st.sampled_from(["markdown", "rst", "toml", "json", "yaml"]),
)
def test_every_reference_is_at_its_offset(text: str, kind: str) -> None:
    for reference in read(text, kind):
        assert 0 <= reference.start < len(text)
        assert reference.name
        assert not reference.name.startswith("../")
