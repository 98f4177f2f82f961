"""The protocol's side: the SDK's low-level server, whose handlers look into the table of tools.

Engine calls are sync and run in threads. A client that cancels sets the flag the engine looks at, so the work itself
ends; errors are results that say what to do next, never a traceback.
"""

from __future__ import annotations

import difflib
import logging
import signal
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

import outcrop
from outcrop.errors import Cancelled, OutcropError, QueryError
from outcrop.records.asked import HERE
from outcrop.serve.mcp import resources
from outcrop.serve.mcp.desk import Call, Desk
from outcrop.serve.mcp.params import input_schema, read_arguments
from outcrop.serve.mcp.reply import one_line, readable
from outcrop.serve.mcp.roots import ask_roots
from outcrop.serve.mcp.tools import DATA, SCORES, TOOLS, Tool, choose_tools
from outcrop.serve.patience import Patience, patience_for
from outcrop.system.dataclass import dataclass
from outcrop.system.standing import current_folders, standing_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from io import TextIOWrapper

    from outcrop.records import Progress

log = logging.getLogger(__name__)

T = TypeVar("T")

THREADS: Final = 16
"""Calls that run at once; further ones wait. Each holds a connection of the store (not measured)."""
LONGEST_MESSAGE: Final = 1_000
"""Characters of a refusal (not measured): a list of the documents with one name fits."""
PROGRESS_SECONDS: Final = 0.2
"""How often a client hears of progress at most: it redraws a line each time."""

INSTRUCTIONS: Final = (
    "Outcrop searches the user's own documents, code and notes on this machine. Search before you open files or answer "
    "from memory, then read around the lines a hit names, and cite path:lines. Notes are kept for later sessions: "
    f"search at the start of a task, kb_append what should be remembered. {SCORES}. {DATA}."
)

Context = Any  # the SDK's ServerRequestContext, generic in what nothing here uses


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and the folders it stands in, where those are known."""

    ctx: Context
    folders: tuple[str, ...] | None = None


def make_server(desk: Desk, tools: str = "lean") -> Server[Any]:
    """A server of these tools (`choose_tools`) over what the desk opens. One serves any number of clients."""
    served = choose_tools(tools)
    threads = anyio.CapacityLimiter(THREADS)

    async def on_list_tools(_ctx: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list_tools(served, read_only=desk.read_only))

    async def on_call_tool(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = find_tool(params.name, served)
        folders = await ask_roots(ctx, params.input_responses) if tool.placed else None
        if isinstance(folders, types.InputRequiredResult):
            return folders
        if folders is None and desk.beside_client:
            folders = (HERE,)
        return await _call_tool(Caller(ctx, folders), desk, threads, tool, params)

    async def in_thread(ctx: Context, work: Callable[[Call], T]) -> T:
        """For resources and prompts, whose errors are the protocol's own."""
        try:
            return await _run(Caller(ctx), desk, threads, work)
        except OutcropError as error:
            raise MCPError(types.INVALID_PARAMS, one_line(str(error), LONGEST_MESSAGE)) from error
        except Exception as error:
            log.exception("a resource or a prompt failed")
            raise MCPError(types.INTERNAL_ERROR, _unexpected("this", error)) from error

    async def on_list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        return await in_thread(
            ctx, lambda call: resources.list_resources(call, params.cursor if params else None)
        )

    async def on_list_templates(_ctx: Context, _params: object) -> types.ListResourceTemplatesResult:
        return resources.list_templates()

    async def on_read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        return await in_thread(ctx, lambda call: resources.read_resource(call, params.uri))

    async def on_list_prompts(_ctx: Context, _params: object) -> types.ListPromptsResult:
        return resources.list_prompts()

    async def on_get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = params.arguments or {}
        return await in_thread(ctx, lambda call: resources.get_prompt(call, params.name, given))

    return Server(
        "outcrop",
        version=outcrop.__version__,
        title="Outcrop",
        instructions=INSTRUCTIONS,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_resources=on_list_resources,
        on_list_resource_templates=on_list_templates,
        on_read_resource=on_read_resource,
        on_list_prompts=on_list_prompts,
        on_get_prompt=on_get_prompt,
    )


