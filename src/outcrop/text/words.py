"""Words, and the parts of names made of several words."""

from __future__ import annotations

import re
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")
PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
"""One part of a name: camelCase, HTTPServer and utf8 come apart where case or kind of character changes. A run of
capitals ends before a capitalised word (HTTP, Server); letters outside ASCII make parts of their own."""
