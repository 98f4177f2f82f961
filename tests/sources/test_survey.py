"""Each document's commit and whether it was dirty, over the life of a repository."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from collections.abc import Mapping
from hashlib import sha1, sha256
from pathlib import Path

import pytest
from tests.cost import calls

from outcrop.records import FileState, SourceFile
from outcrop.sources.checkout import Checkouts
from outcrop.sources.folder import walk
from outcrop.sources.revisions import Stamp, Survey, survey_documents

HOUR_NS = 3_600_000_000_000


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def age(top: Path) -> None:
    """All files an hour older, and git told of it: no edit of this test falls into the tick of a commit."""
    for path in top.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            then = path.stat().st_mtime_ns - HOUR_NS
            os.utime(path, ns=(then, then))
    git(top, "update-index", "--refresh", "-q")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "repo"
    (folder / "deep").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name in ("a.md", "b.md", "deep/c.md"):
        (folder / name).write_text(f"text of {name}\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    age(folder)
    return folder


def states_of(root: Path) -> dict[str, FileState]:
    """What a store knows of the files that a walk finds."""
    files = [item for item in walk(root, max_file_bytes=10_000) if isinstance(item, SourceFile)]
    return {
        file.uri: FileState(n, file.mtime_ns, file.size, sha256(Path(file.uri).read_bytes()).hexdigest())
        for n, file in enumerate(files)
    }


def survey(states: Mapping[str, FileState], before: Survey | None = None) -> Survey:
    return survey_documents(
        states, Checkouts(), before or Survey(), taken_at=time.time(), max_file_bytes=10_000
    )


def stamps(top: Path, found: Survey | None = None) -> dict[str, Stamp]:
    states = states_of(top)
    found = found or survey(states)
    return {uri.removeprefix(f"{top}/"): found.stamp(uri, 0.0) for uri in states}


def test_documents_carry_commit_and_branch_and_edits_are_dirty_until_they_are_committed(top: Path) -> None:
    first = git(top, "rev-parse", "HEAD")
    clean = Stamp(first, "main", False)
    assert stamps(top) == {"a.md": clean, "b.md": clean, "deep/c.md": clean}
    (top / "a.md").write_text("edited\n")
    (top / "new.md").write_text("new\n")
    edited = Stamp(first, "main", True)
    assert stamps(top) == {"a.md": edited, "b.md": clean, "new.md": edited, "deep/c.md": clean}
    git(top, "add", ".")
    git(top, "commit", "-qm", "second")
    second = Stamp(git(top, "rev-parse", "HEAD"), "main", False)
    assert stamps(top) == dict.fromkeys(("a.md", "b.md", "new.md", "deep/c.md"), second)
    git(top, "checkout", "-q", "--detach", first)
    assert stamps(top) == dict.fromkeys(("a.md", "b.md", "deep/c.md"), Stamp(first, None, False))


def test_an_edit_that_keeps_size_and_time_is_found_when_it_could_hide(top: Path) -> None:
    status = (top / "a.md").stat()
    (top / "a.md").write_text("TEXT of a.md\n")
    os.utime(top / "a.md", ns=(status.st_mtime_ns, status.st_mtime_ns))
    os.utime(top / ".git/index", ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert stamps(top)["a.md"].dirty is True
    assert stamps(top)["b.md"].dirty is False


def test_each_document_belongs_to_its_innermost_repository(top: Path, tmp_path: Path) -> None:
    git(top, "submodule", "--quiet", "add", str(top), "sub")
    age(top / "sub")
    (top / "sub/b.md").write_text("edited\n")
    (tmp_path / "loose.md").write_text("x")
    inner = Stamp(git(top / "sub", "rev-parse", "HEAD"), "main", False)
    git(top, "commit", "-qm", "with a submodule")
    found = stamps(tmp_path.resolve())
    assert found["loose.md"] == Stamp()
    assert found["repo/a.md"] == Stamp(git(top, "rev-parse", "HEAD"), "main", False)
    assert found["repo/sub/a.md"] == inner
    assert found["repo/sub/b.md"] == Stamp(inner.revision, "main", True)


def test_no_file_is_read_where_its_stat_or_an_earlier_survey_suffices(top: Path) -> None:
    (top / "b.md").write_text("edited\n")
    shutil.copytree(top, top.with_name("copy"), copy_function=shutil.copyfile)  # all files have new times
    copy = top.with_name("copy")
    states = states_of(copy)
    before = survey(states)
    assert {uri.removeprefix(f"{copy}/"): verdict.dirty for uri, verdict in before.verdicts.items()} == {
        "a.md": False,
        "b.md": True,
        "deep/c.md": False,
    }
    for uri in states:
        Path(uri).unlink()
    assert survey(states, before).agrees(before)
    assert survey(states, Survey.from_json(before.to_json())).agrees(before)
    git(copy, "rm", "-q", "--cached", "-f", "a.md")
    after = survey(states, before)
    assert after.stamp(f"{copy}/a.md", 0.0).dirty is True
    assert after.stamp(f"{copy}/b.md", 0.0).dirty is True
    assert not after.agrees(before)


def test_a_document_is_judged_as_stored_even_if_its_file_has_changed_since(top: Path) -> None:
    (top / "a.md").write_text("edited\n")
    states = states_of(top)
    (top / "a.md").write_text("edited again\n")
    (top / "b.md").unlink()
    found = survey(states)
    assert found.stamp(f"{top}/a.md", 0.0).dirty is None
    assert found.stamp(f"{top}/b.md", 0.0).dirty is False, "what was indexed is what the commit holds"
    (top / "a.md").write_text("edited\n")
    assert survey(states, found).stamp(f"{top}/a.md", 0.0).dirty is True, "what is not known is asked again"


def test_a_document_written_after_the_survey_has_no_stamp(top: Path) -> None:
    found = survey(states_of(top))
    assert found.stamp(f"{top}/a.md", found.taken_at).dirty is False
    assert found.stamp(f"{top}/a.md", found.taken_at + 0.001) == Stamp()


def test_where_the_index_cannot_be_read_only_the_commit_is_known(top: Path) -> None:
    git(top, "update-index", "--split-index")
    assert stamps(top)["a.md"] == Stamp(git(top, "rev-parse", "HEAD"), "main", None)


def test_a_survey_round_trips_through_json_and_an_empty_text_is_an_empty_survey(top: Path) -> None:
    (top / "a.md").write_text("edited\n")
    found = survey(states_of(top))
    assert Survey.from_json(found.to_json()) == found
    assert Survey.from_json(None) == Survey.from_json("[0]") == Survey()
    assert Survey().stamp(f"{top}/a.md", 0.0) == Stamp()


def test_ten_thousand_unchanged_files_cost_a_few_calls_each(top: Path) -> None:
    # An index as git writes it (version 2), so that ten thousand files need not be made.
    then = time.time_ns() - HOUR_NS
    names = sorted(f"area{n // 1000}/part{n // 20}/file{n}.md" for n in range(10_000))
    entries = [b"DIRC" + struct.pack(">II", 2, len(names))]
    for name in names:
        stat = struct.pack(">10I", 0, 0, *divmod(then, 10**9), 0, 0, 0o100644, 0, 0, 5)
        entry = stat + bytes(20) + struct.pack(">H", len(name)) + name.encode()
        entries.append(entry + bytes(8 - len(entry) % 8))
    body = b"".join(entries)
    (top / ".git/index").write_bytes(body + sha1(body).digest())
    assert git(top, "ls-files").splitlines() == names
    states = {f"{top}/{name}": FileState(n, then, 5, "") for n, name in enumerate(names)}
    found = survey(states)
    assert len(found.tops) == 1
    assert not found.verdicts
    assert calls(lambda: survey(states)) < 20 * 10_000
