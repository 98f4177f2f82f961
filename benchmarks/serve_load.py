"""Many clients at once: does every one get its answer, soon, and does the server's memory stay flat?

    python -m benchmarks.serve_load --chunks 20000 --clients 200 --seconds 20

A real `outcrop serve` over an index of `--chunks` chunks of prose. Two loads, one after the other:

- people: each of `--clients` clients holds a connection, asks, waits for the whole answer, thinks for `--think` seconds
  (the first question comes at a random moment of the first `--think` seconds) and asks again. The bars hold for this.
- closed loop: 16 clients that do not think, for half of the time: how many searches a second there can be.

All queries are different, so that no cached answer is timed. Times are from the first byte sent to the last received,
on the same machine, so the clients' own work is part of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from benchmarks.report import WORK, Report, percentile, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.corpus import draw_queries, lay_out, read_sources

GREEDY_CLIENTS = 16
WARM_QUERIES = 50
TIMEOUT_S = 30.0


@dataclass(slots=True)
class Tally:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs in a process of its own."""

    port: int
    pid: int

    def pids(self) -> list[int]:
        """The process and those that it started."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/children")
        return [self.pid, *(int(word) for task in tasks for word in task.read_text("ascii").split())]

    def rss_mb(self) -> float:
        """What they hold in memory now, pages of mapped files left out."""
        kilobytes = 0
        for pid in self.pids():
            status = Path(f"/proc/{pid}/status").read_text("ascii")
            kilobytes += int(status.partition("RssAnon:")[2].split()[0])
        return kilobytes / 1024

    def cpu_s(self) -> float:
        """CPU seconds they used so far."""
        stats = (Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split() for pid in self.pids())
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(db: Path, *options: str) -> Iterator[Server]:
    """`outcrop serve` on a free port."""
    command = [sys.executable, "-m", "outcrop", "--db", str(db), "serve", "--port", "0", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        try:
            yield Server(int(url.rstrip("/").rpartition(":")[2]), process.pid)
        finally:
            process.terminate()


class Client:
    """One connection that stays open. By hand: a client library would take as much time as the server."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def search(self, query: str) -> tuple[int, bytes]:
        """Status and body of a search."""
        body = json.dumps({"query": query}).encode()
        head = (
            f"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answer.partition("content-length:")[2].split()[0])
        return int(answer.split()[1]), await self._reader.readexactly(length)


async def ask_until(
    port: int, queries: Iterator[str], until: float, think_s: float, delay_s: float, tally: Tally
) -> None:
    """One client."""
    await asyncio.sleep(delay_s)
    async with Client(port) as client:
        while time.monotonic() < until:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    status, body = await client.search(next(queries))
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                tally.errors.append(type(error).__name__)
                return
            tally.seconds.append(time.perf_counter() - started)
            if status != 200 or not body.endswith(b"}"):
                tally.errors.append(f"status {status}")
            await asyncio.sleep(think_s)


async def load(port: int, queries: Iterator[str], clients: int, seconds: float, think_s: float) -> Tally:
    """So many clients for so long."""
    tally, chance = Tally(), random.Random(5)
    until = time.monotonic() + seconds
    await asyncio.gather(
        *(ask_until(port, queries, until, think_s, chance.random() * think_s, tally) for _ in range(clients))
    )
    return tally


def build(chunks: int, corpus: Path | None) -> tuple[Path, list[str]]:
    """An index of so many chunks, kept between runs, and queries drawn from its texts."""
    pieces = read_sources(corpus)
    home = WORK / f"serve-{chunks}"
    db = home / "index.db"
    if not (home / "done").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        lay_out(pieces, chunks, home / "prose")
        with outcrop.open(db) as engine:
            engine.add(home / "prose")
        (home / "done").touch()
    return db, draw_queries(pieces, 12_000)


def main() -> int:
    """Load a server and compare with the bars."""
    parser = argparse.ArgumentParser(description="Load a real server with many clients.")
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--think", type=float, default=1.0, help="seconds between an answer and the next question"
    )
    parser.add_argument("--workers", type=int, help="as of `outcrop serve`")
    parser.add_argument("--corpus", type=Path, help="a folder of prose, or a .jsonl file")
    parser.add_argument("--keep", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    report = Report("serve_load", {**vars(given), "corpus": str(given.corpus)})
    db, drawn = build(given.chunks, given.corpus)
    queries = iter(drawn)
    workers = () if given.workers is None else ("--workers", str(given.workers))
    with serving(db, *workers) as server:
        asyncio.run(load(server.port, cycle(drawn[-WARM_QUERIES:]), 4, 1.0, 0.0))
        before, cpu_before = server.rss_mb(), server.cpu_s()
        people = asyncio.run(load(server.port, queries, given.clients, given.seconds, given.think))
        middle, cpu_middle = server.rss_mb(), server.cpu_s()
        greedy = asyncio.run(load(server.port, queries, GREEDY_CLIENTS, given.seconds / 2, 0.0))
        after, cpu_after = server.rss_mb(), server.cpu_s()
    report.add("requests", len(people.seconds), "")
    report.add("errors", len(people.errors) + len(greedy.errors), "", at_most=0)
    report.add("p50", percentile(people.seconds, 0.5) * 1000, "ms")
    report.add("p99", percentile(people.seconds, 0.99) * 1000, "ms", at_most=250)
    report.add("longest", max(people.seconds) * 1000, "ms")
    report.add("asked a second, people", len(people.seconds) / given.seconds, "1/s")
    report.add("answered a second, closed loop", len(greedy.seconds) / (given.seconds / 2), "1/s")
    report.add("p99, closed loop", percentile(greedy.seconds, 0.99) * 1000, "ms")
    report.add("CPU a request, people", (cpu_middle - cpu_before) / len(people.seconds) * 1000, "ms")
    report.add("CPU a request, closed loop", (cpu_after - cpu_middle) / len(greedy.seconds) * 1000, "ms")
    report.add("load of the machine", os.getloadavg()[0], "")
    report.add("memory before", before, "MB")
    report.add("memory after people", middle, "MB")
    report.add("memory after closed loop", after, "MB")
    for error in sorted(set(people.errors + greedy.errors)):
        say(f"error: {error}")
    if given.keep:
        report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
