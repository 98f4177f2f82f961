"""Source code is cut at its declarations: nothing lost, small ones together, large ones at their statements."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cost import calls

from outcrop.chunk.cut import measure_tokens
from outcrop.chunk.declarations import MAX_DEFINITIONS, MAX_MENTIONS
from outcrop.chunk.strategies import AUTO_CODE_TOKENS, ChunkOptions, chunk_document
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Chunk, Declaration, Document, Outline

ROOT = Path(__file__).parents[2]
LIMITS = ParseLimits(timeout_s=30.0, memory_bytes=0)


def read(text: str, path: str) -> Document:
    document = parse(text.encode("utf-8"), path=path, limits=LIMITS)
    assert document.outline is not None, f"no grammar for {path}"
    return document


def lines_of(first: str, count: int, last: str = "") -> str:
    """A declaration with a body of many statements."""
    return first + "".join(f"    total{i} = compute(total{i}, {i})\n" for i in range(count)) + last


PARTS: dict[str, list[str]] = {
    "a.py": [
        '"""A module."""\n\nimport os\nfrom app.pool import Pool, Lease\n',
        "@cached\n@retry(times=3)\ndef connect(host: str) -> Pool:\n"
        '    """Open it."""\n    return Pool(host)\n',
        "class Lease(Base):\n    size = 3\n\n    # about the next one\n"
        "    def close(self):\n        self.pool.drop(self)\n\n"
        "    @property\n    def age(self):\n        return now() - self.born\n",
        "LIMIT = 10\nOTHER, MORE = 1, 2\n",
        "async def run():\n    def inner(x):\n        return x\n    await inner(1)\n",
        'if __name__ == "__main__":\n    main()\n',
        lines_of("def long_one(a, b):\n", 60),
        "# " + "a long remark before something small. " * 60 + "\ndef small():\n    pass\n",
        "def ünï(größe):\n    return '漢字 👩‍👩‍👧'\n",
        "def broken(:\n    pass\n",
    ],
    "a.go": [
        'package main\n\nimport (\n\t"fmt"\n\t"app/pool"\n)\n',
        "// Open opens it.\nfunc Open(name string) (*Pool, error) {\n\treturn pool.New(name), nil\n}\n",
        "type Pool struct {\n\tsize int\n\tname string\n}\n\n"
        "func (p *Pool) Close() error { return p.drop() }\n",
        "const (\n\tA = iota\n\tB\n)\n\nvar Global = 3\n",
        lines_of("func Long() {\n", 60, "}\n").replace("compute(", "pool.Compute("),
        "type Closer interface {\n\tClose() error\n}\n",
    ],
    "a.js": [
        "import { Pool } from './pool.js';\nconst fs = require('fs');\n",
        "/** Opens it. */\nexport function open(name) {\n  return new Pool(name);\n}\n",
        "class Lease extends Base {\n  #age = 3;\n  static of(x) { return new Lease(x); }\n"
        "  close() { this.pool.drop(this); }\n}\n",
        "export const run = async (x) => { await x.go(); };\n",
        "module.exports = { open, run };\n",
        lines_of("function long() {\n", 60, "}\n"),
        "const table = {\n" + "".join(f"  key{i}: handler{i},\n" for i in range(90)) + "};\n",
    ],
    "A.java": [
        "package app.db;\n\nimport java.util.List;\nimport app.Pool;\n",
        "/** Keeps things. */\n@Deprecated\npublic class Keeper extends Base implements Closer {\n"
        "    private int size;\n\n"
        "    @Override\n    public void close() { pool.drop(this); }\n\n"
        "    Keeper(int size) { this.size = size; }\n}\n",
        "interface Closer { void close(); }\n",
        "enum Colour { RED, GREEN; int code() { return 1; } }\n",
        "class Long {\n    void work() {\n"
        + "".join(f"        int v{i} = compute({i});\n" for i in range(60))
        + "    }\n}\n",
    ],
    "a.rs": [
        "use std::collections::{HashMap, HashSet};\nuse crate::pool::Pool;\n",
        "/// Opens it.\n#[inline]\npub fn open(name: &str) -> Pool {\n    Pool::new(name)\n}\n",
        "pub struct Lease { pool: Pool, age: u32 }\n\nimpl Drop for Lease {\n"
        "    fn drop(&mut self) { self.pool.free(); }\n}\n",
        "pub trait Closer {\n    fn close(&self);\n}\n",
        "macro_rules! twice { ($x:expr) => { $x; $x } }\n",
        lines_of("fn long() {\n", 60, "}\n").replace(")\n", ");\n"),
    ],
    "a.c": [
        '#include <stdio.h>\n#include "pool.h"\n',
        "/* Opens it. */\nstatic int open_pool(const char *name) {\n    return pool_new(name);\n}\n",
        "struct lease { int age; struct pool *pool; };\n",
        "#define LIMIT 10\nint drop(struct lease *l);\n",
        lines_of("int long_one(void) {\n", 60, "}\n").replace(")\n", ");\n"),
    ],
    "a.rb": [
        "require 'pool'\n",
        "# Keeps things.\nmodule App\n  class Keeper < Base\n    def close\n"
        "      @pool.drop(self)\n    end\n  end\nend\n",
        "def open(name)\n  Pool.new(name)\nend\n",
    ],
    "a.ts": [
        "import type { Pool } from './pool';\n",
        "export interface Lease { pool: Pool; age: number }\n",
        "@Component({ tag: 'x' })\nexport class Keeper<T> extends Base<T> {\n"
        "  close(): void { this.pool.drop(this); }\n}\n",
        "export type Name = string | number;\nenum Colour { Red, Green }\n",
    ],
}


@st.composite
def sources(draw: st.DrawFn) -> tuple[str, str]:
    """(path, text) of a file put together from declarations, sometimes cut off in the middle."""
    path = draw(st.sampled_from(sorted(PARTS)))
    parts = draw(st.lists(st.sampled_from(PARTS[path]), min_size=1, max_size=8))
    gaps = draw(
        st.lists(
            st.sampled_from(["", "\n", "\n\n", "\n" * 5, "   \n", "\t\n"]),
            min_size=len(parts),
            max_size=len(parts),
        )
    )
    text = "".join(part + gap for part, gap in zip(parts, gaps, strict=True))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))
    return path, text[: draw(st.none() | st.integers(0, len(text)))]


def assert_promises(document: Document, chunks: tuple[Chunk, ...], target: int = AUTO_CODE_TOKENS) -> None:
    """What holds for the chunks of any source file."""
    text, done = document.text, 0
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert text[chunk.start : chunk.end] == chunk.text != ""
        assert chunk.start >= done, "chunks overlap or are out of order"
        assert not text[done : chunk.start].strip(), "text was left out"
        done = chunk.end
        assert measure_tokens(chunk.text) == chunk.tokens <= target
        assert chunk.line_start == text.count("\n", 0, chunk.start) + 1
        assert chunk.line_end == text.count("\n", 0, chunk.end) + 1
        assert chunk.code is not None
        assert chunk.heading_path == tuple(chunk.heading_path)
        assert chunk.code.symbol == ".".join(chunk.heading_path)
    assert not text[done:].strip(), "the end was left out"
    assert_names_kept(document, chunks)


def assert_names_kept(document: Document, chunks: tuple[Chunk, ...]) -> None:
    """The names of all chunks are those of the outline, less what the caps cut off."""
    assert document.outline is not None
    notes = [chunk.code for chunk in chunks if chunk.code is not None]
    declared = Counter(
        (item.name, item.kind, item.scope[-1] if item.scope else "", document.text.count("\n", 0, item.at) + 1)
        for item in document.outline.declarations
    )
    kept = Counter((item.name, item.kind, item.scope, item.line) for note in notes for item in note.defines)
    assert kept <= declared
    if all(len(note.defines) < MAX_DEFINITIONS for note in notes):
        assert kept == declared
    used = Counter((item.name, item.kind, item.qualifier) for item in document.outline.references)
    counts: Counter[tuple[str, str, str]] = Counter()
    for note in notes:
        for item in note.mentions:
            counts[item.name, item.kind, item.qualifier] += item.times
    assert counts <= used
    if all(len(note.mentions) < MAX_MENTIONS for note in notes):
        assert counts == used


@settings(max_examples=400, deadline=None)
@given(sources(), st.sampled_from([0, 0, 20, 60, 150]))
@example(("a.py", PARTS["a.py"][7]), 0)
def test_chunks_of_any_source_cover_it_once_and_keep_every_name(source: tuple[str, str], target: int) -> None:
    document = read(source[1], source[0])
    chunks = chunk_document(document, ChunkOptions(target_tokens=target))
    assert_promises(document, chunks, target or AUTO_CODE_TOKENS)
    assert bool(chunks) == bool(document.text.strip())


def test_chunks_of_this_repository_cover_it_once_and_keep_every_name() -> None:
    files = [
        path
        for room in ("src", "tests", "benchmarks", "proofs")
        for path in sorted((ROOT / room).rglob("*.py"))
    ]
    assert len(files) > 100
    for path in files:
        document = read(path.read_text("utf-8"), path.name)
        assert_promises(document, chunk_document(document))


# ------------------------------------------------------------------ what stays together

SMALL_FILE = '''"""Pools of connections."""

import os
from app.base import Base

LIMIT = 10


# The one that keeps.
@final
class Pool(Base):
    """Keeps connections open."""

    def __init__(self, size):
        self.size = size

    def acquire(self):
        """Take one."""
        return self.free.pop() if self.free else Connection(self.size)


def helper():
    return Pool(LIMIT)
'''


def body(name: str, count: int, indent: str = "        ") -> str:
    return "".join(f"{indent}{name}{i} = compute({name}{i}, {i})\n" for i in range(count))


def method(name: str, count: int) -> str:
    return f'    @traced\n    def {name}(self):\n        """Do {name}."""\n{body(name, count)}\n'


LARGE_CLASS = (
    'import os\n\n\nclass Worker(Base):\n    """Works."""\n\n    size = 3\n\n'
    + method("first", 34)
    + method("second", 34)
    + "    def tiny(self):\n        return 1\n\n    def tinier(self):\n        return 2\n\n"
    + method("third", 34)
)


def chunks_of(text: str, path: str = "a.py") -> tuple[Chunk, ...]:
    document = read(text, path)
    chunks = chunk_document(document)
    assert_promises(document, chunks)
    return chunks


def holding(chunks: tuple[Chunk, ...], words: str) -> Chunk:
    (found,) = [chunk for chunk in chunks if words in chunk.text]
    return found


def test_the_head_of_a_file_is_a_chunk_of_its_own() -> None:
    first, *rest = chunks_of("import os\nfrom app.base import Base\n\n\n" + LARGE_CLASS.partition("\n\n\n")[2])
    assert first.text == "import os\nfrom app.base import Base"
    assert first.code is not None
    assert (first.code.kind, first.code.defines, first.heading_path) == ("header", (), ())
    assert {(item.name, item.kind) for item in first.code.mentions} >= {
        ("os", "import"),
        ("app/base", "import"),
    }
    assert all(chunk.code is not None and chunk.code.kind != "header" for chunk in rest)


def test_a_licence_that_would_drown_a_files_own_words_is_a_chunk_of_its_own() -> None:
    licence = "# Copyright 2024 A\n" + "# Licensed under the terms of a licence without warranties.\n" * 4
    own = '"""Keeps connections open."""\n\nimport os'
    body = "\n\n\n" + LARGE_CLASS.partition("\n\n\n")[2]
    first, second, *_ = chunks_of(f"{licence}\n{own}{body}")
    assert (first.text, second.text) == (licence.strip(), own)
    assert [chunk.code.kind for chunk in (first, second) if chunk.code] == ["header", ""]
    first, *_ = chunks_of(f"# Licensed under MIT\n\n{own}{body}")
    assert first.text == f"# Licensed under MIT\n\n{own}", "a small one stays with them"
    first, *_ = chunks_of(f"{licence}\nimport os{body}")
    assert first.text == f"{licence}\nimport os", "and so does one where there are no words"


def test_small_declarations_share_a_chunk() -> None:
    head, *rest = chunks_of(SMALL_FILE)
    assert head.text.startswith('"""Pools')
    assert len(rest) == 1
    (chunk,) = rest
    assert chunk.code is not None
    assert [item.name for item in chunk.code.defines] == ["LIMIT", "Pool", "__init__", "acquire", "helper"]
    assert [item.scope for item in chunk.code.defines] == ["", "", "Pool", "Pool", ""]
    many = "".join(f"def small{i}():\n    return {i}\n\n\n" for i in range(100))
    chunks = chunks_of(many)
    assert all(chunk.tokens > AUTO_CODE_TOKENS / 2 for chunk in chunks[:-1]), "filled, not scattered"
    assert all(chunk.text.startswith("def small") for chunk in chunks)


