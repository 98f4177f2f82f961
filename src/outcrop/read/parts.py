"""PARTS: the models an index is used with, opened when first needed, and what searches with them.

An index remembers under which name its model is opened. An engine that was not told a model goes by that, and when
another process gives the index another model, it follows.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outcrop.config import Config
from outcrop.contracts import Commentator, Embedder, Reranker, SearchableStore, Store
from outcrop.embed.models import open_embedder, open_reranker
from outcrop.errors import ConfigError, EmbedError
from outcrop.index.arrays import SearchArrays
from outcrop.index.seam import Index
from outcrop.read.search import Retriever
from outcrop.records import Model
from outcrop.records.database_url import DatabaseUrl
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import Terms

if TYPE_CHECKING:
    from outcrop.records.derived import Deriver

log = logging.getLogger(__name__)

DEFAULT_MODEL: Final = "static"
WARM_SECONDS: Final = 60.0
"""How long a reranker may take for its first words, in which it loads its files; beside any budget, once."""
_IN_FOLDERS: Final = ("onnx", "sentence-transformers")
_SETTING: Final = "model"


@dataclass(frozen=True, slots=True)
class Parts:
    """The embedding model, the name it was opened by (empty when it was handed over), and what searches with it."""

    name: str
    embedder: Embedder
    terms: Terms
    index: Index
    retriever: Retriever


class PartsMaker:
    """Makes the parts of one engine. Safe for threads."""

    def __init__(
        self,
        config: Config,
        store: Store,
        embedder: Embedder | None,
        reranker: Reranker | None,
        commentator: Commentator | None,
    ) -> None:
        self._config = config
        self._store = store
        self._given = embedder
        self._reranker = reranker
        self._commentator = commentator
        self._lock = threading.Lock()
        self._rerank_lock = threading.Lock()
        self._parts: Parts | None = None
        self._checked_version = -1
        self.cannot_follow = ""
        """Why the model that the index has by now could not be opened; empty when it was, or there was no need."""

    @property
    def follows(self) -> bool:
        """Whether the parts are those of the index's own model, whatever that is, and not of one that was named."""
        return self._given is None and not self._config.model

    def parts(self) -> Parts:
        """Made when first needed: listing documents needs no model, and a model takes time to load."""
        with self._lock:
            if self._parts is None:
                self._parts = self._make(self._config.model or self._name_of(self._store.active_model()))
            elif self.follows:
                self._parts = self._follow(self._parts)
            return self._parts

    def _make(self, name: str) -> Parts:
        config = self._config
        embedder = self._given or open_embedder(
            name, url=config.embed_url, key=config.embed_key, query_prefix=config.embed_query_prefix
        )
        self._recall(embedder)
        terms = Terms()
        index = open_index(self._store, terms, embedder.path_weight, config.beside(".arrays"))
        retriever = Retriever(self._store, index, embedder, terms, self.reranker)
        return Parts("" if self._given else name, embedder, terms, index, retriever)

    def _recall(self, embedder: Embedder) -> None:
        """Tell a remote model what the index knows of it, so that not every command has to ask."""
        active, recall = self._store.active_model(), getattr(embedder, "recall", None)
        if active is not None and recall is not None:
            recall(active)

    # ------------------------------------------------------------------ the model of the index

    def _follow(self, parts: Parts) -> Parts:
        """These parts, or those for the model that the index was given since. One look at a number when nothing was
        written."""
        version = self._store.version()
        if version == self._checked_version:
            return parts
        self._checked_version = version
        active = self._store.active_model()
        if active is None or active == parts.embedder.model or self._name_of(active) == parts.name:
            return parts
        try:
            followed = self._make(self._name_of(active))
        except (EmbedError, ConfigError) as error:
            log.warning("the index has another model now, which cannot be opened: %s", error)
            self.cannot_follow = str(error)
            return parts
        log.info("following the index to another model", extra={"model": str(active)})
        self.cannot_follow = ""
        return followed  # the old ones are let go when no thread searches with them any more

    def _name_of(self, model: Model | None) -> str:
        """The name by which a model of this index is opened."""
        own = self._store.setting(f"{_SETTING} {model}") if model is not None else None
        return own or self._store.setting(_SETTING) or DEFAULT_MODEL

    def note_first_model(self) -> None:
        """Remember the model an index was begun with."""
        if self._config.model and self._store.setting(_SETTING) is None:
            self._store.put_setting(_SETTING, lasting(self._config.model))

    def note_model(self, parts: Parts) -> None:
        """Remember how this model is opened, before the index is switched to it: the switch alone then decides which
        name holds, so there is no moment at which the two disagree."""
        if parts.name and self._name_of(parts.embedder.model) != lasting(parts.name):
            self._store.put_setting(f"{_SETTING} {parts.embedder.model}", lasting(parts.name))

    def require_model_of(self, source: PartsMaker) -> None:
        """Before this index becomes the copy of another: what is derived of the copy must be derived with the model of
        its vectors; ConfigError says what to do where it would not."""
        active = source._store.active_model()
        if active is None:
            return
        if not self.follows and self.parts().embedder.model != active:
            raise ConfigError(
                f"the target was opened with {self.parts().embedder.model}, this index has vectors of {active}: "
                "open it without naming a model, and it takes that of the copy"
            )
        # A file is searched by arrays, made once there is a model; a database by rows that are made with the copy.
        if isinstance(self._config.db, DatabaseUrl) and source.parts().embedder.model != active:
            raise ConfigError(
                f"this index has vectors of {active}, its model is {source.parts().embedder.model} by now: run "
                "`outcrop reembed` on it, then move it to a database"
            )

    def deriver(self) -> Deriver:
        """What makes the rows that a database is searched by; it is asked for at the first write or search."""
        from outcrop.store.postgres.in_place.derive import SearchDeriver

        parts = self.parts()
        return SearchDeriver(parts.terms, parts.embedder.path_weight)

    # ------------------------------------------------------------------ the optional ones

    def reranker(self) -> Reranker:
        """The reranker, opened at the first call and loaded by then."""
        with self._rerank_lock:
            if self._reranker is None:
                self._reranker = open_reranker(self._config.reranker)  # known to `close` while it loads
                try:
                    self._reranker.score("warm", ["warm"], WARM_SECONDS)
                except EmbedError as error:  # each search says so by itself, and it may recover
                    log.warning("the reranker did not start: %s", error)
            return self._reranker

    def commentator(self) -> Commentator | None:
        """What comments on code, where that is configured."""
        config = self._config
        with self._lock:
            if self._commentator is None and config.comment_model:
                from outcrop.embed.commentator import ChatCommentator  # ssl and http are slow to import

                self._commentator = ChatCommentator(
                    config.comment_model, config.comment_url, config.comment_key
                )
            return self._commentator

    def close(self) -> None:
        """Close the connections and processes of the models that have any."""
        embedder = self._parts.embedder if self._parts is not None else self._given
        for part in (embedder, self._reranker, self._commentator):
            closing = getattr(part, "close", None)
            if closing is not None:
                closing()


def open_index(store: Store, terms: Terms, path_weight: float, folder: Path | None) -> Index:
    """What searches this store: the store itself where it can, else arrays of all that it holds, kept in `folder`."""
    if isinstance(store, SearchableStore):
        from outcrop.store.postgres.in_place.search import DatabaseSearch  # a file needs none of it

        return DatabaseSearch(store, terms, path_weight, folder)
    return SearchArrays(store, folder, terms, path_weight)


def lasting(name: str) -> str:
    """A name that means the same from any folder."""
    kind, colon, rest = name.partition(":")
    return f"{kind}:{Path(rest).expanduser().absolute()}" if colon and kind in _IN_FOLDERS else name
