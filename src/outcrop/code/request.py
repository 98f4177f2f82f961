"""A conversation to what should be searched for: the latest request, what it borrows, and what it points at.

The latest user message is the heart. Pasted code, logs, quotes and stack traces are taken out of it; the names in them,
the error and the frames stay. Whatever a message says, it can only make something preferred, never compulsory: much of
a conversation is text that was retrieved or generated. Time is linear in the length of any input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from outcrop.code.traces import Trace, innermost_first, tidy_path
from outcrop.errors import QueryError
from outcrop.records import Directive, Message
from outcrop.text.terms import WORD

# How much of a conversation is read and kept: the numbers were not measured.
MAX_QUERY_WORDS: Final = 400
"""What a long question says beyond that repeats it, and every word costs a look-up."""
MAX_PROSE_WORDS: Final = 280
"""Of a longer message the beginning and the end are taken: there the request stands."""
MAX_WORD_CHARS: Final = 120
MAX_LINE_CHARS: Final = 1_000
"""What a line is shows in its beginning; of a longer one that is not prose no more is read."""
MAX_EARLIER_CHARS: Final = 40_000
MAX_MESSAGE_CHARS: Final = 400_000
"""Of a longer message both ends are read: a pasted log stands before or after the question."""
MAX_DIRECTIVES: Final = 24
MAX_MENTIONED: Final = 20
MENTIONED_PER_MESSAGE: Final = 8
"""So that one long answer does not push out what was said before it."""
EARLIER_MESSAGES: Final = 12
NAMES_FROM_PASTE: Final = 12
FRAMES_NAMED: Final = 3
"""Functions of the innermost frames that become words of the query; further out they are about something else."""
FOLLOW_UP_WORDS: Final = 9
"""A longer message says by itself what it is about."""
BORROWED_TURNS: Final = 3
BORROWED_WORDS: Final = 40

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
_STOP_WORDS: Final = frozenset(
    "a about again all also am an and any are as at be been but by can could did do does else for from "
    "get give had has have here how i if in into is it its just let like look me more my no not now of ok "
    "okay on one only or our please same say see should show so some such tell than thank thanks that the "
    "their them then there these they thing this those to too us very want was we well were what when "
    "where which while who why will with would yes you your".split()
)
_POINTING: Final = re.compile(
    r"(?i)\b(?:it|its|that|this|these|those|they|them|their|there|same|above|former|latter|one|ones)\b"
)
_LEADING_ON: Final = re.compile(r"(?i)\s*(?:and|now|but|also|then|again|what about|how about)\b")

_EMPTY_LINES: Final = re.compile(r"\n{3,}+")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_TICKED: Final = re.compile(r"`([^`\n]{1,160})`")
_URL: Final = re.compile(r"\bhttps?://[^\s<>\"'`)\]]++")
_BLOB: Final = re.compile(r"/(?:blob|tree|src/branch)/[^/]++/([^#?]++)(?:[^#]*+#L(\d++))?")
# Linear: what is repeated is possessive, and a match begins only where such a run begins.
_PATH: Final = re.compile(
    r"(?<![\w.@+~/\\-])(?=[\w.@+~/\\-])(?:[A-Za-z]:(?=[\\/]))?(~?[\w.@+-]*+(?:[/\\][\w.@+-]++)*+[/\\]?+)"
    r"(?::(\d{1,7})\b(?::\d++)?|#L(\d++)|,? (?:on |at )?line (\d{1,7})\b)?"
)
_NAME: Final = re.compile(
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
_LOG: Final = re.compile(
    r"\s*\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d[.,\] ]|(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|"
    r"FATAL|CRITICAL)[\]:| ]\s*\S)"
)
_LOG_LEVEL: Final = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|error|fatal|panic)\b[\]:|)\s-]*(.*)")
_CODE_LINE: Final = re.compile(
    r".*[;{}]$|(?: {4}|\t)(?!\s*(?:[-*•]|\d+[.)]) ).*[=()\[\]{}].*"
    r"|\s*(?:>>> |\$ |@\w+(?:\(.*\))?$|#include\b|from \S+ import |(?:import|package) [\w.{*\"'/]\S*(?: as \w+)?$)"
    r"|\s*(?:async )?(?:def|class) \w+(?:\(.*|:)$|\s*(?:func|fn|pub|public|private|protected|function|export) .*[{(]$"
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a conversation asks for: words to search by, what is to be preferred, and names it spoke of before."""

    query: str
    directives: tuple[Directive, ...] = ()
    mentioned: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """A message taken apart: its prose, the lines that are not prose, and the stack traces."""

    prose: list[str] = field(default_factory=list)
    pasted: list[str] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)

    @property
    def text(self) -> str:
        return "\n".join(self.prose)


