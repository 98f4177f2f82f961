"""Disks that really are too small or read-only, for the scenes of proofs.faults.

A limit on the size of files (RLIMIT_FSIZE) needs no rights: a write that would make a file larger fails half-way, as on
a full disk. A small file system in memory, which is then mounted read-only, needs those of root; where they are missing
that part is left out, and the table says so.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.store.example_steps import registered

from proofs.faults.scenes import SCENES, Trial, attempt, compare, copy_of, lay, try_again

STEPS: Final = 24
"""Sizes that are tried of each scene, from almost nothing to enough (not measured)."""


def try_disks(folder: Path, every: int = 1) -> tuple[list[dict[str, Any]], list[str]]:
    """Every scene on disks of many sizes: the lines of the table, and what is wrong."""
    lines, wrong = [], []
    steps = max(2, STEPS // every)
    for scene in SCENES:
        here = folder / scene.name.replace(" ", "-")
        here.mkdir(parents=True)
        trial = lay(scene, here)
        with registered(scene.steps):
            tried = (
                ("largest file", try_limits(trial, here, steps)),
                ("file system", try_mounts(trial, here, steps)),
            )
        for kind, result in tried:
            errors, problems = result or (0, [])
            lines.append(
                {
                    "scene": scene.name,
                    "disk": kind,
                    "sizes": 0 if result is None else steps,
                    "errors that said what to do": errors,
                    "wrong": len(problems),
                }
            )
            wrong += [f"{scene.name}, {kind}: {problem}" for problem in problems]
        shutil.rmtree(here)
    return lines, wrong


def try_limits(trial: Trial, folder: Path, steps: int) -> tuple[int, list[str]]:
    """A limit on the size of a file, in a process of its own: it cannot be taken back. How often an error of ours said
    so, and what is wrong."""
    most = max(path.stat().st_size for path in copy_of(trial.laid, folder).rglob("*") if path.is_file())
    wrong: list[str] = []
    errors = 0
    for step in range(1, steps + 1):
        size = most * step // steps
        home = copy_of(trial.laid, folder)
        said, problems = _attempt_apart(trial, home, size)
        problems += compare(trial, home, finished=not said)
        problems += try_again(trial, home, None)
        errors += bool(said)
        wrong += [f"{size} bytes ({said}): {problem}" for problem in problems]
    return errors, wrong


def _attempt_apart(trial: Trial, home: Path, size: int) -> tuple[str, list[str]]:
    hears, says = os.pipe()
    child = os.fork()
    if child == 0:
        result: tuple[str, list[str]] = ("", ["the process that did it ended early"])
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            engine, said, wrong = attempt(trial.scene, home)
            if engine is not None:
                engine.close()
            result = (said, wrong)
        finally:
            os.write(says, json.dumps(result).encode())
            os._exit(0)
    os.close(says)
    heard = b""
    while more := os.read(hears, 65536):
        heard += more
    os.close(hears)
    os.waitpid(child, 0)
    said, wrong = json.loads(heard) if heard else ("", ["the process that did it died"])
    return said, wrong


def try_mounts(trial: Trial, folder: Path, steps: int) -> tuple[int, list[str]] | None:
    """A small file system, too full for what comes, made larger for the next try; then a read-only one. None where
    this user may not mount."""
    laid = sum(path.stat().st_size for path in trial.laid.rglob("*") if path.is_file()) // 1024
    wrong: list[str] = []
    errors = 0
    for step in range(steps + 1):
        read_only = step == steps
        size = 64 * 1024 if read_only else laid + 64 + 16 * step
        shutil.rmtree(folder / "home", ignore_errors=True)
        with _mounted(folder / "home", size) as mounted:
            if not mounted:
                return None
            home = folder / "home"
            shutil.copytree(trial.laid, home, dirs_exist_ok=True)
            if read_only and not _mount("remount,ro", home):
                return errors, wrong
            engine, said, problems = attempt(trial.scene, home)
            if engine is not None:
                engine.close()
            _mount("remount,rw,size=64m", home)
            problems += compare(trial, home, finished=not said)
            problems += try_again(trial, home, None)
            errors += bool(said)
            what = "read-only" if read_only else f"{size} KB"
            wrong += [f"{what} ({said}): {problem}" for problem in problems]
    return errors, wrong


@contextmanager
def _mounted(place: Path, size_kib: int) -> Iterator[bool]:
    place.mkdir(parents=True, exist_ok=True)
    mounted = _mount(f"size={size_kib}k", place)
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=False, capture_output=True)


def _mount(options: str, place: Path) -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
