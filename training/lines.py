"""JSON lines on disk, plain or packed."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, or of its packed form (`.gz`, `.xz`) where that is what there is."""
    forms = (path, *map(path.with_name, (path.name + ".gz", path.name + ".xz")))
    # Where there is none, opening the plain one says so.
    with _open(next((one for one in forms if one.exists()), path)) as file:
        yield from map(json.loads, file)


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def read_held_out(folder: Path) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """The documents of the packages that nothing was learnt from, by number, and the pairs about them."""
    held = set(json.loads((folder / "split.json").read_text("utf-8"))["validation"])
    documents = {one["id"]: one for one in read_lines(folder / "docs.jsonl") if one["package"] in held}
    return documents, [one for one in read_lines(folder / "pairs.jsonl") if one["doc"] in documents]
