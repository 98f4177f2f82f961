"""Signals that move a candidate after fusion. Each is a plain function over the candidates, listed with its reason.

A signal sees the candidates and their scores so far and returns what to add to each. They run in the order of the
table: first what adds, then what takes away, last what depends on the order itself. To add one: write the function,
add a line to SIGNALS, put its ablation into the commit (`benchmarks.code --ablate`, `benchmarks/quality.py`).

Additions are shares of the best fused score, so that they mean the same for a query that matches well and one that
matches badly. Where prose has that score, `lead` brings what code was given down to shares of the best score of code;
`links`, which runs later, adds such shares at once. Prose is moved by `neighbours`, `project name`, `quoted`, `role`,
`lead` and `guide` beside code and, where code refers to it, `links`; the rest is about code.

Figures below are NDCG@10 on the code set, the 21 repositories of `benchmarks.code`, on which the weights were also
chosen. "Without it" is the engine with that one signal left out, against .898 with all of them; a trial is an earlier
run of the same formula outside the engine, told as the difference to the value it then had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats

Signal = Callable[[Candidates, Floats], Floats]

NEIGHBOUR_WEIGHT: Final[dict[QueryType, float]] = {"exact": 0.0, "mixed": 0.1, "semantic": 0.2}
"""A name stands where it stands, whatever is around it; a question is answered by a stretch of text. 0.2 was
chosen in trials on the chunking set (0–1 tried; 0.4 was like it, 1.0 lost). In the finished engine it lifts that set's
recall in the top five from .882 to .899, at the cost of IoU (.113 → .089), and moves the document sets by −.004 to
+.006 nDCG@10: it is for passages, not for documents. The values for exact and mixed queries were not measured."""

LONE_NEIGHBOUR: Final = 0.8
"""A chunk at the edge of its document is given this much of its own score as its missing neighbour's: what a true
neighbour of a good hit scores. With 0 short documents lose to long ones (nDCG@10 −.07 to −.10 on the docs set)."""


def neighbours(candidates: Candidates, score: Floats) -> Floats:
    """A good stretch of text is good around the hit too; a stray word match is not."""
    before = np.where(np.isnan(candidates.before), LONE_NEIGHBOUR * score, candidates.before)
    after = np.where(np.isnan(candidates.after), LONE_NEIGHBOUR * score, candidates.after)
    # Scaled back so that the score keeps its range: a chunk amid equals keeps its score.
    weight = NEIGHBOUR_WEIGHT[candidates.kind]
    mixed = (score + weight * (before + after)) / (1 + 2 * weight)
    return np.where(candidates.code, 0, mixed - score).astype(np.float32)


DEFINITION_WEIGHT: Final = 1.0
"""As much again as the best score for the one declaration that is meant, half of it for one in a file of another name:
enough to pass the places that merely use a name most often. Without it .895, and .954 instead of .989 for queries that
are names. In a trial, where a file of the name counted double, against 0.6: 0 lost .008, 0.4 gained .002, 1 lost
.003."""


def definition(candidates: Candidates, score: Floats) -> Floats:  # noqa: ARG001 - one signature for all
    """Whoever asks for a name first wants to see its declaration."""
    return (DEFINITION_WEIGHT * candidates.best * candidates.defines).astype(np.float32)


QUOTED_WEIGHT: Final = 0.5
"""Chosen on 118 commit messages with quotation marks, of five repositories that are in no labelled set
(`benchmarks.issues --history`): a changed file is among the first ten for .915 of them at 0 and 0.5, .907 between, and
first for .525; at 1 for .907 and .483. With every phrase required it was .720 and .424."""


def quoted(candidates: Candidates, score: Floats) -> Floats:  # noqa: ARG001
    """What a longer text quotes (an error message, a setting) stands word for word where it comes from."""
    return (QUOTED_WEIGHT * candidates.best * candidates.quoted).astype(np.float32)


STEM_WEIGHT: Final = 0.3
"""Without it .895. In a trial, against 0.35: 0 lost .007, 0.2 gained .002, 0.5 was the same."""
FOLDER_WEIGHT: Final = 0.05
"""Without it .898, as with it. It decides between files of one name."""


def file_name(candidates: Candidates, score: Floats) -> Floats:  # noqa: ARG001
    """People name a file after what it is about."""
    return (STEM_WEIGHT * candidates.best * candidates.stem).astype(np.float32)


def folder_name(candidates: Candidates, score: Floats) -> Floats:  # noqa: ARG001
    """And its folder, more loosely."""
    return (FOLDER_WEIGHT * candidates.best * candidates.folder).astype(np.float32)


PROJECT_WEIGHT: Final = 1.0
"""What a project's name answers of a query counts as if the text had answered it: a query of which a third is the name
lifts the project by a third of the best score, about what the words in the text would have brought (not measured). It
does nothing in an index of one project, and nothing to a query that names none."""


def project_name(candidates: Candidates, score: Floats) -> Floats:  # noqa: ARG001
    """Whoever names one of several projects wants its files, whose texts seldom hold the name."""
    return (PROJECT_WEIGHT * candidates.best * candidates.project).astype(np.float32)


COHERENCE_WEIGHT: Final = 0.3
"""Without it .880. In trials anything from 0.2 to 0.4 was the same; the plain sum in place of the root of squares was
.003 worse, and lost .009 at 0.4."""


def coherence(candidates: Candidates, score: Floats) -> Floats:
    """A file with several good chunks is about the question; one with a single good chunk mentions it.

    The root of the sum of squares, not the sum: many poor chunks do not make a good file.
    """
    if not candidates.code.any():
        return np.zeros_like(score)
    squares = np.where(candidates.code, np.maximum(candidates.fused, 0) ** 2, 0)
    total = np.sqrt(np.bincount(candidates.file, squares))
    share = total[candidates.file] / max(float(total.max()), 1e-9)
    return np.where(candidates.code, COHERENCE_WEIGHT * candidates.best * share, 0).astype(np.float32)


# Headings of the documentation of eleven repositories, asked after they were taken out, find their document with .543
# instead of .464; questions about code asked of fifteen whole trees go from .880 to .869, mostly where a page of the
# documentation answers too; the code set stays (.901). To lift all prose by the lead of its best, to lift more, or to
# credit documents for coherence as code is cost more for what it brought. To halve each further passage of a document,
# as of code, brought .03 and hid passages: in that trial five hits showed .27 of a section's lines, without it .44.
# Credits that are shares of the best score of code from the start, before the lead is counted, find headings better by
# .011 and code beside them worse by .008 (`benchmarks/code/mixed.py`).
def lead(candidates: Candidates, score: Floats) -> Floats:
    """Where a passage leads all code by words and meaning, its lead is counted once more, against all the others.

    What code is credited for says which code is meant, and some code always gets it; that code is meant at all it does
    not say. The best of these passages keeps its score, as if there were no code, and the rest comes down by as much as
    it would have gone up: credits end as shares of the best score of code. The lead is never more than it was before
    the credits.
    """
    code = candidates.code
    if not code.any() or code.all():
        return np.zeros_like(score)
    left = _role_share(candidates)
    fused = left * candidates.fused
    named = definition(candidates, score)  # who declares a name is meant by it
    behind, credited = float(fused[code].max()), float((left * (score - named))[code].max())
    leads = (fused > behind) & (score > 0)
    if not leads.any():
        return np.zeros_like(score)
    lifted = np.minimum(score * fused / max(behind, 1e-9), credited + fused - behind)
    lifted = np.where(leads, np.maximum(lifted, score), score)
    best = int(np.where(leads, lifted, 0).argmax())
    added: Floats = (score[best] / lifted[best] * lifted - score).astype(np.float32)
    added[best] = 0  # and not what rounding leaves
    return added


GUIDE_WEIGHT: Final = 0.7
"""Chosen on the 36 questions of a user in `benchmarks/code/mixed.py`: a document is the first hit for .25 of them
without it, .56 at 0.3, .69 at 0.5, .81 at 0.7; the questions about code in the same indexes stay at .906."""


def guide(candidates: Candidates, score: Floats) -> Floats:
    """A question about using a program is answered by its documentation, though the code has all the words too."""
    if not candidates.wants_guide or not candidates.code.any():
        return np.zeros_like(score)
    return np.where(candidates.code, 0, GUIDE_WEIGHT * candidates.best).astype(np.float32)


LINK_WEIGHT: Final = 0.1
"""Without it .896. When it was chosen: 0.1 gave .896, 0.3 .893, none .892."""


def links(candidates: Candidates, score: Floats) -> Floats:  # noqa: ARG001
    """What the best hits call, inherit or import belongs to the answer too."""
    return (LINK_WEIGHT * candidates.best_code * candidates.linked).astype(np.float32)


ROLE_SHARE: Final[dict[str, float]] = {
    "test": 0.4,
    "benchmark": 0.8,
    "example": 0.5,
    "changelog": 0.8,
    "docs": 0.8,
    "compat": 0.6,
    "generated": 0.3,
    "vendored": 0.3,
    "minified": 0.1,
    "lock": 0.1,
}
"""What is left of the score of a file that is not there to do the work, unless the query asks for such files. Without
the signal .895; in a trial, to leave tests as they are lost .006, examples .001. Benchmarks are asked for more than
tests: on this project's own files (`benchmarks/compare/known.py`) docstrings find their file with .53 and headings with
.15 at 0.4, .64 and .14 at 0.8, .65 and .12 at 1; the code set has none. A
changelog has a few words on everything and explains little. The other values were not measured."""


def role(candidates: Candidates, score: Floats) -> Floats:
    """A question about a program is seldom one about its tests, examples or generated files."""
    return (_role_share(candidates) - 1) * score


def _role_share(candidates: Candidates) -> Floats:
    left = np.ones(len(candidates.fused), np.float32)
    for name, share in ROLE_SHARE.items():
        if name not in candidates.asked:
            left[candidates.role == name] = share
    return left


HEADER_SHARE: Final = 0.7
"""Without it .897. In a trial 0.9, 0.8, 0.7 and 0.5 all gained .003 to .004 over none."""


def header(candidates: Candidates, score: Floats) -> Floats:
    """Imports and licences name everything and explain nothing."""
    return np.where(candidates.header, (HEADER_SHARE - 1) * score, 0).astype(np.float32)


REPEAT_SHARE: Final = 0.5
"""Without it .828. In a trial, against 0.5: 1 lost .064, 0.7 lost .003, 0.3 was the same."""


def saturation(candidates: Candidates, score: Floats) -> Floats:
    """Each further chunk of a file of code counts half of the one before: ten places in one file are one answer."""
    if not candidates.code.any():
        return np.zeros_like(score)
    order = np.lexsort((-score, candidates.file))
    file = candidates.file[order]
    first = np.concatenate(([True], file[1:] != file[:-1]))
    place = np.arange(len(file)) - np.maximum.accumulate(np.where(first, np.arange(len(file)), 0))
    share = np.ones(len(score), np.float32)
    share[order] = REPEAT_SHARE**place
    return np.where(candidates.code, (share - 1) * np.maximum(score, 0), 0).astype(np.float32)


SIGNALS: Final[dict[str, Signal]] = {
    "neighbours": neighbours,
    "definition": definition,
    "quoted": quoted,
    "file name": file_name,
    "folder name": folder_name,
    "project name": project_name,
    "coherence": coherence,
    "lead": lead,
    "guide": guide,
    "links": links,
    "role": role,
    "header": header,
    "saturation": saturation,
}
"""Every signal in the order in which they run."""


def apply_signals(candidates: Candidates) -> Candidates:
    """The candidates with their final scores, and what each signal added."""
    score = candidates.fused.astype(np.float32)
    boosts: dict[str, Floats] = {}
    for name, signal in SIGNALS.items():
        boosts[name] = signal(candidates, score)
        score = score + boosts[name]
    return replace(candidates, final=score, boosts=boosts)
