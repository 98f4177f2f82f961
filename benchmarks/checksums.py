"""What the checksums of the search arrays cost: python -m benchmarks.checksums [--chunks 1000000]

Writes segment files of the size that so many chunks take (random bytes: a checksum does not care), then measures what a
process pays for them: when it maps the files, at its first search, at the next, and when `doctor` reads everything. The
shares of the arrays are those of an index of a million chunks of source and documentation.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report
from outcrop.index.files import CHECKED_IN_USE
from outcrop.index.packed import map_watched, write_arrays
from outcrop.index.segment import Watched, sum_blocks

SEGMENT_ROWS: Final = 50_000
DIMENSIONS: Final = 256
POSTINGS: Final = 60  # a chunk
RESCORED: Final = 8_000  # rows a search compares exactly
TERMS: Final = 10


def make_segment(rows: int, chance: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Arrays of the size that those of a segment have."""

    def noise(size: int) -> NDArray[np.uint8]:
        return np.frombuffer(chance.bytes(size), np.uint8)

    return {
        "ids": noise(rows * 40),  # chunk and document ids, lengths, scales, roles, files …
        "terms": noise(rows * 30),
        "names": noise(rows * 60),
        "bits": noise(rows * DIMENSIONS // 8),
        "rows": noise(rows * POSTINGS * 2).view(np.uint16),
        "frequencies": noise(rows * POSTINGS),
        "pairs": noise(rows * 48).reshape(48, rows),
        "vectors": noise(rows * DIMENSIONS).reshape(rows, DIMENSIONS),
        "summary_vectors": noise(rows // 2 * DIMENSIONS).reshape(rows // 2, DIMENSIONS),
    }


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    started = time.process_time()
    work()
    return round((time.process_time() - started) * 1000, 2)


def compare_sums(megabytes: int = 256) -> dict[str, float]:
    """GB a second of what could serve as a checksum."""
    data = np.frombuffer(np.random.default_rng(1).bytes(megabytes << 20), np.uint8)
    ways: dict[str, Callable[[], object]] = {
        "blocks": lambda: sum_blocks(data),
        "crc32": lambda: zlib.crc32(data.data),
        "adler32": lambda: zlib.adler32(data.data),
        "sha1": lambda: hashlib.sha1(data.data, usedforsecurity=False).digest(),
        "blake2b": lambda: hashlib.blake2b(data.data).digest(),
    }
    return {name: round(len(data) / (timed(way) * 1e6), 2) for name, way in ways.items()}


def check_all(segments: list[dict[str, Watched]]) -> None:
    """Check every block of every array."""
    for watched in segments:
        for array in watched.values():
            array.require()


Wanted = tuple[NDArray[np.int64], NDArray[np.int64]]


def draw(chunks: int, chance: np.random.Generator) -> Wanted:
    """What a search uses: rows to compare exactly, and where the postings of some terms begin."""
    rows = np.sort(chance.choice(chunks, min(RESCORED, chunks), replace=False))
    return rows, chance.integers(0, SEGMENT_ROWS * (POSTINGS - 1), TERMS)


def search(segments: list[dict[str, Watched]], wanted: Wanted) -> None:
    """Check what one search uses."""
    rows, terms = wanted
    for number, watched in enumerate(segments):
        here = (
            rows[(rows >= number * SEGMENT_ROWS) & (rows < (number + 1) * SEGMENT_ROWS)] - number * SEGMENT_ROWS
        )
        watched["vectors"].require_rows(here)
        watched["summary_vectors"].require_rows(np.unique(here // 2))
        for start in terms:
            for name in ("rows", "frequencies"):
                watched[name].require_slices(np.array([start]), np.array([start + SEGMENT_ROWS // 50]))


def measure(chunks: int, folder: Path) -> dict[str, float]:
    """All figures for so many chunks."""
    chance = np.random.default_rng(7)
    files = []
    summing = 0.0
    for number in range(max(1, chunks // SEGMENT_ROWS)):
        arrays = make_segment(SEGMENT_ROWS, chance)
        summing += timed(lambda arrays=arrays: [sum_blocks(array) for array in arrays.values()])  # type: ignore[misc]
        files.append(folder / f"segment-{number}")
        write_arrays(files[-1], arrays)
    mapped = [map_watched(file)[1] for file in files]

    def check_mapped() -> None:
        for watched in mapped:
            for name, array in watched.items():
                if name not in CHECKED_IN_USE:
                    array.require()

    total = len(files) * SEGMENT_ROWS
    first, second, last = (draw(total, chance) for _ in range(3))
    figures = {
        "chunks": total,
        "megabytes": round(sum(file.stat().st_size for file in files) / 1e6),
        "summed_when_written": round(summing, 1),
        "checked_when_mapped": timed(check_mapped),
        "checked_at_the_first_search": timed(lambda: search(mapped, first)),
        "at_the_second": timed(lambda: search(mapped, second)),
    }
    for _ in range(20):
        search(mapped, draw(total, chance))
    figures["at_the_twentieth"] = timed(lambda: search(mapped, last))
    again = [map_watched(file)[1] for file in files]
    figures["everything_as_the_doctor_does"] = timed(lambda: check_all(again))
    return figures


UNITS: Final = {"chunks": "chunks", "megabytes": "MB"}


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    chunks = parser.parse_args().chunks
    report = Report("checksums", {"chunks": chunks})
    for name, speed in compare_sums().items():
        report.add(f"checksum: {name}", speed, "GB/s of CPU")
    with tempfile.TemporaryDirectory() as folder:
        for name, value in measure(chunks, Path(folder)).items():
            report.add(name.replace("_", " "), value, UNITS.get(name, "ms of CPU"))
    report.keep()


if __name__ == "__main__":
    main()
