"""Stack traces in a text: the error, and the places in one's own code that it passed through.

Frames are read as many languages write them; those of a library or a runtime lead nowhere.
Time is linear in the length of a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from outcrop.system.dataclass import dataclass

_FRAMES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r'File "(?P<file>[^"]++)", line (?P<line>\d+)(?:, in (?P<name>\S+))?',  # Python
        r"at (?P<name>[\w.$<>/@-]++)\((?P<java>[\w$-]++\.(?:java|kts?|scala|groovy|clj)):(?P<line>\d+)\)",
        r"at (?=.*:line \d+$)(?P<name>[^\s(]++).*? in (?P<file>.+):line (?P<line>\d+)$",  # .NET
        r"at (?P<file>\S+\.rs):(?P<line>\d+)(?::\d+)?$",  # Rust
        r".*\bpanicked at (?:'.*', )?(?P<file>\S+\.rs):(?P<line>\d+)(?::\d+)?:?$",
        r"at (?:async )?(?:new )?(?P<name>[^\s(]++)[^(]*\((?P<file>[^()]+?):(?P<line>\d+):\d+\)$",  # Node, Chrome
        r"at (?:async )?(?P<file>[^\s()]+?):(?P<line>\d+):\d+$",
        r"(?P<name>[\w$.<>/*]*+)@(?P<file>\S+?):(?P<line>\d+):\d+$",  # Firefox, Safari
        r"(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$",  # Go
        r"(?:\d+: )?(?:from )?(?P<file>\S+\.(?:rb|rake|ru|erb)):(?P<line>\d+):in [`'\"](?P<name>[^`'\"]*+)",  # Ruby
        r"#\d+ (?P<file>\S+\.(?:php|phtml|inc))\((?P<line>\d+)\)(?:: (?P<name>[^\s(]++))?",  # PHP
        r"(?:PHP |thrown |Fatal |Uncaught |Warning: |\[).*\bin (?P<file>\S+\.php)(?::| on line )(?P<line>\d+)$",
        r"#\d+\s++(?:0x[0-9a-f]+ in )?(?P<name>[^\s(]++)[^)]*\).* at (?P<file>[^\s:]++):(?P<line>\d+)$",  # gdb
        r"#\d+\s++0x[0-9a-f]+ in (?P<name>[^\s(]++).* (?P<file>/?[^\s:()]++):(?P<line>\d+)(?::\d+)?$",  # sanitizers
    )
)
_FRAME_START: Final = re.compile(
    r'File "|at |#\d|\d+: from |from |\S+\.(?:go|rb|rake|ru|erb):\d|\S*@\S|.*\.(?:rs|php)(?::| on )'
)
_FOREIGN: Final = re.compile(
    r"site-packages/|dist-packages/|node_modules/|^/usr/(?:local/)?(?:lib|go|include|share)|/lib/python\d|(?i:/python\d+/lib/)"
    r"|^/rustc/|\.cargo/registry|/go/pkg/mod/|/libexec/|/gems/|vendor/|^node:|^internal/|^<|^\[|\.framework/|^/_/|/sysdeps/"
    r"|^\.\./sysdeps|^/build/|libsanitizer|^native |^webpack/|/rustlib/|asan_|^\./(?:nptl|csu|stdlib)/"
)
_FOREIGN_PACKAGE: Final = re.compile(
    r"(?:[\w.@-]+/)*(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy)\."
)
_TRACE_OPENING: Final = re.compile(
    r"Traceback \(most recent call last\)|goroutine \d+ \[|(?i:stack (?:back)?trace:$)|==\d+==|#\d+\s++0x"
)
_TRACE_NOISE: Final = re.compile(
    r"During handling of the above|The above exception was|created by |note: (?:run|Some)|\.\.\. \d+ more|#\d+\s"
    r"|thrown in |\d+: \S+$|--- End of|exit status \d|\[signal |[~^]+$|at \S+\(|at <|\[previous line repeated|SUMMARY: "
    r"|(?:READ|WRITE) of size|0x[0-9a-f]+ is located|(?:freed|previously allocated) by|\S+\((?:0x|\.\.\.|\{|\))"
)
_ERROR: Final = re.compile(
    r"(?:E +)?(?:.*?\b(?:Uncaught|Unhandled exception\.|Exception in thread \"[^\"]*+\"|Caused by:|--->) +)?"
    r"(?:\(in promise\) )?((?:[A-Za-z_][\w$]*+(?:\.|::|\\))*+"
    r"(?:[A-Za-z]\w*)?(?:Error|Exception|Fault|Warning|Interrupt|Violation))(?:: *(.*))?$"
)
_OTHER_ERROR: Final = re.compile(
    r"(?:panic|fatal error): (.+)|.*ERROR: (\w+Sanitizer: [\w-]+)|.*received signal (\w+, [\w ]+)"
    r"|.*panicked at '(.+)', \S+$|.*:in [`'\"][^`'\"]*+['\"]: (.+)$"
)
_PYTHON_ERROR: Final = re.compile(r"([A-Za-z_][\w.]*+)(?:: (.*))?$")


@dataclass(frozen=True, slots=True)
class Frame:
    """A place a trace passed through: `pool.py:12`, and the function it is in. `block` counts the traces of a text;
    `innermost_last` says in which order this one tells its frames."""

    target: str
    name: str
    block: int
    innermost_last: bool


class Trace:
    """Follows the lines of a text and takes those that belong to a stack trace; `errors` and `frames` are as found."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.frames: list[Frame] = []
        self._block = 0
        self.end()

    def end(self) -> None:
        """What follows is not the same trace."""
        self._inside = False
        self._innermost_last = False  # Python, and Ruby on a terminal
        self._wants_message = False
        self._frame_indent = 0

    def take(self, line: str) -> bool:
        """Whether this line is part of a trace."""
        bare = line.strip()
        if not bare:
            self._wants_message = False
            return self._inside
        if self._wants_message:  # Rust says what went wrong on the line below where
            self._wants_message = False
            self.errors.append(bare)
            return True
        frame = _frame_of(bare)
        indent = len(line) - len(line.lstrip())
        error = self._error_of(bare, frame is not None, indent < self._frame_indent)
        if error:
            self.errors.append(error)
            self._block += bare.startswith("Caused by")
        if frame is not None:
            self._frame_indent = indent
            self._take_frame(bare, *frame, bool(error))
        elif error:
            self._inside, self._innermost_last = True, False
        elif _TRACE_OPENING.match(bare):
            self._inside = True
            self._innermost_last = bare.startswith("Traceback")
            self._block += self._innermost_last
        elif not (self._inside and (line[0] in " \t" or _TRACE_NOISE.match(bare))):
            self.end()
            return False
        return True

    def _take_frame(self, bare: str, target: str, name: str, told: bool) -> None:
        self._inside = True
        self._wants_message = "panicked at" in bare and not told
        self._innermost_last = self._innermost_last or bare.startswith('File "')
        if target:
            self.frames.append(Frame(target, name, self._block, self._innermost_last))

    def _error_of(self, bare: str, is_frame: bool, outdented: bool) -> str:
        found = _OTHER_ERROR.match(bare)
        if found:
            return next(group for group in found.groups() if group)
        if not is_frame or ".php" in bare:  # PHP names the innermost place in the line of the error
            found = _ERROR.match(bare)
        if found is None and self._innermost_last and outdented and not is_frame:
            found = _PYTHON_ERROR.match(bare)
        if found is None:
            return ""
        message = (found[2] or "").partition(" in /")[0] if is_frame else found[2] or ""
        return f"{found[1]} {message}".strip()


