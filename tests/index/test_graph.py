"""The reference graph, through real small repositories and against itself."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.rows import TERMS, feed_row, view_of

import outcrop
from outcrop.index.columns import build_segment
from outcrop.index.evidence import Edges
from outcrop.index.graph import ASKED_FACTOR, Graph
from outcrop.index.names import MODULE, PACKAGE, PRIVATE, name_mark, name_number
from outcrop.records import CodeNotes, Definition, FeedRow, Mention, ReferenceKind

Links = dict[tuple[str, str], float]
Index = Callable[..., Links]
LONG = "# words that make this a chunk of its own, and some more of them, until it is long enough\n" * 12


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")


def links_of(kb: outcrop.Engine) -> Links:
    """(path of the user, `name@path` of what it means) → weight, module edges left out."""
    graph = kb.codebase.graph()
    edges = graph.all_edges()
    links: Links = {}
    for i in range(len(edges)):
        ids = graph.chunk_ids(np.array([edges.source[i], edges.target[i]]))
        source, target = (kb._store.chunks([id_])[0] for id_ in ids)
        names = graph.view.segments[int(edges.segment[i])].names
        place = int(edges.declared[i])
        if int(names.defined_kinds[place]) & ~PRIVATE in (MODULE, PACKAGE):
            continue
        assert target.code is not None
        (name,) = {
            f"{item.scope}.{item.name}" if item.scope else item.name
            for item in target.code.defines
            if (name_number(item.name), name_mark(item.name))
            == (names.defined[place], names.defined_marks[place])
            and name_number(item.scope) == names.defined_scopes[place]
        }
        key = (source.document.path, f"{name}@{target.document.path}")
        links[key] = round(links.get(key, 0.0) + float(edges.weight[i]), 3)
    return links


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path / "index.db") as engine:
        yield engine


@pytest.fixture
def index(kb: outcrop.Engine, tmp_path: Path) -> Index:
    def add(files: dict[str, str], *roots: str) -> Links:
        write(tmp_path / "repo", files)
        for root in roots or ("",):
            report = kb.add(tmp_path / "repo" / root)
            assert not report.failed
        return links_of(kb)

    return add


def means(links: Links, user: str) -> set[str]:
    return {target for source, target in links if source == user}


CLOSERS = {
    "pool.py": "class Pool:\n    def close(self):\n        return 1\n",
    "conn.py": "class Conn:\n    def close(self):\n        return 2\n",
    "sess.py": "class Sess:\n    def close(self):\n        return 3\n\n    def stop(self):\n        self.close()\n",
}


def test_a_method_that_many_classes_have_called_on_something_unknown_means_none_of_them(index: Index) -> None:
    links = index({**CLOSERS, "use.py": "def use(x):\n    x.close()\n"})
    assert means(links, "use.py") == set()


def test_a_method_called_on_its_own_object_means_that_of_the_own_class(index: Index) -> None:
    assert means(index(CLOSERS), "sess.py") == set()  # which is in the same chunk


def one_file_of_classes() -> str:
    inside = textwrap.indent(LONG, "        ")
    return (
        f"class Pool:\n    def close(self):\n{inside}        return 1\n\n\n"
        f"class Conn:\n    def close(self):\n{inside}        return 2\n\n"
        f"    def stop(self):\n{inside}        self.close()\n\n\n"
        f"class Other:\n    def close(self):\n{inside}        return 3\n\n\n"
    )


def test_in_one_file_too_self_means_the_own_class_even_from_a_part_of_a_cut_method(index: Index) -> None:
    assert means(index({"all.py": one_file_of_classes()}), "all.py") == {"Conn.close@all.py"}


def test_in_one_file_too_a_class_that_is_named_is_the_one(index: Index) -> None:
    use = f"def use(x):\n{textwrap.indent(LONG, '    ')}    Pool.close(x)\n"
    found = means(index({"all.py": one_file_of_classes() + use}), "all.py")
    assert found == {"Conn.close@all.py", "Pool@all.py", "Pool.close@all.py"}


def test_in_one_file_too_something_unknown_means_none(index: Index) -> None:
    use = f"def use(x):\n{textwrap.indent(LONG, '    ')}    x.close()\n"
    links = index({"all.py": one_file_of_classes() + use})
    assert links == {("all.py", "Conn.close@all.py"): 1.0}


def test_a_class_that_is_named_wins_over_a_method_of_the_same_file(index: Index) -> None:
    use = "from pool import Pool\n\n\nclass Mine:\n    def close(self):\n        Pool.close(self)\n"
    assert means(index({**CLOSERS, "mine.py": use}), "mine.py") == {"Pool@pool.py", "Pool.close@pool.py"}


def test_what_a_chunk_declares_itself_it_does_not_mean_elsewhere(index: Index) -> None:
    links = index(
        {
            "a.c": "static int helper(void) { return 1; }\nint first(void) { return helper(); }\n",
            "b.c": "static int helper(void) { return 2; }\nint second(void) { return helper(); }\n",
        }
    )
    assert links == {}


def test_an_imported_function_wins_over_namesakes_near_and_far(index: Index) -> None:
    files = {
        "a/util.py": "def load_it():\n    return 1\n",
        "b/util.py": "def load_it():\n    return 2\n",
        "b/near.py": "from a.util import load_it\n\n\ndef f():\n    return load_it()\n",
        "c/far.py": "from a.util import load_it\n\n\ndef f():\n    return load_it()\n",
        "c/relative.py": "from ..b import util\n\n\ndef h():\n    return util.load_it()\n",
        "c/nowhere.py": "def g():\n    return load_it()\n",
    }
    links = index(files)
    assert means(links, "b/near.py") == means(links, "c/far.py") == {"load_it@a/util.py"}
    assert means(links, "c/relative.py") == {"load_it@b/util.py"}
    assert all(weight <= 0.2 for (user, _), weight in links.items() if user == "c/nowhere.py")


def test_an_import_from_elsewhere_does_not_mean_a_file_that_happens_to_have_its_name(index: Index) -> None:
    links = index(
        {
            "app/auth.py": "class Session:\n    pass\n",
            "app/client.py": "from requests.auth import HTTPBasicAuth\n\n\ndef go(x):\n    return auth.lookup(x)\n",
        }
    )
    assert links == {}


GO = {
    "middleware/logger.go": "package middleware\n\nfunc Logger(x int) int { return x }\n",
    "middleware/first.go": "package middleware\n\nfunc First() {}\n",
    "middleware/second.go": "package middleware\n\nfunc Second() {}\n",
    "middleware/third.go": "package middleware\n\nfunc Third() {}\n",
    "other/logger.go": "package other\n\nfunc Logger(x int) int { return x + 1 }\n",
    "cmd/main.go": 'package main\n\nimport "example.com/app/middleware"\n\nfunc main() { middleware.Logger(3) }\n',
    "cmd/alias.go": 'package main\n\nimport mw "example.com/app/middleware"\n\nfunc run() { mw.Logger(3) }\n',
}


def test_a_go_call_means_the_package_it_is_qualified_with_under_whatever_name(index: Index) -> None:
    links = index(GO)
    assert means(links, "cmd/main.go") == {"Logger@middleware/logger.go"}
    assert means(links, "cmd/alias.go") == {"Logger@middleware/logger.go"}


def test_a_java_class_is_found_in_its_own_package_without_an_import_and_by_one_elsewhere(index: Index) -> None:
    pool = "package com.{0};\npublic class Pool {{\n  public static Pool make() {{ return new Pool(); }}\n}}\n"
    links = index(
        {
            "java/com/x/Pool.java": pool.format("x"),
            "java/com/y/Pool.java": pool.format("y"),
            "java/com/x/User.java": "package com.x;\nclass User {\n  void go() { Pool.make(); }\n}\n",
            "java/com/z/User.java": "package com.z;\nimport com.y.Pool;\nclass User { void go() { Pool.make(); } }\n",
        }
    )
    assert means(links, "java/com/x/User.java") == {
        "Pool@java/com/x/Pool.java",
        "Pool.make@java/com/x/Pool.java",
    }
    assert means(links, "java/com/z/User.java") == {
        "Pool@java/com/y/Pool.java",
        "Pool.make@java/com/y/Pool.java",
    }
    assert means(links, "java/com/x/Pool.java") == means(links, "java/com/y/Pool.java") == set()


def test_a_rust_use_tells_two_traits_of_one_name_apart(index: Index) -> None:
    links = index(
        {
            "src/de.rs": "pub trait Visitor {\n    fn visit(&self);\n}\n\npub fn from_str(s: &str) -> u8 { 1 }\n",
            "src/ser.rs": "pub trait Visitor {\n    fn put(&self);\n}\n",
            "src/value.rs": "use crate::de::Visitor;\n\npub struct Value;\nimpl Visitor for Value {}\n",
            "src/more.rs": 'use crate::de::{self, Visitor};\n\npub fn go<T: Visitor>(t: T) { de::from_str("x"); }\n',
        }
    )
    assert means(links, "src/value.rs") == {"Visitor@src/de.rs"}
    assert means(links, "src/more.rs") == {"Visitor@src/de.rs", "from_str@src/de.rs"}


def test_typescript_imports_lead_through_relative_paths_and_index_files(index: Index) -> None:
    links = index(
        {
            "src/a.ts": "export function fetchIt() { return 1 }\n",
            "src/b/a.ts": "export function fetchIt() { return 2 }\n",
            "src/b/up.ts": 'import { fetchIt } from "../a";\nexport const up = () => fetchIt();\n',
            "src/lib/index.ts": 'export { deep } from "./deep";\n',
            "src/lib/deep.ts": "export const deep = () => 2;\n",
            "src/other/deep.ts": "export const deep = () => 3;\n",
            "src/main.ts": 'import { fetchIt } from "./a";\nimport { deep } from "./lib";\n'
            "export function boot() { fetchIt(); return deep(); }\n",
            "src/view.tsx": 'import { fetchIt } from "./b/a.js";\nexport const View = () => <p>{fetchIt()}</p>;\n',
        }
    )
    assert means(links, "src/main.ts") == {"fetchIt@src/a.ts", "deep@src/lib/deep.ts"}
    assert means(links, "src/view.tsx") == {"fetchIt@src/b/a.ts"}
    assert means(links, "src/b/up.ts") == {"fetchIt@src/a.ts"}
    assert means(links, "src/lib/index.ts") == {"deep@src/lib/deep.ts"}


def test_a_call_in_c_means_the_definition_and_not_the_prototype_that_it_sees(index: Index) -> None:
    links = index(
        {
            "include/pool.h": "#ifndef P\n#define P\nint pool_open(int n);\nstruct pool { int n; };\n#endif\n",
            "src/unix/impl.c": '#include "pool.h"\nint pool_open(int n) { return n; }\n',
            "src/main.c": '#include "pool.h"\nint main(void) { struct pool p; return pool_open(3); }\n',
        }
    )
    assert means(links, "src/main.c") == {"pool@include/pool.h", "pool_open@src/unix/impl.c"}
    assert links["src/main.c", "pool_open@src/unix/impl.c"] >= 0.9


def test_ruby_and_elixir_modules_are_found_by_name(index: Index) -> None:
    links = index(
        {
            "lib/rack/request.rb": "module Rack\n  class Request\n    def path_info\n      1\n    end\n  end\nend\n",
            "lib/rack/builder.rb": 'require_relative "request"\nmodule Rack\n  class Builder\n    def to_app(env)\n'
            "      Rack::Request.new(env)\n    end\n  end\nend\n",
            "lib/ecto/query.ex": "defmodule Ecto.Query do\n  def build_it(x) do\n    x\n  end\nend\n",
            "lib/ecto/other.ex": "defmodule Ecto.Other do\n  def build_it(x) do\n    x\n  end\nend\n",
            "lib/ecto/repo.ex": "defmodule Ecto.Repo do\n  alias Ecto.Query\n\n  def all_of(x) do\n"
            "    Query.build_it(x)\n  end\nend\n",
        }
    )
    assert "Rack.Request@lib/rack/request.rb" in means(links, "lib/rack/builder.rb")
    assert "Query.build_it@lib/ecto/query.ex" in means(links, "lib/ecto/repo.ex")
    assert "Other.build_it@lib/ecto/other.ex" not in means(links, "lib/ecto/repo.ex")


def test_a_python_name_is_found_through_the_package_that_passes_it_on(index: Index) -> None:
    links = index(
        {
            "pkg/__init__.py": 'from pkg.impl import make_client\n\n__all__ = ["make_client"]\n',
            "pkg/impl.py": "def make_client():\n    return 1\n",
            "elsewhere/impl.py": "def make_client():\n    return 2\n",
            "app/run.py": "from pkg import make_client\n\n\ndef run():\n    make_client()\n",
            "app/whole.py": "import pkg\n\n\ndef run():\n    pkg.make_client()\n",
        }
    )
    for user in ("pkg/__init__.py", "app/run.py", "app/whole.py"):
        assert means(links, user) == {"make_client@pkg/impl.py"}


def test_a_function_inside_a_function_is_known_to_its_file_only(index: Index) -> None:
    links = index(
        {
            "impl.py": f"def outer():\n    def inner_one():\n        return 3\n{textwrap.indent(LONG, '    ')}"
            "    return 1\n",
            "use.py": "from impl import outer\n\n\ndef run():\n    return inner_one()\n",
        }
    )
    assert means(links, "use.py") == {"outer@impl.py"}


def test_repositories_in_one_index_reach_into_each_other_but_languages_do_not(index: Index) -> None:
    links = index(
        {
            "one/acme_lib/__init__.py": "from acme_lib.core import spin_up\n",
            "one/acme_lib/core.py": "def spin_up():\n    return 1\n",
            "two/service.py": "from acme_lib import spin_up\n\n\ndef serve():\n    return spin_up()\n",
            "two/web/start.js": "export function start() { return spin_up(); }\n",
            "two/tool/tool.go": "package tool\n\nfunc spin_up() int { return 1 }\n",
        },
        "one",
        "two",
    )
    assert means(links, "service.py") == {"spin_up@acme_lib/core.py"}
    assert means(links, "web/start.js") == set()


def test_documents_and_configuration_lead_to_the_code_they_name(index: Index) -> None:
    links = index(
        {
            "pyproject.toml": '[project.scripts]\nacme = "acme.cli:main_entry"\n',
            "acme/cli.py": "def main_entry():\n    return 1\n",
            "other/cli.py": "def main_entry():\n    return 2\n",
            "acme/pool.py": "class ConnectionPool(Base):\n    def acquire(self):\n        return 1\n",
            "acme/base.py": "class Base:\n    pass\n",
            "docs/guide.md": "# Guide\n\nCall `ConnectionPool.acquire()` first.\n",
            "conf/app.yaml": "backend: acme.pool.ConnectionPool\n",
        }
    )
    assert means(links, "docs/guide.md") == {"ConnectionPool.acquire@acme/pool.py"}
    assert means(links, "conf/app.yaml") == {"ConnectionPool@acme/pool.py"}
    assert means(links, "acme/pool.py") == {"Base@acme/base.py"}
    assert "main_entry@acme/cli.py" in means(links, "pyproject.toml")


def test_a_link_leads_to_the_file_at_that_place_or_nowhere(kb: outcrop.Engine, tmp_path: Path) -> None:
    files = {
        "README.md": "See [it](src/pool.py) and [that](docs/cli.py).\n",
        "src/pool.py": "A = 1\n",
        "other/pool.py": "A = 2\n",
        "src/cli.py": "B = 1\n",
    }
    write(tmp_path / "repo", files)
    kb.add(tmp_path / "repo")
    graph = kb.codebase.graph()
    readme, pool = (int(graph.find_chunks([kb.chunks(name)[0].id])[0]) for name in ("README.md", "src/pool.py"))
    edges = graph.edges_from(np.array([readme]))
    assert edges.target.tolist() == [pool]


def test_the_graph_follows_edits_and_removals(kb: outcrop.Engine, tmp_path: Path, index: Index) -> None:
    files = {
        "pool.py": "def acquire_it():\n    return 1\n",
        "use.py": "from pool import acquire_it\n\n\ndef use():\n    return acquire_it()\n",
    }
    assert means(index(files), "use.py") == {"acquire_it@pool.py"}
    write(tmp_path / "repo", {"pool.py": "def lease_it():\n    return 1\n"})
    kb.sync()
    assert links_of(kb) == {}
    write(tmp_path / "repo", {"more.py": "from pool import lease_it\n\n\ndef more():\n    return lease_it()\n"})
    kb.sync()
    assert means(links_of(kb), "more.py") == {"lease_it@pool.py"}
    (tmp_path / "repo" / "pool.py").unlink()
    kb.sync()
    assert links_of(kb) == {}


# ------------------------------------------------------------------ the graph against itself

NAMES = ("alpha", "Beta", "gamma", "Gamma", "close", "_hidden")
SCOPES = ("", "Beta", "Delta")
PATHS = ("a/one.py", "a/two.py", "b/one.py", "b/Beta.java", "c.md", "d/three.js")
LANGUAGES = {"py": "python", "java": "java", "js": "javascript", "md": ""}
KINDS = ("function", "method", "class", "local", "constant", "prototype")
MENTIONS: tuple[tuple[ReferenceKind, tuple[str, ...]], ...] = (
    ("call", NAMES),
    ("type", NAMES),
    ("import", ("a/one", "one", "./two", "../b/Beta")),
    ("link", ("a/one.py",)),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    rows: list[FeedRow] = []
    for document in range(draw(st.integers(1, 6))):
        path = draw(st.sampled_from(PATHS))
        for _ in range(draw(st.integers(1, 3))):
            defines = draw(
                st.lists(
                    st.builds(
                        Definition, st.sampled_from(NAMES), st.sampled_from(KINDS), st.sampled_from(SCOPES)
                    ),
                    max_size=3,
                )
            )
            mentions = []
            for _ in range(draw(st.integers(0, 4))):
                kind, names = draw(st.sampled_from(MENTIONS))
                before = (
                    ""
                    if kind == "link"
                    else draw(st.sampled_from(("", "self", "x", "Beta", "one", "alpha", "f(x)")))
                )
                mentions.append(Mention(draw(st.sampled_from(names)), kind, before, draw(st.integers(1, 300))))
            code = CodeNotes(defines=tuple(defines), mentions=tuple(mentions))
            language = LANGUAGES[path.rpartition(".")[2]]
            rows.append(feed_row(len(rows) + 1, document_id=document, path=path, language=language, code=code))
    cut = draw(st.integers(1, len(rows)))
    segments = [build_segment(part, TERMS, 0, 0.0) for part in (rows[:cut], rows[cut:]) if part]
    deleted = [
        np.array(draw(st.lists(st.booleans(), min_size=len(segment), max_size=len(segment))))
        for segment in segments
    ]
    return Graph(view_of(*segments, deleted=deleted))


def as_set(edges: Edges) -> set[tuple[int, int, float, int, int]]:
    columns = (edges.source, edges.target, edges.weight, edges.segment, edges.declared)
    return set(zip(*(column.tolist() for column in columns), strict=True))


@settings(max_examples=120, deadline=None)
@given(graph=graphs())
def test_what_leads_to_a_chunk_is_the_same_asked_from_either_end(graph: Graph) -> None:
    every = as_set(graph.all_edges())
    deleted = np.concatenate(graph.view.deleted)
    alive = np.flatnonzero(~deleted)
    assert as_set(graph.edges_from(alive)) == every
    for node in alive.tolist():
        assert as_set(graph.edges_to(np.array([node]))) == {edge for edge in every if edge[1] == node}
    assert not any(deleted[source] or deleted[target] or source == target for source, target, *_ in every)
    assert all(0 < weight < 40 for _, _, weight, *_ in every)


def test_super_means_the_class_above_and_not_the_own_one(index: Index) -> None:
    inside = textwrap.indent(LONG, "        ")
    links = index(
        {
            "all.py": f"class Base:\n    def render_it(self):\n{inside}        return 1\n\n\n"
            f"class Child(Base):\n    def render_it(self):\n{inside}        return super().render_it()\n"
        }
    )
    assert "Base.render_it@all.py" in means(links, "all.py")
    assert "Child.render_it@all.py" not in means(links, "all.py")


def test_a_module_that_is_imported_wins_over_others_of_a_package_that_is(index: Index) -> None:
    links = index(
        {
            "pkg/__init__.py": "",
            "pkg/core.py": "class Command:\n    def invoke_it(self):\n        return 1\n",
            "pkg/testing.py": "class CliRunner:\n    def invoke_it(self):\n        return 2\n",
            "use.py": "import pkg\nfrom pkg.testing import CliRunner\n\n\ndef use(x):\n    x.invoke_it()\n",
        }
    )
    assert means(links, "use.py") == {"CliRunner@pkg/testing.py", "CliRunner.invoke_it@pkg/testing.py"}


def test_a_walk_prefers_the_names_that_are_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "app.py").write_text(
        "from pool import acquire, release\n\n\ndef run():\n    acquire()\n    release()\n", "utf-8"
    )
    padding = "\n".join(f"    step_{number} = {number} * 2  # one of many" for number in range(60))
    (source / "pool.py").write_text(
        f"def acquire():\n{padding}\n    return 1\n\n\ndef release():\n{padding}\n    return 2\n", "utf-8"
    )
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.add(source)
        graph = kb.codebase.graph()
        node = np.array([graph.declaring("run")[0][0]], np.int64)
        _, plain_target, plain = graph.steps(node)
        _, target, weight = graph.steps(node, asked=["release"])
    assert plain_target.tolist() == target.tolist()
    assert set((weight / plain).round().tolist()) == {1.0, ASKED_FACTOR}
