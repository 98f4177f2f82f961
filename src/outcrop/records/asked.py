"""What is asked: how to search and where, a conversation, wishes.

The fields of `Filter` and `SearchOptions` are the options of a search, each declared once: the command line, the HTTP
bodies, the tools for agents, the check of the library and the reference are made from them. To add one: its field, and
its type in `SearchArguments`, by which type checkers know what `Engine.search` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import (
    TYPE_CHECKING,
    Final,
    Literal,
    TypedDict,
)

from outcrop.records.option import Option, declared, option
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:  # few searches have a condition
    from outcrop.records.where import Condition

WHERE: Final = "Where to look"
SHOW: Final = "What to show"
RANK: Final = "How to rank"

HERE: Final = "."
"""As `here`: where one stands. For a client of a server that need not be the server's folder."""

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
    exclusive. `where` is a condition on metadata, as `records.where` reads it. `as_of` leaves out notes that were not
    valid at that moment.
    """

    collections: tuple[str, ...] = option(
        (), "Only these collections.", flags=("-c", "--collection"), metavar="NAME", group=WHERE
    )
    documents: tuple[int, ...] = option(
        (), "Only these documents.", flags=("--doc",), metavar="ID|PATH|URL", group=WHERE
    )
    kinds: tuple[str, ...] = option(
        (),
        "Only these formats or languages: markdown, pdf, code, python, go …",
        flags=("--kind",),
        metavar="KIND",
        group=WHERE,
        brief="markdown, pdf, code, python …",
    )
    paths: tuple[str, ...] = option(
        (),
        "Only paths that match one of these globs; ** crosses folders.",
        flags=("--path",),
        metavar="GLOB",
        group=WHERE,
        brief="globs, ** crosses folders",
    )
    tags: tuple[str, ...] = option(
        (), "Only documents with all of these tags.", flags=("--tag",), metavar="TAG", group=WHERE
    )
    since: float | None = option(
        None,
        "Only documents of this date or later: 2026-01-31, yesterday, 2h, 3d, 1w.",
        metavar="DATE",
        group=WHERE,
        brief="2026-01-31",
    )
    until: float | None = option(
        None, "Only documents before this date, in the same form.", metavar="DATE", group=WHERE
    )

    where: str | None = option(
        None,
        'Only documents whose metadata meets a condition: year >= 2020 and author contains "Lee".',
        metavar="CONDITION",
        group=WHERE,
        brief='metadata: year >= 2020 and author contains "Lee"',
    )

    ref: str | None = option(
        None,
        "Only this branch or tag, of repositories added with --branches.",
        metavar="REF",
        group=WHERE,
        rare=True,
        brief="a branch",
    )
    worktree: str | None = option(
        None,
        "Only the checkout in this folder. Default, without --ref: the one you are in.",
        metavar="PATH",
        group=WHERE,
        rare=True,
    )
    as_of: float | None = option(
        None,
        "Only what was valid then, by valid_from, valid_until and supersedes in notes; a date as for --since.",
        metavar="DATE",
        group=WHERE,
        rare=True,
        brief="what was valid then",
    )
    manifests: tuple[int, ...] = ()
    """What `ref`, `worktree` or the current folder come to: of documents that belong to manifests only those of
    these. Stores go by this alone."""
    hidden: tuple[int, ...] = ()
    """What `as_of` comes to: documents that were not valid then. Stores go by this alone."""

    def is_empty(self) -> bool:
        """Whether this filter lets everything through."""
        return self == _EVERYTHING


_EVERYTHING = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search; `where` says in which documents. `rerank` asks a cross-encoder for a second opinion on as many of
    the best candidates as fit into `rerank_seconds`; the time to load it, once in a process, comes on top. `balance`
    counts in a hybrid search; None leaves it to the type of the query and the model."""

    limit: int = option(
        10,
        "Maximum number of hits.",
        configured=True,
        least=1,
        served_most=100,
        flags=("-n", "--limit"),
        group=SHOW,
    )
    offset: int = option(
        0, "Skip the hits of earlier pages.", least=0, served_most=10_000, group=SHOW, rare=True
    )
    where: Filter = _EVERYTHING
    here: str | None = option(
        None,
        "Only the project this folder is in; others are named if they answer clearly better.",
        metavar="PATH",
        group=WHERE,
        rare=True,
    )
    mode: SearchMode = option("hybrid", "Words and meaning, or one of them.", group=RANK)
    fusion: Fusion = option("weighted", "How the two rankings become one.", group=RANK, rare=True)
    query_type: QueryType | None = option(
        None, "What the query is, instead of detecting it.", flags=("--type",), group=RANK, rare=True
    )
    language: str | None = option(
        None,
        "The language of the query (de, German …), instead of detecting it.",
        metavar="LANGUAGE",
        group=RANK,
        rare=True,
        brief="of the query: de, ja …",
    )
    floor: float = option(
        0.25,
        "Least cosine similarity of a hit that shares no word.",
        configured=True,
        least=0,
        most=1,
        group=RANK,
        rare=True,
    )
    max_distance: float | None = option(
        None, "Largest cosine distance of a hit.", least=0, most=2, group=RANK, rare=True
    )
    cutoff: float = option(
        0.0, "Drop hits below this share of the best score.", least=0, most=1, group=RANK, rare=True
    )
    merge: bool = option(True, "Join neighbouring chunks into one hit.", group=RANK, rare=True)
    rerank: bool = option(
        False,
        "Reorder the best candidates with a cross-encoder.",
        group=RANK,
        brief="slower second opinion on the order",
    )
    # Twenty candidates should need 0.3 s on two cores; half a second is hardly felt.
    rerank_seconds: float = option(
        0.5,
        "Time for reranking, not counting the loading of its model.",
        above=0,
        served_most=30,
        metavar="SECONDS",
        group=RANK,
        rare=True,
    )
    balance: float | None = option(
        None,
        "How much meaning counts against words: 0 words only, 1 meaning only. Default: depends on the query.",
        least=0,
        most=1,
        metavar="SHARE",
        group=RANK,
        rare=True,
    )
    # Ten times the usual weight makes a link count as much as a declaration that is asked for (not measured).
    reference_follow: float = option(
        1.0,
        "How strongly to lift code that the best hits use: 0 not at all.",
        least=0,
        most=10,
        flags=("--follow",),
        metavar="WEIGHT",
        group=RANK,
        rare=True,
    )
    outdated: tuple[int, ...] = ()
    """Documents that are not valid now, which stand behind those that are: `Engine.search` fills it in."""
    explain: bool = option(False, "Show why each hit ranks where it does, and what was left out.", group=SHOW)


