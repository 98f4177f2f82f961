"""GREP: lines of the indexed files that match a pattern, as the files are now.

The index says which files there are, signatures of their trigrams which of them need not be read; ripgrep says which
lines match, so that no answer can differ from its own. Rust's regular expressions take time linear in the text,
whatever the pattern. (Python's `re` is another syntax, takes exponential time on some patterns and cannot be stopped;
RE2 knows no Unicode `\\b`.)
"""

from __future__ import annotations

import base64
import json
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from outcrop.contracts import Store
from outcrop.errors import QueryError, SourceError
from outcrop.index.trigrams import MAX_SIGNED_BYTES, MIN_FILES, Signatures, is_telling, key_of
from outcrop.read.ripgrep import command_of, read_complaints, run_on, try_pattern
from outcrop.records import Filter, GrepOptions, Grepped, MatchedFile, MatchedLine
from outcrop.sources.files import read_plain
from outcrop.system.limits import check_wanted
from outcrop.text.literals import required_texts

if TYPE_CHECKING:
    from outcrop.read.blobs import Blob

log = logging.getLogger(__name__)

MAX_PATTERN_CHARS: Final = 4_000
"""As long as any query of an agent; ripgrep itself limits the size of what it compiles."""
_CHECK_EVERY: Final = 512
"""Lines of output between two questions whether anybody still waits."""


def list_files(store: Store, options: GrepOptions) -> dict[str, str]:
    """Full path → collection of the indexed files that a pattern is looked for in, by path."""
    where = options.where
    chosen = None if where.is_empty() else frozenset(store.select(where).tolist())
    dropped = store.select(Filter(paths=options.without)).tolist() if options.without else ()
    left_out = frozenset(dropped)
    found: dict[str, str] = {}
    for collection in where.collections or store.collection_names():
        for below in options.below or (None,):
            files = store.files(collection, below)
            if below is not None and (info := store.find(collection, below)) is not None:
                found.setdefault(info.uri, collection)
            for uri, id_ in files.items() if chosen is not None or left_out else ():
                if (chosen is None or id_ in chosen) and id_ not in left_out:
                    found.setdefault(uri, collection)
            if chosen is None and not left_out:
                found = dict.fromkeys(files, collection) | found
    return {uri: found[uri] for uri in sorted(found)}


class MatchedFiles:
    """The files that match, by path, found while one iterates. `problems` has a line for each file that could not be
    read."""

    def __init__(
        self,
        store: Store,
        pattern: str,
        options: GrepOptions,
        max_bytes: int,
        *,
        masked: bool,
        signatures: Signatures,
        blobs: Sequence[Blob] = (),
    ) -> None:
        if not pattern or len(pattern) > MAX_PATTERN_CHARS:
            raise QueryError(f"a pattern has 1 to {MAX_PATTERN_CHARS:,} characters")
        if "\n" in pattern or "\0" in pattern:
            raise QueryError("a pattern is matched within a line, so it can hold no line break")
        self._store = store
        self._command = command_of(pattern, options)
        try_pattern(self._command)
        self._options = options
        self._max_bytes = max_bytes
        self._masked = masked
        self._signatures = signatures
        self._wanted = required_texts(pattern, literal=options.literal, ignore_case=options.ignore_case)
        self._blobs = blobs
        self.problems: list[str] = []

    def __iter__(self) -> Generator[MatchedFile, None, None]:
        files, kept = self._list()
        with tempfile.TemporaryFile() as complaints:
            for uri, lines in _read(self._command, kept, complaints):
                document = self._store.find(files[uri], uri)
                if document is None or document.origin != "file":
                    continue
                found = MatchedFile(document, lines)
                shown = self._mask_file(found) if self._masked else found
                if shown is not None:
                    yield shown
            yield from self._match_blobs(complaints)
            self.problems += read_complaints(complaints)

    @property
    def reads_branches(self) -> bool:
        """Whether files are looked into that lie in no folder."""
        return bool(self._blobs)

    def printed(
        self, name: Callable[[str], str], numbers: bool, names: bool, counts: bool, colours: Sequence[str]
    ) -> Iterator[bytes]:
        """The lines of files on disk as ripgrep prints them, unmasked (`read.printed` says in which form). `name` makes
        of a full path what is shown, which must lead to it from here."""
        from outcrop.read.printed import Form, print_lines

        shown = [name(uri) for uri in self._list()[1]]
        with tempfile.TemporaryFile() as complaints:
            run = partial(run_on, files=shown, complaints=complaints)
            form = Form(numbers, names, counts, tuple(colours))
            yield from print_lines(lambda more: run([*self._command, *more]), self._options, form)
            self.problems += read_complaints(complaints)

    def _list(self) -> tuple[dict[str, str], list[str]]:
        """The files, each with its collection; and those that can match."""
        check_wanted()
        files = list_files(self._store, self._options)
        kept, problems = look_at_all(files, self._max_bytes)
        self.problems += problems
        return files, self._narrow(kept)

    def _match_blobs(self, complaints: IO[bytes]) -> Iterator[MatchedFile]:
        """The files of branches, which are no files on disk."""
        if not self._blobs:
            return
        from outcrop.read.blobs import Blobs

        fold, most = self._options.ignore_case, self._max_bytes
        blobs = Blobs(self._blobs, most, self._wanted, fold, self.problems)
        for found, data in blobs.match(partial(_read, self._command), complaints):
            shown = mask_matches(found, data) if self._masked else found
            if shown is not None:
                yield shown

    def _mask_file(self, found: MatchedFile) -> MatchedFile | None:
        try:
            return mask_matches(found, read_plain(Path(found.document.uri), self._max_bytes))
        except SourceError as error:
            log.warning("left out of an answer", extra={"reason": str(error)})
            return None

    def take(self, limit: int) -> Grepped:
        """The first files, with no more than `limit` matching lines altogether."""
        files: list[MatchedFile] = []
        room = limit
        with closing(iter(self)) as found:
            for file in found:
                if room <= 0:
                    return Grepped(tuple(files), True, tuple(self.problems))
                numbers = [line.number for line in file.lines if line.matched]
                if len(numbers) > room:
                    end = numbers[room]
                    shown = replace(file, lines=tuple(line for line in file.lines if line.number < end))
                    return Grepped((*files, shown), True, tuple(self.problems))
                room -= len(numbers)
                files.append(file)
        return Grepped(tuple(files), False, tuple(self.problems))

    def _narrow(self, files: Mapping[str, os.stat_result]) -> list[str]:
        """Those that can match, as far as their signatures tell."""
        if len(files) < MIN_FILES or not is_telling(self._wanted):
            return list(files)
        keys = np.fromiter((key_of(uri, state) for uri, state in files.items()), np.uint64, len(files))
        excluded = self._signatures.exclude(keys, self._wanted)
        return [uri for uri, out in zip(files, excluded.tolist(), strict=True) if not out]


