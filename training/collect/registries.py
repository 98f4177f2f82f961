"""Where packages come from: what a registry says of one, and its archives, with their hashes verified."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import logging
import lzma
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from training.collect.licences import NO_LICENCE, Licence, read_npm, read_pypi

PYPI: Final = "https://pypi.org/pypi"
PYPI_FILES: Final = "https://files.pythonhosted.org/packages"
NPM: Final = "https://registry.npmjs.org"
DEBIAN: Final = "http://deb.debian.org/debian"
DEBIAN_SUITES: Final = ("bookworm", "trixie", "sid")
"""The first suite that has a package is asked for it: the oldest keeps its version for years."""
DEBIAN_SOURCES: Final = "source/Sources.xz"
DEBIAN_BINARIES: Final = "binary-amd64/Packages.xz"

MAX_ARCHIVE_BYTES: Final = 48 * 2**20
"""What is larger is data or binaries; a list may ask for more by name."""

_TIMEOUT_S = 60
_TRIES = 3
_log = logging.getLogger(__name__)


class CollectError(Exception):
    """A package that cannot be had; the message says why and goes into the manifest."""


class NotThere(CollectError):
    """An address that the registry does not have."""

    def __init__(self) -> None:
        super().__init__("not found")


@dataclass(frozen=True, slots=True)
class Archive:
    """One file to download: its address, its expected hash as `algorithm:hex` and its size where known."""

    url: str
    digest: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Package:
    """What a registry says of a package. `licence_found` is as written there, `licence` as read; `urls` are its home
    and its repository. `archives` come in the order in which they are read."""

    registry: str
    name: str
    version: str
    archives: tuple[Archive, ...]
    licence_found: str = ""
    licence: Licence = NO_LICENCE
    urls: tuple[str, ...] = field(default=())


def fetch(url: str) -> bytes:
    """Downloads one address, trying again when the network fails."""
    for attempt in range(_TRIES):
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "outcrop-training"})
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
                body: bytes = response.read()
                return body
        except urllib.error.HTTPError as error:
            if error.code in {404, 410}:
                raise NotThere from error
            if error.code < 500 and error.code != 429:
                raise CollectError(f"HTTP {error.code}") from error
            _log.info("retry", extra={"url": url, "code": error.code})
        except (OSError, http.client.HTTPException) as error:
            if attempt == _TRIES - 1:
                raise CollectError(f"download failed: {error}") from error
        time.sleep(1 + attempt)
    raise CollectError("download failed")


def fetch_archive(archive: Archive) -> bytes:
    """Downloads an archive and checks it against the hash that its registry gave."""
    body = fetch(archive.url)
    algorithm, _, expected = archive.digest.partition(":")
    if hashlib.new(algorithm, body).hexdigest() != expected:
        raise CollectError(f"{algorithm} of {archive.url.rpartition('/')[2]} differs")
    return body


def look_up_pypi(name: str) -> list[Package]:
    """Asks PyPI for the newest source distribution of a project."""
    answer = json.loads(fetch(f"{PYPI}/{urllib.parse.quote(name)}/json"))
    info: dict[str, Any] = answer["info"]
    files = [each for each in answer["urls"] if each["packagetype"] == "sdist"]
    if not files:  # pure Python wheels hold the same modules
        files = [each for each in answer["urls"] if each["filename"].endswith("-none-any.whl")]
    if not files:
        raise CollectError("no source distribution")
    chosen = files[0]
    expression = info.get("license_expression") or ""
    words = info.get("license") or ""
    classifiers = [line for line in info.get("classifiers") or [] if line.startswith("License ::")]
    urls = [
        info.get("home_page") or "",
        info.get("download_url") or "",
        *_own_urls(info.get("project_urls") or {}),
    ]
    package = Package(
        "pypi",
        name,
        info["version"],
        (Archive(_pypi_url(chosen["url"]), "sha256:" + chosen["digests"]["sha256"], chosen["size"]),),
        "; ".join(filter(None, [expression, words[:200], *classifiers])),
        read_pypi(expression, words, classifiers),
        tuple(filter(None, urls)),
    )
    return [package]


def _pypi_url(url: str) -> str:
    """The address of a file; some mirrors answer with one relative to an index that they do not show."""
    return url if "://" in url else f"{PYPI_FILES}/{url.rpartition('packages/')[2]}"


def _own_urls(project_urls: dict[str, str]) -> list[str]:
    """The addresses that are the project's own; a link to a sponsor or a chat is not."""
    words = (
        "source",
        "home",
        "repo",
        "code",
        "github",
        "git",
        "bug",
        "issue",
        "tracker",
        "changelog",
        "download",
    )
    return [url for label, url in project_urls.items() if any(word in label.lower() for word in words)]


