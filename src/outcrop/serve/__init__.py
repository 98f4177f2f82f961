"""Interfaces: thin, they call the engine only."""
