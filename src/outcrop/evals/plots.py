"""Small plots as SVG inside a page: no script, no font, no file from elsewhere. Colours come from the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

WIDTH: Final = 420
HEIGHT: Final = 200
_LEFT: Final = 40
_BOTTOM: Final = 34
_TOP: Final = 18
_BINS: Final = 20


def bars(title: str, values: Sequence[tuple[str, float]], *, top: float, percent: bool = False) -> str:
    """Upright bars with their values above them; `top` is the value of a full bar."""
    room = WIDTH - _LEFT - 8
    step = room / max(1, len(values))
    parts = [_axis()]
    for i, (label, value) in enumerate(values):
        height = (HEIGHT - _TOP - _BOTTOM) * (value / top if top else 0)
        x, y = _LEFT + i * step, HEIGHT - _BOTTOM - height
        shown = f"{value:.0%}" if percent else f"{value:g}"
        parts.append(
            f'<rect class="bar" x="{x + step * 0.15:.1f}" y="{y:.1f}" width="{step * 0.7:.1f}" '
            f'height="{height:.1f}"><title>{escape(label)}: {shown}</title></rect>'
        )
        parts.append(_text(x + step / 2, y - 4, shown))
        parts.append(_text(x + step / 2, HEIGHT - _BOTTOM + 14, label))
    return _figure(title, parts)


def histogram(title: str, values: Sequence[float], unit: str) -> str:
    """How often values of each size occur, in bins of equal width."""
    if not values:
        return ""
    low, high = min(values), max(values)
    width = (high - low) / _BINS or 1.0
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int((value - low) / width))] += 1
    room = WIDTH - _LEFT - 8
    step, most = room / _BINS, max(counts)
    parts = [_axis()]
    for i, count in enumerate(counts):
        height = (HEIGHT - _TOP - _BOTTOM) * count / most
        parts.append(
            f'<rect class="bar" x="{_LEFT + i * step + 0.5:.1f}" y="{HEIGHT - _BOTTOM - height:.1f}" '
            f'width="{step - 1:.1f}" height="{height:.1f}"><title>{low + i * width:.2f}–'
            f"{low + (i + 1) * width:.2f} {escape(unit)}: {count}</title></rect>"
        )
    for share in (0.0, 0.5, 1.0):
        value = low + share * _BINS * width
        parts.append(_text(_LEFT + share * room, HEIGHT - _BOTTOM + 14, f"{value:.2f}"))
    parts.append(_text(_LEFT - 6, _TOP + 6, str(most), "end"))
    parts.append(_text(_LEFT + room / 2, HEIGHT - 4, unit))
    return _figure(title, parts)


def scatter(title: str, points: Sequence[tuple[float, float, str]], across: str, upward: str) -> str:
    """Points in the unit square with the diagonal; each has a label to hover over."""
    side_x, side_y = WIDTH - _LEFT - 8, HEIGHT - _TOP - _BOTTOM
    bottom = HEIGHT - _BOTTOM
    parts = [
        _axis(),
        f'<line class="rule" x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + side_x}" y2="{_TOP}"/>',
    ]
    for x, y, label in points:
        parts.append(
            f'<circle class="{"good" if y > x else "bad"}" cx="{_LEFT + x * side_x:.1f}" '
            f'cy="{bottom - y * side_y:.1f}" r="3.5"><title>{escape(label)}</title></circle>'
        )
    parts.extend(_text(_LEFT + share * side_x, bottom + 14, f"{share:g}") for share in (0, 0.5, 1))
    parts.extend(_text(_LEFT - 6, bottom - share * side_y + 4, f"{share:g}", "end") for share in (0, 0.5, 1))
    parts.append(_text(_LEFT + side_x / 2, HEIGHT - 4, across))
    parts.append(_text(_LEFT + 4, _TOP - 6, upward, "start"))
    return _figure(title, parts)


def _axis() -> str:
    bottom = HEIGHT - _BOTTOM
    return f'<line class="rule" x1="{_LEFT}" y1="{bottom}" x2="{WIDTH - 8}" y2="{bottom}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _figure(title: str, parts: Sequence[str]) -> str:
    name = escape(title)
    body = "".join(parts)
    return (
        f'<figure><figcaption>{name}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{name}">{body}</svg></figure>'
    )
