"""A real Ray cluster of two nodes, and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.serve.cli.runner import NOTES, Outcrop

HERE = Path(__file__).parent
PLANTED = HERE / "planted"
"""What the processes of the cluster find on their path."""


@dataclass
class RunningCluster:
    """Two nodes of one core each, in whose processes `planted/sitecustomize.py` holds."""

    process: subprocess.Popen[str]
    address: str

    def kill_a_node(self) -> None:
        """End one of them as a power cut would."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "killed\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    log = tmp_path_factory.mktemp("cluster") / "log"
    path = os.pathsep.join((str(PLANTED), str(HERE.parent.parent)))
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.cluster_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"},
        ) as process,
    ):
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, log.read_text()
        yield RunningCluster(process, address)
        process.communicate(timeout=600)


@pytest.fixture
def outcrop(tmp_path: Path) -> Outcrop:
    """An empty index beside a folder of notes."""
    notes = tmp_path / "notes"
    for name, text in NOTES.items():
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text)
    return Outcrop(tmp_path / "index.db", notes)
