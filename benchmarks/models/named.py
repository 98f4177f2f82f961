"""Models by name: what `NAME=SPEC` opens, and under which mark what it made is kept.

    static            the model that is installed with Outcrop
    static:FOLDER     a static model in a folder
    float:FOLDER      the same before it was made int8: static.npy holds float32
    onnx:FOLDER, mini, …   what the setting `model` takes
    texts:FOLDER      no model: writes down every text a model would be asked for (texts.jsonl)
    vectors:FOLDER    vectors of such texts that were made elsewhere, on a GPU for instance (`MadeElsewhere`)

`NAME#1=…`, `NAME#2=…` are seeds of one model: their scores are averaged question by question. A reranker is what the
setting `reranker` takes, or just its folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from outcrop.contracts import Embedder, Reranker
from outcrop.embed import models
from outcrop.embed.keys import path_text, split_context
from outcrop.embed.static import ID_BYTES, PACKAGED_MODEL, StaticEmbedder, Vocabulary
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Trust, Vector

PACKAGE = "outcrop_models"
"""The package that holds the files of models named by a word, such as `mini`."""
LOAD_SECONDS = 120.0
FLOAT = " float"
"""What the label of a model ends with that is another's float."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a run: `label` tells seeds apart, `name` is what they share."""

    label: str
    spec: str
    part: str = "mini"
    """Where in that package its files lie, when it is named by a word."""

    @property
    def name(self) -> str:
        """The label without its seed."""
        return without_seed(self.label)

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        kind, _, rest = self.spec.partition(":")
        if rest or Path(self.spec).is_dir():  # a reranker may be named by its folder alone
            return Path(rest or self.spec).expanduser()
        if kind == "static":
            return PACKAGED_MODEL
        found = find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise SystemExit(f"{self.label}={self.spec}: the package {PACKAGE} is not installed")
        return Path(found.origin).parent / self.part

    @property
    def is_slow(self) -> bool:
        """Whether its vectors are worth keeping: a table of tokens makes them faster than a disk finds them."""
        return self.spec.partition(":")[0] not in ("static", "float", "texts", "vectors")


def without_seed(label: str) -> str:
    """`mini#2 float` → `mini float`."""
    name, _, rest = label.partition("#")
    return name + rest.lstrip("0123456789")


def read_entries(given: Iterable[str], kind: str = "model", part: str = "mini") -> list[Entry]:
    """Entries from `NAME=SPEC` as typed; a label that comes twice, or none, is an error."""
    entries = []
    for text in given:
        label, found, spec = text.partition("=")
        if not (found and label and spec):
            raise SystemExit(f"--{kind} {text}: write it as NAME=SPEC")
        entries.append(Entry(label, spec, part))
    labels = [entry.label for entry in entries]
    if len(set(labels)) < len(labels):
        raise SystemExit(
            f"--{kind}: {', '.join(labels)}: give each a name of its own (NAME#1, NAME#2 for seeds)"
        )
    return entries


def read_floats(given: Iterable[str], shipped: Sequence[Entry]) -> list[Entry]:
    """Entries of `--float NAME=SPEC`, each labelled after the one of `shipped` whose float it is."""
    entries = read_entries(given, "float")
    parts = {entry.label: entry.part for entry in shipped}
    for entry in entries:
        if entry.label not in parts:
            raise SystemExit(f"--float {entry.label}: there is no such model or reranker in this run")
    return [Entry(entry.label + FLOAT, entry.spec, parts[entry.label]) for entry in entries]


def open_model(spec: str) -> Embedder:
    """The embedder that a SPEC names."""
    kind, _, rest = spec.partition(":")
    if kind == "float":
        return FloatTable(Path(rest).expanduser())
    if kind == "texts":
        return Scribe(Path(rest).expanduser())
    if kind == "vectors":
        return MadeElsewhere(Path(rest).expanduser())
    if kind == "static" and rest:
        return StaticEmbedder(Path(rest).expanduser())
    return models.open_embedder(spec, url="", key="", query_prefix="")


def open_reranker(entry: Entry) -> Reranker:
    """The reranker of an entry: a folder, or what the setting `reranker` takes."""
    reranker = models.open_reranker(f"onnx:{entry.spec}" if Path(entry.spec).is_dir() else entry.spec)
    reranker.score("warm", ["warm"], LOAD_SECONDS)
    return reranker


def mark_of(entry: Entry) -> str:
    """What changes whenever a model does: a hash of its files. Seeds may share a name and a version."""
    kind = entry.spec.partition(":")[0] if not Path(entry.spec).is_dir() else "onnx"
    return f"{kind}-{hash_files(entry.folder.rglob('*'), entry.folder)[:16]}"


def weights_mark_of(entry: Entry) -> str:
    """The same without what only says how its vectors are weighed, or is for people."""
    files = (path for path in entry.folder.rglob("*") if path.name != "card.json" and path.suffix != ".md")
    return hash_files(files, entry.folder)[:16]


