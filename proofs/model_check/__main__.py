"""Random operations on a real index beside a model in memory: after each both must say the same.

    python -m proofs.model_check --ops 200000 --seed 1 [--store sqlite|postgres|both]
    python -m proofs.model_check --replay .artifacts/model/failed-….json [--shrink]

Folders, texts and notes are added, changed, deleted, moved and renamed, searched with filters, listed, embedded with
another model, moved to another store (with `both` from one kind to the other), watched; two engines and other processes
write and read at once; processes are killed with SIGKILL in the middle of a write. What is checked after each operation
says `model_check/verify.py`; what an operation means, `model_check/state.py`.

A run is made of episodes of a thousand operations, each on an index of its own and drawn from (seed, episode) alone. A
failing one is made short, by leaving out what is not needed, and kept as a file to be replayed. Exits with 1 then.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import secrets
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from benchmarks.report import ROOT, Report, cpu_s, say  # first: it holds numpy to one core

from proofs.model_check.child import Children, open_children  # isort: skip
from tests.postgres.server import PostgresServer, create_server, open_home

from outcrop.contracts import Embedder
from proofs.model_check.draw import Drawer
from proofs.model_check.ops import make_embedder, small_sizes
from proofs.model_check.state import EMBEDDERS, Op
from proofs.model_check.world import Where, World

EPISODE_OPS: Final = 1000
"""Operations one index lives through: enough for damage to add up, few enough to be replayed in seconds."""
SHRINK_S: Final = 600.0
"""How long a failing episode is made shorter (not measured)."""

Store = Literal["sqlite", "postgres", "both"]


@dataclass(slots=True)
class Grounds:
    """Where episodes take place: a folder, a server where one is wanted, and warm processes."""

    folder: Path
    children: Children
    server: PostgresServer | None
    embedders: dict[str, Embedder] = field(default_factory=dict)


@contextmanager
def open_grounds(server: PostgresServer | None = None, *, start_server: bool = False) -> Iterator[Grounds]:
    """A folder in memory where there is one, processes, and a server, all gone afterwards."""
    memory = Path("/dev/shm")
    parent = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with ExitStack() as stack:
        if server is None and start_server:
            server = create_server(stack.enter_context(open_home()), "model")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outcrop-model-", dir=parent)))
        stack.enter_context(small_sizes())
        yield Grounds(folder, stack.enter_context(open_children()), server)


@dataclass(frozen=True, slots=True)
class Episode:
    """A sequence of operations, and the store that it begins with."""

    store: Store
    ops: Sequence[Op]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """At which operation of an episode what was wrong."""

    episode: Episode
    at: int
    problems: tuple[str, ...]


def draw(store: Store, seed: int, number: int, ops: int = EPISODE_OPS, *, light: bool = False) -> Episode:
    """The n-th episode of a seed."""
    drawer = Drawer(f"{seed}-{number}", light=light)
    return Episode(store, [drawer.draw() for _ in range(ops)], f"{seed}-{number}")


def play(grounds: Grounds, episode: Episode, tally: Counter[str] | None = None) -> Failure | None:
    """Do the operations of an episode on a new index; the first failure."""
    home = grounds.folder / secrets.token_hex(4)
    schemas = [f"m_{home.name}_{number}" for number in range(200)]
    used: set[str] = set()
    world = None
    try:
        world = World(
            home, _places(grounds, episode, home, schemas, used), grounds.children, _embedders(grounds)
        )
        for at, op in enumerate(episode.ops):
            try:
                problems = world.step(op)
            except Exception:  # noqa: BLE001 - whatever it is, an operation must not raise it
                problems = [traceback.format_exc()]
            if problems:
                return Failure(episode, at, tuple(problems))
            if tally is not None:
                tally[" ".join((op[0], op[1][0])) if op[0] == "crash" else op[0]] += 1
        return None
    finally:
        if world is not None:
            world.close()
        shutil.rmtree(home, ignore_errors=True)
        for schema in used:
            assert grounds.server is not None
            grounds.server.drop(schema)


def _places(grounds: Grounds, episode: Episode, home: Path, schemas: list[str], used: set[str]) -> Where:
    def place_of(number: int) -> str:
        on_server = episode.store == "postgres" or (episode.store == "both" and number % 2)
        if not on_server:
            return str(home / f"index-{number}.db")
        assert grounds.server is not None
        used.add(schemas[number])
        return grounds.server.url(schemas[number])

    return place_of


def _embedders(grounds: Grounds) -> dict[str, Embedder]:
    if not grounds.embedders:
        grounds.embedders = {name: make_embedder(name) for name in EMBEDDERS}
    return grounds.embedders


# ------------------------------------------------------------------ shrinking


def shrink(fails: Callable[[Sequence[Op]], bool], ops: Sequence[Op], seconds: float = SHRINK_S) -> Sequence[Op]:
    """The shortest sequence found that still fails: ever smaller parts are left out as long as it does."""
    limit = time.monotonic() + seconds
    size, shorter = max(1, len(ops) // 2), False
    while size > 1 or shorter:
        size, shorter, at = max(1, size // 2 if len(ops) > 2 else 1), False, 0
        while at < len(ops) and time.monotonic() < limit:
            rest = [*ops[:at], *ops[at + size :]]
            if rest and fails(rest):
                ops, shorter = rest, True
            else:
                at += size
    return ops


def keep(failure: Failure, folder: Path) -> Path:
    """Write a failing episode to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"failed-{failure.episode.name or 'replay'}-{len(failure.episode.ops)}.json"
    lines = ",\n".join(json.dumps(op) for op in failure.episode.ops)
    head = json.dumps({"store": failure.episode.store, "problems": failure.problems}, indent=1)[:-2]
    path.write_text(f'{head},\n "ops": [\n{lines}\n]}}\n', "utf-8")
    return path


