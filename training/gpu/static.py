"""The static model: a vector a token, summed, learnt from the teachers' judgement and from the pairs."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from outcrop.embed.keys import split_context
from training.gpu.bi import KINDS, Bi, Teachers, scores_apart
from training.gpu.data import BLOCK, Log, Pairs, bags, blocks, even_kinds, tokenise
from training.gpu.judge import Verdicts, judge

QUERY, TEXT, HEAD, PATH = 48, 224, 24, 12
"""Distinct tokens of a query, a text, its headings and its path that are looked at in training."""


@dataclass(frozen=True)
class Recipe:
    """How a static model is trained."""

    dimensions: int = 256
    small: int = 128
    """The first so many dimensions are a model of their own (Matryoshka)."""
    epochs: int = 10
    batch: int = 16_384
    rate: float = 0.002
    tf_exponent: float = 0.35
    contrast: float = 0.3
    within: float = 0.5
    """Weight of telling the pairs of one package apart, beside telling all of the batch apart."""
    distil: float = 1.0
    drop_words: float = 0.2
    drop_shared: float = 0.3
    """Share of documents that lose most words they share with their query: meaning is not only same words."""
    with_head: float = 0.7
    with_path: float = 0.6
    spoken: float = 0.5
    """Share of the documents that keep what their doc comments say, where the query is not just that."""
    kinds: tuple[tuple[str, float], ...] = KINDS


class Words:
    """The pairs in the static model's tokens."""

    def __init__(self, tokens: list[str], pairs: Pairs, device: str) -> None:
        self.tokens, self.pad = tokens, len(tokens)
        heads = [split_context(f"{head}\n")[0] for head in pairs.heads]
        self.queries = bags(tokens, pairs.queries, QUERY, device)
        self.texts = bags(tokens, pairs.texts, TEXT, device)
        self.heads = bags(tokens, heads, HEAD, device)
        self.paths = bags(tokens, pairs.paths, PATH, device)
        self.said = bags(tokens, pairs.said, QUERY, device)
        self.apart = torch.from_numpy(pairs.kind != "doc").to(device)
        """Pairs whose query is not the doc comment itself."""


