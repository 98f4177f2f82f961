"""The names of code in the search arrays: which rows declare a name, which rows use it, and what a file is called.

Names are numbers (see `terms`), so that a look-up is a binary search and a join of two lists is one sort. Letters'
case is folded in the number and kept in a mark of eight bits: people type names as they remember them, programs do
not. Every document declares itself as a module (by its file's name) and as a part of a package (by its folder's), so
an import or a link is a use of a name like any other. Prose also declares its titles, which other texts may name.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final, get_args

import numpy as np

from outcrop.records import NOTE_LINK, Definition, FeedRow, ReferenceKind, Role
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.text.pattern import pattern
from outcrop.text.terms import Terms, term_number, words_of

ROLES: Final[tuple[str, ...]] = get_args(Role)
USES: Final[tuple[str, ...]] = get_args(ReferenceKind)

# Kinds of declaration, as far as ranking and the graph tell them apart.
WHOLE, CALLABLE, METHOD, LOCAL, SMALL, PROTOTYPE, MODULE, PACKAGE, TITLE, ALIAS = range(10)
PRIVATE: Final = 0x80

HEADER: Final = 0x80
"""Beside a role: the row says nothing of its own: licence, imports, empty functions."""
_KINDS: Final = {
    **dict.fromkeys(("constant", "variable", "field", "property", "member", "key", "template", "style"), SMALL),
    **dict.fromkeys(("function", "constructor", "operator", "test"), CALLABLE),
    "method": METHOD,
    "local": LOCAL,
    "prototype": PROTOTYPE,
    "type": ALIAS,
}

FILE_WORDS: Final = 6
"""Words kept of a file's name and of its folders': longer ones are rare, and a fixed width needs no offsets."""

_FAMILIES: Final = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte"), "ecmascript"),
    **dict.fromkeys(("c", "cpp"), "c"),
    **dict.fromkeys(("java", "kotlin", "scala"), "jvm"),
}
"""Languages whose names refer to each other."""
_IMPLICIT_SELF: Final = ("c", "jvm", "c_sharp", "swift", "ruby")
"""Families in which a bare call may be of an inherited method."""
_ANYWHERE: Final = (
    "add all any append apply call clear clone close contains copy count create delete each emit empty end error exec "
    "exists fetch filter find first flush format forEach from get has hash id index init insert invoke is items iter "
    "join key keys last len length list load log lower main make map match max merge message min name new next of on "
    "open parse path pop post print push put query read reduce remove render replace request reset resolve result "
    "reverse run save search send set setup size slice sort split start state status stop strip sum test text then "
    "to toString trim type update upper url use user value values view wait wrap write"
)
"""Methods that any object may have: called on something unknown, they do not say whose they are (not measured)."""

_INDEX_NAMES: Final = frozenset({"__init__", "index", "mod", "init", "lib", "main", "package", "readme"})
"""Names of files that say nothing, so that the folder is what people know them by."""
_INDEX_FILE: Final = pattern(
    r"(?i:__init__\.pyi?|index\.\w+|mod\.\w+|(?:lib|main)\.rs|init\.luau?|readme\.\w+)"
)
"""Files that a language or a site takes for their folder: fewer than people do."""
_EXTENSION: Final = pattern(r"\.(?:d\.ts|[A-Za-z][A-Za-z0-9]{0,6})$")
_QUALIFIER_END: Final = pattern(r"(?:.*[^\w\"'`)\]])?([^\W\d]\w*)[?!]?")
_LANGUAGE_ROOTS: Final = pattern(r"^(?:(?:crate|super|self)/)+|/v\d+$")
"""Parts of an import that name no folder: Rust's own, and the major version of a Go module."""
_LAYOUT: Final = ("src", "lib", "include", "source", "sources", "python")
"""Folders that no import names: `serde::de` is serde/src/de.rs."""
SELVES: Final = frozenset({"self", "this", "cls", "@", "$this", "static", "Self"})


