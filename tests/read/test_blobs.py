"""grep in a branch that is not checked out: ripgrep's own lines, out of the object store."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.repositories import commit, git, make

from outcrop import open as open_index
from outcrop.engine import Engine
from outcrop.errors import Cancelled, NotFound
from outcrop.read import blobs
from outcrop.read.ripgrep import find_ripgrep
from outcrop.records import DocumentInfo, Filter, GrepOptions
from outcrop.serve.cli.app import cli
from outcrop.system.limits import wanted_while

KEY = "AKIA" + "IOSFODNN7QWXZRTP"
FILES: dict[str, str | None] = {
    "src/drone.py": 'def launch():\n    """Launches a delivery drone."""\n    return "Drone"\n',
    "src/deep/kelvin.md": "# Units\n\nK is the Kelvin sign: \u212a.\nNaïve café, DRONE.\n",
    "wide.txt": None,
    "windows.txt": "a drone\r\nand another\r\n",
    "secret.py": f'KEY = "{KEY}"\n',
    "no_end.txt": "the last line has no end: drone",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`project` is on main, `side` on feature/x, which is in the index as a branch alone."""
    root = tmp_path_factory.mktemp("grep")
    top = make(root / "project")
    commit(top, "start", {"README.md": "# Parcels\n\nNo flying things.\n", "src/part.py": "weight = 1\n"})
    git(top, "checkout", "-qb", "feature/x")
    (top / "wide.txt").write_bytes("a wide drone\n".encode("utf-16"))
    commit(top, "drones", {name: text for name, text in FILES.items() if text is not None})
    git(top, "gc", "-q")  # everything is in a pack
    commit(top, "one more, loose", {"loose.txt": "a loose drone\n"})
    git(top, "checkout", "-q", "main")
    git(top, "worktree", "add", "-q", str(root / "side"), "feature/x")
    with open_index(root / "index.db") as index:
        assert not index.add(top, branches=["main", "feature/*"]).failed
    return root