def read_conversation(messages: Sequence[Message]) -> Request:
    """What to search for, from the turns of a conversation, oldest first."""
    turns = [
        (role, message.content)
        for message in messages
        if (role := message.role.strip().lower()) not in {"system", "developer"} and message.content.strip()
    ]
    latest = max((i for i, (role, _) in enumerate(turns) if role == "user"), default=None)
    if latest is None:
        raise QueryError(
            "there is no user message with text: send messages with at least one "
            '{"role": "user", "content": "the question"}'
        )
    reading = _read(turns[latest][1], MAX_MESSAGE_CHARS)
    borrowed = _borrow(reading, [content for role, content in turns[:latest] if role == "user"])
    query = _query_of(reading, borrowed)
    if not query:
        raise QueryError("the latest user message holds no words: say what to look for, or paste a whole error")
    directives = _directives_of([reading, *borrowed])
    said = set(query.split()) | {directive.target for directive in directives}
    mentioned = [name for name in _names_before(turns[:latest]) if name not in said]
    return Request(query, directives, tuple(mentioned[:MAX_MENTIONED]))


# ------------------------------------------------------------------ one message


def _read(content: str, limit: int = MAX_EARLIER_CHARS) -> _Reading:
    """Sort the lines of a message into prose and what was pasted, and read the traces."""
    reading = _Reading()
    fence = ""
    trace = reading.trace
    for raw in _both_ends(_without_context(content), limit).split("\n"):
        line = raw[:MAX_LINE_CHARS].rstrip()
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not mark[2].strip())):
            fence = "" if fence else mark[1]
            trace.end()
        elif trace.take(line):
            continue
        elif fence or _LOG.match(line) or _CODE_LINE.match(line) or _is_data(raw):
            reading.pasted.append(line)
        elif line.lstrip().startswith(">"):
            reading.pasted.append(line.lstrip("> "))
        else:
            reading.prose.append(raw)
    return reading


def _is_data(line: str) -> bool:
    """A long line with hardly a space: minified code, base64."""
    return len(line) > MAX_LINE_CHARS and line.count(" ") * 20 < len(line)


def _without_context(content: str) -> str:
    """Without context that this engine packed into an earlier prompt: nobody typed it."""
    kept, at = [], 0
    while (start := content.find("<codeRag:chunks", at)) >= 0:
        kept.append(content[at:start])
        end = content.find("</codeRag:chunks>", start)
        at = len(content) if end < 0 else end + len("</codeRag:chunks>")
    return "".join((*kept, content[at:]))


def _both_ends(content: str, limit: int) -> str:
    content = _EMPTY_LINES.sub("\n\n", content)
    half = limit // 2
    return content if len(content) <= limit else f"{content[:half]}\n{content[-half:]}"


# ------------------------------------------------------------------ the query