def test_methods_of_a_large_class_know_their_class() -> None:
    chunks = chunks_of(LARGE_CLASS)
    for name in ("first", "second", "third"):
        chunk = holding(chunks, f"def {name}(self)")
        assert chunk.heading_path == ("Worker", name)
        assert chunk.code is not None
        assert (chunk.code.symbol, chunk.code.kind) == (f"Worker.{name}", "method")
        assert chunk.code.signature == f"def {name}(self)"
        assert [item.scope for item in chunk.code.defines] == ["Worker"]
    top = holding(chunks, "class Worker(Base)")
    assert top.heading_path == ("Worker",)
    both = holding(chunks, "def tiny(self)")
    assert "def tinier(self)" in both.text
    assert both.heading_path == ("Worker",)


@pytest.mark.parametrize(
    ("path", "text", "symbol"),
    [
        ("a.go", "func (p *Pool) Close() error {\n" + body("v", 80, "\t") + "}\n", ("Pool", "Close")),
        ("A.java", "class Pool {\n  void close() {\n" + body("v", 40) + "  }\n}\n", ("Pool", "close")),
        ("a.rs", "impl Pool {\n    fn close(&self) {\n" + body("v", 40) + "    }\n}\n", ("Pool", "close")),
        ("a.ts", "class Pool {\n  close() {\n" + body("v", 40) + "  }\n}\n", ("Pool", "close")),
        ("a.rb", "class Pool\n  def close\n" + body("v", 40) + "  end\nend\n", ("Pool", "close")),
    ],
)
def test_every_part_of_a_long_method_knows_its_class_and_method(
    path: str, text: str, symbol: tuple[str, ...]
) -> None:
    chunks = [chunk for chunk in chunks_of(text, path) if re.search(r"v\d+ =", chunk.text)]
    assert len(chunks) > 1
    assert {chunk.heading_path for chunk in chunks[1:]} == {symbol}
    assert sum(len(chunk.code.defines) for chunk in chunks if chunk.code) >= 1


