"""Counts and times in the text format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final, get_args

from starlette.types import Scope

from outcrop.serve.jobs import JobState
from outcrop.serve.state import State
from outcrop.system.dataclass import dataclass

BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the histograms: a search takes some milliseconds, the promise to keep is a quarter of a second."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_UNROUTED: Final = "(none)"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.total += seconds


class Metrics:
    """What a server counts. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: defaultdict[Labels, int] = defaultdict(int)
        self._seconds: defaultdict[Labels, _Histogram] = defaultdict(_Histogram)
        self._steps: defaultdict[Labels, _Histogram] = defaultdict(_Histogram)

    def note_request(self, scope: Scope, status: int, seconds: float) -> None:
        """A request was answered. It counts by the template of its route: there are as many series as routes."""
        route = getattr(scope.get("route"), "path", _UNROUTED)
        method = (
            scope["method"] if scope["method"] in _METHODS else "other"
        )  # a client may not make up new series
        with self._lock:
            self._requests[("route", route), ("method", method), ("status", str(status))] += 1
            self._seconds[(("route", route),)].add(seconds)

    def note_search(self, timings_ms: Mapping[str, float]) -> None:
        """A search was done; how long each of its steps took."""
        with self._lock:
            for step, milliseconds in timings_ms.items():
                self._steps[(("step", step),)].add(milliseconds / 1000)

    def render(self, state: State) -> str:
        """Everything, as the text that is scraped."""
        lines: list[str] = []
        with self._lock:
            _family(
                lines, "outcrop_http_requests_total", "counter", "Requests answered.", self._requests.items()
            )
            _histograms(lines, "outcrop_http_request_seconds", "Time to answer a request.", self._seconds)
            _histograms(lines, "outcrop_search_seconds", "Time of each step of a search.", self._steps)
        status = state.engine.status()
        gauges = {
            "documents": ("Documents in the index.", status.stats.documents),
            "chunks": ("Chunks in the index.", status.stats.chunks),
            "chunks_pending": ("Chunks that wait for their vector.", state.engine.pending()),
            "index_bytes": ("Size of the database.", status.stats.bytes_on_disk),
            "array_bytes": ("Size of the search arrays.", status.array_bytes),
        }
        for name, (text, value) in gauges.items():
            _family(lines, f"outcrop_{name}", "gauge", text, [((), value)])
        jobs = Counter(job.state for job in state.jobs.list())
        states = [((("state", name),), jobs[name]) for name in get_args(JobState)]
        _family(lines, "outcrop_jobs", "gauge", "Remembered jobs by state.", states)
        return "\n".join(lines) + "\n"


def escape(value: str) -> str:
    """A label's value as the format wants it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _labelled(name: str, labels: Labels) -> str:
    inside = ",".join(f'{key}="{escape(value)}"' for key, value in labels)
    return f"{name}{{{inside}}}" if inside else name


def _family(lines: list[str], name: str, kind: str, text: str, samples: Iterable[tuple[Labels, float]]) -> None:
    lines.append(f"# HELP {name} {text}")
    lines.append(f"# TYPE {name} {kind}")
    lines.extend(f"{_labelled(name, labels)} {value}" for labels, value in samples)


def _histograms(lines: list[str], name: str, text: str, series: Mapping[Labels, _Histogram]) -> None:
    _family(lines, name, "histogram", text, ())
    for labels, histogram in series.items():
        seen = 0
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), histogram.counts, strict=True):
            seen += count
            lines.append(f"{_labelled(f'{name}_bucket', (*labels, ('le', bound)))} {seen}")
        lines.append(f"{_labelled(f'{name}_sum', labels)} {histogram.total:.9g}")
        lines.append(f"{_labelled(f'{name}_count', labels)} {seen}")
