"""The reranker, taught by the engine's own lists: which of the candidates that came up is right?

    python -m training.gpu.lists --lists FOLDER --start FOLDER --into FOLDER [--teacher FOLDER] [--seed 1] [--recipe {}]

A list of `training.ranking.passages` is a choice among passages: the log of the share that the right ones get together
is maximised, once by the reranker alone and once on top of the engine's own order, since what it says is added to that.
On prose it is held to what a teacher says: the whole model that it was once cut from. Training goes on from `--start`,
a folder of `training.export.restore`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from training.gpu.cross import TOKENS, Cross
from training.gpu.data import Log, Ragged, tokenise
from training.ranking.passages import pick_rows, pick_sources, read_passages
from training.weights import load_arrays, save_arrays

SHARPNESS = 8.0
"""Of the engine's totals, as in outcrop.rank.chance: log-odds of a file."""
_COLUMNS = ("rank", "final", "code", "right")


@dataclass(frozen=True)
class Recipe:
    """How a reranker is taught."""

    passages: int = 16
    """Of a list: right ones, at most a third, and the best of the others with some chance."""
    lists: int = 64
    rate: float = 6e-5
    epochs: float = 3.0
    seconds: float = 100.0
    frozen: int = 2
    """Layers that stay as they are, and the words with them."""
    hold: float = 0.5
    """Weight of agreeing with the teacher, on prose."""
    certain: float = 0.2
    """Weight of saying of each passage by itself whether it is right: only then does a logit mean the same in every
    list, and that the best one is low tells that none is right."""
    above: float = 0.5
    """Weight of the choice on top of the engine's order; the rest is that of the choice alone."""


@dataclass(frozen=True)
class Lists:
    """Questions with their candidates, one row a candidate; those of a question lie between two `bounds`."""

    kinds: list[str]
    sources: list[str]
    bounds: NDArray[np.int64]
    rank: NDArray[np.int64]
    final: NDArray[np.float32]
    code: NDArray[np.bool_]
    level: NDArray[np.int64]
    """0: wrong, 1: in the right file, 2: the right passage."""
    tokens: Ragged

    def of(self, number: int) -> slice:
        """The rows of a list."""
        return slice(int(self.bounds[number]), int(self.bounds[number + 1]))


def read_lists(lines: Iterable[tuple[str, dict[str, Any]]], tokenizer: Path, device: str) -> Lists:
    """Some lists, in tokens."""
    rows: list[tuple[str, str]] = []
    found: dict[str, list[Any]] = {name: [] for name in ("kinds", "sources", "size", *_COLUMNS)}
    for source, one in lines:
        found["kinds"].append(one["kind"])
        found["sources"].append(source)
        found["size"].append(len(one["rank"]))
        for name in _COLUMNS:
            found[name] += one[name]
        rows += [(one["query"], text) for text in one["passages"]]
    return Lists(
        found["kinds"],
        found["sources"],
        np.concatenate(([0], np.cumsum(found["size"]))),
        np.array(found["rank"]),
        np.array(found["final"], np.float32),
        np.array(found["code"], np.bool_),
        np.array(found["right"]),
        tokenise(tokenizer, rows, TOKENS, device),
    )


@torch.no_grad()
def score(model: Cross, lists: Lists, at_once: int = 8192) -> Tensor:
    """What a reranker says of every passage."""
    model.eval()
    order = torch.argsort(lists.tokens.length)
    out = torch.zeros(len(order), device=order.device)
    for part in order.split(at_once):
        out[part] = model(lists.tokens, part, 1)
    return out


