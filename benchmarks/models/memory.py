"""What slow models made, kept between runs: vectors of texts, scores of pairs, scores of questions.

A transformer takes about 60 ms of CPU a chunk. Kept by content, a vector survives an interrupted run, another way of
cutting the same file, and every change of the ranking; an index is then made again in seconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from benchmarks.report import say
from outcrop.contracts import Embedder, Reranker
from outcrop.records import Matrix, Vector

AT_ONCE = 64
"""Texts made and written at a time: what a kill costs."""
PROBES = (
    "how are failed requests retried",
    "def retry(request, times=3):\n    return send(request)",
    " ".join(f"word {number}" for number in range(1000)),
    "src/http/retry.py",
)
"""A query, a text, one longer than models read, a path: together they tell of prefixes, pooling and length."""
PROBE_TOLERANCE = 1e-3
"""Far above what the order of a sum changes, far below what another pooling or length changes."""


class Kept:
    """Bytes by key in one file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
        )

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those of `keys` that are there."""
        found: dict[bytes, bytes] = {}
        for key in keys:
            for (value,) in self._connection.execute("SELECT value FROM kept WHERE key = ?", (key,)):
                found[key] = value
        return found

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values, in one transaction."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", values.items())

    def clear(self) -> None:
        """Forget everything."""
        self._connection.execute("DELETE FROM kept")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class RememberingEmbedder:
    """An embedder that is asked for each text once. What it kept is dropped when it embeds otherwise than it did."""

    def __init__(self, embedder: Embedder, kept: Kept, label: str = "") -> None:
        self._embedder = embedder
        self._kept = kept
        self.model = embedder.model
        self.path_weight = embedder.path_weight
        self.trust = embedder.trust
        query, *texts, path = PROBES
        now = np.array(
            [embedder.embed_query(query), *embedder.embed_documents(texts), *embedder.embed_paths([path])],
            np.float32,
        )
        key = _key("probe", "")
        before = kept.find([key]).get(key)
        if before is not None and not np.allclose(
            np.frombuffer(before, np.float32).reshape(now.shape), now, atol=PROBE_TOLERANCE
        ):
            say(f"{label}: embeds otherwise than it did, its kept vectors are made again")
            kept.clear()
        kept.put({key: now.tobytes()})

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text."""
        return self._remember("text", texts, self._embedder.embed_documents)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One row a path."""
        return self._remember("path", paths, self._embedder.embed_paths)

    def embed_query(self, text: str) -> Vector:
        """A query."""
        vector: Vector = self._remember("query", [text], self._embed_queries)[0]
        return vector

    def _embed_queries(self, texts: Sequence[str]) -> Matrix:
        return np.array([self._embedder.embed_query(text) for text in texts], np.float32)

    def _remember(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Matrix]) -> Matrix:
        keys = [_key(kind, text) for text in texts]
        found = self._kept.find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        order = list(missing)
        for start in range(0, len(order), AT_ONCE):
            part = order[start : start + AT_ONCE]
            rows = embed([missing[key] for key in part])
            made = {key: row.astype(np.float32).tobytes() for key, row in zip(part, rows, strict=True)}
            self._kept.put(made)
            found.update(made)
        rows = np.empty((len(texts), self.model.dimensions), np.float32)
        for row, key in zip(rows, keys, strict=True):
            row[:] = np.frombuffer(found[key], np.float32)
        return rows


class RememberingReranker:
    """A reranker that is asked for each pair once."""

    def __init__(self, reranker: Reranker, kept: Kept) -> None:
        self._reranker = reranker
        self._kept = kept

    @property
    def blend(self) -> Any:
        """The weight it claims for itself, where it does."""
        return self._reranker.blend  # type: ignore[attr-defined]

    @property
    def worth(self) -> Any:
        """What its scores are worth, where it says so."""
        return getattr(self._reranker, "worth", None)

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """Scores of the first of `texts`, up to the first one that there was no time for."""
        keys = [_key(query, text) for text in texts]
        found = self._kept.find(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            scores = self._reranker.score(query, list(missing.values()), seconds)
            made = {
                key: np.float64(value).tobytes()
                for key, value in zip(list(missing)[: len(scores)], scores, strict=True)
            }
            self._kept.put(made)
            found.update(made)
        known: list[float] = []
        for key in keys:
            if key not in found:
                break
            known.append(float(np.frombuffer(found[key], np.float64)[0]))
        return known


class ScoreFiles:
    """Scores of questions by what they were made with: an interrupted run goes on where it stopped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, *made_with: str) -> dict[str, float] | None:
        """question → score, when there are any made with exactly this."""
        path = self._path(made_with)
        if not path.is_file():
            return None
        scores: dict[str, float] = json.loads(path.read_text("utf-8"))["scores"]
        return scores

    def put(self, scores: Mapping[str, float], *made_with: str) -> None:
        """Keep scores; the file appears whole or not at all."""
        path = self._path(made_with)
        part = path.with_suffix(".part")
        part.write_text(json.dumps({"made with": made_with, "scores": scores}), "utf-8")
        part.replace(path)

    def _path(self, made_with: Sequence[str]) -> Path:
        return self._folder / f"{hashlib.sha256(json.dumps(made_with).encode()).hexdigest()[:24]}.json"


def _key(kind: str, text: str) -> bytes:
    head = kind.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(len(head).to_bytes(8, "little") + head, digest_size=16)
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()
