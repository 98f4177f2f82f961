"""Mutants that live and may: nobody could tell them from the code, or only by a figure that is judgement."""

from __future__ import annotations

ACCEPTED: dict[str, str] = {}
"""Name of a mutant → why no test should tell it from the code."""
