"""What the browser asks for: the page, its assets, and a document rendered for it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from outcrop.errors import NotFound
from outcrop.serve.http.answers import answer, documented, model_of
from outcrop.serve.http.schema import MAX_ID, DocumentId
from outcrop.serve.page.render import View, render_view
from outcrop.serve.state import State

HEADERS: Final = {"Cache-Control": "no-cache"}
"""With an ETag: asked for each time, sent only after an upgrade. The policy is on every answer of the server."""
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def load_assets() -> dict[str, tuple[bytes, str, str]]:
    """name → content, type and ETag of every file of the page. A table: no request ever becomes a path."""
    folder = resources.files("outcrop.serve.page") / "static"
    assets = {}
    for item in folder.iterdir():
        kind = _TYPES.get("." + item.name.rpartition(".")[2])
        if kind is not None:
            content = item.read_bytes()
            assets[item.name] = (content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return assets


def _send(request: Request, name: str) -> Response:
    content, kind, tag = load_assets()[name]
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def page_router(state: State) -> APIRouter:
    """`/`, `/assets/NAME`, and `/api/documents/{id}/view`."""
    router = APIRouter()
    engine = state.engine

    @router.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return _send(request, "index.html")

    @router.get("/assets/{name}", include_in_schema=False)
    async def asset(request: Request, name: str) -> Response:
        if name not in load_assets():
            raise NotFound(f"the page has no file {name!r}")
        return _send(request, name)

    @router.get("/api/documents/{document_id}/view", tags=["documents"], **documented(200, model_of(View), 404))
    def view(
        document_id: DocumentId,
        at: Annotated[int, Query(ge=1, le=MAX_ID, description="The line to show, in a large document.")] = 1,
        source: Annotated[bool, Query(description="Markdown as it was written.")] = False,
    ) -> Response:
        """A document as safe HTML, with where its chunks lie. A large one is shown around a line."""
        document = engine.get(document_id)
        text, chunks = engine.text(document_id), engine.chunks(document_id)
        return answer(render_view(document, text, chunks, at=at, source=source))

    return router