def serve_stdio(desk: Desk, tools: str, streams: tuple[TextIOWrapper, TextIOWrapper] | None = None) -> None:
    """Serve one client until it closes our input; then stop at the next safe place. `streams` are those on which it was
    greeted; else standard input and output are.

    A signal ends the process at once: a thread that waits for input cannot be woken, and nothing that was acknowledged
    is lost by it. What was going on is taken up at the next start.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, desk, tools, streams)
    finally:
        desk.close()


async def _serve(desk: Desk, tools: str, streams: tuple[TextIOWrapper, TextIOWrapper] | None) -> None:
    server = make_server(desk, tools)
    async with stdio_server(*map(anyio.wrap_file, streams or ())) as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def list_tools(tools: Mapping[str, Tool], *, read_only: bool) -> list[types.Tool]:
    """The tools as the protocol describes them; those that write are left out where nothing may be written."""
    return [_describe(tool) for tool in tools.values() if not (tool.writes and read_only)]


def _describe(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.writes, open_world_hint=False)
    if tool.writes:
        hints.destructive_hint, hints.idempotent_hint = tool.destructive, tool.idempotent
    output = {"type": "object", "properties": tool.data, "required": list(tool.data)} if tool.data else None
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=input_schema(tool.takes),
        output_schema=output,
        annotations=hints,
    )


def find_tool(name: str, tools: Mapping[str, Tool] = TOOLS) -> Tool:
    """The tool of that name; an unknown one is an error of the protocol and names the nearest."""
    tool = tools.get(name)
    if tool is None:
        if name in TOOLS:
            raise MCPError(
                types.INVALID_PARAMS, f"{name} is not served here; the user starts it with --tools all"
            )
        near = difflib.get_close_matches(name[:100], tools, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(tools)}"
        raise MCPError(types.INVALID_PARAMS, f"there is no such tool; {hint}")
    return tool


async def _call_tool(
    caller: Caller,
    desk: Desk,
    threads: anyio.CapacityLimiter,
    tool: Tool,
    params: types.CallToolRequestParams,
) -> types.CallToolResult:
    """What a tool replies; its errors are results too."""
    try:
        if tool.writes and desk.read_only:
            raise QueryError(f"this server only reads; {tool.name} is not available here")
        given = read_arguments(tool.name, tool.takes, params.arguments).given()
        reply = await _run(caller, desk, threads, lambda call: tool.run(call, **given), limited=not tool.writes)
    except OutcropError as error:
        return _failed(str(error))
    except Exception as error:
        log.exception("tool %s failed", tool.name)
        return _failed(_unexpected(tool.name, error))
    content = types.TextContent(text=readable(reply.text))
    return types.CallToolResult(content=[content], structured_content=reply.data)


def _unexpected(name: str, error: Exception) -> str:
    """What is said of a slip of ours: its kind, nothing of where in the code or on the disk it happened."""
    return (
        f"{name} failed inside Outcrop ({type(error).__name__}); the server's log on standard error says more, "
        "`outcrop doctor` checks the index"
    )


def _failed(message: str) -> types.CallToolResult:
    said = types.TextContent(text=one_line(message, LONGEST_MESSAGE))
    return types.CallToolResult(content=[said], is_error=True)


class _Latest:
    """Progress as a client sees it: a number that only grows, however often the engine starts counting again."""

    def __init__(self) -> None:
        self._before = 0
        self._last = 0
        self.now: tuple[float, float | None, str] | None = None

    def note(self, progress: Progress) -> None:
        """Called by the engine, in its thread."""
        if progress.done < self._last:
            self._before += self._last
        self._last = progress.done
        total = None if progress.total is None else float(self._before + progress.total)
        self.now = (float(self._before + progress.done), total, f"{progress.phase}: {progress.chunks} chunks")


async def _run(
    caller: Caller,
    desk: Desk,
    threads: anyio.CapacityLimiter,
    work: Callable[[Call], T],
    *,
    limited: bool = True,
) -> T:
    """Do it in a thread; cancelled, wait until the engine has seen that it is to stop."""
    stop, latest = threading.Event(), _Latest()
    sent = 0.0

    async def send() -> None:
        nonlocal sent
        now = latest.now
        if now is not None and now[0] > sent:
            sent = now[0]
            await caller.ctx.session.report_progress(*now)

    async def watch() -> None:
        try:
            while True:
                await anyio.sleep(PROGRESS_SECONDS)
                await send()
        finally:
            stop.set()

    def call() -> T:
        if stop.is_set():
            raise Cancelled("the client gave up before it began")
        state = desk.state()
        folders = current_folders() if caller.folders is None else caller.folders
        with patience_for(Patience(stop.is_set, limited=limited)), standing_in(*folders):
            return work(Call(state, stop.is_set, latest.note, desk.nudge, is_placed=caller.folders is not None))

    failure: Exception | None = None
    result: Any = None
    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            result = await anyio.to_thread.run_sync(call, limiter=threads)
            await send()
        except Exception as error:  # noqa: BLE001 - raised again below, outside the group that would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return cast(T, result)
