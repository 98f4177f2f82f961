"""Notes that agents and people search, read and write."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from outcrop.errors import QueryError
from outcrop.notes import KbFile, KbText, NoteProblem
from outcrop.records import Answer
from outcrop.serve.http.answers import answer, documented, model_of, shape
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.schema import MAX_ID, KbEditBody, KbMoveBody, KbSearchBody, KbTextBody, Line
from outcrop.serve.http.work import Shared

_Path = Annotated[str, Query(min_length=1, max_length=4096, description="The note's path below the root.")]
_File = model_of(KbFile)


def kb_router(shared: Shared) -> APIRouter:
    """`/api/kb` and what is below it."""
    router = APIRouter(prefix="/api/kb", tags=["kb"])
    _add_reading(router, shared)
    _add_writing(router, shared)
    return router


def _add_reading(router: APIRouter, shared: Shared) -> None:
    kb = shared.state.kb

    @router.get("", **documented(200, shape("KbFiles", files=tuple[KbFile, ...]), 404, 409))
    def files(
        prefix: Annotated[str, Query(max_length=4096)] = "",
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
        offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    ) -> Response:
        """The notes whose path begins with `prefix`, by path."""
        return answer({"files": kb.list(prefix, limit=limit, offset=offset)})

    @router.post("/search", **documented(200, model_of(Answer), 413, 415))
    async def search(body: KbSearchBody) -> Response:
        """The passages of the notes that answer a query; nothing that scores under 0.3."""
        return await shared.search(
            lambda: answer(kb.search(body.query, body.topK or body.limit, as_of=body.as_of))
        )

    @router.get("/check", **documented(200, shape("KbProblems", problems=tuple[NoteProblem, ...]), 409))
    def check() -> Response:
        """What is wrong with the notes: valid ones that contradict each other, links to older notes that lead nowhere
        or in a circle, and dates that cannot be right."""
        return answer({"problems": kb.check()})

    @router.get("/file", **documented(200, model_of(KbText), 404, 409, 413))
    def read(path: _Path, line_start: Line = None, line_end: Line = None) -> Response:
        """A note, or some lines of it."""
        try:
            return answer(kb.read(path, line_start, line_end))
        except QueryError as error:
            raise Refused(404, str(error), code="no_such_lines") from error


def _add_writing(router: APIRouter, shared: Shared) -> None:
    kb = shared.state.kb

    def written(file: object) -> Response:
        shared.background.nudge()
        return answer(file)

    @router.put("/file", dependencies=shared.writes, **documented(200, _File, 409, 413, 415))
    def write(body: KbTextBody) -> Response:
        """Write a note, whole. It is found by its words at once, by its meaning a moment later. `same_subject` of
        the answer has valid notes on its subject: if it replaces one, append nothing with `supersedes`."""
        return written(kb.write(body.path, body.text, supersedes=body.supersedes))

    @router.delete(
        "/file", dependencies=shared.writes, **documented(200, shape("KbDeleted", path=str), 404, 409)
    )
    def delete(path: _Path) -> Response:
        """Delete a note."""
        kb.delete(path)
        return answer({"path": path})

    @router.post("/append", dependencies=shared.writes, **documented(200, _File, 409, 413, 415))
    def append(body: KbTextBody) -> Response:
        """Add a text at the end of a note, which is made where there is none."""
        return written(kb.append(body.path, body.text, supersedes=body.supersedes))

    @router.post("/edit", dependencies=shared.writes, **documented(200, _File, 404, 409, 413, 415))
    def edit(body: KbEditBody) -> Response:
        """Replace a passage that stands in the note exactly once."""
        if body.old == body.new:
            raise Refused(409, "old and new are the same; nothing would change")
        return written(kb.edit(body.path, body.old, body.new))

    @router.post("/move", dependencies=shared.writes, **documented(200, _File, 404, 409, 413, 415))
    def move(body: KbMoveBody) -> Response:
        """Give a note another path; one that is taken is refused."""
        return written(kb.move(body.path, body.to))
