"""The process that talks to Ray: `python -m outcrop.cluster.driver`, one Order on stdin, its outcomes on stdout.

    ← {}, pickled Order
    → {"delivery": true}, pickled Delivery    the outcomes of some files
    → {"lost": [positions in Order.jobs],     files that killed their workers or never came back,
       "problem": …}                          and the last error Ray logged, if any
    → {"done": true}                          every file is accounted for exactly once
    → {"error": …, "model": bool}             it cannot go on, because of the model or the cluster

Ray prints, keeps threads, changes how logging works, and puts the current folder on the module path of all workers, so
it gets a process of its own whose current folder is empty. The end of stdin ends it: its parent is done, or gone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

import ray
from ray.exceptions import RayError

from outcrop.cluster.order import LOCAL, Order, Unable
from outcrop.workers.frames import Frame, read_frame, take_pipes, write_frame

CONNECT_S: Final = 10.0
"""How long a cluster may take to answer at all; Ray itself would wait for minutes."""
TOLD_CHARACTERS: Final = 500
"""How much of an error of Ray's is shown; it may hold a traceback of some other process."""
LONGEST_FOLDER: Final = 32
"""A socket's path may have 103 characters on some systems, and Ray needs 70 of them below its folder."""
LEAVE_S: Final = 10.0
"""How long Ray may take to shut down once nobody waits for it."""


def main() -> None:
    """Fill one order."""
    orders, answers = take_pipes()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # by which `_watch` interrupts the work
    order: Order = pickle.loads(read_frame(orders)[1])  # noqa: S301  see order.py
    threading.Thread(target=_watch, args=(orders,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        try:
            with _connected(order.address):
                for header, payload in _frames(order):
                    write_frame(answers, header, payload)
        except Unable as error:
            write_frame(answers, {"error": str(error), "model": error.model})
        except RayError as error:
            write_frame(answers, {"error": f"the cluster failed: {error}", "model": False})
    os._exit(0)  # what Ray does at exit may wait for machines that are gone


def _watch(orders: BinaryIO) -> None:
    """Interrupt the work when stdin ends."""
    orders.read(1)
    leave = threading.Timer(LEAVE_S, os._exit, (1,))
    leave.daemon = True
    leave.start()
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@contextlib.contextmanager
def _connected(address: str) -> Iterator[None]:
    """Connect to the cluster at `address`, or start one here and shut it down at the end."""
    where: dict[str, Any] = {"address": address}
    if address == LOCAL:
        where["include_dashboard"] = False
        if len(here := str(Path.cwd())) <= LONGEST_FOLDER:
            where["_temp_dir"] = here  # logs and sockets, which Ray would leave in /tmp/ray
    else:
        _require_answer(address)
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())[:TOLD_CHARACTERS]
        raise Unable(
            f"Ray cannot be used at {address} ({said}): start a cluster with `ray start --head`, or leave the address "
            "out to use this machine alone"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _require_answer(address: str) -> None:
    """Fail soon if nobody listens there."""
    place = urlsplit(address if "//" in address else f"//{address}")
    if place.hostname is None or place.port is None:
        return  # "auto", which Ray looks up by itself
    try:
        socket.create_connection((place.hostname, place.port), CONNECT_S).close()
    except OSError as error:
        raise Unable(
            f"no Ray cluster answers at {address} ({error.strerror or error}): check the address, and that the cluster "
            "runs (`ray status` on one of its machines)"
        ) from error


def _frames(order: Order) -> Iterator[Frame]:
    from outcrop.cluster.dataset import Filling

    if not order.address.startswith("ray://"):
        filling = Filling(order)
        while (frame := filling.next()) is not None:
            yield frame
        return
    # Ray Data does not run in a client: an actor of the cluster drives, and is asked for one frame ahead.
    actor = ray.remote(num_cpus=0)(Filling).remote(order)
    coming = actor.next.remote()
    while (frame := ray.get(coming)) is not None:
        coming = actor.next.remote()
        yield frame


if __name__ == "__main__":
    main()
