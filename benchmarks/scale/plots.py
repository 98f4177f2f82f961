"""Cost curves as small SVG files, drawn from a kept result: `python -m benchmarks.scale.plots RESULT.json`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT

FOLDER = ROOT / "docs" / "explanation" / "scale"
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 300, 62, 46, 34, 150
COLOURS = ("#1f5fa8", "#c25e00", "#3a7d34")

PLOTS: dict[str, tuple[str, str, Sequence[tuple[str, str, float]]]] = {
    "rate": ("Ingest rate", "thousand characters a CPU second", (("ingest", "character_rate", 1e-3),)),
    "search": ("CPU time of a search", "ms", (("p50", "search_p50_ms", 1), ("p95", "search_p95_ms", 1))),
    "memory": (
        "Memory of a searching process",
        "MB",
        (("RSS", "search_rss", 1e-6), ("of its own", "search_anonymous", 1e-6)),
    ),
    "size": ("Size of the index", "times the text", (("index", "index_to_text", 1),)),
}
"""File name → title, unit, and (label, column of the table Growth, factor) of each line."""


def draw_plots(result: Path, folder: Path = FOLDER) -> list[Path]:
    """Draw the curves of a result of `benchmarks.scale`; where they are."""
    points = json.loads(result.read_text("utf-8"))["tables"]["Growth"]
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, (title, unit, lines) in PLOTS.items():
        path = folder / f"{name}.svg"
        series = [
            (label, [(p["chunks"], factor * p[column]) for p in points]) for label, column, factor in lines
        ]
        path.write_text(draw(title, unit, series), "utf-8")
        drawn.append(path)
    return drawn


def draw(title: str, unit: str, series: Sequence[tuple[str, list[tuple[float, float]]]]) -> str:
    """Lines over the number of chunks, which is drawn on a logarithmic scale; values begin at nothing."""
    every = [point for _, points in series for point in points]
    low, high = math.log10(min(x for x, _ in every)), math.log10(max(x for x, _ in every))
    step = _step(max(y for _, y in every))
    most = step * math.ceil(max(y for _, y in every) / step)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low) / max(high - low, 1e-9)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / most * (HEIGHT - BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#333"><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-size="14">{title}, {unit}</text>',
    ]
    for i in range(round(most / step) + 1):
        _, y = place(10**low, i * step)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{i * step:g}</text>')
    for x in sorted({x for x, _ in every}):
        at, _ = place(x, 0)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_short(x)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">chunks</text>')
    for colour, (label, points) in zip(COLOURS, series, strict=False):
        places = [place(*point) for point in points]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
        x, y = places[-1]
        parts.append(
            f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{label} {points[-1][1]:.3g}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _step(most: float) -> float:
    """The distance of the lines behind: four to eight of them, at round values."""
    rough = most / 5
    power: float = 10 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)


def _short(count: Any) -> str:
    return f"{count / 1e6:.3g} M" if count >= 1e6 else f"{count / 1e3:.0f} k"


if __name__ == "__main__":
    draw_plots(Path(sys.argv[1]))
