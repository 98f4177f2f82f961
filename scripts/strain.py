"""The tests on a machine that has little time and an old processor.

    python -m scripts.strain [--loops 6] [-- pytest tests/serve …]

Runs a command, by default the whole suite, beside loops that never rest, while numpy and OpenBLAS take only the
instructions of x86-64-v2. ONNX Runtime cannot be held back in this way: `scripts.emulate` is for the models. Exits as
the command does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from scripts.build import ROOT

SUITE: Final = ("pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
PLAIN: Final = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
}
"""What numpy was built to choose from beside its baseline, and the oldest processor that OpenBLAS has kernels for."""
_LOOP: Final = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextmanager
def busy(loops: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Other work: as many processes that never rest. They end with the block, and with this process."""
    running = [subprocess.Popen([sys.executable, "-I", "-c", _LOOP]) for _ in range(loops)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def plain(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a processor without AVX, as far as libraries can be told."""
    return {**environment, **PLAIN}


def main(words: Sequence[str] | None = None) -> int:
    """Run the command under strain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=6, help="processes that keep the processor busy")
    parser.add_argument("module", nargs="*", default=SUITE, help="module and arguments; the suite by default")
    options = parser.parse_args(words)
    command = [sys.executable, "-m", *options.module]
    with busy(options.loops):
        return subprocess.run(command, cwd=ROOT, env=plain(os.environ), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
