"""The knowledge base: plain notes in a folder of the user's, which agents search, read and write."""

from importlib import resources

from outcrop.notes.checks import NoteProblem, SameSubject
from outcrop.notes.indexed import COLLECTION, KbFile
from outcrop.notes.knowledge_base import KbText, KnowledgeBase

__all__ = ["COLLECTION", "KbFile", "KbText", "KnowledgeBase", "NoteProblem", "SameSubject", "instructions"]


def instructions() -> str:
    """The text that teaches an agent to use Outcrop: search, then read; what a score means; when to write a note."""
    return resources.files("outcrop.notes").joinpath("instructions.md").read_text("utf-8")
