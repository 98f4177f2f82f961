"""README and ARCHITECTURE.md say what is there, and nothing that is not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from benchmarks.readme import PARTS, render

import outcrop

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
MAX_README_BYTES = 7_000
INSTALLING = re.compile(
    r"(?:uv tool|uv pip|pipx|pip3?) install (?:--[\w-]+ (?:FOLDER )?)*"
    r"(?:['\"]?(?:\./)?outcrop\b(?:\[[\w,]+\])?['\"]?|['\"]?\.(?:\[[\w,]+\])?['\"]?(?=[\s`)]))"
)
"""What installs Outcrop, however it is spelt."""
INSTALLATION = re.compile(
    r"(?:uv tool|pipx|pip) install (?:--find-links FOLDER )?(?:(?:\./)?outcrop|'(?:\./)?outcrop\[[a-z,]+\]')"
)
"""How it is spelt: from a clone in the folder `outcrop`, or by its name."""
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_the_figures_of_the_readme_are_those_of_the_latest_results() -> None:
    assert render(README) == README, "run `make pages`"
    assert README.count("<!-- figures: ") == len(PARTS)
    assert all(len(make()) > 4 for make in PARTS.values())


def test_the_readme_is_short_and_all_it_shows_and_names_is_there() -> None:
    assert len(README.encode()) <= MAX_README_BYTES
    named = re.findall(r"\]\(([^)#\s]+)|(?:src|srcset)=\"([^\"]+)", README)
    places = [link or image for link, image in named]
    assert len(places) > 15
    assert not [place for place in places if not (ROOT / place).is_file()]
    assert {"docs/images/page-light.png", "docs/images/page-dark.png", "docs/images/terminal.svg"} <= set(
        places
    )


def test_installation_is_spelt_in_one_way() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    pages = [ROOT / name for name in tracked.stdout.split("\0") if name.endswith((".md", ".ipynb"))]
    texts = {path: path.read_text("utf-8") for path in [*pages, *(ROOT / "src/outcrop").rglob("*.py")]}
    found = [(path.name, command) for path, text in texts.items() for command in INSTALLING.findall(text)]
    assert len(found) > 15
    assert not [(name, command) for name, command in found if not INSTALLATION.fullmatch(command)]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`uv tool install './outcrop[serve]'`", []),
        ("$ pip install outcrop   # or", []),
        ("`pip install .`", ["pip install ."]),
        ('$ pipx install "./outcrop[serve]"', ['pipx install "./outcrop[serve]"']),
        ("`pip3 install outcrop`", ["pip3 install outcrop"]),
        ("`uv pip install 'outcrop[mini]'`", ["uv pip install 'outcrop[mini]'"]),
        ("`pip install atheris`", []),
    ],
)
def test_another_spelling_is_noticed(text: str, wrong: list[str]) -> None:
    assert [found for found in INSTALLING.findall(text) if not INSTALLATION.fullmatch(found)] == wrong


def test_every_folder_of_the_house_is_explained() -> None:
    folders = [path.name for path in (ROOT / "src/outcrop").iterdir() if (path / "__init__.py").is_file()]
    assert folders
    assert not [name for name in folders if f"{name}/" not in ARCHITECTURE]


def test_every_module_that_architecture_names_exists() -> None:
    named = set(re.findall(r"`([\w/]+/\w+\.py)`", ARCHITECTURE))
    assert len(named) > 10
    assert not [
        path for path in named if not (ROOT / "src/outcrop" / path).exists() and not (ROOT / path).exists()
    ]


def steps_of(title: str) -> list[str]:
    """The functions that a section of ARCHITECTURE.md says are called, in its order."""
    section = ARCHITECTURE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w.]+)`:", section, re.MULTILINE)


def calls_of(work: Callable[[], object]) -> dict[str, int]:
    """Every function of the package that `work` calls, as `module.function`, with when it was first called."""
    package = str(Path(outcrop.__file__).parent)
    first: dict[str, int] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package):
            module = frame.f_globals["__name__"].partition(".")[2]
            first.setdefault(f"{module}.{code.co_qualname}", len(first))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return first


def check_walk(steps: list[str], called: dict[str, int]) -> None:
    assert len(steps) > 10
    missing = [step for step in steps if step not in called]
    assert not missing, f"ARCHITECTURE.md names functions that are not called: {missing}"
    assert sorted(steps, key=lambda step: called[step]) == steps, "ARCHITECTURE.md has steps in another order"


def test_the_walks_of_architecture_are_what_really_runs(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "keys.md").write_text("# Keys\n\nWe rotate the signing keys every spring.\n")
    with outcrop.open(tmp_path / "index.db") as index:
        check_walk(steps_of("A document in"), calls_of(lambda: index.add(folder)))
        check_walk(
            steps_of("A query out"), calls_of(lambda: index.context("when do we rotate the signing keys?"))
        )


def test_a_walk_that_is_not_what_runs_is_noticed() -> None:
    steps = [f"read.ask.step_{letter}" for letter in "abcdefghijkl"]
    called = {step: number for number, step in enumerate(steps)}
    check_walk(steps, called)
    with pytest.raises(AssertionError, match="another order"):
        check_walk(steps[::-1], called)
    with pytest.raises(AssertionError, match=r"not called.*step_z"):
        check_walk([*steps, "read.ask.step_z"], called)