def look_up_npm(name: str) -> list[Package]:
    """Asks npm for the newest release of a package."""
    answer = json.loads(fetch(f"{NPM}/{urllib.parse.quote(name, safe='@')}"))
    version = answer.get("dist-tags", {}).get("latest", "")
    release = answer.get("versions", {}).get(version)
    if not release:
        raise CollectError("no release")
    dist = release["dist"]
    declared = release.get("license") or release.get("licenses") or answer.get("license") or ""
    repository = release.get("repository") or answer.get("repository") or ""
    if isinstance(repository, dict):
        repository = repository.get("url") or ""
    home = release.get("homepage") or ""
    package = Package(
        "npm",
        name,
        version,
        (Archive(dist["tarball"], _npm_digest(dist), dist.get("unpackedSize", 0) // 4),),
        declared if isinstance(declared, str) else json.dumps(declared)[:200],
        read_npm(declared),
        tuple(url for url in (repository, home) if isinstance(url, str) and url),
    )
    return [package]


def _npm_digest(dist: dict[str, Any]) -> str:
    """npm's `sha512-base64` as `sha512:hex`; old releases have a SHA-1 only."""
    for part in str(dist.get("integrity") or "").split():
        algorithm, _, encoded = part.partition("-")
        if algorithm in {"sha512", "sha384", "sha256"}:
            return f"{algorithm}:{base64.b64decode(encoded).hex()}"
    if dist.get("shasum"):
        return f"sha1:{dist['shasum']}"
    raise CollectError("no hash")


class Debian:
    """The indexes of the Debian suites, read once.

    A mirror may lack the archives of a suite: every version that the suites name is a candidate, and after them the
    binary packages that carry sources (Rust, Go and script libraries are installed as text).
    """

    def __init__(self, suites: tuple[str, ...] = DEBIAN_SUITES) -> None:
        self._sources: dict[str, list[str]] = defaultdict(list)
        self._binaries: dict[str, list[str]] = defaultdict(list)
        self._of_source: dict[str, list[str]] = defaultdict(list)
        for suite in suites:
            for name, paragraph in _read_index(f"{DEBIAN}/dists/{suite}/main/{DEBIAN_SOURCES}"):
                self._sources[name].append(paragraph)
            for name, paragraph in _read_index(f"{DEBIAN}/dists/{suite}/main/{DEBIAN_BINARIES}"):
                self._binaries[name].append(paragraph)
                match = re.search(r"\nSource: (\S+)", paragraph)
                if _TEXT_BINARY.match(name):
                    self._of_source[match[1] if match else name].append(paragraph)

    def look_up(self, name: str) -> list[Package]:
        """The candidates for a name, the preferred one first."""
        found = [_debian_source(name, paragraph) for paragraph in self._sources.get(name, [])]
        installed = self._of_source.get(name, []) if found else self._binaries.get(name, [])
        packages = [each for each in found if each.archives]
        packages += [_debian_binary(name, paragraph) for paragraph in installed]
        if not packages:
            raise NotThere
        return packages


def _read_index(url: str) -> Iterator[tuple[str, str]]:
    body = lzma.decompress(fetch(url)).decode("utf-8", "replace")
    for paragraph in body.split("\n\n"):
        match = re.search(r"(?m)^Package: (\S+)", paragraph)
        if match:
            yield match[1], paragraph


def _debian_binary(name: str, paragraph: str) -> Package:
    fields = _debian_fields(paragraph)
    archive = Archive(f"{DEBIAN}/{fields['filename']}", "sha256:" + fields["sha256"], int(fields["size"]))
    return Package("debian", name, fields["version"], (archive,), urls=_debian_urls(fields))


def _debian_source(name: str, paragraph: str) -> Package:
    """A source package: its packaging comes first, as the copyright file in it decides on the rest."""
    fields = _debian_fields(paragraph)
    archives = [
        Archive(f"{DEBIAN}/{fields['directory']}/{file}", f"sha256:{digest}", int(size))
        for digest, size, file in re.findall(
            r"(?m)^ ([0-9a-f]{64}) (\d+) (\S+\.tar\.(?:xz|gz|bz2))$", fields.get("checksums-sha256", "")
        )
    ]
    archives.sort(key=lambda archive: (".debian.tar." not in archive.url, archive.url))
    return Package("debian", name, fields["version"], tuple(archives), urls=_debian_urls(fields))


def _debian_fields(paragraph: str) -> dict[str, str]:
    return {match[1].lower(): match[2] for match in _DEBIAN_FIELD.finditer(paragraph)}


def _debian_urls(fields: dict[str, str]) -> tuple[str, ...]:
    return tuple(fields[key] for key in ("homepage", "go-import-path") if key in fields)


_DEBIAN_FIELD = re.compile(r"(?m)^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)")
_TEXT_BINARY = re.compile(r"(?:librust-[\w.-]+-dev|golang-[\w.-]+-dev|(?:ruby|php|lua|elixir|node)-[\w.-]+)$")
