"""What clients may send. Unknown members are refused, nothing is converted, and every text has a maximum length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from outcrop.records import Filter, GrepOptions
from outcrop.records.asked import BUDGET_TOKENS, CONTEXT_OPTIONS, FILTER_OPTIONS, SEARCH_OPTIONS
from outcrop.records.meta import MAX_ITEMS, MAX_KEY_CHARS, MAX_KEYS, MAX_VALUE_CHARS
from outcrop.records.option import Option
from outcrop.records.validity import MAX_SUPERSEDED
from outcrop.serve.fields import Fields, read_whole_numbers

MAX_ID: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exact; the database could hold larger ones."""
MAX_QUERY: Final = 10_000
"""Characters of a query (not measured): a long paragraph; more is a document."""
MAX_PATTERN: Final = 4_000
"""Characters of a pattern, as many as the engine takes."""
MAX_CONDITION: Final = 10_000
"""Characters of a condition on metadata, as many as the engine takes."""
MAX_TEXT: Final = 4_000_000
"""Characters of an added text; the body as a whole is limited in bytes."""

VISIBLE: Final = r"[^\s\x00-\x1f\x7f-\x9f]"
"""Matches a text with at least one visible character."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Place = Annotated[str, Field(min_length=1, max_length=4096)]
"""A path, a URL or a declaration's name."""
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Names = Annotated[list[Name], Field(max_length=100)]
Budget = Annotated[int, Field(ge=BUDGET_TOKENS.least, le=BUDGET_TOKENS.served_most)]
When = (
    Annotated[float, Field(ge=-1e11, le=1e11)]
    | Annotated[str, Field(json_schema_extra={"format": "date"}, max_length=40)]
)
"""Seconds since the epoch, or a date: 2026-01-31, 2026-01-31T12:00:00Z."""

# Query parameters
DocumentId = Annotated[int, Path(ge=1, le=MAX_ID, description="The document's id.")]
CollectionParam = Annotated[
    str | None, Query(min_length=1, max_length=200, description="Only in this collection.")
]
Line = Annotated[int | None, Query(ge=1, le=MAX_ID)]


class Strict(BaseModel):
    """A body: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def accept_whole_numbers(cls, body: Any) -> Any:
        """4.0 is a whole number too."""
        return read_whole_numbers(body) if isinstance(body, dict) else body


_OWN_TYPES: Final = {
    "documents": Annotated[list[Id | Place], Field(max_length=1000)],
    "paths": Annotated[list[Place], Field(max_length=100)],
    "where": Annotated[str, Field(min_length=1, max_length=MAX_CONDITION)],
}
"""The options that take anything but names."""


def _describe(option: Option) -> str:
    """The help of an option; a default that is a setting cannot be told from the schema."""
    return option.full_help() if option.configured else option.help


with_options: Final = Fields(Names, When, _describe, _OWN_TYPES).extend
"""Gives a body these options of a search, beside its own members."""


class Asked(Strict):
    """A query with options of a search."""

    query: str = Field(max_length=MAX_QUERY, description="What is looked for, in words.")

    def given(self, *without: str) -> dict[str, Any]:
        """What the client said, as options of `Engine.search`; what it left out is the engine's own default."""
        kept = self.model_dump(exclude_unset=True, exclude={"query", *without})
        return {name: value for name, value in kept.items() if value is not None}


@with_options(SEARCH_OPTIONS)
class SearchBody(Asked):
    """A search."""


@with_options({name: FILTER_OPTIONS[name] for name in ("collections", "kinds", "paths", "ref", "worktree")})
class GrepBody(Strict):
    """A pattern to look for in the files as they are now."""

    pattern: Annotated[str, Field(min_length=1, max_length=MAX_PATTERN)] = Field(
        description="A regular expression in Rust's syntax, matched within a line."
    )
    literal: bool = Field(default=False, description="Take the pattern as it stands.")
    ignore_case: bool = False
    whole_words: bool = False
    before: Annotated[int, Field(ge=0, le=100)] = Field(
        default=0, description="Lines before each that matches."
    )
    after: Annotated[int, Field(ge=0, le=100)] = Field(default=0, description="Lines after each that matches.")
    limit: Annotated[int, Field(ge=1, le=10_000)] = Field(default=1000, description="Matching lines at most.")

    def options(self) -> GrepOptions:
        """As the engine takes them."""
        given = self.model_dump(exclude={"pattern", "limit"})
        where: dict[str, Any] = {
            name: tuple(given.pop(name, None) or ()) for name in ("collections", "kinds", "paths")
        } | {name: given.pop(name, None) for name in ("ref", "worktree")}
        return GrepOptions(where=Filter(**where), max_per_file=self.limit + 1, **given)


@with_options(FILTER_OPTIONS)
class FilterBody(Strict):
    """Which documents to look at."""


class Wish(Strict):
    """What must be, or is preferred to be, in a context: a file, a folder that ends in /, or a declaration."""

    target: Place
    strength: Literal["must", "prefer"] = "prefer"


@with_options(CONTEXT_OPTIONS)
class ContextBody(Asked):
    """One text for a prompt."""

    code: bool = Field(default=False, description="Pack source code as <codeRag:chunk> elements.")
    boosts: Annotated[list[Wish], Field(max_length=100)] = Field(default=[], description="Only with `code`.")


