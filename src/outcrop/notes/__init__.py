"""The knowledge base: plain notes in a folder of the user's, which agents search, read and write."""

from outcrop.notes.knowledge_base import COLLECTION, KbFile, KbText, KnowledgeBase
from outcrop.notes.teaching import instructions

__all__ = ["COLLECTION", "KbFile", "KbText", "KnowledgeBase", "instructions"]
