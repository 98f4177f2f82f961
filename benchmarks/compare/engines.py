"""Engines of the comparison that read files, each in a process of its own (started by benchmarks.compare).

    python -m benchmarks.compare.engines NAME PLAN

As `benchmarks.code.engines`, whose plan and answer these have, for more engines. They run under their own Python: the
frameworks with Outcrop's model on the path, so that nothing but the splitter and the store is theirs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.code.engines import ENGINES, TOP, Found, Index, Opened, Plan, main  # isort: skip

MAX_FILE_BYTES = 1_000_000


def open_llamaindex(_plan: Plan) -> Index:
    """LlamaIndex: its reader, its default splitter (1 024 tokens, 200 shared), its index in memory; our model."""
    from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.node_parser import SentenceSplitter

    from outcrop.embed.static import StaticEmbedder

    model = StaticEmbedder()

    class Ours(BaseEmbedding):  # type: ignore[misc, unused-ignore]
        """Outcrop's static model as LlamaIndex wants one."""

        def _get_query_embedding(self, query: str) -> list[float]:
            return list(map(float, model.embed_query(query)))

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            made: list[list[float]] = model.embed_documents(texts).tolist()
            return made

    def index(folder: Path, home: Path) -> Opened:
        documents = SimpleDirectoryReader(str(folder), recursive=True, errors="replace").load_data()
        made = VectorStoreIndex.from_documents(
            documents, embed_model=Ours(embed_batch_size=256), transformations=[SentenceSplitter()]
        )
        retriever = made.as_retriever(similarity_top_k=TOP)
        texts = {document.id_: document.text for document in documents}

        def search(text: str) -> Found:
            found = []
            for hit in retriever.retrieve(text):
                node: Any = hit.node
                path = Path(node.metadata["file_path"]).relative_to(folder).as_posix()
                whole = texts.get(node.ref_doc_id or "", "")
                found.append((path, *_lines(whole, node.start_char_idx or 0, node.end_char_idx or 0)))
            return found

        def close() -> None:
            made.storage_context.persist(str(home / "saved"))

        return search, lambda: len(made.index_struct.nodes_dict), close

    return index


def open_langchain(_plan: Plan) -> Index:
    """LangChain: its recursive splitter with its defaults (4 000 characters, 200 shared), in memory; our model."""
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # type: ignore[import-not-found]

    from outcrop.embed.static import StaticEmbedder

    model = StaticEmbedder()

    class Ours(Embeddings):
        """Outcrop's static model as LangChain wants one."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            made: list[list[float]] = model.embed_documents(texts).tolist()
            return made

        def embed_query(self, text: str) -> list[float]:
            return list(map(float, model.embed_query(text)))

    def index(folder: Path, home: Path) -> Opened:
        texts = read_folder(folder)
        documents = [Document(text, metadata={"path": path}) for path, text in texts.items()]
        chunks = RecursiveCharacterTextSplitter(add_start_index=True).split_documents(documents)
        store = InMemoryVectorStore(Ours())
        store.add_documents(chunks)

        def search(text: str) -> Found:
            found = []
            for hit in store.similarity_search(text, k=TOP):
                path, start = hit.metadata["path"], hit.metadata["start_index"]
                found.append((path, *_lines(texts[path], start, start + len(hit.page_content))))
            return found

        def close() -> None:
            store.dump(str(home / "saved.json"))

        return search, lambda: len(chunks), close

    return index


def open_probe(plan: Plan) -> Index:
    """Probe: no index; every question starts its program, which reads the folder, tests included.

    By its BM25 score: on 40 questions about six repositories that gave .636, the order it prints .585.
    """
    program = plan["program"]
    subprocess.run([program, "--version"], capture_output=True, check=True)

    def index(folder: Path, _home: Path) -> Opened:
        def search(text: str) -> Found:
            command = [program, "search", "--format", "json", "--max-results", str(TOP), "--allow-tests"]
            done = subprocess.run(
                [*command, "--", text, str(folder)], capture_output=True, text=True, check=False
            )
            begin = done.stdout.find("{")  # none where it cannot read a question: that one has no answer
            results = json.loads(done.stdout[begin:])["results"] if begin >= 0 else []
            results.sort(key=lambda result: -(result.get("bm25_score") or 0.0))
            found: Found = []
            for result in results:
                first, last = result["lines"]
                found.append((Path(result["file"]).relative_to(folder).as_posix(), int(first), int(last)))
            return found

        return search, lambda: 1, lambda: None

    return index


def read_folder(folder: Path) -> dict[str, str]:
    """path → text of every file that is text."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
            data = path.read_bytes()
            if b"\0" not in data[:4096]:
                texts[path.relative_to(folder).as_posix()] = data.decode("utf-8", "replace")
    return texts


def _lines(text: str, start: int, end: int) -> tuple[int, int]:
    """The first and last line of a span."""
    first = text.count("\n", 0, start) + 1
    return first, first + text.count("\n", start, end)


COMPARED: dict[str, Callable[[Plan], Index]] = {
    **ENGINES,
    "llamaindex": open_llamaindex,
    "langchain": open_langchain,
    "probe": open_probe,
}


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(sys.argv[1], Path(sys.argv[2]), COMPARED)) + "\n")
