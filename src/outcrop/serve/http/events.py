"""Server-sent events: a frame, and the stream of one job."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from outcrop.serve.as_json import dump
from outcrop.serve.jobs import Job, Jobs

LOOK_S: Final = 0.1
"""How often a job's stream polls it (not measured): looks smooth."""
SILENCE_S: Final = 15.0
"""After this long a comment is sent, so that proxies do not take a quiet stream for a dead one (not measured)."""


def frame(name: str, data: object) -> bytes:
    """One event. JSON has no line breaks of its own, so it is one `data` line."""
    return f"event: {name}\ndata: {dump(data)}\n\n".encode()


async def job_events(jobs: Jobs, job_id: str) -> AsyncIterator[bytes]:
    """`progress` whenever the job changed, then `done` or `failed`; each carries the job as it is."""
    last: Job | None = None
    told = time.monotonic()
    while not jobs.is_closing:
        job = jobs.get(job_id)
        if job is not last:
            last, told = job, time.monotonic()
            if job.is_over:
                yield frame("done" if job.state == "done" else "failed", job)
                return
            yield frame("progress", job)
        elif time.monotonic() - told > SILENCE_S:
            told = time.monotonic()
            yield b": still here\n\n"
        await asyncio.sleep(LOOK_S)


async def wait_for_job(jobs: Jobs, job_id: str) -> Job:
    """The job once it has ended, or its state when the server stops."""
    while not (job := jobs.get(job_id)).is_over and not jobs.is_closing:
        await asyncio.sleep(LOOK_S)
    return job
