"""What is known of a candidate beyond the scores of the two legs, and what that is worth.

A signal is a plain function that makes columns of numbers from the candidates; `match` stands for the legs themselves.
What a column is worth for each type of query stands in `weights.json`. These weights were learnt from 14 000 questions
about 65 repositories and six collections of documentation that no benchmark judges, starting from those that had been
set by hand (`python -m training.ranking`, training/README.md). A candidate's total is the weighted sum of its columns;
only `repeats`, which depends on the order, comes after that.

Many columns are shares of the best match, so that they mean the same for a query that matches well and one that matches
badly. To add a signal: write the function, add a line to SIGNALS, learn the weights again, put the figures before and
after into the commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, get_args

import numpy as np

from outcrop.rank.fusion import file_shares
from outcrop.records import QueryType, Role
from outcrop.records.candidates import Candidates, Floats
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

Columns = Mapping[str, Floats]
Signal = Callable[[Candidates], Columns]

WEIGHTS: Final = Path(__file__).parent / "weights.json"
NEIGHBOUR_WEIGHT: Final[dict[QueryType, float]] = {"exact": 0.0, "mixed": 0.1, "semantic": 0.2}
"""A name stands where it stands, whatever is around it; a question is answered by a stretch of text. 0.2 was
chosen in trials on the chunking set (0–1 tried; 0.4 was like it, 1.0 lost). In the finished engine it lifts that set's
recall in the top five from .882 to .899, at the cost of IoU (.113 → .089), and moves the document sets by −.004 to
+.006 nDCG@10: it is for passages, not for documents. The values for exact and mixed queries were not measured."""
LONE_NEIGHBOUR: Final = 0.8
"""A chunk at the edge of its document is given this much of its own score as its missing neighbour's: what a true
neighbour of a good hit scores. With 0 short documents lose to long ones (nDCG@10 −.07 to −.10 on the docs set)."""
RANK_SCALE: Final = 10
"""The first of a leg's list has 10/11 in its column, the tenth half."""
ROLES: Final[tuple[Role, ...]] = tuple(role for role in get_args(Role) if role)
"""Files that are not there to do the work."""


def match(candidates: Candidates) -> Columns:
    """How well the passage fits the query by words and meaning. Code and prose are measured on two scales."""
    code = candidates.code
    return {
        "match, code": np.where(code, candidates.fused, 0),
        "match, prose": np.where(code, 0, candidates.fused),
    }


def neighbours(candidates: Candidates) -> Columns:
    """A good stretch of text is good around the hit too; a stray word match is not. Of questions `stretch` says so
    better."""
    if len(candidates.around) and STRETCH_WEIGHT[candidates.kind]:
        return {"match, prose": _nothing(candidates)}
    fused = candidates.fused
    before = np.where(np.isnan(candidates.before), LONE_NEIGHBOUR * fused, candidates.before)
    after = np.where(np.isnan(candidates.after), LONE_NEIGHBOUR * fused, candidates.after)
    # Scaled back so that the score keeps its range: a chunk amid equals keeps its score.
    weight = NEIGHBOUR_WEIGHT[candidates.kind]
    mixed = (fused + weight * (before + after)) / (1 + 2 * weight)
    return {"match, prose": np.where(candidates.code, 0, mixed - fused)}


STRETCH_WEIGHT: Final[dict[QueryType, float]] = {"exact": 0.0, "mixed": 0.0, "semantic": 0.3}
"""A name stands where it stands; of a word or two it was not measured. For questions chosen on three sets made for
this, which judge nothing: 0, 0.3 and 0.4 gave NDCG@10 .701, .720 and .714 for 700 questions to tables of Wikipedia with
the paragraphs around them (as Markdown, without titles), .454, .478 and .476 for 600 to sections of articles; for 600
to PostgreSQL's manual 0, 0.2 and 0.4 gave .456, .458 and .454. There it made no difference whether neighbours counted
beside it, so they do not."""
LABEL_WEIGHT: Final[dict[QueryType, float]] = {"exact": 0.0, "mixed": 0.0, "semantic": 0.8}
"""Who asks for a name wants its declaration before the table that lists it. For questions on the same sets: .720, .478
and .456 without and .728, .472 and .456 with it. With labels of tables without numbers it was .736 on the first, at a
loss of .012 on manuals, whose tables are text in columns."""


