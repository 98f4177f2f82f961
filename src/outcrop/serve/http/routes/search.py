"""Finding: search, context, and what is asked of source code."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from outcrop.engine import Engine
from outcrop.records import Answer, CodeMap, Context, Filter, Graph, Related, StoredChunk
from outcrop.serve.http.answers import answer, documented, model_of, send, shape
from outcrop.serve.http.schema import Budget, CollectionParam, ContextBody, SearchBody, targets_of
from outcrop.serve.http.work import Shared

_Target = Annotated[
    str, Query(min_length=1, max_length=4096, description="A declaration, a file, or a place as FILE:LINE.")
]


def search_router(shared: Shared) -> APIRouter:
    """`/api/search`, `/api/context`, `/api/related`, `/api/map`, `/api/graph` and `/api/definition`."""
    router = APIRouter(prefix="/api", tags=["search"])
    _add_search(router, shared)
    _add_code(router, shared.state.engine)
    return router


def _add_search(router: APIRouter, shared: Shared) -> None:
    engine = shared.state.engine

    @router.post("/search", **documented(200, model_of(Answer), 404, 413, 415))
    async def search(body: SearchBody) -> Response:
        """The passages that answer a query, best first, each with why it stands where it stands."""

        def work() -> Response:
            # The reranker is opened once, here: each process would load its own.
            if shared.searchers is not None and not body.given().get("rerank"):
                timings_ms, found_json = shared.searchers.search(body.query, body.given())
                shared.metrics.note_search(timings_ms)
                return send(found_json)
            found = engine.search(body.query, **body.given())
            shared.metrics.note_search(found.timings_ms)
            return answer(found)

        return await shared.search(work)

    @router.post("/context", **documented(200, model_of(Context), 404, 409, 413, 415))
    async def context(body: ContextBody) -> Response:
        """One text for a prompt, never over the budget, with numbered sources."""

        def work() -> Response:
            options = body.given("code", "boosts")
            if not body.code:
                return answer(engine.context(body.query, **options))
            must, prefer = targets_of(body.boosts, "must"), targets_of(body.boosts, "prefer")
            return answer(engine.code_context(body.query, must=must, prefer=prefer, **options))

        return await shared.search(work)


def _add_code(router: APIRouter, engine: Engine) -> None:
    @router.get("/related", **documented(200, model_of(Related), 404, 409))
    def related(target: _Target, collection: CollectionParam = None) -> Response:
        """Callers, callees, tests and docs of a declaration or a place."""
        return answer(engine.related(target, collection=collection))

    @router.get("/map", **documented(200, model_of(CodeMap), 404))
    def code_map(
        collection: CollectionParam = None, budget_tokens: Annotated[Budget | None, Query()] = None
    ) -> Response:
        """The most central declarations as an outline within a budget."""
        where = Filter(collections=() if collection is None else (collection,))
        return answer(engine.map(budget_tokens=budget_tokens, where=where))

    @router.get("/graph", **documented(200, model_of(Graph), 404, 409))
    def graph(
        target: Annotated[str | None, Query(min_length=1, max_length=4096)] = None,
        collection: CollectionParam = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 60,
    ) -> Response:
        """The reference graph around a declaration, a file or a place; without one its most central part."""
        return answer(engine.graph(target, collection=collection, limit=limit))

    @router.get(
        "/definition", **documented(200, shape("Definitions", definitions=tuple[StoredChunk, ...]), 404)
    )
    def definition(
        name: Annotated[str, Query(min_length=1, max_length=1000)], collection: CollectionParam = None
    ) -> Response:
        """Where a name is declared, the likeliest declaration first."""
        return answer({"definitions": engine.definitions(name, collection=collection)})
