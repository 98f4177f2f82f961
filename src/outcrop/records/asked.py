"""What is asked: how to search and where, a conversation, wishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents a search may touch. Empty fields do not restrict; the others all must hold.

    `kinds` are formats or, for source code, languages. `paths` are glob patterns over `DocumentInfo.path` (`**` crosses
    folders), one of which must match; `tags` must all be present. `since` and `until` bound the document's date: a
    front-matter date, else the file's modification time, else the time it was added; seconds since the epoch, until
    exclusive.
    """

    collections: tuple[str, ...] = ()
    documents: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None

    def is_empty(self) -> bool:
        """Whether this filter lets everything through."""
        return self == _EVERYTHING


_EVERYTHING = Filter()

QueryType = Literal["exact", "semantic", "mixed"]
SearchMode = Literal["hybrid", "keyword", "semantic"]
Fusion = Literal["weighted", "rrf"]

RERANK_SECONDS = 0.5
"""What a second opinion may take: twenty candidates should need 0.3 s on two cores; half a second is hardly felt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search. `floor` is the least cosine of a hit that shares no word with the query; `max_distance` the
    largest cosine distance (0–2) of any hit that has a vector; `cutoff` drops hits that score below that share of
    the best one (0 keeps them all); `query_type` forces what is otherwise detected; `offset` skips the hits of earlier
    pages. `rerank` asks a cross-encoder for a second opinion on the best candidates, on as many as fit into
    `rerank_seconds`; the time to load it, once in a process, comes on top. `balance` says how much meaning counts
    against words in a hybrid search, 0 (words only) to 1 (meaning only); None leaves it to the type of the query and
    the model. `reference_follow` (0 to 10) says how strongly code that the best hits lean on is lifted, 0 not at all.
    `explain` asks for what was left out too."""

    limit: int = 10
    offset: int = 0
    where: Filter = Filter()
    mode: SearchMode = "hybrid"
    fusion: Fusion = "weighted"
    query_type: QueryType | None = None
    floor: float = 0.25
    max_distance: float | None = None
    cutoff: float = 0.0
    merge: bool = True
    rerank: bool = False
    rerank_seconds: float = RERANK_SECONDS
    balance: float | None = None
    reference_follow: float = 1.0
    explain: bool = False


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
