"""Trained arrays to the files that ship."""
