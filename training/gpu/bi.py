"""Fine-tuning a transformer on the pairs: queries and the documents that answer them end up near each other."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from training.average import mean_of
from training.gpu.data import (
    BLOCK,
    Log,
    Pairs,
    Ragged,
    blocks,
    even_kinds,
    pick_negatives,
    tokenise,
    tokenise_documents,
)
from training.gpu.encoder import Encoder, open_encoder
from training.gpu.judge import Verdict, Verdicts, judge

KINDS = (("name", 0.5), ("section", 1.5), ("first", 1.5), ("faq", 3.0), ("issue", 2.0), ("man", 2.0))
"""How often pairs of a kind are seen, against how often they occur: bare names less, prose more (not measured)."""
QUERY_TOKENS, DOCUMENT_TOKENS, PATH_TOKENS = 48, 224, 16


@dataclass(frozen=True)
class Recipe:
    """How a transformer is fine-tuned."""

    seconds: float = 110.0
    epochs: float = 1.0
    batch: int = 1024
    rate: float = 1.5e-4
    temperature: float = 0.05
    with_path: float = 0.5
    spoken: float = 0.4
    """Share of the batches whose documents keep what their doc comments say, as files have it."""
    bare: float = 0.4
    """Share of the batches whose documents come without title and headings. A model that always saw them leans on them:
    among paragraphs that share a title it then finds less than before it was trained."""
    negatives: int = 1
    kinds: tuple[tuple[str, float], ...] = KINDS


class Tokens:
    """The pairs in one transformer's tokens."""

    def __init__(self, folder: Path, pairs: Pairs, device: str) -> None:
        tokenizer = folder / "tokenizer.json"
        self.queries = tokenise(tokenizer, pairs.queries, QUERY_TOKENS, device)
        made = tokenise_documents(tokenizer, pairs, DOCUMENT_TOKENS, device)
        self.bare, self.plain, self.told, self.spoken = made
        self.paths = tokenise(tokenizer, pairs.paths, PATH_TOKENS, device)


class Bi(nn.Module):
    """An encoder with what is learnt beside it: how much a path counts, and how sharp similarities are."""

    def __init__(self, folder: Path, temperature: float = 0.05) -> None:
        super().__init__()
        self.encoder: Encoder = open_encoder(folder)
        self.path = nn.Parameter(torch.tensor(0.5))
        self.sharp = nn.Parameter(torch.tensor(math.log(1 / temperature)))

    def embed(self, tokens: Ragged, rows: Tensor, parts: int = 4) -> Tensor:
        """Unit vectors of some rows; rows of like length go through together, so that little is padding."""
        order = torch.argsort(tokens.length[rows])
        out = []
        for part in order.chunk(parts):
            with torch.autocast(rows.device.type, torch.bfloat16, enabled=rows.is_cuda):
                ids, mask = tokens.block(rows[part])
                hidden = self.encoder(ids, mask)
            out.append(self.encoder.pool(hidden, mask))
        whole = torch.cat(out)
        return torch.empty_like(whole).index_copy(0, order, whole)

    def documents(
        self, texts: Ragged, paths: Ragged, rows: Tensor, use_path: Tensor | None, parts: int = 4
    ) -> Tensor:
        """Vectors of documents, with their paths where `use_path` is true."""
        found = self.embed(texts, rows, parts)
        if use_path is None:
            return found
        where = self.embed(paths, rows, 2)
        return F.normalize(found + self.path * where * use_path[:, None], dim=1)


@torch.no_grad()
def encode(model: Bi, tokens: Ragged, rows: NDArray[np.int64], device: str, at_once: int = 4096) -> Tensor:
    """Vectors of many rows."""
    model.eval()
    order = torch.argsort(tokens.length[torch.from_numpy(rows).to(device)])
    numbers = torch.from_numpy(rows).to(device)[order]
    found = torch.cat([model.embed(tokens, part, 1).half() for part in numbers.split(at_once)])
    out = torch.empty_like(found)
    out[order] = found
    return out


def examine(model: Bi, tokens: Tokens, pairs: Pairs, device: str) -> Verdicts:
    """The verdict on a transformer, documents as the engine would embed them."""

    def embed_documents(rows: NDArray[np.int64]) -> Tensor:
        text, path = (
            encode(model, tokens.plain, rows, device).float(),
            encode(model, tokens.paths, rows, device).float(),
        )
        return F.normalize(text + model.path.detach() * path, dim=1)

    def embed_queries(rows: NDArray[np.int64]) -> Tensor:
        return encode(model, tokens.queries, rows, device)

    return Verdicts(
        judge(pairs, embed_queries, embed_documents, device),
        judge(pairs, embed_queries, lambda rows: encode(model, tokens.bare, rows, device), device),
    )


def scores_apart(scores: Tensor, query: Tensor, text: Tensor, others: Tensor) -> Tensor:
    """Scores where what is right for another reason does not count as wrong: same question, same text."""
    count = len(query)
    same = query[:, None] == query[None]
    alike = text[:, None] == others[None]
    alike[:, : same.shape[1]] |= same
    alike[torch.arange(count), torch.arange(count)] = False
    return scores.masked_fill(alike, -1e4)


