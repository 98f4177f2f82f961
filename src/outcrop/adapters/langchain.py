"""A retriever for LangChain: `pip install 'outcrop[langchain]'`.

retriever = OutcropRetriever(engine=outcrop.open(), k=5)
chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | model
"""

from __future__ import annotations

from typing import Any

from outcrop.adapters.passages import find_passages
from outcrop.engine import Engine
from outcrop.errors import ConfigError
from outcrop.system.machine import need_extra

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field
except ModuleNotFoundError as error:
    raise need_extra(ConfigError, "a retriever for LangChain", "langchain") from error


class OutcropRetriever(BaseRetriever):
    """Passages of an index as LangChain's documents, best first.

    Their metadata says where each is from (`source`, `place`, `line_start`, `line_end`, `page`) and its `score`. Safe
    to use from many threads, as the engine is; asynchronous calls run in one.
    """

    engine: Engine = Field(exclude=True)
    """The index to ask; its owner closes it."""
    k: int = Field(default=10, ge=1)
    """How many passages at most, where there is no budget."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """As many passages as fit into so many tokens, the last perhaps shortened; the lines that name sources count."""
    options: dict[str, Any] = Field(default_factory=dict)
    """More options of `Engine.search`: `collections`, `kinds`, `paths`, `tags`, `rerank` …"""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain hands it over
    ) -> list[Document]:
        found = find_passages(self.engine, query, self.k, self.budget_tokens, self.options)
        return [Document(id=item.id, page_content=item.text, metadata=item.metadata) for item in found]
