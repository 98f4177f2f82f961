"""What the lock holds: who needs it, and under which licence it comes.

Requirements and licences are read from the packages installed beside the project (`make setup`), so nothing is asked
of the network. The lock serves every platform: a requirement counts when it holds on any of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import product
from pathlib import Path
from typing import Any, Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.build import ROOT

LOCK: Final = ROOT / "requirements.lock"
PYPROJECT: Final = ROOT / "pyproject.toml"
BASE, DEV = "base", "dev"
NOT_LOCKED: Final = frozenset({"transformers"})
"""Extras that are not part of the lock: sentence-transformers brings torch, of which everybody has another build."""
OWN: Final = frozenset({"outcrop-models"})
"""Distributions of ours that the extras ask for."""

_SYSTEMS = (
    ("linux", "Linux", "posix"),
    ("darwin", "Darwin", "posix"),
    ("win32", "Windows", "nt"),
    ("emscripten", "Emscripten", "posix"),  # which Outcrop does not run on, but the lock has a line for
)
_PYTHONS = ("3.11", "3.12", "3.13")

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_LICENCES = {
    # Those that say it in prose, or only in a file: read there.
    "axe-playwright-python": "MIT",
    "orjson": "MPL-2.0 AND MIT",  # of "MPL-2.0 AND (Apache-2.0 OR MIT)"
    "protobuf": "BSD-3-Clause",
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",  # with those of PDFium's parts in the wheel, permissive as well
    "pystemmer": "MIT AND BSD-3-Clause",
    "ray": "Apache-2.0",
    "reportlab": "BSD-3-Clause",
    "tiktoken": "MIT",
    # Those of other platforms, which are not installed where this runs.
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "tzdata": "Apache-2.0",
}
"""Licences as SPDX expressions, of packages whose metadata do not have one."""


@dataclass(frozen=True, slots=True)
class Package:
    """A line of the lock. `groups` are those of pyproject.toml that lead to it: base, an extra, dev; none when nothing
    needs it. `needs` are names. `licence` is an SPDX expression, or None where it is not known."""

    name: str
    version: str
    marker: str
    groups: frozenset[str]
    needs: tuple[str, ...]
    licence: str | None

    @property
    def in_base(self) -> bool:
        """Whether everybody gets it."""
        return BASE in self.groups

    @property
    def is_shipped(self) -> bool:
        """Whether anybody gets it by installing Outcrop, with whatever extras."""
        return bool(self.groups - {DEV})


def read_requirements(pyproject: Path = PYPROJECT) -> dict[str, list[Requirement]]:
    """What pyproject.toml asks for: the base, each extra, and the group for development."""
    content = tomllib.loads(pyproject.read_text("utf-8"))
    extras = content["tool"]["outcrop"]["extras"]
    lines: dict[str, list[str]] = {BASE: content["project"]["dependencies"], **extras}
    lines[DEV] = group_lines(content["dependency-groups"], "dev")
    return {group: [Requirement(line) for line in found] for group, found in lines.items()}


def group_lines(groups: dict[str, list[Any]], name: str) -> list[str]:
    """The lines of a dependency group, those of the groups it includes among them."""
    found: list[str] = []
    for line in groups[name]:
        found += [line] if isinstance(line, str) else group_lines(groups, line["include-group"])
    return found


def read_lock(lock: Path = LOCK) -> list[Requirement]:
    """The lines of the lock, each with one exact version and perhaps a marker."""
    return [Requirement(line) for line in lock.read_text("utf-8").splitlines() if line.strip()]


def out_of_step(locked: Iterable[Requirement], asked: dict[str, list[Requirement]]) -> Iterator[str]:
    """What pyproject.toml asks for and the lock does not have."""
    versions: dict[str, list[str]] = {}
    for line in locked:
        versions.setdefault(canonicalize_name(line.name), []).append(version_of(line))
    for group, requirements in asked.items():
        for requirement in requirements if group not in NOT_LOCKED else ():
            name = canonicalize_name(requirement.name)
            if name not in versions and name not in OWN:
                yield f"{requirement} ({group}) is not in the lock"
            for version in versions.get(name, ()):
                if not requirement.specifier.contains(version, prereleases=True):
                    yield f"{requirement} ({group}) is not what the lock has: {version}"


def version_of(locked: Requirement) -> str:
    """The version that a line of the lock names."""
    (exact,) = locked.specifier
    return exact.version


def read_packages(lock: Path = LOCK, pyproject: Path = PYPROJECT) -> list[Package]:
    """Every line of the lock with who needs it and its licence, by name and version."""
    groups: dict[str, set[str]] = {}
    needs: dict[str, set[str]] = {}
    for group, requirements in read_requirements(pyproject).items():
        for name, extras in _reach(requirements):
            groups.setdefault(name, set()).add(group)
            needs.setdefault(name, set()).update(needed for needed, _ in _needs(name, extras))
    packages = []
    for line in read_lock(lock):
        name = canonicalize_name(line.name)
        packages.append(
            Package(
                name,
                version_of(line),
                marker=str(line.marker or ""),
                groups=frozenset(groups.get(name, ())),
                needs=tuple(sorted(needs.get(name, ()))),
                licence=licence_of(name),
            )
        )
    return packages


def licence_of(name: str) -> str | None:
    """The licence of an installed package as an SPDX expression; None where it does not say, or is not installed."""
    if name in _LICENCES:
        return _LICENCES[name]
    found = _installed(name)
    if found is None:
        return None
    for field in ("License-Expression", "License"):
        try:
            return str(canonicalize_license_expression("".join(found.metadata.get_all(field) or ())))
        except InvalidLicenseExpression:
            continue
    classifiers = found.metadata.get_all("Classifier") or ()
    spoken = {line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")}
    known = sorted(_CLASSIFIERS[each] for each in spoken if each in _CLASSIFIERS)
    return " AND ".join(known) or None


def _reach(roots: Iterable[Requirement]) -> set[tuple[str, frozenset[str]]]:
    """All packages that some requirements lead to: names with extras."""
    waiting = [(str(canonicalize_name(root.name)), frozenset(root.extras)) for root in roots]
    seen = set(waiting)
    while waiting:
        for found in _needs(*waiting.pop()):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return seen


@cache
def _needs(name: str, extras: frozenset[str]) -> tuple[tuple[str, frozenset[str]], ...]:
    """What a package, with these extras, needs on any platform: names with extras. Nothing if it is not installed."""
    found = _installed(name)
    requirements = map(Requirement, (found.requires or ()) if found is not None else ())
    return tuple(
        (canonicalize_name(each.name), frozenset(each.extras))
        for each in requirements
        if each.marker is None or _holds(each.marker, extras)
    )


def _holds(marker: Marker, extras: frozenset[str]) -> bool:
    return any(marker.evaluate({**place, "extra": extra}) for place in _places() for extra in {"", *extras})


@cache
def _places() -> tuple[dict[str, str], ...]:
    """Environments in which the lock is used, as far as they differ from this one."""
    return tuple(
        {
            "sys_platform": platform,
            "platform_system": system,
            "os_name": os_name,
            "python_version": python,
            "python_full_version": f"{python}.0",
        }
        for (platform, system, os_name), python in product(_SYSTEMS, _PYTHONS)
    )


@cache
def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