def stretch(candidates: Candidates) -> Columns:
    """A page that holds all of a question answers it, though none of its passages has every word."""
    if not len(candidates.around):
        return {"match, prose": _nothing(candidates)}
    gained = STRETCH_WEIGHT[candidates.kind] * (candidates.around - candidates.fused)
    return {"match, prose": np.where(candidates.code, 0, gained)}


def labels(candidates: Candidates) -> Columns:
    """Words that a row or a column of a table is called by ask for that table."""
    if not len(candidates.labels):
        return {"match, prose": _nothing(candidates)}
    return {
        "match, prose": np.where(
            candidates.code, 0, LABEL_WEIGHT[candidates.kind] * candidates.labels * candidates.around
        )
    }


def covered(candidates: Candidates) -> Columns:
    """How much of the query the best passages of a file of code hold between them, each word once."""
    code = candidates.code
    if not code.any():
        return dict.fromkeys(("words of the file", "rare words of the file"), _nothing(candidates))
    return {
        "words of the file": np.where(code, candidates.file_words, 0),
        "rare words of the file": np.where(code, candidates.file_rare_words, 0),
    }


def standing(candidates: Candidates) -> Columns:
    """Where a passage of code stands in the list of each leg: to be among the first says more than a score."""

    if not candidates.code.any():
        return dict.fromkeys(("rank by words", "rank by meaning"), _nothing(candidates))

    def column(rank: NDArray[np.int32]) -> Floats:
        return np.where((rank > 0) & candidates.code, RANK_SCALE / (RANK_SCALE + rank), 0)

    return {"rank by words": column(candidates.lexical_rank), "rank by meaning": column(candidates.dense_rank)}


def definition(candidates: Candidates) -> Columns:
    """Whoever asks for a name first wants to see its declaration."""
    return {"definition": _scaled(candidates, candidates.defines)}


def quoted(candidates: Candidates) -> Columns:
    """What a longer text quotes (an error message, a setting) stands word for word where it comes from."""
    return {"quoted": _scaled(candidates, candidates.quoted)}


def file_name(candidates: Candidates) -> Columns:
    """People name a file after what it is about."""
    return {"file name": _scaled(candidates, candidates.stem)}


def folder_name(candidates: Candidates) -> Columns:
    """And its folder, more loosely."""
    return {"folder name": _scaled(candidates, candidates.folder)}


def project_name(candidates: Candidates) -> Columns:
    """Whoever names one of several projects wants its files, whose texts seldom hold the name.

    A query of which a third is the name lifts the project by somewhat more than a third of the best match, as words in
    the text would, which also count for its rank (not measured: no training question names a project).
    """
    return {"project name": _scaled(candidates, candidates.project)}


def coherence(candidates: Candidates) -> Columns:
    """A file with several good chunks is about the question; one with a single good chunk mentions it.

    The root of the sum of squares, not the sum: many poor chunks do not make a good file.
    """
    if not candidates.code.any():
        return {"coherence": _nothing(candidates)}
    squares = np.where(candidates.code, np.maximum(candidates.fused, 0) ** 2, 0)
    total = np.sqrt(np.bincount(candidates.file, squares))
    share = total[candidates.file] / max(float(total.max()), 1e-9)
    return {"coherence": np.where(candidates.code, candidates.best * share, 0)}


def prose(candidates: Candidates) -> Columns:
    """Prose beside code, and by how much the best of it leads all code by words and meaning."""
    code = candidates.code
    if not code.any() or code.all():
        return {"prose": _nothing(candidates), "lead": _nothing(candidates)}
    lead = max(float(candidates.fused[~code].max() - candidates.fused[code].max()), 0.0)
    return {"prose": np.where(code, 0, 1), "lead": np.where(code, 0, lead)}


def guide(candidates: Candidates) -> Columns:
    """A question about using a program is answered by its documentation, though the code has all the words too."""
    if not (candidates.wants_guide and candidates.code.any()):
        return {"guide": _nothing(candidates)}
    return {"guide": np.where(candidates.code, 0, candidates.best)}


def links(candidates: Candidates) -> Columns:
    """What the best hits call, inherit or import belongs to the answer too."""
    return {"links": np.where(candidates.code, candidates.best * candidates.linked, 0)}


def role(candidates: Candidates) -> Columns:
    """A question about a program is seldom one about its tests, examples or generated files."""
    there = set(candidates.role.tolist())
    return {
        name: np.where(candidates.role == name, candidates.best, 0) if name in there else _nothing(candidates)
        for name in ROLES
        if name not in candidates.asked
    }


