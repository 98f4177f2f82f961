"""Lint, types and the fast tests: `python -m scripts.check [--tests | --suite]`, which is `make check`.

Under a minute on an idle machine with two cores, once mypy has its cache. `--tests` leaves out lint and types, for
platforms where only the tests and what they need are installed; `--suite` runs all tests that other systems than Linux
can. Exits with the status of the first that fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Final

from scripts.build import ROOT

FAST: Final = (
    *("tests/text", "tests/records", "tests/system", "tests/mask", "tests/rank", "tests/read"),
    *("tests/code", "tests/evals", "tests/test_config.py", "tests/test_layers.py", "tests/test_docs.py"),
)
"""Every stage that needs neither Postgres nor a browser nor other processes: 1 900 tests, 45 s of CPU time."""

ONLY_LINUX: Final = ("tests/cluster", "tests/serve/page")
"""Ray's clusters, and Chromium from the packages of the system."""

LINT: Final = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",))


def main() -> None:
    """Run one after the other, and stop where one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", action="store_true", help="only the tests")
    parser.add_argument("--suite", action="store_true", help="all tests but those that need Linux")
    options = parser.parse_args()
    tests: tuple[str, ...] = ("pytest", "-n", "2", "--dist", "worksteal", *FAST)
    if options.suite:
        tests = ("pytest", "-n", "2", "--dist", "loadfile", *(f"--ignore={path}" for path in ONLY_LINUX))
    for words in (tests,) if options.tests or options.suite else (*LINT, tests):
        code = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode
        if code:
            sys.exit(code)


if __name__ == "__main__":
    main()
