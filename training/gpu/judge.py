"""How good is a model, on packages it has never seen? The only figures that choices are made by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.gpu.data import Pairs

KINDS = (
    "doc",
    "question",
    "name",
    "section",
    "faq",
    "comment",
    "test",
    "usage",
    "changelog",
    "path",
    "man",
    "first",
)
FEWEST = 100
"""A kind with fewer held-out pairs says nothing."""


@dataclass(frozen=True)
class Verdict:
    """NDCG@10 by kind of pair among the documents of the same package, and of Python questions among all."""

    kinds: dict[str, float]
    wide: float

    @property
    def mean(self) -> float:
        """What models are chosen by: every kind counts the same, the wide pool as one more."""
        return float(np.mean([*self.kinds.values(), self.wide]))

    def __str__(self) -> str:
        told = " ".join(f"{kind} {value:.3f}" for kind, value in self.kinds.items())
        return f"mean {self.mean:.4f} wide {self.wide:.3f} | {told}"


@dataclass(frozen=True)
class Verdicts:
    """Twice: on documents below their titles and headings, and by themselves, for many have none that tell."""

    named: Verdict
    bare: Verdict

    @property
    def mean(self) -> float:
        """What models are chosen by."""
        return (self.named.mean + self.bare.mean) / 2

    def __str__(self) -> str:
        return f"mean {self.mean:.4f} | named {self.named} | bare {self.bare}"


def gains(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """NDCG@10 of one right document at each rank, 1 the best."""
    return np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0)


def judge(
    pairs: Pairs,
    embed_queries: Callable[[NDArray[np.int64]], Tensor],
    embed_documents: Callable[[NDArray[np.int64]], Tensor],
    device: str,
) -> Verdict:
    """Embed what is held out and rank it."""
    held = np.flatnonzero(pairs.validation)
    out = np.unique(pairs.package[held])
    documents = np.flatnonzero(np.isin(pairs.document_package, out))
    queries, rows = embed_queries(held), embed_documents(documents)
    place = np.full(len(pairs.texts), -1)
    place[documents] = np.arange(len(documents))
    target = torch.from_numpy(place[pairs.document[held]]).to(device)
    of_query = torch.from_numpy(pairs.package[held]).to(device)
    of_row = torch.from_numpy(pairs.document_package[documents]).to(device)
    python = torch.from_numpy(pairs.languages[documents] == "python").to(device)
    ranks, wide = [], []
    for start in range(0, len(held), 2048):
        part = slice(start, start + 2048)
        scores = queries[part].float() @ rows.float().T
        best = scores.gather(1, target[part, None])
        better = scores > best
        ranks.append(((better & (of_query[part, None] == of_row[None])).sum(1) + 1).cpu().numpy())
        wide.append(((better & python[None]).sum(1) + 1).cpu().numpy())
    near, far = gains(np.concatenate(ranks)), gains(np.concatenate(wide))
    kinds = {kind: near[pairs.kind[held] == kind] for kind in KINDS}
    asked = (pairs.kind[held] == "question") & (pairs.languages[pairs.document[held]] == "python")
    return Verdict(
        {kind: float(found.mean()) for kind, found in kinds.items() if len(found) >= FEWEST},
        float(far[asked].mean()) if asked.any() else 0.0,
    )
