"""What must be true of a wheel and of a source archive before anybody gets them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import posixpath
import re
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from packaging.metadata import Metadata

from scripts.build import PROJECTS, ROOT

LICENCE_FILES: Final = ("LICENSE", "NOTICE")
_NEVER = re.compile(r"(?:^|/)(?:__pycache__|\.git|\.env|\.venv|\.artifacts)(?:/|$)|\.(?:pyc|pem|key|db)$")
_CHANGES = re.compile(r"^## (\S+) — (.+)$", re.MULTILINE)


def read_project(project: Path) -> dict[str, Any]:
    """The table `project` of a distribution."""
    content: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    return content


def check_versions(root: Path = ROOT, *, releasing: bool) -> Iterator[str]:
    """One version everywhere: of both distributions, of the extra that joins them, of the code, of the changelog."""
    ours, models = read_project(root), read_project(root / "models")
    version = ours["version"]
    if models["version"] != version:
        yield f"outcrop is {version}, outcrop-models {models['version']}"
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]
    for extra in ("mini", "ocr"):
        if f"outcrop-models=={models['version']}" not in settings["outcrop"]["extras"][extra]:
            yield f"the extra `{extra}` does not ask for outcrop-models=={models['version']}"
    heading = _CHANGES.search((root / "CHANGELOG.md").read_text("utf-8"))
    if heading is None or heading[1] != version:
        yield f"CHANGELOG.md begins with {heading[1] if heading else 'no version'}, not with {version}"
    elif releasing and not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]):
        yield f"CHANGELOG.md calls {version} {heading[2]!r}; write the day of the release there"


def check_wheel(path: Path, name: str) -> Iterator[str]:
    """What is wrong with a wheel: its names, metadata, licences, list of files, or a file that does not belong."""
    version = read_project(PROJECTS[name])["version"]
    module = name.replace("-", "_")
    notes = f"{module}-{version}.dist-info"
    if path.name != f"{module}-{version}-py3-none-any.whl":
        yield f"it is named {path.name}"
        return
    with zipfile.ZipFile(path) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    yield from _check_names(files)
    yield from _check_metadata(files.get(f"{notes}/METADATA", b""), name, version)
    yield from _check_record(files, f"{notes}/RECORD")
    for licence in LICENCE_FILES:
        if files.get(f"{notes}/licenses/{licence}") != (PROJECTS[name] / licence).read_bytes():
            yield f"{licence} is missing or not that of the project"
    tracked = {file.removeprefix("src/") for file in _tracked(PROJECTS[name]) if file.startswith("src/")}
    inside = {file for file in files if not file.startswith(f"{notes}/")}
    yield from (f"{file} is not in git" for file in sorted(inside - tracked))
    yield from (f"{file} is missing" for file in sorted(tracked - inside))


def check_sdist(path: Path, name: str) -> Iterator[str]:
    """What is wrong with a source archive."""
    version = read_project(PROJECTS[name])["version"]
    top = f"{name.replace('-', '_')}-{version}"
    if path.name != f"{top}.tar.gz":
        yield f"it is named {path.name}"
        return
    files: dict[str, bytes] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is None or not member.name.startswith(f"{top}/"):
                yield f"{member.name} is no plain file below {top}"
            else:
                files[member.name.removeprefix(f"{top}/")] = content.read()
    yield from _check_names(files)
    yield from _check_metadata(files.pop("PKG-INFO", b""), name, version)
    tracked = {*_tracked(PROJECTS[name]), ".gitignore"}  # the builder puts that of the repository into each
    yield from (f"{file} is not in git" for file in sorted(files.keys() - tracked))
    needed = {file for file in tracked if file.startswith("src/")} | {
        "pyproject.toml",
        "README.md",
        *LICENCE_FILES,
    }
    yield from (f"{file} is missing" for file in sorted(needed - files.keys()))


def _check_names(files: Mapping[str, bytes]) -> Iterator[str]:
    for name in files:
        if name != posixpath.normpath(name) or name.startswith(("/", "..")) or _NEVER.search(name):
            yield f"{name} does not belong there"


def _check_metadata(content: bytes, name: str, version: str) -> Iterator[str]:
    """Metadata that the index takes, with a description that can be drawn."""
    try:
        metadata = Metadata.from_email(content, validate=True)
    except ExceptionGroup as error:
        yield from (f"metadata: {each}" for each in error.exceptions)
        return
    if (metadata.name, str(metadata.version)) != (name, version):
        yield f"metadata are of {metadata.name} {metadata.version}"
    if not metadata.license_expression or not metadata.requires_python:
        yield "metadata do not say the licence and the Python"
    if metadata.description_content_type != "text/markdown":
        yield f"the description is {metadata.description_content_type}"
    drawn = MarkdownIt("commonmark").enable("table").render(metadata.description or "")
    if "<h1>" not in drawn:
        yield "the description has no title"


def _check_record(files: Mapping[str, bytes], record: str) -> Iterator[str]:
    """The wheel's own list of files, with their hashes, must be that of its files."""
    listed = {row[0]: row[1] for row in csv.reader(io.StringIO(files.get(record, b"").decode("utf-8")))}
    yield from (f"{name} is not in RECORD, or not there" for name in sorted(listed.keys() ^ files.keys()))
    for name in sorted(listed.keys() & files.keys() - {record}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        if listed[name] != f"sha256={digest}":
            yield f"{name} is not what RECORD says"


def _tracked(project: Path) -> list[str]:
    """Files of a project that git has, relative to it."""
    asked = ["git", "ls-files", "-z"]
    return subprocess.run(asked, cwd=project, capture_output=True, text=True, check=True).stdout.split("\0")[
        :-1
    ]
