"""The reranker: query and passage read together by a few layers, trained to put the right one of eight first."""

from __future__ import annotations

import re
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

from training.gpu.data import Flat, Log, Pairs, Ragged, encode_texts, pick_negatives, ragged, spread
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
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Recipe:
    """How a reranker is trained."""

    layers: tuple[int, ...] = (0, 2, 4, 6, 9, 11)
    groups: int = 192
    rate: float = 2e-4
    seconds: float = 150.0
    code: int = 110_000
    """Questions about code; those about prose are all taken."""
    gaps: int = 80_000
    """Sentences of prose, as questions for the text they were taken out of."""
    distil: float = 2.0
    """Weight of agreeing with the reranker for web questions that this one is cut from, on prose. What that has learnt
    of the world cannot be learnt from packages: with .5 it was lost, and with it the gain on prose."""


class Cross(nn.Module):
    """An encoder whose first token says how well query and passage fit."""

    def __init__(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        super().__init__()
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


@dataclass(frozen=True)
class Asked:
    """A question, the documents it is asked of (the right one first), and what is taken out of them."""

    number: int
    """Of the pair; −1 if the question is a sentence of a document."""
    query: str
    documents: NDArray[np.int32]
    left_out: str = ""


def ask(pairs: Pairs, numbers: NDArray[np.int64], rng: np.random.Generator) -> list[Asked]:
    """Pairs with mined documents."""
    documents = np.concatenate(
        (pairs.document[numbers][:, None], pick_negatives(pairs, numbers, GROUP - 1, rng)), axis=1
    )
    return [Asked(one, pairs.queries[one], rows) for one, rows in zip(numbers.tolist(), documents, strict=True)]


def ask_for_gaps(pairs: Pairs, count: int, rng: np.random.Generator) -> list[Asked]:
    """Sentences of prose with the text they are taken out of, and other texts of the same package."""
    held_out = np.unique(pairs.package[pairs.validation])
    prose = np.flatnonzero(~pairs.code & ~np.isin(pairs.document_package, held_out))
    by_package: dict[int, list[int]] = {}
    for one in prose.tolist():
        by_package.setdefault(int(pairs.document_package[one]), []).append(one)
    found = []
    for one in rng.permutation(prose).tolist():
        others = by_package[int(pairs.document_package[one])]
        sentences = [
            part for part in SENTENCE_END.split(pairs.texts[one]) if 5 <= len(part.split()) <= QUERY_WORDS
        ]
        if len(others) < GROUP or len(sentences) < 2:
            continue
        sentence = sentences[int(rng.integers(len(sentences)))]
        rest = rng.choice([other for other in others if other != one], GROUP - 1, replace=False)
        found.append(Asked(-1, sentence.strip(), np.array([one, *rest], np.int32), sentence))
        if len(found) == count:
            break
    return found


def pick_asked(pairs: Pairs, recipe: Recipe, rng: np.random.Generator) -> list[Asked]:
    """What a reranker is trained on."""
    training = pairs.training()
    code = pairs.code[pairs.document[training]]
    picked = rng.choice(training[code], min(recipe.code, int(code.sum())), replace=False)
    return ask(pairs, np.concatenate((picked, training[~code])), rng) + ask_for_gaps(pairs, recipe.gaps, rng)


_PAIRS: Pairs | None = None


def _read_group(asked: Sequence[Asked], tokenizer: str) -> Flat:
    assert _PAIRS is not None
    made = []
    for one in asked:
        query = " ".join(one.query.split()[:QUERY_WORDS])
        # Files have their doc comments, the pairs' texts do not.
        spoken = one.number >= 0 and one.number % 4 and _PAIRS.kind[one.number] != "doc"
        for document in one.documents:
            text = _PAIRS.texts[document]
            if one.left_out:
                text = text.replace(one.left_out, " ")
            if spoken:
                text = f"{_PAIRS.said[document]}\n{text}"
            made.append((query, make_passage(_PAIRS.files[document], _PAIRS.places[document], text, query)))
    return encode_texts(made, tokenizer, TOKENS)


@dataclass(frozen=True)
class Groups:
    """Questions, each with `GROUP` passages, the right one first, in tokens."""

    numbers: NDArray[np.int64]
    """Of the pairs; −1 where the question is a sentence."""
    tokens: Ragged
    prose: Tensor
    """Which ask for prose."""


def make_groups(pairs: Pairs, asked: Sequence[Asked], tokenizer: Path, device: str) -> Groups:
    """Passages as the engine would show them to a reranker."""
    global _PAIRS  # noqa: PLW0603 - inherited by the forked readers
    _PAIRS = pairs
    return Groups(
        np.array([one.number for one in asked]),
        ragged(spread(partial(_read_group, tokenizer=str(tokenizer)), asked, 2_000), device),
        torch.from_numpy(~pairs.code[[one.documents[0] for one in asked]]).to(device),
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
    for part in order.split(8192) if len(order) else ():
        out[part] = model(groups.tokens, part, 1)
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


def train_cross(
    folder: Path, groups: Groups, taught: Tensor, recipe: Recipe, seed: int, device: str, log: Log
) -> Cross:
    """One reranker; `taught` holds the logits of the whole model it is cut from, where groups ask for prose."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Cross(keep_layers(load_arrays(folder / "encoder.npz"), recipe.layers)).to(device)
    model.train()
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=0.0, weight_decay=0.01, fused=device == "cuda", betas=(0.9, 0.98)
    )
    order = rng.permutation(len(groups.numbers))
    steps, step, began = len(order) // recipe.groups, 0, time.time()
    certain = torch.from_numpy(groups.numbers >= 0).to(device)
    right = torch.zeros(recipe.groups, dtype=torch.long, device=device)
    while step < steps:
        done = max(step / steps, (time.time() - began) / recipe.seconds)
        if done >= 1:
            break
        optimiser.param_groups[0]["lr"] = recipe.rate * min(1, (step + 1) / 100) * (1 - done)
        batch = torch.from_numpy(order[step * recipe.groups : (step + 1) * recipe.groups]).to(device)
        rows = (batch[:, None] * GROUP + torch.arange(GROUP, device=device)).reshape(-1)
        said = model(groups.tokens, rows).view(-1, GROUP)
        loss = (F.cross_entropy(said, right, reduction="none") * certain[batch]).mean()
        told = (taught[batch] / 2).softmax(1)
        apart = -(told * F.log_softmax(said / 2, 1)).sum(1)
        loss = loss + recipe.distil * (apart * groups.prose[batch]).mean()
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
