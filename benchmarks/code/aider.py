"""Aider's repository map in a process of its own, under its own Python (started by benchmarks.code.map).

    python -m benchmarks.code.aider PLAN

PLAN is a JSON file: `budgets_tokens` and `jobs` (`name`, `folder`). Writes the map of every folder within every budget,
as it is with no file in the chat; a token is four characters.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import cpu_s  # first: it holds numpy to one core


class Silent:
    """What aider reads files with and talks to: it reads, and says nothing."""

    def read_text(self, name: str) -> str | None:
        """The text of a file, None where it is not text: aider skips it then."""
        try:
            return Path(name).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def tool_output(self, *_message: Any) -> None:
        """Not shown."""

    tool_warning = tool_error = tool_output


class FourCharacters:
    """A model as far as the map needs one: it counts tokens."""

    def token_count(self, text: str) -> float:
        """A token is four characters."""
        return len(text) / 4


def make_maps(folder: Path, budgets_tokens: list[int]) -> dict[str, Any]:
    """budget → map of all files of a folder, and what the first took, when nothing was known of the files."""
    from aider.repomap import RepoMap  # type: ignore[import-not-found]  # in its own environment

    files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    texts, cpu = {}, []
    with tempfile.TemporaryDirectory() as cache:
        RepoMap.TAGS_CACHE_DIR = cache  # an absolute path: nothing is written into the folder
        for budget in budgets_tokens:
            before = cpu_s()
            repo_map = RepoMap(map_tokens=budget, root=str(folder), main_model=FourCharacters(), io=Silent())
            texts[str(budget)] = repo_map.get_repo_map([], files) or ""
            cpu.append(cpu_s() - before)
            repo_map.TAGS_CACHE.close()
    return {"maps": texts, "cpu_s": cpu[0]}


def main(plan: Path) -> dict[str, Any]:
    """The maps of every job."""
    content = json.loads(plan.read_text("utf-8"))
    return {job["name"]: make_maps(Path(job["folder"]), content["budgets_tokens"]) for job in content["jobs"]}


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(Path(sys.argv[1]))) + "\n")
