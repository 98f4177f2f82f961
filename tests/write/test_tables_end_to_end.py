"""One long table in every format that has tables: each piece knows its header, and a cell is found by its names."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pytest
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, TableStyle
from reportlab.platypus import Table as Drawn

import outcrop

HEADER = ["Material", "Revenue", "Harbour fee"]
KINDS = "Brass Copper Iron Oak Pine Tin Zinc Silk Hemp Steel".split()
FORMS = "bolt chain hook rope nail plank sheet ring wedge frame bar pin".split()
ROWS = [
    [f"{kind} {form}", f"{1_234_567 + 1_000 * number:,}", str(number)]
    for number, (kind, form) in enumerate((kind, form) for kind in KINDS for form in FORMS)
]
CAPTION = "Table 3: Materials landed at Portsea"


def _markdown(path: Path) -> None:
    lines = ["# Ledger", "", CAPTION, "", f"| {' | '.join(HEADER)} |", "|---|---|---|"]
    path.write_text("\n".join([*lines, *(f"| {' | '.join(row)} |" for row in ROWS)]), "utf-8")


def _csv(path: Path) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([HEADER, *ROWS])
    path.write_text(text.getvalue(), "utf-8")


def _html(path: Path) -> None:
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
    head = "".join(f"<th>{name}</th>" for name in HEADER)
    path.write_text(f"<h1>Ledger</h1><table><caption>{CAPTION}</caption><tr>{head}</tr>{rows}</table>", "utf-8")


def _word(path: Path) -> None:
    document = docx.Document()
    document.add_paragraph(CAPTION)
    table = document.add_table(len(ROWS) + 1, 3)
    for cell, said in zip(table._cells, [name for row in (HEADER, *ROWS) for name in row], strict=True):
        cell.text = said
    document.save(str(path))


def _excel(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = CAPTION.replace(":", "")[:31]
    for row in (HEADER, *([name, int(sum_.replace(",", "")), int(fee)] for name, sum_, fee in ROWS)):
        book.active.append(row)
    book.save(path)


def _pdf(path: Path) -> None:
    style = getSampleStyleSheet()["Normal"]
    grid = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")])
    SimpleDocTemplate(str(path)).build([Paragraph(CAPTION, style), Drawn([HEADER, *ROWS], style=grid)])


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("t.md", _markdown),
        ("t.csv", _csv),
        ("t.html", _html),
        ("t.docx", _word),
        ("t.xlsx", _excel),
        ("t.pdf", _pdf),
    ],
)
def test_a_cell_is_found_by_row_and_column_and_each_piece_knows_its_header(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / name)
    with outcrop.open(tmp_path / "i.db") as kb:
        assert kb.add(tmp_path / name).failed == ()
        chunks = list(kb.iter_chunks())
        assert len(chunks) > 3
        for chunk in chunks[1:]:
            known = " ".join((*chunk.heading_path, chunk.text))
            assert all(column in known for column in HEADER)
            assert name == "t.csv" or "Materials landed" in known
        for asked in ("Pine rope harbour fee", "what is the harbour fee of the pine rope"):
            best = kb.search(asked, merge=False).hits[0]
            assert "Pine rope" in best.text
        number = ROWS[74][1]
        for written in (number, number.replace(",", "")):
            best = kb.search(f"revenue {written}", merge=False).hits[0]
            assert ROWS[74][0] in best.text
            shown = number.replace(",", "") if name == "t.xlsx" else number
            assert shown in best.text, "shown as it is written"
