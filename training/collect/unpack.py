"""Which files of an archive are worth keeping. Members are read in memory, never unpacked where their names say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from outcrop.parse.code.languages import LANGUAGES, find_language
from outcrop.parse.roles import role_of
from training.collect.licences import has_copyleft_header
from training.collect.registries import CollectError

MAX_FILE_BYTES: Final = 300_000
MAX_PACKAGE_BYTES: Final = 4_000_000
MAX_PACKAGE_FILES: Final = 400
MAX_READ_BYTES: Final = 400_000_000
"""What is read of one archive at most: a small archive may hold terabytes."""
TESTS_SHARE: Final = 0.15
"""Of the files kept, tests may be this share: they show how a thing is called, but repeat themselves."""
MAX_HTML_FILES: Final = 150

_CODE: Final = frozenset(ending for language in LANGUAGES for ending in language.extensions)
_PROSE: Final = frozenset((".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".asciidoc", ".pod"))
_MAN = re.compile(r"\.[1-9][a-z]{0,3}(?:\.in)?$")
_PLAIN_NAMES = re.compile(
    r"(?:readme|changelog|changes|news|history|faq|todo|contributing|upgrading|install)[\w.-]*$", re.I
)
_NEVER = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third[_-]?party|_vendor|\.git|\.github|dist|build|out|es|esm|cjs|umd|locales?|i18n|"
    r"translations|debian|autom4te\.cache|m4)/|(?:^|/)(?:licen[cs]e|copying|authors|contributors|notice|requirements|"
    r"cmakelists|sources|top_level|entry_points|pkg-info)[\w.-]*$|\.min\.|\.d\.[cm]?ts$|-lock\.|\.egg-info/",
    re.IGNORECASE,
)
"""Copied, built or translated files, and names that hold no text of the project's own. `.d.ts` is read where a package
has nothing else (see `choose`)."""
_DECLARATIONS = re.compile(r"\.d\.[cm]?ts$", re.IGNORECASE)
_BUILT = re.compile(r"(?:^|/)(?:dist|build|out|es|esm|cjs|umd)/", re.IGNORECASE)
_SANE_NAME = re.compile(r"[^\w.@+-]+")
_MAX_PATH_CHARS = 180


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as kept: its path below the package's root and its text."""

    path: str
    text: str
    role: str = ""


Wanted = Callable[[str], bool]


def read_members(body: bytes, name: str, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """The regular files of an archive by path, without the folder that holds them all; `wanted` says which to read."""
    try:
        if name.endswith((".whl", ".zip")):
            yield from _zip_members(body, wanted)
        elif name.endswith(".deb"):
            yield from _tar_members(_deb_data(body), wanted, strip=False)
        else:
            yield from _tar_members(_open_tar(body, name), wanted, strip=True)
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError) as error:
        raise CollectError(f"broken archive: {error}") from error


def _open_tar(body: bytes, name: str) -> io.BufferedIOBase:
    raw = io.BytesIO(body)
    if name.endswith(".xz"):
        return lzma.LZMAFile(raw)
    if name.endswith(".bz2"):
        return bz2.BZ2File(raw)
    return gzip.GzipFile(fileobj=raw) if body[:2] == b"\x1f\x8b" else raw


def _deb_data(body: bytes) -> io.BufferedIOBase:
    """The data member of a .deb, which is an `ar` archive: headers of 60 bytes, members at even offsets."""
    at = 8
    while body[:8] == b"!<arch>\n" and at + 60 <= len(body):
        member, size = (
            body[at : at + 16].decode("ascii", "replace").strip().rstrip("/"),
            int(body[at + 48 : at + 58]),
        )
        if member.startswith("data.tar"):
            return _open_tar(body[at + 60 : at + 60 + size], member)
        at += 60 + size + size % 2
    raise CollectError("no data in the .deb")


def _tar_members(stream: io.BufferedIOBase, wanted: Wanted, *, strip: bool) -> Iterator[tuple[str, bytes]]:
    total = 0
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            total += member.size
            if total > MAX_READ_BYTES * 10:
                return
            path = _inner_path(member.name, strip=strip)
            if member.isfile() and 0 < member.size <= MAX_FILE_BYTES and wanted(path):
                opened = archive.extractfile(member)
                if opened is not None:
                    yield path, opened.read()


