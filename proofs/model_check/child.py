"""Processes for the model check: one that is warm and opens nothing, and its children, which open an index and do one
operation, or are killed in the middle of it.

A child that shall die counts the calls that Python makes, into C as well, and kills itself with SIGKILL at a given one:
the same operation on the same index dies at the same place, so that a failure can be replayed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.report import ROOT  # first: it holds numpy to one core

from proofs.model_check.ops import make_embedder, open_place, perform, small_sizes  # isort: skip
from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder  # noqa: F401 - loaded here once
from proofs.model_check.state import EMBEDDERS, Op


class Children:
    """Has operations done by processes of their own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, home: Path, db: str, embedder: str, op: Op, *, die_at: int = 0, to: str = "") -> None:
        """Begin an operation in a new process; it dies at that call, if any. `to` is where a move goes."""
        request = {"home": str(home), "db": db, "embedder": embedder, "op": op, "die_at": die_at, "to": to}
        self._stream(self._process.stdin).write(json.dumps(request) + "\n")
        self._stream(self._process.stdin).flush()

    def wait(self) -> bool:
        """Whether it came to its end; False when it was killed. Raises what it could not do."""
        answer = json.loads(self._stream(self._process.stdout).readline())
        if answer["error"]:
            raise AssertionError(f"a process failed: {answer['error']}")
        return bool(answer["done"])

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream


@contextmanager
def open_children() -> Iterator[Children]:
    """The warm process, and an end to it."""
    command = [sys.executable, "-m", "proofs.model_check.child"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Children(process)
        assert process.stdin is not None
        process.stdin.close()


def main() -> None:
    """Fork a child for each line."""
    import outcrop.code.request
    import outcrop.maintain.compare
    import outcrop.maintain.copy
    import outcrop.parse.code
    import outcrop.store.postgres
    import outcrop.store.postgres.in_place.derive
    import outcrop.store.sqlite.store  # noqa: F401 - so that a child need not

    embedders = {name: make_embedder(name) for name in EMBEDDERS}
    for embedder in embedders.values():
        embedder.embed_query("warm")
    for line in sys.stdin:
        request = json.loads(line)
        error = Path(request["home"]) / "error.txt"
        error.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _work(request, embedders, error)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        said = error.read_text("utf-8") if error.exists() else ""
        if not said and not killed and status:
            said = f"it ended with {status}"
        sys.stdout.write(json.dumps({"done": not killed, "error": said}) + "\n")
        sys.stdout.flush()


def _work(request: dict[str, Any], embedders: dict[str, Embedder], error: Path) -> None:
    try:
        with small_sizes():
            embedder = embedders[request["embedder"]]
            place = open_place(Path(request["home"]), request["db"], embedder)
            other = open_place(place.home, request["to"], embedder) if request["to"] else None
            if request["die_at"]:
                _die_at(request["die_at"])
            if other is not None:
                place.engine.move_to(other.engine)
            else:
                perform(place, request["op"])
            sys.setprofile(None)
            place.close()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a fork must end here, whatever happens, and the parent must hear of it
        sys.setprofile(None)
        error.write_text(traceback.format_exc(), "utf-8")
    os._exit(3)


def _die_at(call: int) -> None:
    left = call

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


if __name__ == "__main__":
    main()
