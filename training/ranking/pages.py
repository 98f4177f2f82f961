"""Questions to prose, from folders of HTML pages: each section becomes a text of its own.

Of some sections the heading asks and is left out (`section`), of others a sentence, or some words of it, that is taken
out of the text (`cloze`).
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Final

from outcrop.errors import OutcropError
from outcrop.parse.entry import parse
from outcrop.records import Text
from training.ranking.questions import LIMITS
from training.ranking.records import Asked

MAX_PAGES: Final = 1_500
MAX_SECTIONS: Final = 4_000
MAX_QUESTIONS: Final = 600
SECTION_CHARS: Final = range(301, 6_000)
ASKED_BY_HEADING: Final = 0.4
ASKED_BY_SENTENCE: Final = 0.35
"""Shares of the sections that are asked for; the rest stands among them. Half of the sentences become bare words."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_NUMBERING: Final = re.compile(r"^[\d.]+\s*|^[A-Z]\.[\d.]+\s*|[¶#]+$")


def make_page_questions(folder: Path) -> tuple[list[Text], list[Asked]]:
    """The sections of the pages below a folder, without what is asked, and the questions."""
    draw = random.Random(folder.name)
    pages = sorted(page for page in folder.rglob("*.html") if not page.is_symlink())
    draw.shuffle(pages)
    sections = {body[:200]: (title, body) for page in pages[:MAX_PAGES] for title, body in read_sections(page)}
    kept = list(sections.values())
    draw.shuffle(kept)
    texts, asked = [], []
    for number, (title, body) in enumerate(kept[:MAX_SECTIONS]):
        name, roll, text = (
            f"{folder.name}-{number}",
            draw.random(),
            Text(body, f"{folder.name}-{number}", title),
        )
        if roll < ASKED_BY_HEADING and len(title.split()) >= 3:
            asked.append(Asked("section", title, ((name, 0, 0),)))
            text = Text(body, name)
        elif roll < ASKED_BY_HEADING + ASKED_BY_SENTENCE and (sentence := _draw_sentence(body, draw)):
            asked.append(Asked("cloze", _shorten(sentence, draw), ((name, 0, 0),)))
            text = Text(body.replace(sentence, ""), name, title)
        texts.append(text)
    draw.shuffle(asked)
    return texts, asked[:MAX_QUESTIONS]


def read_sections(page: Path) -> list[tuple[str, str]]:
    """Heading and text of each section of a page that is neither a stump nor a book."""
    try:
        document = parse(page.read_bytes(), path=page.name, limits=LIMITS)
    except OutcropError:
        return []
    starts = [heading.start for heading in document.headings]
    sections = []
    for heading, end in zip(document.headings, [*starts[1:], len(document.text)], strict=False):
        body = document.text[heading.start : end].partition("\n")[2].strip()
        if len(body) in SECTION_CHARS:
            sections.append((_NUMBERING.sub("", heading.title).strip(), body))
    return sections


def _draw_sentence(body: str, draw: random.Random) -> str:
    """One that is neither a stump nor the first, if there are several; else nothing."""
    whole = [
        sentence
        for sentence in _SENTENCE_END.split(body)
        if 7 <= len(sentence.split()) <= 30 and sentence.count("\n") < 3
    ]
    return draw.choice(whole[1:]) if len(whole) > 2 else ""


def _shorten(sentence: str, draw: random.Random) -> str:
    """The sentence as it is, or a few of its longer words in any order."""
    words = [word for word in re.findall(r"[\w'-]+", sentence) if len(word) > 3]
    if draw.random() < 0.5 and len(words) > 4:
        return " ".join(draw.sample(words, min(len(words), draw.randint(3, 7))))
    return " ".join(sentence.split())
