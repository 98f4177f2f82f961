"""What can go wrong."""

from __future__ import annotations


class CourierError(Exception):
    """The root of all errors here."""


class PoolTimeout(CourierError):
    """No connection became free in time."""


class GaveUp(CourierError):
    """Every attempt failed."""
