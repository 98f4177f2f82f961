"""What an answer is worth, told by fixed rules from its text and the passages it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.chat.documents import Question, flat
from outcrop.chat.answer import refusal

ABSTAINS: Final = re.compile(
    r"\b(?:do|does|did|is|are|was|were|has|have|can|could)(?:\s+not|n['’]t)\s+(?:\w+\s+){0,3}?"
    r"(?:say|tell|told|mention|specif|contain|includ|state|provid|address|cover|describ|discuss|found|find|explicit|answer"
    r"|available|give|list|indicat|support|offer|have|exist|define|document|relat)"
    r"|\bno (?:such |specific |direct |relevant |explicit )?(?:\w+ )?"
    r"(?:information|mention|answer|details?|sources?|documentation|option|evidence|reference|built-in)"
    r"|\bnothing (?:was |is )?(?:found|said|in the)|\bthere (?:is|are) no\b|\bunable to\b|\bcannot\b",
    re.IGNORECASE,
)
"""Says that the documents do not tell, or that the thing asked for is not there."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What a number of an answer stands for."""

    number: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and what it cost; `reply` is what the model said as far as it was heard, `denial` the
    chance that it began with a refusal, None where it was not told."""

    question: str
    text: str
    cited: tuple[int, ...]
    unknown: tuple[int, ...]
    passages: tuple[Passage, ...]
    notices: tuple[str, ...]
    failed: str
    tokens_read: int
    tokens_written: int
    cpu_s: float
    wall_s: float
    unsupported: tuple[str, ...] = ()
    reply: str = ""
    denial: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one answer. `flagged`: its reader is told that it is not to be relied on."""

    shown: bool
    cites: bool
    right: bool
    abstains: bool
    flagged: bool
    to_nothing: bool


def judge(question: Question, answer: Answer) -> Verdict:
    """The verdict on an answer; `shown`: a passage that holds the answer was put before the model."""
    holding = {passage.number for passage in answer.passages if holds(question, passage)}
    said = answer.text.casefold()
    refused = answer.text.strip() == refusal(
        question.question
    )  # whose "not" is no answer to a question with yes or no
    right = (
        question.kind == "answerable"
        and not refused
        and all(any(word_in(word.casefold(), said) for word in group) for group in question.answer)
    )
    return Verdict(
        shown=bool(holding),
        cites=bool(holding & set(answer.cited)),
        right=right,
        abstains=not answer.failed and not right and bool(ABSTAINS.search(answer.text)),
        flagged=bool(answer.unsupported or answer.unknown or not answer.cited),
        to_nothing=bool(answer.unknown),
    )


def holds(question: Question, passage: Passage) -> bool:
    """Whether a passage holds the answer."""
    if question.kind != "answerable" or not passage.path.endswith(question.file):
        return False
    text = flat(passage.text)
    return all(flat(piece) in text for piece in question.evidence)


def word_in(word: str, text: str) -> bool:
    """As a word of its own: `10` is not in `100`."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def share(values: Sequence[bool]) -> float:
    """Which share is true."""
    return sum(values) / len(values) if values else 0.0
