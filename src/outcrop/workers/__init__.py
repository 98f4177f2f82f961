"""Child processes: how they are started (children.py), watched (process.py), and talked to (frames.py)."""