def look_at_all(files: Iterable[str], max_bytes: int) -> tuple[dict[str, os.stat_result], list[str]]:
    """The states of files, of those that still are plain ones and no larger than one that would be indexed; and a line
    for each that has grown."""
    look, found, problems = os.lstat, {}, []
    for uri in files:
        try:
            state = look(uri)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(state.st_mode):
            if state.st_size <= max_bytes:
                found[uri] = state
            else:
                problems.append(f"{uri}: has grown past the limit of {max_bytes} bytes")
    return found, problems


def sign_files(store: Store, signatures: Signatures) -> int:
    """Make the signatures of files that have none, where there are enough of them; how many were made."""
    files = list_files(store, GrepOptions())
    if len(files) < MIN_FILES:
        return 0
    return signatures.refresh(look_at_all(files, MAX_SIGNED_BYTES)[0])


def _read(
    command: Sequence[str], files: Sequence[str], complaints: IO[bytes]
) -> Iterator[tuple[str, tuple[MatchedLine, ...]]]:
    """Each file with its lines, in the order of the files."""
    for stream in run_on([*command, "--json", "--line-number"], files, complaints):
        yield from _read_messages(stream)


_read_json: Final = json.JSONDecoder().raw_decode
"""ripgrep writes UTF-8, and a line holds one value: nothing has to be found out for each of them."""


def _read_messages(stream: IO[bytes]) -> Iterator[tuple[str, tuple[MatchedLine, ...]]]:
    """ripgrep's JSON: begin, match and context, end for each file with a match. A file with a NUL is binary."""
    lines: list[MatchedLine] = []
    for number, row in enumerate(stream):
        if not number % _CHECK_EVERY:
            check_wanted()
        message, _ = _read_json(row.decode())
        kind, data = message["type"], message["data"]
        if kind in ("match", "context"):
            lines.append(_as_line(data, kind == "match"))
        elif kind == "end":
            if data["binary_offset"] is None:
                yield os.fsdecode(_bytes_of(data["path"])), tuple(lines)
            lines = []


def _bytes_of(said: dict[str, str]) -> bytes:
    return said["text"].encode() if "text" in said else base64.b64decode(said["bytes"])


def _as_line(data: dict[str, Any], matched: bool) -> MatchedLine:
    said, spans = data["lines"], [(found["start"], found["end"]) for found in data["submatches"]]
    text = said["text"].removesuffix("\n") if "text" in said else None
    if text is None or not text.isascii():  # offsets are in bytes
        raw = _bytes_of(said).removesuffix(b"\n")
        text = raw.decode("utf-8", "replace")
        spans = [
            (len(raw[:start].decode("utf-8", "replace")), len(raw[:end].decode("utf-8", "replace")))
            for start, end in spans
        ]
    return MatchedLine(data["line_number"], text, matched, tuple(spans))


def mask_matches(found: MatchedFile, data: bytes) -> MatchedFile | None:
    """The same with stars in place of secrets. A line that only its secret matches is left out, so that nobody can
    guess one by trying patterns; None where no line is left, or the file changed meanwhile."""
    from outcrop.mask import mask_secrets  # its patterns take 20 ms to make

    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if wide else "utf-8-sig", "replace")
    masked, secrets = mask_secrets(text)
    if not secrets:
        return found
    plain, covered = text.split("\n"), masked.split("\n")
    lines = []
    for line in found.lines:
        if line.number > len(plain) or plain[line.number - 1] != line.text.removeprefix("\ufeff"):
            return None
        shown = covered[line.number - 1]
        spans = tuple(span for span in line.spans if shown[slice(*span)] == line.text[slice(*span)])
        if spans or not line.spans:
            lines.append(replace(line, text=shown, spans=spans))
    kept = replace(found, lines=tuple(lines))
    return kept if kept.count else None
