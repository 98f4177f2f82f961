"""What CONTRIBUTING and the public host's files name is there: make targets, test folders, steps that parse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.check import FAST, ONLY_LINUX
from tests.conftest import POSIX_TESTS

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def read(name: str) -> dict[Any, Any]:
    content = yaml.safe_load((ROOT / name).read_text("utf-8"))
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "RELEASING.md", ".github/pull_request_template.md"])
def test_every_make_target_that_is_named_exists(name: str) -> None:
    named = set(re.findall(r"(?:`|\$ )make (\w+)", (ROOT / name).read_text("utf-8")))
    assert named
    assert not [target for target in named if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)]


def test_the_fast_tests_exist() -> None:
    assert not [path for path in (*FAST, *ONLY_LINUX) if not (ROOT / path).exists()]


def test_files_that_windows_cannot_import_are_named() -> None:
    needs = re.compile(r"^(?:import|from) (?:fcntl|grp|pty|pwd|resource|termios)\b", re.MULTILINE)
    tests = [path.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    found = [name for name in tests if needs.search((ROOT / "tests" / name).read_text("utf-8"))]
    others = tuple(path.removeprefix("tests/") for path in ONLY_LINUX)
    assert sorted(name for name in found if not name.startswith(others)) == sorted(POSIX_TESTS)


def test_the_workflow_covers_three_systems_and_every_supported_python() -> None:
    jobs = read(".github/workflows/check.yml")["jobs"]
    matrix = jobs["wheel"]["strategy"]["matrix"]
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert [step["run"] for step in jobs["full"]["steps"] if "run" in step] == ["make test"]
    assert [name.partition("-")[0] for name in jobs["systems"]["strategy"]["matrix"]["os"]] == [
        "macos",
        "windows",
    ]
    assert jobs["systems"]["steps"][-1]["run"] == "python -m scripts.check --suite"
    used = [step["run"] for step in jobs["wheel"]["steps"] if "run" in step]
    assert "python -m scripts.check --tests" in used[-1]


def test_the_hooks_run_the_tools_of_the_lock() -> None:
    (local,) = read(".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"].split()[0] for hook in local["hooks"]]
    assert entries == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]


@pytest.mark.parametrize("name", ["bug", "ranking", "idea"])
def test_a_template_asks_for_what_is_needed(name: str) -> None:
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form["name"]
    assert form["description"]
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert any(field.get("validations", {}).get("required") for field in asked)
    assert len({field["id"] for field in asked}) == len(asked)