def _query_of(reading: _Reading, borrowed: Sequence[_Reading]) -> str:
    """The request in its own words, then errors, then names out of what was pasted, then what is borrowed."""
    prose = _plain(reading.text).split()
    if len(prose) > MAX_PROSE_WORDS:
        prose = [*prose[: MAX_PROSE_WORDS // 2], *prose[-MAX_PROSE_WORDS // 2 :]]
    more = [*_errors_of(reading), *_names_in_paste(reading)]
    for earlier in borrowed:
        topic = [word for word in _plain(earlier.text).split() if _meaningful(word)]
        more += [*topic[:BORROWED_WORDS], *_errors_of(earlier), *_names_in_paste(earlier)]
    if not any(WORD.search(word) for word in (*prose, *more)):
        more = [word for line in reading.pasted for word in line.split()]
    said = set(prose)
    added = dict.fromkeys(word for item in more for word in item.split() if word not in said)
    words = [word[:MAX_WORD_CHARS] for word in islice((*prose, *added), MAX_QUERY_WORDS)]
    return " ".join(words) if any(WORD.search(word) for word in words) else ""


def _plain(text: str) -> str:
    return _URL.sub(" ", text).replace("`", " ")


def _errors_of(reading: _Reading) -> list[str]:
    """The last error is the one that was seen, the first what began it; of log lines those that report one."""
    errors = list(dict.fromkeys(error[:400] for error in reading.trace.errors))
    logged = (
        found[1][:200] for line in reading.pasted if _LOG.match(line) and (found := _LOG_LEVEL.search(line))
    )
    return [*errors[-1:], *errors[:-1][:2], *islice(dict.fromkeys(logged), 2)]


def _names_in_paste(reading: _Reading) -> list[str]:
    """Names out of code, logs and quotes that are likely what the question is about: declared, called, others."""
    frames = [frame.name for frame in innermost_first(reading.trace.frames) if frame.name][:FRAMES_NAMED]
    lines = reading.pasted
    declared = (name for line in lines for name in _DECLARED.findall(line))
    compound = (found.removesuffix("()") for line in lines for found in _NAME.findall(line))
    called = (name for line in lines for name in _CALLED.findall(line))
    names = (name for names in (frames, declared, compound, called) for name in names)
    return list(islice(dict.fromkeys(name for name in names if _is_name(name)), NAMES_FROM_PASTE))


def _is_name(name: str) -> bool:
    return 2 < len(name) <= MAX_WORD_CHARS and name.lower() not in _NOT_NAMES


def _meaningful(word: str) -> bool:
    return any(part.lower() not in _STOP_WORDS for part in WORD.findall(word))


def _borrow(reading: _Reading, earlier: Sequence[str]) -> list[_Reading]:
    """For a message that makes no sense alone, the user turns before it, back to one that does."""
    borrowed: list[_Reading] = []
    current = reading
    for content in reversed(earlier[-BORROWED_TURNS:]):
        if not _follows_up(current):
            break
        current = _read(content)
        borrowed.append(current)
    return borrowed


def _follows_up(reading: _Reading) -> bool:
    if reading.trace.errors or reading.trace.frames or reading.pasted:
        return False
    text = _plain(reading.text)
    words = text.split()
    if len(words) > FOLLOW_UP_WORDS:
        return False
    named = bool(_NAME.search(text)) or any(True for _ in _paths_in(text))
    meaningful = sum(map(_meaningful, words))
    if _POINTING.search(text):
        return meaningful <= 4
    return not named and (meaningful <= 1 or (meaningful <= 3 and bool(_LEADING_ON.match(text))))


# ------------------------------------------------------------------ what it points at


def _directives_of(readings: Sequence[_Reading]) -> tuple[Directive, ...]:
    """Paths that were typed, then frames, names in backticks, and places in what was pasted; latest message first."""
    targets: list[str] = []
    for reading in readings:
        text = reading.text
        targets += _paths_in(text)
        targets += (frame.target for frame in innermost_first(reading.trace.frames))
        targets += (name for ticked in _TICKED.findall(text) if (name := _identifier(ticked)))
        targets += (path for line in reading.pasted for path in _paths_in(line) if re.search(r":\d+$", path))
    return tuple(Directive(target) for target in islice(dict.fromkeys(targets), MAX_DIRECTIVES))


def _identifier(ticked: str) -> str:
    name = ticked.strip()
    if not _IDENTIFIER.fullmatch(name) or not _is_name(name) or _as_path(name, None):
        return ""
    return name.removesuffix("()")


def _paths_in(text: str) -> Iterable[str]:
    """Paths in a text, with the line where one is given, in order."""
    for url in _URL.findall(text):
        if blob := _BLOB.search(url):
            yield blob[1].rstrip(".,;:") + (f":{blob[2]}" if blob[2] else "")
    for found in _PATH.finditer(_URL.sub(" ", text)):
        if path := _as_path(found[1], found[2] or found[3] or found[4]):
            yield path


def _as_path(word: str, line: str | None) -> str:
    """The word as a path, or nothing when it is `and/or`, `Node.js` or any other word."""
    path = tidy_path(word.rstrip("."))
    if not 2 < len(path) <= 300 or not re.search(r"[A-Za-z]", path) or path.lower() in _PRODUCTS:
        return ""
    folders, _, name = path.rpartition("/")
    stem, _, extension = name.rpartition(".")
    is_file = (stem and extension.lower() in SOURCE_EXTENSIONS) or name in _FILE_NAMES
    is_folder = bool(folders) and (not name or folders.count("/") >= 1 or word.startswith(("./", "/", "~")))
    if not is_file and not is_folder:
        return ""
    return f"{path}:{line}" if line and is_file else path


def _names_before(turns: Sequence[tuple[str, str]]) -> list[str]:
    """Paths and names of the turns before, the latest turn first."""
    found: dict[str, None] = {}
    for _, content in reversed(turns[-EARLIER_MESSAGES:]):
        reading = _read(content)
        text = reading.text
        names = (
            *_paths_in(text),
            *(name for ticked in _TICKED.findall(text) if (name := _identifier(ticked))),
            *(frame.target for frame in innermost_first(reading.trace.frames)),
            *(
                name
                for raw in _NAME.findall(_plain(text))
                if _is_name(name := raw.removesuffix("()")) and not _as_path(name, None)
            ),
            *_names_in_paste(reading),
        )
        found.update(dict.fromkeys(islice(dict.fromkeys(names), MENTIONED_PER_MESSAGE)))
    return list(found)
