"""grep: lines that match a pattern, from the files as they are now."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import click

from outcrop.records import Filter, GrepOptions, MatchedFile, MatchedLine
from outcrop.serve.cli.options import command, many, option, search_option
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean, clean_line, clean_marked
from outcrop.system.dataclass import dataclass

Styled = tuple[str, str]
_PATH, _NUMBER, _MATCH, _JOINT = "magenta", "green", "bold red", "cyan"
_CYAN, _RESET = b"\x1b[36m%b\x1b[0m", b"\x1b[0m"
_COUNT = click.IntRange(min=0, max=1000)


@command(
    "grep",
    "outcrop grep -n 'class \\w+Timeout'",
    "outcrop grep -il --rank retry ~/src/project -g '!tests'",
    "outcrop grep -F -C 2 'acquire('",
    "outcrop grep -n --ref release/1 deprecated",
)
@click.argument("pattern")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@option("-n", "--line-number", is_flag=True, help="Show line numbers; a terminal always gets them.")
@option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@option("-w", "--word-regexp", "whole_words", is_flag=True, help="Match whole words only.")
@option("-F", "--fixed-strings", "literal", is_flag=True, help="Treat the pattern as literal text.")
@option("-l", "--files-with-matches", "names_only", is_flag=True, help="Only the names of the files.")
@option("-c", "--count", "count_only", is_flag=True, help="Only the number of matching lines in each file.")
@option("-A", "--after-context", "after", type=_COUNT, default=0, help="Lines to show after each match.")
@option("-B", "--before-context", "before", type=_COUNT, default=0, help="Lines to show before each match.")
@option("-C", "--context", type=_COUNT, default=0, help="Lines to show before and after each match.")
@many("-g", "--glob", "globs", metavar="GLOB", help="Only paths that match; !GLOB leaves them out.")
@many("--collection", "collections", metavar="NAME", help="Only these collections.")
@search_option("ref")
@search_option("worktree")
@option("--rank", is_flag=True, help="List the files in the order a search would rank them.")
def grep_command(
    session: Session,
    pattern: str,
    paths: tuple[Path, ...],
    line_number: bool,
    ignore_case: bool,
    whole_words: bool,
    literal: bool,
    names_only: bool,
    count_only: bool,
    after: int,
    before: int,
    context: int,
    globs: tuple[str, ...],
    collections: tuple[str, ...],
    ref: str | None,
    worktree: str | None,
    rank: bool,
) -> int:
    """Print the lines of indexed files that match a pattern, as ripgrep does.

    PATTERN is a regular expression in Rust's syntax, matched within a line. Files are read as they are now, even if
    they changed after they were indexed; deleted ones are left out. PATH is a file or folder; without one, everything
    indexed is searched. --ref searches a branch as it was indexed, without a checkout, and prints REF:PATH as `git
    grep` does. With --json, each file is one JSON document on a line of its own. Exits with 0 when a line matches, 1
    when none does, 2 after an error.
    """
    if names_only or count_only:
        before = after = context = 0
    wanted = tuple(glob for glob in globs if not glob.startswith("!"))
    options = GrepOptions(
        literal=literal,
        ignore_case=ignore_case,
        whole_words=whole_words,
        before=max(before, context),
        after=max(after, context),
        where=Filter(collections=collections, paths=wanted, ref=ref, worktree=worktree),
        below=tuple(str(path.expanduser().resolve()) for path in paths),
        without=tuple(glob[1:] for glob in globs if glob.startswith("!")),
        max_per_file=1 if names_only else None,
    )
    with session.open_existing() as index:
        matches = index.grep(pattern, options, masked=False)  # as ripgrep would show them
        any_line, name = False, _name_from_here()
        if rank or session.as_json or matches.reads_branches:
            found: Iterable[MatchedFile] = index.rank_files(pattern, matches) if rank else matches
            grouped = bool(options.before or options.after)
            shown = _Printer(session, names_only, count_only, line_number, grouped, name)
            for file in found:
                any_line = True
                shown.show(file)
        else:
            paint = _Paint.of(session)
            numbers = line_number or paint.terminal
            any_line = paint.print(matches.printed(name, numbers, names_only, count_only, paint.shades))
        problems = [*matches.problems, *(_find_missing(paths) if ref is None else ())]
        for problem in problems:
            click.echo(clean_line(problem), err=True)
    return 2 if problems else 0 if any_line else 1


def _find_missing(paths: Iterable[Path]) -> Iterator[str]:
    """A line for each path that leads nowhere, so that a slip is not taken for a pattern without matches."""
    for path in paths:
        if not path.expanduser().exists():
            yield f"{path}: there is no such file or folder"


@dataclass(frozen=True)
class _Paint:
    """Makes lines that ripgrep printed fit to be shown. For a terminal it is asked for colours that nobody can guess,
    so that no document can use them; they become those that are shown."""

    terminal: bool
    shades: tuple[str, ...] = ()

    @classmethod
    def of(cls, session: Session) -> _Paint:
        """For where the output of a run goes."""
        if not sys.stdout.isatty():
            return cls(False)
        plain = session.out.console.color_system is None
        shades = ("{},{},{}".format(*os.urandom(3)) for _ in range(0 if plain else 3))
        return cls(True, tuple(shades))

    def print(self, pieces: Iterable[bytes]) -> bool:
        """Print them as they come; whether there was any."""
        any_piece = False
        for piece in pieces:
            any_piece = True
            click.echo(self.apply(piece), nl=False)
        return any_piece

    def apply(self, piece: bytes) -> bytes:
        """A piece as it is shown; a pipe gets the text as it is."""
        if not self.terminal:
            return piece.replace(b"\0", b"")
        shown = {b":": _CYAN % b":", b"--\n": _CYAN % b"--" + b"\n", b"-": _CYAN % b"-", b"r": _RESET}
        for shade, letter, code in zip(self.shades, (b"p", b"n", b"m"), (b"35", b"32", b"1;31"), strict=False):
            red, green, blue = shade.encode().split(b",")
            piece = piece.replace(b"\x1b[38;2;%b;%b;%bm" % (red, green, blue), b"\0" + letter)
            shown[letter] = b"\x1b[%bm" % code
        piece = piece.replace(_RESET, b"\0r")
        piece = clean_marked(piece.decode("utf-8", "replace")).encode()
        for mark, code in shown.items():
            piece = piece.replace(b"\0" + mark, code if self.shades else b"" if mark == b"r" else mark)
        return piece


@dataclass
class _Printer:
    session: Session
    names_only: bool
    count_only: bool
    numbers: bool
    grouped: bool
    name: Callable[[str], str]
    _begun: bool = False

    def show(self, file: MatchedFile) -> None:
        """One file; a pipe gets its text as it is, a terminal without control characters."""
        if self.session.as_json:
            self.session.print_json(file, line=True)
            return
        if sys.stdout.isatty():
            for parts in self._lines(file, terminal=True):
                self.session.out.line(*((clean(text), style) for text, style in parts))
        else:
            lines = ["".join([text for text, _ in parts]) for parts in self._lines(file, terminal=False)]
            click.echo("\n".join(lines), nl=bool(lines))

    def _lines(self, file: MatchedFile, *, terminal: bool) -> Iterator[list[Styled]]:
        name = (f"{file.ref}:{file.document.path}" if file.ref else self.name(file.document.uri), _PATH)
        if self.names_only:
            yield [name]
        elif self.count_only:
            yield [name, (":", _JOINT), (str(file.count), "")]
        else:
            gaps = {b.number for a, b in pairwise(file.lines) if b.number > a.number + 1}
            for line in file.lines:
                if self.grouped and (line.number in gaps or (line is file.lines[0] and self._begun)):
                    yield [("--", _JOINT)]
                joint = (":" if line.matched else "-", _JOINT)
                number = [(str(line.number), _NUMBER), joint] if self.numbers or terminal else []
                yield [name, joint, *number, *(_highlight(line) if terminal else [(line.text, "")])]
            self._begun = True


def _highlight(line: MatchedLine) -> Iterator[Styled]:
    done = 0
    for start, end in line.spans:
        yield line.text[done:start], ""
        yield line.text[start:end], _MATCH
        done = end
    yield line.text[done:], ""


def _name_from_here() -> Callable[[str], str]:
    """Makes of a full path what is shown: below this folder as one would type it from here, elsewhere in full."""
    here = str(Path.cwd()).rstrip(os.sep) + os.sep

    def name(uri: str) -> str:
        shown = uri.removeprefix(here)
        return uri if shown == "-" else shown  # which ripgrep takes for its input

    return name
