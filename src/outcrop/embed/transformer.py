"""Transformers, wherever they run: what all embedders that run one share, and what the folder of one says about it.

card.json says what a model is and how it is used:

name, version       what vectors are stored under
dimensions          of its vectors; a reranker has none
max_tokens          of a text, or of a query and a text together
pooling             mean or cls (embedders)
query_prefix, document_prefix, path_weight, trust {prose, code}   (embedders; each may be missing)
worth {prose, code} what a reranker's scores, which are log-odds, are worth beside the first order; or, of others,
blend {prose, code} how much its order weighs against the first, 0 to 1 (rerankers; may be missing)
sha256              of its files, by name
licence, figures …  for people
"""

from __future__ import annotations

import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from outcrop.embed.keys import path_text
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Trust, Vector
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import need_extra, usable_cores

Pooling = Literal["mean", "cls"]
Reads = Literal["texts", "pairs", "e5"]

_DEFAULT_LENGTH_TOKENS = 512
"""What BERT-like models are trained with; used when the folder does not say."""
_USUAL_THREADS = 4
"""Texts that run in parallel unless more are asked for: past four cores a laptop has other things to do."""
PATH_WEIGHT = 0.5
"""Code search with MiniLM: NDCG@10 0.762 with half the path's vector added, 0.730 with the path in the text."""


class Transformer(ABC):
    """Unit vectors; documents and queries differ by their prefix."""

    batch_texts: Final = 64
    """An ingest can be cancelled between batches, and 512 texts took some 15 s on two cores. Small batches cost little,
    since texts run one by one anyway."""
    path_weight = PATH_WEIGHT
    trust = Trust()
    """Full: the measure of trust is a good transformer."""
    _query_prefix: str
    _document_prefix: str

    @abstractmethod
    def _embed(self, texts: Sequence[str], prefix: str) -> Matrix:
        """One unit row per text; zeros for one of whitespace."""

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One unit row per text."""
        return self._embed(texts, self._document_prefix)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One unit row per path, from its last components as words."""
        return self._embed([path_text(path) for path in paths], self._document_prefix)

    def embed_query(self, text: str) -> Vector:
        """The unit vector of a query."""
        vector: Vector = self._embed([text], self._query_prefix)[0]
        return vector


