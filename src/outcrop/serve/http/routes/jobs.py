"""Long work: start it, look at it, follow it, stop it; and evaluations, which are long work too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Body, Path
from starlette.responses import Response, StreamingResponse

from outcrop.errors import SourceError
from outcrop.evals.dataset import EvalCase, append_case, load_cases, remove_case
from outcrop.evals.run import EvalRow, evaluate
from outcrop.evals.runs import RUNS_ENDING, EvalRun, RunLine, as_run, list_runs, load_run, save_run
from outcrop.records import Filter, IngestReport, Progress
from outcrop.records.parsed import is_url
from outcrop.serve.http import answers
from outcrop.serve.http.answers import answer, documented, model_of, shape
from outcrop.serve.http.schema import CaseBody, IngestBody, SyncBody
from outcrop.serve.http.work import Shared
from outcrop.serve.jobs import Job, Jobs, Stop, Task, Tell
from outcrop.serve.state import require_root

LOOK_S: Final = 0.1
"""How often a job's stream polls it (not measured): looks smooth."""
JobAnswer = shape("JobAnswer", job=Job)
JobId = Annotated[str, Path(min_length=1, max_length=40, description="The job's id.")]


def jobs_router(shared: Shared) -> APIRouter:
    """`/api/ingest`, `/api/sync`, `/api/reembed` and `/api/jobs`."""
    router = APIRouter(prefix="/api", tags=["jobs"])
    state = shared.state

    @router.post("/ingest", dependencies=shared.writes, **documented(202, JobAnswer, 413, 415))
    def ingest(body: IngestBody) -> Response:
        """Index a folder or file below one of the server's roots, or a public URL."""
        branches = tuple(body.branches)
        if not is_url(body.source):
            source = str(require_root(state.engine, body.source, repository=bool(branches)))
        elif branches:
            raise SourceError("branches go with the folder of a repository, not with a URL")
        elif body.archives:
            raise SourceError("archives are those in a folder, or a file; save what the URL holds and add that")
        else:
            source = body.source
        task = Task("ingest", source, body.collection, tuple(body.tags), body.force, branches, body.archives)
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
        responses={**answers.streamed("progress", "done", "failed"), **answers.problems(404)},
    )
    async def events(job_id: JobId) -> Response:
        """Server-sent events: `progress` whenever it changed, then `done` or `failed`; the data is the job."""
        state.jobs.get(job_id)
        return StreamingResponse(job_events(state.jobs, job_id), media_type="text/event-stream")

    return router


async def job_events(jobs: Jobs, job_id: str) -> AsyncIterator[bytes]:
    """`progress` whenever the job changed, then `done` or `failed`; each carries the job as it is."""
    last: Job | None = None
    told = time.monotonic()
    while not jobs.is_closing:
        job = jobs.get(job_id)
        if job is not last:
            last, told = job, time.monotonic()
            if job.is_over:
                yield answers.frame("done" if job.state == "done" else "failed", job)
                return
            yield answers.frame("progress", job)
        elif time.monotonic() - told > answers.SILENCE_S:
            told = time.monotonic()
            yield answers.STILL_HERE
        await asyncio.sleep(LOOK_S)


async def wait_for_job(jobs: Jobs, job_id: str) -> Job:
    """The job once it has ended, or its state when the server stops."""
    while not (job := jobs.get(job_id)).is_over and not jobs.is_closing:
        await asyncio.sleep(LOOK_S)
    return job


def evals_router(shared: Shared) -> APIRouter:
    """`/api/eval/cases`, `/api/eval/run` and `/api/eval/runs`."""
    router = APIRouter(prefix="/api/eval", tags=["eval"])
    state = shared.state
    cases_file = state.config.folder / "eval-cases.jsonl"
    folder = state.config.beside(RUNS_ENDING)

    def kept_cases() -> tuple[EvalCase, ...]:
        return load_cases(cases_file) if cases_file.is_file() and cases_file.stat().st_size else ()

    def run_cases(_task: Task, tell: Tell, stopped: Stop) -> IngestReport | None:
        cases = kept_cases()
        if not cases:
            raise SourceError("there are no cases yet; save some with POST /api/eval/cases")

        def on_row(number: int, row: EvalRow) -> None:
            tell(Progress(number, len(cases), 0, row.query[:200], "read"))

        save_run(folder, as_run(evaluate(state.engine, cases, on_row=on_row, stopped=stopped)))
        return None

    state.jobs.register("eval", run_cases)

    @router.get("/cases", **documented(200, shape("EvalCases", cases=tuple[EvalCase, ...])))
    def cases() -> Response:
        """The cases that were saved."""
        return answer({"cases": kept_cases()})

    @router.post("/cases", dependencies=shared.writes, **documented(201, model_of(EvalCase), 413, 415))
    def add_case(body: CaseBody) -> Response:
        """Save a query with the documents that answer it."""
        case = EvalCase(body.query, dict.fromkeys(body.expected, 1.0), tuple(body.collections))
        append_case(cases_file, case)
        return answer(case, 201)

    @router.delete(
        "/cases", dependencies=shared.writes, **documented(200, shape("CaseRemoved", removed=bool), 413, 415)
    )
    def delete_case(body: CaseBody) -> Response:
        """Take a saved case back."""
        case = EvalCase(body.query, dict.fromkeys(body.expected, 1.0), tuple(body.collections))
        return answer({"removed": cases_file.is_file() and remove_case(cases_file, case)})

    @router.post("/run", dependencies=shared.writes, **documented(202, JobAnswer, 413, 415))
    def run() -> Response:
        """Ask every saved case and keep the figures."""
        return answer({"job": state.jobs.submit(Task("eval"))}, 202)

    @router.get("/runs", **documented(200, shape("EvalRuns", runs=tuple[RunLine, ...])))
    def runs() -> Response:
        """The kept runs, the newest first."""
        return answer({"runs": list_runs(folder)})

    @router.get("/runs/{run_id}", **documented(200, model_of(EvalRun), 404))
    def one_run(run_id: Annotated[str, Path(min_length=1, max_length=100)]) -> Response:
        """One run, query by query."""
        return answer(load_run(folder, run_id))

    return router
