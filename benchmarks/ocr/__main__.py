"""Pages that are made here, read by OCR: `python -m benchmarks.ocr`.

Text in five languages is set in three fonts and made worse in ten ways (`sheets.py`); each page is read as an ingest
reads it, in the watched process. What counts is how many characters are wrong, in the order of reading: insertions,
deletions and replacements by what was printed, line ends and spaces alike.
"""

from __future__ import annotations

import argparse
import io
import resource
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import Final

from benchmarks.report import Report, say  # first: it holds libraries to one core

import numpy as np  # isort: skip

from benchmarks.ocr.sheets import CONDITIONS, Condition, Sheet, make_sheets, read_texts
from outcrop.parse.limits import ParseLimits
from outcrop.parse.scan.engines import EngineName, ScanEngine, find_engine
from outcrop.parse.scan.reading import ScanReader
from outcrop.records import ScanPage

LIMITS: Final = ParseLimits(timeout_s=120.0, memory_bytes=1024**3)
SEED: Final = 1


def count_errors(read: str, printed: str) -> int:
    """Insertions, deletions and replacements that make one text of the other."""
    row = np.arange(len(read) + 1)
    letters = np.array([ord(letter) for letter in read])
    steps = np.arange(len(read) + 1)
    for at, letter in enumerate(printed, 1):
        replaced = row[:-1] + (letters != ord(letter))
        best = np.concatenate(([at], np.minimum(replaced, row[1:] + 1)))
        row = np.minimum.accumulate(best - steps) + steps
    return int(row[-1])


def read_sheet(reader: ScanReader, sheet: Sheet) -> str:
    """The text of a page, on one line."""
    file = io.BytesIO()
    sheet.picture.save(file, "PNG", compress_level=1)
    reader.open("image", file.getvalue())
    reader.draw(1)
    return " ".join(ScanPage(reader.read()).text.split())


def children_cpu_s() -> float:
    """CPU time of the processes that were started here and are gone."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(engine: ScanEngine, conditions: Iterable[Condition], seed: int, every: int, report: Report) -> None:
    """Read all pages and add what came out."""
    texts = read_texts()
    by: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    pages, spent, rows = 0, 0.0, []
    for condition in conditions:
        before, count = children_cpu_s(), 0
        with ScanReader(engine, LIMITS) as reader:
            for sheet in islice(make_sheets((condition,), seed, texts), 0, None, every):
                printed = " ".join(sheet.text.split())
                wrong = count_errors(read_sheet(reader, sheet), printed)
                kinds = {
                    ("condition", condition.name),
                    ("font", sheet.font),
                    ("language", sheet.language),
                    ("kind", "clean" if condition.is_clean else "tilted, noisy, turned"),
                }
                for key in kinds:
                    by[key][0] += wrong
                    by[key][1] += len(printed)
                count += 1
        cpu = children_cpu_s() - before
        pages, spent = pages + count, spent + cpu
        wrong, length = by["condition", condition.name]
        rows.append(
            {
                "pages": condition.name,
                "read": count,
                "characters": length,
                "wrong %": round(100 * wrong / length, 3),
                "CPU s a page": round(cpu / count, 2),
            }
        )
        say(str(rows[-1]))
    report.add_table("by condition", rows)
    for kind in ("font", "language"):
        shares = {name: round(100 * w / n, 3) for (of, name), (w, n) in sorted(by.items()) if of == kind}
        report.add_table(f"by {kind}", [{kind: name, "wrong %": share} for name, share in shares.items()])
    for name, bar in (("clean", 2.0), ("tilted, noisy, turned", 5.0)):
        wrong, length = by["kind", name]
        if length:
            report.add(f"characters wrong, {name}", 100 * wrong / length, "%", at_most=bar)
    report.add("pages a second of CPU", pages / spent, "pages", at_least=0.5)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    report.add("peak memory of the reading process", peak, "MB", at_most=700)


def main() -> None:
    """Read, compare, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("models", "tesseract"), default="models")
    parser.add_argument("--languages", default="", help="packs that Tesseract uses, such as eng+deu")
    parser.add_argument("--only", default="", help="conditions whose name holds this")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--every", type=int, default=1, help="one page in so many of each condition; 3 has them all"
    )
    given = parser.parse_args()
    name: EngineName = given.engine
    engine = find_engine(name, given.languages)
    assert engine is not None
    report = Report(
        "ocr", {"engine": engine.version, "seed": given.seed, "only": given.only, "every": given.every}
    )
    measure(engine, [each for each in CONDITIONS if given.only in each.name], given.seed, given.every, report)
    report.keep()


if __name__ == "__main__":
    main()
