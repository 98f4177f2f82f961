"""The process in which pages are drawn and read: `python -m outcrop.parse.scan.worker MEMORY_BYTES FOLDER THREADS`.

    {"op": "open", "kind": "pdf"}, a file   → {"pages": …}
    {"op": "draw", "page": n}                 → {"name": …}; with "whole", also the picture
    {"op": "read"}                            → {"lines": [[starts a block, [[text, x, y, width, height], …]], …]}

It reads the page that was drawn last. An answer with `error` says what is wrong with the file or the page. FOLDER has
the models; without one it only draws.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outcrop.errors import ParseError
from outcrop.parse.scan.sheet import Sheet, Sheets, open_sheets
from outcrop.workers.bounds import limit_memory, limit_processor, mapped_bytes
from outcrop.workers.frames import Frame, read_frame, take_pipes, write_frame

if TYPE_CHECKING:
    from outcrop.parse.scan.models import ModelReader


class Desk:
    """The file that is open, and the page that lies on top."""

    def __init__(self, reader: ModelReader | None) -> None:
        self._reader = reader
        self._sheets: Sheets | None = None
        self._sheet: Sheet | None = None

    def answer(self, header: dict[str, Any], data: bytes) -> Frame:
        """Do what a frame asks for."""
        if header["op"] == "open":
            self._sheets, self._sheet = open_sheets(header["kind"], data), None
            return {"pages": self._sheets.pages}, b""
        if header["op"] == "draw" and self._sheets is not None:
            self._sheet = None  # of two pages only one is in memory
            self._sheet = self._sheets.draw(header["page"])
            return {"name": self._sheet.name}, self._sheet.as_ppm() if header["whole"] else b""
        if self._sheet is None or self._reader is None:
            raise ParseError("there is no page to read")
        return {"lines": [(line.starts_block, line.words) for line in self._reader.read(self._sheet)]}, b""


def main() -> None:
    """Answer frames until stdin ends."""
    requests, answers = take_pipes()
    memory_bytes, folder, threads = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    reader = None
    if folder:
        from outcrop.parse.scan.models import ModelReader

        reader = ModelReader(Path(folder), threads)
    desk = Desk(reader)
    limit_memory(memory_bytes + mapped_bytes())
    write_frame(answers, {"ready": True})
    while True:
        try:
            header, data = read_frame(requests)
        except EOFError:
            return
        limit_processor(header["timeout_s"] * max(1, threads))
        try:
            answer, payload = desk.answer(header, data)
        except ParseError as error:
            answer, payload = {"error": str(error)}, b""
        except MemoryError:
            limit = f"{memory_bytes // 1024**2} MiB of memory"
            answer, payload = {"error": f"needs more than {limit}; raise parse_memory_bytes"}, b""
        except Exception as error:  # noqa: BLE001  whatever a library raises for a bad file is that file's failure
            said = " ".join(str(error).split())[:200] or type(error).__name__
            answer, payload = {"error": f"cannot be read ({said.encode('ascii', 'replace').decode()})"}, b""
        write_frame(answers, answer, payload)


if __name__ == "__main__":
    main()