def hash_files(paths: Iterable[Path], root: Path) -> str:
    """Hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and path.suffix != ".pyc":
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()


class Marked:
    """An embedder under a name of our own, so that an index never takes one seed's vectors for another's.

    A query that cannot be embedded ends the run: the engine would search by words, and that would be measured.
    """

    def __init__(self, embedder: Embedder, mark: str) -> None:
        self._embedder = embedder
        self.model = Model("benchmark", mark, embedder.model.dimensions)
        self.path_weight = embedder.path_weight
        self.trust = embedder.trust
        self.embed_documents = embedder.embed_documents
        self.embed_paths = embedder.embed_paths

    def embed_query(self, text: str) -> Vector:
        """A query."""
        try:
            return self._embedder.embed_query(text)
        except EmbedError as error:
            raise RuntimeError(f"a query could not be embedded: {error}") from error


class FloatTable:
    """A static model before quantisation, in the words of outcrop.embed.static and without its haste."""

    def __init__(self, folder: Path) -> None:
        card = json.loads((folder / "card.json").read_text("utf-8"))
        self._table: Matrix = np.load(folder / "static.npy", allow_pickle=False)
        if self._table.dtype != np.float32:
            raise SystemExit(f"{folder / 'static.npy'} holds {self._table.dtype}, not float32")
        self._scales, self._query_weights = np.load(folder / "weights.npy", allow_pickle=False)
        self._vocabulary = Vocabulary((folder / "vocab.txt").read_text("utf-8").removesuffix("\n").split("\n"))
        self.model = Model(str(card["name"]), f"{card['version']} float", self._table.shape[1])
        self.path_weight = float(card["path_weight"])
        self.trust = Trust(float(card["trust"]["prose"]), float(card["trust"]["code"]))
        self._tf_exponent = float(card["tf_exponent"])
        self._head_weight = float(card["head_weight"])

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text."""
        rows = [
            self._sum(body, self._tf_exponent) + self._head_weight * self._sum(head, 1.0)
            for head, body in map(split_context, texts)
        ]
        return np.array(rows, np.float32).reshape(len(texts), self.model.dimensions)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One row a path."""
        rows = [self._sum(path_text(path), 1.0) for path in paths]
        return np.array(rows, np.float32).reshape(len(paths), self.model.dimensions)

    def embed_query(self, text: str) -> Vector:
        """A unit vector."""
        vector = self._sum(text, self._tf_exponent, self._query_weights)
        return vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))

    def _sum(self, text: str, exponent: float, weights: Vector | None = None) -> Vector:
        packed = np.frombuffer(self._vocabulary.pack(text), np.dtype(f"u{ID_BYTES}"))
        tokens, counts = np.unique(packed, return_counts=True)
        shares = counts**exponent * self._scales[tokens]
        if weights is not None:
            shares = shares * weights[tokens]
        total: Vector = np.einsum("i,ij->j", shares.astype(np.float32), self._table[tokens])
        return total


class Scribe:
    """Writes down what models are asked for; its vectors say nothing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "texts.jsonl"
        self._path.touch()
        with self._path.open(encoding="utf-8") as file:  # an interrupted run, or another set
            self._seen = {(one["kind"], one["text"]) for one in map(json.loads, file)}
        self.model = Model("scribe", "1", 8)
        self.path_weight = 1.0
        self.trust = Trust()

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Rows that say nothing."""
        return self._write("text", texts)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """Rows that say nothing."""
        return self._write("path", [path_text(path) for path in paths])

    def embed_query(self, text: str) -> Vector:
        """A vector that says nothing."""
        vector: Vector = self._write("query", [text])[0]
        return vector

    def _write(self, kind: str, texts: Sequence[str]) -> Matrix:
        fresh = [text for text in dict.fromkeys(texts) if (kind, text) not in self._seen]
        self._seen.update((kind, text) for text in fresh)
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"kind": kind, "text": text}) + "\n" for text in fresh)
        return np.full((len(texts), self.model.dimensions), 8**-0.5, np.float32)


class MadeElsewhere:
    """Vectors by text: keys.npy (16 bytes a row), vectors.npy (int8), scales.npy, card.json (path_weight, trust)."""

    def __init__(self, folder: Path) -> None:
        card = json.loads((folder / "card.json").read_text("utf-8"))
        self._folder = folder
        keys = np.load(folder / "keys.npy").tobytes()
        self._row = {keys[at : at + 16]: at // 16 for at in range(0, len(keys), 16)}
        self._vectors, self._scales = np.load(folder / "vectors.npy"), np.load(folder / "scales.npy")
        self.model = Model(folder.name, hashlib.sha256(keys).hexdigest()[:12], self._vectors.shape[1])
        self.path_weight = float(card["path_weight"])
        self.trust = Trust(**card["trust"])

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text."""
        return self._find("text", texts)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One row a path."""
        return self._find("path", [path_text(path) for path in paths])

    def embed_query(self, text: str) -> Vector:
        """A query."""
        vector: Vector = self._find("query", [text])[0]
        return vector

    def _find(self, kind: str, texts: Sequence[str]) -> Matrix:
        rows = np.zeros((len(texts), self.model.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            if text.strip():
                place = self._row.get(hashlib.blake2b(f"{kind}\0{text}".encode(), digest_size=16).digest())
                if place is None:
                    raise SystemExit(
                        f"{self._folder} has no vector of this {kind}: {text[:80]!r}; "
                        "write the texts down again (texts:FOLDER) and make vectors of that list"
                    )
                row[:] = self._vectors[place] * self._scales[place]
        return rows
