"""Names and paths that a text mentions. Time is linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from outcrop.read.traces import tidy_path

MAX_NAME_CHARS: Final = 120
MAX_PATH_CHARS: Final = 300
"""Longer ones are data (not measured)."""

SOURCE_EXTENSIONS: Final = frozenset(
    "adoc bash bat c cc cfg clj cmake conf cpp cs css csv cu cxx dart ex exs fs go gradle graphql groovy "
    "h hpp hs htm html ini ipynb java jl js json jsonl jsx kt kts less lua m md mjs cjs ml mm nim php pl "
    "proto ps1 py pyi pyx r rake rb rs rst sass scala scss sh sql svelte swift tf toml ts tsx txt vb vue "
    "xml yaml yml zig zsh".split()
)
_FILE_NAMES: Final = frozenset(
    {"Makefile", "Dockerfile", "Gemfile", "Rakefile", "Jenkinsfile", "CMakeLists.txt"}
)
_PRODUCTS: Final = frozenset(
    "node.js vue.js next.js nuxt.js react.js express.js three.js d3.js nest.js".split()
)
_NOT_NAMES: Final = frozenset(
    "async await bool boolean break case catch class const continue def default del dict do double elif "
    "else end enum except export extends false final finally float fn for from func function github "
    "gitlab go if impl implements import in int interface javascript lambda let list long map match mod "
    "mut namespace new nil none not null object or package pass print private protected pub public raise "
    "readme return self set static str string struct super switch this throw throws trait true try tuple "
    "type typescript undefined use using val var void while with yield println printf".split()
)
URL: Final = re.compile(r"\bhttps?://[^\s<>\"'`)\]]++")
_TICKED: Final = re.compile(r"`([^`\n]{1,160})`")
_BLOB: Final = re.compile(r"/(?:blob|tree|src/branch)/[^/]++/([^#?]++)(?:[^#]*+#L(\d++))?")
# Linear: what is repeated is possessive, and a match begins only where such a run begins.
_PATH: Final = re.compile(
    r"(?<![\w.@+~/\\-])(?=[\w.@+~/\\-])(?:[A-Za-z]:(?=[\\/]))?(~?[\w.@+-]*+(?:[/\\][\w.@+-]++)*+[/\\]?+)"
    r"(?::(\d{1,7})\b(?::\d++)?|#L(\d++)|,? (?:on |at )?line (\d{1,7})\b)?"
)
NAME: Final = re.compile(
    r"""(?x)
    \b[A-Za-z_]\w*+(?:(?:\.|::|->|\#)[A-Za-z_]\w*+)+(?:\(\))?   # os.path.join, Pool::acquire
  | \b[A-Za-z_]\w*+\(\)                                         # call()
  | \b[a-z][a-z0-9]*+[A-Z]\w*+                                  # camelCase
  | \b[A-Z][a-z0-9]++[A-Z]\w*+                                  # PascalCase
  | \b[A-Z]{2,}+[a-z]\w++                                       # HTTPServer
  | \b[A-Za-z0-9]++(?:_++[A-Za-z0-9]++)++ | \b_++[A-Za-z]\w*+   # snake_case, SCREAMING_CASE, _private
    """
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\.|::|->|#)[A-Za-z_$~][\w$]*+)*(?:\(\))?")
_DECLARED: Final = re.compile(
    r"\b(?:def|class|func|fn|function|interface|struct|trait|enum|type|module|impl|record|object)\s+([A-Za-z_]\w{2,})"
)
_CALLED: Final = re.compile(r"\b([A-Za-z_]\w{2,})\(")


def plain_text(text: str) -> str:
    """A text without addresses and backticks."""
    return URL.sub(" ", text).replace("`", " ")


def ticked_names(text: str) -> list[str]:
    """Names of code that stand in backticks."""
    return [name for ticked in _TICKED.findall(text) if (name := _identifier(ticked))]


def spoken_names(text: str) -> list[str]:
    """Words of prose that look like names of code."""
    found = (raw.removesuffix("()") for raw in NAME.findall(plain_text(text)))
    return [name for name in found if is_name(name) and not _as_path(name, None)]


def pasted_names(lines: list[str]) -> list[str]:
    """Names in pasted code and logs: those declared, then compound ones, then those called."""
    declared = [name for line in lines for name in _DECLARED.findall(line)]
    compound = [found.removesuffix("()") for line in lines for found in NAME.findall(line)]
    called = [name for line in lines for name in _CALLED.findall(line)]
    return [name for name in dict.fromkeys((*declared, *compound, *called)) if is_name(name)]


def is_name(name: str) -> bool:
    """Whether a word may be a name that somebody chose."""
    return 2 < len(name) <= MAX_NAME_CHARS and name.lower() not in _NOT_NAMES


def _identifier(ticked: str) -> str:
    name = ticked.strip()
    if not _IDENTIFIER.fullmatch(name) or not is_name(name) or _as_path(name, None):
        return ""
    return name.removesuffix("()")


def paths_in(text: str) -> Iterable[str]:
    """Paths in a text, with the line where one is given, in order."""
    for url in URL.findall(text):
        if blob := _BLOB.search(url):
            yield blob[1].rstrip(".,;:") + (f":{blob[2]}" if blob[2] else "")
    for found in _PATH.finditer(URL.sub(" ", text)):
        if path := _as_path(found[1], found[2] or found[3] or found[4]):
            yield path


def _as_path(word: str, line: str | None) -> str:
    """The word as a path, or nothing when it is `and/or`, `Node.js` or any other word."""
    path = tidy_path(word.rstrip("."))
    if not 2 < len(path) <= MAX_PATH_CHARS or not re.search(r"[A-Za-z]", path) or path.lower() in _PRODUCTS:
        return ""
    folders, _, name = path.rpartition("/")
    stem, _, extension = name.rpartition(".")
    is_file = (stem and extension.lower() in SOURCE_EXTENSIONS) or name in _FILE_NAMES
    is_folder = bool(folders) and (not name or folders.count("/") >= 1 or word.startswith(("./", "/", "~")))
    if not is_file and not is_folder:
        return ""
    return f"{path}:{line}" if line and is_file else path
