"""Transformer models on disk, run by onnxruntime: a folder with model.onnx and tokenizer.json, and perhaps a card.

An embedder reads a text and gives its vector; a cross-encoder reads a query and a text together and gives one score.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from outcrop.embed.inference.runner import HeldModel, Runner
from outcrop.embed.keys import find_damage, fingerprint
from outcrop.embed.transformer import PATH_WEIGHT, REINSTALL, OnnxFolder, Transformer, unit_rows
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Trust, Vector

CHARACTERS_A_TOKEN = 64
"""A text is cut to this many characters per token it may have before it is sent to the worker: even empty lines and
long words hardly use more, and a text of megabytes costs nothing."""


class OnnxEmbedder(Transformer):
    """A transformer on the CPU, in a process of its own that all models share. Rows are of unit length.

    Its card says what a model is and how it is used; without one, the files that sentence-transformers leaves beside it
    do, and a fingerprint is its version. A model with a card loads in the background, and a broken graph shows at the
    first use.
    """

    def __init__(
        self,
        folder: Path,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        threads: int = 0,
        runner: Runner | None = None,
    ) -> None:
        """A prefix that is not given is taken from the model's folder; `threads` 0 means one per core, four at most."""
        found = OnnxFolder.read(folder)
        card = found.card
        self._folder = found
        self._query_prefix = query_prefix or found.query_prefix
        self._document_prefix = document_prefix or found.document_prefix
        self.path_weight = card.path_weight if card else PATH_WEIGHT
        self.trust = card.trust if card else Trust()
        self._held = HeldModel(found.spec("texts", threads), runner)
        if card is None:
            self.model = Model(f"onnx:{folder.name}", self._fingerprint(), self._held.width())
        else:
            # A custom prefix makes different vectors: they must not be mixed with the card's.
            same = self._document_prefix == card.document_prefix
            version = card.version if same else f"{card.version}+{fingerprint((self._document_prefix,))}"
            self.model = Model(card.name, version, card.dimensions)

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.model})"

    def embed_query(self, text: str) -> Vector:
        """The unit vector of a query; runs before all documents that wait."""
        vector: Vector = self._embed([text], self._query_prefix, urgent=True)[0]
        return vector

    def damage(self) -> list[str]:
        """What is wrong with the model's files; empty when all is well. Reads them whole."""
        if self._folder.card is not None:
            return find_damage(self._folder.path, self._folder.card.sha256, REINSTALL)
        try:
            changed = self._fingerprint() != self.model.version
        except EmbedError as error:
            return [str(error)]
        return [f"the files in {self._folder.path} changed: open the index again"] if changed else []

    def close(self) -> None:
        """Release the model; the worker process ends with the last one."""
        self._held.close()

    def _fingerprint(self) -> str:
        found = self._folder
        try:
            return fingerprint((found.pooling, str(found.max_tokens), self._document_prefix), found.files)
        except OSError as error:
            raise EmbedError(f"the model in {found.path} cannot be loaded: {error}") from error

    def _embed(self, texts: Sequence[str], prefix: str, *, urgent: bool = False) -> Matrix:
        out = np.zeros((len(texts), self.model.dimensions), np.float32)
        sent = [number for number, text in enumerate(texts) if text.strip()]
        if not sent:
            return out
        longest = self._folder.max_tokens * CHARACTERS_A_TOKEN
        rows = self._held.run([((prefix + texts[number])[:longest],) for number in sent], urgent=urgent)
        if rows.shape[1] != self.model.dimensions:
            raise EmbedError(
                f"the model in {self._folder.path} makes {rows.shape[1]} numbers per text, its card says "
                f"{self.model.dimensions}: reinstall the package that holds it"
            )
        if not np.isfinite(rows).all():
            raise EmbedError(f"{self.model.name} made numbers that are not finite: use another model")
        out[sent] = unit_rows(rows)
        return out


class CrossEncoder:
    """A cross-encoder on the CPU, in the process that runs all transformers. It starts to load when it is made. Texts
    are scored in order, a few at a time; when the time is up, the scores so far are returned and the rest is not
    begun."""

    def __init__(self, folder: Path, *, threads: int = 0, runner: Runner | None = None) -> None:
        """`threads` 0 means one per core, four at most."""
        self._folder = OnnxFolder.read(folder)
        card = self._folder.card
        self.name = f"{card.name}@{card.version}" if card else f"onnx:{folder.name}"
        self.blend = card.blend if card else None
        self.worth = card.worth if card else None
        self._held = HeldModel(self._folder.spec("pairs", threads), runner)

    def __repr__(self) -> str:
        return f"CrossEncoder({self.name})"

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Scores of the first of `texts`, as many as fit into `seconds`: none while the model is still loading."""
        if not texts or seconds <= 0:
            return []
        longest = self._folder.max_tokens * CHARACTERS_A_TOKEN
        asked = query[:longest]
        pairs = [(asked, text[:longest]) for text in texts]
        scores = self._held.run(pairs, urgent=True, seconds=seconds).ravel()
        if not np.isfinite(scores).all():
            raise EmbedError(f"{self.name} made scores that are not finite: use another reranker")
        return [float(score) for score in scores]

    def damage(self) -> list[str]:
        """What is wrong with the model's files, by the hashes on its card; empty when all is well."""
        card = self._folder.card
        return find_damage(self._folder.path, card.sha256, REINSTALL) if card is not None else []

    def close(self) -> None:
        """Release the model; the worker process ends with the last one."""
        self._held.close()
