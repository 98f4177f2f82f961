"""What a declaration has to do with: callers, callees, tests and documents, through the front door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.errors import NotFound
from outcrop.records import Related, Relation

LONG = (
    "        # a line that says little, but makes the method long enough to be a chunk of its own here\n" * 12
)

FILES = {
    "acme/pool.py": "from acme.lease import make_lease\n\n\nclass ConnectionPool:\n    def acquire(self):\n"
    "        return make_lease(self)\n",
    "acme/lease.py": "def make_lease(pool):\n    return Lease(pool)\n\n\ndef drop_lease(lease):\n    return None\n\n\n"
    "class Lease:\n    pass\n",
    "acme/service.py": "from acme.pool import ConnectionPool\n\n\ndef serve():\n    pool = ConnectionPool()\n"
    "    return pool.acquire()\n",
    "acme/cleaner.py": "from acme.lease import drop_lease\n\n\ndef clean(lease):\n    drop_lease(lease)\n",
    "acme/big.py": f"class Big:\n    def one_part(self):\n{LONG}        return 1\n\n    def two_part(self):\n{LONG}"
    "        return 2\n",
    "acme/uses_big.py": "from acme.big import Big\n\n\ndef first():\n    return Big.one_part(1)\n",
    "acme/uses_two.py": "from acme.big import Big\n\n\ndef second():\n    return Big.two_part(1)\n",
    "tests/test_pool.py": "from acme.pool import ConnectionPool\n\n\ndef test_it_acquires():\n"
    "    assert ConnectionPool().acquire()\n",
    "docs/pool.md": "# Pools\n\nCall `ConnectionPool.acquire()` to get a lease.\n",
    "one/util.py": "def first_util():\n    return 1\n",
    "two/util.py": "def second_util():\n    return 2\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    folder = tmp_path_factory.mktemp("code")
    for name, text in FILES.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with outcrop.open(folder / "index.db") as engine:
        engine.add(folder / "repo")
        yield engine


def paths(related: Related, relation: Relation) -> set[str]:
    return {item.chunk.document.path for item in related.of(relation)}


def test_a_method_has_callers_callees_tests_and_documents(kb: outcrop.Engine) -> None:
    related = kb.related("ConnectionPool.acquire")
    assert {chunk.document.path for chunk in related.target} == {"acme/pool.py"}
    assert paths(related, "caller") == {"acme/service.py"}
    assert paths(related, "callee") == {"acme/lease.py"}
    assert paths(related, "test") == {"tests/test_pool.py"}
    assert paths(related, "doc") == {"docs/pool.md"}


@pytest.mark.parametrize(
    "name", ["connectionpool::acquire", "ConnectionPool#acquire()", "pool.acquire", "acquire"]
)
def test_a_name_is_understood_however_it_is_written(kb: outcrop.Engine, name: str) -> None:
    assert paths(kb.related(name), "test") == {"tests/test_pool.py"}


def test_callers_of_a_neighbour_in_the_same_chunk_are_not_its_callers(kb: outcrop.Engine) -> None:
    assert len(kb.chunks("acme/lease.py")) == 1
    assert paths(kb.related("make_lease"), "caller") == {"acme/pool.py"}
    assert paths(kb.related("drop_lease"), "caller") == {"acme/cleaner.py"}


def test_a_place_is_asked_about_by_its_line(kb: outcrop.Engine) -> None:
    related = kb.related("acme/cleaner.py:5")
    assert paths(related, "callee") == {"acme/lease.py"}
    assert paths(kb.related("acme/lease.py:1"), "caller") == {"acme/pool.py", "acme/cleaner.py"}


def test_a_blank_line_between_two_chunks_means_the_nearest_of_them(kb: outcrop.Engine) -> None:
    chunks = kb.chunks("acme/cleaner.py")
    assert [(chunk.line_start, chunk.line_end) for chunk in chunks] == [(1, 1), (4, 5)]
    assert [chunk.id for chunk in kb.related("acme/cleaner.py:2").target] == [chunks[0].id]
    assert [chunk.id for chunk in kb.related("acme/cleaner.py:99").target] == [chunks[1].id]


def test_a_line_that_no_file_has_means_the_end_however_large_its_number(kb: outcrop.Engine) -> None:
    last = kb.chunks("acme/big.py")[-1]
    for line in ("999", "9" * 5000):  # more digits than Python reads into a number
        assert kb.related(f"acme/big.py:{line}").target == (last,)
        assert kb.related(f"acme/big.py:1-{line}").target == tuple(kb.chunks("acme/big.py"))


def test_a_class_of_several_chunks_has_the_callers_of_all_its_parts(kb: outcrop.Engine) -> None:
    related = kb.related("Big")
    assert len(related.target) >= 2
    assert paths(related, "caller") == {"acme/uses_big.py", "acme/uses_two.py"}
    one = [item for item in kb.related("Big.one_part").of("caller") if "def " in item.chunk.text]
    assert {item.chunk.document.path for item in one} == {"acme/uses_big.py"}


def test_relatives_are_limited_and_the_strongest_stand_first(kb: outcrop.Engine) -> None:
    weights = [item.weight for item in kb.related("Big").of("caller")]
    assert weights == sorted(weights, reverse=True)
    assert len(kb.related("Big", limit=1).of("caller")) == 1


def test_a_file_is_asked_about_by_its_path(kb: outcrop.Engine) -> None:
    assert paths(kb.related("acme/lease.py"), "caller") == {"acme/pool.py", "acme/cleaner.py"}


def test_what_there_is_not_is_told_with_what_to_do(kb: outcrop.Engine) -> None:
    with pytest.raises(NotFound, match="FILE:LINE"):
        kb.related("NoSuchThing")
    with pytest.raises(NotFound, match="no document"):
        kb.related("nowhere.py:3")


def test_a_file_name_that_several_have_is_told_with_the_choices(kb: outcrop.Engine) -> None:
    for target in ("util.py", "util.py:1"):
        with pytest.raises(NotFound, match=r"not unique.*one/util\.py.*two/util\.py"):
            kb.related(target)
    number = kb.get("two/util.py").id
    assert {chunk.document.path for chunk in kb.related(f"{number}:1").target} == {"two/util.py"}


def test_only_the_collection_that_is_named_is_looked_in(kb: outcrop.Engine, tmp_path: Path) -> None:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "lease.py").write_text("def make_lease(x):\n    return x\n")
    kb.add(tmp_path / "extra")
    try:
        assert {c.document.collection for c in kb.related("make_lease", collection="extra").target} == {"extra"}
        assert {c.document.collection for c in kb.related("make_lease").target} == {"extra", "repo"}
    finally:
        kb.delete(kb.get("lease.py", collection="extra").id)


def test_a_name_in_its_own_spelling_is_not_mixed_with_others_of_the_same_letters(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.py").write_text("class Adapter:\n    def run(self):\n        return 1\n", "utf-8")
    (source / "b.py").write_text("def adapter():\n    return 2\n", "utf-8")
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.add(source)
        assert [chunk.document.path for chunk in kb.related("Adapter").target] == ["a.py"]
        assert [chunk.document.path for chunk in kb.related("ADAPTER").target] == ["a.py", "b.py"]


def test_a_file_at_the_top_is_meant_before_its_namesakes_below(tmp_path: Path) -> None:
    source = tmp_path / "src"
    for folder in ("", "below", "other"):
        (source / folder).mkdir(exist_ok=True)
        (source / folder / "README.md").write_text(f"# {folder or 'top'}\n\nText of it.\n", "utf-8")
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.add(source)
        assert kb.get("README.md").title == "top"
