"""What is asked: how to search and where, a conversation, wishes.

The fields of `Filter` and `SearchOptions` are the options of a search. To add one: its field here, and its type in
`SearchArguments`, by which type checkers know what `Engine.search` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final, Literal, TypedDict

from outcrop.records.options import Option, declared, option

QueryType = Literal["exact", "semantic", "mixed"]
SearchMode = Literal["hybrid", "keyword", "semantic"]
Fusion = Literal["weighted", "rrf"]
When = str | float | date | datetime | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents a search may touch. Empty fields do not restrict; the others all must hold.

    `kinds` are formats or, for source code, languages. `paths` are glob patterns over `DocumentInfo.path` (`**` crosses
    folders), one of which must match; `tags` must all be present. `since` and `until` bound the document's date: a
    front-matter date, else the file's modification time, else the time it was added; seconds since the epoch, until
    exclusive.
    """

    collections: tuple[str, ...] = option(
        (), "Only these collections.", flags=("-c", "--collection"), metavar="NAME"
    )
    documents: tuple[int, ...] = option((), "Only these documents.", flags=("--doc",), metavar="ID|PATH|URL")
    kinds: tuple[str, ...] = option(
        (),
        "Only these formats or languages: markdown, pdf, code, python, go …",
        flags=("--kind",),
        metavar="KIND",
        brief="markdown, pdf, code, python …",
    )
    paths: tuple[str, ...] = option(
        (),
        "Only paths that match one of these globs; ** crosses folders.",
        flags=("--path",),
        metavar="GLOB",
        brief="globs, ** crosses folders",
    )
    tags: tuple[str, ...] = option(
        (), "Only documents with all of these tags.", flags=("--tag",), metavar="TAG"
    )
    since: float | None = option(
        None, "Only documents of this date or later: 2026-01-31.", metavar="DATE", brief="2026-01-31"
    )
    until: float | None = option(None, "Only documents before this date.", metavar="DATE")

    def is_empty(self) -> bool:
        """Whether this filter lets everything through."""
        return self == _EVERYTHING


_EVERYTHING = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search; `where` says in which documents.

    `rerank` asks a cross-encoder for a second opinion on as many of the best candidates as fit into `rerank_seconds`;
    the time to load it, once in a process, comes on top. `balance` counts in a hybrid search; None leaves it to the
    type of the query and the model.
    """

    limit: int = option(10, "Hits at most.", configured=True, least=1, served_most=100, flags=("-n", "--limit"))
    offset: int = option(0, "Skip the hits of earlier pages.", least=0, served_most=10_000)
    where: Filter = _EVERYTHING
    mode: SearchMode = option("hybrid", "Words and meaning, or one of them.")
    fusion: Fusion = option("weighted", "How the two rankings become one.")
    query_type: QueryType | None = option(
        None, "What the query is, instead of detecting it.", flags=("--type",)
    )
    floor: float = option(
        0.25, "Least cosine similarity of a hit that shares no word.", configured=True, least=0, most=1
    )
    max_distance: float | None = option(None, "Largest cosine distance of a hit.", least=0, most=2)
    cutoff: float = option(0.0, "Drop hits below this share of the best score.", least=0, most=1)
    merge: bool = option(True, "Join neighbouring chunks into one hit.")
    rerank: bool = option(
        False,
        "Let a cross-encoder look at the best candidates again.",
        brief="slower second opinion on the order",
    )
    # Twenty candidates should need 0.3 s on two cores; half a second is hardly felt.
    rerank_seconds: float = option(
        0.5,
        "Time for reranking, not counting the loading of its model.",
        above=0,
        served_most=30,
        metavar="SECONDS",
    )
    balance: float | None = option(
        None,
        "How much meaning counts against words: 0 words only, 1 meaning only; left to the query unless given.",
        least=0,
        most=1,
        metavar="SHARE",
    )
    # Ten times the usual weight makes a link count as much as a declaration that is asked for (not measured).
    reference_follow: float = option(
        1.0,
        "How strongly code that the best hits use is lifted: 0 not at all.",
        least=0,
        most=10,
        flags=("--follow",),
        metavar="WEIGHT",
    )
    explain: bool = option(False, "Show why each hit stands where it stands, and what was left out.")


class SearchArguments(TypedDict, total=False):
    """The types of the options as `Engine.search` takes them: those of `Filter` and `SearchOptions` beside each other.
    None stands for the default."""

    collections: Sequence[str]
    documents: Sequence[int]
    kinds: Sequence[str]
    paths: Sequence[str]
    tags: Sequence[str]
    since: When
    until: When
    limit: int | None
    offset: int
    mode: SearchMode
    fusion: Fusion
    query_type: QueryType | None
    floor: float | None
    max_distance: float | None
    cutoff: float
    merge: bool
    rerank: bool
    rerank_seconds: float
    balance: float | None
    reference_follow: float
    explain: bool


FILTER_OPTIONS: Final = declared(Filter)
SEARCH_OPTIONS: Final = {**FILTER_OPTIONS, **declared(SearchOptions)}
BUDGET_TOKENS: Final = Option(
    name="budget_tokens",
    type=int,
    default=1200,
    help="Tokens at most.",
    configured=True,
    least=1,
    served_most=200_000,
    flags=("-b", "--budget"),
    metavar="TOKENS",
)
"""The size of a context or a map."""
CONTEXT_DEFAULTS: Final = {"limit": 40, "cutoff": 0.5}
"""Of a context that is not of code: chunks to choose from, and the least share of the best score."""
CONTEXT_OPTIONS: Final = {
    "budget_tokens": BUDGET_TOKENS,
    **{
        name: option
        for name, option in SEARCH_OPTIONS.items()
        if name not in ("offset", "merge")  # which mean nothing there
    },
    "limit": replace(
        SEARCH_OPTIONS["limit"],
        default=None,
        configured=False,
        help=f"Chunks to choose from; {CONTEXT_DEFAULTS['limit']}, of code at least 60.",
    ),
    "cutoff": replace(
        SEARCH_OPTIONS["cutoff"],
        default=None,
        help=f"Leave out hits below this share of the best score; {CONTEXT_DEFAULTS['cutoff']}, of code 0.",
    ),
    "reference_follow": replace(
        SEARCH_OPTIONS["reference_follow"],
        default=None,
        help="How strongly code that the hits use is drawn in: 0 not at all, 1 unless given.",
    ),
}
"""A context is made from a search, some options of which have other defaults there."""

_CHECKED: Final = tuple(option for option in SEARCH_OPTIONS.values() if option.is_checked)


def check_options(options: SearchOptions) -> None:
    """QueryError where an option is out of its range."""
    for checked in _CHECKED:
        checked.check(getattr(options, checked.name))


@dataclass(frozen=True, slots=True)
class Directive:
    """A wish of the caller: what `target` names (a file or folder by its path or the end of it, a declaration by its
    name, qualified or not) must be in the context, or is preferred."""

    target: str
    strength: Literal["must", "prefer"] = "prefer"


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of a conversation."""

    role: str
    content: str
