"""Documents of several languages in one index with code: does a question in any of them find its document first?

    python -m benchmarks.languages.manuals --data FOLDER --code FOLDER [--bar LEAST] [--dry]
    python -m benchmarks.languages.manuals --download FOLDER

FOLDER holds Debian's translated manual pages as their packages lay them out (`…/man/de/man1/ls.1.gz`); `--download`
gets and unpacks the packages by apt. The same pages are taken in every language, so each question has its answer in
one language and the same answer in four others beside it. A question is what the page says of itself after its name,
in its language; asked of whole pages, and, which is harder, of pages without that line. The bar is for whole pages.
`--code` is a folder of source code that goes into the same index.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.report import Report, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from outcrop.records import Text  # isort: skip

LANGUAGES: Final = ("de", "es", "fr", "ru", "ja")
CASES: Final = 100
PACKAGES: Final = tuple(
    f"manpages-{language}{part}"
    for language in LANGUAGES
    for part in ("", "-dev")
    if language != "es" or not part
)
MIN_CHARS: Final = 600
MIN_WORDS: Final = 4
_SECTION: Final = re.compile(r"^\.S[Hh]\s+", re.MULTILINE)
_ABOUT: Final = re.compile(r"\s(?:-|--|–|—)\s+(.{8,200})")
_MACRO: Final = re.compile(r"^[.'](?:B|I|BR|BI|IR|IB|RB|RI|SM)\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """A manual page in a language: what it says of itself, and the rest of it."""

    name: str
    language: str
    about: str
    head: str
    text: str


def plain_text(roff: str) -> str:
    """The words of a page without its macros."""
    text = re.sub(r"^[.'].*$", "", _MACRO.sub(" ", roff), flags=re.MULTILINE)
    text = re.sub(r"\\f(?:\[[^\]]*\]|\(..|.)|\\[&/,^|%)c]", "", text).replace("\\-", "-")
    text = re.sub(r"\\\(..|\\\[[^\]]*\]|\\s[-+]?\d|\\.", " ", text)
    return re.sub(r"\n{2,}", "\n\n", text).strip()


def read_page(path: Path, language: str) -> Page | None:
    """A page that says what it is about in a sentence and has some text beside that."""
    try:
        sections = _SECTION.split(gzip.decompress(path.read_bytes()).decode("utf-8"))
    except (OSError, UnicodeDecodeError, EOFError):
        return None
    name = plain_text(sections[1].partition("\n")[2]) if len(sections) > 2 else ""
    about = _ABOUT.search(" ".join(name.split()))
    text = "\n\n".join(map(plain_text, sections[2:]))
    if about is None or len(text) < MIN_CHARS:
        return None
    return Page(path.name.removesuffix(".gz"), language, about[1].strip(), name, text)


def read_pages(data: Path) -> dict[str, dict[str, Page]]:
    """Pages by name and language: those that are in every language, each said in words of its own."""
    found: dict[str, dict[str, Page]] = {}
    for language in LANGUAGES:
        for path in sorted(data.rglob(f"man/{language}/man*/*.gz")):
            page = None if path.is_symlink() else read_page(path, language)
            if page is not None:
                found.setdefault(page.name, {}).setdefault(language, page)
    whole = {name: pages for name, pages in found.items() if len(pages) == len(LANGUAGES)}
    seen: set[str] = set()
    told = {}
    for name, pages in whole.items():
        abouts = {page.about for page in pages.values()}
        if len(abouts) == len(LANGUAGES) and not abouts & seen and _is_worded(pages):
            told[name] = pages
        seen |= abouts
    return told


def _is_worded(pages: dict[str, Page]) -> bool:
    return all(len(page.about) >= 20 or len(page.about.split()) >= MIN_WORDS for page in pages.values())


def measure(
    pages: dict[str, dict[str, Page]], code: Path | None, cases: int, *, whole: bool
) -> list[dict[str, object]]:
    """A row for each language: of so many questions in all, the share that has its document first, and a page in its
    language."""
    if len(pages) * len(LANGUAGES) < cases:
        raise SystemExit(f"there are {len(pages)} pages in all of {', '.join(LANGUAGES)}; more are needed")
    each = cases // len(LANGUAGES)
    step = max(len(pages) // each, 1)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as kb:
        kb.add_texts(
            Text(
                f"{page.head}\n\n{page.text}" if whole else page.text,
                id=f"{language}/{name}.txt",
                title=page.name,
            )
            for name, translated in pages.items()
            for language, page in translated.items()
        )
        if code is not None:
            kb.add(code)
        for language in LANGUAGES:
            asked = [pages[name][language] for name in sorted(pages)][::step][:each]
            firsts = [kb.search(page.about, limit=10, merge=False).hits for page in asked]
            uris = [hits[0].document.uri if hits else "" for hits in firsts]
            pairs = list(zip(uris, asked, strict=True))
            rows.append(
                {
                    "language": language,
                    "questions": len(asked),
                    "document first": sum(uri == f"{language}/{page.name}.txt" for uri, page in pairs)
                    / len(asked),
                    "its language first": sum(uri.startswith(f"{language}/") for uri in uris) / len(asked),
                }
            )
        say(
            f"{len(pages)} pages in each of {len(LANGUAGES)} languages; {kb.status().stats.documents} documents"
        )
    return rows


def download(folder: Path) -> None:
    """Get the packages of Debian and unpack them."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        subprocess.run(["apt-get", "download", package], cwd=folder, check=True)
    for archive in sorted(folder.glob("manpages-*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive.name, archive.name.partition("_")[0]], cwd=folder, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of unpacked packages of translated manual pages")
    parser.add_argument("--code", type=Path, help="folder of source code for the same index")
    parser.add_argument(
        "--download", type=Path, metavar="FOLDER", help="get the packages by apt, into this folder"
    )
    parser.add_argument("--cases", type=int, default=CASES, help="questions in all")
    parser.add_argument("--bar", type=float, help="least share of documents that come first")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    arguments = parser.parse_args()
    if arguments.download is not None:
        download(arguments.download)
        return
    if arguments.data is None:
        raise SystemExit("name a folder of manual pages with --data, or get them first with --download FOLDER")
    report = Report("languages-manuals", {"cases": arguments.cases, "code": arguments.code is not None})
    pages = read_pages(arguments.data)
    for whole in (True, False):
        name = "whole pages" if whole else "pages without the line that is asked"
        rows = measure(pages, arguments.code, arguments.cases, whole=whole)
        report.add_table(f"several languages in one index: {name}", rows)
        total = sum(int(str(row["questions"])) for row in rows)
        first = sum(float(str(row["document first"])) * int(str(row["questions"])) for row in rows) / total
        report.add(f"document first, {name}", first, "", at_least=arguments.bar if whole else None)
    if not arguments.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
