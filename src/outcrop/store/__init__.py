"""Keeps documents, chunks and vectors, and gives them back."""