def _zip_members(body: bytes, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        members = [
            each for each in archive.infolist() if not each.is_dir() and 0 < each.file_size <= MAX_FILE_BYTES
        ]
        tops = {each.filename.partition("/")[0] for each in archive.infolist()}
        for member in members:
            path = _inner_path(member.filename, strip=len(tops) == 1 and "/" in member.filename)
            if wanted(path):
                yield path, archive.read(member)


def _inner_path(name: str, *, strip: bool) -> str:
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    return "/".join(parts[1:] if strip and len(parts) > 1 else parts)


def is_useful(path: str) -> bool:
    """Whether a path is one of source code or of documentation, and not a copy, a build or a lock file."""
    if len(path) > _MAX_PATH_CHARS * 2 or (_NEVER.search(path) and not _may_be_only(path)):
        return False
    name = path.rpartition("/")[2].lower()
    ending = "." + name.rpartition(".")[2] if "." in name[1:] else ""
    if ending in _CODE or ending in _PROSE or _MAN.search(name) or _PLAIN_NAMES.match(name):
        return True
    return ending in {".html", ".htm"} or find_language(path) is not None or (not ending and "/" in path)


def _may_be_only(path: str) -> bool:
    """Built scripts and declarations of npm packages, of which some hold nothing else."""
    return bool(_DECLARATIONS.search(path) or _BUILT.search(path)) and "node_modules" not in path


def read_text_file(path: str, body: bytes) -> TextFile | None:
    """A member as a file to keep; nothing for binaries, generated or minified text and for files under other terms."""
    if b"\0" in body[:4096]:
        return None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
        if sum(character > "\x7f" for character in text) * 20 > len(text):
            return None
    name = path.rpartition("/")[2]
    if "." not in name and not _PLAIN_NAMES.match(name) and find_language(path, text) is None:
        return None
    role = role_of(path, text)
    if role in {"vendored", "generated", "minified", "lock"} or has_copyleft_header(text):
        return None
    return TextFile(path, text, role)


def choose(
    files: list[TextFile], *, max_bytes: int = MAX_PACKAGE_BYTES, max_files: int = MAX_PACKAGE_FILES
) -> list[TextFile]:
    """The files to keep of a package, spread evenly over its folders: work first, documentation too, some tests.

    Built scripts and declarations are kept only where the package holds little other source.
    """
    built = [each for each in files if _BUILT.search(each.path) or _DECLARATIONS.search(each.path)]
    others = [each for each in files if not (_BUILT.search(each.path) or _DECLARATIONS.search(each.path))]
    is_thin = sum(find_language(each.path) is not None for each in others) < 3
    candidates = others + _best_build(built) if is_thin else others
    html = [each for each in candidates if each.path.endswith((".html", ".htm"))]
    candidates = [each for each in candidates if not each.path.endswith((".html", ".htm"))]
    tests = [each for each in candidates if each.role in {"test", "compat"}]
    works = [each for each in candidates if each.role not in {"test", "compat"}]
    chosen: list[TextFile] = []
    room = max_bytes
    for group, share in ((works, 1.0), (html, MAX_HTML_FILES / max_files), (tests, TESTS_SHARE)):
        taken, budget = 0, room * share
        for each in _round_robin(group):
            if len(chosen) >= max_files or taken >= max_files * share:
                break
            if len(each.text) <= budget:
                chosen.append(each)
                taken += 1
                budget -= len(each.text)
                room -= len(each.text)
    return chosen


def _best_build(built: list[TextFile]) -> list[TextFile]:
    """One of the builds, as packages carry the same code several times: the folder that says most about types."""
    groups: dict[str, list[TextFile]] = defaultdict(list)
    for each in built:
        match = _BUILT.search(each.path)
        groups[each.path[: match.end()] if match else ""].append(each)
    ranked = sorted(groups.items(), key=lambda item: (-sum(len(each.text) for each in item[1]), item[0]))
    return ranked[0][1] if ranked else []


def _round_robin(files: list[TextFile]) -> Iterator[TextFile]:
    """One file of each folder in turn, larger ones first: a package is known by all its parts."""
    folders: dict[str, list[TextFile]] = defaultdict(list)
    for each in sorted(files, key=lambda file: (-len(file.text), file.path)):
        folders[each.path.rpartition("/")[0]].append(each)
    depth = 0
    while any(len(group) > depth for group in folders.values()):
        for folder in sorted(folders):
            if len(folders[folder]) > depth:
                yield folders[folder][depth]
        depth += 1


def sane_path(path: str) -> str:
    """A path that is safe to write below a folder on any system."""
    parts = [_SANE_NAME.sub("_", part).lstrip(".") or "_" for part in path.split("/")]
    joined = "/".join(parts)
    return joined if len(joined) <= _MAX_PATH_CHARS else joined[-_MAX_PATH_CHARS:].lstrip("/.")
