"""What works on texts: chunkers, masking, terms, queries, filters, phrases, conversations, excerpts."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import pairwise

import apsw
from tests.mask.fakes import FAKES, private_key
from tests.store.builders import make_write, put

from outcrop.chunk.strategies import STRATEGIES, ChunkOptions, chunk_document
from outcrop.code.request import read_conversation
from outcrop.contracts import Store
from outcrop.engine import as_timestamp
from outcrop.errors import QueryError
from outcrop.index.query import MAX_QUERY_CHARS, MAX_SYMBOLS, read_query
from outcrop.mask import mask_secrets
from outcrop.rank.excerpt import passage
from outcrop.read.question import read_question
from outcrop.records import Document, Filter, Heading, Message
from outcrop.serve.excerpt import Marker, best_lines
from outcrop.store.filters import glob_plain, glob_regex, path_matches
from outcrop.store.sqlite.store import open_sqlite
from outcrop.text.phrases import holds_phrase, phrase_finder, phrase_words
from outcrop.text.scripts import UNSPACED_CHARACTER
from outcrop.text.terms import Terms
from proofs.chunk_properties import broken_promises
from proofs.fuzz.mutate import change_some
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import CHOICES_BYTES, Draw, Target, made_folder, need

PROSE = ("md", "rst", "txt", "html", "py", "json", "yaml", "go", "c")
"""Kinds of seed from which texts are made."""


def make_text(chance: random.Random, seeds: Seeds, longest: int = 2_500) -> bytes:
    """Choices, then a changed text of some kind."""
    return chance.randbytes(CHOICES_BYTES) + change_some(chance, seeds.of(chance.choice(PROSE)), longest)


# ------------------------------------------------------------------ chunkers


def check_chunks(data: bytes) -> None:
    """Any text with any structure over it, under any options, is cut as promised."""
    draw = Draw(data)
    options = ChunkOptions(
        strategy=draw.pick(sorted(STRATEGIES)),  # type: ignore[arg-type]
        target_tokens=draw.pick((0, draw.whole(1, 12), draw.whole(13, 300))),
        overlap=draw.pick((None, draw.whole(0, 50) / 100)),
        min_chars=draw.pick((None, draw.whole(0, 200))),
    )
    kind, share = draw.pick(("text", "markdown", "code", "json", "pdf")), draw.whole(1, 40)
    structure = random.Random(draw.whole(0, 65_000))
    text = draw.text()
    lines = [0] + [at.end() for at in re.finditer("\n", text) if at.end() < len(text)]
    some = sorted(structure.sample(lines, len(lines) // share)) if text else []
    paged = draw.byte() % 3 == 0
    pages = (0, *sorted(structure.randrange(len(text) + 1) for _ in range(4))) if paged else ()
    document = Document(
        text=text,
        kind=kind,
        title="",
        headings=tuple(Heading(structure.randint(1, 6), f"H{at}", at) for at in some),
        pages=pages,
        keys=tuple(some),
    )
    chunks = chunk_document(document, options)
    wrong = broken_promises(document, options, chunks)
    need(not wrong, "; ".join(wrong[:3]))
    need(bool(chunks) == bool(text.strip()), "a text that is not blank has chunks")


# ------------------------------------------------------------------ masking

_KEYS = [kept + secret for kept, secret in FAKES.values()]
_AROUND = (
    "password = ", "API_KEY=", 'token: "', "Authorization: Bearer ", "https://user:", "@host.io/", "sig=", '"', "'",
    "`",
    "\n", " ", "\\n", "%3D", "****", "{{", "}}", "<", ">", ",", "&", "-----BEGIN PRIVATE KEY-----", "é", "密", "\t",
    ": ", "=",
    "-----END PRIVATE KEY-----", "Tr0ub4dor&3", "secret", "export ", "$(", "${X}", "-", "_", ".", "#", "//", "/", "|",
)  # fmt: skip


def _make_secrets(chance: random.Random, seeds: Seeds) -> bytes:
    parts = []
    for _ in range(chance.randrange(1, 12)):
        key = private_key("", 2) if chance.random() < 0.05 else chance.choice(_KEYS)
        cut = chance.randrange(len(key) + 1)
        parts.append(chance.choice((key, key[:cut], key[cut:], *[chance.choice(_AROUND)] * 6)))
    text = "".join(parts).encode()
    return chance.randbytes(CHOICES_BYTES) + (
        text if chance.random() < 0.6 else change_some(chance, [text, *seeds.of(chance.choice(PROSE))], 4_000)
    )


def check_masking(data: bytes) -> None:
    """Nothing moves, only stars come in, and masking again changes nothing."""
    text = Draw(data).text()
    masked, count = mask_secrets(text)
    need(len(masked) == len(text), "the length stays")
    need(all(new in (old, "*") for old, new in zip(text, masked, strict=True)), "only stars come in")
    need(re.findall(r"\s", masked) == re.findall(r"\s", text), "whitespace stays")
    need((count > 0) == (masked != text), "what is counted is what is masked")
    need(mask_secrets(masked) == (masked, 0), "masking again changes nothing")


# ------------------------------------------------------------------ queries and filters


def check_query(data: bytes) -> None:
    """Every text is a query; its phrases, written as a query again, are the same phrases."""
    text = Draw(data).text()
    query = read_query(text)
    need(query == read_query(text), "the same text is the same query")
    need(len(query.text) <= 2 * MAX_QUERY_CHARS and len(query.symbols) <= MAX_SYMBOLS, "a query is bounded")
    query.text.encode("utf-8")
    need(all(symbol.name for symbol in query.symbols), "a symbol has a name")
    need(all(phrase == phrase.strip() and phrase for phrase in query.phrases), "phrases are stripped")
    written = " ".join(f"“{phrase}”" if '"' in phrase else f'"{phrase}"' for phrase in query.phrases)
    need(read_query(written[:MAX_QUERY_CHARS]).phrases[:20] == query.phrases[:20], "phrases stay what they are")
    need(isinstance(query.is_empty, bool), "a query is empty or not")
    for surface, terms in _terms().words(query.text):
        need(surface and terms, f"a word {surface!r} has terms")


@cache
def _terms() -> Terms:
    return Terms()


PATHS = (
    "a.md", "notes/a.md", "notes/b.txt", "notes/deep/er/c.md", "src/pool.py", "src/x[1].py", "a b/c d.md", "é/ü.md",
    "notes", "x", ".hidden/y", "back\\slash", "star*/q?.md", "-", "A.MD", "src/a-z", "~", "new\nline",
)  # fmt: skip
_GLOBS = (
    "*",
    "**",
    "**/",
    "?",
    "[",
    "]",
    "[!",
    "[^",
    "[a-z]",
    "[]x]",
    "[--]",
    "/",
    "./",
    "\\",
    "{",
    ".md",
    "a",
    "src",
    "-",
    "&&",
)


@cache
def _documents() -> Store:
    store = open_sqlite(made_folder() / "index.db")
    for number, path in enumerate(PATHS):
        put(
            store,
            make_write(path, f"Words of {number}.", tags=("t", f"t{number % 3}"), collection=f"c{number % 2}"),
        )
    return store


def _make_filter(chance: random.Random, seeds: Seeds) -> bytes:
    parts = [chance.choice((*_GLOBS, *_GLOBS, *PATHS)) for _ in range(chance.randrange(1, 9))]
    text = "".join(parts).encode()
    if chance.random() < 0.3:
        text = change_some(chance, [text, b"2026-01-31T12:00:00+01:00", b"0001-01-01", *seeds.of("md")], 300)
    return chance.randbytes(CHOICES_BYTES) + text


def check_filter(data: bytes) -> None:
    """Patterns mean the same to every engine and in SQL; whatever cannot be understood is a QueryError."""
    draw = Draw(data)
    text = draw.body.decode("utf-8", "replace")
    patterns = tuple(text.split("\n", 3))
    try:
        regex, plain = glob_regex(patterns), re.compile(glob_plain(patterns), re.DOTALL)
    except QueryError:
        patterns = ()
    else:
        if len(text) < 60:  # the plain form is for engines that never try twice; Python's does
            for path in PATHS:
                need(path_matches(regex, path) == bool(plain.search(path)), f"both forms agree on {path!r}")
    try:
        since = as_timestamp(text[:40])
    except QueryError:
        since = draw.pick((None, 0.0, 1.7e9, -1e18, 1e300))
    tags = tuple(draw.pick(((), ("t",), ("t1", "t"), (text[:20],))))
    where = Filter(
        paths=patterns, since=since, tags=tags, kinds=draw.pick(((), ("markdown",), ("x", "markdown")))
    )
    ids = _documents().select(where).tolist()
    need(ids == sorted(set(ids)), "ids ascend")
    if patterns and since is None and not tags and "x" not in where.kinds[1:]:
        found = {info.path for info in _documents().documents(where)}
        need(found == {path for path in PATHS if path_matches(regex, path)}, "SQL and Python agree")


@cache
def _keywords() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5"
        " (body, tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\")"
    )
    return connection


def check_phrase(data: bytes) -> None:
    """Both ways to look for a phrase agree on any text, and FTS5, an implementation of its own, on Latin text."""
    draw = Draw(data)
    text = draw.body.decode("utf-8", "replace").replace("\0", " ")[:1_000]
    start = draw.whole(0, len(text))
    phrase = text[start : start + draw.whole(0, 40)]
    words = phrase_words(phrase)
    if words:
        need(phrase_finder(words)(text) == holds_phrase(text, words), f"{phrase!r} is found by both or by none")
    if words and max(map(ord, text)) < 0x180:
        connection = _keywords()
        connection.execute("DELETE FROM t")
        connection.execute("INSERT INTO t VALUES (?)", (UNSPACED_CHARACTER.sub(r" \1 ", text),))
        quoted = '"' + " ".join(words) + '"'
        found = bool(connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (quoted,)).fetchall())
        need(found == holds_phrase(text, words), f"{phrase!r} is found by both or by none")


# ------------------------------------------------------------------ conversations and excerpts


def check_conversation(data: bytes) -> None:
    """Any messages are a request with words to search for, or a QueryError."""
    need(
        all(clause.text.strip() for clause in read_question(data.decode("utf-8", "replace"))),
        "a clause has words",
    )
    draw = Draw(data)
    roles = [draw.pick(("user", "assistant", "user", "system", "")) for _ in range(4)]
    parts = draw.text().split("\n\n", 3)
    try:
        request = read_conversation([Message(*pair) for pair in zip(roles, parts, strict=False)])
    except QueryError:
        return
    need(request.query.strip(), "a request has words")
    need(len(request.query) <= 40_000, "a request is bounded")


def check_excerpt(data: bytes) -> None:
    """A passage stays within its length; matches lie in the text, in order; lines are shown with their number."""
    draw = Draw(data)
    limit, count = draw.whole(20, 900), draw.whole(1, 9)
    text = draw.body.decode("utf-8", "replace")
    words = text.split()[: draw.whole(0, 6)]
    wanted = {word.lower(): 1.0 + len(word) for word in words}
    said = passage("src/deep/er/pool.py", words[:2], text, wanted, lambda line: line.lower().split(), limit)
    need(len(said) <= limit, f"{len(said)} characters where {limit} were asked for")
    marker = Marker(words)
    spans = marker.spans(text)
    need(all(0 <= start < end <= len(text) for start, end in spans), "matches lie in the text")
    need(all(a[1] <= b[0] for a, b in pairwise(spans)), "matches do not overlap")
    found = best_lines(text, marker, count)
    whole = text.rstrip().split("\n")
    need(0 < len(found.lines) <= count and found.size == len(whole), "lines are counted")
    need(all(a[0] < b[0] for a, b in pairwise(found.lines)), "lines are in order")
    need(all(line.strip("…") in whole[number] for number, line in found.lines), "lines have their numbers")


TEXTS = (
    Target(
        "chunk",
        40_000,
        lambda chance, seeds: make_text(chance, seeds, 6_000),
        check_chunks,
        "every promise of the chunkers",
        guided=True,
    ),
    Target(
        "mask",
        160_000,
        _make_secrets,
        check_masking,
        "nothing moves; masking again changes nothing",
        guided=True,
    ),
    Target("query", 100_000, make_text, check_query, "every text is a query, and stays one", guided=True),
    Target("filter", 60_000, _make_filter, check_filter, "all engines agree, or a QueryError", guided=True),
    Target("phrase", 60_000, make_text, check_phrase, "FTS5 and Python agree on Latin text", guided=True),
    Target("conversation", 40_000, make_text, check_conversation, "a request, or a QueryError", guided=True),
    Target("excerpt", 30_000, make_text, check_excerpt, "within the length, matches in place", guided=True),
)
