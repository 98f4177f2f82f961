"""Which packages are for validation: by a hash of the bare name, so that new packages never move old ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final

from training.pairs.questions import number

SHARE: Final = 0.04
LEAST: Final = 60
_BITS: Final = 48

_PREFIX = re.compile(
    r"^(?:golang-(?:github|gitlab|gopkg|google|golang|k8s|x)-(?:[a-z0-9]+-)?|golang-|python3?-|py|node-|rust-"
    r"|ruby-|haskell-|php-|lua-|lib"
    r"|scala-|elixir-|r-cran-|erlang-|@[^/]+/)"
)
_DISTRIBUTION = re.compile(
    r"^(?:golang-(?:github|gitlab|gopkg|google|golang|k8s|x)-(?:[a-z0-9]+-)?|golang-|(?:rust|haskell|ruby"
    r"|node|php|lua|python3?)-)"
)
_SUFFIX = re.compile(
    r"(?:[-_.]?(?:dev|java|js|py|rs|go|rb|php|cpp|doc|src|core|types?|python|node|ng|fork|next|lite|client|[\d.]+))+$"
)


def bare_name(package: str) -> str:
    """What a package and its namesakes in other registries share: `pypi/python-foo` and `debian/node-foo` are `foo`."""
    name = package.partition("/")[2].lower() or package.lower()
    name = re.sub(r"[_.]+", "-", name)
    stripped = _PREFIX.sub("", name, count=1) or name
    stripped = _SUFFIX.sub("", stripped) or stripped
    return re.sub(r"[^a-z0-9]", "", stripped) or name


def spoken_name(package: str) -> str:
    """What people call a package: without its scope and what a distribution puts before it."""
    name = package.rpartition("/")[2].lower()
    return _DISTRIBUTION.sub("", name, count=1) or name


def choose_validation(languages: Mapping[str, str], kept: Set[str] = frozenset()) -> list[str]:
    """Packages for validation, of `languages` (package to its main language): SHARE by hash, and the first by hash of
    every registry and language that would have none of its ten or more. Those in `kept` and their namesakes never."""
    hashed = {package: number(bare_name(package), "split") for package in languages}
    chosen = {package for package, value in hashed.items() if value < SHARE * 2**_BITS}
    by_hash = sorted(languages, key=lambda package: (hashed[package], package))
    chosen.update(by_hash[: min(LEAST, len(by_hash) // 10)] if len(chosen) < LEAST else ())
    groups: dict[str, list[str]] = {}
    for package in by_hash:
        groups.setdefault(package.partition("/")[0], []).append(package)
        groups.setdefault(f"language {languages[package]}", []).append(package)
    for members in groups.values():
        if len(members) >= 10 and not chosen.intersection(members):
            chosen.add(members[0])
    names = {bare_name(package) for package in chosen} - {bare_name(package) for package in kept}
    return sorted(package for package in languages if bare_name(package) in names)
