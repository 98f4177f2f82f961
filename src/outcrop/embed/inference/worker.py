"""The process in which transformers run: `python -m outcrop.embed.inference.worker`.

It answers frames on stdin with frames on stdout, one at a time:

    {"op": "open", "model": n, "spec": {…}}                  → {"width": …}
    {"op": "run", "model": n, "items": [[…], …], "seconds": s}  → {"done": k, "width": …}, k rows of float32
    {"op": "drop", "model": n}, {"op": "ping"}                 → {}

An answer with `error` says what is wrong with the model, or with the item after those that are done. Every answer has
the process's `memory` in bytes. The end of stdin ends it at once, even in the middle of a run: its parent is done, or
gone.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import numpy as np

from outcrop.embed.inference.loaded import Loaded
from outcrop.embed.transformer import ModelSpec
from outcrop.errors import EmbedError
from outcrop.workers.frames import read_frame, take_pipes, write_frame

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

Header = dict[str, Any]


def main() -> None:
    """Answer frames until stdin ends."""
    requests, answers = take_pipes()
    waiting: SimpleQueue[Header] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    sessions: dict[int, Loaded] = {}
    while True:
        answer, payload = _answer(waiting.get(), sessions)
        answer["memory"] = _memory_bytes()
        try:
            write_frame(answers, answer, payload)
        except OSError:  # nobody listens any more
            os._exit(0)


def _receive(requests: BinaryIO, waiting: SimpleQueue[Header]) -> None:
    """Read ahead on a thread of its own, to notice the parent's end while the model is busy."""
    try:
        while True:
            waiting.put(read_frame(requests)[0])
    except (EOFError, OSError):
        os._exit(0)


def _answer(header: Header, sessions: dict[int, Loaded]) -> tuple[Header, bytes]:
    match header["op"]:
        case "open":
            try:
                session = _load(ModelSpec(**header["spec"]))
            except EmbedError as error:
                return {"error": str(error)}, b""
            sessions[header["model"]] = session
            return {"width": session.width}, b""
        case "run":
            session = sessions[header["model"]]
            rows, problem = session.run_many(header["items"], header["seconds"])
            answer: Header = {"done": len(rows), "width": session.width}
            if problem:
                answer["error"] = problem
            return answer, np.concatenate(rows).tobytes() if rows else b""
        case "drop":
            sessions.pop(header["model"]).close()
    return {}, b""


def _load(spec: ModelSpec) -> Loaded:
    if spec.reads == "e5":
        from outcrop.embed.inference.e5 import E5Session

        return E5Session(spec)
    from outcrop.embed.inference.session import Session

    return Session(spec)


def _memory_bytes() -> int:
    """The process's resident memory, or its peak where the system tells only that."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if resource is None:
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    main()
