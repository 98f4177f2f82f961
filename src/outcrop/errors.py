"""Everything Outcrop raises.

    OutcropError
    ├── ConfigError          a setting is unknown, malformed or contradictory
    ├── SourceError          content could not be reached: missing, refused, too large
    │   ├── BlockedAddress   a URL leads to an address that is not public
    │   └── OutsideRoots     a path leads out of the folders that may be reached from outside
    ├── ParseError           content was reached but could not be read as its format
    ├── EmbedError           the embedding model failed or is not available
    ├── ChatError            the chat model's endpoint failed or is not available
    ├── ClusterError         a Ray cluster failed or is not available
    ├── StoreError           the database failed
    │   ├── NewerDatabase    it was written by a newer Outcrop
    │   ├── MissingVectors   a write named vectors that are not there: embed them and write again
    │   ├── DatabaseBusy     another writer held it past the timeout
    │   ├── DatabaseLost     its server cannot be reached; what was acknowledged is kept
    │   └── CorruptDatabase  it is damaged; the message says how to recover
    ├── NotFound             no such document, chunk or collection
    │   └── Ambiguous        several have the name; the message lists them
    ├── NotAllowed           what the knowledge base does not take, or what would show a masked secret
    │   └── TooLarge         more than a note may hold
    ├── Conflict             what is there stands in the way; the message says what that is
    ├── QueryError           the query or a filter cannot be understood
    └── Cancelled            the caller asked the work to stop

A message says what happened and what to do next. Each adapter translates its library's errors once,
`from error`. A bad *file* never raises out of an ingest: it becomes a line in the report.
"""

from __future__ import annotations


class OutcropError(Exception):
    """The root: catch this to catch everything Outcrop raises on purpose."""

    missing_extra: str = ""
    """The extra that has to be installed first, where that is the reason."""


class ConfigError(OutcropError):
    """A setting is unknown, malformed or contradictory."""


class SourceError(OutcropError):
    """Content could not be reached: missing, refused or too large."""


class BlockedAddress(SourceError):
    """A URL leads to an address that is not public."""


class OutsideRoots(SourceError):
    """A path leads out of the folders that a server or an agent may reach."""


class ParseError(OutcropError):
    """Content was reached but could not be read as its format."""


class EmbedError(OutcropError):
    """The embedding model failed or is not available."""


class ChatError(OutcropError):
    """The chat model's endpoint failed or is not available."""


class ClusterError(OutcropError):
    """A Ray cluster failed or is not available."""


class StoreError(OutcropError):
    """The database failed."""


class NewerDatabase(StoreError):
    """The database was written by a newer Outcrop."""


class MissingVectors(StoreError):
    """A write named vectors that are not there; `keys` are to be embedded, then written again."""

    def __init__(self, keys: frozenset[bytes]) -> None:
        super().__init__(f"{len(keys)} vectors are missing; embed them and write again")
        self.keys = keys


class DatabaseBusy(StoreError):
    """Another writer held the database past the timeout."""


class DatabaseLost(StoreError):
    """The server of the database cannot be reached; what was acknowledged is kept there."""


class CorruptDatabase(StoreError):
    """The database is damaged; the message says how to recover."""


class NotFound(OutcropError):
    """No such document, chunk or collection."""


class Ambiguous(NotFound):
    """Several documents have the given name; the message lists them."""


class NotAllowed(OutcropError):
    """A name or a text that the knowledge base does not take, or a page that would show a masked secret; the message
    says why."""


class TooLarge(NotAllowed):
    """More than a note may hold."""


class Conflict(OutcropError):
    """What is there stands in the way of a change: another name, a passage that is not there once."""


class QueryError(OutcropError):
    """The query or a filter cannot be understood."""


class Cancelled(OutcropError):
    """The caller asked the work to stop."""