def test_decorators_and_comments_stay_with_their_declaration() -> None:
    for path, before, declaration in (
        ("a.py", "# Keeps it.\n@final\n@retry(3)\n", "def wanted(self):\n"),
        ("a.ts", "/** Keeps it. */\n@Injectable()\n", "export class wanted {\n"),
        ("A.java", "/** Keeps it. */\n@Deprecated\n", "class wanted {\n"),
        ("a.rs", "/// Keeps it.\n#[inline]\n", "fn wanted() {\n"),
        ("a.go", "// wanted keeps it.\n// Second line.\n", "func wanted() {\n"),
    ):
        python = path == "a.py"
        filler = "def before{0}():\n{1}\n" if python else "function before{0}() {{\n{1}}}\n"
        if path == "A.java":
            filler = "class before{0} {{\n  void f() {{\n{1}  }}\n}}\n"
        elif path in ("a.rs", "a.go"):
            filler = ("fn" if path == "a.rs" else "func") + " before{0}() {{\n{1}}}\n"
        stop = "" if python or path in ("a.go", "a.ts") else ";"
        inner = "".join(f"    x{i} = f({i}){stop}\n" for i in range(35))
        if path == "A.java":
            wanted = "  void f() {\n" + inner + "  }\n"
        elif path == "a.ts":
            wanted = "  f() {\n" + inner + "  }\n"
        else:
            wanted = inner
        text = filler.format(1, inner) + "\n" + before + declaration + wanted + ("" if python else "}\n")
        text += "\n" + filler.format(2, inner)
        chunk = holding(chunks_of(text, path), declaration.strip())
        assert chunk.text.startswith(before), path
        assert chunk.code is not None
        assert chunk.code.symbol.startswith("wanted"), path