@dataclass(frozen=True, slots=True)
class Names:
    """See the module. `used_*` are by row, `used_order` lists them by name. Scopes and hints are 0 where there is none;
    what other small numbers among the hints mean stands below (`OWN` …)."""

    defined: NDArray[np.uint64]
    defined_rows: NDArray[np.uint32]
    defined_scopes: NDArray[np.uint64]
    defined_kinds: NDArray[np.uint8]
    defined_marks: NDArray[np.uint8]
    used: NDArray[np.uint64]
    used_rows: NDArray[np.uint32]
    used_hints: NDArray[np.uint64]
    used_kinds: NDArray[np.uint8]
    used_counts: NDArray[np.uint8]
    used_marks: NDArray[np.uint8]
    used_order: NDArray[np.uint32]

    def definitions(self, name: int) -> slice:
        """Where in `defined_*` a name stands."""
        number = np.uint64(name)
        return slice(
            int(self.defined.searchsorted(number)), int(self.defined.searchsorted(number, side="right"))
        )


NAME_ARRAYS: Final[dict[str, type[np.generic]]] = {
    "defined": np.uint64,
    "defined_rows": np.uint32,
    "defined_scopes": np.uint64,
    "defined_kinds": np.uint8,
    "defined_marks": np.uint8,
    "used": np.uint64,
    "used_rows": np.uint32,
    "used_hints": np.uint64,
    "used_kinds": np.uint8,
    "used_counts": np.uint8,
    "used_marks": np.uint8,
    "used_order": np.uint32,
}


@lru_cache(maxsize=65_536)
def name_number(name: str) -> int:
    """The number of a name, whatever its case; 0 for none."""
    return term_number(name.lower()) if name else 0


def name_mark(name: str) -> int:
    """Eight bits that tell most spellings of a name apart."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & 0xFF


ANYWHERE: Final = frozenset(map(name_number, _ANYWHERE.split()))


def module_number(name: str) -> int:
    """The number of a module or package of this name: never that of a declaration."""
    return name_number(f"\x00{name}")


def family_number(language: str) -> int:
    """Eight bits for the languages that share names; 0 where any may."""
    return zlib.crc32(_FAMILIES.get(language, language).encode()) % 255 + 1 if language else 0


LAYOUT: Final = frozenset(map(name_number, ("", *_LAYOUT)))
C_FAMILY: Final = family_number("c")
IMPLICIT_SELF: Final = frozenset(map(family_number, _IMPLICIT_SELF))


def file_stem(path: str) -> tuple[str, str, str]:
    """What a file is known by: its name, its folder and the one above. An index file is known by its folder."""
    return _known_by(path, lambda name: _without_extension(name).lower() in _INDEX_NAMES)


def _module_file(path: str) -> tuple[str, str, str]:
    """As `file_stem`, for what imports and links go by: only a file that its language takes for the folder is that."""
    return _known_by(path, lambda name: _INDEX_FILE.fullmatch(name) is not None)


def _known_by(path: str, is_index: Callable[[str], bool]) -> tuple[str, str, str]:
    *_, highest, above, folder, name = ("", "", "", "", *PurePosixPath(path).parts)
    return (folder, above, highest) if folder and is_index(name) else (_without_extension(name), folder, above)


def _without_extension(name: str) -> str:
    return _EXTENSION.sub("", name) or name


def module_of(path: str) -> tuple[str, str]:
    """What an import or a link names: the last part, without an extension, and the part before it."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    if not parts:
        return "", ""
    last = _EXTENSION.sub("", parts[-1]) if "." in parts[-1] else parts[-1]
    before = parts[-2] if len(parts) > 1 else ""
    if before and (_INDEX_FILE.fullmatch(parts[-1]) or last in ("__init__", "index")):
        return before, parts[-3] if len(parts) > 2 else ""
    return last, before


# ------------------------------------------------------------------ building


