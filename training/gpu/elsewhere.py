"""Vectors and scores for a benchmark whose machine has no GPU: what it would ask a model for, answered here.

`embed` writes what `benchmarks.models.named.MadeElsewhere` reads, `score` a line a pair. The weights are first rounded
as the export rounds them, so that what is judged is what ships.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.gpu.bi import Bi, encode
from training.gpu.cross import TOKENS, Cross
from training.gpu.data import tokenise
from training.lines import read_lines

MAX_TOKENS = 256
"""Of a text, as the model's card will say."""


def embed(model: Bi, folder: Path, texts: Path, into: Path, device: str) -> None:
    """Every text of a benchmark as vectors: keys.npy, vectors.npy (int8) and scales.npy."""
    rows = [one for one in read_lines(texts) if one["text"].strip()]
    tokens = tokenise(folder / "tokenizer.json", [one["text"] for one in rows], MAX_TOKENS, device)
    found = encode(model, tokens, np.arange(len(rows)), device, 2048).float()
    scales = found.abs().amax(1) / 127
    keys = [hashlib.blake2b(f"{one['kind']}\0{one['text']}".encode(), digest_size=16).digest() for one in rows]
    into.mkdir(parents=True, exist_ok=True)
    np.save(into / "keys.npy", np.frombuffer(b"".join(keys), np.uint8))
    np.save(into / "vectors.npy", (found / scales[:, None]).round().to(torch.int8).cpu().numpy())
    np.save(into / "scales.npy", scales.cpu().numpy())


@torch.no_grad()
def score(model: Cross, tokenizer: Path, pairs: Path, device: str) -> np.ndarray[Any, Any]:
    """One logit a pair of query and passage."""
    rows = [(one["query"], one["text"]) for one in read_lines(pairs)]
    tokens = tokenise(tokenizer, rows, TOKENS, device)
    order = torch.argsort(tokens.length)
    found = torch.cat([model(tokens, part, 1) for part in order.split(4096)])
    out = torch.empty_like(found)
    out[order] = found
    return out.cpu().numpy()
