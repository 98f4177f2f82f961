"""Reports that differ in who and when alone: python -m benchmarks.reports [--seed N]

Annual and quarterly reports of six companies and manuals of six programs in several versions are made, each in the
forms that people's files have: who and when in the heading, on the first lines, or in the name of the file only. All
have the same sections in nearly the same words. A question names a company and a year (or quarter, or version), and
only one section of one document answers it.

Then the histories inside source packages of PyPI (those of `benchmarks.chat`, their hashes checked): what changed in a
version, and what was released on a day; the section of that version answers.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from benchmarks.report import WORK, Report  # first: it holds libraries to one core

from benchmarks.chat.documents import DATA, DEV, download  # isort: skip
from benchmarks.chat.documents import HOME as CHAT  # isort: skip
from outcrop.config import load_config
from outcrop.engine import Engine

HOME: Final = WORK / "reports"
COMPANIES: Final = (
    "Northwind Logistics",
    "Harbour Foods",
    "Kestrel Energy",
    "Tamarind Software",
    "Alder Steel",
    "Blue Finch Media",
)
YEARS: Final = ("2017", "2018", "2019", "2020", "2021")
QUARTERS: Final = ("first quarter 2020", "second quarter 2020", "third quarter 2020", "third quarter 2021")
PROGRAMS: Final = ("Quillon", "Marram", "Sandpiper", "Tollgate", "Bramble", "Foxglove")
VERSIONS: Final = ("1.4", "2.0", "2.1", "3.0", "3.2")
FIGURES: Final = {
    "Capital expenditure": (
        "spend on property and equipment",
        "Purchases of property and equipment came to {n} million.",
    ),
    "Employees": ("say about how many people it employed", "At the end of the period we employed {n} people."),
    "Dividend": (
        "pay as dividend",
        "The board proposes a dividend of {n} cents a share, payable in two parts.",
    ),
    "Research": ("spend on research and development", "Spending on research and development was {n} million."),
    "Debt": ("owe as net debt", "Net debt stood at {n} million at the balance sheet date."),
    "Customers": (
        "report as number of customers",
        "We served {n} thousand customers, none of them above a tenth.",
    ),
}
SETTINGS: Final = {
    "Connections": ("the limit of open connections", "`max_open` limits open connections. Its default is {n}."),
    "Timeouts": (
        "the time after which a request is given up",
        "A request is given up after `give_up_s`, {n} by default.",
    ),
    "Cache": ("the size of the cache", "The cache takes `cache_mb`, which is {n} unless set."),
    "Logging": ("the number of log files kept", "Log files are rotated; {n} of them are kept (`keep_logs`)."),
}
FILLER: Final = (
    "What is said here holds for the whole of the period. It is reviewed every quarter, and adjusted where that is "
    "needed. Risks and limits are described in a section of their own. "
)


HISTORIES: Final = {
    "supervisor": ("CHANGES.rst",),
    "beets": ("docs/changelog.rst",),
    "gunicorn": ("docs/source/news.rst",),
    "Mopidy": ("docs/changelog.rst", *(f"docs/history/changelog-{series}.x.rst" for series in (0, 1, 2))),
    "radicale": ("CHANGELOG.md",),
}
RELEASES: Final = 20
"""Versions of each history that are asked about."""
_RELEASE: Final = re.compile(r"v?(?P<version>\d+\.\d+(?:\.\d+)?)\b[^.]{0,40}")
_RULE: Final = re.compile(r"[=~-]{4,}")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Made:
    """A document: its name, its text, and what is asked of it, with the section that answers."""

    name: str
    text: str
    questions: tuple[tuple[str, str], ...]


def _sections(told: dict[str, tuple[str, str]], draw: random.Random, level: str) -> str:
    return "\n\n".join(
        f"{level} {heading}\n\n{text.format(n=draw.randrange(10, 9999))} {FILLER * 3}"
        for heading, (_, text) in told.items()
    )


def _reports(form: str, draw: random.Random) -> Iterator[Made]:
    heads: dict[str, Callable[[str, str], str]] = {
        "in the heading": lambda who, when: f"# {who}: annual report {when}\n\n{FILLER}",
        "on the first lines": lambda who, when: f"{who}\n\nAnnual report {when}\n\n{FILLER}",
        "below a heading": lambda who, when: (
            f"# {who}\n\nFor the fiscal year ended December 31, {when}\n\n{FILLER}"
        ),
        "in the name of the file": lambda _who, _when: f"# Annual report\n\n{FILLER}",
    }
    for who in COMPANIES:
        for when in YEARS:
            name = f"{who.replace(' ', '-')}-{when}.md" if "file" in form else f"{draw.randrange(10**9):09d}.md"
            asked = tuple((f"What did {who} {verb} in {when}?", head) for head, (verb, _) in FIGURES.items())
            yield Made(name, f"{heads[form](who, when)}\n\n{_sections(FIGURES, draw, '##')}\n", asked)


def _quarters(draw: random.Random) -> Iterator[Made]:
    for who in COMPANIES:
        for when in QUARTERS:
            asked = tuple(
                (f"What did {who} {verb} in the {when.replace(' 2', ' of 2')}?", head)
                for head, (verb, _) in FIGURES.items()
            )
            text = f"# Quarterly report\n\n{who}, {when}\n\n{FILLER}\n\n{_sections(FIGURES, draw, '##')}\n"
            yield Made(f"{draw.randrange(10**9):09d}.md", text, asked)


def _manuals(draw: random.Random) -> Iterator[Made]:
    for program in PROGRAMS:
        for version in VERSIONS:
            asked = tuple(
                (f"What is {what} in {program} {version}?", head) for head, (what, _) in SETTINGS.items()
            )
            text = f"# {program} manual\n\nVersion {version}\n\n{FILLER}\n\n{_sections(SETTINGS, draw, '##')}\n"
            yield Made(f"{draw.randrange(10**9):09d}.md", text, asked)


def _histories(draw: random.Random) -> Iterator[Made]:
    packages = {
        name: package
        for file in (DATA, DEV)
        for name, package in json.loads(file.read_text("utf-8"))["packages"].items()
    }
    for name, files in HISTORIES.items():
        package = packages[name]
        archive = download(f"{name}=={package['version']}", CHAT / "packages", package["sha256"], source=True)
        with tarfile.open(archive) as packed:
            for file in files:
                content = packed.extractfile(f"{name}-{package['version']}/{file}")
                assert content is not None  # a file of a package whose hash is known
                text = content.read().decode("utf-8")
                releases = _releases(text)
                draw.shuffle(releases)
                asked = []
                for version, title in releases[:RELEASES]:
                    asked.append((f"What changed in version {version} of {name}?", title))
                    if day := _DAY.search(title):
                        asked.append((f"What did {name} release on {day[0]}?", title))
                yield Made(f"{name}-{Path(file).name}", text, tuple(asked))


def _releases(text: str) -> list[tuple[str, str]]:
    """The versions that have a section of their own, with its heading."""
    lines = text.splitlines()
    found = []
    for line, below in pairwise(lines):
        marked = line.startswith("## ")
        match = _RELEASE.fullmatch(line.removeprefix("## "))
        if match and (marked or _RULE.fullmatch(below)):
            found.append((match["version"], match[0].strip()))
    return found


def run(seed: int) -> Report:
    """Make each kind, index it by itself, and ask."""
    report = Report("reports", {"seed": seed, "companies": len(COMPANIES), "programs": len(PROGRAMS)})
    forms = ("in the heading", "on the first lines", "below a heading", "in the name of the file")
    kinds = {f"annual reports, {form}": list(_reports(form, random.Random(seed))) for form in forms}
    kinds["quarterly reports, below a heading"] = list(_quarters(random.Random(seed)))
    kinds["manuals of versions, below a heading"] = list(_manuals(random.Random(seed)))
    kinds["histories of five programs"] = list(_histories(random.Random(seed)))
    for kind, made in kinds.items():
        shutil.rmtree(HOME, ignore_errors=True)
        folder = HOME / "documents"
        folder.mkdir(parents=True)
        for one in made:
            (folder / one.name).write_text(one.text, "utf-8")
        with Engine(load_config({"db": HOME / "index.db"}, {})) as engine:
            engine.add(folder)
            first = document = five = total = 0
            for one in made:
                for question, section in one.questions:
                    hits = engine.search(question, limit=5).hits
                    own = [Path(hit.document.path).name == one.name for hit in hits]
                    right = [mine and section in hit.heading_path for mine, hit in zip(own, hits, strict=True)]
                    first, document, five = (
                        first + right[:1].count(True),
                        document + own[:1].count(True),
                        five + any(right),
                    )
                    total += 1
        report.add(f"{kind}: the section is first", first / total, f"of {total}")
        report.add(f"{kind}: its document is first", document / total, f"of {total}")
        report.add(f"{kind}: the section is in the first five", five / total, f"of {total}")
    return report


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    report = run(parser.parse_args().seed)
    report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