def build_names(feed: Sequence[FeedRow], first_rows: dict[int, int]) -> Names:
    """The names of some rows; `first_rows` tells the first row of each document."""
    defined: list[tuple[int, int, int, int, int]] = []
    used = array("Q")
    for row, item in enumerate(feed):
        if first_rows[item.document_id] == row:
            stem, folder, above = _module_file(item.path)
            defined.append((module_number(stem), row, name_number(folder), MODULE, 0))
            if folder:
                defined.append((module_number(folder), row, name_number(above), PACKAGE, 0))
            defined += ((number, row, 0, TITLE, 0) for number in sorted(_titles(item)))
        if item.code is not None:
            defined += (_definition(definition, row) for definition in item.code.defines)
            for name, kind, qualifier, times in item.code.mentions:
                if kind in _PATHS:
                    for use in _uses_of_path(name, kind, qualifier, row, times, item.path):
                        used.extend(use)
                else:
                    number, hint, use_kind, mark = _read_use(name, kind, qualifier)
                    used.extend((number, row, hint, use_kind, min(times, 255), mark))
    defined.sort()
    by_name = np.frombuffer(array("Q", chain.from_iterable(defined)), np.uint64).reshape(-1, 5)
    return _names(by_name, np.frombuffer(used, np.uint64).reshape(-1, 6))


def _names(by_name: NDArray[np.uint64], by_row: NDArray[np.uint64]) -> Names:
    """Names from (name, row, scope, kind, mark) and (name, row, hint, kind, count, mark): the order of NAME_ARRAYS."""
    order = np.argsort(by_row[:, 0], kind="stable")
    columns = zip(NAME_ARRAYS.items(), (*by_name.T, *by_row.T, order), strict=True)
    return Names(**{name: np.ascontiguousarray(column, kind) for (name, kind), column in columns})


def _definition(item: Definition, row: int) -> tuple[int, int, int, int, int]:
    kind = _KINDS.get(item.kind, WHOLE) | (PRIVATE if item.name.startswith("_") else 0)
    return name_number(item.name), row, name_number(item.scope), kind, name_mark(item.name)


_PATHS: Final = frozenset(("import", "link"))


@lru_cache(maxsize=16_384)
def _read_use(name: str, kind: str, qualifier: str) -> tuple[int, int, int, int]:
    """A used name: its number, hint, kind and mark."""
    return name_number(name), hint_number(qualifier), USES.index(kind), name_mark(name)


def _uses_of_path(
    path: str, said: str, qualifier: str, row: int, times: int, where: str
) -> list[tuple[int, int, int, int, int, int]]:
    """What an import or a link in the file at `where` uses."""
    kind, count = USES.index(said), min(times, 255)
    named = said == "link" and qualifier == NOTE_LINK
    if said == "link" and qualifier and not named:  # a label, which is no path
        return []
    name, placed = _LANGUAGE_ROOTS.sub("", path), said == "link" and not named
    if name.startswith("."):
        name, placed = posixpath.normpath(posixpath.join(posixpath.dirname(where), name)), True
    module, before = module_of(name)
    if named:  # in whatever folder, as an import's module is
        kind = USES.index("import")
    hint = name_number(before) or (ROOT if placed else 0)
    found = [(module_number(module), row, hint, kind, count, 0)] if module else []
    if said == "import" and qualifier:  # what is taken: a name of that module, or a module itself
        found.append((module_number(qualifier), row, name_number(module), kind, count, 0))
        use, mark = USES.index("use"), name_mark(qualifier)
        found.append((name_number(qualifier), row, name_number(module), use, count, mark))
    return found


@lru_cache(maxsize=65_536)
def hint_number(qualifier: str) -> int:
    """The last name of a qualifier: `std` of `a::std`; what `f(x)` or a literal is, nobody knows."""
    if not qualifier:
        return 0
    if qualifier in SELVES:
        return OWN
    if qualifier in ("super", "super()", "parent"):
        return SUPER
    found = _QUALIFIER_END.fullmatch(qualifier)
    return name_number(found[1]) if found else UNKNOWN


