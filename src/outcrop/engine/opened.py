"""An index that is open: its store, its model, and what closes them again."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

from outcrop.config import DEFAULT_TOKENIZER, Config
from outcrop.contracts import Commentator, Embedder, Reranker, Store, Tokenizer
from outcrop.maintain.permissions import close_index
from outcrop.read.lookup import KnownCollections
from outcrop.read.parts import Parts, PartsMaker
from outcrop.sources.revisions import Revisions
from outcrop.store.opening import open_store

if TYPE_CHECKING:
    from outcrop.write.add import Adder


class OpenedIndex:
    """What all of an Engine works with."""

    def __init__(
        self,
        config: Config,
        *,
        create: bool = True,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        tokenizer: Tokenizer | None = None,
        commentator: Commentator | None = None,
    ) -> None:
        self.config = config
        self._given_tokenizer = tokenizer
        if config.tokenizer != DEFAULT_TOKENIZER:
            self._tokenizer  # noqa: B018 - a setting that is wrong is told when the index is opened
        self._store: Store = open_store(
            config.db,
            lambda: self._maker.deriver(),  # noqa: PLW0108 - the maker is made after the store
            create=create,
            vector_index=config.vector_index,
            vector_effort=config.vector_effort,
        )
        self.said = close_index(config)
        """What the person who opened the index should know; empty when there is nothing."""
        self._maker = PartsMaker(config, self._store, embedder, reranker, commentator)
        self._known = KnownCollections(self._store)
        self._revisions = Revisions(self._store)

    @property
    def parts(self) -> Parts:
        """The model and what searches with it, made when first needed; others once the index has another model."""
        return self._maker.parts()

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from outcrop.read.pack import choose_tokenizer

        return self._given_tokenizer or choose_tokenizer(self.config.tokenizer)

    @cached_property
    def _adder(self) -> Adder:
        from outcrop.write.add import Adder

        return Adder(self.config, self._store, self._maker)

    def warm(self) -> None:
        """Load the model, the arrays and the graph now instead of at the first search."""
        self.parts.retriever.warm()

    def close(self) -> None:
        """Close the database and, where they have any, the connections and processes of the models."""
        self._store.close()
        self._maker.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
