"""Embedding models and rerankers side by side."""
