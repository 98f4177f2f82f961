"""What is read (files, pages, texts), what a parser makes of it, and the chunks that are cut from that.

Offsets are Python string offsets (code points) into `Document.text`; lines and pages count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, Literal, NamedTuple, TypeGuard

from outcrop.records.meta import Meta, MetaValue, Scalar
from outcrop.system.dataclass import dataclass

DEFAULT_COLLECTION: Final = "default"
"""Where texts and single pages go unless a collection is named."""

SESSION: Final = "session"
"""The kind of a past conversation: its headings are turns, each by who spoke and when."""


MAIL: Final = "mail"
"""The kind of a mail message."""

MAILBOX: Final = "mailbox"
"""The kind of a file of messages, as a document: what it holds, in a few lines."""

PART_OF: Final = "//"
"""Between the name of a file and that of a part of it, in a `uri`: no real path holds it."""


def owner_of(uri: str) -> str:
    """The file on disk that a document is, or is a part of."""
    at = uri.find(PART_OF, 2)  # where systems tell `//host` from `/`, a path may begin with it
    return uri if at < 0 else uri[:at]


@dataclass(frozen=True, slots=True)
class Inside:
    """Where in a file on disk the bytes of a part of it lie, how they are encoded there (`base64` …), and what is known
    of the part only from the file as a whole, as names and values of its metadata."""

    file: str
    start: int
    end: int
    encoding: str = ""
    meta: tuple[tuple[str, MetaValue], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Something that can be read: a file on disk, a fetched page, a text handed over.

    `uri` names it within its collection and never changes while the content does: an absolute path, a URL,
    or the id a caller gave. `path` is the short name people see and filters match: relative to the root that
    was added. `mtime_ns` and `size` are what one stat tells; None where there is no file. `inside` says where the bytes
    of a part of a file lie: a message of a mailbox, an attachment.
    """

    uri: str
    path: str
    origin: Literal["file", "url", "text", "tree", "part"]
    root: str | None = None
    mtime_ns: int | None = None
    size: int | None = None
    media_type: str | None = None
    inside: Inside | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be added. `id` names it, so that adding it again replaces it; without one its content is its name.
    `meta` is what is known of it beside that: text, numbers, dates, true or false, and lists of these, by name. Given
    again it replaces what was given before; None leaves a text that has not changed as it is.
    `kind` says how to read it (`md`, `text`, `html`, `json` …); None leaves that to the extension of the id and to what
    the text looks like."""

    text: str
    id: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    kind: str | None = None
    meta: Mapping[str, MetaValue | Sequence[Scalar]] | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out on purpose, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that should have been read and could not be, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document: its level (1 is the top), its text, and the offset where its line starts."""

    level: int
    title: str
    start: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """A named part of a source file: a function, a class, a type, a constant …

    `text[start:end]` is all of it, with the comments, attributes and decorators before it; `at` is where the
    declaration itself begins, `body` where what it holds begins (its `end` when it holds nothing). `scope` names what
    it stands in, outermost first. `doc` is the first sentence of its documentation.
    """

    name: str
    kind: str
    scope: tuple[str, ...]
    start: int
    at: int
    body: int
    end: int
    signature: str
    doc: str = ""

    @property
    def qualified(self) -> str:
        """The name with what it stands in: `ConnectionPool.acquire`."""
        return ".".join((*self.scope, self.name))


ReferenceKind = Literal["call", "type", "inherit", "import", "use", "link"]
"""How a name is used: called, as a type, as a parent, brought in, otherwise, or as a path in a document."""


NOTE_LINK: Final = "note"
"""The qualifier of a link that names a note, in whatever folder it is."""


class Reference(NamedTuple):
    """A use of a name at an offset. `qualifier` is what stands before it (`self`, `os.path`); an import's name is the
    module's path with `/` between its parts, its qualifier what is taken from it."""

    name: str
    kind: ReferenceKind
    start: int
    qualifier: str = ""


Role = Literal[
    "",
    "test",
    "example",
    "compat",
    "docs",
    "generated",
    "vendored",
    "minified",
    "lock",
    "benchmark",
    "changelog",
]
"""What a file is for, where that is not simply to do its work."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a parser knows of source code. `header_end` is where imports and the leading comment end; `cuts` are offsets
    of statements, in order, at which a long declaration may be cut."""

    language: str
    declarations: tuple[Declaration, ...] = ()
    references: tuple[Reference, ...] = ()
    header_end: int = 0
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What a parser makes of some bytes: plain text and what is known of its structure.

    `kind` is the format's short name (`markdown`, `pdf`, `text` …) and a filter value. `headings` are in order
    of `start`. `pages` holds the offset at which each page starts, for formats that have pages, else nothing.
    `unread` are the numbers of pages that show text which only their picture has.
    `keys` holds the offset at which each top-level entry of a data file starts. `meta` is front matter, or
    file properties. `outline` is there for source code that a grammar could read. `remark` says
    what was wrong with the bytes of a document that could be read all the same.
    """

    text: str
    kind: str
    title: str
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict)
    outline: Outline | None = None
    role: Role = ""
    remark: str = ""
    unread: tuple[int, ...] = ()


# A source file has thousands of the following: as tuples they are made, compared and stored twice as fast.


class Definition(NamedTuple):
    """A name that a chunk declares. `scope` is the name of what it directly stands in, or nothing."""

    name: str
    kind: str
    scope: str = ""
    line: int = 0


class Mention(NamedTuple):
    """A name that a chunk uses, how, and how often."""

    name: str
    kind: ReferenceKind
    qualifier: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class CodeNotes:
    """What is known of a chunk of code: its main declaration (`symbol` is the qualified name), a summary in words, and
    the names it declares and uses."""

    symbol: str = ""
    kind: str = ""
    signature: str = ""
    summary: str = ""
    defines: tuple[Definition, ...] = ()
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document: `document.text[start:end] == text`, always."""

    index: int
    start: int
    end: int
    text: str
    tokens: int
    heading_path: tuple[str, ...] = ()
    line_start: int = 1
    line_end: int = 1
    page: int | None = None
    code: CodeNotes | None = None


def is_url(source: object) -> TypeGuard[str]:
    """Whether a source is an address to fetch; anything else names a file or a folder."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))
