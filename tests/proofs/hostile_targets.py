"""Targets that do to their process what fuzzing looks for."""

from __future__ import annotations

import os
import random
import signal
import time

from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target

BAD = b"bad"


def _make(chance: random.Random, _seeds: Seeds) -> bytes:
    return BAD if chance.randrange(400) == 0 else b"fine"


def _die(data: bytes) -> None:
    if data == BAD:
        os.kill(os.getpid(), signal.SIGKILL)


def _hang(data: bytes) -> None:
    while data == BAD:
        pass


def _eat(data: bytes) -> None:
    if data == BAD:
        held = b"x" * 120_000_000
        while held:
            time.sleep(0.01)


TARGETS = {
    "dies": Target("dies", 1, _make, _die, "lives"),
    "hangs": Target("hangs", 1, _make, _hang, "ends", deadline_s=0.5),
    "eats": Target("eats", 1, _make, _eat, "takes little", growth_bytes=60_000_000),
}
