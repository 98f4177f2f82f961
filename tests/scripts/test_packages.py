"""The files for Homebrew and Arch name the archive that was built, and can be read by what reads them."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tree_sitter
import tree_sitter_ruby
from scripts.archives import read_project
from scripts.build import ROOT
from scripts.packages import HOMEPAGE, main, read_release, write_packages

VERSION = str(read_project(ROOT)["version"])


@pytest.fixture(scope="module")
def made(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive as it was built, and what was made beside it."""
    folder = tmp_path_factory.mktemp("release")
    shutil.copy(archives[1], folder)
    write_packages(folder / archives[1].name)
    return folder


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / f"outcrop-{VERSION}.tar.gz").read_bytes()).hexdigest()


def test_nothing_is_left_to_fill_in(made: Path) -> None:
    files = ["PKGBUILD", "SRCINFO", "outcrop.rb"]
    assert sorted(path.name for path in made.iterdir()) == [*files[:2], f"outcrop-{VERSION}.tar.gz", files[2]]
    for name in files:
        text = (made / name).read_text("utf-8")
        assert not re.search(r"@[A-Z0-9]+@", text)
        assert digest(made) in text
        assert f"/outcrop-{VERSION}.tar.gz" in text
        assert HOMEPAGE in text


def test_the_formula_is_ruby(made: Path) -> None:
    source = (made / "outcrop.rb").read_bytes()
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_ruby.language()))
    root = parser.parse(source).root_node
    assert not root.has_error
    assert parser.parse(source.replace(b"def install", b"def (")).root_node.has_error
    assert b"class Outcrop < Formula" in source


def test_bash_reads_the_build_file_and_what_it_says(made: Path) -> None:
    subprocess.run(["bash", "-n", "PKGBUILD"], cwd=made, check=True)
    shown = "echo $pkgname $pkgver; echo ${source[0]}; echo ${sha256sums[0]}; declare -F package; echo $pkgdesc"
    done = subprocess.run(
        ["bash", "-euc", f"source ./PKGBUILD; {shown}"], cwd=made, capture_output=True, text=True, check=True
    )
    name, source, checksum, function, summary = done.stdout.splitlines()
    assert (name, checksum, function) == (f"outcrop {VERSION}", digest(made), "package")
    info = (made / "SRCINFO").read_text("utf-8")
    for line in (
        f"pkgver = {VERSION}",
        f"source = {source}",
        f"sha256sums = {checksum}",
        f"pkgdesc = {summary}",
    ):
        assert f"\t{line}\n" in info


def test_what_both_install_with_is_in_the_archive(made: Path, archives: tuple[Path, Path]) -> None:
    facts = read_release(archives[1])
    assert facts["VERSION"] == VERSION
    listed = subprocess.run(["tar", "tzf", str(archives[1])], capture_output=True, text=True, check=True).stdout
    for name in ("requirements.lock", "LICENSE"):
        assert f"outcrop-{VERSION}/{name}\n" in listed
        assert name in (made / "PKGBUILD").read_text("utf-8")


def test_a_folder_without_an_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["packages", str(tmp_path)])
    with pytest.raises(SystemExit, match="not one source archive"):
        main()
