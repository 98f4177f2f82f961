"""Archives are what they should be, and whatever is wrong with one is said."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from scripts.archives import check_sdist, check_versions, check_wheel
from scripts.build import ROOT

NOTES = "outcrop-0.1.0.dist-info"

pytestmark = pytest.mark.timeout(300)  # packing the model takes a while on a machine that has much to do


def committed(problems: list[str]) -> list[str]:
    """Without files that somebody is about to add."""
    return [problem for problem in problems if not problem.endswith("is not in git")]


def test_ours_are_in_order(archives: tuple[Path, Path]) -> None:
    wheel, sdist = archives
    assert committed(list(check_wheel(wheel, "outcrop"))) == []
    assert committed(list(check_sdist(sdist, "outcrop"))) == []


def change(
    wheel: Path, folder: Path, edit: Callable[[str, bytes], bytes | None], extra: dict[str, str] | None = None
) -> Path:
    changed = folder / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = edit(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
        for name, text in (extra or {}).items():
            new.writestr(name, text)
    return changed


def keep(_: str, content: bytes) -> bytes:
    return content


def problems_of(wheel: Path) -> str:
    return "\n".join(committed(list(check_wheel(wheel, "outcrop"))))


def test_a_file_that_does_not_belong_is_noticed(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel = change(archives[0], tmp_path, keep, {"outcrop/__pycache__/x.pyc": "", "tests/conftest.py": "x = 1"})
    found = list(check_wheel(wheel, "outcrop"))
    assert "outcrop/__pycache__/x.pyc does not belong there" in found
    assert "tests/conftest.py is not in git" in found
    assert "tests/conftest.py is not in RECORD, or not there" in found


def test_a_changed_or_missing_file_is_noticed(archives: tuple[Path, Path], tmp_path: Path) -> None:
    def edit(name: str, content: bytes) -> bytes | None:
        if name == "outcrop/parse/code/queries/go.scm":
            return None
        return content + b"\n" if name == "outcrop/__init__.py" else content

    found = problems_of(change(archives[0], tmp_path, edit))
    assert "outcrop/__init__.py is not what RECORD says" in found
    assert "outcrop/parse/code/queries/go.scm is missing" in found


def test_missing_licences_are_noticed(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel = change(archives[0], tmp_path, lambda name, content: None if name.endswith("/NOTICE") else content)
    assert "NOTICE is missing or not that of the project" in problems_of(wheel)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"Metadata-Version: 2.", b"Metadata-Version: 9.", "metadata: "),
        (b"License-Expression: Apache-2.0", b"License-Expression: Whatever I Like", "metadata: "),
        (b"Version: 0.1.0\n", b"Version: 0.2.0\n", "metadata are of outcrop 0.2.0"),
        (b"Description-Content-Type: text/markdown", b"Description-Content-Type: text/plain", "is text/plain"),
        (b"\n# Outcrop\n", b"\nOutcrop\n", "no title"),
    ],
)
def test_metadata_that_an_index_would_refuse_are_noticed(
    archives: tuple[Path, Path], tmp_path: Path, old: bytes, new: bytes, problem: str
) -> None:
    def edit(name: str, content: bytes) -> bytes:
        if name != f"{NOTES}/METADATA":
            return content
        assert old in content
        return content.replace(old, new, 1)

    assert problem in problems_of(change(archives[0], tmp_path, edit))


def test_another_name_is_noticed(archives: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = archives
    for archive, name, check in (
        (wheel, "x-1-py3-none-any.whl", check_wheel),
        (sdist, "x-1.tar.gz", check_sdist),
    ):
        shutil.copy(archive, tmp_path / name)
        assert list(check(tmp_path / name, "outcrop")) == [f"it is named {name}"]


def test_links_and_strangers_in_a_source_archive_are_noticed(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    sdist = archives[1]
    changed = tmp_path / sdist.name
    link = tarfile.TarInfo("outcrop-0.1.0/passwd")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(sdist) as old, tarfile.open(changed, "w:gz", compresslevel=1) as new:
        for member in old:
            if not member.name.endswith("/LICENSE"):
                new.addfile(member, old.extractfile(member))
        new.addfile(link)
        stranger = tarfile.TarInfo("outcrop-0.1.0/.env")
        stranger.size = 1
        new.addfile(stranger, io.BytesIO(b"x"))
    found = list(check_sdist(changed, "outcrop"))
    assert "outcrop-0.1.0/passwd is no plain file below outcrop-0.1.0" in found
    assert ".env does not belong there" in found
    assert ".env is not in git" in found
    assert "LICENSE is missing" in found


# ------------------------------------------------------------------ versions


def test_versions_are_in_step() -> None:
    assert list(check_versions(releasing=False)) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("CHANGELOG.md", "## 0.1.0 —", "## 0.0.9 —", "begins with 0.0.9, not with 0.1.0"),
        ("CHANGELOG.md", "## 0.1.0 —", "0.1.0", "no version"),
        ("models/pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"', "outcrop-models 0.2.0"),
        ("pyproject.toml", "outcrop-models==0.1.0", "outcrop-models==0.0.1", "does not ask for"),
        ("CHANGELOG.md", "## 0.1.0 — 2026-01-31", "## 0.1.0 — soon", "write the day"),
    ],
)
def test_versions_that_differ_are_noticed(tmp_path: Path, file: str, old: str, new: str, problem: str) -> None:
    (tmp_path / "models").mkdir()
    for name in ("pyproject.toml", "models/pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    changes = tmp_path / "CHANGELOG.md"
    first, _, rest = changes.read_text("utf-8").partition("## 0.1.0 —")
    changes.write_text(f"{first}## 0.1.0 — 2026-01-31\n{rest.partition(chr(10))[2]}", "utf-8")
    assert list(check_versions(tmp_path, releasing=True)) == []
    target = tmp_path / file
    content = target.read_text("utf-8")
    assert old in content
    target.write_text(content.replace(old, new, 1), "utf-8")
    assert problem in "\n".join(check_versions(tmp_path, releasing=True))
