"""The model of the model check: what an index must hold, as two dictionaries and a page of rules.

An operation is a list that JSON can hold: its name and its arguments. `apply` says what it does to the model,
`model_ops.perform` does the same to a real index. An operation that names what is not there does nothing, so any part
of a sequence is a sequence: that is what lets a failing one be made short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

Op = list[Any]
Key = tuple[str, str]
"""(collection, name): of a file its path below the folder, of a text its id."""

FOLDERS: Final = ("alpha", "beta")
NOTES: Final = "kb"
TEXTS: Final = "texts"
EMBEDDERS: Final = ("static", "letters", "few")
FILE_SLOTS: Final = tuple(
    f"{folder}/{place}{number}.{ext}"
    for folder in FOLDERS
    for ext in ("md", "py", "txt")
    for place, number in (("a", 1), ("x/b", 2), ("x/y/c", 3), ("d", 4))
)
NOTE_SLOTS: Final = tuple(f"kb/{name}.md" for name in ("one", "two", "plans/three", "plans/four", "old/five"))
TEXT_SLOTS: Final = tuple(f"text-{number}" for number in range(8))
KINDS: Final = {"md": "markdown", "py": "python", "txt": "text"}
PATHS: Final[dict[str, Callable[[str], bool]]] = {
    "x/**": lambda name: name.startswith("x/"),
    "d4.*": lambda name: name.startswith("d4."),
    "plans/*": lambda name: name.startswith("plans/"),
}
"""Patterns of paths, and what they mean."""
EVERYWHERE: Final = "granite"
"""A word that stands in every chunk."""
FIRST_MTIME_NS: Final = 1_700_000_000_000_000_000
"""Generation n of a file on disk was modified n seconds after this."""

_LETTERS: Final = "bcdfghjkmnpvwxz"
_WORDS: Final = (
    "river stone harbour ledger signal copper window thread market garden engine lantern bridge orchard valley "
    "compass mirror anchor barrel canvas winter summer archive ballast cable dynamo easel furnace gravel hinge"
).split()


def mark_of(version: int) -> str:
    """One plain word for each version, which no stemmer shortens."""
    letters = ""
    for _ in range(5):
        version, digit = divmod(version, len(_LETTERS))
        letters = _LETTERS[digit] + letters
    return f"zq{letters}"


@lru_cache(maxsize=4096)
def content(version: int, ext: str) -> str:
    """The text of a version: every sentence names it. Version 0 is empty, every seventh takes several chunks, every
    fifth Markdown file has a tag in front."""
    if version == 0:
        return ""
    mark, length = mark_of(version), 30 if version % 7 == 0 else 2
    words = [_WORDS[(version * 31 + i * (i + version)) % len(_WORDS)] for i in range(6 * length)]
    sentences = [
        f"{' '.join(words[6 * i : 6 * i + 6])} {mark} {EVERYWHERE} {i}.".capitalize() for i in range(length)
    ]
    if ext == "py":
        body = "\n".join(f"    {words[i]}_{i} = '{sentence}'" for i, sentence in enumerate(sentences))
        return f"def {mark}({words[0]}):\n{body}\n    return {words[0]}\n"
    if ext == "md":
        front = f"---\ntags: [{tag_of(version)}]\n---\n" if tag_of(version) else ""
        return f"{front}# About {mark} {EVERYWHERE}\n\n{' '.join(sentences)}\n"
    return "\n\n".join(sentences) + "\n"


def tag_of(version: int) -> str:
    """The tag that a version of a Markdown file carries, or a text is given."""
    return ("", "blue", "red")[version % 3] if version % 5 == 0 else ""


@dataclass(frozen=True, slots=True)
class File:
    """A file on disk: its text, and a number that changes whenever it is written or touched."""

    text: str
    generation: int
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """A document that the index must hold. `waits`: it may lack vectors."""

    text: str
    generation: int = 0
    tag: str = ""
    waits: bool = False

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""
        return hash_of(self.text)


@dataclass(frozen=True, slots=True)
class Where:
    """A filter, as the model understands it."""

    collections: tuple[str, ...] = ()
    ext: str = ""
    path: str = ""
    tag: str = ""
    since: int = 0

    def passes(self, key: Key, held: Held) -> bool:
        """Whether a document passes."""
        collection, name = key
        return (
            (not self.collections or collection in self.collections)
            and (not self.ext or name.endswith(f".{self.ext}"))
            and (not self.path or PATHS[self.path](name))
            and (not self.tag or held.tag == self.tag)
            and (not self.since or held.generation >= self.since)
        )


@dataclass(slots=True)
class Model:
    """What lies on disk, what the index holds, and with which model it was embedded."""

    disk: dict[str, File] = field(default_factory=dict)
    held: dict[Key, Held] = field(default_factory=dict)
    embedder: str = "static"

    def copy(self) -> Model:
        """Another one that says the same."""
        return Model(dict(self.disk), dict(self.held), self.embedder)

    def below(self, folder: str) -> Iterator[tuple[Key, File]]:
        """The files of a folder, each with the key of its document."""
        for path, file in self.disk.items():
            if path.startswith(f"{folder}/"):
                yield (folder, path.removeprefix(f"{folder}/")), file

    def apply(self, op: Op) -> None:
        """Do an operation."""
        _RULES[op[0]](self, *op[1:])

    def after(self, op: Op) -> Model:
        """What this would be after an operation."""
        defer_embedding = self.copy()
        defer_embedding.apply(op)
        return defer_embedding

    def matching(self, where: Where) -> list[Key]:
        """The documents that pass a filter, in the order of a list."""
        return sorted(key for key, held in self.held.items() if where.passes(key, held))

    def stale(self) -> dict[Key, str]:
        """What is no longer as its file says."""
        found = {}
        for (collection, name), held in self.held.items():
            file = self.disk.get(f"{collection}/{name}")
            if collection != TEXTS and (file is None or file.text != held.text):
                found[collection, name] = "missing" if file is None else "changed"
        return found

    def looks_stale(self, key: Key) -> bool | None:
        """What a hit says of its file: one that was only touched looks stale until it was read again."""
        if key[0] == TEXTS:
            return None
        file = self.disk.get("/".join(key))
        return file is None or file.generation != self.held[key].generation

    def index(self, key: Key, file: File | None, *, defer_embedding: bool) -> None:
        """Bring a file into the index, as a sync does."""
        old = self.held.get(key)
        if file is None or not file.text.strip():
            self.held.pop(key, None)
        elif old is not None and old.text == file.text:
            self.held[key] = replace(old, generation=file.generation, waits=old.waits and defer_embedding)
        else:
            self.held[key] = Held(file.text, file.generation, file.tag, defer_embedding)

    def index_all(self, folder: str, *, defer_embedding: bool) -> None:
        """Make the documents of a folder the same as its files."""
        files = dict(self.below(folder))
        for key in [key for key in self.held if key[0] == folder and key not in files]:
            del self.held[key]
        for key, file in files.items():
            self.index(key, file, defer_embedding=defer_embedding)


# ------------------------------------------------------------------ the rules


def _write(model: Model, slot: str, version: int, generation: int) -> None:
    ext = slot.rpartition(".")[2]
    model.disk[slot] = File(content(version, ext), generation, tag_of(version) if ext == "md" else "")


def _touch(model: Model, slot: str, generation: int) -> None:
    if slot in model.disk:
        model.disk[slot] = replace(model.disk[slot], generation=generation)


def _remove(model: Model, slot: str) -> None:
    model.disk.pop(slot, None)


def _rename(model: Model, slot: str, to: str) -> None:
    if slot in model.disk:
        model.disk[to] = model.disk.pop(slot)


def _copy(model: Model, slot: str, to: str, generation: int) -> None:
    if slot in model.disk:
        model.disk[to] = replace(model.disk[slot], generation=generation)


def _sync(model: Model, folder: str) -> None:
    model.index_all(folder, defer_embedding=False)


def _sync_all(model: Model) -> None:
    """Folders that hold a document are known, others are not."""
    for folder in {key[0] for key in model.held} - {TEXTS}:
        model.index_all(folder, defer_embedding=False)


def _text(model: Model, slot: str, version: int, defer_embedding: bool) -> None:
    held = Held(content(version, "txt"), 0, tag_of(version), defer_embedding)
    old = model.held.get((TEXTS, slot))
    if old is not None and old.text == held.text:
        held = replace(held, waits=old.waits and defer_embedding)
    model.held[TEXTS, slot] = held


def _texts(model: Model, versions: Sequence[tuple[str, int]], defer_embedding: bool) -> None:
    for slot, version in versions:
        _text(model, slot, version, defer_embedding)


def _delete(model: Model, collection: str, name: str) -> None:
    model.held.pop((collection, name), None)


def _delete_where(model: Model, where: dict[str, Any]) -> None:
    for key in model.matching(where_of(where)):
        del model.held[key]


def _note(model: Model, slot: str, version: int, generation: int) -> None:
    model.disk[slot] = File(content(version, "txt"), generation)
    model.index((NOTES, slot.removeprefix("kb/")), model.disk[slot], defer_embedding=True)


def _note_append(model: Model, slot: str, version: int, generation: int) -> None:
    before = model.disk.get(slot, File("", 0))
    model.disk[slot] = File(before.text + content(version, "txt"), generation, before.tag)
    model.index((NOTES, slot.removeprefix("kb/")), model.disk[slot], defer_embedding=True)


def _note_move(model: Model, slot: str, to: str) -> None:
    if slot in model.disk and to not in model.disk:
        model.disk[to] = model.disk.pop(slot)
        model.held.pop((NOTES, slot.removeprefix("kb/")), None)
        model.index((NOTES, to.removeprefix("kb/")), model.disk[to], defer_embedding=True)


def _note_delete(model: Model, slot: str) -> None:
    if model.disk.pop(slot, None) is not None:
        model.held.pop((NOTES, slot.removeprefix("kb/")), None)


def _refresh(model: Model) -> None:
    model.index_all(NOTES, defer_embedding=True)


def _fill(model: Model) -> None:
    model.held = {key: replace(held, waits=False) for key, held in model.held.items()}


def _reembed(model: Model, name: str) -> None:
    model.embedder = name
    _fill(model)


def _watch(model: Model, folder: str, ops: Sequence[Op]) -> None:
    for op in ops:
        model.apply(op)
    model.index_all(folder, defer_embedding=False)


def _race(model: Model, one: Op, other: Op) -> None:
    model.apply(one)
    model.apply(other)


def _compare(model: Model) -> None:
    """Everything is brought up to date before it is compared with a new index."""
    for folder in FOLDERS:
        model.index_all(folder, defer_embedding=False)
    _refresh(model)
    _fill(model)


def _nothing(model: Model, *_: object) -> None:
    """Nothing that is held changes."""


_RULES: Final[dict[str, Callable[..., None]]] = {
    "write": _write,
    "touch": _touch,
    "remove": _remove,
    "rename": _rename,
    "copy": _copy,
    "sync": _sync,
    "sync all": _sync_all,
    "text": _text,
    "texts": _texts,
    "delete": _delete,
    "delete where": _delete_where,
    "note": _note,
    "note append": _note_append,
    "note move": _note_move,
    "note delete": _note_delete,
    "refresh": _refresh,
    "fill": _fill,
    "reembed": _reembed,
    "watch": _watch,
    "race": _race,
    "search": _nothing,
    "list": _nothing,
    "reopen": _nothing,
    "move": _nothing,
    "compare": _compare,
}


def where_of(given: dict[str, Any]) -> Where:
    """A filter from what JSON keeps of it."""
    return Where(**{**given, "collections": tuple(given.get("collections", ()))})


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there of a document or a file: its hash, and when its file was modified."""

    sha256: str
    mtime_ns: int | None


