"""Where the lines of a page are: the connected parts of the detector's map, each as a rectangle that may be tilted."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass

INK: Final = 0.3
"""From this probability on a pixel is text; this and the next two are the model's own settings."""
MIN_MEAN: Final = 0.5
UNCLIP: Final = 1.6
"""The model was taught the middle of each line: its parts are grown by area × this ÷ perimeter."""
MIN_SIDE: Final = 3
"""Pixels of the map: less is dirt, as in the model's own settings."""
LONG: Final = 3.0
"""From this ratio of its sides on a part shows by itself how it is tilted (not measured)."""
MAX_LINES: Final = 2_000
"""A dense newspaper page has 1 000; a page of dots must not cost hours."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A line of text in pixels: its middle, its length and height, and its angle in radians, clockwise as y grows
    downwards."""

    x: float
    y: float
    length: float
    height: float
    angle: float

    def scaled(self, by: float) -> Strip:
        """The same on a picture that many times as large."""
        return Strip(self.x * by, self.y * by, self.length * by, self.height * by, self.angle)


def find_parts(probability: NDArray[np.float32]) -> list[Strip]:
    """The lines in a map, longest first; at most MAX_LINES."""
    rows, starts, ends = _runs(probability >= INK)
    if not len(rows):
        return []
    labels = _label(rows, starts, ends)
    sums = np.concatenate(
        (np.zeros((len(probability), 1)), np.cumsum(probability, axis=1, dtype=np.float64)), axis=1
    )
    weight = sums[rows, ends] - sums[rows, starts]
    parts = _measure(rows, starts, ends, labels, weight)
    return sorted(parts, key=lambda strip: -strip.length)[:MAX_LINES]


Positions = NDArray[np.intp]


def _runs(ink: NDArray[np.bool_]) -> tuple[Positions, Positions, Positions]:
    """Runs of ink in reading order: their row, their first column and the one after the last."""
    padded = np.zeros((ink.shape[0], ink.shape[1] + 2), np.int8)
    padded[:, 1:-1] = ink
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    _, ends = np.nonzero(change == -1)
    return rows, starts, ends


def _label(rows: Positions, starts: Positions, ends: Positions) -> Positions:
    """The part that each run belongs to: runs of neighbouring rows that touch, also by a corner, are of one part."""
    parents = list(range(len(rows)))

    def root(of: int) -> int:
        while parents[of] != of:
            parents[of] = parents[parents[of]]
            of = parents[of]
        return of

    width = int(ends.max()) + 2
    first = np.searchsorted(rows * width + ends, (rows - 1) * width + starts, side="left")
    last = np.searchsorted(rows * width + starts, (rows - 1) * width + ends, side="right")
    for run, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for above in range(low, high):
            one, other = root(run), root(above)
            if one != other:
                parents[max(one, other)] = min(one, other)
    roots = np.array([root(run) for run in range(len(parents))])
    return np.unique(roots, return_inverse=True)[1]


def _measure(
    rows: Positions, starts: Positions, ends: Positions, labels: Positions, weight: NDArray[np.float64]
) -> list[Strip]:
    """A rectangle around each part that is text for sure."""
    size = (ends - starts).astype(np.float64)
    middle = (starts + ends - 1) / 2.0

    def total(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(labels, values, minlength=int(labels.max()) + 1).astype(np.float64)

    area = total(size)
    x, y = total(size * middle) / area, total(size * rows) / area
    own_spread = (size * size - 1) / 12.0
    xx = total(size * (middle * middle + own_spread)) / area - x * x
    yy = total(size * rows * rows) / area - y * y
    xy = total(size * middle * rows) / area - x * y
    spread = np.hypot(xx - yy, 2 * xy)
    ratio = np.sqrt((xx + yy + spread + 1e-9) / np.maximum(xx + yy - spread, 1 / 12))
    angles = np.arctan2(2 * xy, xx - yy) / 2
    usual = _usual_angle(angles[ratio >= LONG], area[ratio >= LONG])
    angles = np.where(ratio >= LONG, angles, usual)
    along, across = _extents(rows, starts, ends, labels, angles)
    sure = total(weight) / area >= MIN_MEAN
    strips = []
    for part in np.flatnonzero(sure & (np.minimum(np.ptp(along, axis=1), np.ptp(across, axis=1)) >= MIN_SIDE)):
        angle = float(angles[part])
        cos, sin = math.cos(angle), math.sin(angle)
        (low, high), (top, bottom) = along[part].tolist(), across[part].tolist()
        length, height = high - low, bottom - top
        grown = length * height * UNCLIP / (2 * (length + height))
        u, v = (low + high) / 2, (top + bottom) / 2
        strips.append(
            Strip(u * cos - v * sin, u * sin + v * cos, length + 2 * grown, height + 2 * grown, angle)
        )
    return strips


def _usual_angle(angles: NDArray[np.float64], areas: NDArray[np.float64]) -> float:
    """The median of the tilt, by area; of lines that stand upright too."""
    if not len(angles):
        return 0.0
    order = np.argsort(angles)
    filled = np.cumsum(areas[order])
    return float(angles[order][np.searchsorted(filled, filled[-1] / 2)])


def _extents(
    rows: Positions, starts: Positions, ends: Positions, labels: Positions, angles: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each part reaches along its angle and across it."""
    cos, sin = np.cos(angles)[labels], np.sin(angles)[labels]
    along = np.full((len(angles), 2), (math.inf, -math.inf))
    across = along.copy()
    for x, y in ((starts, rows), (ends, rows), (starts, rows + 1), (ends, rows + 1)):
        for reach, values in ((along, x * cos + y * sin), (across, y * cos - x * sin)):
            np.minimum.at(reach[:, 0], labels, values)
            np.maximum.at(reach[:, 1], labels, values)
    return along, across
