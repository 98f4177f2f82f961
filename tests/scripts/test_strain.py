"""`scripts.strain`: other work beside the tests, and an old processor."""

from __future__ import annotations

import subprocess
import sys

import pytest
from scripts.build import ROOT
from scripts.strain import busy, main

KNOWS = "from numpy._core._multiarray_umath import __cpu_features__ as knows; "


def fail_beside_other_work(seen: list[subprocess.Popen[bytes]]) -> None:
    with busy(2) as running:
        seen += running
        assert [process.poll() for process in running] == [None, None]
        raise ZeroDivisionError


def test_other_work_ends_with_the_block_whatever_happens_in_it() -> None:
    seen: list[subprocess.Popen[bytes]] = []
    with pytest.raises(ZeroDivisionError):
        fail_beside_other_work(seen)
    assert len(seen) == 2
    assert None not in [process.poll() for process in seen]


def test_numpy_takes_no_instructions_of_newer_processors() -> None:
    newer = KNOWS + "assert not any(knows.get(name) for name in ('X86_V3', 'X86_V4'))"
    none = KNOWS + "assert not any(knows.values())"
    assert [main(["--loops", "1", "--", "timeit", "-n", "1", "-r", "1", code]) for code in (newer, none)] == [
        0,
        1,
    ]


def test_the_exit_code_is_that_of_the_command() -> None:
    words = ["-m", "scripts.strain", "--loops", "0", "--", "pytest", "-q", "tests/no_such_test.py"]
    assert subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=False).returncode == 4
