"""`python -m docs.site [FOLDER]`: build the site; exit with 1 when anything in it is broken."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.site.build import read_site, write_made, write_site
from docs.site.contents import ROOT

parser = argparse.ArgumentParser(prog="python -m docs.site", description="Build the site of the documentation.")
parser.add_argument(
    "folder", nargs="?", type=Path, default=ROOT / ".artifacts" / "site", help="where it is written"
)
parser.add_argument(
    "--pages", action="store_true", help="only write into the pages what is made from code and results"
)
asked = parser.parse_args()
out = asked.folder
if asked.pages:
    for page in write_made():
        print(f"wrote {page}")
    sys.exit()
site = read_site()
for problem in site.problems:
    print(problem, file=sys.stderr)
if site.problems:
    sys.exit(1)
write_site(site, out)
print(f"{len(site.pages)} pages: open {out / 'index.html'}")
