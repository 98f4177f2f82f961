"""Titles that tell a report from others alike: who and when, from its first lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import outcrop
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits

LIMITS = ParseLimits(timeout_s=60, memory_bytes=1 << 30)


def title_of(text: str, path: str = "a.md") -> str:
    return parse(text.encode(), path=path, limits=LIMITS).title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Alder Steel\n\nFiscal year 2019\n\nAll went well.\n", "Alder Steel, Fiscal year 2019"),
        ("Alder Steel\n\nAnnual report 2019\n\n## Debt\n\nNone.\n", "Alder Steel, Annual report 2019"),
        ("# Quillon manual\n\n**Version 2.1**\n\n## Cache\n\nSmall.\n", "Quillon manual, Version 2.1"),
        ("# Bericht\n\nGeschäftsjahr 2020\n", "Bericht, Geschäftsjahr 2020"),
        # what is no name of the whole
        ("# Alder Steel 2018\n\nPrinted in 2019\n", "Alder Steel 2018"),
        ("# Alder Steel\n\nIt was founded in 1990, and has grown ever since.\n", "Alder Steel"),
        ("# Alder Steel\n\nCopyright 2019 Alder\n", "Alder Steel"),
        ("# Alder Steel\n\n- 2019\n- 2020\n", "Alder Steel"),
        ("# Alder Steel\n\n2019 2018 2017\n", "Alder Steel"),
        ("def read(version):\n    v = version[0]\n    then = stamp(2019)\n", "def read(version):"),
        ("# Alder Steel\n\n## Debt\n\n## History\n\n2019\n", "Alder Steel"),
        ("Some words about it.\n\n## Install\n\nRun it.\n", "Install"),
        ("Welcome\n\n## Install\n\nRun it.\n", "Install"),
        ("---\ntitle: Notes\ndate: 2019-01-01\n---\n\n2019\n", "Notes"),
        ("# A\n" + "word\n" * 10 + "2019\n", "A"),
    ],
)
def test_a_title_takes_who_and_when_from_the_first_lines(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_text_without_headings_is_named_too() -> None:
    assert (
        title_of("Kestrel Energy\nThird quarter 2021\n\nProse.\n", "a.txt")
        == "Kestrel Energy, Third quarter 2021"
    )
    assert title_of("key: value\nyear: 2021\n", "a.yaml") == "a"


def test_the_report_of_a_year_is_found_by_its_section(tmp_path: Path) -> None:
    for year in range(2015, 2021):
        debt = f"## Debt\n\nNet debt stood at {year % 7} million.\n\n## Tax\n\nLow.\n"
        text = f"Alder Steel\n\nAnnual report {year}\n\n{debt}"
        (tmp_path / f"{year * 7919 % 1000}.md").write_text(text)
    with outcrop.open(tmp_path / "data" / "index.db") as engine:
        engine.add(tmp_path)
        for year in (2015, 2018, 2020):
            hit = engine.search(f"What was the net debt of Alder Steel in {year}?").hits[0]
            assert (hit.document.title, "Net debt" in hit.text) == (f"Alder Steel, Annual report {year}", True)