def unit_rows(rows: Matrix) -> Matrix:
    """Each row divided by its length; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return np.asarray(rows / lengths, np.float32)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """How the model in a folder wants to be used."""

    pooling: Pooling
    max_tokens: int
    query_prefix: str
    document_prefix: str


def read_model_folder(folder: Path) -> ModelFolder:
    """Read the configuration files sentence-transformers leaves beside a model; each may be missing."""
    if not folder.is_dir():
        raise EmbedError(f"{folder} is not a folder: name the one that holds the model's files")
    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    if not isinstance(prompts, dict):
        raise EmbedError(f"{folder / 'config_sentence_transformers.json'}: prompts is not a table of texts")
    return ModelFolder(
        pooling=_read_pooling(folder),
        max_tokens=_read_length(folder),
        query_prefix=str(prompts.get("query", "")),
        document_prefix=str(prompts.get("document", prompts.get("passage", ""))),
    )


def _read_pooling(folder: Path) -> Pooling:
    path = folder / "1_Pooling" / "config.json"
    modes = {
        name.removeprefix("pooling_mode_")
        for name, value in _read_json(path).items()
        if name.startswith("pooling_mode_") and value is True
    }
    if modes <= {"mean_tokens"}:  # also when nothing is said
        return "mean"
    if modes == {"cls_token"}:
        return "cls"
    raise EmbedError(
        f"{path} asks for pooling by {', '.join(sorted(modes))}: "
        "use a model that pools by the mean or by its first token"
    )


def _read_length(folder: Path) -> int:
    """The shortest of the lengths that are stated: each is a limit."""
    stated = [
        _read_json(folder / name).get(field)
        for name, field in (
            ("sentence_bert_config.json", "max_seq_length"),
            ("tokenizer_config.json", "model_max_length"),
            ("config.json", "max_position_embeddings"),
        )
    ]
    # Tokenizers without a limit say so with a number like 10^30.
    lengths = [value for value in stated if isinstance(value, int) and 0 < value < 1 << 20]
    return min(lengths, default=_DEFAULT_LENGTH_TOKENS)


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EmbedError(f"{path} cannot be read ({error}): copy the model's folder again") from error
    if not isinstance(value, dict):
        raise EmbedError(f"{path} is not a JSON object: copy the model's folder again")
    return value


_CARD = "card.json"
REINSTALL = "reinstall the package that holds it"
_POOLINGS: dict[str, Pooling] = {"mean": "mean", "cls": "cls"}


@dataclass(frozen=True, slots=True)
class Card:
    """What a card says, checked."""

    name: str
    version: str
    dimensions: int
    max_tokens: int
    pooling: Pooling
    query_prefix: str
    document_prefix: str
    path_weight: float
    trust: Trust
    blend: Trust | None = None
    worth: Trust | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)


def read_card(folder: Path) -> Card | None:
    """The card in a model's folder, if there is one."""
    path = folder / _CARD
    if not path.is_file():
        return None
    try:
        said: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return Card(
            name=str(said["name"]),
            version=str(said["version"]),
            dimensions=int(said.get("dimensions", 0)),
            max_tokens=int(said["max_tokens"]),
            pooling=_POOLINGS[said.get("pooling", "mean")],
            query_prefix=str(said.get("query_prefix", "")),
            document_prefix=str(said.get("document_prefix", "")),
            path_weight=float(said.get("path_weight", PATH_WEIGHT)),
            trust=_weights(said.get("trust", {})),
            blend=_weights(said["blend"]) if "blend" in said else None,
            worth=_weights(said["worth"]) if "worth" in said else None,
            sha256=dict(said["sha256"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedError(f"{path} cannot be read ({type(error).__name__}: {error}): {REINSTALL}") from error


def _weights(said: Mapping[str, Any]) -> Trust:
    return Trust(float(said.get("prose", 1.0)), float(said.get("code", 1.0)))


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """All that the process which runs a model must know of it: what it reads (texts to vectors, or pairs to scores;
    `e5` is texts after a prefix, by another engine), how, and the state of its files."""

    folder: str
    path: str
    reads: Reads
    max_tokens: int
    pooling: Pooling
    threads: int
    stamp: str


def find_graph(folder: Path) -> Path:
    """The graph in a model's folder."""
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file():
            return path
    raise EmbedError(
        f"there is no model.onnx in {folder} or in its folder onnx: export the model to ONNX first"
    )


def graph_files(folder: Path, graph: Path) -> list[Path]:
    """The files that determine a model's vectors. Weights past 2 GB are in files whose names begin with the graph's."""
    parts = [path for path in sorted(graph.parent.glob(f"{graph.name}*")) if path.is_file()]
    return [*parts, folder / "tokenizer.json"]


def stamp_files(files: Iterable[Path]) -> str:
    """Size and modification time of each file; changes when one of them is replaced."""
    found = [path.stat() for path in files]
    return " ".join(f"{status.st_size}:{status.st_mtime_ns}" for status in found)


def usual_threads() -> int:
    """How many texts run in parallel by default: one per core, four at most."""
    return min(usable_cores(), _USUAL_THREADS)


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """A model's folder, read but not loaded."""

    path: Path
    card: Card | None
    graph_path: Path
    files: tuple[Path, ...]
    stamp: str
    pooling: Pooling
    max_tokens: int
    query_prefix: str
    document_prefix: str

    @classmethod
    def read(cls, folder: Path) -> OnnxFolder:
        """Read a folder; EmbedError says which file or package is missing."""
        _require_runtime()
        settings = read_model_folder(folder)
        card = read_card(folder)
        graph = find_graph(folder)
        files = graph_files(folder, graph)
        try:
            stamp = stamp_files(files)
        except OSError as error:
            raise EmbedError(f"the model in {folder} cannot be loaded: {error}") from error
        said = card or settings
        prefixes = said.query_prefix, said.document_prefix
        return cls(folder, card, graph, tuple(files), stamp, said.pooling, said.max_tokens, *prefixes)

    def spec(self, reads: Reads, threads: int) -> ModelSpec:
        """What the worker process needs to know of it."""
        return ModelSpec(
            folder=str(self.path.absolute()),
            path=str(self.graph_path.absolute()),
            reads=reads,
            max_tokens=self.max_tokens,
            pooling=self.pooling,
            threads=threads or usual_threads(),
            stamp=self.stamp,
        )


def _require_runtime() -> None:
    """Only the worker process imports them."""
    for name in ("onnxruntime", "tokenizers"):
        if importlib.util.find_spec(name) is None:
            raise need_extra(EmbedError, "an ONNX model", "onnx")
