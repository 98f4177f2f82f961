"""How the server and its index are: health, metrics, status."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

import outcrop
from outcrop.config import Config
from outcrop.records import Check, Status
from outcrop.serve.as_json import as_dict
from outcrop.serve.http.answers import answer, documented, extended, problems, shape
from outcrop.serve.http.metrics import CONTENT_TYPE
from outcrop.serve.http.problems import Refused
from outcrop.serve.http.work import Shared
from outcrop.serve.state import allowed_roots

_Health = shape("Health", status=str, version=str)
_Doctor = shape("Doctor", ok=bool, checks=tuple[Check, ...])
_ServerStatus = extended(
    "ServerStatus",
    Status,
    pending=int,
    kb=str,
    chat=str | None,
    read_only=bool,
    roots=tuple[str, ...],
    reranker=bool,
    version=str,
)


def status_router(shared: Shared) -> APIRouter:
    """`/healthz`, `/metrics` and `/api/status`."""
    router = APIRouter(tags=["status"])
    state = shared.state

    @router.get("/healthz", **documented(200, _Health))
    async def healthz() -> Response:
        """Whether the server answers. Needs no token."""
        return answer({"status": "ok", "version": outcrop.__version__})

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
    )
    def metrics() -> Response:
        """Counts and times, in the text format of Prometheus."""
        return Response(shared.metrics.render(state), media_type=CONTENT_TYPE)

    @router.get("/api/status", **documented(200, _ServerStatus))
    def status() -> Response:
        """What the index holds and what the server can do."""
        more = {
            "pending": state.engine.pending(),
            "kb": str(state.config.kb),
            "chat": state.config.chat_model or None,
            "read_only": state.read_only,
            "roots": [str(root) for root in allowed_roots(state.engine)],
            "reranker": has_reranker(state.config),
            "version": outcrop.__version__,
        }
        return answer(as_dict(state.engine.status(), **more))

    examining = threading.Lock()

    @router.get("/api/doctor", **documented(200, _Doctor))
    def doctor() -> Response:
        """Check the index and the machine; repairing is for `outcrop doctor --repair`. One check at a time: it reads
        everything."""
        if not examining.acquire(blocking=False):
            raise Refused(503, "a check is running; ask again when it is done", headers={"Retry-After": "5"})
        try:
            checks = state.engine.doctor()
        finally:
            examining.release()
        return answer({"ok": all(check.ok for check in checks), "checks": checks})

    return router


def has_reranker(config: Config) -> bool:
    """Whether a search may ask for a second opinion here; told without loading anything."""
    kind, _, folder = config.reranker.partition(":")
    if find_spec("onnxruntime") is None:
        return False
    return Path(folder).expanduser().is_dir() if kind == "onnx" else find_spec("outcrop_models") is not None
