"""Collects permissively licensed sources from the package registries.

    python -m training.collect --into DIR [--only pypi,npm,debian] [--exclude FILE] [--against FOLDER …] [--workers N]

Writes DIR/src/<registry>/<name>/… and one line a package to DIR/manifest.jsonl. A package that has a line is not
fetched again, so a run that was stopped goes on where it was. `--against` compares the result with folders of texts
that models are measured on (see `training.collect.exclude`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from training.collect.exclude import NO_EXCLUSIONS, Exclusions, read_exclusions
from training.collect.licences import CopyrightFile, read_copyright, read_text
from training.collect.overlap import drop_overlapping
from training.collect.registries import (
    MAX_ARCHIVE_BYTES,
    CollectError,
    Debian,
    NotThere,
    Package,
    fetch_archive,
    look_up_npm,
    look_up_pypi,
)
from training.collect.unpack import (
    MAX_PACKAGE_BYTES,
    MAX_PACKAGE_FILES,
    TextFile,
    choose,
    is_useful,
    read_members,
    read_text_file,
    sane_path,
)

LookUp = Callable[[str], list[Package]]
REGISTRIES: Final = ("pypi", "npm", "debian")
LISTS: Final = Path(__file__).parent / "packages"

_LICENCE_FILE = re.compile(r"(?:licen[cs]e|copying)(?:[.-][\w.-]+)?$", re.IGNORECASE)
_METADATA_FILE = re.compile(
    r"(?:cargo\.toml|package\.json|composer\.json|[\w.-]+\.(?:gemspec|cabal))$", re.IGNORECASE
)
_URL = re.compile(r"https?://[\w.-]+/[\w.~-]+/[\w.-]+")
_INSTALLED = re.compile(
    r"usr/(?:share|lib)/(?:cargo/registry/[^/]+/|gocode/src/[^/]+/|rubygems-integration/\w+/gems/[^/]+/|doc/[^/]+/|"
    r"ruby/vendor_ruby/|php/|nodejs/|lua/[\d.]+/)?"
)
"""Where binary packages put sources; the paths of sources begin after it."""
_OWN_URL_LINE = re.compile(r"""(?im)^\s*"?(?:repository|homepage|location|url|support|\w+\.homepage)\b.*$""")
_MAX_CANDIDATE_CHARS = 60_000_000  # far more than is kept of any package; what comes after it is not read
_PROGRESS_EVERY = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line of a package list: a name, and how much may be kept of it where that is more than usual."""

    name: str
    max_bytes: int = MAX_PACKAGE_BYTES


def read_list(path: Path) -> list[Wanted]:
    """Reads a list: one name a line, an optional cap such as `40MB` after it, `#` begins a comment."""
    wanted: list[Wanted] = []
    for line in path.read_text("utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words:
            cap = int(words[1].removesuffix("MB")) * 1_000_000 if len(words) > 1 else MAX_PACKAGE_BYTES
            wanted.append(Wanted(words[0], cap))
    return wanted


class Collection:
    """The folder that is written to; every thread writes through it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._manifest = folder / "manifest.jsonl"
        self._contents = folder / "contents.txt"
        folder.mkdir(parents=True, exist_ok=True)
        self._seen = set(self._contents.read_text("ascii").split()) if self._contents.exists() else set()

    def done(self) -> set[tuple[str, str]]:
        """Registry and name of the packages that have a line in the manifest."""
        if not self._manifest.exists():
            return set()
        lines = map(json.loads, self._manifest.read_text("utf-8").splitlines())
        return {(line["registry"], line["name"]) for line in lines}

    def claim(self, files: list[TextFile]) -> list[TextFile]:
        """The files whose content no package brought before."""
        kept: list[TextFile] = []
        with self._lock:
            for each in files:
                digest = _content_digest(each)
                if digest not in self._seen:
                    self._seen.add(digest)
                    kept.append(each)
        return kept

    def write(self, registry: str, name: str, files: list[TextFile]) -> int:
        """Writes the files of a package and answers how many bytes they are."""
        total = 0
        root = self.folder / "src" / registry / sane_path(name.replace("/", "__"))
        for each in files:
            body = each.text.encode("utf-8", "replace")
            target = root / sane_path(each.path)
            if target.is_dir() or any(parent.is_file() for parent in target.parents):
                continue  # two names that became one
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
            total += len(body)
        return total

    def note(self, line: dict[str, object], files: Sequence[TextFile] = ()) -> None:
        """Adds a line to the manifest, and the content of its files to what is known; both only once it is written."""
        with self._lock:
            with self._contents.open("a", encoding="ascii") as contents:
                contents.writelines(_content_digest(each) + "\n" for each in files)
            with self._manifest.open("a", encoding="utf-8") as manifest:
                manifest.write(json.dumps(line, ensure_ascii=False) + "\n")