def _frame_of(bare: str) -> tuple[str, str] | None:
    """Where a frame points and the function it is in; nowhere (an empty place) when that is a library's."""
    if not _FRAME_START.match(bare):
        return None
    for pattern in _FRAMES:
        found = pattern.match(bare)
        if found is None:
            continue
        groups = found.groupdict()
        name = groups.get("name") or ""
        if groups.get("java"):
            if _FOREIGN_PACKAGE.match(name):
                return "", ""
            package = name.rpartition("/")[2].split(".")[:-2]
            file = "/".join([*package, groups["java"]])
        else:
            file = tidy_path(groups["file"])
        if _FOREIGN.search(file):
            return "", ""
        parts = [part for part in re.split(r"[.:#>/-]+", name.split("(")[0]) if part.isidentifier()]
        return f"{file}:{groups['line']}", ".".join(parts[-2:])
    return None


def tidy_path(file: str) -> str:
    """A path as an index may know it: no scheme, host, drive or query, slashes forward."""
    file = re.sub(r"^(?:file://|(?:https?|webpack(?:-internal)?)://[^/]*/|[A-Za-z]:(?=[\\/]))", "", file)
    return file.partition("?")[0].replace("\\", "/").removeprefix("(").removeprefix("./")


def innermost_first(frames: Sequence[Frame]) -> list[Frame]:
    """The frames that matter most first.

    Python tells the innermost last; what caused an error stands below it in Java, and matters more.
    """
    places = range(len(frames))
    order = sorted(places, key=lambda i: (-frames[i].block, -i if frames[i].innermost_last else i))
    return [frames[i] for i in order]