def fine_tune(
    folder: Path,
    pairs: Pairs,
    tokens: Tokens,
    recipe: Recipe,
    seed: int,
    device: str,
    log: Log,
) -> Bi:
    """One model, for as long as the recipe says."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Bi(folder, recipe.temperature).to(device)
    model.train()
    slow = [value for name, value in model.named_parameters() if name.startswith("encoder")]
    optimiser = torch.optim.AdamW(
        [
            {"params": slow, "lr": 0.0, "weight_decay": 0.01},
            {"params": [model.path, model.sharp], "lr": 0.0, "weight_decay": 0.0},
        ],
        fused=device == "cuda",
        betas=(0.9, 0.98),
    )
    numbers = even_kinds(pairs, pairs.training(), dict(recipe.kinds), rng)
    steps = int(recipe.epochs * len(numbers) / recipe.batch)
    query_hash = torch.from_numpy(pairs.same_query).to(device)
    text_hash = torch.from_numpy(pairs.same_text).to(device)
    start, step, queue = time.time(), 0, np.zeros((0, BLOCK), np.int64)
    while True:
        done = max(step / steps, (time.time() - start) / recipe.seconds)
        if done >= 1:
            break
        if len(queue) < recipe.batch // BLOCK:
            queue = blocks(pairs, numbers, rng)
        batch, queue = queue[: recipe.batch // BLOCK].reshape(-1), queue[recipe.batch // BLOCK :]
        pace = min(1, (step + 1) / 60) * (1 - done)
        optimiser.param_groups[0]["lr"], optimiser.param_groups[1]["lr"] = recipe.rate * pace, 2e-3 * pace
        negatives = pick_negatives(pairs, batch, recipe.negatives, rng).T.reshape(-1)
        rows = torch.from_numpy(np.concatenate((pairs.document[batch], negatives)).astype(np.int64)).to(device)
        ask = torch.from_numpy(batch).to(device)
        bare, spoken = rng.random() < recipe.bare, rng.random() < recipe.spoken
        texts = (tokens.told if bare else tokens.spoken) if spoken else (tokens.bare if bare else tokens.plain)
        use_path = torch.rand(len(rows), device=device) < recipe.with_path
        queries = model.embed(tokens.queries, ask, 2)
        documents = model.documents(texts, tokens.paths, rows, use_path.float() if recipe.with_path else None)
        raw = scores_apart(
            queries @ documents.T * model.sharp.exp().clamp(max=100),
            query_hash[ask],
            text_hash[rows[: len(ask)]],
            text_hash[rows],
        )
        right = torch.arange(len(ask), device=device)
        loss = F.cross_entropy(raw, right) + 0.5 * F.cross_entropy(raw[:, : len(ask)].T, right)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(slow, 1.0)
        optimiser.step()
        step += 1
        if step % 100 == 0:
            pace_s = (time.time() - start) / step
            told = f"path {model.path.item():.2f} sharp {model.sharp.exp().item():.1f} {pace_s:.3f} s a step"
            log(f"  {folder.name} seed {seed} step {step}/{steps} loss {loss.item():.3f} {told}")
    model.eval()
    return model


def mean_of_seeds(models: Sequence[Bi]) -> Bi:
    """One model in the middle of several: about as good as the best of them, without having to know which that is."""
    mean = copy.deepcopy(models[0])
    mean.encoder.load_arrays(mean_of([one.encoder.to_arrays() for one in models]))
    for name in ("path", "sharp"):
        getattr(mean, name).data = torch.stack([getattr(one, name).data for one in models]).mean(0)
    return mean


class Teachers:
    """What fine-tuned transformers think of every pair: their vectors, and how sharp each is."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.found: list[tuple[Tensor, Tensor, float]] = []

    def add(self, model: Bi, tokens: Tokens, pairs: Pairs) -> None:
        """Embed every query and every document once, documents with their paths."""
        queries = encode(model, tokens.queries, np.arange(len(pairs.queries)), self.device)
        rows = np.arange(len(pairs.texts))
        texts, paths = (
            encode(model, tokens.plain, rows, self.device),
            encode(model, tokens.paths, rows, self.device),
        )
        documents = F.normalize(texts.float() + model.path.detach() * paths.float(), dim=1).half()
        self.found.append((queries, documents, float(model.sharp.exp().clamp(max=100))))

    def scores(self, queries: Tensor, documents: Tensor) -> Tensor:
        """The mean of what they say, each on its own scale."""
        with torch.no_grad():
            said = [(q[queries] @ d[documents].T).float() * sharp for q, d, sharp in self.found]
            return torch.stack(said).mean(0)

    def judge(self, pairs: Pairs) -> Verdict:
        """All together, as one model would be judged."""

        def joined(place: int, rows: NDArray[np.int64]) -> Tensor:
            picked = torch.from_numpy(rows).to(self.device)
            return torch.cat(
                [(one[1] if place else one[0])[picked].float() * math.sqrt(one[2]) for one in self.found], 1
            )

        return judge(pairs, lambda rows: joined(0, rows), lambda rows: joined(1, rows), self.device)
