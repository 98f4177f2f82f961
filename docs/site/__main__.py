"""`python -m docs.site [FOLDER]`: build the site; exit with 1 when anything in it is broken."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.site.build import read_site, write_site
from docs.site.contents import ROOT

out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".artifacts" / "site"
site = read_site()
for problem in site.problems:
    print(problem, file=sys.stderr)
if site.problems:
    sys.exit(1)
write_site(site, out)
print(f"{len(site.pages)} pages: open {out / 'index.html'}")