def header(candidates: Candidates) -> Columns:
    """Imports and licences name everything and explain nothing."""
    if not candidates.header.any():
        return {"header": _nothing(candidates)}
    return {"header": np.where(candidates.header, candidates.best, 0)}


SIGNALS: Final[dict[str, Signal]] = {
    "neighbours": neighbours,
    "stretch": stretch,
    "labels": labels,
    "covered": covered,
    "standing": standing,
    "definition": definition,
    "quoted": quoted,
    "file name": file_name,
    "folder name": folder_name,
    "project name": project_name,
    "coherence": coherence,
    "prose": prose,
    "guide": guide,
    "links": links,
    "role": role,
    "header": header,
}
"""Every signal, as an explanation names it."""


def make_columns(candidates: Candidates) -> dict[str, Floats]:
    """All columns of the candidates, by name, as weights are learnt from them; what several signals add is summed."""
    columns: dict[str, Floats] = {}
    for signal in (match, *SIGNALS.values()):
        for name, column in signal(candidates).items():
            columns[name] = columns[name] + column if name in columns else column
    return columns


REPEAT: Final = 0.5
"""What each further chunk of a file loses, times the chance that another file is right. On held-out repositories the
right passage is among five for .60 of doc comments and .55 of questions made of them; with half of the score lost
whatever the chance, as it was before, for .53 and .47; with no signal at all for .57 and .61. Files pay for it: a loss
of 1 whatever the chance finds them better by .006 to .01 NDCG@10."""


def repeats(candidates: Candidates, total: Floats) -> Floats:
    """Ten places in one file are one answer, unless it is surely the file that is meant."""
    if not candidates.code.any():
        return _nothing(candidates)
    order = np.lexsort((-total, candidates.file))
    file = candidates.file[order]
    first = np.concatenate(([True], file[1:] != file[:-1]))
    place = np.empty(len(total), np.float64)
    place[order] = np.arange(len(file)) - np.maximum.accumulate(np.where(first, np.arange(len(file)), 0))
    lost = REPEAT * place * (1 - file_shares(candidates.file, total))
    return np.where(candidates.code, -lost, 0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Weights:
    """What columns are worth, by name, for each type of query; and in log-odds, `offset` included, what those of a hit
    in prose say of it, and those of a list of its answer."""

    columns: Mapping[str, Mapping[QueryType, float]]
    prose: Mapping[str, float]
    answer: Mapping[str, float]

    def sum(self, columns: Columns, kind: QueryType, count: int) -> Floats:
        """What some columns come to for each of `count` candidates."""
        nothing = _zeros(count)
        total = nothing
        for name, column in columns.items():
            if column is not nothing:
                added = np.float32(self.columns[name][kind]) * column
                total = added.astype(np.float32) if total is nothing else (total + added).astype(np.float32)
        return total


@cache
def learnt_weights() -> Weights:
    """The weights that ship."""
    kept = json.loads(WEIGHTS.read_text("utf-8"))
    return Weights(kept["columns"], kept["prose"], kept["answer"])


def apply_signals(candidates: Candidates) -> Candidates:
    """The candidates with their totals and what each signal added."""
    weights, kind, count = learnt_weights(), candidates.kind, len(candidates)
    of_code, of_prose = (weights.columns[name][kind] for name in ("match, code", "match, prose"))
    scale = np.where(candidates.code, of_code, of_prose).astype(np.float32)
    boosts = {name: weights.sum(signal(candidates), kind, count) for name, signal in SIGNALS.items()}
    legs = {name: scale * getattr(candidates, name) for name in ("words", "meaning", "fused")}
    nothing = _nothing(candidates)
    total = legs["fused"] + sum((boost for boost in boosts.values() if boost is not nothing), nothing)
    boosts["repeats"] = repeats(candidates, total)
    return candidates.put(**legs, final=total + boosts["repeats"], boosts=boosts)


def _scaled(candidates: Candidates, share: Floats) -> Floats:
    """A share of the best match."""
    return candidates.best * share if share.any() else _nothing(candidates)


def _nothing(candidates: Candidates) -> Floats:
    return _zeros(len(candidates))


@lru_cache(256)
def _zeros(count: int) -> Floats:
    """What most signals add to most candidates: told by being this very column, so nobody has to sum it up."""
    nothing = np.zeros(count, np.float32)
    nothing.flags.writeable = False
    return nothing