def targets_of(wishes: Sequence[Wish], strength: Literal["must", "prefer"]) -> list[str]:
    """The targets of the wishes of this strength."""
    return [wish.target for wish in wishes if wish.strength == strength]


RawKind = Literal["txt", "text", "md", "markdown", "rst", "html", "csv", "json", "yaml", "toml"]


MetaScalar = bool | int | float | Annotated[str, Field(max_length=MAX_VALUE_CHARS)]
MetaBody = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARS)],
        MetaScalar | Annotated[list[MetaScalar], Field(max_length=MAX_ITEMS)],
    ],
    Field(max_length=MAX_KEYS),
]


class TextBody(Strict):
    """A text to add."""

    text: str = Field(max_length=MAX_TEXT, pattern=VISIBLE)
    id: Name | None = Field(default=None, description="Names it, so that adding it again replaces it.")
    title: Annotated[str, Field(max_length=1000)] | None = None
    kind: RawKind | None = Field(
        default=None, description="How to read it; otherwise by the id's extension, or recognised."
    )
    collection: Name | None = None
    tags: Names = []
    meta: MetaBody | None = Field(
        default=None,
        description="What is known of it beside its words, for `where`: text, numbers, true or false, and lists of "
        "these, by name. A text like 2024-05-06 is a date too.",
    )


class IngestBody(Strict):
    """A folder, a file or a URL to index."""

    source: Place = Field(description="A full path below one of the server's roots, or an http(s) URL.")
    collection: Name | None = None
    tags: Names = []
    force: bool = Field(default=False, description="Read again what did not change.")
    branches: Names = Field(
        default=[],
        description="Also these branches of the repository that the folder is in, read without a checkout: "
        "`main`, `release/*`.",
    )
    archives: bool = Field(
        default=False, description="Also index the files in zip, tar and 7z archives; later syncs do it too."
    )


class SyncBody(Strict):
    """Which folders to bring up to date."""

    collection: Name | None = Field(default=None, description="Only the folders of this one.")


def _require_bool(value: object) -> object:
    """0 is not false: to Python they are equal, to JSON they are not."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


_Passage = Annotated[str, Field(max_length=100_000)]
_Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class EmbedBody(Strict):
    """Texts to embed as documents."""

    texts: Annotated[list[_Passage], Field(min_length=1, max_length=512)]
    single: Annotated[Literal[False], BeforeValidator(_require_bool)] = False


class EmbedQueryBody(Strict):
    """One text to embed as a query."""

    texts: Annotated[list[_Passage], Field(min_length=1, max_length=1)]
    single: Annotated[Literal[True], BeforeValidator(_require_bool)]


class OpenAiEmbeddings(BaseModel):
    """The body of OpenAI's embeddings endpoint; members that other servers know are accepted and ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    input: _Text | Annotated[list[_Text], Field(min_length=1, max_length=512)]
    model: Annotated[str, Field(max_length=200)] = Field(default="", description="Ignored: there is one model.")
    encoding_format: Literal["float", "base64"] = "float"


class CoderagTurn(Strict):
    """A message of a conversation; members that other servers know are ignored."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, Field(min_length=1, max_length=40)]
    content: Annotated[str, Field(max_length=200_000)]


class CoderagBody(Strict):
    """A conversation for which code is wanted. Members that are not known are ignored, and named in `detail`."""

    model_config = ConfigDict(extra="allow")

    messages: Annotated[list[CoderagTurn], Field(min_length=1, max_length=1000)]
    approxLength: int | None = Field(  # noqa: N815 - the protocol's name
        default=None, ge=1, le=1_000_000, description="Never more tokens; budget_tokens where it is missing."
    )
    referenceFollow: float = Field(default=1.0, ge=0, le=10)  # noqa: N815 - the protocol's name
    boosts: Annotated[list[Wish], Field(max_length=100)] = []
    collections: Names = []


class KbSearchBody(Strict):
    """A search of the notes."""

    query: str = Field(max_length=MAX_QUERY)
    limit: int = Field(default=5, ge=1, le=10)
    topK: int | None = Field(default=None, ge=1, le=10, description="The same as `limit`.")  # noqa: N815 - the protocol's name
    as_of: When | None = Field(default=None, description=FILTER_OPTIONS["as_of"].help)


class KbTextBody(Strict):
    """A note and its text."""

    path: Place
    text: str = Field(max_length=MAX_TEXT)
    supersedes: Annotated[list[Place], Field(max_length=MAX_SUPERSEDED)] = Field(
        default=[], description="Notes that this one replaces; they stay as what was true before."
    )


class KbEditBody(Strict):
    """A passage of a note, and what it becomes."""

    path: Place
    old: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    new: Annotated[str, Field(max_length=MAX_TEXT)]


class KbMoveBody(Strict):
    """A note and its new path."""

    path: Place
    to: Place


class CaseBody(Strict):
    """A query and the documents that answer it, for `outcrop eval`."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, pattern=VISIBLE)]
    expected: Annotated[list[Place], Field(min_length=1, max_length=100)]
    collections: Names = []
