"""A client's hook: after the agent's own grep, Outcrop's hits beside it.

    python -E -P -m outcrop.serve.hook CLIENT --db INDEX [--within SECONDS]

Clients start this after every search of theirs, and wait for it. So it looks at what was searched before it imports
anything: a name or a pattern that grep has answered is none of its business and takes 30 ms of CPU. What grep is weak
at is asked of the index: several words, alternatives, and whatever had no match at all. It never fails, writes nothing
to standard error, and is over after DEADLINE_S, or the seconds given, whatever happens.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S: Final = 2.0
"""A cold search takes half a second of CPU; who waits longer than this for a remark is delayed by it."""
MAX_INPUT_BYTES: Final = 8 * 1024 * 1024
"""An event carries what the tool answered; a larger one is passed over."""
MAX_QUERY_CHARS: Final = 200
MAX_HITS: Final = 5
MIN_SCORE: Final = 0.3
"""Below it a hit is weak, as the instructions for agents say."""
EVENTS: Final = {
    "claude": "PostToolUse",
    "codex": "PostToolUse",
    "gemini": "AfterTool",
    "cursor": "postToolUse",
}
"""The clients, and how each calls the moment after a tool."""

_GREPS: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack"})
_VALUED: Final = re.compile(
    r"-[A-Za-z]*[ABCmgtfT]|--(?:glob|type|include|exclude|exclude-dir|max-count|context)"
)
"""Options of those programs whose value is a word of its own."""
_NOTHING: Final = re.compile(
    r"(?i)\s*|(?:found 0 \w+|no (?:files|matches|results)(?: were)? found)\b.*", re.DOTALL
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def main() -> None:
    """Answer the event on standard input."""
    watch = threading.Timer(float(sys.argv[5]) if sys.argv[4:5] == ["--within"] else DEADLINE_S, _leave, ["{}"])
    watch.daemon = True
    watch.start()
    answer = "{}"
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        client, db = sys.argv[1], sys.argv[3]
        text = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        event = json.loads(text) if len(text) <= MAX_INPUT_BYTES else {}
        query = find_query(event)
        if query:
            found = look_up(query, db, find_place(event))
            answer = json.dumps(wrap(client, found)) if found else answer
    except BaseException:  # noqa: BLE001, S110 - whatever is wrong here must not reach the agent
        pass
    _leave(answer)


_leaving: Final = threading.Lock()


def _leave(answer: str) -> None:
    """Write the one answer and end, without waiting for any thread or for what libraries do at the end."""
    _leaving.acquire()  # for good: whoever comes second waits for the end
    try:
        os.write(1, answer.encode())
    finally:
        os._exit(0)


def wrap(client: str, text: str) -> dict[str, Any]:
    """The answer as the client reads it."""
    if client == "cursor":
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": EVENTS[client], "additionalContext": text}}


def find_query(event: Any) -> str:
    """What to ask the index about this event, empty where grep does better."""
    given = event.get("tool_input") if isinstance(event, dict) else None
    given = json.loads(given) if isinstance(given, str) else given
    if not isinstance(given, dict):
        return ""
    pattern = given.get("pattern")
    if not isinstance(pattern, str):
        command = given.get("command")
        pattern = read_pattern(command) if isinstance(command, str) else ""
    words = _as_words(pattern) if len(pattern) <= 10 * MAX_QUERY_CHARS else []
    answered = next((event[name] for name in ("tool_response", "tool_output") if name in event), None)
    enough = 1 if _is_nothing(answered) else 2
    return " ".join(words)[:MAX_QUERY_CHARS] if len(words) >= enough else ""


def read_pattern(command: str) -> str:
    """The pattern of a grep in a shell command; empty where there is none."""
    import shlex

    if len(command) > 10 * MAX_QUERY_CHARS or not any(name in command for name in _GREPS):
        return ""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    for at, word in enumerate(words):
        if word.rpartition("/")[2] in _GREPS and (at == 0 or words[at - 1] in ("&&", ";", "git", "(")):
            return _first_argument(words[at + 1 :])
    return ""


def _first_argument(words: list[str]) -> str:
    rest = iter(words)
    for word in rest:
        if word in ("-e", "--regexp", "--"):
            return next(rest, "")
        if not word.startswith("-"):
            return word
        if _VALUED.fullmatch(word):
            next(rest, None)
    return ""


def _as_words(pattern: str) -> list[str]:
    """The words of a pattern; none where it is about signs, or is a name that only grep finds exactly."""
    plain = re.sub(r"\\[bswSWdB][+*?]?|\(\?[a-z]+\)", " ", pattern)
    plain = plain.replace("\\|", "|")  # alternatives, as plain grep writes them
    if re.search(r"[\[\]{}^$\\=<>;:,]", plain):
        return []
    plain = re.sub(r"\.[*+]\??|[|()?]", " ", plain)
    if re.search(r"[*+]", plain):
        return []
    return [word for word in plain.split() if _WORD.search(word)]


def _is_nothing(answered: Any) -> bool:
    """Whether the tool told that it had found nothing."""
    if isinstance(answered, dict):
        if answered.get("numFiles") == 0 or answered.get("numMatches") == 0:
            return True
        told = [answered.get(name) for name in ("stdout", "output", "content", "llmContent", "returnDisplay")]
        texts = [text for text in told if isinstance(text, str)]
        return bool(texts) and all(map(_NOTHING.fullmatch, texts))
    return isinstance(answered, str) and _NOTHING.fullmatch(answered) is not None


def find_place(event: dict[str, Any]) -> Path:
    """The folder or file that was searched; else where the agent stands."""
    from pathlib import Path

    roots = event.get("workspace_roots")
    here = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else ".")
    given = event.get("tool_input")
    path = given.get("path") or given.get("dir_path") if isinstance(given, dict) else ""
    return Path(str(here), path if isinstance(path, str) else "").resolve()


def look_up(query: str, db: str, here: Path) -> str:
    """The places that answer a query, of the projects that this folder belongs to; empty where none is good."""
    from pathlib import Path

    from outcrop.config import load_config
    from outcrop.engine import Engine
    from outcrop.serve.mcp.reply import fence_text, one_line

    with Engine(load_config({"db": db, "log_level": None}), create=False) as engine:
        near = {
            info.name
            for info in engine.collections(roots=True)
            for root in info.roots
            if here.is_relative_to(root) or Path(root).is_relative_to(here)
        }
        if not near:
            return ""
        answer = engine.search(query, limit=MAX_HITS, collections=tuple(sorted(near)))
    lines = [
        f"{one_line(hit.place)} {hit.score:.2f}{' STALE' if hit.stale else ''}"
        + (f" {one_line(hit.code.symbol, 80)}" if hit.code else "")
        for hit in answer.hits
        if hit.score >= MIN_SCORE
    ]
    if not lines:
        return ""
    roots = sorted({one_line(hit.document.root) for hit in answer.hits if hit.document.root})
    below = f"below {', '.join(roots)}\n" if roots else ""
    head = (
        "Outcrop searched its index for the same by words and meaning; places that may answer it, best first:"
    )
    return (
        f"{head}\n{fence_text(below + chr(10).join(lines))}\nRead them at these lines, or ask its search tool."
    )


if __name__ == "__main__":
    main()
