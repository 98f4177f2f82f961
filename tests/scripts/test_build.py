"""The same commit gives the same archives, whoever builds them, and the wheel works by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from scripts.build import ROOT, build, commit_time
from scripts.try_wheel import Failed, prove

PARTS = (
    "src",
    "scripts",
    "tests/store",
    "pyproject.toml",
    "hatch_build.py",
    "README.md",
    "LICENSE",
    "NOTICE",
    ".gitignore",
)

pytestmark = pytest.mark.timeout(300)  # packing the model takes a while on a machine that has much to do


def export(folder: Path, umask: int) -> Path:
    """The latest commit as plain files, with rights and times of their own."""
    packed = subprocess.run(
        ["git", "archive", "HEAD", *PARTS], cwd=ROOT, capture_output=True, check=True
    ).stdout
    folder.mkdir()
    unpack = f"umask {umask:03o} && tar --extract --touch"
    subprocess.run(["sh", "-c", unpack], cwd=folder, input=packed, check=True)
    for table in folder.rglob("*.npy"):  # 13 MB that are packed like any other file
        table.unlink()
    return folder


def test_two_builds_of_one_commit_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(commit_time()))
    first = build(export(tmp_path / "one", 0o022), tmp_path / "first")
    second = build(export(tmp_path / "another", 0o077), tmp_path / "second")
    assert [path.name.rpartition(".")[2] for path in first] == ["whl", "gz"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_times_come_from_the_commit_and_must_come_from_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = subprocess.run(["git", "show", "-s", "--format=%ct"], cwd=ROOT, capture_output=True, check=True)
    assert commit_time() == int(asked.stdout)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    with pytest.raises(SystemExit, match="SOURCE_DATE_EPOCH"):
        commit_time(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert commit_time(tmp_path) == 1_700_000_000


def test_the_wheel_has_all_that_the_program_needs(archives: tuple[Path, Path], tmp_path: Path) -> None:
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))  # theirs, but not what is editable there
    uv = Path(sys.executable).with_name("uv")
    target = ["--python", str(home / "bin" / "python"), "--no-deps", "--offline"]
    subprocess.run([str(uv), "pip", "install", "--quiet", *target, str(archives[0])], check=True)
    where = subprocess.run(
        [str(home / "bin" / "python"), "-c", "import outcrop; print(outcrop.__file__)"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout).is_relative_to(site)
    assert set(prove(home / "bin" / "outcrop", tmp_path / "work")) == {"add", "search", "doctor"}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("exit 3", "ended with 3"),
        ("""echo '{"hits": [{"document": {"path": "README.md"}}]}'""", "and not declarations.py"),
        (
            """echo '{"hits": [{"document": {"path": "declarations.py"}}], "checks": [{"name": "x", "ok": false}]}'""",
            "doctor found",
        ),
    ],
)
def test_a_program_that_does_not_work_is_noticed(answer: str, problem: str, tmp_path: Path) -> None:
    program = tmp_path / "outcrop"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    with pytest.raises(Failed, match=problem):
        prove(program, tmp_path / "work")