def read(path: Path) -> Episode:
    """An episode from a file."""
    said = json.loads(path.read_text("utf-8"))
    return Episode(said["store"], said["ops"], path.stem.removeprefix("failed-"))


def examine(grounds: Grounds, failure: Failure, folder: Path, *, seconds: float = SHRINK_S) -> Path:
    """Make a failing episode short and keep it; where it is."""
    ops = failure.episode.ops[: failure.at + 1]
    keep(
        Failure(Episode(failure.episode.store, ops, failure.episode.name), failure.at, failure.problems), folder
    )
    last: list[Failure] = [failure]

    def fails(tried: Sequence[Op]) -> bool:
        found = play(grounds, Episode(failure.episode.store, tried, failure.episode.name))
        if found is not None:
            last.append(found)
        return found is not None

    short = shrink(fails, ops, seconds)
    return keep(
        Failure(Episode(failure.episode.store, short, failure.episode.name), 0, last[-1].problems), folder
    )


# ------------------------------------------------------------------ the command


def run(
    grounds: Grounds, store: Store, ops: int, seed: int, minutes: float = math.inf
) -> tuple[Counter[str], Failure | None]:
    """So many operations, or as many as fit into the time; how many of each kind, and the first failure."""
    tally: Counter[str] = Counter()
    number, limit = 0, time.monotonic() + 60 * minutes
    while tally.total() < ops and time.monotonic() < limit:
        episode = draw(store, seed, number, min(EPISODE_OPS, ops - tally.total()))
        failure = play(grounds, episode, tally)
        if failure is not None:
            return tally, failure
        number += 1
        if number % 5 == 0:
            say(f"{tally.total():>8} operations on {store}, {cpu_s():,.0f} s of CPU")
    return tally, None


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=None, help="default: drawn anew, and printed")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="sqlite")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no episode after so long")
    parser.add_argument("--replay", type=Path, help="a kept episode")
    parser.add_argument("--shrink", action="store_true", help="make the replayed episode shorter")
    options = parser.parse_args()
    kept = ROOT / ".artifacts" / "model"
    replayed = read(options.replay) if options.replay else None
    store: Store = replayed.store if replayed else options.store
    with open_grounds(start_server=store != "sqlite") as grounds:
        if replayed is not None:
            failure = play(grounds, replayed)
            say("passes" if failure is None else f"fails at operation {failure.at}:")
            for problem in failure.problems if failure else ():
                say(problem)
            if failure is not None and options.shrink:
                say(f"kept in {examine(grounds, failure, kept)}")
            return 1 if failure else 0
        seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
        say(f"seed {seed}, on {store}")
        started = cpu_s()
        tally, failure = run(grounds, store, options.ops, seed, options.minutes)
        if failure is not None:
            for problem in failure.problems:
                say(problem)
            say(f"episode {failure.episode.name} fails at operation {failure.at}; making it short")
            say(f"kept in {examine(grounds, failure, kept)}")
    report = Report(f"model_check-{store}", {"ops": options.ops, "seed": seed, "store": store})
    report.add("operations", tally.total(), "operations")
    report.add("CPU", cpu_s() - started, "s")
    report.add("divergences", int(failure is not None), "divergences", at_most=0)
    report.add_table("operations by kind", [{"kind": kind, "times": n} for kind, n in tally.most_common()])
    report.keep()
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
