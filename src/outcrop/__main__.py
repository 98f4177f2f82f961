"""`python -m outcrop` is the command line."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # `python -m` puts the current folder first on the module path, and that may be the folder being indexed.
    here, own = Path.cwd(), Path(__file__).parent.parent
    if not sys.flags.safe_path and sys.path and Path(sys.path[0]) == here != own:
        del sys.path[0]

    from outcrop.serve.cli.app import main

    main()
