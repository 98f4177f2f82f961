"""Build the distributions, the same bytes from the same commit: `python -m scripts.build FOLDER`.

The builder comes from the lock and runs in this environment, so nothing is downloaded; times inside the archives are
that of the commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).resolve().parent.parent
PROJECTS: Final = {"outcrop": ROOT, "outcrop-models": ROOT / "models"}
"""The distributions, and the folder each is built from."""

Target = Literal["wheel", "sdist"]


def commit_time(root: Path = ROOT) -> int:
    """Seconds since the epoch of the latest commit of a checkout; SOURCE_DATE_EPOCH where it is none."""
    asked = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return int(done.stdout)
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(said)
    raise SystemExit("this is no git checkout; set SOURCE_DATE_EPOCH, from which the archives take their times")


def build(project: Path, folder: Path, targets: Sequence[Target] = ("wheel", "sdist")) -> list[Path]:
    """Build a project into a folder; the archives that were made."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-d", str(folder.resolve()), *chosen]
    settings = {**os.environ, "OUTCROP_RELEASE": "1", "SOURCE_DATE_EPOCH": str(commit_time(project))}
    done = subprocess.run(command, cwd=project, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"building {project} failed:\n{done.stdout}{done.stderr}")
    # A line for each archive on standard error or output, depending on the version: its path.
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return sorted(path for line in lines if (path := folder / Path(line.strip()).name).is_file())


def main() -> None:
    """Build everything into the folder that was named."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for project in PROJECTS.values():
        for path in build(project, Path(sys.argv[1])):
            print(path)


if __name__ == "__main__":
    main()