def reconcile(
    before: Model, after: Model, index: dict[Key, Seen], disk: dict[str, Seen]
) -> tuple[Model, list[str]]:
    """What the model is after an operation that was killed, and what is neither as before nor as after it.

    Each document and each file must be one of the two; which one is taken from what is there.
    """
    model, wrong = Model(embedder=before.embedder), []
    for path in sorted({*before.disk, *after.disk, *disk}):
        files = [file for file in (after.disk.get(path), before.disk.get(path)) if file is not None]
        same = [file for file in files if path in disk and hash_of(file.text) == disk[path].sha256]
        if same:
            model.disk[path] = same[0]
        elif path in disk or len(files) == 2:
            wrong.append(f"{path}: after a kill the file is neither what it was nor what it was to be")
    for key in sorted({*before.held, *after.held, *index}):
        allowed = [held for held in (after.held.get(key), before.held.get(key)) if held is not None]
        match = [held for held in allowed if key in index and held.sha256 == index[key].sha256]
        if match:
            path = "/".join(key)
            generation = _generation(index[key].mtime_ns)
            if path in model.disk and disk[path].mtime_ns == index[key].mtime_ns:
                generation = model.disk[path].generation
            waits = any(held.waits for held in allowed)
            model.held[key] = replace(match[0], waits=waits, generation=generation)
        elif key in index or len(allowed) == 2:
            wrong.append(f"{key}: after a kill it is neither what it was nor what it was to be")
    return model, wrong


def _generation(mtime_ns: int | None) -> int:
    """The generation of a file that the check wrote; of one that the knowledge base wrote, none that there is."""
    if mtime_ns is None:
        return 0
    generation, rest = divmod(mtime_ns - FIRST_MTIME_NS, 1_000_000_000)
    return -1 if rest else generation


def hash_of(text: str) -> str:
    """The hash of a text's bytes."""
    return sha256(text.encode()).hexdigest()
