"""What keeps an index right over the years: stale files, other models, copies, damage, who may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from outcrop.contracts import Stop
from outcrop.engine.reading import Reading
from outcrop.errors import ConfigError, EmbedError, StoreError
from outcrop.records import Filter, Hit

if TYPE_CHECKING:
    from outcrop.contracts import HasRoles
    from outcrop.maintain.reembed import Forecast
    from outcrop.records import Check, MoveReport, OnProgress, StaleDocument, Status


class Upkeep(Reading):
    """The part of an Engine that looks after the index."""

    def stale(self, *, collection: str | None = None) -> list[StaleDocument]:
        """Documents whose files changed or vanished since they were indexed."""
        from outcrop.maintain.health import find_stale

        where = Filter(collections=(collection,) if collection else ())
        self._known.require(where.collections)
        return find_stale(self._view(), where, self.config.max_file_bytes)

    def reembed(self, *, progress: OnProgress | None = None, stopped: Stop | None = None) -> int:
        """Give every chunk a vector of the model in use; how many were made. The old vectors serve until all new ones
        are there, then the switch is one transaction. Interrupted, it goes on where it stopped."""
        return self._adder.reembed(progress, stopped)

    def forecast_reembed(self) -> Forecast:
        """How many texts `reembed` would embed, and about how many seconds that takes, by the pace of a few of them."""
        return self._adder.forecast()

    def move_to(
        self, target: Upkeep, *, progress: OnProgress | None = None, stopped: Stop | None = None
    ) -> MoveReport:
        """Copy this index to another one, in whatever store, and prove that it holds the same and ranks alike.

        The target is empty, or what an earlier call left of the same index: interrupted, it goes on where it stopped.
        Nothing is deleted here.
        """
        from outcrop.maintain.compare import compare_rankings, draw_queries
        from outcrop.maintain.copy import move

        target._maker.require_model_of(self._maker)
        report = move(self._store, target._store, progress=progress, stopped=stopped)
        try:
            target._adder.settle()
            self.parts.index.purge()  # until then rows that are gone count in the weights of words, here alone
            queries = draw_queries(self._store)
            return replace(report, parity=compare_rankings(queries, self._best_hits, target._best_hits))
        except (EmbedError, ConfigError) as error:  # all is there, its model cannot be opened on this machine
            return replace(report, unranked=str(error))

    def _best_hits(self, query: str, limit: int) -> Sequence[Hit]:
        """The hits of a search; unlike `search` it raises when the store fails."""
        answer = self.search(query, limit=limit)
        if answer.reason == "error":
            raise StoreError(answer.detail)
        return answer.hits

    def status(self) -> Status:
        """What the index holds."""
        from outcrop.index.wording import count_languages
        from outcrop.records import Status

        return Status(
            db=str(self.config.db),
            collections=self.collections(roots=True),
            stats=self._store.stats(),
            model=self.parts.embedder.model,
            index_model=self._store.active_model(),
            array_bytes=self.parts.index.bytes_on_disk(),
            languages=count_languages(self.parts.index.count_terms),
        )

    def doctor(self, *, repair: bool = False) -> list[Check]:
        """Examine the index; `repair` rebuilds what is derived and damaged."""
        from outcrop.maintain.health import examine

        return examine(self._store, self.parts.index, self.parts.embedder, repair=repair)

    def grant(self, role: str, collections: Sequence[str] = ()) -> None:
        """Let a role of the database read these collections, or all there are and will be. Only on Postgres."""
        self._roles().grant(role, collections)

    def revoke(self, role: str) -> int:
        """Take back everything a role may read; how many grants there were."""
        return self._roles().revoke(role)

    def grants(self) -> list[tuple[str, str | None]]:
        """(role, collection) of every grant; None stands for all collections."""
        return self._roles().grants()

    def warm(self) -> None:
        """Load the model, the arrays and the graph now instead of at the first search."""
        self.parts.retriever.warm()

    def _roles(self) -> HasRoles:
        from outcrop.maintain.permissions import roles_of

        return roles_of(self._store)
