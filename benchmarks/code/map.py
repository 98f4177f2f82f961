"""How much of a repository does a map show? `outcrop map` beside aider's repository map, within the same budgets.

    python -m benchmarks.code.map --data FOLDER --repos FOLDER --install [--peer-only]     (--install: once)

A map is made of the files below each root, with no question and no file in view, within 1 000, 4 000 and 8 000 tokens;
a token is four characters for both. Of the target files of all questions: the share whose path is in the map. Of the
names that are asked for (category symbol): the share that is in the map as a whole word. `tokens` is how long the maps
are in truth: aider may exceed its budget by 15 %. Its maps differ from run to run, also with a fixed hash seed and
folder: in three runs over 21 repositories the means moved by up to 0.006 (files) and 0.023 (names).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.report import ROOT, Report, cpu_s, run_child, say  # first: it holds numpy to one core

from benchmarks.code.__main__ import add_arguments, indexed  # isort: skip
from benchmarks.code.set import Repository, lay_out, load_repositories  # isort: skip

BUDGETS_TOKENS = (1000, 4000, 8000)
CHARACTERS_PER_TOKEN = 4
VENV = ROOT / ".artifacts" / "aider-venv"
AIDER = "aider-chat==0.86.2"
NEEDED = (
    "diskcache==5.6.3",
    "grep-ast==0.9.0",
    "networkx==3.4.2",
    "numpy==1.26.4",
    "packaging",
    "prompt_toolkit",
    "pygments==2.19.2",
    "rich",
    "scipy==1.15.3",
    "tqdm",
    "tree-sitter==0.25.2",
    "tree-sitter-c-sharp==0.23.1",
    "tree-sitter-embedded-template==0.25.0",
    "tree-sitter-language-pack==0.13.0",
    "tree-sitter-yaml==0.7.2",
)
"""What the map needs of aider's requirements, in the versions that aider pins; all of them would be a gigabyte."""

Maps = dict[str, dict[str, Any]]
"""repository → `maps` (budget → text) and `cpu_s`."""


def install(venv: Path) -> None:
    """Make a virtual environment with aider's map, apart from the project's own."""
    say(f"installing {AIDER} into {venv}")
    python = str(venv / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *NEEDED], check=True)
    subprocess.run([*pip, "--no-deps", AIDER], check=True)


def aider_maps(repositories: Sequence[Repository], repos: Path, venv: Path) -> Maps:
    """Aider's maps, made under its own Python."""
    with tempfile.TemporaryDirectory() as place:
        jobs = []
        for one in repositories:
            folder = Path(place) / one.name
            lay_out(repos / one.name / one.root, folder)
            jobs.append({"name": one.name, "folder": str(folder)})
        plan = Path(place) / "plan.json"
        plan.write_text(json.dumps({"budgets_tokens": BUDGETS_TOKENS, "jobs": jobs}), "utf-8")
        return run_child(["benchmarks.code.aider", str(plan)], python=str(venv / "bin" / "python"))


def outcrop_maps(repositories: Sequence[Repository], repos: Path) -> Maps:
    """Ours, from an index that is there: `cpu_s` is of the first map alone."""
    found: Maps = {}
    for one in repositories:
        with indexed(one, repos) as engine:
            texts, cpu = {}, []
            for budget in BUDGETS_TOKENS:
                before = cpu_s()
                texts[str(budget)] = engine.map(budget_tokens=budget, tokenizer=Quarters()).text
                cpu.append(cpu_s() - before)
        found[one.name] = {"maps": texts, "cpu_s": cpu[0]}
    return found


class Quarters:
    """Four characters a token, as aider is told to count."""

    def count(self, text: str) -> int:
        """Tokens, rounded up."""
        return -(-len(text) // 4)


# ------------------------------------------------------------------ what is in a map


def shows_path(text: str, path: str) -> bool:
    """Whether a path stands in a map, not as a part of a longer one."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", text) is not None


def shows_name(text: str, name: str) -> bool:
    """Whether a name stands in a map as a whole word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def asked_names(repository: Repository) -> list[str]:
    """The names that symbol questions ask for: of `Rack::Response` the last part; a sentence is not a name."""
    texts = (question.text for question in repository.questions if question.category == "symbol")
    return [re.split(r"::|\.", text)[-1] for text in texts if " " not in text]


def score_map(repository: Repository, text: str) -> tuple[float, float | None]:
    """(share of target files, share of asked names) that a map shows; None where no name is asked for."""
    paths = {repository.below_root(target.path) for one in repository.questions for target in one.targets}
    names = asked_names(repository)
    files = fmean(shows_path(text, path) for path in paths)
    return files, fmean(shows_name(text, name) for name in names) if names else None


def map_row(engine: str, budget: int, repositories: Sequence[Repository], maps: Maps) -> dict[str, Any]:
    """Means over the repositories."""
    texts = [maps[one.name]["maps"][str(budget)] for one in repositories]
    scores = [score_map(one, text) for one, text in zip(repositories, texts, strict=True)]
    names = [name for _, name in scores if name is not None]
    lengths = [len(text) / CHARACTERS_PER_TOKEN for text in texts]
    return {
        "map": engine,
        "budget": budget,
        "target files": fmean(files for files, _ in scores),
        "asked names": fmean(names) if names else None,
        "tokens": fmean(lengths),
        "most tokens": max(lengths),
    }


def repository_row(repository: Repository, maps: dict[str, str]) -> dict[str, Any]:
    """Target files and names of one repository in its map of each budget."""
    row: dict[str, Any] = {"repository": repository.name}
    for budget in BUDGETS_TOKENS:
        files, names = score_map(repository, maps[str(budget)])
        row |= {f"{budget}: files": files, f"{budget}: names": names}
    return row


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--venv", type=Path, default=VENV, help="where aider is installed")
    parser.add_argument("--install", action="store_true", help="install it there first")
    parser.add_argument("--peer-only", action="store_true", help="leave Outcrop out")
    options = parser.parse_args()
    if options.install:
        install(options.venv)
    if not (options.venv / "bin" / "python").exists():
        raise SystemExit(f"aider is not installed in {options.venv}: run with --install")
    repositories = load_repositories(options.data, filter(None, options.only.split(",")))
    report = Report("code-map", {"aider": AIDER, "budgets_tokens": BUDGETS_TOKENS, "only": options.only})
    maps = {"aider": aider_maps(repositories, options.repos, options.venv)}
    if not options.peer_only:
        maps["outcrop"] = outcrop_maps(repositories, options.repos)
    for engine, made in maps.items():
        by_repository = [repository_row(one, made[one.name]["maps"]) for one in repositories]
        report.add_table(f"by repository, {engine}", by_repository)
    rows = [
        map_row(engine, budget, repositories, made)
        for engine, made in maps.items()
        for budget in BUDGETS_TOKENS
    ]
    report.add_table("mean over repositories", rows)
    for engine, made in maps.items():
        report.add(
            f"{engine}, first map of each, CPU", sum(made[one.name]["cpu_s"] for one in repositories), "s"
        )
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
