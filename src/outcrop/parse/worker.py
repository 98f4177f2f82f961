"""The process in which libraries read untrusted files: `python -m outcrop.parse.worker MEMORY_BYTES`.

It answers frames on stdin with frames on stdout until stdin ends, which is also how it learns that its parent is gone.
It limits its own memory, and its CPU time in case the parent is not there to kill it.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import asdict, replace
from typing import Any, BinaryIO

from outcrop.errors import ParseError
from outcrop.parse.formats import LIBRARY_FORMATS
from outcrop.parse.limits import RawFile
from outcrop.records import Document
from outcrop.records.meta import dump_meta, fit_meta
from outcrop.workers.bounds import limit_memory, limit_processor, mapped_bytes
from outcrop.workers.frames import Frame, read_frame, take_pipes, write_frame


def main() -> None:
    """Answer frames until stdin ends."""
    requests, answers = take_pipes()  # stderr is /dev/null already
    memory_bytes = int(sys.argv[1])
    mapped_at_start = mapped_bytes()
    limit_memory(memory_bytes + mapped_at_start)
    write_frame(answers, {"ready": True})
    while _answer_one(requests, answers, memory_bytes, mapped_at_start):
        pass


def _answer_one(requests: BinaryIO, answers: BinaryIO, memory_bytes: int, mapped_at_start: int) -> bool:
    try:
        header, data = read_frame(requests)
    except EOFError:
        return False
    limit_processor(header["timeout_s"])
    try:
        answer, payload = _draw(header, data) if "page" in header else _read(header, data)
    except ParseError as error:
        answer, payload = {"error": str(error)}, b""
    except RecursionError:
        answer, payload = {"error": "nested too deeply; flatten it or exclude it"}, b""
    except MemoryError:
        limit = f"{memory_bytes // 1024**2} MiB of memory"
        answer, payload = {"error": f"needs more than {limit}; split it or raise parse_memory_bytes"}, b""
    except Exception as error:  # noqa: BLE001  whatever a library raises for a bad file is that file's failure
        answer, payload = {"error": _describe(header["kind"], error)}, b""
    # Memory one file leaves mapped is not there for the next; past half the limit it is time for a new process (0.2 s).
    answer["worn"] = mapped_bytes() - mapped_at_start > memory_bytes // 2
    write_frame(answers, answer, payload)
    return True


def _read(header: dict[str, Any], data: bytes) -> Frame:
    """The document in a file: its fields, and its text as the payload."""
    module = importlib.import_module(LIBRARY_FORMATS[header["kind"]].module)
    document: Document = module.read(RawFile(data, header["path"], header["charset"], header["max_text_chars"]))
    fields = asdict(replace(document, text="", meta={}))
    return fields | {"meta": dump_meta(fit_meta(document.meta))}, document.text.encode("utf-8")


def _draw(header: dict[str, Any], data: bytes) -> Frame:
    """The picture of a page."""
    from outcrop.parse import picture  # few are ever drawn

    if header["kind"] == "image":
        return picture.draw_image(data, header["page"], header["width"])
    return picture.draw_page(data, header["page"], header["width"], header["passage"])


def _describe(kind: str, error: Exception) -> str:
    detail = " ".join(str(error).split())[:200] or type(error).__name__
    detail = detail.encode("ascii", "replace").decode("ascii")
    return f"damaged or not {kind} ({detail}); open it in its own program and save it again"


if __name__ == "__main__":
    main()
