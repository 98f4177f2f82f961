"""Who made a line: what `git blame` and `git log -L` say of real repositories."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.sources.repositories import commit, git, make, open_at

from outcrop.code.origin import trace_lines
from outcrop.errors import NotFound, QueryError
from outcrop.records import LineHistory


def blame(top: Path, path: str, *options: str) -> dict[int, str]:
    """Line → commit, by git."""
    found = {}
    for line in git(top, "blame", "--porcelain", *options, path).split("\n"):
        words = line.split(" ")
        if len(words) >= 3 and len(words[0]) == 40 and words[2].isdecimal():
            found[int(words[2])] = words[0]
    return found


def makers(found: LineHistory) -> dict[int, str]:
    """Line → commit, by us."""
    return {
        line: change.commit.name
        for change in found.changes
        for first, last in change.made
        for line in range(first, last + 1)
    }


def log_lines(top: Path, path: str, first: int, last: int) -> list[str]:
    """The commits that changed a range, by git."""
    return git(top, "log", "-s", "--format=%H", f"-L{first},{last}:{path}").split()


def edit(rng: random.Random, lines: list[str], number: int) -> list[str]:
    """Some lines changed, added and removed; every line occurs once, so there is one right answer."""
    lines = list(lines)
    for step in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines) + 1)
        kind = rng.random()
        if kind < 0.5 and at < len(lines):
            lines[at] = f"changed in {number}.{step} at {at}"
        elif kind < 0.8:
            lines[at:at] = [f"new in {number}.{step}, line {extra}" for extra in range(rng.randrange(1, 4))]
        elif len(lines) > 12:
            del lines[at : at + 2]
    return lines


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is edited, renamed with an edit, moved as it is, and merged from two branches."""
    top = make(tmp_path_factory.mktemp("edited") / "repo")
    rng = random.Random(11)
    lines = [f"line {number} as it was first" for number in range(24)]
    path = "first.txt"
    day = 1
    for number in range(14):
        files: dict[str, str | None] = {}
        if number in (5, 9):
            git(top, "mv", path, path := f"moved/{number}.txt")
            if number == 9:
                lines = edit(rng, lines, number)
        else:
            lines = edit(rng, lines, number)
        files[path] = "\n".join(lines) + "\n"
        (top / "moved").mkdir(exist_ok=True)
        commit(top, f"edit {number}", files, f"2024-01-{day:02}T00:00:00Z")
        day += 1
        if number == 11:
            git(top, "checkout", "-qb", "side")
            side = [*lines[:2], "from the side", *lines[2:]]
            commit(top, "on the side", {path: "\n".join(side) + "\n"}, f"2024-01-{day:02}T00:00:00Z")
            git(top, "checkout", "-q", "main")
            lines = [*lines, "at the end"]
            commit(top, "on main", {path: "\n".join(lines) + "\n"}, f"2024-01-{day + 1:02}T00:00:00Z")
            git(top, "merge", "-q", "--no-ff", "-m", "merged", "side", date=f"2024-01-{day + 2:02}T00:00:00Z")
            lines = [*lines[:2], "from the side", *lines[2:]]
            day += 3
    git(top, "repack", "-adq")
    return top


def test_every_line_was_made_by_the_commit_that_blame_names(edited: Path) -> None:
    count = len((edited / "moved/9.txt").read_text().splitlines())
    found = trace_lines(open_at(edited), "moved/9.txt", 1, count)
    told = blame(edited, "moved/9.txt")
    assert len(set(told.values())) > 8
    assert makers(found) == told
    paths = {change.path for change in found.changes}
    assert paths == {"first.txt", "moved/5.txt", "moved/9.txt"}


def test_commits_that_changed_some_lines_are_those_of_log(edited: Path) -> None:
    for first, last in ((1, 4), (5, 5), (8, 12), (3, 20)):
        found = trace_lines(open_at(edited), "moved/9.txt", first, last)
        told = log_lines(edited, "moved/9.txt", first, last)
        assert {change.commit.name for change in found.changes} == set(told), (first, last)
        assert makers(found) == {
            line: name for line, name in blame(edited, "moved/9.txt").items() if first <= line <= last
        }


@pytest.mark.parametrize("seed", range(6))
def test_random_histories_are_blamed_as_by_git(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    top = make(tmp_path / "repo")
    lines = [f"line {number}" for number in range(20)]
    for number in range(8):
        lines = edit(rng, lines, number)
        commit(top, str(number), {"a.txt": "\n".join(lines) + "\n"}, f"2024-01-{number + 1:02}T00:00:00Z")
    found = trace_lines(open_at(top), "a.txt", 1, len(lines))
    assert makers(found) == blame(top, "a.txt")


def test_lines_that_no_commit_holds_are_told_and_shift_the_others(edited: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(edited), "copy")
    file = tmp_path / "copy/moved/9.txt"
    lines = file.read_text().splitlines()
    lines[3:3] = ["fresh one", "fresh two"]
    file.write_text("\n".join(lines) + "\n")
    found = trace_lines(open_at(tmp_path / "copy"), "moved/9.txt", 1, len(lines))
    assert found.uncommitted == ((4, 5),)
    told = {line: name for line, name in blame(tmp_path / "copy", "moved/9.txt").items() if set(name) != {"0"}}
    assert makers(found) == told


def test_line_ends_that_git_converts_are_no_change(edited: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(edited), "copy")
    file = tmp_path / "copy/moved/9.txt"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert trace_lines(open_at(tmp_path / "copy"), "moved/9.txt", 1, 3).uncommitted == ()


def test_a_shallow_clone_says_that_there_was_more(edited: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{edited}", "shallow")
    top = tmp_path / "shallow"
    found = trace_lines(open_at(top), "moved/9.txt", 1, 10)
    assert makers(found) == {line: name for line, name in blame(top, "moved/9.txt").items() if line <= 10}
    assert "shallow" in found.detail


def test_a_file_that_is_gone_from_the_folder_is_still_known(edited: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(edited), "copy")
    (tmp_path / "copy/moved/9.txt").unlink()
    assert trace_lines(open_at(tmp_path / "copy"), "moved/9.txt", 1, 1).changes


def test_what_is_not_there_is_told(edited: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file"):
        trace_lines(open_at(edited), "nowhere.txt", 1, 1)
    with pytest.raises(NotFound, match="lines"):
        trace_lines(open_at(edited), "moved/9.txt", 100_000, 100_000)
    with pytest.raises(QueryError):
        trace_lines(open_at(edited), "moved/9.txt", 0, 1)
    with pytest.raises(NotFound, match="no commit"):
        trace_lines(open_at(make(tmp_path / "empty")), "a.txt", 1, 1)
