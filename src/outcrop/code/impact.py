"""What depends on a change: callers, tests and documents of the declarations it touches, each with the line that says
so. Follows the reference graph of the index; a test that reaches a declaration through one caller counts too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from outcrop.code.changes import FileDelta, changed_declarations
from outcrop.code.related import Codebase
from outcrop.contracts import Store
from outcrop.errors import Ambiguous, NotFound
from outcrop.read.lookup import find_document
from outcrop.records import (
    Affected,
    ChangedDeclaration,
    Dependent,
    DocumentInfo,
    Impact,
    Relation,
    Relative,
    StoredChunk,
)
from outcrop.system.limits import check_wanted

MAX_DECLARATIONS: Final = 500
"""Changed declarations whose dependents are looked for (not measured)."""
_MAX_VIA: Final = 10
"""Callers whose tests are looked for."""
_RELATIONS: Final[tuple[Relation, ...]] = ("caller", "test", "doc")
_COMMENT: Final = re.compile(r"\s*(?:#|//|/?\*|--|;)")


def find_impact(
    store: Store,
    codebase: Codebase,
    deltas: Sequence[FileDelta],
    top: Path,
    collections: Sequence[str],
    limit: int,
) -> Impact:
    """What depends on the declarations that these files change, at most `limit` of each kind for each."""
    finder = _Finder(store, codebase, top, collections, limit)
    remarks = [delta.remark for delta in deltas if delta.remark]
    changed: list[tuple[ChangedDeclaration, DocumentInfo | None]] = []
    for delta in deltas:
        check_wanted()
        declarations = changed_declarations(delta)
        if not declarations:
            continue
        document = finder.document(delta)
        if document is None and delta.new_path:
            remarks.append(f"{delta.path} is not in the index; `outcrop add` puts it there")
        changed += [(item, document) for item in declarations]
    if len(changed) > MAX_DECLARATIONS:
        remarks.append(f"{len(changed):,} declarations changed; the first {MAX_DECLARATIONS} were looked at")
    affected = [
        Affected(item, finder.dependents(item, document)) for item, document in changed[:MAX_DECLARATIONS]
    ]
    return Impact(tuple(delta.path for delta in deltas), tuple(affected), tuple(remarks))


class _Finder:
    """Looks for what depends on declarations."""

    def __init__(
        self, store: Store, codebase: Codebase, top: Path, collections: Sequence[str], limit: int
    ) -> None:
        self._store = store
        self._codebase = codebase
        self._top = top
        self._collections = collections
        self._limit = limit

    def document(self, delta: FileDelta) -> DocumentInfo | None:
        """The indexed document of a file, under its new name or its old one."""
        for path in filter(None, (delta.new_path, delta.old_path)):
            for name in (str(self._top / path), path):
                try:
                    return find_document(self._store, name, self._collections)
                except (NotFound, Ambiguous):
                    continue
        return None

    def dependents(self, item: ChangedDeclaration, document: DocumentInfo | None) -> tuple[Dependent, ...]:
        """What depends on a declaration, strongest first within each kind."""
        last = item.name.rpartition(".")[2]
        target = self._declaring(item, document)
        if target:
            found = self._codebase.related(target, self._limit, item.name).relatives
            direct = [_dependent(relative, last) for relative in found if relative.relation != "callee"]
            direct += self._through(found, {chunk.id for chunk in target})
        elif item.change == "removed":
            direct = list(self._mentions(last))
        else:
            direct = []
        kept = _distinct(direct)
        return tuple(
            each for kind in _RELATIONS for each in [d for d in kept if d.relation == kind][: self._limit]
        )

    def _declaring(self, item: ChangedDeclaration, document: DocumentInfo | None) -> list[StoredChunk]:
        if document is None:
            return []
        chunks = self._codebase.declarations(item.name, document.collection)
        return [chunk for chunk in chunks if chunk.document.id == document.id]

    def _through(self, found: Iterable[Relative], own: set[int]) -> Iterator[Dependent]:
        """Tests of the callers."""
        callers = [relative for relative in found if relative.relation == "caller"]
        for caller in callers[:_MAX_VIA]:
            check_wanted()
            name = caller.chunk.code.symbol if caller.chunk.code else ""
            if not name or not caller.chunk.code or not caller.chunk.code.kind:
                continue
            related = self._codebase.related([caller.chunk], self._limit, name)
            for relative in related.of("test"):
                if relative.chunk.id not in own:
                    yield _dependent(relative, name.rpartition(".")[2], via=name)

    def _mentions(self, name: str) -> Iterator[Dependent]:
        """What still names a declaration that is gone; nothing where another one bears the name."""
        graph = self._codebase.graph()
        if graph.declaring(name):
            return
        for chunk in self._store.chunks(graph.chunk_ids(graph.users(name))):
            relation: Relation = "doc" if not chunk.document.language else "caller"
            yield _dependent(Relative("test" if chunk.document.role == "test" else relation, chunk, 1.0), name)


def _distinct(found: Iterable[Dependent]) -> list[Dependent]:
    """Each declaration or section once; one that names it itself before one that leads there through a caller."""
    kept: dict[tuple[int, str], Dependent] = {}
    for item in found:
        kept.setdefault((item.document.id, item.name or str(item.line)), item)
    return list(kept.values())


def _dependent(relative: Relative, name: str, via: str = "") -> Dependent:
    chunk = relative.chunk
    line, evidence = _evidence(chunk, name)
    return Dependent(
        relative.relation, _named(chunk, line), chunk.document, line, evidence, relative.weight, via
    )


def _evidence(chunk: StoredChunk, name: str) -> tuple[int, str]:
    """The line of a chunk that uses a name: a call before any other use, code before comments and imports."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)(\s*\()?")
    best: tuple[int, int, str] | None = None
    for number, line in enumerate(chunk.text.split("\n")):
        found = word.search(line)
        if found is None:
            continue
        imported = line.lstrip().startswith(("import ", "from ", "use ", "#include", "require"))
        worth = 0 if _COMMENT.match(line) else 1 if imported else 3 if found[1] else 2
        if best is None or worth > best[0]:
            best = (worth, chunk.line_start + number, line.strip())
    if best is None:  # by an alias, or through what stands around it
        return chunk.line_start, chunk.text.partition("\n")[0].strip()
    return best[1], best[2]


def _named(chunk: StoredChunk, line: int) -> str:
    """What the line stands in: the declaration, or the section of a document."""
    if chunk.code is None or not chunk.document.language:
        return " › ".join(chunk.shown_path) or chunk.document.title
    before = [item for item in chunk.code.defines if item.line <= line and item.kind not in ("local", "field")]
    if chunk.code.kind and chunk.code.symbol:
        return chunk.code.symbol
    if not before:
        return chunk.code.symbol
    nearest = max(before, key=lambda item: item.line)
    return f"{nearest.scope}.{nearest.name}" if nearest.scope else nearest.name
