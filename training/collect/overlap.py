"""Finds collected texts that also stand in the texts that models are measured on, line by line.

A file is dropped when a fifth of its distinctive lines are known, or when it holds the whole body of one measured
document; a package, when too many of its files or lines are. What is dropped is written to `dropped.txt`, one
`src/registry/name/path` a line with the name as in the manifest, what overlaps to `overlap.jsonl`; no collected file
is removed.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MIN_LINE_CHARS: Final = 25
MIN_LINE_WORDS: Final = 3
"""A distinctive line has as many characters and words: `return self.value` stands in every project."""
MAX_LINE_SOURCES: Final = 4
"""A line that more packages and measured projects share is a licence header or an idiom, and tells nothing."""
FILE_SHARE: Final = 0.20
FILE_MIN_LINES: Final = 5
PACKAGE_FILE_SHARE: Final = 0.05
PACKAGE_LINE_SHARE: Final = 0.10
MIN_BODY_LINES: Final = 3
MIN_BODY_DISTINCTIVE: Final = 2
"""A measured document is looked for whole from three lines on, of which two must be distinctive: functions in measured
sets are short, and a copy of one must not be missed."""
MAX_REFERENCE_BYTES: Final = 2_000_000
"""What is larger in a measured tree is data; the files of documents (`.jsonl`) are read whatever their size."""

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class Reference:
    """The measured texts: by the hash of a line the projects that have it, and the bodies by their first line."""

    lines: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    bodies: dict[int, list[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, text: str, project: str) -> None:
        """Adds the distinctive lines of a text."""
        for line in _lines(text):
            if is_distinctive(line):
                self.lines[hash(line)].add(project)

    def add_body(self, text: str) -> None:
        """Adds a document that no collected file may hold whole."""
        lines = list(_lines(text))
        if len(lines) >= MIN_BODY_LINES and sum(map(is_distinctive, lines)) >= MIN_BODY_DISTINCTIVE:
            hashes = tuple(map(hash, lines))
            self.bodies[hashes[0]].append(hashes)

    def holds_body(self, hashes: Sequence[int]) -> bool:
        """Whether a text, given by the hashes of its lines, holds one of the bodies whole."""
        for at, first in enumerate(hashes):
            for body in self.bodies.get(first, ()):
                if tuple(hashes[at : at + len(body)]) == body:
                    return True
        return False


@dataclass(frozen=True, slots=True)
class FileLines:
    """What the comparison needs of a collected file: how many distinctive lines it has, and which are known."""

    path: str
    distinctive: int
    known: tuple[int, ...]
    has_body: bool


def is_distinctive(line: str) -> bool:
    """Whether a line, once its blanks are made single, is long enough to be told from others."""
    return len(line) >= MIN_LINE_CHARS and len(_WORD.findall(line)) >= MIN_LINE_WORDS


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        normalised = " ".join(line.split())
        if normalised:
            yield normalised


def read_reference(folders: Iterable[Path]) -> Reference:
    """Reads the measured texts: trees of files, and in `.jsonl` files the strings of each line."""
    reference = Reference()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or ".git" in path.parts:
                continue
            project = f"{folder.name}/{path.relative_to(folder).parts[0]}"
            if path.suffix == ".jsonl":
                _add_documents(reference, path, project)
            elif path.stat().st_size <= MAX_REFERENCE_BYTES:
                body = path.read_bytes()
                if b"\0" not in body[:4096]:
                    reference.add(body.decode("utf-8", "replace"), project)
    return reference


def _add_documents(reference: Reference, path: Path, project: str) -> None:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                for text in _strings(json.loads(line)):
                    reference.add(text, project)
                    reference.add_body(text)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def compare_file(path: str, text: str, reference: Reference) -> FileLines:
    """Compares one collected file with the measured texts."""
    hashes: list[int] = []
    distinctive = 0
    known: list[int] = []
    for line in _lines(text):
        code = hash(line)
        hashes.append(code)
        if is_distinctive(line):
            distinctive += 1
            if code in reference.lines:
                known.append(code)
    return FileLines(path, distinctive, tuple(known), reference.holds_body(hashes))


def compare_packages(into: Path, reference: Reference) -> dict[str, list[FileLines]]:
    """Every file of every package of a collection, compared; by `registry/name`, the name as in the manifest."""
    packages: dict[str, list[FileLines]] = {}
    for folder in sorted((into / "src").glob("*/*")):
        scope, joint, bare = folder.name.partition("__")
        name = f"{scope}/{bare}" if joint and scope.startswith("@") else folder.name
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        package = f"{folder.parent.name}/{name}"
        packages[package] = [
            compare_file(
                f"src/{package}/{path.relative_to(folder).as_posix()}",
                path.read_text("utf-8", "replace"),
                reference,
            )
            for path in files
        ]
    return packages


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the comparison says of a package: its files to drop, its known lines, and whether all of it goes."""

    package: str
    files: int
    lines: int
    known_lines: int
    dropped: tuple[str, ...]
    copies: tuple[str, ...]
    is_dropped: bool


