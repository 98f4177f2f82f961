"""What depends on a change, on both stores: from a diff, from two commits, from the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources.repositories import commit, git, make

import outcrop
from outcrop.code.changes import changed_declarations, compare_commits, compare_folder, read_deltas
from outcrop.errors import NotFound, QueryError
from outcrop.records import Dependent, Impact
from outcrop.sources.commits import open_history

# Long enough that every declaration is a chunk of its own.
_BODY = "".join(f"    total += step({number}, 'a step of the work', when='later')\n" for number in range(20))
POOL = (
    '"""Connections."""\n\n\ndef step(number, text, when):\n    """One step."""\n    return number\n\n\n'
    'def acquire(timeout):\n    """Take a connection."""\n    total = 0\n'
    + _BODY
    + "    return total + timeout\n\n\n"
    'def release(connection):\n    """Give it back."""\n    total = 0\n' + _BODY + "    return total\n"
)
FILES = {
    "src/pool.py": POOL,
    "src/client.py": "from pool import acquire\n\n\ndef fetch(url):\n"
    '    """Fetch a page."""\n    connection = acquire(3.0)\n    return connection, url\n',
    "tests/test_pool.py": "from pool import acquire\n\n\ndef test_acquire_waits():\n    assert acquire(1.0)\n",
    "tests/test_client.py": "from client import fetch\n\n\ndef test_fetch_takes_a_connection():\n"
    "    assert fetch('http://x.example')\n",
    "README.md": "# Pool\n\nConnections come from `acquire()` in `src/pool.py`.\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = make(tmp_path / "shop")
    commit(top, "first", dict(FILES))
    return top


@pytest.fixture
def index(repo: Path, tmp_path: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(str(tmp_path / "index.db")) as opened:
        opened.add(repo)
        yield opened


def edit(repo: Path) -> None:
    file = repo / "src/pool.py"
    file.write_text(POOL.replace("    return total + timeout", "    return total + 2 * timeout"))


def dependents(found: Impact, name: str) -> tuple[Dependent, ...]:
    (affected,) = (item for item in found.affected if item.declaration.name == name)
    return affected.dependents


def check_acquire(found: Impact) -> None:
    """The caller, both tests and the page, each with the line that says so."""
    (affected,) = found.affected
    assert (affected.declaration.name, affected.declaration.change) == ("acquire", "changed")
    assert affected.declaration.line == POOL.split("\n").index("def acquire(timeout):") + 1
    told = {
        (item.relation, item.document.path, item.line, item.via): item.evidence for item in affected.dependents
    }
    assert told["caller", "src/client.py", 6, ""] == "connection = acquire(3.0)"
    assert told["test", "tests/test_pool.py", 5, ""] == "assert acquire(1.0)"
    assert told["test", "tests/test_client.py", 5, "fetch"] == "assert fetch('http://x.example')"
    assert told["doc", "README.md", 3, ""].startswith("Connections come from")


def test_the_folder_against_the_last_commit(index: outcrop.Engine, repo: Path) -> None:
    assert index.impact(folder=repo).affected == ()
    edit(repo)
    check_acquire(index.impact(folder=repo))
    git(repo, "add", "-A")  # staged or not is all the same
    check_acquire(index.impact(folder=repo))


def test_two_commits_and_a_diff_say_the_same(index: outcrop.Engine, repo: Path) -> None:
    edit(repo)
    diff = git(repo, "diff") + "\n"
    check_acquire(index.impact(diff=diff, folder=repo))
    commit(repo, "twice the time", {})
    check_acquire(index.impact("HEAD~1..HEAD", folder=repo))
    check_acquire(index.impact("HEAD~1..", folder=repo))
    check_acquire(index.impact("HEAD~1", folder=repo))
    git(repo, "checkout", "-q", "HEAD~1")
    check_acquire(index.impact(diff=diff, folder=repo))  # not applied yet


def test_what_a_branch_changed_leaves_out_what_came_since_it_left(index: outcrop.Engine, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    edit(repo)
    commit(repo, "on the branch", {})
    git(repo, "checkout", "-q", "main")
    commit(repo, "since", {"src/client.py": FILES["src/client.py"].replace("3.0", "4.0")})
    check_acquire(index.impact("main...topic", folder=repo))
    assert index.impact("main..topic", folder=repo).files == ("src/client.py", "src/pool.py")


def test_the_same_on_postgres(repo: Path, tmp_path: Path, postgres_url: str) -> None:
    with outcrop.open(postgres_url, data_dir=tmp_path) as index:
        index.add(repo)
        edit(repo)
        check_acquire(index.impact(folder=repo))


def test_what_was_removed_is_still_named_somewhere(index: outcrop.Engine, repo: Path) -> None:
    file = repo / "src/pool.py"
    before, after = POOL.index("def acquire"), POOL.index("def release")
    file.write_text(POOL[:before] + POOL[after:])
    for synced in (False, True):
        if synced:
            index.sync(repo)
        found = index.impact(folder=repo)
        (affected,) = found.affected
        assert (affected.declaration.name, affected.declaration.change) == ("acquire", "removed")
        assert "src/client.py" in {item.document.path for item in affected.of("caller")}
        assert "tests/test_pool.py" in {item.document.path for item in affected.of("test")}


def test_what_nothing_depends_on_has_no_dependents(index: outcrop.Engine, repo: Path) -> None:
    file = repo / "src/pool.py"
    file.write_text(POOL + "\n\ndef lonely():\n    return 1\n")
    found = index.impact(folder=repo)
    assert [(item.declaration.name, item.declaration.change) for item in found.affected] == [
        ("lonely", "added")
    ]
    assert dependents(found, "lonely") == ()


def test_a_renamed_file_keeps_its_declarations(repo: Path) -> None:
    git(repo, "mv", "src/pool.py", "src/connections.py")
    commit(repo, "renamed", {})
    (delta,) = compare_commits(open_history(repo), "HEAD~1", "HEAD")
    assert (delta.old_path, delta.new_path) == ("src/pool.py", "src/connections.py")
    assert changed_declarations(delta) == []


def test_a_file_that_came_or_went_is_a_change_of_all_it_declares(repo: Path) -> None:
    (repo / "src/client.py").unlink()
    (repo / "src/new.py").write_text("def new():\n    return 1\n")
    git(repo, "add", "-A")
    found = {delta.path: changed_declarations(delta) for delta in compare_folder(open_history(repo), "HEAD")}
    assert {path: [(item.name, item.change) for item in items] for path, items in found.items()} == {
        "src/client.py": [("fetch", "removed")],
        "src/new.py": [("new", "added")],
    }
    diff = git(repo, "diff", "--cached") + "\n"
    git(repo, "reset", "-q", "--hard")
    assert [
        [(item.name, item.change) for item in changed_declarations(delta)] for delta in read_deltas(diff, repo)
    ] == [
        [("fetch", "removed")],
        [("new", "added")],
    ]


def test_a_diff_of_another_version_is_a_remark(index: outcrop.Engine, repo: Path) -> None:
    edit(repo)
    diff = git(repo, "diff") + "\n"
    (repo / "src/pool.py").write_text("something = 'else'\n")
    found = index.impact(diff=diff, folder=repo)
    assert found.files == ("src/pool.py",)
    assert "not what the diff is about" in found.remarks[0]


def test_a_file_that_is_not_indexed_is_a_remark(index: outcrop.Engine, repo: Path) -> None:
    (repo / "src/new.py").write_text("def new():\n    return 1\n")
    git(repo, "add", "-A")
    assert "not in the index" in index.impact(folder=repo).remarks[0]


def test_what_is_no_change_is_told(index: outcrop.Engine, repo: Path) -> None:
    with pytest.raises(QueryError, match="unified diff"):
        index.impact(diff="not a diff", folder=repo)
    with pytest.raises(NotFound, match="no revision"):
        index.impact("nowhere..HEAD", folder=repo)
    assert index.impact(diff="", folder=repo).files == ()


def test_a_diff_cannot_lead_out_of_the_folder(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("key = 1\n")
    diff = "--- a/../secret.py\n+++ b/../secret.py\n@@ -1 +1 @@\n-key = 0\n+key = 1\n"
    (delta,) = read_deltas(diff, repo)
    assert delta.new == ()
    assert delta.remark
