"""Keeps the projects that models are measured on out of the data that they are trained on.

By name: a file of `owner/name` lines; a package is out when its repository or its name says that it is one of them, or
a part or a fork of one. By content: see `training.collect.overlap`, which this command runs over what was collected:

    python -m training.collect.exclude --into DIR [--exclude FILE] --against FOLDER [--against FOLDER …]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_REPOSITORY = re.compile(
    r"(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|git\.sr\.ht|gitee\.com|^github|^gitlab)"
    r"[/:]~?([\w.-]+)/([\w.-]+)",
    re.IGNORECASE,
)
_SHORTHAND = re.compile(r"^([\w-][\w.-]*)/([\w.-]+)$")

_PREFIXES: Final = (
    "golang-github-", "golang-gitlab-", "golang-gopkg-", "golang-", "librust-", "rust-", "python3-", "python-", "node-",
    "ruby-", "php-", "haskell-", "libghc-", "elixir-", "erlang-", "lua-", "lib", "ocaml-", "js-", "types-", "py",
)  # fmt: skip
_SUFFIXES: Final = (
    "-dev", "-java", "-js", "-rs", "-py", "-go", "-cpp", "-core", "-nvim", "-csharp", "-doc", "-src", "-sharp", "js",
)  # fmt: skip
_GENERIC_NAMES: Final = frozenset("core framework cli json docs".split())
"""Project names that are every second package's own word: there the owner says which project it is (`vuejs/core`)."""
_MIN_TAIL_CHARS = (
    6  # `logging-log4cxx` is packaged as log4cxx; shorter tails (`learn`, `ui`) are words of many packages
)


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The projects to leave out: `repositories` as owner/name, `names` that a package of theirs can have, and the
    owner of each."""

    repositories: frozenset[str]
    names: dict[str, str]

    def reason(self, name: str, urls: Iterable[str] = ()) -> str:
        """Why a package is left out, in words; nothing when it is not."""
        found = sorted(set(_repositories(urls)))
        for owner, project in found:
            if f"{owner}/{project}" in self.repositories:
                return f"is {owner}/{project}"
            if project in self.names and project not in _GENERIC_NAMES:
                return f"repository {owner}/{project} has the name of {self.names[project]}/{project}"
        forms = _forms(name, has_url=bool(found))
        for form in forms:
            if form in self.names:
                return f"has the name {form} of {self.names[form]}"
        owners = {owner for owner, _ in found}
        for form in sorted(forms | {project for _, project in found}):
            part_of = self._begins_with_project(form)
            if part_of and (not owners or self.names[part_of] in owners):
                return f"may be a part of {self.names[part_of]}/{part_of}"
        return ""

    def holds_path(self, path: str) -> bool:
        """Whether a file of another project stands below a folder named as one that is left out: a copy of it."""
        projects = {repository.partition("/")[2] for repository in self.repositories} - _GENERIC_NAMES
        return any(folder.lower() in projects for folder in path.split("/")[:-1])

    def _begins_with_project(self, form: str) -> str:
        at = form.find("-")
        while at > 0:
            if form[:at] in self.names:
                return form[:at]
            at = form.find("-", at + 1)
        return ""


NO_EXCLUSIONS: Final = Exclusions(frozenset(), {})


def read_exclusions(path: Path) -> Exclusions:
    """Reads a file of `owner/name` lines; `#` begins a comment."""
    lines = (line.partition("#")[0].strip().lower() for line in path.read_text("utf-8").splitlines())
    repositories = frozenset(line for line in lines if "/" in line)
    names: dict[str, str] = {}
    for repository in sorted(repositories):
        owner, _, project = repository.partition("/")
        for name in _project_names(owner, normalise(project)):
            names.setdefault(name, owner)
    return Exclusions(repositories, names)


def _project_names(owner: str, project: str) -> set[str]:
    """The names that a package of a project can have."""
    owner = normalise(owner)
    names = {f"{owner}-{project}"}
    names |= {owner, owner.removesuffix("js")} if project in _GENERIC_NAMES else {project}
    if owner.startswith(project):  # `fmtlib/fmt` is packaged as fmtlib
        names.add(owner)
    for suffix in ("-core", "-cpp", "-nvim", "-csharp", "-rs", "-js"):
        if project.endswith(suffix):
            names.add(project.removesuffix(suffix))
    tail = project.partition("-")[2]
    if len(tail) >= _MIN_TAIL_CHARS:
        names.add(tail)
    return names


def normalise(name: str) -> str:
    """A name in the form in which names are compared: lower case, one kind of separator."""
    return re.sub(r"[-_.\s]+", "-", name.lower()).strip("-")


def _forms(name: str, *, has_url: bool) -> set[str]:
    """What a package's name may stand for, with the marks of registries and languages taken off step by step."""
    scope, _, bare = name.lower().removeprefix("@").rpartition("/")
    starts = {normalise(f"{scope}-{bare}")} if scope else {normalise(bare)}
    if scope and not has_url:  # `@angular/core` is no package of vuejs/core; its repository would say so
        starts |= {normalise(bare), normalise(scope)}
    forms: set[str] = set()
    todo = starts
    while todo:
        forms |= todo
        todo = {shorter for form in todo for shorter in _shorten(form) if len(shorter) > 1} - forms
    return forms


def _shorten(form: str) -> Iterable[str]:
    for prefix in _PREFIXES:
        if form.startswith(prefix):
            yield form.removeprefix(prefix).strip("-")
    for suffix in _SUFFIXES:
        if form.endswith(suffix):
            yield form.removesuffix(suffix).strip("-")
    yield re.sub(r"(?:-v)?[\d-]+$", "", form)


def _repositories(urls: Iterable[str]) -> Iterable[tuple[str, str]]:
    for url in urls:
        match = _REPOSITORY.search(url) or _SHORTHAND.match(url.strip())
        if match:
            yield match[1].lower(), match[2].lower().removesuffix(".git")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: compares what was collected with the folders and writes what has to be dropped."""
    from training.collect.overlap import drop_overlapping

    parser = argparse.ArgumentParser(
        prog="training.collect.exclude", description="Finds collected texts that are in FOLDER too."
    )
    parser.add_argument("--into", type=Path, required=True, help="the folder that training.collect wrote")
    parser.add_argument(
        "--against", type=Path, action="append", default=[], help="texts that models are measured on"
    )
    parser.add_argument(
        "--exclude", type=Path, help="a file of owner/name lines: copies of these are dropped too"
    )
    options = parser.parse_args(arguments)
    exclusions = read_exclusions(options.exclude) if options.exclude else NO_EXCLUSIONS
    sys.stdout.write(drop_overlapping(options.into, options.against, exclusions.holds_path) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
