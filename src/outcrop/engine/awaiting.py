"""The same calls for programs that run an event loop: each waits in a thread for the one that does the work.

There is no second implementation. A call that is cancelled stops its work at the next place where that asks whether it
is still wanted, and only then ends: whatever comes after it finds no thread that still reads or writes.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from outcrop.engine.history import HistoryQuestions
from outcrop.engine.upkeep import Upkeep
from outcrop.errors import Cancelled
from outcrop.system.limits import wanted_while

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def in_thread(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """A method as one that is awaited."""

    @wraps(method)
    async def wait(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # whoever awaits has it; without an event loop nothing of it is loaded

        takes_stopped = "stopped" in inspect.signature(method).parameters
        given_up = threading.Event()
        theirs = kwargs.get("stopped")

        def is_stopped() -> bool:
            return given_up.is_set() or (callable(theirs) and bool(theirs()))

        def check() -> None:
            if given_up.is_set():
                raise Cancelled("the call was cancelled")

        def work() -> T:
            if takes_stopped:
                kwargs["stopped"] = is_stopped
            with wanted_while(check):
                return method(self, *args, **kwargs)

        done = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            given_up.set()
            await asyncio.wait([done])
            done.exception()  # it was asked to stop, so how it ended is of no interest
            raise

    wait.__name__ = f"a{method.__name__}"
    wait.__qualname__ = f"Awaiting.a{method.__name__}"
    wait.__doc__ = f"`{method.__name__}`, awaited."
    return wait


class Awaiting(HistoryQuestions, Upkeep):
    """The part of an Engine that is awaited; also `async with outcrop.open() as index`."""

    asearch = in_thread(HistoryQuestions.search)
    acontext = in_thread(HistoryQuestions.context)
    acode_context = in_thread(HistoryQuestions.code_context)
    aget = in_thread(HistoryQuestions.get)
    atext = in_thread(HistoryQuestions.text)
    achunks = in_thread(HistoryQuestions.chunks)
    adocuments = in_thread(HistoryQuestions.documents)
    acount = in_thread(HistoryQuestions.count)
    arelated = in_thread(HistoryQuestions.related)
    aadd = in_thread(HistoryQuestions.add)
    aadd_texts = in_thread(HistoryQuestions.add_texts)
    aembed_pending = in_thread(HistoryQuestions.embed_pending)
    adelete = in_thread(HistoryQuestions.delete)
    astatus = in_thread(Upkeep.status)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)
