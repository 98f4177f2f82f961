"""Write a note to the knowledge base of a running server, and search for it: `demo_http.py URL`."""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.request import Request, urlopen


def ask(method: str, route: str, **body: Any) -> Any:
    """One request with a JSON body; what was answered."""
    url = sys.argv[1].rstrip("/") + route
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)  # noqa: S310 - the demo gives it
    print(f"{method} {route} {json.dumps(body)}")
    with urlopen(request, timeout=30) as response:  # noqa: S310 - the same
        return json.load(response)


ask(
    "PUT",
    "/api/kb/file",
    path="ops/deploys",
    text="# Deploys\n\nWe never deploy on Fridays: nobody is there.\n",
)
for hit in ask("POST", "/api/kb/search", query="may I deploy on Friday?")["hits"]:
    print(f"  {hit['score']:.2f}  {hit['document']['path']}:{hit['line_start']}  {hit['text'].strip()!r}")
