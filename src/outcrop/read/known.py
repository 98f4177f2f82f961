"""READ PATH: what collections and branches an index has, and what in them is valid when, kept until it changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from outcrop.contracts import Store
from outcrop.errors import NotFound
from outcrop.read.timeline import Timeline, Timelines
from outcrop.records import CollectionInfo, Manifest, SearchOptions

HISTORY: Final = "history:"
"""Settings of an index that begin so name a repository whose commits it holds; the value is JSON, their collection
first."""


class KnownCollections:
    """The collections of a store, read again when it has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[int, tuple[CollectionInfo, ...]] = (-1, ())
        self._histories: tuple[int, frozenset[str]] = (-1, frozenset())
        self._manifests: tuple[int, tuple[Manifest, ...]] = (-1, ())
        self._timelines = Timelines(store)

    def infos(self) -> tuple[CollectionInfo, ...]:
        """Every collection and how much it holds."""
        version = self._store.version()
        if self._known[0] != version:
            self._known = (version, tuple(self._store.collections()))
        return self._known[1]

    def manifests(self) -> tuple[Manifest, ...]:
        """The branches and checkouts of the index."""
        version = self._store.version()
        if self._manifests[0] != version:
            self._manifests = (version, tuple(self._store.manifests()))
        return self._manifests[1]

    def timeline(self, names: Sequence[str] = ()) -> Timeline:
        """What takes part in time in these collections, or in all."""
        return self._timelines.of(info for info in self.infos() if not names or info.name in names)

    def names(self) -> list[str]:
        """The names of all."""
        return [info.name for info in self.infos()]

    def leave_out_histories(self, options: SearchOptions) -> SearchOptions:
        """The same for a search that names neither collections nor documents, without the commits of repositories."""
        where, version = options.where, self._store.version()
        if where.collections or where.documents or "commit" in where.kinds:
            return options
        if self._histories[0] != version:
            self._histories = (version, history_collections(self._store))
        hidden = self._histories[1]
        others = tuple(name for name in self.names() if name not in hidden) if hidden else ()
        return replace(options, where=replace(where, collections=others)) if others else options

    def require(self, names: Sequence[str]) -> None:
        """NotFound, with the name that was meant perhaps, where one of these is not there."""
        if not names:
            return
        known = self.names()
        for name in names:
            if name not in known:
                import difflib  # only for a suggestion

                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none yet'}"
                raise NotFound(f"there is no collection {name!r}; {hint}")


def history_collections(store: Store) -> frozenset[str]:
    """The collections that hold commits. A search leaves them out unless it names them: a third of its hits would be
    commits that touched what is looked for."""
    return frozenset(
        json.loads(value)[0] for name, value in store.settings().items() if name.startswith(HISTORY)
    )
