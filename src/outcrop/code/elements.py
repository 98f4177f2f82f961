"""The XML of a context of source code: one well-formed document, whatever the code holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Final

from outcrop.records import EXTRACTED_KINDS, Hit
from outcrop.system.dataclass import dataclass

NAMESPACE: Final = "https://outcrop.dev/codeRag"
OPENING: Final = f'<codeRag:chunks xmlns:codeRag="{NAMESPACE}"'
CLOSING: Final = "</codeRag:chunks>"

DESCRIBED_FROM_TOKENS: Final = 1_000
"""Below, symbol and commentary are left out: in a chunk of 80 tokens they would take 50, the price of every other
file. The signature says the name."""
TRACED_FROM_TOKENS: Final = 4_000
"""Below, repository and revision are left out; they stand in the sources all the same. Where all is of one commit the
text names it once, elsewhere it takes some 25 tokens a chunk."""
REVISION_CHARS: Final = 12
"""As many as git itself shows of a commit in a large repository; each costs about a token."""

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NEEDS_CDATA: Final = re.compile(r"[<&]|\]\]>")
_ATTRIBUTE_MARKS: Final = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a commit: of all chunks at once (`shared`), or of each its repository and its revision."""

    shared: tuple[str, ...] = ()
    repositories: bool = False
    revisions: bool = False

    @property
    def opening(self) -> str:
        """The tag around all chunks."""
        return f"{' '.join((OPENING, *self.shared))}>\n"


def say_commits(hits: Sequence[Hit], budget_tokens: int) -> Said:
    """What a text of these hits says of the commits they come from."""
    traced = budget_tokens >= TRACED_FROM_TOKENS
    commits = {_commit_of(hit) for hit in hits}
    if len(commits) == 1:
        return Said(shared=_write(commits.pop()) if traced else ())
    several = len({repository_of(hit) for hit in hits} - {""}) > 1
    return Said((), traced or several, traced)


def _commit_of(hit: Hit) -> tuple[tuple[str, str], ...]:
    return ("repository", repository_of(hit)), ("revision", (hit.revision or "")[:REVISION_CHARS])


def _write(attributes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f'{name}="{_quote(value)}"' for name, value in attributes if value)


def element(attributes: str, commentary: str, content: str) -> str:
    """One chunk with what is known of it."""
    said = f"<codeRag:commentary>{_escape(commentary)}</codeRag:commentary>\n" if commentary else ""
    return (
        f"<codeRag:chunk>\n<codeRag:metadata {attributes}/>\n{said}"
        f"<codeRag:content>{content}</codeRag:content>\n</codeRag:chunk>\n"
    )


def attributes_of(hit: Hit, budget_tokens: int, said: Said) -> str:
    """What is known of where a hit comes from, as far as the budget allows to say it."""
    repository, revision = _commit_of(hit)
    described = budget_tokens >= DESCRIBED_FROM_TOKENS
    known = (
        ("symbol", hit.code.symbol if hit.code and described else ""),
        *((repository,) if said.repositories else ()),
        *((revision,) if said.revisions else ()),
        ("also", hit.elsewhere.removeprefix("and ")),
        ("dirty", "true" if hit.dirty else ""),
        ("stale", "true" if hit.stale else ""),
    )
    return " ".join((f'file="{_quote(hit.document.path)}"', lines_of(hit), *_write(known)))


def lines_of(hit: Hit) -> str:
    """Where in the file; a text made from a file has no lines of that file, but may have a page."""
    if hit.page is not None:
        return f'page="{hit.page}"'
    if hit.document.kind in EXTRACTED_KINDS:
        return f'part="{hit.index + 1}"'
    return f'lines="{hit.line_start}-{hit.line_end}"'


def repository_of(hit: Hit) -> str:
    """The name of the folder that was added, for files that lie in a repository."""
    if hit.revision is None or not hit.document.root:
        return ""
    return PurePath(hit.document.root).name


def clean(text: str) -> str:
    """Without what XML 1.0 has no way to write: control characters, halves of surrogate pairs, U+FFFE and U+FFFF."""
    return _FORBIDDEN.sub("\ufffd", text)


def _escape(text: str) -> str:
    """As xml.sax.saxutils does, whose import takes 20 ms."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quote(value: str) -> str:
    quoted = _escape(clean(value))
    for mark, entity in _ATTRIBUTE_MARKS.items():
        quoted = quoted.replace(mark, entity)
    return quoted


def content_of(text: str) -> str:
    """Code as it stands where XML allows it, else in CDATA, which reads better than `&lt;` all over."""
    text = clean(text)
    if not _NEEDS_CDATA.search(text):
        return text
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"
