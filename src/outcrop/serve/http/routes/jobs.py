"""Long work: start it, look at it, follow it, stop it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path
from starlette.responses import Response, StreamingResponse

from outcrop.records import Filter
from outcrop.records.parsed import is_url
from outcrop.serve.http.answers import answer, documented, model_of, problems, shape, streamed
from outcrop.serve.http.events import job_events
from outcrop.serve.http.parts import Shared
from outcrop.serve.http.schema import IngestBody, SyncBody
from outcrop.serve.jobs import Job, Task

JobAnswer = shape("JobAnswer", job=Job)
JobId = Annotated[str, Path(min_length=1, max_length=40, description="The job's id.")]


def jobs_router(shared: Shared) -> APIRouter:
    """`/api/ingest`, `/api/sync`, `/api/reembed` and `/api/jobs`."""
    router = APIRouter(prefix="/api", tags=["jobs"])
    state = shared.state

    @router.post("/ingest", dependencies=shared.writes, **documented(202, JobAnswer, 413, 415))
    def ingest(body: IngestBody) -> Response:
        """Index a folder or file below one of the server's roots, or a public URL."""
        source = body.source if is_url(body.source) else str(state.require_root(body.source))
        task = Task("ingest", source, body.collection, tuple(body.tags), body.force)
        return answer({"job": state.jobs.submit(task)}, 202)

    @router.post("/sync", dependencies=shared.writes, **documented(202, JobAnswer, 404, 413, 415))
    def sync(body: Annotated[SyncBody | None, Body()] = None) -> Response:
        """Bring the folders that were added up to date with what is on disk."""
        collection = body.collection if body is not None else None
        if collection is not None:
            state.engine.count(Filter(collections=(collection,)))  # NotFound now, not in a job
        return answer({"job": state.jobs.submit(Task("sync", collection or "", collection))}, 202)

    @router.post("/reembed", dependencies=shared.writes, **documented(202, JobAnswer, 413, 415))
    def reembed() -> Response:
        """Give every chunk a vector of the model in use."""
        return answer({"job": state.jobs.submit(Task("reembed"))}, 202)

    @router.get("/jobs", **documented(200, shape("JobList", jobs=tuple[Job, ...])))
    def jobs() -> Response:
        """The last hundred jobs, the newest first."""
        return answer({"jobs": state.jobs.list()})

    @router.get("/jobs/{job_id}", **documented(200, model_of(Job), 404))
    def job(job_id: JobId) -> Response:
        """A job as it stands."""
        return answer(state.jobs.get(job_id))

    @router.delete("/jobs/{job_id}", dependencies=shared.writes, **documented(200, model_of(Job), 404))
    def cancel(job_id: JobId) -> Response:
        """Ask a job to end: one that waits at once, a running one at its next safe place."""
        return answer(state.jobs.cancel(job_id))

    @router.get(
        "/jobs/{job_id}/events",
        response_class=StreamingResponse,
        responses={**streamed("progress", "done", "failed"), **problems(404)},
    )
    async def events(job_id: JobId) -> Response:
        """Server-sent events: `progress` whenever it changed, then `done` or `failed`; the data is the job."""
        state.jobs.get(job_id)
        return StreamingResponse(job_events(state.jobs, job_id), media_type="text/event-stream")

    return router
