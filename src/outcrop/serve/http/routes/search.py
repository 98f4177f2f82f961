"""Finding: search, context, what is asked of source code, and code for a conversation."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from outcrop import records
from outcrop.engine import Engine
from outcrop.errors import QueryError
from outcrop.records import Answer, Context, Filter, Grepped, StoredChunk
from outcrop.serve.http.answers import answer, documented, model_of, problems, send, shape
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.routes.jobs import JobAnswer, wait_for_job
from outcrop.serve.http.schema import (
    Budget,
    CoderagBody,
    CollectionParam,
    ContextBody,
    GrepBody,
    SearchBody,
    targets_of,
)
from outcrop.serve.http.work import Shared
from outcrop.serve.jobs import Task
from outcrop.serve.patience import lift_limit
from outcrop.serve.state import require_root
from outcrop.serve.terminal import clean_line

SHOWN_NAMES: Final = 5
"""Unknown members that are named (not measured): enough to see a slip."""

_Answer: Final = shape(
    "CoderagAnswer",
    ragText=str,
    chunks=tuple[records.PackedSource, ...],
    query=str,
    detail=str,
    unmatchedPhrases=tuple[str, ...],
)
_NOTHING: Final = Context("", 0, 0, (), ())
_Target = Annotated[
    str, Query(min_length=1, max_length=4096, description="A declaration, a file, or a place as FILE:LINE.")
]


def search_router(shared: Shared) -> APIRouter:
    """`/api/search`, `/api/grep`, `/api/context`, `/api/related`, `/api/map`, `/api/graph` and `/api/definition`."""
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
                apart = shared.searchers.search(body.query, body.given())
                if apart is not None:
                    shared.metrics.note_search(apart[0])
                    return send(apart[1])
            found = engine.search(body.query, **body.given())
            shared.metrics.note_search(found.timings_ms)
            return answer(found)

        return await shared.search(work)

    @router.post("/grep", **documented(200, model_of(Grepped), 404, 413, 415))
    async def grep(body: GrepBody) -> Response:
        """The lines that match a pattern, by path, from the files as they are now; secrets are masked."""
        return await shared.search(lambda: answer(engine.grep(body.pattern, body.options()).take(body.limit)))

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
    @router.get("/related", **documented(200, model_of(records.Related), 404, 409))
    def related(target: _Target, collection: CollectionParam = None) -> Response:
        """Callers, callees, tests and docs of a declaration or a place."""
        return answer(engine.related(target, collection=collection))

    @router.get("/map", **documented(200, model_of(records.CodeMap), 404))
    def code_map(
        collection: CollectionParam = None, budget_tokens: Annotated[Budget | None, Query()] = None
    ) -> Response:
        """The most central declarations as an outline within a budget."""
        where = Filter(collections=() if collection is None else (collection,))
        return answer(engine.map(budget_tokens=budget_tokens, where=where))

    @router.get("/graph", **documented(200, model_of(records.Graph), 404, 409))
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


def coderag_router(shared: Shared) -> APIRouter:
    """`/coderag/refresh` and `/coderag/query`."""
    router = APIRouter(prefix="/coderag", tags=["coderag"])
    state = shared.state

    @router.post(
        "/refresh",
        dependencies=shared.writes,
        status_code=202,
        responses=problems(413, 415)
        | {200: {"model": model_of(records.IngestReport)}, 202: {"model": JobAnswer}},
    )
    async def refresh(
        repoPath: Annotated[str, Query(min_length=1, max_length=4096, description="Below one of the roots.")],  # noqa: N803 - the protocol's name
        wait: Annotated[bool, Query(description="Answer when it is done, with the report.")] = False,
    ) -> Response:
        """Index a repository, or bring it up to date."""
        if wait:
            lift_limit()  # a job has its own end, and this client asked to wait for it
        path = await run_in_threadpool(require_root, state.engine, repoPath)
        job = await run_in_threadpool(state.jobs.submit, Task("ingest", str(path)))
        if not wait:
            return answer({"job": job}, 202)
        job = await wait_for_job(state.jobs, job.id)
        if job.state != "done":
            raise Refused(503 if job.error is None else 422, job.error or "it was stopped; ask again")
        return answer(job.report)

    @router.post("/query", **documented(200, _Answer, 404, 409, 413, 415))
    async def query(body: CoderagBody) -> Response:
        """The code that a conversation needs, never over `approxLength` tokens."""

        def work() -> Response:
            messages = [records.Message(turn.role, turn.content) for turn in body.messages]
            try:
                asked = state.engine.query_of(messages)
            except QueryError:  # a conversation that asks for nothing gets nothing
                return answer(_packed(_NOTHING, "", body))
            context = state.engine.code_context(
                messages,
                budget_tokens=body.approxLength,
                reference_follow=body.referenceFollow,
                must=targets_of(body.boosts, "must"),
                prefer=targets_of(body.boosts, "prefer"),
                collections=body.collections,
            )
            return answer(_packed(context, asked, body))

        return await shared.search(work)

    return router


def _packed(context: Context, asked: str, body: CoderagBody) -> dict[str, Any]:
    return {
        "ragText": context.text,
        "chunks": context.sources,
        "query": asked,
        "detail": "; ".join(filter(None, (context.detail, _ignored(body)))),
        "unmatchedPhrases": context.unmatched_phrases,
    }


def _ignored(body: CoderagBody) -> str:
    """Which members of a request meant nothing here."""
    names = [clean_line(name)[:40] for name in sorted(body.model_extra or ())]
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"not known here, so ignored: {', '.join(names[:SHOWN_NAMES])}{more}" if names else ""
