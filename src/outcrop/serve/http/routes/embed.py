"""The index's own embedding model, for other programs."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from outcrop.contracts import Embedder
from outcrop.records import Matrix
from outcrop.serve.http.answers import answer, documented, shape
from outcrop.serve.http.schema import EmbedBody, EmbedQueryBody, OpenAiEmbeddings
from outcrop.serve.http.work import Shared
from outcrop.system.limits import check_wanted

AT_ONCE: Final = 64
"""Texts between two looks at the client (not measured): few for a transformer, enough for a remote model."""

_Usage = shape("Usage", prompt_tokens=int, total_tokens=int)
_OneEmbedding = shape("OneEmbedding", object=str, index=int, embedding=list[float] | str)
_OpenAiAnswer = shape("OpenAiEmbeddingsAnswer", object=str, data=list[_OneEmbedding], model=str, usage=_Usage)  # type: ignore[valid-type]
_Many = shape("Embeddings", embeddings=list[list[float]], model=str, dimensions=int)
_Single = shape("Embedding", embedding=list[float], model=str, dimensions=int)


def embed_router(shared: Shared) -> APIRouter:
    """`/api/embed` and `/v1/embeddings`."""
    router = APIRouter(tags=["embed"])
    engine = shared.state.engine

    @router.post("/api/embed", **documented(200, _Many | _Single, 413, 415))
    def embed(body: EmbedBody | EmbedQueryBody) -> Response:
        """Embed texts as documents, or with `single` one text as a query."""
        embedder = engine.parts.embedder
        model: dict[str, Any] = {"model": embedder.model.name, "dimensions": embedder.model.dimensions}
        if isinstance(body, EmbedBody):
            return answer({"embeddings": _embed(embedder, body.texts).tolist(), **model})
        return answer({"embedding": embedder.embed_query(body.texts[0]).tolist(), **model})

    @router.post("/v1/embeddings", **documented(200, _OpenAiAnswer, 413, 415))
    def openai_embeddings(body: OpenAiEmbeddings) -> Response:
        """As OpenAI's endpoint: any client of that can use this model."""
        texts: Sequence[str] = [body.input] if isinstance(body.input, str) else body.input
        embedder = engine.parts.embedder
        rows = _embed(embedder, texts)
        vectors: list[Any] = rows.tolist()
        if body.encoding_format == "base64":
            vectors = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows]
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
        words = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": words, "total_tokens": words}
        return answer({"object": "list", "data": data, "model": embedder.model.name, "usage": usage})

    return router


def _embed(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Vectors of length one, as clients of such an endpoint expect; a vector of zeros stays one. Some texts at a time:
    nobody waits for more once the client has left."""
    parts = []
    for at in range(0, len(texts), AT_ONCE):
        check_wanted()
        parts.append(embedder.embed_documents(texts[at : at + AT_ONCE]))
    rows = np.concatenate(parts)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
