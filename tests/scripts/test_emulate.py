"""A Python on another processor, with a stand-in for qemu: it notes each start and runs the program as it is."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

import outcrop
from scripts import emulate

STAND_IN = """#!/bin/bash
echo "$1 $2 $3" >> {log}
exec -a "$4" "$5" "${{@:6}}"
"""
CODE = """
import os, outcrop, subprocess, sys
from outcrop.workers import process
print(sys.executable, outcrop.__file__, os.environ.get("OPENBLAS_CORETYPE"), flush=True)
subprocess.run([*process.python_command(), "-c", "import numpy, sys; print(sys.executable)"], check=True)
"""


def test_processes_started_by_an_emulated_python_are_emulated_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    (tmp_path / "qemu-x86_64").write_text(STAND_IN.format(log=log), "utf-8")
    (tmp_path / "qemu-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")  # of this machine, not of the emulated one
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")  # the stand-in runs whatever this machine is
    monkeypatch.setattr(emulate, "EMULATED", tmp_path / "emulated")
    python = emulate.make_python("nehalem")
    assert emulate.make_python("nehalem") == python, "made again over what is there"
    done = subprocess.run([python, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(python), outcrop.__file__, "None", str(python)]
    assert log.read_text("utf-8").splitlines() == ["-cpu Nehalem -0"] * 2


@pytest.mark.parametrize("processor", emulate.PROCESSORS)
def test_without_qemu_it_says_what_to_install(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="install qemu-user"):
        emulate.make_python(processor)
