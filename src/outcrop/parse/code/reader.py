"""A source file becomes a Document; without a grammar that can read it, it is plain text."""

from __future__ import annotations

import logging

from outcrop.parse.code.component import component_outline
from outcrop.parse.code.extract import extract_outline
from outcrop.parse.code.guard import TooHard
from outcrop.parse.code.languages import NoGrammar, find_language
from outcrop.parse.title import file_name
from outcrop.records import Document, Outline

log = logging.getLogger(__name__)

MAX_PARSED_CHARS = 2_000_000
"""A longer file is generated or data; parsing it would take seconds and tell little."""


def read_code(text: str, path: str) -> Document:
    """Source code, titled by its file name: first lines are licences and interpreter lines."""
    language = find_language(path, text)
    outline = None
    if language is not None and len(text) <= MAX_PARSED_CHARS:
        try:
            outline = (
                component_outline(text, path, language) if language.embeds else extract_outline(text, language)
            )
        except NoGrammar as error:  # it still has a language: for filters, chunk sizes and highlighting
            log.info("read by lines", extra={"path": path, "reason": str(error)})
            outline = Outline(language.name)
        except TooHard as error:
            log.info("read as plain text", extra={"path": path, "reason": str(error)})
    return Document(text=text, kind="code", title=file_name(path), outline=outline)
