"""A page read by the system's Tesseract: a picture on its stdin, words with their boxes on its stdout."""

from __future__ import annotations

from typing import Final

from outcrop.errors import ParseError
from outcrop.records import ScanLine, ScanWord
from outcrop.workers.process import ChildLost, run_program

WORD: Final = "5"
"""The level of a row that is a word."""
MIN_SURE: Final = 30.0
"""Words that are read less surely, of 100, are stains (not measured)."""


def read_by_tesseract(ppm: bytes, dpi: int, languages: str, timeout_s: float) -> list[ScanLine]:
    """The lines of a page; ParseError when it fails or takes too long. The picture is one that we drew."""
    command = ("tesseract", "stdin", "stdout", "-l", languages, "--dpi", str(dpi), "--psm", "1", "tsv")
    try:
        said = run_program(command, ppm, within_s=timeout_s)
    except OSError as error:
        raise ParseError(f"Tesseract could not be started: {error}") from error
    except ChildLost as lost:
        if lost.expired:
            raise ParseError(f"takes longer than {timeout_s:g} s to read; raise parse_timeout_s") from lost
        raise ParseError(f"Tesseract {lost} ({lost.how})") from lost
    try:
        return read_rows(said.decode("utf-8", "replace"))
    except ValueError as error:
        raise ParseError(f"Tesseract answered with what is no table of words ({error})") from error


def read_rows(said: str) -> list[ScanLine]:
    """The lines in Tesseract's table of words; ValueError where a number is none."""
    lines: list[ScanLine] = []
    size, words = (1.0, 1.0), list[ScanWord]()
    place: tuple[str, ...] = ()
    for row in said.splitlines()[1:]:
        fields = row.split("\t")
        if len(fields) != 12:
            continue
        level, *at, left, top, width, height, sure, text = fields
        if level == "1":
            size = (float(width) or 1.0, float(height) or 1.0)
        if level != WORD or not text.strip() or float(sure) < MIN_SURE:
            continue
        here = (at[1], at[2], at[3])
        if here != place:
            words = []
            lines.append(ScanLine((), here[:2] != place[:2]))
            place = here
        box = (float(left) / size[0], float(top) / size[1], float(width) / size[0], float(height) / size[1])
        words.append(ScanWord(text.strip(), *(round(side, 5) for side in box)))
        lines[-1] = ScanLine(tuple(words), lines[-1].starts_block)
    return lines
