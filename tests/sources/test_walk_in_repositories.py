"""A walk keeps what git keeps: tracked files, worktrees, submodules, repositories in repositories."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from outcrop.records import Skipped, SourceFile
from outcrop.sources.checkout import Checkouts
from outcrop.sources.folder import walk

RULES = (
    *("*.log", "!*.log", "/a", "a/", "a/*", "b", "b/c", "!b/c", "**/c", "c/**", "!c/", "*.m?", "[ab]/x.md"),
    *(
        "# note",
        "!/a/b/",
        "x.*",
        "!x.md",
        "/*/x.log",
        "a/**/c",
        "*",
        "!*/",
        "d e",
        "ä*",
        "B",
        "X.MD",
        "y.*",
        "k",
    ),
)
FOLDERS = ("", "a/", "b/", "a/b/", "a/b/c/", "b/c/", "c/", "c/a/", "d e/", "c/c/b/")
NAMES = ("x.md", "x.log", "k", "ä.md", "Y.md", 'quo"te\\.md')


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]
    env = {"PATH": os.environ["PATH"], "HOME": str(Path.home()), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def make_repo(top: Path, files: dict[str, str]) -> Path:
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "-q", "-b", "main")
    write(top, files)
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first", "--allow-empty")
    return top


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def kept_by_git(folder: Path) -> list[str]:
    """Files that are there and that git tracks or would add, in repositories below as well."""
    out = git(folder, "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    kept = {path for path in out if path and (folder / path).is_file()}
    for inner in {path.rstrip("/") for path in out if path and (folder / path / ".git").exists()}:
        kept |= {f"{inner}/{path}" for path in kept_by_git(folder / inner)}
    return sorted(kept)


def kept_by_walk(folder: Path) -> list[str]:
    found = walk(folder, max_file_bytes=1000, include_secrets=True)
    return sorted(file.path for file in found if isinstance(file, SourceFile))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def grow(top: Path, chance: random.Random, depth: int = 0) -> None:
    """A tree of files, of which some are tracked, with rules in some folders, and repositories inside of it."""
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "-q")
    git(top, "config", "core.ignorecase", chance.choice(("true", "false", "false")))
    for folder in FOLDERS:
        for name in NAMES:
            path = top / folder / name
            if chance.random() < 0.5:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("text")
    here = [folder for folder in FOLDERS if (top / folder).is_dir()]
    tracked = [p for p in top.rglob("*") if p.is_file() and ".git" not in p.parts and chance.random() < 0.4]
    if tracked:
        git(top, "add", "-f", "--", *map(str, tracked))
    if depth == 0:
        grow(top / "c" / "inner", chance, 1)
        if chance.random() < 0.5:
            git(top / "c" / "inner", "commit", "-qm", "x", "--allow-empty")
            git(top, "add", "-f", "c/inner")
    for folder in chance.sample(here, min(3, len(here))):
        write(top, {f"{folder}.gitignore": "\n".join(chance.choices(RULES, k=chance.randint(1, 5)))})
    write(top, {".git/info/exclude": "\n".join(chance.choices(RULES, k=chance.randint(0, 2)))})


@pytest.mark.parametrize("seed", range(40))
def test_a_walk_of_any_tree_keeps_what_git_keeps(tmp_path: Path, home: Path, seed: int) -> None:
    chance = random.Random(seed)
    write(home, {".config/git/ignore": chance.choice(RULES)})
    grow(tmp_path / "repo", chance)
    kept = kept_by_git(tmp_path / "repo")
    assert kept_by_walk(tmp_path / "repo") == kept
    inside = chance.choice([folder for folder in ("a", "b", "c") if (tmp_path / "repo" / folder).is_dir()])
    below = [path.removeprefix(f"{inside}/") for path in kept if path.startswith(f"{inside}/")]
    if below:  # what was named is walked even if git ignores it
        assert set(kept_by_walk(tmp_path / "repo" / inside)) >= set(below)


def test_a_tracked_file_is_kept_whatever_rule_matches_it_and_the_folder_gets_one_line(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"build/deep/er/kept.md": "x", "note.log": "x", "a.md": "x"})
    write(
        top, {".gitignore": "build/\n*.log\n", "build/new.md": "x", "build/deep/new.md": "x", "other.log": "x"}
    )
    write(top, {"build/later/new.md": "x", "build/deep/.gitignore": "er/\n"})
    assert kept_by_walk(top) == kept_by_git(top) == [".gitignore", "a.md", "build/deep/er/kept.md", "note.log"]
    assert [item for item in walk(top, max_file_bytes=1000) if isinstance(item, Skipped)] == [
        Skipped("other.log", "ignored by .gitignore, line 2: *.log"),
        Skipped("build/", "ignored by .gitignore, line 1: build/ (what git tracks in it is kept)"),
    ]


def test_our_own_ignore_file_leaves_out_what_git_tracks(tmp_path: Path) -> None:
    top = make_repo(
        tmp_path / "repo", {"build/kept.md": "x", "build/b.log": "x", "c.log": "x", "gen/x.md": "x"}
    )
    write(top, {".gitignore": "build/\n*.log\n", ".outcropignore": "*.log\n/gen/\n"})
    assert kept_by_walk(top) == [".gitignore", ".outcropignore", "build/kept.md"]


def test_where_the_index_cannot_be_read_the_rules_alone_decide(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.log": "x", "b.md": "x"})
    write(top, {".gitignore": "*.log\n"})
    assert "a.log" in kept_by_walk(top)
    (top / ".git/index").write_bytes(b"DIRC, damaged")
    assert kept_by_walk(top) == [".gitignore", "b.md"]


def test_a_worktree_has_its_own_index_and_the_exclusions_of_the_repository(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.md": "x", "b.log": "x"})
    git(top, "worktree", "add", "-qb", "side", str(tmp_path / "tree"))
    write(top, {".git/info/exclude": "*.log\n/private/\n"})
    write(tmp_path / "tree", {"c.log": "x", "private/d.md": "x", "e.md": "x"})
    assert kept_by_walk(tmp_path / "tree") == kept_by_git(tmp_path / "tree") == ["a.md", "b.log", "e.md"]


@pytest.mark.parametrize("ignored", ["", "vendor/\n", "*\n"])
def test_a_submodule_follows_its_own_rules_and_not_those_around_it(tmp_path: Path, ignored: str) -> None:
    library = make_repo(tmp_path / "library", {".gitignore": "*.tmp\n", "lib.md": "x"})
    top = make_repo(tmp_path / "repo", {"a.md": "x", ".gitignore": "*.log\n"})
    git(top, "submodule", "--quiet", "add", "-f", str(library), "vendor/lib")
    write(top, {".gitignore": f"*.log\n{ignored}", ".outcropignore": "secret.md\n"})
    write(top, {".git/modules/vendor/lib/info/exclude": "local.md\n", "vendor/y.log": "x"})
    write(
        top / "vendor/lib",
        {"x.log": "x", "x.tmp": "x", "local.md": "x", "deep/x.log": "x", "secret.md": "x"},
    )
    kept = kept_by_walk(top)
    assert kept == [path for path in kept_by_git(top) if not path.endswith("secret.md")]
    assert [path for path in kept if path.startswith("vendor/")] == [
        *("vendor/lib/.git", "vendor/lib/.gitignore", "vendor/lib/deep/x.log"),
        *("vendor/lib/lib.md", "vendor/lib/x.log"),
    ][1:]


def test_a_clone_inside_a_repository_is_left_out_only_when_a_rule_names_it(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.md": "x", ".gitignore": "*.log\n/hidden/\n"})
    for name in ("clone", "hidden"):
        make_repo(top / name, {"b.md": "x", "c.log": "x"})
    assert kept_by_walk(top) == kept_by_git(top) == [".gitignore", "a.md", "clone/b.md", "clone/c.log"]


def test_a_folder_with_an_empty_dot_git_is_not_a_repository(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {".gitignore": "*.log\n"})
    write(top, {"sub/a.md": "x", "sub/b.log": "x"})
    (top / "sub/.git").mkdir()
    assert kept_by_walk(top) == [".gitignore", "sub/a.md"]


def test_settings_and_ignore_files_of_the_user_may_be_links(tmp_path: Path, home: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.md": "x"})
    write(home, {"dotfiles/gitconfig": "[core]\n\texcludesFile = ~/ignore\n", "dotfiles/ignore": "*.log\n"})
    (home / ".gitconfig").symlink_to("dotfiles/gitconfig")
    (home / "ignore").symlink_to("dotfiles/ignore")
    write(tmp_path, {"exclude": "*.tmp\n"})
    (top / ".git/info/exclude").unlink()
    (top / ".git/info/exclude").symlink_to(tmp_path / "exclude")
    write(top, {"b.log": "x", "c.tmp": "x", "d.md": "x"})
    assert kept_by_walk(top) == kept_by_git(top) == ["a.md", "d.md"]


def test_the_case_of_letters_beyond_ascii_counts_even_where_case_does_not(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {})
    git(top, "config", "core.ignorecase", "true")
    write(top, {".gitignore": "ÄRGER.*\nPLAIN.*\n", "ärger.md": "x", "Ärger.md": "x", "plain.md": "x"})
    assert kept_by_walk(top) == kept_by_git(top)
    assert "ärger.md" in kept_by_walk(top)


def test_the_repositories_that_a_walk_read_are_not_read_again(tmp_path: Path) -> None:
    top = make_repo(tmp_path.resolve() / "repo", {"a/b.md": "x"})
    checkouts = Checkouts()
    assert len(list(walk(top, max_file_bytes=1000, checkouts=checkouts))) == 1
    read = checkouts.holding(str(top))
    (top / ".git/index").unlink()
    assert checkouts.holding(str(top / "a")) is read
