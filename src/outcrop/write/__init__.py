"""WRITE PATH: a folder, a page or a text becomes documents of the index; `add.py` is where it starts."""