class SearchArguments(TypedDict, total=False):
    """The options as `Engine.search` takes them: those of `Filter` and `SearchOptions`. None stands for the default.
    A document may be named as in `Engine.get`: by its number, its path, or the id that its text was given."""

    collections: Sequence[str]
    documents: Sequence[int | str]
    kinds: Sequence[str]
    paths: Sequence[str]
    tags: Sequence[str]
    since: When
    until: When
    where: str | Condition | None
    ref: str | None
    worktree: str | None
    as_of: When
    here: str | None
    limit: int | None
    offset: int
    mode: SearchMode
    fusion: Fusion
    query_type: QueryType | None
    language: str | None
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
DATES: Final = tuple(name for name, option in FILTER_OPTIONS.items() if option.metavar == "DATE")
"""Those that take a date in any of the forms people have."""
SEARCH_OPTIONS: Final = {**FILTER_OPTIONS, **declared(SearchOptions)}
BUDGET_TOKENS: Final = Option(
    name="budget_tokens",
    type=int,
    default=1200,
    help="Maximum number of tokens.",
    configured=True,
    least=1,
    served_most=200_000,
    flags=("-b", "--budget"),
    group=SHOW,
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
        help=f"Chunks to choose from. Default: {CONTEXT_DEFAULTS['limit']}; for code at least 60.",
    ),
    "cutoff": replace(
        SEARCH_OPTIONS["cutoff"],
        default=None,
        help=f"Leave out hits below this share of the best score. Default: {CONTEXT_DEFAULTS['cutoff']}; for code 0.",
    ),
    "reference_follow": replace(
        SEARCH_OPTIONS["reference_follow"],
        default=None,
        help="How strongly to draw in code that the hits use: 0 not at all. Default: 1.",
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
