"""What `make demo` shows is right, and it says so when it is not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from scripts.build import ROOT

pytestmark = pytest.mark.timeout(1800)
DEMO = ROOT / "scripts" / "demo.sh"


def run_demo(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("OUTCROP_")}
    return subprocess.run(
        ["bash", str(script)],
        env={**settings, "DEMO_DIR": str(folder / "demo"), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )


def test_every_answer_of_the_demo_is_right(tmp_path: Path) -> None:
    done = run_demo(DEMO, tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert DEMO.read_text("utf-8").count("\nask ") == done.stdout.count("\033[1m$ outcrop search") + 5
    assert "\\ " not in done.stdout, "commands are shown as one types them"


def test_a_wrong_answer_ends_the_demo(tmp_path: Path) -> None:
    text = DEMO.read_text("utf-8")
    head, _, rest = text.partition("step outcrop add README.md")
    short = (
        head
        + 'step outcrop add README.md --collection docs\nask CHANGELOG.md outcrop search -n 1 "signing keys"\n'
    )
    assert rest
    script = DEMO.with_name(f"demo-{os.getpid()}.sh")  # it finds the project beside itself
    script.write_text(short, "utf-8")
    try:
        done = run_demo(script, tmp_path)
    finally:
        script.unlink()
    assert done.returncode == 1
    assert "This should have been answered by CHANGELOG.md" in done.stderr
