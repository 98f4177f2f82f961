"""Candidates of which only so much is known, for the tests of signals."""

from __future__ import annotations

from typing import Any, Final, get_args

import numpy as np
from hypothesis import strategies as st

from outcrop.rank.signals import learnt_weights
from outcrop.records import QueryType
from outcrop.records.candidates import Candidates, Floats

NAN = float("nan")
KINDS: Final[tuple[QueryType, ...]] = get_args(QueryType)
PLAIN = ("kind", "asked", "wants_guide")
TYPES: dict[str, type] = {
    "code": np.bool_,
    "file": np.intp,
    "role": np.str_,
    "header": np.bool_,
    "lexical_rank": np.int32,
    "dense_rank": np.int32,
}
SCORES = "stem folder defines linked project quoted file_words file_rare_words".split()
unit_floats = st.floats(0, 1, width=32)
kinds = st.sampled_from(KINDS)


def floats(values: list[float]) -> Floats:
    return np.array(values, np.float32)


def candidates(fused: list[float], **known: Any) -> Candidates:
    """Candidates of code in files of their own, of which nothing is known but what is given."""
    count = len(fused)
    fields: dict[str, Any] = {
        "words": fused,
        "meaning": [0.0] * count,
        "before": [NAN] * count,
        "after": [NAN] * count,
        "code": [True] * count,
        "file": list(range(count)),
        "role": [""] * count,
        "header": [False] * count,
        "lexical_rank": [0] * count,
        "dense_rank": [0] * count,
        **dict.fromkeys(SCORES, [0.0] * count),
        **known,
    }
    arrays = {
        name: value if name in PLAIN else np.array(value, TYPES.get(name, np.float32))
        for name, value in fields.items()
    }
    return Candidates(chunk_id=np.arange(count), fused=floats(fused), **arrays)


def prose(fused: list[float], **known: Any) -> Candidates:
    return candidates(fused, code=[False] * len(fused), **known)


def worth(name: str, kind: QueryType = "mixed") -> float:
    return learnt_weights().columns[name][kind]
