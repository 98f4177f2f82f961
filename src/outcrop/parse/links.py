"""What a document points to: other files, and names in code.

Prose points by links, roles, directives and code in backticks; configuration by values that are paths or dotted names.
Paths are relative to the root, like `SourceFile.path`, and may not exist. Each reader is one pass of one pattern
without lookahead beyond its match.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final
from urllib.parse import unquote

from outcrop.records import NOTE_LINK, Document, Reference
from outcrop.system.limits import timed

MAX_REFERENCES: Final = 200
"""A document with more references, such as a changelog, points to nothing in particular."""

MAX_READ_CHARS: Final = 1_000_000
"""A longer document is a log or a data dump; its head will do."""

FILE_SUFFIXES: Final = frozenset(
    "py pyi js mjs cjs jsx ts mts cts tsx java kt kts scala groovy clj c h cc cpp cxx hpp cs fs go rs swift m mm rb "
    "php pl lua r jl dart ex exs erl hs ml elm nim zig sh bash zsh ps1 bat sql css scss less vue svelte astro proto "
    "graphql tf nix gradle cmake md mdx rst txt adoc json jsonc json5 yaml yml toml ini cfg conf env lock xml html htm "
    "csv tsv ipynb svg png jpg jpeg gif ico pdf zip gz tar whl log db sqlite so dll exe in map snap typed sarif".split()
)
"""File suffixes: `pool.py` is not a member `py` of `pool`."""

_DOMAINS: Final = frozenset("com org net io dev ai app co uk de edu gov info local".split())
_PLAIN_WORDS: Final = frozenset("None True False Null NULL Undefined NaN Note Todo Yes No Linux Python".split())
_NOTHING_TO_SAY: Final = frozenset(("lock", "generated", "minified"))
_KEYS_OF_SHELL: Final = frozenset(
    "run script scripts command cmd entrypoint before_script after_script".split()
)
_NOT_A_PATH = re.compile(r"[a-z][a-z0-9+.-]*:|//|#|\?|.*[{}<>$*|`\s]", re.IGNORECASE)
_MIME = ("application/", "text/", "image/", "audio/", "video/", "multipart/", "font/")

_NAME = re.compile(
    r"""(?:new\s+|await\s+|~|\.)?
        (?P<qualifier>(?:[A-Za-z_$][\w$]*(?:\[\w*\])?(?:\.|::|\#|->|\\)){0,12})
        (?P<name>[A-Za-z_$][\w$]*[!?]?)
        (?P<call>\([^()\n]*\)|\(\))?""",
    re.VERBOSE,
)
_TWO_WORDS = re.compile(r"[a-z0-9$][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")
_CLASS_LIKE = re.compile(r"[A-Z]\w*[a-z]\w+")
_PATH = re.compile(r"(?:\.{0,2}/)?(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*")
_ENTRY_POINT = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*):([A-Za-z_]\w*(?:\.\w+)*)(?:\s*\[[^\]]*\])?")
_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.([A-Za-z_]\w*)")

Found = Iterator[Reference]


def links_in(document: Document, path: str) -> tuple[Reference, ...]:
    """The references of a document at `path`, in order; empty for kinds that are not read. A file is a `link` whose
    name is its path; a Sphinx label is a `link` with the qualifier `ref`, a note of a vault (`[[Note#part|shown]]`) one
    with NOTE_LINK; a name in code is a `use`, qualified by what
    precedes it."""
    read = _READERS.get(document.kind)
    if read is None or document.role in _NOTHING_TO_SAY:
        return ()
    return tuple(islice(read(document.text[:MAX_READ_CHARS], path), MAX_REFERENCES))


# ------------------------------------------------------------------ targets, names and values


def _resolve(target: str, path: str) -> str:
    """A link's target as a path from the root; empty when it leads elsewhere."""
    target = target.strip("<>").strip()
    if not target or "://" in path or _NOT_A_PATH.match(target):
        return ""
    target = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
    folder = "" if target.startswith("/") else posixpath.dirname(path)
    resolved = posixpath.normpath(posixpath.join(folder, target.lstrip("/")))
    return "" if resolved.startswith("..") or resolved == "." else resolved


def _link(target: str, path: str, start: int) -> Found:
    if name := _resolve(target, path):
        yield Reference(name, "link", start)


def _is_file(value: str) -> bool:
    """Whether this looks like a path to a file: with a known suffix, or explicitly relative."""
    if not _PATH.fullmatch(value) or value.startswith(_MIME):
        return False
    first, _, rest = value.partition("/")
    if rest and first.rpartition(".")[2] in _DOMAINS and "." in first[1:]:
        return False
    _, dot, suffix = value.rpartition(".")
    return bool(dot and suffix.lower() in FILE_SUFFIXES) or value.startswith(("./", "../"))


def _span(code: str, path: str, start: int) -> Found:
    """Code in backticks: a path with folders, or a name spelled as only names in code are."""
    code = code.strip()
    if "/" in code:
        if _is_file(code):
            # Without leading dots it is relative to the root, wherever the document is.
            yield from _link(code, path if code.startswith(".") else "", start)
        return
    match = _NAME.fullmatch(code)
    if match is None:
        return
    name, qualifier = match["name"], match["qualifier"].rstrip(".:#->\\")
    if not match["call"]:
        if name in _PLAIN_WORDS or (qualifier and (name in FILE_SUFFIXES or name in _DOMAINS)):
            return
        if not qualifier and not _TWO_WORDS.search(name) and not _CLASS_LIKE.fullmatch(name):
            return
    yield Reference(name, "use", start, qualifier)


def _qualified(dotted: str, start: int) -> Found:
    """A name, known to be one: `a.b.C` is C of a.b."""
    qualifier, _, name = dotted.strip("~!. ").partition("(")[0].rpartition(".")
    if name.isidentifier():
        yield Reference(name, "use", start, qualifier)


def _value(value: str, path: str, start: int, *, lone_module: bool = False) -> Found:
    """A configuration value: an entry point, a path or a dotted name."""
    if len(value) > 200 or value.startswith("/"):  # a path on somebody's machine, or a route
        return
    if _is_file(value):
        # Workflows run at the root of the repository, whatever folder they are in.
        yield from _link(value, "" if path.startswith(".github/") else path, start)
    elif entry := _ENTRY_POINT.fullmatch(value):
        # `nginx:latest` is an image; a module can be a single word only where images cannot occur.
        if lone_module or "." in entry[1]:
            inner, _, name = entry[2].rpartition(".")
            yield Reference(name, "use", start, f"{entry[1]}.{inner}" if inner else entry[1])
    elif (dotted := _DOTTED.fullmatch(value)) and dotted[2] not in FILE_SUFFIXES | _DOMAINS:
        yield Reference(dotted[2], "use", start, dotted[1])


# ------------------------------------------------------------------ prose

_MARKDOWN = re.compile(
    r"""^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+(?s:.*?)(?:^[ \t>]*+(?P=fence)|\Z)
      | <!--(?s:.*?)(?:-->|\Z)
      | (?<!`)(?P<ticks>`{1,2})(?!`)(?P<code>[^`\n]{1,200})(?P=ticks)(?!`)
      | \[\[(?!\s)(?P<note>[^\[\]\n|#^]{1,200})(?:[#^|][^\[\]\n]{0,300})?\]\]
      | !\[[^\[\]\n]{0,500}\](?:\([^()\n]{0,1000}\))?
      | \]\([ \t]*(?P<target><[^<>\n]{1,500}>|[^\s()<>]{1,500}(?:\([^\s()]{0,100}\)[^\s()]{0,100})?)
      | ^[ ]{0,3}\[[^\[\]\n]{1,200}\]:[^\n]*
      | \[(?P<label>[^\[\]\n`]{1,200})\](?!\()""",
    re.VERBOSE | re.MULTILINE,
)
_DEFINITION = re.compile(
    r"^[ ]{0,3}\[(?!\^)([^\[\]\n]{1,200})\]:[ \t]*(<[^<>\n]{1,500}>|\S{1,500})", re.MULTILINE
)


def _read_markdown(text: str, path: str) -> Found:
    definitions = (
        {label.casefold(): target for label, target in _DEFINITION.findall(text)} if "]:" in text else {}
    )
    for match in timed(_MARKDOWN.finditer(text)):
        kind = match.lastgroup
        if match["code"]:
            yield from _span(match["code"], path, match.start("code"))
        elif match["note"]:
            yield Reference(match["note"].strip().removesuffix(".md"), "link", match.start("note"), NOTE_LINK)
        elif kind == "target":
            yield from _read_target(match["target"], path, match.start("target"))
        elif kind == "label" and (target := definitions.get(match["label"].casefold())):
            yield from _read_target(target, path, match.start("label"))


def _read_target(target: str, path: str, start: int) -> Found:
    """A link's target. One from the site's root without a file suffix is a page of the site: `/api/pool`."""
    if target.startswith("/") and not target.startswith("//") and "/" in path:
        route = re.split(r"[#?]", target, maxsplit=1)[0].removesuffix(".html")
        route += "index" if route.endswith("/") else ""
        if "." not in posixpath.basename(route):
            yield from _page(route, path, start)
            return
    yield from _link(target, path, start)


_RST = re.compile(
    r"""``(?P<code>[^`\n]{1,200})``
      | (?<![\w:]):(?:[\w+-]{1,20}:){0,2}?(?P<role>[\w+-]{1,20}):`(?P<of>[^`]{1,300})`
      | `[^`<>]{1,200}<(?P<target>[^`<>\s]{1,300})>`__?
      | ^[ \t]*\.\.[ ](?:[\w+-]{1,20}:)?(?P<directive>[\w+-]{1,30})::[ \t]*(?P<argument>[^\n]*)
      | ^\.\.[ ]_[^:\n]{1,200}:[ \t]+(?P<defined>\S{1,300})[ \t]*$""",
    re.VERBOSE | re.MULTILINE,
)
_TITLED = re.compile(r"[^<>]*<([^<>]+)>\s*", re.DOTALL)
_ENTRY = re.compile(r"[ \t]*+(?P<entry>[^\n]*)\n?")
_NAMING_ROLES: Final = frozenset(
    "class func function meth method mod module attr exc data obj const type member struct macro var enum".split()
)
_NAMING_DIRECTIVES: Final = frozenset(
    "automodule autoclass autofunction automethod autoattribute autodata autoexception autoprotocol module "
    "currentmodule".split()
)


def _read_rst(text: str, path: str) -> Found:
    for match in timed(_RST.finditer(text)):
        if match["code"]:
            yield from _span(match["code"], path, match.start("code"))
        elif match["role"]:
            yield from _read_role(match["role"], match["of"], path, match.start("of"))
        elif match["directive"]:
            yield from _read_directive(match, text, path)
        elif match["target"]:
            yield from _link(match["target"].removesuffix("_"), path, match.start("target"))
        elif match["defined"]:
            yield from _link(match["defined"], path, match.start("defined"))


def _read_role(role: str, content: str, path: str, start: int) -> Found:
    titled = _TITLED.fullmatch(content)
    target = (titled[1] if titled else content).strip()
    if target.startswith("!"):  # Sphinx: not to be linked
        return
    if role in _NAMING_ROLES:
        yield from _qualified(target, start)
    elif role == "ref":
        yield Reference(" ".join(target.split()), "link", start, "ref")
    elif role == "doc":
        yield from _page(target, path, start)
    elif role == "download":
        yield from _link(target, path, start)


def _read_directive(match: re.Match[str], text: str, path: str) -> Found:
    directive, argument, start = match["directive"], match["argument"].strip(), match.start("argument")
    if directive in _NAMING_DIRECTIVES:
        yield from _qualified(argument, start)
    elif directive in {"include", "literalinclude"}:
        yield from _link(argument, path, start)
    elif directive == "toctree":
        yield from _read_toctree(text, match.end() + 1, path)


def _read_toctree(text: str, start: int, path: str) -> Found:
    """The indented lines after the directive, without its options."""
    while start < len(text) and text[start] in " \t\n" and (line := _ENTRY.match(text, start)):
        entry = line["entry"].strip()
        if entry and not entry.startswith(":"):
            titled = _TITLED.fullmatch(entry)
            yield from _page(titled[1] if titled else entry, path, line.start("entry"))
        start = line.end()


def _page(target: str, path: str, start: int) -> Found:
    """A page as Sphinx names it: without suffix, which is its neighbours', and with `/` for the docs' root."""
    if target.startswith("/") and "/" in path:
        target = posixpath.join("/", path.partition("/")[0], target.lstrip("/"))
    suffix = posixpath.splitext(path)[1]
    for reference in _link(target, path, start):
        named = posixpath.splitext(reference.name)[1].lstrip(".").lower() in FILE_SUFFIXES
        yield reference if named else Reference(reference.name + suffix, "link", start)


# ------------------------------------------------------------------ configuration

_TOML_STRING = re.compile(
    r'"""(?s:.*?)(?:"""|\Z)'
    r"|'''(?s:.*?)(?:'''|\Z)"
    r'|"(?P<double>(?:[^"\\\n]++|\\.)*+)"(?P<key>[ \t]*[=.])?'
    r"|'(?P<single>[^'\n]*+)'(?P<quoted_key>[ \t]*[=.])?"
    r"|\#[^\n]*+"
)
_JSON_STRING = re.compile(r'"(?P<value>(?:[^"\\\n]++|\\.)*+)"(?P<key>\s*+:)?')
_YAML_VALUE = re.compile(
    r"""^[ \t]*+(?:(?P<dash>-)[ \t]+)?(?:["']?(?P<key>[\w./-]{1,80})["']?:[ \t]+)?
        (?P<quote>["']?)(?P<value>[\w./@+-][\w./@+:-]{1,199})(?P=quote)[ \t]*(?:\#[^\n]*)?$""",
    re.VERBOSE | re.MULTILINE,
)


def _read_toml(text: str, path: str) -> Found:
    for match in timed(_TOML_STRING.finditer(text)):
        group = "double" if match["double"] is not None else "single"
        if match[group] and not match["key"] and not match["quoted_key"]:
            yield from _value(match[group], path, match.start(group), lone_module=True)


def _read_json(text: str, path: str) -> Found:
    for match in timed(_JSON_STRING.finditer(text)):
        if not match["key"]:
            yield from _value(match["value"], path, match.start("value"))


def _read_yaml(text: str, path: str) -> Found:
    folder, name = posixpath.split(path)
    if name in {"mkdocs.yml", "mkdocs.yaml"}:  # whose pages are in the folder beside it
        path = posixpath.join(folder, "docs", name)
    for match in timed(_YAML_VALUE.finditer(text)):
        if (match["dash"] or match["key"]) and match["key"] not in _KEYS_OF_SHELL:
            yield from _value(match["value"], path, match.start("value"))


_READERS: Final[dict[str, Callable[[str, str], Found]]] = {
    "markdown": _read_markdown,
    "text": _read_markdown,  # comments have backticks and links too
    "rst": _read_rst,
    "toml": _read_toml,
    "json": _read_json,
    "yaml": _read_yaml,
}
