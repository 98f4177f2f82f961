"""Jupyter notebooks: prose as is, code fenced, results only where short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from outcrop.errors import ParseError
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.limits import MAX_HEADINGS, RawFile
from outcrop.parse.markdown import find_headings
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter
from outcrop.records import Document, Heading

# A number or a small table is informative; a training log is not.
_MAX_OUTPUT_CHARS = 1000


def read(raw: RawFile) -> Document:
    """A notebook of format 3 or 4 as Markdown."""
    try:
        source, remark = decode_with_remark(raw.data)
        notebook = json.loads(source)
    except json.JSONDecodeError as error:
        raise ParseError(f"not a notebook: invalid JSON at line {error.lineno}; save it again") from error
    if not isinstance(notebook, dict):
        raise ParseError("not a notebook: it holds no cells")
    language = _language(notebook)
    writer = TextWriter(raw.max_text_chars)
    headings: list[Heading] = []
    for cell in _cells(notebook):
        source = _joined(cell.get("source", cell.get("input", "")))
        if cell.get("cell_type") == "code":
            _write_fenced(writer, source, language)
            for output in _outputs(cell):
                _write_fenced(writer, output, "")
        elif cell.get("cell_type") in {"markdown", "heading", "raw"}:
            if cell["cell_type"] == "heading":
                source = f"{'#' * _level(cell)} {' '.join(source.split())}"
            start = writer.write(source.strip("\n"))
            if cell["cell_type"] != "raw":
                written = writer.last_block
                headings += [Heading(h.level, h.title, h.start + start) for h in find_headings(written)]
    text = writer.finish()
    top = next((h.title for h in headings if h.level == 1), headings[0].title if headings else "")
    return Document(
        text=text,
        kind="notebook",
        title=cut_title(top) or file_stem(raw.path),
        headings=tuple(headings[:MAX_HEADINGS]),
        meta={"language": language} if language else {},
        remark=remark,
    )


def _cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = notebook.get("worksheets")
    parts = [notebook, *(sheets if isinstance(sheets, list) else ())]
    for part in parts:
        cells = part.get("cells") if isinstance(part, dict) else None
        for cell in cells if isinstance(cells, list) else ():
            if isinstance(cell, dict):
                yield cell


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for name in ("language_info", "kernelspec"):
        info = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(info, dict):
            language = info.get("name") if name == "language_info" else info.get("language")
            if isinstance(language, str) and language.replace("+", "").replace("#", "").isalnum():
                return language.encode("ascii", "ignore").decode("ascii")[:40]
    return ""


def _level(cell: dict[str, Any]) -> int:
    level = cell.get("level")
    return min(6, max(1, level)) if isinstance(level, int) else 1


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    """Plain text of the results, where short."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = _joined(data.get("text/plain", "") if isinstance(data, dict) else output.get("text", ""))
        if text.strip() and len(text) <= _MAX_OUTPUT_CHARS:
            yield text


def _joined(source: object) -> str:
    """Notebooks keep text as one string or as a list of lines."""
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""


def _write_fenced(writer: TextWriter, code: str, language: str) -> None:
    if code.strip():
        fence = "```" if "```" not in code else "`" * 8
        code = code.strip("\n")
        writer.write(f"{fence}{language}\n{code}\n{fence}")
