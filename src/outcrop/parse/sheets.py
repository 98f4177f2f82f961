"""Spreadsheets (Excel's formats and OpenDocument): a sheet is a page with a heading, a row is a line of values."""

from __future__ import annotations

import datetime
import io

import python_calamine

from outcrop.errors import ParseError
from outcrop.parse.limits import RawFile
from outcrop.parse.office import check_archive
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter
from outcrop.records import Document


def read(raw: RawFile) -> Document:
    """A workbook as text, one page per sheet."""
    if raw.data.startswith(b"PK"):
        check_archive(raw.data)
    try:
        workbook = python_calamine.load_workbook(io.BytesIO(raw.data))
    except python_calamine.PasswordError as error:
        raise ParseError("encrypted; save it without a password") from error
    except python_calamine.CalamineError as error:
        raise ParseError(f"damaged workbook ({str(error)[:200]}); open it and save it again") from error
    writer = TextWriter(raw.max_text_chars)
    for name in workbook.sheet_names:
        writer.start_page()
        try:
            sheet = workbook.get_sheet_by_name(name)
        except python_calamine.CalamineError:  # a chart or macro sheet holds no cells
            continue
        writer.write_heading(1, name)
        gap = "\n\n"
        for row in sheet.iter_rows():
            values = [_show(value) for value in row]
            while values and not values[-1]:
                values.pop()
            if values:
                writer.write(" | ".join(values), gap)
                gap = "\n"
    text = writer.finish()
    return Document(
        text=text,
        kind="xlsx",
        title=cut_title(file_stem(raw.path)),
        headings=tuple(writer.headings),
        pages=tuple(writer.pages),
    )


def _show(value: object) -> str:
    """A cell as people see it: whole numbers without a fraction, others as exact as Excel has them, dates without a
    midnight."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return " ".join(str(value).split())
