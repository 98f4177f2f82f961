"""The application: routes, what guards them, and what runs beside them while it serves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

import outcrop
from outcrop.errors import OutcropError
from outcrop.serve.background import Background
from outcrop.serve.http.metrics import Metrics
from outcrop.serve.http.problems import Refused, body_of, describe_invalid, refusal_of
from outcrop.serve.http.routes import documents, embed, jobs, kb, search, status
from outcrop.serve.http.routes.chat import chat_router
from outcrop.serve.http.security import Guard
from outcrop.serve.http.work import THREADS, Shared, make_searchers, search_threads
from outcrop.serve.mcp.http import McpApp
from outcrop.serve.page.routes import page_router
from outcrop.serve.state import State

DESCRIPTION: Final = "Documents in, the right passages out, with exact sources."


def make_app(state: State, *, workers: int | None = 0) -> FastAPI:
    """The ASGI application over one state. Its lifespan starts and stops the jobs and the background work; `workers` is
    how many processes search for it, None for as many as are good once searches queue."""
    shared = Shared(
        state=state,
        metrics=Metrics(),
        background=Background(state.engine, state.kb, read_only=state.read_only),
        searches=CapacityLimiter(max(workers or 0, search_threads())),
        searchers=make_searchers(state, workers),
    )
    agents = McpApp(state)

    @asynccontextmanager
    async def live(_app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        state.jobs.start()
        shared.background.start()
        if shared.searchers is not None:
            shared.searchers.start()
        try:
            async with agents.run():
                yield
        finally:
            await to_thread.run_sync(shared.background.stop)
            await to_thread.run_sync(state.jobs.stop)
            if shared.searchers is not None:
                await to_thread.run_sync(shared.searchers.stop)

    app = FastAPI(
        title="Outcrop",
        description=DESCRIPTION,
        version=outcrop.__version__,
        docs_url=None,  # they load their scripts from elsewhere, which the page's policy forbids
        redoc_url=None,
        lifespan=live,
        redirect_slashes=False,
    )
    for make in (status.status_router, search.search_router, documents.documents_router, jobs.jobs_router):
        app.include_router(make(shared))
    for make in (embed.embed_router, kb.kb_router, search.coderag_router, jobs.evals_router):
        app.include_router(make(shared))
    app.include_router(chat_router(state))
    app.include_router(page_router(state))
    app.router.routes.append(Route("/mcp", endpoint=agents, include_in_schema=False))
    for kind in (Refused, OutcropError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer_error)
    if state.config.token:
        _declare_token(app)
    app.add_middleware(Guard, config=state.config, metrics=shared.metrics)
    return app


async def _answer_error(request: Request, error: Exception) -> Response:
    """Every error in the one shape."""
    if isinstance(error, OutcropError):
        refused = refusal_of(error)
    elif isinstance(error, RequestValidationError):
        refused = Refused(422, describe_invalid(error.errors()))
    elif isinstance(error, HTTPException):
        headers = dict(error.headers or {})
        if error.status_code == 405:  # the framework knows only the methods of the first route that fits
            headers["Allow"] = ", ".join(_methods(request.app.routes, request.scope))
        refused = Refused(error.status_code, str(error.detail).lower(), headers=headers)
    else:
        assert isinstance(error, Refused)  # noqa: S101 - the last of those it is registered for
        refused = error
    body = body_of(refused.code, refused.message)
    return Response(body, refused.status, headers=refused.headers, media_type="application/json")


def _methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    """The methods by which this path can be asked for."""
    return [
        method
        for method in ("DELETE", "GET", "PATCH", "POST", "PUT")
        if any(route.matches({**scope, "method": method})[0] == Match.FULL for route in routes)
    ]


def _declare_token(app: FastAPI) -> None:
    """Say in the OpenAPI that every route but the health check wants the token."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        schema = describe()
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        schema["paths"]["/healthz"]["get"]["security"] = []
        return schema

    app.openapi = described  # type: ignore[method-assign]