def train(model: Cross, lists: Lists, taught: Tensor, recipe: Recipe, seed: int, log: Log) -> Cross:
    """Teach a reranker; `taught` has what its teacher says of each passage."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    device = taught.device
    numbers = np.arange(len(lists.kinds))
    level = nn.Parameter(torch.tensor([1.0, -2.0], device=device))
    counts = Counter(lists.kinds[one] for one in numbers)
    weight = {kind: (len(numbers) / len(counts) / count) ** 0.5 for kind, count in counts.items()}
    freeze(model, recipe.frozen)
    learnt = [one for one in model.parameters() if one.requires_grad]
    groups = [{"params": learnt}, {"params": [level], "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=0.0, weight_decay=0.01, betas=(0.9, 0.98))
    passes = [rng.permutation(numbers) for _ in range(int(np.ceil(recipe.epochs)))]
    order = np.concatenate(passes)[: int(len(numbers) * recipe.epochs)]
    steps, began, model = len(order) // recipe.lists, time.time(), model.train()
    final, code = torch.from_numpy(lists.final).to(device), torch.from_numpy(lists.code).to(device)
    for step in range(steps):
        done = max(step / steps, (time.time() - began) / recipe.seconds)
        if done >= 1:
            break
        rate = recipe.rate * min(1, (step + 1) / 30) * (1 - done)
        for group, times in zip(optimiser.param_groups, (1, 50), strict=True):
            group["lr"] = times * rate
        rows, right, mask, weights = batch_of(
            lists, order[step * recipe.lists : (step + 1) * recipe.lists], recipe.passages, weight, rng
        )
        at = torch.from_numpy(rows).to(device)
        there, answers = torch.from_numpy(mask).to(device), torch.from_numpy(right).to(device)
        said = torch.zeros(at.shape, device=device)
        said[there] = model(lists.tokens, at[there])
        shares = torch.from_numpy(weights).to(device)
        first = SHARPNESS * final[at]
        loss = (1 - recipe.above) * choose(said, answers, there, shares)
        loss = loss + recipe.above * choose(said + first, answers, there, shares)
        loss = loss + recipe.hold * agree(said, taught[at], there & ~code[at])
        odds = (level[0] * said + level[1])[there]
        loss = loss + recipe.certain * F.binary_cross_entropy_with_logits(odds, answers[there].float())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        if (step + 1) % 20 == 0:
            pace_s = (time.time() - began) / (step + 1)
            log(f"  seed {seed} step {step + 1}/{steps} loss {loss.item():.3f} {pace_s:.2f} s a step")
    return model.eval()


def freeze(model: Cross, layers: int) -> None:
    """Leave the words and the first layers as they are."""
    encoder = model.encoder
    parts = [encoder.word, encoder.pos, encoder.kinds, encoder.ln, *encoder.layers[:layers]] if layers else []
    for part in parts:
        part.requires_grad_(False)


def batch_of(
    lists: Lists, numbers: NDArray[np.int64], count: int, weight: dict[str, float], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float32]]:
    """Rows of some lists, padded; which are right, which are there, and what each list counts."""
    picked = []
    for one in numbers.tolist():
        here = lists.of(one)
        found = pick_rows(lists.level[here], lists.rank[here], count, rng)
        if found is not None:
            picked.append((one, here.start + found[0], found[1]))
    rows = np.zeros((len(picked), count), np.int64)
    right, mask = np.zeros(rows.shape, np.bool_), np.zeros(rows.shape, np.bool_)
    for line, (_, places, answers) in enumerate(picked):
        rows[line, : len(places)], right[line, : len(places)], mask[line, : len(places)] = places, answers, True
    return rows, right, mask, np.array([weight[lists.kinds[one]] for one, *_ in picked], np.float32)


def choose(said: Tensor, right: Tensor, there: Tensor, weights: Tensor) -> Tensor:
    """Minus the log of the share that right ones get, mean over the lists."""
    nothing = torch.finfo(said.dtype).min
    whole = said.masked_fill(~there, nothing).logsumexp(1)
    mine = said.masked_fill(~right, nothing).logsumexp(1)
    return ((whole - mine) * weights).sum() / weights.sum()


def agree(said: Tensor, taught: Tensor, there: Tensor) -> Tensor:
    """How far the order of some candidates is from what a teacher says of them, mean over the lists that have any."""
    nothing = torch.finfo(said.dtype).min
    wanted = (taught / 2).masked_fill(~there, nothing).softmax(1)
    apart = -(wanted * F.log_softmax((said / 2).masked_fill(~there, nothing), 1)).masked_fill(~there, 0).sum(1)
    several = there.sum(1) > 1
    return (apart * several).sum() / several.sum().clamp(min=1)


def main() -> None:
    """Train one reranker on the sources that do not judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--teacher", type=Path, help="a folder of training.weights; else what training starts from"
    )
    parser.add_argument("--recipe", default="{}", help="changes to the recipe, JSON")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    files = sorted(options.lists.glob("*.jsonl.xz"))
    lines = list(read_passages(files))
    judges = pick_sources([source for source, _ in lines])
    lines = [(source, one) for source, one in lines if source not in judges and not one["without"]]
    lists = read_lists(lines, options.start / "tokenizer.json", device)
    print(f"{len(lists.kinds)} lists, {len(lists.rank)} passages", Counter(lists.kinds), flush=True)
    teacher = Cross(load_arrays((options.teacher or options.start) / "encoder.npz")).to(device)
    taught = score(teacher, lists)
    model = Cross(load_arrays(options.start / "encoder.npz")).to(device)
    recipe = replace(Recipe(), **json.loads(options.recipe))
    made = train(model, lists, taught, recipe, options.seed, lambda line: print(line, flush=True))
    save_arrays(options.into / "encoder.npz", made.to_arrays())
    for name in ("tokenizer.json", "about.json"):
        (options.into / name).write_bytes((options.start / name).read_bytes())


if __name__ == "__main__":
    main()
