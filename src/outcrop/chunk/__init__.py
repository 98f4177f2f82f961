"""Documents to Chunks, with exact offsets: `strategies.py` is the way in."""
