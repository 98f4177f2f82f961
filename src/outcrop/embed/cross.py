"""Rerankers on disk: a cross-encoder reads a query and a text together and gives one score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from outcrop.embed.card import REINSTALL
from outcrop.embed.fingerprint import find_damage
from outcrop.embed.inference.runner import HeldModel, Runner
from outcrop.embed.onnx import CHARACTERS_A_TOKEN, OnnxFolder
from outcrop.errors import EmbedError
from outcrop.records import Trust


class CrossEncoder:
    """A cross-encoder on the CPU, in the process that runs all transformers.

    It starts to load when it is made. Texts are scored in order, a few at a time; when the time is up, the scores so
    far are returned and the rest is not begun."""

    def __init__(self, folder: Path, *, threads: int = 0, runner: Runner | None = None) -> None:
        """`threads` 0 means one per core, four at most."""
        self._folder = OnnxFolder.read(folder)
        card = self._folder.card
        self._name = f"{card.name}@{card.version}" if card else f"onnx:{folder.name}"
        self._held = HeldModel(self._folder.spec("pairs", threads), runner)

    def __repr__(self) -> str:
        return f"CrossEncoder({self._name})"

    @property
    def name(self) -> str:
        """The card's name and version, else the folder's name."""
        return self._name

    @property
    def blend(self) -> Trust | None:
        """How much its scores weigh, if its card says."""
        return self._folder.card.blend if self._folder.card else None

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Scores of the first of `texts`, as many as fit into `seconds`: none while the model is still loading."""
        if not texts or seconds <= 0:
            return []
        longest = self._folder.max_tokens * CHARACTERS_A_TOKEN
        asked = query[:longest]
        pairs = [(asked, text[:longest]) for text in texts]
        scores = self._held.run(pairs, urgent=True, seconds=seconds).ravel()
        if not np.isfinite(scores).all():
            raise EmbedError(f"{self._name} made scores that are not finite: use another reranker")
        return [float(score) for score in scores]

    def damage(self) -> list[str]:
        """What is wrong with the model's files, by the hashes on its card; empty when all is well."""
        card = self._folder.card
        return find_damage(self._folder.path, card.sha256, REINSTALL) if card is not None else []

    def close(self) -> None:
        """Release the model; the worker process ends with the last one."""
        self._held.close()
