"""Ignore rules, held against real git."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below

from outcrop.records import Failure, Skipped, SourceFile
from outcrop.sources.folder import walk
from outcrop.sources.ignore import MAX_PATTERNS, compile_rules

TREE = (
    *("a", "b", "ab", "abc.txt", "b.log", "a b", "x]", "-", "!n", "#n", "n ", "t\t", "back\\slash", "A", "1"),
    *("d/a", "d/b.log", "d/e/a", "d/e/abc.txt", "d/e/f/a", "d/e/f/b.log", "e/a", "e/f/abc.txt", "abcd/e/a"),
    *("abd/a", "x[y]/a", "d*/a", "d/ab/b/a"),
)


def make_tree(top: Path) -> None:
    for name in TREE:
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text")


def git_env(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def git(top: Path, *arguments: str) -> str:
    # The same home as this process has, so that git and the walk read the same files.
    done = subprocess.run(
        ["git", *arguments], cwd=top, env=git_env(Path.home()), capture_output=True, text=True, check=True
    )
    return done.stdout


def kept_by_git(folder: Path) -> list[str]:
    out = git(folder, "ls-files", "-co", "--exclude-standard", "-z")
    return sorted(path for path in out.split("\0") if path)


def kept_by_walk(folder: Path) -> list[str]:
    found = walk(folder, max_file_bytes=1000, include_secrets=True)
    return sorted(file.path for file in found if isinstance(file, SourceFile))


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q")
    make_tree(top)
    return top


@pytest.fixture(scope="module")
def shared_repo() -> Iterator[Path]:
    top = Path(tempfile.mkdtemp()).resolve()
    git(top, "init", "-q")
    make_tree(top)
    yield top
    shutil.rmtree(top)


PIECES = st.sampled_from(
    "a b c d e f A D abc ABC .log .txt * ** ? / / \\ [ ] [ab] [!a] [^b-d] [A-C] [!D] [[:upper:]] [[:lower:]] "
    "[^[:upper:]] [a- []x] [\\]] [[:alpha:]] [[:nope:]] [: - ! # { + "
    "**/ /** */ d/ [z-a] [a-c 1 SPACE \\SPACE TAB CR".split()
).map(lambda piece: piece.replace("SPACE", " ").replace("TAB", "\t").replace("CR", "\r"))
LINES = st.builds(
    lambda sign, pieces: sign + "".join(pieces),
    st.sampled_from(["", "", "", "!", "/"]),
    st.lists(PIECES, min_size=1, max_size=5),
)
FILES = st.lists(LINES, min_size=1, max_size=6).map("\n".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top_rules=FILES, inner_rules=FILES, ignore_case=st.booleans())
def test_whatever_the_rules_the_walk_keeps_what_git_keeps(
    shared_repo: Path, top_rules: str, inner_rules: str, ignore_case: bool
) -> None:
    case = str(ignore_case).lower()
    (shared_repo / ".git/config").write_text(f"[core]\n\trepositoryformatversion = 0\n\tignorecase = {case}\n")
    (shared_repo / ".gitignore").write_bytes(top_rules.encode())
    (shared_repo / "d" / ".gitignore").write_bytes(inner_rules.encode())
    assert kept_by_walk(shared_repo) == kept_by_git(shared_repo)


@pytest.mark.parametrize(
    "rules",
    [
        "*.log\n!d/b.log\n",
        "d/\n!d/a\n",
        "d/*\n!d/e/\nd/e/*\n!d/e/abc.txt\n",
        "/a\n",
        "e/f\n",
        "**/f/\n",
        "d/**/a\n",
        "d/**\n!d/**/\n!d/**/*.log\n",
        "abc**/a\n",
        "[[:digit:]]\n[x]]\n",
        "\\!n\n\\#n\nn\\ \n",
        "# all\n\n*\n!*/\n!*.txt\n",
        "\ufeffa\r\nb.log\r\n",
        "x\\[y]/\nd\\*/\n",
        "back\\\\slash\n[z-a]\na\\\n",
    ],
)
def test_rules_that_people_write_mean_what_git_says(repo: Path, rules: str) -> None:
    (repo / ".gitignore").write_bytes(rules.encode())
    assert kept_by_walk(repo) == kept_by_git(repo)
    assert kept_by_walk(repo) != kept_by_git(repo / "e"), "the comparison looks at the whole tree"


def test_rules_above_a_sub_folder_apply_to_it(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n/d/e/f/a\n")
    (repo / "d" / ".gitignore").write_text("abc.txt\n")
    assert kept_by_walk(repo / "d" / "e") == kept_by_git(repo / "d" / "e") == ["a"]


def test_the_repository_and_the_user_have_their_own_ignore_files(repo: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_text("/d/e/a\n")
    (Path.home() / ".gitconfig").write_text('[user]\n\tname = x\n[core]\n\texcludesFile = "~/mine" ; my own\n')
    (Path.home() / "mine").write_text("*.log\nabd/\n")
    kept = kept_by_walk(repo)
    assert kept == kept_by_git(repo)
    assert not {"d/e/a", "b.log", "abd/a"} & set(kept)


def test_the_users_ignore_file_has_a_default_place(repo: Path) -> None:
    (Path.home() / ".config" / "git").mkdir(parents=True)
    (Path.home() / ".config" / "git" / "ignore").write_text("*.txt\n")
    assert kept_by_walk(repo) == kept_by_git(repo)
    assert "abc.txt" not in kept_by_walk(repo)


def test_ignore_rules_follow_the_repositorys_ignorecase_setting(repo: Path) -> None:
    git(repo, "config", "core.ignorecase", "true")
    (repo / ".gitignore").write_text("ABC.*\na\nD/E\n")
    assert kept_by_walk(repo) == kept_by_git(repo)


def test_gitignore_counts_outside_a_repository_and_outcropignore_wins(tmp_path: Path) -> None:
    make_tree(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n*.txt\n")
    (tmp_path / ".outcropignore").write_text("!*.txt\ne/\n")
    kept = kept_by_walk(tmp_path)
    assert "abc.txt" in kept
    assert "b.log" not in kept
    assert not [path for path in kept if path.startswith("e/")]


def test_the_report_names_the_rule_that_ignored_a_file_and_one_line_stands_for_a_folder(tmp_path: Path) -> None:
    make_tree(tmp_path)
    (tmp_path / "d" / ".gitignore").write_text("# ours\ne/\n*.log\n")
    skipped = [found for found in walk(tmp_path, max_file_bytes=1000) if isinstance(found, Skipped)]
    assert Skipped("d/e/", "ignored by d/.gitignore, line 2: e/") in skipped
    assert Skipped("d/b.log", "ignored by d/.gitignore, line 3: *.log") in skipped
    assert not [line for line in skipped if line.path.startswith("d/e/") and line.path != "d/e/"]


def test_a_pattern_crafted_to_be_slow_is_matched_in_linear_time() -> None:
    hostile = "*a" * 40 + "*b\n" + "**/a/" * 12 + "b\n" + "x/" + "*a*/" * 10 + "b\n"
    rules = compile_rules(hostile.encode())
    assert rules is not None
    with cpu_below(0.5):
        assert rules.last_match("a/" * 200, "a" * 250, False) is None
        assert rules.last_match("x/" + "aaaaaaaa/" * 10, "a" * 250, True) is None


@pytest.mark.parametrize("ignore_case", [False, True])
def test_any_number_of_plain_names_and_paths_is_fast(ignore_case: bool) -> None:
    lines = "".join(f"/vendor/Part{n}.js\nName{n}\nonly/folder{n}/\n" for n in range(20_000))
    rules = compile_rules(lines.encode(), ignore_case)
    assert rules is not None
    assert rules.paths == rules.names == (None, None)
    assert rules.last_match("vendor/", "Part19999.js", False) is not None
    assert (rules.last_match("vendor/", "part19999.JS", False) is not None) == ignore_case
    assert (rules.last_match("deep/", "nAME7", True) is not None) == ignore_case
    assert rules.last_match("only/", "folder3", True) is not None
    assert rules.last_match("only/", "folder3", False) is None
    assert rules.last_match("other/only/", "folder3", True) is None


def test_an_ignore_file_of_too_many_patterns_fails_its_folder_and_nothing_else(tmp_path: Path) -> None:
    """Each pattern is compared with each name: 50 000 of them took seconds for every file."""
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# A\n")
    (tmp_path / "good" / ".outcropignore").write_text("".join(f"*a{n}b*\n" for n in range(MAX_PATTERNS)))
    (tmp_path / "bad" / ".outcropignore").write_text("".join(f"*a{n}b*\n" for n in range(MAX_PATTERNS + 1)))
    found = list(walk(tmp_path, max_file_bytes=1000))
    assert [item.path for item in found if isinstance(item, SourceFile)] == ["good/a.md"]
    (failure,) = [item for item in found if isinstance(item, Failure)]
    assert failure.path == "bad/"
    assert "more than 2,000 patterns" in failure.reason