def test_a_declaration_that_fits_is_never_cut() -> None:
    for path in sorted((ROOT / "src").rglob("*.py"))[:60]:
        document = read(path.read_text("utf-8"), path.name)
        assert document.outline is not None
        chunks = chunk_document(document)
        for item in document.outline.declarations:
            whole = document.text[item.start : item.end]
            if item.start >= document.outline.header_end and measure_tokens(whole) < AUTO_CODE_TOKENS - 8:
                around = [chunk for chunk in chunks if chunk.start <= item.start and item.end <= chunk.end]
                assert around, f"{path.name}: {item.qualified} was cut"


# ------------------------------------------------------------------ what is too large


LONG_FUNCTION = (
    'def work(rows):\n    """Do much."""\n'
    + textwrap.indent(
        "".join(
            f"for row{i} in rows:\n"
            f"    value = compute(\n        row{i},\n        'a string with # and : in it',\n    )\n"
            f"    if value > {i}:\n        rows.append(value)\n"
            f"total{i} = [\n    value\n    for value in rows\n]\n\n"
            for i in range(55)
        ),
        "    ",
    )
    + "    return rows\n"
)


def test_a_long_function_is_cut_between_its_statements() -> None:
    assert LONG_FUNCTION.count("\n") > 600
    document = read(LONG_FUNCTION, "a.py")
    assert document.outline is not None
    chunks = chunks_of(LONG_FUNCTION)
    assert len(chunks) > 10
    starts = {cut: cut - len(_indent_before(LONG_FUNCTION, cut)) for cut in document.outline.cuts}
    for chunk in chunks[1:]:
        assert chunk.start in starts.values(), chunk.text[:60]
        line = chunk.text.split("\n", 1)[0]
        assert re.match(r" {4,}(for|value|if|rows|total|return)", line), line
    for left, right in pairwise(chunks):
        assert left.tokens + right.tokens > AUTO_CODE_TOKENS / 2
    assert {chunk.heading_path for chunk in chunks} == {("work",)}
    assert [len(chunk.code.defines) for chunk in chunks if chunk.code] == [1] + [0] * (len(chunks) - 1)


