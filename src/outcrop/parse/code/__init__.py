"""Source code to a Document with an Outline: its declarations, and the names they use."""

from __future__ import annotations

from outcrop.parse.code.languages import LANGUAGES, Language, find_language, missing_grammars
from outcrop.parse.code.reader import read_code

__all__ = ["LANGUAGES", "Language", "find_language", "missing_grammars", "read_code"]
