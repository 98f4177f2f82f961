"""Texts to vectors, and pairs to scores."""
