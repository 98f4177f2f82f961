"""Labelled sets in languages that the others do not have: known items in the news and in manual pages.

    python -m benchmarks.languages.elsewhere --into FOLDER --news REPOSITORY [--languages tr,fi,ko,…]
    python -m benchmarks.languages.elsewhere --into FOLDER --manuals FOLDER [--languages tr,fi,pl,…]
    python -m benchmarks.languages --data FOLDER …

`--news` takes a clone of MicrosoftTranslator/NTREX: 123 articles, translated by people into 128 languages; a question
is a headline, a document its article without it. `--manuals` takes Debian's translated manual pages, unpacked, and
those of the package `manpages` in English; a question is what a page says of itself, a document the page without that
line. The ids are the same in all languages, so questions can be asked across them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.languages.manuals import read_page

NEWS = {
    **{"ar": "arb", "bn": "ben", "cs": "ces", "el": "ell", "fa": "fas", "fi": "fin", "he": "heb", "hi": "hin"},
    **{"hu": "hun", "id": "ind", "ja": "jpn", "ko": "kor", "pl": "pol", "pt": "por", "ta": "tam", "th": "tha"},
    **{"tr": "tur", "ur": "urd", "vi": "vie", "sw": "swa", "lo": "lao", "my": "mya", "km": "khm"},
}
"""The names of its files, by our codes."""
UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "zh"})
MAX_CHARS = 4000
"""Of a manual page: the longest are books."""
MIN_ABOUT_CHARS = 12

Item = tuple[str, str, str]
"""What it is called, what is asked, and the document."""


def read_news(repository: Path, language: str) -> Iterator[Item]:
    """Headlines and articles."""

    def lines(path: str) -> list[str]:
        shown = subprocess.run(
            ["git", "-C", str(repository), "show", f"HEAD:{path}"], capture_output=True, check=True
        )
        return shown.stdout.decode("utf-8").rstrip("\n").split("\n")

    articles: dict[str, list[str]] = {}
    name = "newstest2019-src.eng" if language == "en" else f"newstest2019-ref.{NEWS[language]}"
    for row, text in zip(lines("DOCUMENT_IDS.tsv"), lines(f"NTREX-128/{name}.txt"), strict=True):
        articles.setdefault(row.split("\t")[0], []).append(text)
    for article, (headline, *rest) in articles.items():
        yield article, headline, ("" if language in UNSPACED else " ").join(rest)


def read_manuals(folder: Path, language: str) -> Iterator[Item]:
    """What pages say of themselves, and the rest of them; each asked once."""
    code = {"pt": "pt_BR", "zh": "zh_CN"}.get(language, language)
    place = "man/man*/*.gz" if language == "en" else f"man/{code}/man*/*.gz"
    seen: set[str] = set()
    for path in sorted(folder.rglob(place)):
        page = None if path.is_symlink() else read_page(path, language)
        if page and page.name not in seen and page.about not in seen and len(page.about) >= MIN_ABOUT_CHARS:
            seen |= {page.name, page.about}
            yield page.name, page.about, page.text[:MAX_CHARS]


def write_set(folder: Path, language: str, items: list[Item]) -> None:
    """A labelled set as the benchmarks read it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.json").write_text(json.dumps({"language": language}), "utf-8")
    rows = {
        "corpus.jsonl": [{"id": name, "text": text} for name, _, text in items],
        "queries.jsonl": [{"id": name, "text": asked} for name, asked, _ in items],
    }
    for name, lines in rows.items():
        (folder / name).write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8"
        )
    gold = "".join(f"{name}\t{name}\t1\n" for name, _, _ in items)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{gold}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True, help="folder for the sets")
    parser.add_argument("--news", type=Path, help="a clone of MicrosoftTranslator/NTREX")
    parser.add_argument("--manuals", type=Path, help="folder of unpacked packages of translated manual pages")
    parser.add_argument("--languages", default=",".join(("en", *NEWS)), help="codes, separated by commas")
    arguments = parser.parse_args()
    for language in arguments.languages.split(","):
        for name, place, read in (
            ("news", arguments.news, read_news),
            ("man", arguments.manuals, read_manuals),
        ):
            items = list(read(place, language)) if place else []
            if items:
                write_set(arguments.into / f"{name}_{language}", language, items)
                print(f"{name}_{language}: {len(items)} questions")


if __name__ == "__main__":
    main()
