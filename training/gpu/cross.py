"""The reranker: query and passage read together by a few layers, trained to put the right one of eight first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from training.gpu.bi import KINDS
from training.gpu.data import Flat, Log, Pairs, Ragged, encode_texts, even_kinds, pick_negatives, ragged, spread
from training.gpu.encoder import Encoder, keep_layers
from training.gpu.judge import FEWEST, gains
from training.gpu.judge import KINDS as JUDGED
from training.passages import make_passage
from training.weights import load_arrays

GROUP = 8
"""The right passage and seven that came close."""
TOKENS = 112
"""Of a query and a passage together: six layers read twenty such pairs in 241 ms of CPU."""
QUERY_WORDS = 40
SEPARATOR = 102


@dataclass(frozen=True)
class Recipe:
    """How a reranker is trained."""

    layers: tuple[int, ...] = (0, 2, 4, 6, 9, 11)
    groups: int = 192
    rate: float = 2e-4
    seconds: float = 150.0
    pairs: int = 400_000
    distil: float = 0.5
    """Weight of agreeing with the reranker for web questions that this one is cut from, on prose."""
    kinds: tuple[tuple[str, float], ...] = KINDS


class Cross(nn.Module):
    """An encoder whose first token says how well query and passage fit."""

    def __init__(self, folder: Path, layers: Sequence[int] | None) -> None:
        super().__init__()
        arrays = load_arrays(folder / "encoder.npz")
        if layers is not None:
            arrays = keep_layers(arrays, layers)
        self.encoder = Encoder(arrays, heads=12, first_position=0, pooling="cls")
        width = arrays["emb.word"].shape[1]
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, 1)
        with torch.no_grad():
            self.pool.weight.copy_(torch.from_numpy(arrays["pool.w"]))
            self.pool.bias.copy_(torch.from_numpy(arrays["pool.b"]))
            self.head.weight.copy_(torch.from_numpy(arrays["head.w"]))
            self.head.bias.copy_(torch.from_numpy(arrays["head.b"]))

    def forward(self, tokens: Ragged, rows: Tensor, parts: int = 4) -> Tensor:
        """One logit a row; rows of like length go through together."""
        order = torch.argsort(tokens.length[rows])
        out = []
        for part in order.chunk(parts):
            with torch.autocast(rows.device.type, torch.bfloat16, enabled=rows.is_cuda):
                ids, mask = tokens.block(rows[part])
                # The passage begins after the first separator.
                second = ((ids == SEPARATOR).cumsum(1) - (ids == SEPARATOR).long() > 0) & mask
                first = self.encoder(ids, mask, second.long())[:, 0]
                out.append(self.head(torch.tanh(self.pool(first))).float()[:, 0])
        whole = torch.cat(out)
        return torch.empty_like(whole).index_copy(0, order, whole)

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """All weights by their plain names."""
        arrays = self.encoder.to_arrays()
        for name, part in (("pool", self.pool), ("head", self.head)):
            arrays[f"{name}.w"] = part.weight.detach().float().cpu().numpy()
            arrays[f"{name}.b"] = part.bias.detach().float().cpu().numpy()
        return arrays


_PAIRS: Pairs | None = None


def _read_group(groups: Sequence[tuple[int, NDArray[np.int32]]], tokenizer: str) -> Flat:
    assert _PAIRS is not None
    made = []
    for number, documents in groups:
        query = " ".join(_PAIRS.queries[number].split()[:QUERY_WORDS])
        spoken = (
            number % 2 and _PAIRS.kind[number] != "doc"
        )  # files have their doc comments, the pairs' texts do not
        for one in documents:
            text = f"{_PAIRS.said[one]}\n{_PAIRS.texts[one]}" if spoken else _PAIRS.texts[one]
            made.append((query, make_passage(_PAIRS.files[one], _PAIRS.places[one], text, query)))
    return encode_texts(made, tokenizer, TOKENS)


@dataclass(frozen=True)
class Groups:
    """Queries, each with `GROUP` passages, the right one first, in tokens."""

    numbers: NDArray[np.int64]
    tokens: Ragged


def make_groups(
    pairs: Pairs, numbers: NDArray[np.int64], tokenizer: Path, rng: np.random.Generator, device: str
) -> Groups:
    """Each pair with mined passages, as the engine would show them to a reranker."""
    global _PAIRS  # noqa: PLW0603 - inherited by the forked readers
    _PAIRS = pairs
    documents = np.concatenate(
        (pairs.document[numbers][:, None], pick_negatives(pairs, numbers, GROUP - 1, rng)), axis=1
    )
    groups = list(zip(numbers.tolist(), documents, strict=True))
    return Groups(
        numbers, ragged(spread(partial(_read_group, tokenizer=str(tokenizer)), groups, 2_000), device)
    )


@torch.no_grad()
def logits(model: Cross, groups: Groups, device: str, asked: Tensor | None = None) -> Tensor:
    """What a reranker says of every passage of every group, or of the groups that are asked for; 0 of the others."""
    model.eval()
    out = torch.zeros(len(groups.numbers) * GROUP, device=device)
    rows = torch.arange(len(out), device=device)
    if asked is not None:
        rows = rows[asked.repeat_interleave(GROUP)]
    order = rows[torch.argsort(groups.tokens.length[rows])]
    out[order] = torch.cat([model(groups.tokens, part, 1) for part in order.split(8192)])
    return out.view(-1, GROUP)


def examine(model: Cross, groups: Groups, pairs: Pairs, device: str) -> str:
    """NDCG of the right one among eight, by kind of pair, on held-out packages."""
    said = logits(model, groups, device)
    rank = ((said[:, 1:] > said[:, :1]).sum(1) + 1).cpu().numpy()
    kinds = {kind: gains(rank[pairs.kind[groups.numbers] == kind]) for kind in JUDGED}
    means = {kind: float(found.mean()) for kind, found in kinds.items() if len(found) >= FEWEST}
    return f"mean {np.mean(list(means.values())):.4f} | " + " ".join(
        f"{kind} {value:.3f}" for kind, value in means.items()
    )


def prose_groups(groups: Groups, pairs: Pairs, device: str) -> Tensor:
    """Which groups ask for prose."""
    return torch.from_numpy(~pairs.code[pairs.document[groups.numbers]]).to(device)


def train_cross(
    folder: Path,
    groups: Groups,
    taught: Tensor | None,
    pairs: Pairs,
    recipe: Recipe,
    seed: int,
    device: str,
    log: Log,
) -> Cross:
    """One reranker; `taught` holds the logits of the whole model it is cut from, for every group."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Cross(folder, recipe.layers).to(device)
    model.train()
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=0.0, weight_decay=0.01, fused=device == "cuda", betas=(0.9, 0.98)
    )
    prose = prose_groups(groups, pairs, device)
    chosen = even_kinds(pairs, groups.numbers, dict(recipe.kinds), rng)
    place = np.searchsorted(groups.numbers, chosen)
    steps, step, began = len(place) // recipe.groups, 0, time.time()
    order = rng.permutation(place)
    right = torch.zeros(recipe.groups, dtype=torch.long, device=device)
    while step < steps:
        done = max(step / steps, (time.time() - began) / recipe.seconds)
        if done >= 1:
            break
        optimiser.param_groups[0]["lr"] = recipe.rate * min(1, (step + 1) / 100) * (1 - done)
        batch = torch.from_numpy(order[step * recipe.groups : (step + 1) * recipe.groups]).to(device)
        rows = (batch[:, None] * GROUP + torch.arange(GROUP, device=device)).reshape(-1)
        said = model(groups.tokens, rows).view(-1, GROUP)
        loss = F.cross_entropy(said, right)
        if taught is not None and recipe.distil:
            told = (taught[batch] / 2).softmax(1)
            apart = -(told * F.log_softmax(said / 2, 1)).sum(1)
            loss = loss + recipe.distil * 4 * (apart * prose[batch]).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        if step % 200 == 0:
            pace_s = (time.time() - began) / step
            log(f"  cross seed {seed} step {step}/{steps} loss {loss.item():.3f} {pace_s:.3f} s a step")
    model.eval()
    return model
