"""Against the real LangChain: a retriever by itself, in a chain, and asked asynchronously."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from pydantic import ValidationError

from outcrop.adapters.langchain import OutcropRetriever
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import StoreError
from outcrop.text.tokens import vocabulary

QUESTION = "how do we rotate the signing keys?"


def test_documents_are_the_hits_of_a_search(engine: Engine) -> None:
    documents = OutcropRetriever(engine=engine, k=3).invoke(QUESTION)
    hits = engine.search(QUESTION, limit=3).hits
    assert len(hits) == 3
    assert [document.page_content for document in documents] == [hit.text for hit in hits]
    assert [document.metadata["score"] for document in documents] == [hit.score for hit in hits]
    assert len({document.id for document in documents}) == 3


def test_metadata_says_where_a_passage_is_from(engine: Engine) -> None:
    first = OutcropRetriever(engine=engine, k=1).invoke(QUESTION)[0]
    info = engine.get("signing-keys.md")
    assert first.metadata["source"] == info.uri
    assert first.metadata["path"] == "signing-keys.md"
    assert first.metadata["collection"] == "notes"
    assert first.metadata["title"] == "Signing keys"
    assert first.metadata["page"] is None
    assert first.metadata["stale"] is False
    lines = engine.text(info.id).split("\n")[first.metadata["line_start"] - 1 : first.metadata["line_end"]]
    assert "\n".join(lines) == first.page_content
    assert (
        first.metadata["place"]
        == f"signing-keys.md:{first.metadata['line_start']}-{first.metadata['line_end']}"
    )


def test_a_passage_of_a_pdf_has_its_page(engine: Engine) -> None:
    first = OutcropRetriever(engine=engine, k=1).invoke("when do humpback whales sing?")[0]
    assert first.metadata["page"] == 2
    assert first.metadata["place"] == "whales.pdf p. 2"


def test_options_are_those_of_a_search(engine: Engine) -> None:
    retriever = OutcropRetriever(engine=engine, options={"collections": ["papers"]})
    assert {document.metadata["collection"] for document in retriever.invoke("whales")} == {"papers"}


def test_a_budget_is_kept(engine: Engine) -> None:
    few = OutcropRetriever(engine=engine, budget_tokens=60).invoke(QUESTION)
    many = OutcropRetriever(engine=engine, budget_tokens=2000).invoke(QUESTION)
    assert 0 < sum(vocabulary("o200k").count(document.page_content) for document in few) <= 60
    assert few[-1].metadata["truncated"]
    assert sum(len(item.page_content) for item in many) > sum(len(item.page_content) for item in few)


def test_in_a_chain_the_model_reads_the_passages(engine: Engine) -> None:
    def join(documents: list[Document]) -> str:
        return "\n".join(f"{document.metadata['place']}\n{document.page_content}" for document in documents)

    seen: list[str] = []
    prompt = ChatPromptTemplate.from_template("Answer from this:\n{context}\n\n{question}")

    def look(value: PromptValue) -> PromptValue:
        seen.append(value.to_string())
        return value

    model = FakeListChatModel(responses=["every ninety days"])
    retriever = OutcropRetriever(engine=engine, k=2)
    chain = (
        {"context": retriever | join, "question": RunnablePassthrough()}
        | prompt
        | RunnableLambda(look)
        | model
        | StrOutputParser()
    )
    assert chain.invoke(QUESTION) == "every ninety days"
    assert "signing-keys.md:" in seen[0]
    assert "We rotate the signing keys every ninety days" in seen[0]


def test_asked_asynchronously_it_answers_the_same(engine: Engine) -> None:
    retriever = OutcropRetriever(engine=engine, k=2)
    assert asyncio.run(retriever.ainvoke(QUESTION)) == retriever.invoke(QUESTION)


def test_no_passages_is_no_error(engine: Engine) -> None:
    assert OutcropRetriever(engine=engine).invoke('"words that stand nowhere"') == []


def test_a_failing_index_is_an_error_and_not_an_empty_answer(tmp_path: Path) -> None:
    db = tmp_path / "index.db"
    with Engine(load_config({"db": db}, {"HOME": str(tmp_path)})) as engine:
        engine.add(text="the keys are in the safe")
    with Engine(load_config({"db": db}, {"HOME": str(tmp_path)})) as engine:
        damage(db)
        with pytest.raises(StoreError):
            OutcropRetriever(engine=engine).invoke("where are the keys?")


def damage(db: Path) -> None:
    """Overwrite all but the first page of a database."""
    with db.open("r+b") as file:
        size = db.stat().st_size
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


def test_a_budget_of_nothing_is_refused(engine: Engine) -> None:
    with pytest.raises(ValidationError):
        OutcropRetriever(engine=engine, budget_tokens=0)


@pytest.mark.parametrize(
    ("module", "library"), [("langchain", "langchain_core"), ("llamaindex", "llama_index")]
)
def test_without_the_library_the_error_says_what_to_install(module: str, library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"import outcrop.adapters\n"
        f"try: import outcrop.adapters.{module}\n"
        "except outcrop.OutcropError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"pip install 'outcrop[{module}]'" in done.stdout
