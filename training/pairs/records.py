"""What flows from a package to the data set."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Doc:
    """A text that answers queries: what the engine would embed of it. `head` is its title with scope or headings."""

    path: str
    at: int  # where in the file it begins: the order of the output
    head: str
    text: str
    lang: str
    code: bool
    name: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and the number of the document that answers it, within its package."""

    q: str
    doc: int
    kind: str


@dataclass(slots=True)
class Gathered:
    """What one package gives, in the order in which it was read."""

    docs: list[Doc] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    def add(self, doc: Doc) -> int:
        """Keep a document; its number."""
        self.docs.append(doc)
        return len(self.docs) - 1

    def ask(self, q: str, doc: int, kind: str) -> None:
        """Keep a query for a document that was added."""
        self.pairs.append(Pair(q, doc, kind))
