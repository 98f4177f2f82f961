"""Where a client stands: the folders it says it works in. They are the scope of what it asks.

Up to 2025 a server asks its client during a call; since the version of 2026-07-28 it answers that it needs to know,
and the client calls again with the roots. That version deprecates roots, so a client may have none: one that started
this process stands in its folder.
"""

from __future__ import annotations

import logging
import os
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from outcrop.serve.fields import MAX_NAME

log = logging.getLogger(__name__)

ANSWER_S: Final = 2.0
"""Seconds that a client has to list its roots (not measured); programs answer in milliseconds."""
MAX_ROOTS: Final = 50
_KEY: Final = "roots"


async def ask_roots(
    ctx: Any, responses: types.InputResponses | None = None
) -> tuple[str, ...] | types.InputRequiredResult | None:
    """The folders that a client works in, or what to answer so that it says them. None where it has no roots, or does
    not tell: a search then is not narrowed, which is no reason to fail."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return None
    if responses is not None:
        said = responses.get(_KEY)
        return _folders(said) if isinstance(said, types.ListRootsResult) else None
    request = types.ListRootsRequest()
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return types.InputRequiredResult(input_requests={_KEY: request})
    if not ctx.session.can_send_request:
        return None
    try:
        # On the stream of this very call: over HTTP a client need not have another one open.
        beside = ServerMessageMetadata(related_request_id=ctx.request_id)
        found = await ctx.session.send_request(request, types.ListRootsResult, ANSWER_S, beside)
    except (MCPError, ValidationError, TimeoutError) as error:
        log.info("the client does not say where it stands", extra={"reason": str(error)})
        return None
    return _folders(found)


def _folders(said: types.ListRootsResult) -> tuple[str, ...]:
    folders = (folder_of(str(root.uri)) for root in said.roots[:MAX_ROOTS])
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))


def folder_of(uri: str) -> str | None:
    """The real path of a root; None where it is no folder of this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    if not local or not path.startswith("/") or "\0" in path or len(path) > MAX_NAME:
        return None
    return os.path.realpath(path)
