"""README and ARCHITECTURE.md say what is there, and nothing that is not."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from benchmarks.readme import render

from outcrop.config import Config
from outcrop.serve.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_the_figures_of_the_readme_are_those_of_the_latest_results() -> None:
    assert render(README) == README, "run `python -m benchmarks.readme`"
    assert "| hybrid |" in README


def test_every_command_is_in_the_readme() -> None:
    missing = [name for name in COMMANDS if f"outcrop {name}" not in README and f"`{name}`" not in README]
    assert not missing


def test_every_setting_in_the_readme_exists() -> None:
    names = {field.name for field in fields(Config)}
    rows = [
        line for line in README.splitlines() if line.startswith("| `") and "outcrop" not in line.split("|")[1]
    ]
    mentioned = {name.strip("` ") for row in rows for name in row.split("|")[1].split(",")}
    assert mentioned <= names
    assert {"db", "model", "floor"} <= mentioned


def test_every_folder_of_the_house_is_explained() -> None:
    folders = [path.name for path in (ROOT / "src/outcrop").iterdir() if (path / "__init__.py").is_file()]
    assert folders
    assert not [name for name in folders if f"{name}/" not in ARCHITECTURE]
