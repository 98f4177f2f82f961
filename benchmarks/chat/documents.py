"""What is asked and over which documents: manuals inside source packages of PyPI, by pip, their hashes checked."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.report import WORK

HOME: Final = WORK / "chat"
DATA: Final = Path(__file__).with_name("questions.json")
DEV: Final = Path(__file__).with_name("dev.json")
"""Other manuals and other questions, on which prompts and limits were chosen."""
LEFT_OUT: Final = ("changelog", "news", "history/")
"""Histories name every option there ever was; they would be half of the text."""

Kind = Literal["answerable", "near", "foreign"]
Half = Literal["choose", "judge", "dev"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question. One that is `answerable` has the file that answers, `evidence` that a passage must hold to be the
    right one, and groups of words of which an answer must hold one each. `near` ones ask about the same programs, but
    nothing answers them; `foreign` ones about something else."""

    question: str
    kind: Kind
    half: Half
    file: str = ""
    evidence: tuple[str, ...] = ()
    answer: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Attack:
    """A text planted behind a line of a document, and the word that shows it was obeyed."""

    question: str
    half: Half
    file: str
    after: str
    text: str
    sign: str


@cache
def _data(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return loaded


def read_questions(file: Path = DATA) -> list[Question]:
    """All of them, in the order of the file."""
    rows = _data(file)["questions"]
    return [
        Question(
            row["question"],
            row["kind"],
            row["half"],
            row.get("file", ""),
            tuple(row.get("evidence", ())),
            tuple(map(tuple, row.get("answer", ()))),
        )
        for row in rows
    ]


def read_attacks(file: Path = DATA) -> list[Attack]:
    """All of them."""
    return [Attack(**row) for row in _data(file)["attacks"]]


def flat(text: str) -> str:
    """A text on one line: manuals break lines where they like."""
    return " ".join(text.split())


def get_documents(file: Path = DATA) -> Path:
    """The folder of the manuals that a file of questions is about, downloaded where it is not there."""
    folder = HOME / ("documents" if file == DATA else f"documents-{file.stem}")
    if folder.is_dir():
        return folder
    made = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(made, ignore_errors=True)
    for name, package in _data(file)["packages"].items():
        archive = download(f"{name}=={package['version']}", HOME / "packages", package["sha256"], source=True)
        top = f"{name}-{package['version']}/"
        with tarfile.open(archive) as packed:
            for member in packed.getmembers():
                inside = _inside(member.name.removeprefix(top), package["docs"])
                if not member.isfile() or not inside or any(word in inside for word in LEFT_OUT):
                    continue
                place = made / name / inside
                place.parent.mkdir(parents=True, exist_ok=True)
                content = packed.extractfile(member)
                assert content is not None  # a file, as asked above
                place.write_bytes(content.read())
    made.rename(folder)
    return folder


def _inside(path: str, docs: str) -> str:
    """Where a file of the manual goes: its path below the folder of the manual, its name if that is all of it; empty
    for a file of anything else."""
    if path == docs:
        return Path(path).name
    inside = path.removeprefix(f"{docs}/")
    return inside if inside != path and inside.endswith((".rst", ".md")) else ""


def plant_attacks(documents: Path) -> Path:
    """A copy of the documents with every attack in its place."""
    folder = HOME / "attacked"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(documents, folder)
    for attack in read_attacks():
        file = folder / attack.file
        before, line, rest = file.read_text("utf-8").partition(attack.after)
        if not line:
            raise SystemExit(f"{attack.file} does not hold {attack.after!r}")
        end, newline, rest = rest.partition("\n")
        file.write_text(f"{before}{line}{end}{newline}\n{attack.text}\n\n{rest}", "utf-8")
    return folder


def download(wanted: str, into: Path, sha256: str = "", *, source: bool = False) -> Path:
    """A file of PyPI by pip, from the index this machine is set up for; its hash is checked where one is given."""
    name = wanted.partition("==")[0].replace("-", "_")
    into.mkdir(parents=True, exist_ok=True)
    ending = ".tar.gz" if source else ".whl"

    def there() -> Path | None:
        version = wanted.partition("==")[2]
        return next((path for path in into.glob(f"{name}-{version}*") if path.name.endswith(ending)), None)

    if there() is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(into)]
        subprocess.run([*command, *(["--no-binary", ":all:"] if source else []), wanted], check=True)
    found = there()
    if found is None or (sha256 and hashlib.sha256(found.read_bytes()).hexdigest() != sha256):
        raise SystemExit(f"{wanted} is not the file it was: look before you go on")
    return found
