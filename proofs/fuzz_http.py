"""Does the server answer as its OpenAPI says, whatever is sent: no 5xx, no traceback, no hang?

    python -m proofs.fuzz_http --examples 5000

schemathesis makes requests from the OpenAPI of a real server, those that it allows and those that it does not, and
holds every answer to it: status, shape, headers. `--examples` is about how many requests are made in all. Ends with 1
when anything is found, and prints how to send it again.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import say
from benchmarks.serve_load import serving

import outcrop

OPERATIONS = 46
"""About how many there are; each gets its share of the examples."""
RULES = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429]

[[operations]]
include-name = "POST /api/chat"
checks.positive_data_acceptance.expected-statuses = [200, 401, 403, 404, 409, 422, 429]

[[operations]]
include-name = "POST /api/documents"
checks.positive_data_acceptance.expected-statuses = [201, 401, 403, 404, 409, 422, 429]
"""
"""Too large is a refusal as well. Two rules cannot be said in JSON Schema, and what breaks them is a 422 all the same:
the last message of a chat is the user's, and the id of a text has only characters that can be printed."""
MAX_LINE = 500
"""Characters of a line that are shown: a hostile body can have megabytes."""
SECONDS_A_REQUEST = 5
"""Longer is a hang."""

NOTES = {
    "retries.md": "# Retries\n\nA failed request is retried three times.\n",
    "pool.py": "class Pool:\n    def acquire(self):\n        return self.take()\n",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a run found: how many requests there were, and the failures as schemathesis tells them."""

    cases: int
    failures: str


def fuzz(url: str, *, examples: int, phases: str, folder: Path, seed: int | None = None) -> Found:
    """Hold the server at this URL to its OpenAPI, with so many examples an operation and phase."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
    options = [
        "--max-examples",
        str(examples),
        "--phases",
        phases,
        "--no-color",
        "--suppress-health-check",
        "all",
    ]
    if seed is not None:
        options += ["--seed", str(seed)]
    (folder / "schemathesis.toml").write_text(RULES)
    limits = ["--request-timeout", str(SECONDS_A_REQUEST), "--workers", "1", "--continue-on-failure"]
    done = subprocess.run(
        [*command, *options, *limits], cwd=folder, capture_output=True, text=True, check=False
    )
    counted = re.search(r"(\d[\d,]*) generated", done.stdout)
    cases = int(counted[1].replace(",", "")) if counted else 0
    if done.returncode == 0 and cases:
        return Found(cases, "")
    _, _, failures = done.stdout.partition("= FAILURES =")
    told = failures or f"{done.stdout}\n{done.stderr}"
    return Found(cases, "\n".join(line[:MAX_LINE] for line in told.splitlines()))


def fuzz_own_server(*, examples: int, phases: str, seed: int | None = None) -> Found:
    """Start a server over a small index of its own and hold it to its OpenAPI."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, text in NOTES.items():
            (home / "notes").mkdir(exist_ok=True)
            (home / "notes" / name).write_text(text)
        with outcrop.open(home / "index.db") as engine:
            engine.add(home / "notes")
        # A chat that begins and says that it failed, instead of one that is not there at all.
        os.environ.update({"OUTCROP_CHAT_MODEL": "none", "OUTCROP_CHAT_URL": "http://127.0.0.1:9/v1"})
        with serving(home / "index.db") as server:
            url = f"http://127.0.0.1:{server.port}"
            return fuzz(url, examples=examples, phases=phases, folder=home, seed=seed)


def main() -> int:
    """Fuzz a server of its own."""
    parser = argparse.ArgumentParser(description="Hold a real server to its OpenAPI.")
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--phases", default="coverage,fuzzing")
    given = parser.parse_args()
    found = fuzz_own_server(examples=max(1, given.examples // OPERATIONS), phases=given.phases)
    say(found.failures)
    say(f"{found.cases:,} requests; {'failures above' if found.failures else 'all as the OpenAPI says'}")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
