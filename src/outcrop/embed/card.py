"""The card of a model: card.json beside its files says what it is and how it is used.

name, version       what vectors are stored under
dimensions          of its vectors; a reranker has none
max_tokens          of a text, or of a query and a text together
pooling             mean or cls (embedders)
query_prefix, document_prefix, path_weight, trust {prose, code}   (embedders; each may be missing)
blend {prose, code} how much a reranker's scores weigh against the first order, 0 to 1 (rerankers; may be missing)
sha256              of its files, by name
licence, figures …  for people
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outcrop.embed.folder import Pooling
from outcrop.embed.transformer import PATH_WEIGHT
from outcrop.errors import EmbedError
from outcrop.records import Trust

_CARD = "card.json"
REINSTALL = "reinstall the package that holds it"
_POOLINGS: dict[str, Pooling] = {"mean": "mean", "cls": "cls"}


@dataclass(frozen=True, slots=True)
class Card:
    """What a card says, checked."""

    name: str
    version: str
    dimensions: int
    max_tokens: int
    pooling: Pooling
    query_prefix: str
    document_prefix: str
    path_weight: float
    trust: Trust
    blend: Trust | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)


def read_card(folder: Path) -> Card | None:
    """The card in a model's folder, if there is one."""
    path = folder / _CARD
    if not path.is_file():
        return None
    try:
        said: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return Card(
            name=str(said["name"]),
            version=str(said["version"]),
            dimensions=int(said.get("dimensions", 0)),
            max_tokens=int(said["max_tokens"]),
            pooling=_POOLINGS[said.get("pooling", "mean")],
            query_prefix=str(said.get("query_prefix", "")),
            document_prefix=str(said.get("document_prefix", "")),
            path_weight=float(said.get("path_weight", PATH_WEIGHT)),
            trust=_weights(said.get("trust", {})),
            blend=_weights(said["blend"]) if "blend" in said else None,
            sha256=dict(said["sha256"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedError(f"{path} cannot be read ({type(error).__name__}: {error}): {REINSTALL}") from error


def _weights(said: Mapping[str, Any]) -> Trust:
    return Trust(float(said.get("prose", 1.0)), float(said.get("code", 1.0)))
