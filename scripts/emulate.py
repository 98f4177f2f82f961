"""Makes a Python that runs on another processor, emulated by qemu (Debian: `qemu-user`).

    python -m scripts.emulate nehalem
    .artifacts/emulated/nehalem/bin/python -m pytest tests/embed tests/rank tests/search

`bin/python` is a shell script that starts qemu, in a virtual environment with the packages of this one. It is also
`sys.executable` there, so the processes that a test starts are emulated as well. `nehalem` is x86-64-v2, the least that
numpy runs on; `haswell` adds AVX2 but has no VNNI; `cortex-a72` is the plain arm64 of 2016 and `neoverse-n1` adds
the dot products of int8 that most arm64 servers have. For arm64, a Python and its libraries come from Debian's packages
(with `apt-get`, unpacked below `.artifacts` and not installed), and wheels by way of `uv`. Python code takes about five
times as long as on this machine, a model up to a thousand times.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from scripts.build import ROOT

EMULATED: Final = ROOT / ".artifacts" / "emulated"
PROCESSORS: Final = {
    "nehalem": ("qemu-x86_64", "Nehalem"),
    "haswell": ("qemu-x86_64", "Haswell-v4"),
    "cortex-a72": ("qemu-aarch64", "cortex-a72"),
    "neoverse-n1": ("qemu-aarch64", "neoverse-n1"),
}
"""Which emulator, and what it calls the processor."""
_RUN: Final = "import sys; del sys.argv[0]; from outcrop.serve.cli.app import main; main()"
"""The program `outcrop`, under the name by which it was called."""
_SOURCES: Final = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
"""Where Debian says which mirror it uses: its arm64 packages are there too."""
_DEBIAN_PACKAGES: Final = ("python3", "libstdc++6", "libgomp1", "libsqlite3-0", "zlib1g")
_CPU_INFO: Final = """processor\t: 0
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd08
CPU revision\t: 3
"""
"""Shown to emulated programs as /proc/cpuinfo: onnxruntime crashes on arm64 when it finds that of an x86-64 there."""


def make_python(processor: str) -> Path:
    """The path of a Python that runs on an emulated processor. Raises SystemExit where something is missing."""
    emulator, model = PROCESSORS[processor]
    if shutil.which(emulator) is None:
        raise SystemExit(f"{emulator} is not on the path: install qemu-user")
    home = EMULATED / processor
    command = [emulator, "-cpu", model]
    if emulator == "qemu-aarch64":
        root, packages = _unpack_arm64()
        command += ["-L", str(root)]
        python = _debian_python(root)
    else:
        if platform.machine() not in ("x86_64", "AMD64"):
            raise SystemExit(f"{processor} shares this Python's libraries: run this on an x86-64 machine")
        python, packages = Path(sys.executable).resolve(), Path(sys.prefix) / "lib"
    _write_environment(home, command, python, packages)
    return home / "bin" / "python"


def _write_environment(home: Path, command: list[str], python: Path, packages: Path) -> None:
    (home / "bin").mkdir(parents=True, exist_ok=True)
    if not (home / "lib").is_symlink():
        (home / "lib").symlink_to(packages)
    (home / "pyvenv.cfg").write_text(f"home = {python.parent}\n", "utf-8")
    # Where this machine's processor is named for OpenBLAS, it would run instructions that the emulated one lacks.
    start = f'unset OPENBLAS_CORETYPE\nexec {shlex.join(command)} -0 "$0" {shlex.quote(str(python))} "$@"'
    rg = Path(sys.executable).with_name("rg")
    if rg.exists() and not (home / "bin" / "rg").is_symlink():
        (home / "bin" / "rg").symlink_to(rg)  # a program of its own, which need not be emulated
    for name, line in (
        ("python", start),
        ("outcrop", f'exec "${{0%/*}}/python" -c {shlex.quote(_RUN)} "$0" "$@"'),
    ):
        (home / "bin" / name).write_text(f"#!/bin/sh\n{line}\n", "utf-8")
        (home / "bin" / name).chmod(0o755)


def _unpack_arm64() -> tuple[Path, Path]:
    """A folder with Debian's Python for arm64 and what it needs, and one with the packages of `requirements.lock`."""
    base = EMULATED / "arm64"
    root, packages = base / "root", base / "lib"
    if not (base / "ready").exists():
        shutil.rmtree(base, ignore_errors=True)
        (root / "proc").mkdir(parents=True)
        (root / "proc/cpuinfo").write_text(_CPU_INFO, "utf-8")
        for package in _download_debian(base / "apt"):
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
        version = _debian_python(root).name.removeprefix("python")
        site = packages / f"python{version}/site-packages"
        uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--only-binary", ":all:"]
        target = [
            "--python-platform",
            "aarch64-manylinux_2_28",
            "--python-version",
            version,
            "--target",
            str(site),
        ]
        wanted = ["--python", sys.executable, "--requirement", str(ROOT / "requirements.lock")]
        subprocess.run([*uv, *target, *wanted], check=True)
        (site / "outcrop.pth").write_text(f"{ROOT / 'src'}\n{ROOT / 'models/src'}\n", "utf-8")
        (base / "ready").touch()
    return root, packages


def _debian_python(root: Path) -> Path:
    """The interpreter itself: `python3` is a link to it."""
    return next(path for path in root.glob("usr/bin/python3.*") if path.name.count(".") == 1)


def _download_debian(folder: Path) -> list[Path]:
    """arm64 packages with all they depend on; apt's settings and state lie in the folder, not in the system."""
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    sources = next(path for path in _SOURCES if Path(path).exists())
    (folder / "apt.conf").write_text(
        'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\nAPT::Sandbox::User "root";\n'
        f'Dir::State "{folder}";\nDir::State::status "{folder}/status";\nDir::Cache "{folder}";\n'
        f'Dir::Etc::sourcelist "{sources}";\nDir::Etc::sourceparts "/dev/null";\n',
        "utf-8",
    )
    settings = os.environ | {"APT_CONFIG": str(folder / "apt.conf")}
    wanted = ["install", "--yes", "--no-install-recommends", "--download-only", *_DEBIAN_PACKAGES]
    for words in (["update"], wanted):
        subprocess.run(["apt-get", "-qq", *words], env=settings, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("archives/*.deb"))


def main() -> None:
    """Make one, and say where it is."""
    if len(sys.argv) != 2 or sys.argv[1] not in PROCESSORS:
        raise SystemExit(f"usage: python -m scripts.emulate {'|'.join(PROCESSORS)}")
    print(make_python(sys.argv[1]))


if __name__ == "__main__":
    main()