OWN: Final = 1
"""The hint of `self.name`: a name of the class it stands in."""
SUPER: Final = 2
"""The hint of `super().name`: a name of a class above the one it stands in."""
UNKNOWN: Final = 3
"""The hint of `f(x).name`: of something, but nobody knows of what."""
ROOT: Final = 4
"""The hint of an import or a link whose path ends at the root: of no folder."""


def find_packages(names: Names, files: NDArray[np.uint32], count: int) -> NDArray[np.uint64]:
    """For each of `count` files the name of its folder, by the module it declares; `files` tells the file of a row."""
    found = np.zeros(count, np.uint64)
    modules = np.flatnonzero(names.defined_kinds == MODULE)
    found[files[names.defined_rows[modules]]] = names.defined_scopes[modules]
    return found


def merge_names(parts: Sequence[Names], keep: Sequence[NDArray[np.bool_]]) -> Names:
    """The names of several segments as those of one, without those of the rows that go."""
    base = 0
    by_name, by_row = [], []
    for names, kept in zip(parts, keep, strict=True):
        renumbered = (np.cumsum(kept) - 1 + base).astype(np.uint64)
        alive = kept[names.defined_rows]
        rest: Sequence[NDArray[Any]] = (names.defined_scopes, names.defined_kinds, names.defined_marks)
        by_name.append(_stack(names.defined, renumbered[names.defined_rows], rest, alive))
        alive = kept[names.used_rows]
        rest = (names.used_hints, names.used_kinds, names.used_counts, names.used_marks)
        by_row.append(_stack(names.used, renumbered[names.used_rows], rest, alive))
        base += int(kept.sum())
    merged = np.concatenate(by_name)
    return _names(merged[np.argsort(merged[:, 0], kind="stable")], np.concatenate(by_row))


def _stack(
    first: NDArray[Any], rows: NDArray[np.uint64], others: Sequence[NDArray[Any]], alive: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    return np.stack([column[alive].astype(np.uint64) for column in (first, rows, *others)], axis=1)


# ------------------------------------------------------------------ files


def file_title(path: str) -> int:
    """A file's name as one name, whatever style it is written in: `connection_pool.py` and `ConnectionPool.java`."""
    return title_number(file_stem(path)[0])


def spoken_number(title: str) -> int:
    """The number under which prose declares a title and a text that names it looks it up: whatever is in brackets or a
    section's number is left out, as people do. Never that of a declaration of code."""
    if title[:1].isdigit():
        title = _NUMBERING.sub("", title)
    if title.rstrip()[-1:] == ")":
        title = _SUFFIX.sub("", title)
    plain = _JOINTS.sub("", title)
    return name_number(f"\x01{plain}") if len(plain) > 2 else 0


def _titles(item: FeedRow) -> set[int]:
    """What a document of prose is called: its title, its first heading and its file's name; of the last two only what
    has several words, since `usage` and `Introduction` are no names."""
    if item.kind == "code":
        return set()
    others = (*item.heading_path[:1], file_stem(item.path)[0])
    names = (item.title, *(name for name in others if len(_WORD.findall(name)) > 1))
    return {number for name in names if (number := spoken_number(name))}


def title_number(name: str) -> int:
    """The number of a name without what joins its parts."""
    return name_number(_JOINTS.sub("", name))


_JOINTS: Final = re.compile(r"[\W_]+")
_WORD: Final = re.compile(r"[^\W_]+")
_NUMBERING: Final = pattern(r"(?:\d++\.)++\d*+\s++")
_SUFFIX: Final = pattern(r"(?<=\S)\s*+\([^()]*+\)\s*+$")


def file_words(path: str, terms: Terms) -> tuple[Sequence[int], Sequence[int]]:
    """The words of a file's name and of the two folders above it, as terms."""
    stem, folder, above = file_stem(path)
    return words_of(stem, terms)[:FILE_WORDS], words_of(f"{above} {folder}", terms)[:FILE_WORDS]
