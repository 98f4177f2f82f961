"""The table of all targets that run in worker processes; HTTP and MCP are in `servers.py`."""

from __future__ import annotations

from benchmarks.fuzz.configs import CONFIGS
from benchmarks.fuzz.guards import GUARDS
from benchmarks.fuzz.packers import PACKERS
from benchmarks.fuzz.parsers import PARSERS
from benchmarks.fuzz.target import Target
from benchmarks.fuzz.texts import TEXTS

TARGETS: dict[str, Target] = {target.name: target for target in (*PARSERS, *TEXTS, *PACKERS, *GUARDS, *CONFIGS)}
"""Every target by its name."""
