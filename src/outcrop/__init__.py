"""Outcrop: the right passages of your documents, on your own machine, with exact sources."""

from __future__ import annotations

__version__ = "0.1.0"