def _indent_before(text: str, offset: int) -> str:
    line = text.rfind("\n", 0, offset) + 1
    return text[line:offset] if not text[line:offset].strip() else ""


def test_the_closing_brace_of_a_class_is_not_a_chunk_even_after_a_long_method() -> None:
    for count in range(60, 90):
        text = "class Pool {\n\n  void close() {\n" + body("v", count) + "  }\n}\n"
        chunks = chunks_of(text, "A.java")
        assert all(any(map(str.isalnum, chunk.text)) for chunk in chunks), count
        assert chunks[-1].text.endswith("}\n}")


def test_a_long_comment_before_a_declaration_does_not_take_its_name_away() -> None:
    text = (
        "".join(f"# line {i} of a long story about what follows\n" for i in range(80))
        + "def wanted():\n    pass\n"
    )
    chunks = chunks_of(text)
    assert len(chunks) > 1
    assert chunks[-1].code is not None
    assert [item.name for item in chunks[-1].code.defines] == ["wanted"]


def test_declarations_of_one_line_stay_in_it() -> None:
    text = "first = 1; second = 2\n" + lines_of("def third():\n", 60)
    document = read(text, "a.py")
    chunks = chunk_document(document, ChunkOptions(target_tokens=150))
    assert_promises(document, chunks, 150)
    assert chunks[0].text.startswith("first = 1; second = 2")


def test_overlapping_declarations_leave_nothing_out() -> None:
    text = lines_of("def outer():\n", 60) + lines_of("def other():\n", 60)
    middle, end = len(text) // 2, len(text)
    crossing = (  # no grammar gives such; a tree with errors might
        Declaration("outer", "function", (), 0, 0, 13, middle, "def outer()"),
        Declaration("crossing", "function", (), middle // 2, middle // 2, middle, middle + middle // 2, "?"),
        Declaration("other", "function", (), middle, middle, middle + 13, end, "def other()"),
    )
    document = Document(text, "code", "", outline=Outline("python", crossing))
    chunks = chunk_document(document, ChunkOptions(target_tokens=150))
    assert_promises(document, chunks, 150)
    assert text.find("def other") in {chunk.start for chunk in chunks}


def test_caps_bound_the_names_of_one_chunk() -> None:
    names = "".join(f"a{i}=b{i}\n" for i in range(200))
    chunks = chunk_document(read(names, "a.py"))
    assert all(chunk.code and len(chunk.code.defines) <= MAX_DEFINITIONS for chunk in chunks)
    assert all(chunk.code and len(chunk.code.mentions) <= MAX_MENTIONS for chunk in chunks)


def test_other_strategies_cut_code_their_own_way_and_still_know_its_names() -> None:
    document = read(LARGE_CLASS, "a.py")
    chunks = chunk_document(document, ChunkOptions(strategy="recursive", overlap=0.0))
    assert_names_kept(document, chunks)
    assert max(len(chunk.text) for chunk in chunks) <= 1000


def test_prose_with_links_has_mentions_and_nothing_else() -> None:
    document = parse(b"# Guide\n\nSee [the pool](src/pool.py).\n", path="guide.md", limits=LIMITS)
    (chunk,) = chunk_document(document)
    assert chunk.heading_path == ("Guide",)
    assert chunk.code is not None
    assert [(item.name, item.kind) for item in chunk.code.mentions] == [("src/pool.py", "link")]
    assert (chunk.code.defines, chunk.code.symbol, chunk.code.kind, chunk.code.summary) == ((), "", "", "")
    (plain,) = chunk_document(parse(b"# Guide\n\nNo links.\n", path="guide.md", limits=LIMITS))
    assert plain.code is None


def test_many_declarations_take_no_more_than_linear_time() -> None:
    def cost(count: int) -> int:
        document = read("".join(f"def f{i}():\n    return g{i}(1)\n\n\n" for i in range(count)), "a.py")
        return calls(lambda: chunk_document(document))

    assert cost(800) < 5 * cost(200)  # quadratic would be 16 times
