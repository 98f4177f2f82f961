"""GREP of a branch: its files out of the object store, handed to ripgrep as plain files.

They are written into a private folder, a few at a time and only those that can match, so that lines are ripgrep's own
here too. What is read is the branch as it was indexed: its blobs never change.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from outcrop.contracts import Store
from outcrop.errors import SourceError
from outcrop.records import DocumentInfo, Filter, GrepOptions, Manifest, MatchedFile, MatchedLine
from outcrop.sources.checkout import Repository
from outcrop.sources.gitobjects import ObjectStore
from outcrop.sources.trees import blob_of
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted

BATCH_FILES: Final = 1_000
BATCH_BYTES: Final = 32 * 1024 * 1024
"""Of files that lie in the folder at once (not measured)."""
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
"""ripgrep decodes files that begin so: their bytes are not what it matches."""

Blob = tuple[DocumentInfo, Manifest]
Run = Callable[[Sequence[str], IO[bytes]], Iterator[tuple[str, tuple[MatchedLine, ...]]]]


def list_blobs(store: Store, refs: Sequence[Manifest], options: GrepOptions) -> list[Blob]:
    """The files of branches that a pattern is looked for in, by path."""
    dropped = frozenset(store.select(Filter(paths=options.without)).tolist() if options.without else ())
    found: list[Blob] = []
    for manifest in refs:
        where = replace(options.where, collections=(manifest.collection,), manifests=(manifest.id,))
        tops = _tops(store, manifest) if options.below else ()
        for info in store.documents(where):
            if info.origin == "tree" and info.id not in dropped and _is_below(info.path, tops, options.below):
                found.append((info, manifest))
    return sorted(found, key=lambda blob: (blob[0].path, blob[1].name))


def _tops(store: Store, manifest: Manifest) -> tuple[str, ...]:
    """The folders in which people see the files of a repository."""
    same = (each for each in store.manifests() if each.repository == manifest.repository)
    return (str(Path(manifest.repository).parent), *(each.folder for each in same if each.folder))


def _is_below(path: str, tops: Sequence[str], below: Sequence[str]) -> bool:
    return not below or any(
        f"{top.rstrip('/')}/{path}/".startswith(f"{folder.rstrip('/')}/") for top in tops for folder in below
    )


@dataclass(frozen=True, slots=True)
class Blobs:
    """The files of branches as ripgrep matches them. `wanted` are alternatives of texts that a line must hold;
    `problems` gets a line for each file that could not be read."""

    files: Sequence[Blob]
    max_bytes: int
    wanted: Sequence[Sequence[str]]
    ignore_case: bool
    problems: list[str]

    def match(self, run: Run, complaints: IO[bytes]) -> Iterator[tuple[MatchedFile, bytes]]:
        """Each file with its lines, and its content."""
        if not self.files:
            return
        with tempfile.TemporaryDirectory(prefix="outcrop-grep-") as folder:
            for batch in self._unpack(Path(folder)):
                for name, lines in run(list(batch), complaints):
                    info, manifest = batch[name]
                    short = manifest.name.split("/", 2)[-1]
                    yield MatchedFile(info, lines, short), Path(name).read_bytes()
                for name in batch:
                    Path(name).unlink()

    def _unpack(self, folder: Path) -> Iterator[dict[str, Blob]]:
        batch: dict[str, Blob] = {}
        room = BATCH_BYTES
        for number, (blob, data) in enumerate(self._read()):
            file = folder / f"{number:08}"  # in the order of the paths
            try:
                file.write_bytes(data)
            except OSError as error:
                raise SourceError(f"{folder} cannot be written: {error.strerror}; make room there") from error
            batch[str(file)] = blob
            room -= len(data)
            if room <= 0 or len(batch) >= BATCH_FILES:
                yield batch
                batch, room = {}, BATCH_BYTES
        if batch:
            yield batch

    def _read(self) -> Iterator[tuple[Blob, bytes]]:
        """The files that can match."""
        texts = [[self._fold(text.encode("utf-8", "surrogatepass")) for text in each] for each in self.wanted]
        opened: dict[str, ObjectStore] = {}
        for blob in self.files:
            check_wanted()
            info, manifest = blob
            try:
                if manifest.repository not in opened:
                    opened[manifest.repository] = _open(Path(manifest.repository))
                data = opened[manifest.repository].read(blob_of(info.uri), "blob", self.max_bytes)
            except SourceError as error:
                self.problems.append(f"{manifest.name.split('/', 2)[-1]}:{info.path}: {error}")
                continue
            plain = self._fold(data)
            if (
                not texts
                or data.startswith(_WIDE)
                or any(all(text in plain for text in each) for each in texts)
            ):
                yield blob, data

    def _fold(self, data: bytes) -> bytes:
        return data.lower() if self.ignore_case else data


def _open(folder: Path) -> ObjectStore:
    if not (folder / "objects").is_dir():
        raise SourceError("its repository is not there any more; `outcrop sync` tells more")
    return ObjectStore(Repository(folder, folder, folder, None, None))
