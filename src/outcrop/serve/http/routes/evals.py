"""Questions with their right answers, and how well the search does on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from outcrop.errors import SourceError
from outcrop.evals.dataset import EvalCase, append_case, load_cases
from outcrop.evals.run import EvalRow, evaluate
from outcrop.evals.runs import RUNS_ENDING, EvalRun, RunLine, as_run, list_runs, load_run, save_run
from outcrop.records import IngestReport, Progress
from outcrop.serve.http.answers import answer, documented, model_of, shape
from outcrop.serve.http.routes.jobs import JobAnswer
from outcrop.serve.http.schema import CaseBody
from outcrop.serve.http.work import Shared
from outcrop.serve.jobs import Task

_Cases = shape("EvalCases", cases=tuple[EvalCase, ...])


def evals_router(shared: Shared) -> APIRouter:
    """`/api/eval/cases`, `/api/eval/run` and `/api/eval/runs`."""
    router = APIRouter(prefix="/api/eval", tags=["eval"])
    state = shared.state
    cases_file = state.config.folder / "eval-cases.jsonl"
    folder = state.config.beside(RUNS_ENDING)

    def kept_cases() -> tuple[EvalCase, ...]:
        return load_cases(cases_file) if cases_file.is_file() else ()

    def run_cases(
        _task: Task, tell: Callable[[Progress], None], stopped: Callable[[], bool]
    ) -> IngestReport | None:
        cases = kept_cases()
        if not cases:
            raise SourceError("there are no cases yet; save some with POST /api/eval/cases")

        def on_row(number: int, row: EvalRow) -> None:
            tell(Progress(number, len(cases), 0, row.query[:200], "read"))

        save_run(folder, as_run(evaluate(state.engine, cases, on_row=on_row, stopped=stopped)))
        return None

    state.jobs.register("eval", run_cases)

    @router.get("/cases", **documented(200, _Cases))
    def cases() -> Response:
        """The cases that were saved."""
        return answer({"cases": kept_cases()})

    @router.post("/cases", dependencies=shared.writes, **documented(201, model_of(EvalCase), 413, 415))
    def add_case(body: CaseBody) -> Response:
        """Save a query with the documents that answer it."""
        case = EvalCase(body.query, dict.fromkeys(body.expected, 1.0), tuple(body.collections))
        append_case(cases_file, case)
        return answer(case, 201)

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
