"""The process in which libraries read untrusted files: `python -m outcrop.parse.worker MEMORY_BYTES`.

It answers frames on stdin with frames on stdout until stdin ends, which is also how it learns that its parent is gone.
It limits its own memory, and its CPU time in case the parent is not there to kill it.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

from outcrop.errors import ParseError
from outcrop.parse.formats import LIBRARY_FORMATS
from outcrop.parse.limits import RawFile
from outcrop.records import Document
from outcrop.records.meta import dump_meta, fit_meta
from outcrop.workers.frames import Frame, read_frame, take_pipes, write_frame

try:
    import resource
except ImportError:  # Windows: the parent's deadline is the only limit there
    resource = None  # type: ignore[assignment]

# The parent kills at the deadline; if it is gone, the kernel does after this much more CPU time.
_CPU_GRACE_S = 10


def main() -> None:
    """Answer frames until stdin ends."""
    requests, answers = take_pipes()  # stderr is /dev/null already
    memory_bytes = int(sys.argv[1])
    mapped_at_start = _mapped_bytes()
    _limit_memory(memory_bytes + mapped_at_start)
    write_frame(answers, {"ready": True})
    while _answer_one(requests, answers, memory_bytes, mapped_at_start):
        pass


def _answer_one(requests: BinaryIO, answers: BinaryIO, memory_bytes: int, mapped_at_start: int) -> bool:
    try:
        header, data = read_frame(requests)
    except EOFError:
        return False
    _limit_processor(header["timeout_s"])
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
    answer["worn"] = _mapped_bytes() - mapped_at_start > memory_bytes // 2
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
    from outcrop.parse.picture import draw_page  # few are ever drawn

    return draw_page(data, header["page"], header["width"], header["passage"])


def _describe(kind: str, error: Exception) -> str:
    detail = " ".join(str(error).split())[:200] or type(error).__name__
    detail = detail.encode("ascii", "replace").decode("ascii")
    return f"damaged or not {kind} ({detail}); open it in its own program and save it again"


def _limit_memory(limit: int) -> None:
    """Limit the address space to `limit` bytes and turn off core dumps. The limit includes what the interpreter had
    mapped at its start: thread stacks and libraries do not count against the file."""
    if resource is None:
        return
    limits: dict[int, tuple[int, int]] = {resource.RLIMIT_CORE: (0, 0)}
    if hasattr(resource, "RLIMIT_AS"):
        limits[resource.RLIMIT_AS] = (limit, limit)
    for which, pair in limits.items():
        try:
            resource.setrlimit(which, pair)
        except (OSError, ValueError):  # macOS refuses some; an inherited limit is lower already
            continue


def _limit_processor(timeout_s: float) -> None:
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + timeout_s) + _CPU_GRACE_S
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _mapped_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
