"""`python -m outcrop` is the command line."""

from __future__ import annotations

from outcrop.serve.cli import main

if __name__ == "__main__":
    main()
