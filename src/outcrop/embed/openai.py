"""Models behind an OpenAI-compatible endpoint: `POST {base_url}/embeddings`."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from outcrop.embed.endpoint import Endpoint, Refused
from outcrop.embed.keys import fingerprint
from outcrop.embed.transformer import Transformer, unit_rows
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Vector
from outcrop.system.remote import Retries
from outcrop.text.tokens.estimate import BYTES_PER_TOKEN

_PROBE = "dimensions"
"""Embedded once when the dimensions must be known before any text has been."""


class OpenAIEmbedder(Transformer):
    """A remote model. Rows are of unit length; a text of whitespace is not sent and has a zero row."""

    def __init__(
        self,
        name: str,
        base_url: str,
        key: str,
        *,
        dimensions: int | None,
        query_prefix: str = "",
        document_prefix: str = "",
        timeout_s: float = 30.0,
        max_retries: int = 5,
        max_wait_s: float = 120.0,
        batch_texts: int = 128,
        batch_tokens: int = 200_000,
        encoding: Literal["float", "base64"] = "float",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        retries = Retries(max_retries, max_wait_s, sleep=sleep)
        self._endpoint = Endpoint(
            base_url, "embeddings", key, name="embed", timeout_s=timeout_s, retries=retries
        )
        self._name = name
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._batch_texts = batch_texts
        # OpenAI takes 300 000 tokens per request; ours are an estimate, hence the margin.
        self._batch_bytes = batch_tokens * BYTES_PER_TOKEN
        self._options: dict[str, Any] = {"model": name, "encoding_format": encoding}
        if dimensions is not None:
            self._options["dimensions"] = dimensions
        # Not the query prefix: it changes no stored vector, so a new one needs no new index.
        self._version = fingerprint((self._endpoint.address, name, document_prefix, str(dimensions)))
        self._dimensions = dimensions
        self._learning = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._name!r}, {self._endpoint.address!r})"

    @property
    def model(self) -> Model:
        """The model's identity; asks the endpoint once when its dimensions are not known yet."""
        if self._dimensions is None:
            self._request([_PROBE], [0])
        return Model(f"openai:{self._name}", self._version, self._known_dimensions())

    def recall(self, model: Model) -> None:
        """Take the dimensions from an index with vectors of this very model, instead of asking the endpoint in every
        process. If the model has changed since, its next answer is refused."""
        if (model.name, model.version) == (f"openai:{self._name}", self._version) and self._dimensions is None:
            self._dimensions = model.dimensions

    def close(self) -> None:
        """Close idle connections."""
        self._endpoint.close()

    def _embed(self, texts: Sequence[str], prefix: str) -> Matrix:
        # Endpoints refuse an empty text, and its vector would only mislead.
        sent = [number for number, text in enumerate(texts) if text.strip()]
        parts = [
            (batch, self._request([prefix + texts[number] for number in batch], batch))
            for batch in self._batches(sent, texts)
        ]
        out = np.zeros((len(texts), self.model.dimensions), np.float32)
        for batch, rows in parts:
            out[batch] = rows
        return out

    def _batches(self, numbers: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
        batch: list[int] = []
        room = self._batch_bytes
        for number in numbers:
            size = len(texts[number].encode("utf-8", "replace"))
            if batch and (len(batch) == self._batch_texts or size > room):
                yield batch
                batch, room = [], self._batch_bytes
            batch.append(number)
            room -= size
        if batch:
            yield batch

    def _request(self, texts: list[str], numbers: list[int]) -> Matrix:
        """The rows of these texts; `numbers` are their positions, for messages. A refused batch is halved."""
        try:
            answer = self._endpoint.post({**self._options, "input": texts})
        except Refused as refused:
            if len(texts) == 1:
                raise EmbedError(
                    f"{self._endpoint.address} refused text {numbers[0] + 1} "
                    f"({len(texts[0])} characters, beginning {texts[0][:40]!r}): {refused}. "
                    "If it is too long for the model, set a smaller chunk_tokens; else check the model's name"
                ) from refused
            half = len(texts) // 2
            return np.concatenate(
                [self._request(texts[:half], numbers[:half]), self._request(texts[half:], numbers[half:])]
            )
        return self._read_rows(answer, len(texts))

    def _read_rows(self, answer: Any, count: int) -> Matrix:
        try:
            items = answer["data"]
            # Some servers leave the index out; then the order of the answer is all there is.
            order = [item.get("index", position) for position, item in enumerate(items)]
            rows = [_decode(item["embedding"]) for item in items]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EmbedError(
                f"{self._endpoint.address} did not answer as an embedding endpoint does "
                f"({type(error).__name__}): check the URL and that the model makes embeddings"
            ) from error
        if sorted(order, key=repr) != sorted(range(count), key=repr):
            raise EmbedError(
                f"{self._endpoint.address} returned {len(rows)} vectors for {count} texts, or misnumbered them"
            )
        for row in rows:
            self._check_dimensions(len(row))
        matrix = np.empty((count, self._known_dimensions()), np.float32)
        for position, row in zip(order, rows, strict=True):
            matrix[position] = row
        if not np.isfinite(matrix).all():
            raise EmbedError(
                f"{self._endpoint.address} answered with numbers that are not finite: try another model"
            )
        return unit_rows(matrix)

    def _check_dimensions(self, found: int) -> None:
        with self._learning:
            if self._dimensions is None and found > 0:
                self._dimensions = found
        if found != self._dimensions:
            raise EmbedError(
                f"the model {self._name} answered {found} dimensions instead of {self._dimensions}: the "
                "endpoint changed its model or lacks the size asked for. Correct the setting and embed again"
            )

    def _known_dimensions(self) -> int:
        if self._dimensions is None:
            raise EmbedError(f"{self._endpoint.address} returned no vectors")
        return self._dimensions


def _decode(embedding: str | list[float]) -> Vector:
    """A vector as it came: a list of numbers, or base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
    vector = np.asarray(embedding, np.float32)
    if vector.ndim != 1:
        raise ValueError
    return vector