def judge(packages: dict[str, list[FileLines]], reference: Reference) -> list[Overlap]:
    """Decides what is dropped, leaving out of account the lines that many packages and projects share."""
    sources: Counter[int] = Counter()
    for files in packages.values():
        sources.update({line for each in files for line in each.known})
    telling = {
        line for line, count in sources.items() if count + len(reference.lines[line]) <= MAX_LINE_SOURCES
    }
    return [_judge_package(name, files, telling) for name, files in packages.items()]


def _judge_package(name: str, files: list[FileLines], telling: set[int]) -> Overlap:
    dropped: list[str] = []
    known_lines = 0
    for each in files:
        known = sum(line in telling for line in each.known)
        known_lines += known
        if known >= FILE_MIN_LINES and known >= FILE_SHARE * each.distinctive:
            dropped.append(each.path)
    lines = sum(each.distinctive for each in files)
    too_many = len(dropped) > 0 and len(dropped) >= PACKAGE_FILE_SHARE * len(files)
    too_known = known_lines >= FILE_MIN_LINES and known_lines >= PACKAGE_LINE_SHARE * lines
    copies = tuple(each.path for each in files if each.has_body)
    return Overlap(name, len(files), lines, known_lines, tuple(dropped), copies, too_many or too_known)


def drop_overlapping(
    into: Path, against: Sequence[Path], is_copy: Callable[[str], bool] = lambda _: False
) -> str:
    """Compares a collection with the measured texts, writes `dropped.txt` and `overlap.jsonl`, answers a summary.

    `is_copy` says of a path below a package whether it is another project's, copied there; such files are dropped too.
    """
    reference = read_reference(against)
    packages = compare_packages(into, reference)
    overlaps = judge(packages, reference)
    dropped: set[str] = set()
    for each in overlaps:
        dropped.update(each.dropped, each.copies)
        if each.is_dropped:
            dropped.update(file.path for file in packages[each.package])
    below = {
        file.path
        for name, files in packages.items()
        for file in files
        if is_copy(file.path.removeprefix(f"src/{name}/")) and file.path not in dropped
    }
    dropped |= below
    (into / "dropped.txt").write_text("".join(f"{path}\n" for path in sorted(dropped)), "utf-8")
    with (into / "overlap.jsonl").open("w", encoding="utf-8") as report:
        for each in sorted(overlaps, key=lambda overlap: (-overlap.known_lines, overlap.package)):
            if each.known_lines or each.copies:
                report.write(json.dumps({name: getattr(each, name) for name in Overlap.__slots__}) + "\n")
    return f"{_summary(overlaps, reference)}\n{'other files dropped: of a copied project':40}{len(below):10,}"


def _summary(overlaps: list[Overlap], reference: Reference) -> str:
    rows = [
        ("measured lines", len(reference.lines)),
        ("measured documents looked for whole", sum(map(len, reference.bodies.values()))),
        ("packages", len(overlaps)),
        ("files", sum(each.files for each in overlaps)),
        ("packages with a known line", sum(each.known_lines > 0 for each in overlaps)),
        ("packages dropped whole", sum(each.is_dropped for each in overlaps)),
        ("files in them", sum(each.files for each in overlaps if each.is_dropped)),
        (
            "other files dropped: known lines",
            sum(len(each.dropped) for each in overlaps if not each.is_dropped),
        ),
        (
            "other files dropped: a whole document",
            sum(len(each.copies) for each in overlaps if not each.is_dropped),
        ),
    ]
    return "\n".join(f"{label:40}{number:10,}" for label, number in rows)
