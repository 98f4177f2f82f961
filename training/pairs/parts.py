"""A result file for each package, made by several processes; one that brings its process down costs itself only."""

from __future__ import annotations

import gzip
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path
from typing import Final
from urllib.parse import quote

from training.pairs.package import read_package

RULES: Final = 3
"""Raised when the rules change: results of other rules are made again."""
MAX_TRIES: Final = 2
"""A package whose process died this often is left out."""


def part_of(into: Path, package: str) -> Path:
    """Where a package's result lies."""
    return into / f"parts-{RULES}" / f"{quote(package, safe='')}.gz"


def make_part(package: str, folder: Path, part: Path) -> int:
    """Read one package and write its result file; how many pairs it has."""
    part.parent.mkdir(parents=True, exist_ok=True)
    tried = part.with_suffix(".tried")
    with tried.open("a") as file:
        file.write(".")
    gathered = read_package(folder, package)
    docs = [{key: value for key, value in asdict(doc).items() if key != "at"} for doc in gathered.docs]
    pairs = [asdict(pair) for pair in gathered.pairs]
    new = part.with_suffix(".new")
    with gzip.open(new, "wt", compresslevel=1, encoding="utf-8", errors="replace") as file:
        for line in ({"package": package, "rules": RULES}, docs, pairs):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    new.rename(part)
    tried.unlink()
    return len(pairs)


def make_parts(packages: list[tuple[str, Path]], into: Path, workers: int) -> list[str]:
    """Read the packages that have no result yet; what went wrong, a line each."""
    failed: dict[str, str] = {}
    while True:
        missing = []
        for package, folder in packages:
            part = part_of(into, package)
            tried = part.with_suffix(".tried")
            if part.exists() or package in failed:
                continue
            if tried.exists() and tried.stat().st_size >= MAX_TRIES:
                failed[package] = "its process died"
                continue
            missing.append((package, folder, part))
        if not missing:
            return [f"{package}: {why}" for package, why in failed.items()]
        _run(missing, failed, workers)


def _run(missing: list[tuple[str, Path, Path]], failed: dict[str, str], workers: int) -> None:
    began = time.monotonic()
    pairs = 0
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(make_part, *item): item[0] for item in missing}
        for done, future in enumerate(as_completed(running), 1):
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                return  # whoever did it has left its mark; the others are tried again
            if error is not None:
                failed[running[future]] = f"{type(error).__name__}: {error}"
            else:
                pairs += future.result()
            if done % 50 == 0 or done == len(missing):
                spent = time.monotonic() - began
                sys.stdout.write(f"{done} of {len(missing)} packages, {pairs} pairs, {spent:.0f} s\n")
                sys.stdout.flush()
