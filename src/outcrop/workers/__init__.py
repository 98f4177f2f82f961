"""Child processes: how they are started and watched (process.py), and talked to (frames.py)."""