class Static(nn.Module):
    """Token vectors, query weights of tokens, and how much headings and paths count."""

    def __init__(self, start: Tensor, recipe: Recipe) -> None:
        super().__init__()
        count, width = start.shape
        self.recipe = recipe
        self.table = nn.Parameter(torch.cat((start, torch.zeros(1, width, device=start.device))))
        self.query = nn.Parameter(torch.zeros(count + 1, device=start.device))
        self.head = nn.Parameter(torch.tensor(0.0, device=start.device))
        self.path = nn.Parameter(torch.tensor(1.0, device=start.device))
        self.sharp = nn.Parameter(torch.tensor(math.log(20.0), device=start.device))

    def total(self, ids: Tensor, weights: Tensor) -> Tensor:
        """Weighted sums of token vectors."""
        pad = len(self.table) - 1
        return F.embedding_bag(ids, self.table, mode="sum", per_sample_weights=weights, padding_idx=pad)

    def asked(self, ids: Tensor, counts: Tensor) -> Tensor:
        """Vectors of queries, not of unit length."""
        return self.total(ids, counts.float() ** self.recipe.tf_exponent * self.query.exp()[ids.long()])

    def documents(self, words: Words, rows: Tensor, shares: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Vectors of documents; `shares` say how much of each text token, of the head and of the path is there."""
        text, head, path = shares
        found = self.total(
            words.texts.ids[rows], words.texts.counts[rows].float() ** self.recipe.tf_exponent * text
        )
        found = found + self.head.exp() * self.total(
            words.heads.ids[rows], words.heads.counts[rows].float() * head
        )
        return found + self.path.exp() * self.total(
            words.paths.ids[rows], words.paths.counts[rows].float() * path
        )

    @torch.no_grad()
    def examine(self, words: Words, pairs: Pairs, device: str, width: int | None = None) -> Verdicts:
        """The verdict, documents with headings and paths as the engine embeds them, and by themselves."""
        whole, none = torch.ones(1, 1, device=device), torch.zeros(1, 1, device=device)

        def embed_documents(rows: NDArray[np.int64], named: Tensor) -> Tensor:
            parts = torch.from_numpy(rows).to(device).split(16_384)
            return torch.cat(
                [
                    F.normalize(self.documents(words, part, (whole, named, named))[:, :width], dim=1)
                    for part in parts
                ]
            )

        def embed_queries(rows: NDArray[np.int64]) -> Tensor:
            picked = torch.from_numpy(rows).to(device)
            return F.normalize(
                self.asked(words.queries.ids[picked], words.queries.counts[picked])[:, :width], dim=1
            )

        return Verdicts(
            judge(pairs, embed_queries, lambda rows: embed_documents(rows, whole), device),
            judge(pairs, embed_queries, lambda rows: embed_documents(rows, none), device),
        )

    def save(self, path: Path) -> None:
        """Everything the export needs."""
        with torch.no_grad():
            np.savez(
                path,
                table=self.table[:-1].half().cpu().numpy(),
                query=self.query[:-1].exp().cpu().numpy(),
                head_weight=float(self.head.exp()),
                path_weight=float(self.path.exp()),
                tf_exponent=self.recipe.tf_exponent,
                recipe=str(asdict(self.recipe)),
            )


@torch.no_grad()
def start_table(model: Bi, tokenizer: Path, words: Words, width: int, device: str) -> Tensor:
    """Where the table starts: the teacher's vector of each token by itself, main axes, frequent words weaker."""
    read = tokenise(tokenizer, words.tokens, 16, device)
    rows = torch.arange(len(words.tokens), device=device)
    found = torch.cat([model.embed(read, part, 1) for part in rows.split(4096)]).float()
    found = found - found.mean(0)
    _, _, axes = torch.linalg.svd(found, full_matrices=False)
    found = F.normalize(found @ axes[:width].T, dim=1)
    seen = torch.bincount(words.texts.ids.reshape(-1).long(), minlength=words.pad + 1)[:-1] / len(
        words.texts.ids
    )
    return found * (0.01 / (0.01 + seen))[:, None]


def train_static(
    start: Tensor,
    words: Words,
    pairs: Pairs,
    teachers: Teachers | None,
    recipe: Recipe,
    seed: int,
    device: str,
    log: Log,
) -> Static:
    """One model."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Static(start.clone(), recipe).to(device)
    optimiser = torch.optim.Adam(
        [
            {"params": [model.table]},
            {"params": [model.query]},
            {"params": [model.head, model.path, model.sharp]},
        ],
        lr=recipe.rate,
        betas=(0.9, 0.98),
        fused=device == "cuda",
    )
    rates = (recipe.rate, 3 * recipe.rate, 0.01)
    numbers = even_kinds(pairs, pairs.training(), dict(recipe.kinds), rng)
    per_epoch = len(numbers) // recipe.batch
    steps, step, began = recipe.epochs * per_epoch, 0, time.time()
    query_hash = torch.from_numpy(pairs.same_query).to(device)
    text_hash = torch.from_numpy(pairs.same_text).to(device)
    for _ in range(recipe.epochs):
        rows = blocks(pairs, numbers, rng)[: per_epoch * (recipe.batch // BLOCK)]
        for batch in rows.reshape(per_epoch, -1):
            pace = min(1, (step + 1) / (0.05 * steps)) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * pace
            ask = torch.from_numpy(batch).to(device)
            document = torch.from_numpy(pairs.document[batch].astype(np.int64)).to(device)
            loss = static_loss(
                model, words, teachers, recipe, ask, document, query_hash[ask], text_hash[document]
            )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                model.table[-1].zero_()
            step += 1
            if step % 200 == 0:
                said = f"head {model.head.exp().item():.2f} path {model.path.exp().item():.2f}"
                said += f" sharp {model.sharp.exp().item():.1f} {(time.time() - began) / step:.3f} s a step"
                log(f"  static seed {seed} step {step}/{steps} loss {loss.item():.3f} {said}")
    return model


def static_loss(
    model: Static,
    words: Words,
    teachers: Teachers | None,
    recipe: Recipe,
    ask: Tensor,
    document: Tensor,
    query_hash: Tensor,
    text_hash: Tensor,
) -> Tensor:
    """Agree with the teachers, tell the pairs apart."""
    device, count = ask.device, len(ask)
    asked_ids, asked_counts = words.queries.ids[ask], words.queries.counts[ask]
    share = (torch.rand(count, TEXT, device=device) >= recipe.drop_words).float()
    share *= ~shared_words(words.texts.ids[document], asked_ids, words.pad, recipe.drop_shared)
    head = (torch.rand(count, 1, device=device) < recipe.with_head).float()
    path = (torch.rand(count, 1, device=device) < recipe.with_path).float()
    queries = model.asked(asked_ids, asked_counts)
    documents = model.documents(words, document, (share, head, path))
    spoken = words.apart[ask] & (torch.rand(count, device=device) < recipe.spoken)
    counts = words.said.counts[document].float() ** recipe.tf_exponent
    documents = documents + model.total(words.said.ids[document], counts * spoken[:, None])
    told = None
    if teachers is not None and recipe.distil:
        told = scores_apart(teachers.scores(ask, document), query_hash, text_hash, text_hash).softmax(1)
    right = torch.arange(count, device=device)
    total = torch.zeros((), device=device)
    for width, weight in ((recipe.dimensions, 1.0), (recipe.small, 0.3)):
        left, other = F.normalize(queries[:, :width], dim=1), F.normalize(documents[:, :width], dim=1)
        with torch.autocast(device.type, torch.bfloat16, enabled=ask.is_cuda):
            raw = left @ other.T
        raw = scores_apart(raw.float() * model.sharp.exp().clamp(max=100), query_hash, text_hash, text_hash)
        loss = recipe.contrast * (F.cross_entropy(raw, right) + 0.5 * F.cross_entropy(raw.T, right))
        if told is not None:
            loss = loss - recipe.distil * (told * F.log_softmax(raw, 1)).sum(1).mean()
        if recipe.within:
            near = (
                raw.view(count // BLOCK, BLOCK, count // BLOCK, BLOCK).diagonal(dim1=0, dim2=2).permute(2, 0, 1)
            )
            place = torch.arange(BLOCK, device=device).repeat(count // BLOCK)
            loss = loss + recipe.contrast * recipe.within * F.cross_entropy(near.reshape(count, BLOCK), place)
        total = total + weight * loss
    return total


def shared_words(text: Tensor, asked: Tensor, pad: int, share: float) -> Tensor:
    """True for the text tokens that are left out because the query has them too: in some documents, most of them."""
    found = torch.zeros_like(text, dtype=torch.bool)
    for place in range(asked.shape[1]):
        found |= text == asked[:, place : place + 1]
    found &= text != pad
    chosen = torch.rand(len(text), 1, device=text.device) < share
    return found & chosen & (torch.rand(text.shape, device=text.device) < 0.6)
