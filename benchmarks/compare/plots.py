"""Plots of the comparison as SVG: bars, best on top, Outcrop in colour. Plain text, which a test can compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LABEL_X, BAR_X, BAR_WIDTH, VALUE_WIDTH = 8, 150, 330, 90
ROW, TITLE, GAP = 20, 30, 14
WIDTH = BAR_X + BAR_WIDTH + VALUE_WIDTH
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1c1f22; }
.title { font-weight: 600; }
.value { fill: #575d63; }
.peer { fill: #b9b5a9; }
.ours { fill: #0a6b5c; }
@media (prefers-color-scheme: dark) {
  text { fill: #e7e8e5; } .value { fill: #a6adb3; } .peer { fill: #4a535c; } .ours { fill: #66cfba; }
}
"""


@dataclass(frozen=True, slots=True)
class Panel:
    """One measure: `rows` are (engine, value). `low_is_good` decides which stands on top.

    On a scale of logarithms the shortest bar is the smallest value: lengths tell the order, the numbers tell the rest.
    """

    title: str
    rows: tuple[tuple[str, float], ...]
    form: str
    low_is_good: bool
    logarithmic: bool = False


def draw(title: str, panels: Sequence[Panel], ours: str = "outcrop") -> str:
    """The plot of some panels, one below the other."""
    parts, y = [], GAP
    for panel in panels:
        parts.append(f'<text class="title" x="{LABEL_X}" y="{y + 14}">{escape(panel.title)}</text>')
        y += TITLE
        for name, value in sorted(panel.rows, key=lambda row: row[1] if panel.low_is_good else -row[1]):
            parts += _bar(panel, name, value, y, ours)
            y += ROW
        y += GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"',
            'role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            *parts,
            "</svg>",
            "",
        ]
    )


def _bar(panel: Panel, name: str, value: float, y: int, ours: str) -> list[str]:
    length = max(round(BAR_WIDTH * _share(panel, value)), 1)
    kind = "ours" if name.partition(",")[0] == ours else "peer"
    return [
        f'<text x="{LABEL_X}" y="{y + 13}">{escape(name)}</text>',
        f'<rect class="{kind}" x="{BAR_X}" y="{y + 3}" width="{length}" height="{ROW - 6}" rx="2"/>',
        f'<text class="value" x="{BAR_X + length + 6}" y="{y + 13}">{escape(panel.form.format(value))}</text>',
    ]


def _share(panel: Panel, value: float) -> float:
    """How long a bar is, of the longest."""
    values = [each for _, each in panel.rows]
    most = max(values)
    if not panel.logarithmic:
        return value / most if most > 0 else 0.0
    least = min(each for each in values if each > 0) / 2
    return math.log(max(value, least) / least) / math.log(most / least)
