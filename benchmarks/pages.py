"""The right page of a manual, by its text layer and by OCR: `python -m benchmarks.pages MANUAL.pdf …`.

From each manual some pages are taken, once as they are and once as a scanner would have them: drawn at 200 dpi as JPEG,
without text. Questions are made of sentences that stand on one page only: their rarest words, in order. Both indexes
are asked the same ones; a page is found when one of its passages is among the first one or five pages of the answer.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.report import WORK, Report  # first: it holds libraries to one core

import pypdfium2  # isort: skip
from PIL import Image  # isort: skip

from outcrop.config import load_config
from outcrop.engine import Engine

DPI: Final = 200
QUALITY: Final = 80
WORDS: Final = 6
"""Words of a question."""
SENTENCE: Final = re.compile(r"[A-Z][^.!?]{60,300}[.!?]")
WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]{2,}")
BAR: Final = 0.05


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the page that answers."""

    words: str
    file: str
    page: int


def cut_manual(path: Path, most: int, chance: random.Random) -> tuple[pypdfium2.PdfDocument, list[str]]:
    """Some of the pages of a manual that hold text, in order, and their texts."""
    whole = pypdfium2.PdfDocument(path)
    texts = [page.get_textpage().get_text_bounded() for page in whole]
    full = [number for number, text in enumerate(texts) if len(text) > 800 and text.count(". .") < 10]
    chosen = sorted(chance.sample(full, min(most, len(full))))
    cut = pypdfium2.PdfDocument.new()
    cut.import_pages(whole, chosen)
    return cut, [texts[number] for number in chosen]


def scan_manual(manual: pypdfium2.PdfDocument, path: Path) -> None:
    """The same pages as pictures."""
    pages: list[Image.Image] = []
    for page in manual:
        drawn = page.render(scale=DPI / 72, rev_byteorder=True).to_pil().convert("L")
        file = io.BytesIO()
        drawn.save(file, "JPEG", quality=QUALITY)
        pages.append(Image.open(file))
    pages[0].save(path, save_all=True, append_images=pages[1:], resolution=DPI)


def make_questions(pages: dict[tuple[str, int], str], a_page: int, chance: random.Random) -> Iterator[Question]:
    """So many questions a page, of sentences whose rarest words stand together on it alone."""
    held = {place: set(map(str.casefold, WORD.findall(text))) for place, text in pages.items()}
    common = Counter(word for words in held.values() for word in words)
    for (file, page), text in pages.items():
        sentences = [" ".join(found.split()) for found in SENTENCE.findall(text)]
        chance.shuffle(sentences)
        made = 0
        for sentence in sentences:
            words = list(dict.fromkeys(map(str.casefold, WORD.findall(sentence))))
            rare = sorted(words, key=lambda word: common[word])[:WORDS]
            if len(rare) < WORDS or sum(held_words >= set(rare) for held_words in held.values()) > 1:
                continue
            yield Question(" ".join(word for word in words if word in rare), file, page)
            made += 1
            if made == a_page:
                break


def ask(engine: Engine, questions: Sequence[Question]) -> tuple[float, float]:
    """Shares of questions whose page comes first, and among the first five."""
    first = five = 0
    for question in questions:
        hits = engine.search(question.words, limit=20).hits
        places = list(dict.fromkeys((hit.document.path, hit.page) for hit in hits))
        first += places[:1] == [(question.file, question.page)]
        five += (question.file, question.page) in places[:5]
    return first / len(questions), five / len(questions)


def main() -> None:
    """Cut, scan, index, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manuals", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=30, help="of each manual at most")
    parser.add_argument("--questions", type=int, default=3, help="a page at most")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    work = WORK / "pages"
    shutil.rmtree(work, ignore_errors=True)
    pages: dict[tuple[str, int], str] = {}
    for path in given.manuals:
        manual, texts = cut_manual(path, given.pages, random.Random(f"{given.seed} {path.name}"))
        for kind in ("text", "scan"):
            (work / kind).mkdir(parents=True, exist_ok=True)
        manual.save(work / "text" / path.name)
        scan_manual(manual, work / "scan" / path.name)
        pages |= {(path.name, number): text for number, text in enumerate(texts, 1)}
    questions = list(make_questions(pages, given.questions, random.Random(given.seed)))
    names = [path.name for path in given.manuals]
    report = Report("pages", {"manuals": names, "seed": given.seed, "questions a page": given.questions})
    report.add("pages", len(pages), "pages")
    report.add("questions", len(questions), "questions", at_least=200)
    shares = {}
    for kind in ("text", "scan"):
        with Engine(load_config({"db": work / f"{kind}.db", "ocr": "models"})) as engine:
            added = engine.add(work / kind)
            assert added.added == len(names), added
            shares[kind] = ask(engine, questions)
    for at, name in enumerate(("first", "in the first five")):
        report.add(f"page {name}, by its text layer", shares["text"][at], "share")
        report.add(f"page {name}, by OCR", shares["scan"][at], "share")
        report.add(f"page {name}, apart by", abs(shares["text"][at] - shares["scan"][at]), "share", at_most=BAR)
    report.keep()


if __name__ == "__main__":
    main()
