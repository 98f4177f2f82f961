"""What an installation costs: megabytes, seconds, and the time to the first answer.

    python -m benchmarks.footprint                     the base, with pip, by this Python
    python -m benchmarks.footprint --extras serve      with an extra
    python -m benchmarks.footprint --installer uv --python python3.13

Builds the wheel, installs it into a new virtual environment without any cache, weighs what came (pip and setuptools
are not counted), then adds a small folder and asks a question. MB are millions of bytes. What counts is the files of
the packages; the bytecode that pip writes beside them (uv does not) and the rounding to disk blocks stand apart.
Seconds are wall time: they include the downloads, from whatever index this machine has. Exits with 1 when a figure
misses its bar.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from scripts.build import PROJECTS, build
from scripts.try_wheel import prove

from benchmarks.report import ROOT, WORK, Report, cpu_s

FILES_BAR_MB = 150.0
INSTALL_BAR_S = 30.0
"""Both for the base without extras."""
NOT_COUNTED = frozenset({"pip", "setuptools", "wheel"})
MB = 1_000_000


def install(
    python: str, wheels: Sequence[Path], extras: str, installer: str, home: Path
) -> tuple[float, float]:
    """Make a virtual environment and install our wheels there; (wall, CPU) seconds of the installation."""
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    wanted = [f"{wheels[0]}[{extras}]" if extras else str(wheels[0]), *map(str, wheels[1:])]
    if installer == "uv":
        uv = Path(sys.executable).with_name("uv")
        command = [str(uv), "pip", "install", "--quiet", "--no-cache", "--python", str(home / "bin" / "python")]
    else:
        command = [str(home / "bin" / "python"), "-m", "pip", "install", "-qq", "--no-cache-dir"]
    cpu, wall = cpu_s(), time.perf_counter()
    subprocess.run([*command, *wanted], check=True)
    return time.perf_counter() - wall, cpu_s() - cpu


def site_packages(home: Path) -> Path:
    """Where the packages of a virtual environment lie."""
    (found,) = (home / "lib").glob("python*/site-packages")
    return found


def weigh(found: Distribution) -> dict[str, float | str]:
    """Megabytes of a package: its files, its bytecode, and what both take of the disk."""
    files = code = blocks = 0
    # In the list of an installed package stand its bytecode and its libraries, wherever they lie.
    for path in {Path(str(found.locate_file(each))) for each in found.files or ()}:
        if path.is_file():
            status = path.stat()
            blocks += status.st_blocks * 512
            if path.suffix == ".pyc":
                code += status.st_size
            else:
                files += status.st_size
    return {
        "package": f"{found.name} {found.version}",
        "files_mb": files / MB,
        "bytecode_mb": code / MB,
        "on_disk_mb": blocks / MB,
    }


def measure(options: argparse.Namespace) -> Report:
    """Build, install, weigh, ask."""
    name = "-".join(
        filter(None, ("footprint", options.installer.replace("pip", ""), *options.extras.split(",")))
    )
    report = Report(name, vars(options))
    work = WORK / "footprint"
    shutil.rmtree(work, ignore_errors=True)
    projects = PROJECTS.values() if "mini" in options.extras.split(",") else [ROOT]
    wheels = [path for project in projects for path in build(project, work / "wheels", ["wheel"])]
    report.add("our wheel", wheels[0].stat().st_size / MB, "MB")
    home, base = work / "venv", not options.extras
    wall, cpu = install(options.python, wheels, options.extras, options.installer, home)
    report.add("installation", wall, "s", at_most=INSTALL_BAR_S if base else None)
    report.add("installation, CPU", cpu, "s")
    packages = [
        found for found in distributions(path=[str(site_packages(home))]) if found.name not in NOT_COUNTED
    ]
    rows = sorted(map(weigh, packages), key=lambda row: row["files_mb"], reverse=True)
    total = {name: sum(float(row[name]) for row in rows) for name in ("files_mb", "bytecode_mb", "on_disk_mb")}
    report.add("packages", len(rows), "")
    report.add("files of the packages", total["files_mb"], "MB", at_most=FILES_BAR_MB if base else None)
    report.add("bytecode of the packages", total["bytecode_mb"], "MB")
    report.add("both, in blocks of this disk", total["on_disk_mb"], "MB")
    for step, seconds in prove(home / "bin" / "outcrop", work / "first").items():
        report.add(f"first `outcrop {step}`", seconds, "s")
    report.add_table("by package", rows)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="python3", help="the interpreter to install for")
    parser.add_argument("--installer", choices=("pip", "uv"), default="pip")
    parser.add_argument("--extras", default="", help="names, separated by commas")
    report = measure(parser.parse_args())
    report.keep()
    raise SystemExit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
