"""The extras as an installer sees them, and the commands that the program advises."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from scripts.build import ROOT

from outcrop.system import machine

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["outcrop"]["extras"]
FOLDER = f"outcrop-models @ {(ROOT / 'models').as_uri()}"


def find_extras(root: Path, *, release: bool) -> dict[str, list[str]]:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, list[str]] = module.find_extras(root, release=release)
    return found


def test_in_a_clone_mini_takes_the_models_from_their_folder() -> None:
    found = find_extras(ROOT, release=False)
    assert FOLDER in found["mini"]
    assert not any(line.startswith("outcrop-models==") for line in found["mini"])
    assert {**found, "mini": EXTRAS["mini"], "ocr": EXTRAS["ocr"]} == EXTRAS


def test_a_release_and_an_unpacked_archive_ask_for_the_version(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    assert find_extras(ROOT, release=True) == find_extras(tmp_path, release=False) == EXTRAS


def test_the_wheel_of_a_release_names_no_folder_of_this_machine(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[0]) as wheel:
        metadata = wheel.read("outcrop-0.1.0.dist-info/METADATA").decode()
    assert "outcrop-models==0.1.0; extra == 'mini'" in metadata
    assert not [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "file:" in line]
    assert {
        line.removeprefix("Provides-Extra: ") for line in metadata.splitlines() if "Provides-Extra" in line
    } == set(EXTRAS)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("", "pip install 'outcrop[serve]'"),
        ("pipx_metadata.json", "pipx runpip outcrop install 'outcrop[serve]'"),
        ("uv-receipt.toml", "uv pip install --python PREFIX 'outcrop[serve]'"),
    ],
)
def test_an_extra_is_advised_for_whatever_made_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, expected: str
) -> None:
    if file:
        (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert machine.install_command("serve") == expected.replace("PREFIX", str(tmp_path))


def test_the_models_are_advised_only_where_they_can_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = {"clone": f"{FOLDER} ; extra == 'mini'", "release": "outcrop-models==0.1.0; extra == 'mini'"}
    lines["gone"] = f"outcrop-models @ {(tmp_path / 'gone').as_uri()} ; extra == 'mini'"
    told = {}
    for name, line in lines.items():
        monkeypatch.setattr(importlib.metadata, "requires", lambda _, line=line: [line])
        told[name] = machine.install_command("mini")
    assert told["clone"].endswith("install 'outcrop[mini]'")
    assert (
        "'outcrop[mini]' --find-links FOLDER, where FOLDER holds the wheel of outcrop-models" in told["release"]
    )
    assert told["gone"] == told["release"]
