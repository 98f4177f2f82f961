"""Outcrop for agents, by the Model Context Protocol: `tools.py` is the table of what they can call."""
