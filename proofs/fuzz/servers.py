"""The fuzzers of HTTP and MCP, which talk to real servers, as targets of the same command."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

from proofs.fuzz.running import Finding, Tally
from proofs.fuzz_http import OPERATIONS, fuzz_own_server
from proofs.fuzz_mcp import Run


def run_http(seed: int, inputs: int) -> Tally:
    """Requests to a server of our own, held to its OpenAPI."""
    found = fuzz_own_server(examples=max(1, inputs // OPERATIONS), phases="coverage,fuzzing", seed=seed)
    tally = Tally(inputs=found.cases)
    if found.failures:
        tally.findings.append(Finding("http", "not as the OpenAPI says", found.failures[:20_000], b""))
    return tally


def run_mcp(seed: int, inputs: int) -> Tally:
    """Lines and calls to the real `outcrop mcp`."""
    with tempfile.TemporaryDirectory() as name:
        run = Run(Path(name), seed)
        count = sum(1 for _ in itertools.takewhile(run.throw, range(1, inputs + 1)))
        run.finish()
    tally = Tally(inputs=count, slowest_ms=run.slowest * 1000)
    tally.findings += [Finding("mcp", problem[:60], problem, b"") for problem in run.problems]
    return tally


SERVERS: dict[str, tuple[int, Callable[[int, int], Tally]]] = {
    "http": (13_000, run_http),
    "mcp": (13_000, run_mcp),
}
"""Name → how many of a million inputs it gets, and what runs them."""
