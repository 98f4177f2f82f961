"""Interfaces: thin, they only call the engine."""