@pytest.fixture
def index(places: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.chdir(places)
    return open_index(places / "index.db")


def lines_of(
    index: Engine, pattern: str, options: GrepOptions, *, masked: bool = False
) -> set[tuple[str, int, str]]:
    found = index.grep(pattern, options, masked=masked)
    lines = {(file.document.path, line.number, line.text) for file in found for line in file.lines}
    assert found.problems == []
    return lines


def ripgrep(folder: Path, pattern: str, *flags: str) -> set[tuple[str, int, str]]:
    command = [find_ripgrep(), "--no-config", "--json", "-uu", "-g", "!.git", *flags, "-e", pattern]
    out = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    found = [json.loads(row) for row in out.splitlines()]
    return {
        (
            row["data"]["path"]["text"],
            row["data"]["line_number"],
            row["data"]["lines"]["text"].removesuffix("\n"),
        )
        for row in found
        if row["type"] == "match"
    }


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        ["drone", "DRONE", "k", "K", "\u212a", "café", "l.st", "wide|loose", "^a", "e$", ".", "n+d", "zebra"]
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_lines_are_those_of_ripgrep_in_a_checkout_of_the_branch(
    places: Path, index: Engine, pattern: str, literal: bool, ignore_case: bool, whole_words: bool
) -> None:
    given = {"-F": literal, "-i": ignore_case, "-w": whole_words}
    theirs = ripgrep(places / "side", pattern, *(flag for flag, on in given.items() if on))
    options = GrepOptions(
        literal=literal, ignore_case=ignore_case, whole_words=whole_words, where=Filter(ref="feature/x")
    )
    assert lines_of(index, pattern, options) == theirs


def test_small_batches_give_the_same_lines_in_the_same_order(
    index: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = GrepOptions(where=Filter(ref="feature/x"), before=1)
    whole = list(index.grep("drone", options))
    assert [file.document.path for file in whole] == sorted(file.document.path for file in whole)
    assert {file.ref for file in whole} == {"feature/x"}
    for name, value in (("BATCH_FILES", 1), ("BATCH_BYTES", 1)):
        monkeypatch.setattr(blobs, name, value)
        assert list(index.grep("drone", options)) == whole


def test_where_is_narrowed_as_in_folders(index: Engine, places: Path) -> None:
    ref = Filter(ref="feature/x")
    below = GrepOptions(where=ref, below=(str(places / "project/src"),))
    assert {path for path, _, _ in lines_of(index, "(?i)drone", below)} == {
        "src/drone.py",
        "src/deep/kelvin.md",
    }
    without = GrepOptions(where=ref, without=("src/**",))
    assert "src/drone.py" not in {path for path, _, _ in lines_of(index, "drone", without)}
    globbed = GrepOptions(where=Filter(ref="feature/x", paths=("*.md",)))
    assert {path for path, _, _ in lines_of(index, "(?i)drone", globbed)} == {"src/deep/kelvin.md"}
    assert lines_of(index, "drone", GrepOptions(where=Filter(ref="main"))) == set()
    assert lines_of(index, "drone", GrepOptions()) == set()  # the checkout, which is on main
    with pytest.raises(NotFound, match="there is no ref 'nope'"):
        index.grep("drone", GrepOptions(where=Filter(ref="nope")))


def test_secrets_are_masked_unless_told_otherwise(index: Engine) -> None:
    options = GrepOptions(where=Filter(ref="feature/x"))
    assert {text for _, _, text in lines_of(index, "KEY", options)} == {f'KEY = "{KEY}"'}
    assert {text for _, _, text in lines_of(index, "KEY", options, masked=True)} == {
        f'KEY = "AKIA{"*" * (len(KEY) - 4)}"'
    }
    assert lines_of(index, KEY[4:], options, masked=True) == set()


def test_a_broken_object_is_a_line_among_the_problems(index: Engine, places: Path) -> None:
    blob = git(places / "project", "rev-parse", "feature/x:loose.txt")
    file = places / "project/.git/objects" / blob[:2] / blob[2:]
    whole = file.read_bytes()
    file.chmod(0o600)
    for broken in (b"", whole[:9]):
        file.write_bytes(broken)
        found = index.grep("drone", GrepOptions(where=Filter(ref="feature/x")))
        assert "loose.txt" not in {file.document.path for file in found}
        (problem,) = found.problems
        assert problem.startswith("feature/x:loose.txt: ")
    file.write_bytes(whole)
    moved = (places / "project").rename(places / "away")
    found = index.grep("drone", GrepOptions(where=Filter(ref="feature/x")))
    assert list(found) == []
    assert "not there any more" in found.problems[0]
    moved.rename(places / "project")


def test_nobody_waits_for_a_search_that_was_called_off(index: Engine) -> None:
    def leave() -> None:
        raise Cancelled("the client has left")

    found = index.grep("drone", GrepOptions(where=Filter(ref="feature/x")))
    with pytest.raises(Cancelled), wanted_while(leave):
        list(found)


def test_the_command_prints_as_git_grep_does(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places / "project")
    base = ["--db", str(places / "index.db"), "grep"]
    done = CliRunner().invoke(cli, [*base, "-n", "--ref", "feature/x", "delivery|loose"])
    assert done.stdout == git(places / "project", "grep", "-nE", "delivery|loose", "feature/x") + "\n"
    assert CliRunner().invoke(cli, [*base, "--ref", "feature/x", "zebra"]).exit_code == 1
    names = CliRunner().invoke(cli, [*base, "-l", "--rank", "--ref", "feature/x", "drone"]).stdout.splitlines()
    assert set(names) == {
        f"feature/x:{path}" for path in ("loose.txt", "no_end.txt", "src/drone.py", "wide.txt", "windows.txt")
    }
    inside = CliRunner().invoke(cli, [*base, "-l", "--ref", "feature/x", "drone", "src"]).stdout
    assert inside == "feature/x:src/drone.py\n"


def test_after_a_switch_the_files_of_the_checkout_are_read(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(places / "side", "checkout", "-q", "--detach")
    git(places / "project", "checkout", "-q", "feature/x")
    monkeypatch.chdir(places / "project")
    with open_index(places / "index.db") as index:
        files = {file.document.uri for file in index.grep("delivery")}
        assert files == {str(places / "project/src/drone.py")}
        (hit, *_) = index.search("delivery drone", paths=["src/drone.py"]).hits
        assert (hit.document.uri, hit.stale) == (str(places / "project/src/drone.py"), False)
        (place,) = (
            hit.document.uri for hit in index.search("delivery", ref="feature/x", paths=["src/drone.py"]).hits
        )
        assert place.startswith("blob:")
    git(places / "project", "checkout", "-q", "main")


def test_matching_files_of_a_checkout_are_not_looked_up_one_by_one(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_index(places / "index.db") as index:
        asked: list[Filter] = []
        documents = index._store.documents

        def count(where: Filter = Filter(), *given: int | None) -> list[DocumentInfo]:  # noqa: B008
            asked.append(where)
            return documents(where, *given)  # type: ignore[arg-type]

        monkeypatch.setattr(index._store, "documents", count)
        monkeypatch.chdir(places / "project")
        found = [file.document.path for file in index.grep("e", masked=False)]
        assert len(found) >= 2
        assert len(asked) == 1
