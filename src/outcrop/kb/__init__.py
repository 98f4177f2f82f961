"""The knowledge base: plain notes in a folder of the user's, which agents search, read and write."""

from outcrop.kb.knowledge import COLLECTION, KbFile, KbText, KnowledgeBase
from outcrop.kb.teaching import instructions

__all__ = ["COLLECTION", "KbFile", "KbText", "KnowledgeBase", "instructions"]
