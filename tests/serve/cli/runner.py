"""The command line with one index, for tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from outcrop.serve.cli.app import cli

NOTES = {
    "retries.md": "# Retries\n\nA failed request is retried three times.\n\n## Backoff\n\nThe delay between attempts "
    "doubles each time, starting at one second.\n",
    "deploy/rollback.md": "# Rollback\n\nTo roll back a release, run the deploy script with the previous tag.\n",
    "budget.txt": "The marketing budget for the second quarter is forty thousand euros.\n",
}


@dataclass(frozen=True)
class Outcrop:
    """Runs commands on one index: the one in a file, or at a URL."""

    db: Path
    notes: Path
    url: str = ""

    def __call__(self, *args: str | Path, input: str | bytes | None = None) -> Result:
        runner = CliRunner(env={"OUTCROP_DB": self.url or str(self.db), "NO_COLOR": "1", "COLUMNS": "200"})
        result = runner.invoke(cli, [str(arg) for arg in args], input=input, prog_name="outcrop")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def json(self, *args: str | Path) -> Any:
        result = self(*args, "--json")
        assert result.stderr == ""
        return json.loads(result.stdout)