def _content_digest(file: TextFile) -> str:
    return hashlib.sha256(file.text.encode("utf-8", "replace")).hexdigest()[:24]


def collect_package(
    wanted: Wanted, look_up: LookUp, exclusions: Exclusions, collection: Collection, registry: str
) -> dict[str, object]:
    """Fetches one package and writes its files; answers its line for the manifest."""
    line: dict[str, object] = {"registry": registry, "name": wanted.name, "kept": False, "why": ""}
    claimed: list[TextFile] = []
    try:
        package, files = read_first(look_up(wanted.name), wanted.max_bytes, exclusions)
        line |= {"version": package.version, "url": [archive.url for archive in package.archives]}
        line |= {"sha256": [archive.digest for archive in package.archives]}
        line |= {"licence_found": package.licence_found, "licence": package.licence.name}
        if not package.licence.is_permissive:
            raise CollectError("licence not permissive")
        scale = max(1, wanted.max_bytes // MAX_PACKAGE_BYTES)
        chosen = choose(files, max_bytes=wanted.max_bytes, max_files=MAX_PACKAGE_FILES * scale)
        claimed = collection.claim(chosen)
        if not claimed:
            raise CollectError("no useful file")
        line |= {"kept": True, "files": len(claimed), "bytes": collection.write(registry, wanted.name, claimed)}
    except CollectError as error:
        line["why"] = str(error)
    except (
        ValueError,
        KeyError,
        TypeError,
        OSError,
    ) as error:  # a registry's answer in a form that nobody promised
        line["why"] = f"unreadable: {type(error).__name__}: {error}"
    collection.note(line, claimed)
    return line


def read_first(
    candidates: list[Package], max_bytes: int, exclusions: Exclusions
) -> tuple[Package, list[TextFile]]:
    """Reads the first of the candidates whose archives are there."""
    for package in candidates:
        excluded = exclusions.reason(package.name, package.urls)
        if excluded:
            raise CollectError(f"excluded: {excluded}")
        try:
            return read_package(package, max_bytes, exclusions)
        except NotThere:
            continue
    raise NotThere


def read_package(package: Package, max_bytes: int, exclusions: Exclusions) -> tuple[Package, list[TextFile]]:
    """Downloads the archives of a package and reads its files, with its licence as far as it can be told."""
    limit = max(MAX_ARCHIVE_BYTES, max_bytes * 12)
    files: list[TextFile] = []
    copyright_file: CopyrightFile | None = None
    if _is_refused(package):
        return package, []
    for archive in package.archives:
        if archive.size > limit:
            if len(package.archives) > 2:
                continue  # one of several components
            raise CollectError(f"too large: {archive.size // 1_000_000} MB")
        body = fetch_archive(archive)
        most = max(_MAX_CANDIDATE_CHARS, 4 * max_bytes)
        found, inside = _read_archive(body, archive.url, package, copyright_file, most)
        files += found
        copyright_file = inside.copyright or copyright_file
        package = _with_licence(package, inside, copyright_file)
        excluded = exclusions.reason(package.name, [*package.urls, *inside.urls])
        if excluded:
            raise CollectError(f"excluded: {excluded}")
        if not package.licence.is_permissive:
            return package, []
    if copyright_file is not None:
        files = [each for each in files if _is_kept(copyright_file, each.path, package)]
        files = [replace(each, path=_INSTALLED.sub("", each.path)) for each in files]
    return package, files


def _is_kept(copyright_file: CopyrightFile, path: str, package: Package) -> bool:
    """Whether the copyright file lets a path in.

    It speaks of the sources, not of where a binary package puts them: there, a refused stanza that fits any end of the
    path counts.
    """
    if package.archives[-1].url.endswith(".deb"):
        return not copyright_file.refuses_tail(path)
    return copyright_file.licence_of(path).is_permissive


@dataclass(frozen=True, slots=True)
class _Inside:
    """What an archive says of itself: its copyright file, its licence's text, and its repository."""

    copyright: CopyrightFile | None = None
    has_copyright: bool = False
    licence_text: str = ""
    urls: tuple[str, ...] = ()


def _read_archive(
    body: bytes, url: str, package: Package, copyright_file: CopyrightFile | None, most_chars: int
) -> tuple[list[TextFile], _Inside]:
    files: list[TextFile] = []
    inside = _Inside()
    total = 0

    def is_wanted(path: str) -> bool:
        return _is_about(path) or is_useful(path)

    for path, member in read_members(body, url, is_wanted):
        if _is_about(path):
            inside = _read_about(inside, path, member.decode("utf-8", "replace"), package.registry)
            if not is_useful(path):
                continue
        if copyright_file is not None and not _is_kept(copyright_file, path, package):
            continue
        each = read_text_file(path, member)
        if each is not None:
            files.append(each)
            total += len(each.text)
        if total > most_chars:
            break
    return files, inside


def _is_about(path: str) -> bool:
    if path == "copyright" or (path.endswith("/copyright") and path.startswith(("debian/", "usr/share/doc/"))):
        return True
    return "/" not in path and bool(_LICENCE_FILE.match(path) or _METADATA_FILE.match(path))


def _read_about(inside: _Inside, path: str, text: str, registry: str) -> _Inside:
    if path.endswith("copyright"):
        if registry != "debian":
            return inside
        read = read_copyright(text)
        return replace(inside, copyright=read, has_copyright=True)
    if _LICENCE_FILE.match(path):
        return replace(inside, licence_text=inside.licence_text + "\n" + text)
    return replace(inside, urls=(*inside.urls, *_own_urls(text)))


def _own_urls(text: str) -> tuple[str, ...]:
    """The repository that a metadata file names; not those of dependencies."""
    return tuple(url for line in _OWN_URL_LINE.findall(text) for url in _URL.findall(line))


def _with_licence(package: Package, inside: _Inside, copyright_file: CopyrightFile | None) -> Package:
    if package.registry == "debian":
        if package.licence.is_permissive:
            return package
        if copyright_file is None:
            return replace(
                package, licence_found="debian/copyright not machine-readable" if inside.has_copyright else ""
            )
        words, licence = copyright_file.whole()
        urls = (*package.urls, *_URL.findall(copyright_file.source))
        return replace(package, licence_found=words, licence=licence, urls=urls)
    if not package.licence.is_permissive and inside.licence_text:
        return replace(package, licence_found="text of LICENSE", licence=read_text(inside.licence_text))
    return package


def _is_refused(package: Package) -> bool:
    """Whether what the registry says is enough not to download the package at all."""
    found = package.licence_found.strip()
    said = package.registry != "debian" and not package.licence.is_permissive and bool(found)
    return said and not _says_look_inside(found)


def _says_look_inside(found: str) -> bool:
    """Whether the metadata names no licence of its own but points to a file."""
    return bool(
        re.search(
            r"see licen[cs]e|licen[cs]e(?:\.\w+)? file|^file:|^licen[cs]e(?:\.\w+)?$|^other$", found, re.I
        )
    )


def collect(
    into: Path, registries: Sequence[str], exclusions: Exclusions, workers: int, lists: Path = LISTS
) -> Counter[str]:
    """Collects every package of the lists that has no line yet; answers the counts by outcome."""
    collection = Collection(into)
    done = collection.done()
    jobs: list[tuple[str, Wanted]] = []
    for registry in registries:
        path = lists / f"{registry}.txt"
        jobs += [(registry, each) for each in read_list(path) if (registry, each.name) not in done]
    # What has a cap of its own is of a rare language and comes first; the rest in an order of no meaning, so that a run
    # that was stopped has something of every language.
    jobs.sort(key=lambda job: (-job[1].max_bytes, hashlib.sha256(job[1].name.encode()).digest()))
    look_up: dict[str, LookUp] = {"pypi": look_up_pypi, "npm": look_up_npm}
    if any(registry == "debian" for registry, _ in jobs):
        look_up["debian"] = Debian().look_up
    counts: Counter[str] = Counter()
    started = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        futures = [
            pool.submit(collect_package, wanted, look_up[registry], exclusions, collection, registry)
            for registry, wanted in jobs
        ]
        for number, future in enumerate(as_completed(futures), 1):
            line = future.result()
            counts["kept" if line["kept"] else str(line["why"]).partition(":")[0]] += 1
            if number % _PROGRESS_EVERY == 0 or number == len(futures):
                passed = time.monotonic() - started
                sys.stdout.write(f"{passed:6.0f} s  {number}/{len(futures)}  {dict(counts.most_common())}\n")
                sys.stdout.flush()
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="training.collect", description="Collects permissively licensed sources."
    )
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--only", default=",".join(REGISTRIES), help="registries, separated by commas")
    parser.add_argument("--exclude", type=Path, help="a file of owner/name lines: projects to leave out")
    parser.add_argument(
        "--against", type=Path, action="append", default=[], help="folders of texts to leave out"
    )
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--lists", type=Path, default=LISTS, help="the folder of the package lists")
    options = parser.parse_args(arguments)
    exclusions = read_exclusions(options.exclude) if options.exclude else NO_EXCLUSIONS
    counts = collect(options.into, options.only.split(","), exclusions, options.workers, options.lists)
    sys.stdout.write(f"{dict(counts.most_common())}\n")
    if options.against:
        sys.stdout.write(drop_overlapping(options.into, options.against, exclusions.holds_path) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
