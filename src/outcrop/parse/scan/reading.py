"""The parent's side of the process that reads pages: started with the first page, watched, ended with the work.

A page that takes too long or too much memory ends the process; the next page starts another.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Final, Self

from outcrop.errors import ParseError
from outcrop.parse.limits import ParseLimits
from outcrop.parse.scan.engines import ScanEngine
from outcrop.parse.scan.tesseract import read_by_tesseract
from outcrop.records import ScanLine, ScanWord
from outcrop.system.machine import usable_cores
from outcrop.workers.frames import Frame
from outcrop.workers.process import Child, ChildLost

START_S: Final = 60.0
"""Both models load in half a second of CPU; a loaded machine with a cold disk takes longer."""
MAX_THREADS: Final = 2
"""Lines that are read at a time; each takes memory, of which there are 700 MB for all."""
DPI: Final = 200
"""What Tesseract is told: pages of a PDF are drawn at this."""
_turns: Final = threading.Lock()


class ScanReader:
    """Reads the pages of one file after the other. One thread of a process at a time does: others wait their turn."""

    def __init__(self, engine: ScanEngine, limits: ParseLimits) -> None:
        self._engine = engine
        self._limits = limits
        self._worker: Child | None = None
        self._file: tuple[str, bytes] = ("", b"")
        self._ppm = b""

    def __enter__(self) -> Self:
        _turns.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop()
        finally:
            _turns.release()

    def open(self, kind: str, data: bytes) -> int:
        """Open a file; how many pages it has. ParseError when it cannot be read."""
        self._file = (kind, data)
        return self._open()

    def draw(self, page: int) -> str:
        """Draw a page; the hash of what it shows. ParseError when it cannot be drawn."""
        if self._worker is None:
            self._open()
        whole = self._engine.name == "tesseract"
        answer, self._ppm = self._ask({"op": "draw", "page": page, "whole": whole})
        return str(answer["name"])

    def read(self) -> tuple[ScanLine, ...]:
        """The lines of the page that was drawn last. ParseError when it cannot be read."""
        if self._engine.name == "tesseract":
            ppm, self._ppm = self._ppm, b""
            return tuple(read_by_tesseract(ppm, DPI, self._engine.languages, self._limits.timeout_s))
        answer, _ = self._ask({"op": "read"})
        return tuple(
            ScanLine(tuple(ScanWord(*word) for word in words), starts) for starts, words in answer["lines"]
        )

    def _open(self) -> int:
        kind, data = self._file
        answer, _ = self._ask({"op": "open", "kind": kind}, data)
        return int(answer["pages"])

    def _ask(self, header: dict[str, Any], data: bytes = b"") -> Frame:
        timeout_s = self._limits.timeout_s
        try:
            if self._worker is None:
                self._worker = self._start()
            answer, payload = self._worker.ask(header | {"timeout_s": timeout_s}, data, within_s=timeout_s)
        except ChildLost as lost:
            self._stop()
            if lost.expired:
                raise ParseError(f"takes longer than {timeout_s:g} s to read; raise parse_timeout_s") from lost
            limit = f"{self._limits.memory_bytes // 1024**2} MiB of memory (parse_memory_bytes)"
            raise ParseError(f"the reader crashed ({lost.how}), or needs more than {limit}") from lost
        if "error" in answer:
            raise ParseError(answer["error"])
        return answer, payload

    def _start(self) -> Child:
        threads = min(MAX_THREADS, usable_cores())
        arguments = (str(self._limits.memory_bytes), self._engine.folder, str(threads))
        try:
            worker = Child("outcrop.parse.scan.worker", *arguments)
        except OSError as error:
            raise ParseError(f"the process that reads pages could not start: {error}") from error
        worker.receive(within_s=START_S)
        return worker

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        self._worker = None
