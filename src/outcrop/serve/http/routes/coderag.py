"""Code for a conversation: index a repository, then ask with the messages of a chat."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from outcrop.errors import QueryError
from outcrop.records import Context, IngestReport, Message, PackedSource
from outcrop.serve.http.answers import answer, documented, model_of, problems, shape
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.routes.jobs import JobAnswer, wait_for_job
from outcrop.serve.http.schema import CoderagBody, targets_of
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
    chunks=tuple[PackedSource, ...],
    query=str,
    detail=str,
    unmatchedPhrases=tuple[str, ...],
)
_NOTHING: Final = Context("", 0, 0, (), ())


def coderag_router(shared: Shared) -> APIRouter:
    """`/coderag/refresh` and `/coderag/query`."""
    router = APIRouter(prefix="/coderag", tags=["coderag"])
    state = shared.state

    @router.post(
        "/refresh",
        dependencies=shared.writes,
        status_code=202,
        responses={
            **problems(413, 415),
            200: {"model": model_of(IngestReport)},
            202: {"model": JobAnswer},
        },
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
            messages = [Message(turn.role, turn.content) for turn in body.messages]
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
