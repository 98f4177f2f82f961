"""A BERT in torch, small enough to read: all the transformers here are of this one shape.

Weights come and go as the plain arrays of `training.weights`, so nothing depends on how a library names them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from training.weights import load_arrays

EPSILON = 1e-12


class Layer(nn.Module):
    """Attention and a wide step between, each added to what came in and normalised after."""

    def __init__(self, width: int, wide: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.ao = nn.Linear(width, width)
        self.aln = nn.LayerNorm(width, EPSILON)
        self.f1 = nn.Linear(width, wide)
        self.f2 = nn.Linear(wide, width)
        self.fln = nn.LayerNorm(width, EPSILON)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """`mask`: true where a token may be looked at, broadcast over heads and places."""
        texts, places, width = x.shape
        parts = self.qkv(x).view(texts, places, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.aln(x + self.ao(seen.transpose(1, 2).reshape(texts, places, width)))
        out: Tensor = self.fln(x + self.f2(F.gelu(self.f1(x))))
        return out


class Encoder(nn.Module):
    """Token ids to hidden states."""

    def __init__(
        self, arrays: dict[str, NDArray[np.float32]], *, heads: int, first_position: int, pooling: str
    ) -> None:
        super().__init__()
        words, width = arrays["emb.word"].shape
        self.first_position, self.pooling = first_position, pooling
        self.word = nn.Embedding(words, width)
        self.pos = nn.Embedding(*arrays["emb.pos"].shape)
        self.kinds = nn.Embedding(*arrays["emb.type"].shape)
        self.ln = nn.LayerNorm(width, EPSILON)
        count = sum(name.endswith(".q.w") for name in arrays)
        wide = arrays["0.f1.w"].shape[0]
        self.layers = nn.ModuleList(Layer(width, wide, heads) for _ in range(count))
        self.load_arrays(arrays)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        """Hidden states of padded rows; `mask` is true where there is a token."""
        places = torch.arange(ids.shape[1], device=ids.device) + self.first_position
        x = self.word(ids) + self.pos(places)[None]
        x = x + (self.kinds(types) if types is not None else self.kinds.weight[0])
        x = self.ln(x)
        wide = mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, wide)
        return x

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """One vector a text, of unit length."""
        if self.pooling == "cls":
            return F.normalize(hidden[:, 0].float(), dim=1)
        share = mask[:, :, None].float()
        return F.normalize((hidden.float() * share).sum(1) / share.sum(1).clamp(min=1), dim=1)

    def load_arrays(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        """Take weights over."""
        with torch.no_grad():
            for name, target in (("emb.word", self.word), ("emb.pos", self.pos), ("emb.type", self.kinds)):
                target.weight.copy_(torch.from_numpy(arrays[name]))
            _fill(self.ln, arrays, "emb.ln")
            for number, layer in enumerate(self.layers):
                for kind in ("w", "b"):
                    joined = np.concatenate([arrays[f"{number}.{part}.{kind}"] for part in "qkv"])
                    target = layer.qkv.weight if kind == "w" else layer.qkv.bias
                    target.copy_(torch.from_numpy(joined))
                for part in ("ao", "aln", "f1", "f2", "fln"):
                    _fill(getattr(layer, part), arrays, f"{number}.{part}")

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """The weights by their plain names."""
        arrays = {
            "emb.word": _array(self.word.weight),
            "emb.pos": _array(self.pos.weight),
            "emb.type": _array(self.kinds.weight),
            "emb.ln.w": _array(self.ln.weight),
            "emb.ln.b": _array(self.ln.bias),
        }
        for number, layer in enumerate(self.layers):
            for kind, joined in (("w", layer.qkv.weight), ("b", layer.qkv.bias)):
                for part, values in zip("qkv", np.split(_array(joined), 3), strict=True):
                    arrays[f"{number}.{part}.{kind}"] = values
            for part in ("ao", "aln", "f1", "f2", "fln"):
                arrays[f"{number}.{part}.w"] = _array(getattr(layer, part).weight)
                arrays[f"{number}.{part}.b"] = _array(getattr(layer, part).bias)
        return arrays


def _fill(target: nn.Linear | nn.LayerNorm, arrays: dict[str, NDArray[np.float32]], name: str) -> None:
    target.weight.copy_(torch.from_numpy(arrays[f"{name}.w"]))
    target.bias.copy_(torch.from_numpy(arrays[f"{name}.b"]))


def _array(values: Tensor) -> NDArray[np.float32]:
    return values.detach().float().cpu().numpy()


def open_encoder(folder: Path) -> Encoder:
    """The encoder in a folder of `training.weights`."""
    about = json.loads((folder / "about.json").read_text("utf-8"))
    arrays = load_arrays(folder / "encoder.npz")
    return Encoder(
        arrays, heads=about["heads"], first_position=about["first_position"], pooling=about["pooling"]
    )


def keep_layers(
    arrays: dict[str, NDArray[np.float32]], layers: Sequence[int]
) -> dict[str, NDArray[np.float32]]:
    """The weights with these layers only, numbered anew."""
    kept = {name: values for name, values in arrays.items() if not name[0].isdigit()}
    for new, old in enumerate(layers):
        prefix = f"{old}."
        kept.update(
            {
                f"{new}.{name[len(prefix) :]}": values
                for name, values in arrays.items()
                if name.startswith(prefix)
            }
        )
    return kept
