"""How much should the engine trust a model, and a reranker? Measured in the engine itself, on held-out packages.

    python -m training.tune --pairs FOLDER --model SPEC [--reranker SPEC] [--sources RAW] [--packages 60] …

A document of the pairs becomes a file of its own (its doc comment is not in it: the question was made of that), a
package an index. With `--sources` a package is indexed as it was collected, doc comments and all, and a question is
answered by the file: then what files tell (names, folders, neighbours) has its say, too. Each package's questions are
asked with every weight of the path, at every trust, and with every blend of the reranker. The value that is best on the
mean over packages is what the model's card should say; the neighbours tell how sharp the choice is.
"""

from __future__ import annotations

import argparse
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

import outcrop
from outcrop.contracts import Embedder, Reranker
from outcrop.embed.models import open_reranker
from outcrop.index.arrays import SearchArrays
from outcrop.records import Hit, Matrix, Model, Trust, Vector
from training.choose import gain, open_spec
from training.lines import read_held_out

ASKED = frozenset(
    {"question", "section", "faq", "test", "usage", "changelog", "man", "issue", "comment", "first", "doc"}
)
"""Kinds of pairs that people type; a bare name is found by its letters, whatever a model thinks."""
REWRITTEN = frozenset({"question", "test", "usage", "changelog", "faq", "issue", "man", "section", "first"})
"""Kinds whose questions do not stand in the files word for word."""
TRUSTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.5)
PATHS = (0.0, 0.15, 0.3, 0.5, 0.8, 1.2, 2.0)
BLENDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85)
FEWEST = 8
"""Questions a package must have to be asked."""


class Trusted:
    """An embedder whose trust can be set."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.trust = embedder.trust
        self.queries: dict[str, Vector] = {}

    @property
    def model(self) -> Model:
        """The model's own."""
        return self._embedder.model

    @property
    def path_weight(self) -> float:
        """The model's own."""
        return self._embedder.path_weight

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text."""
        return self._embedder.embed_documents(texts)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One row a path."""
        return self._embedder.embed_paths(paths)

    def embed_query(self, text: str) -> Vector:
        """A query, remembered."""
        if text not in self.queries:
            self.queries[text] = self._embedder.embed_query(text)
        return self.queries[text]


class Remembering:
    """A reranker that is asked for each pair once, and whose blend can be set."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._said: dict[tuple[str, str], float] = {}
        self.blend = Trust(0.5, 0.5)

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """One score a text."""
        missing = [text for text in dict.fromkeys(texts) if (query, text) not in self._said]
        found = self._reranker.score(query, missing, seconds) if missing else []
        self._said.update({(query, text): score for text, score in zip(missing, found, strict=True)})
        return [self._said[query, text] for text in texts]


@dataclass(frozen=True)
class Package:
    """A held-out package: its documents by number, and (question, kind, number of the right document)."""

    name: str
    documents: Mapping[int, dict[str, Any]]
    questions: Sequence[tuple[str, str, int]]


def read_packages(
    folder: Path, count: int, questions: int, most: int, *, code: bool, kinds: Collection[str] = ASKED
) -> list[Package]:
    """Held-out packages with enough questions about code, or about prose; which ones hangs on their names alone."""
    found, pairs = read_held_out(folder)
    documents: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for number, document in found.items():
        if document["code"] == code:
            documents[document["package"]][number] = document
    asked: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for pair in pairs:
        document = found[pair["doc"]]
        if pair["kind"] in kinds and document["code"] == code:
            asked[document["package"]].append((pair["q"], pair["kind"], pair["doc"]))
    names = [name for name in asked if len(asked[name]) >= FEWEST and len(documents[name]) >= 2 * FEWEST]
    names = [name for name in names if len(documents[name]) <= most]
    names.sort(key=lambda name: zlib.crc32(name.encode()))
    rng = np.random.default_rng(0)
    packages = []
    for name in names[:count]:
        picked = rng.permutation(len(asked[name]))[:questions]
        packages.append(Package(name, documents[name], [asked[name][number] for number in picked]))
    return packages


def lay_out(package: Package, folder: Path) -> None:
    """A file a document, below a folder named by its number: models read no numbers of folders.

    The file's own name stays as it was: the engine tells formats and titles by it, and models read it.
    """
    for number, document in package.documents.items():
        place = folder / str(number) / document["path"]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(document["text"] + "\n", "utf-8")


def is_right(hit: Hit, package: Package, right: int, *, whole: bool) -> bool:
    """Whether a hit is the right document, or lies in its file where whole files were indexed."""
    if whole:
        return bool(hit.document.path == package.documents[right]["path"])
    return PurePosixPath(hit.document.path).parts[0] == str(right)


def ask(engine: outcrop.Engine, package: Package, *, whole: bool = False, **options: Any) -> float:
    """Mean NDCG@10 of a package's questions."""
    engine.parts.retriever._answers.clear()
    found = []
    for text, _, right in package.questions:
        hits = engine.search(text, limit=10, merge=False, **options).hits
        ranks = [rank for rank, hit in enumerate(hits, 1) if is_right(hit, package, right, whole=whole)]
        found.append(gain(min(ranks, default=99)))
    return float(np.mean(found))


def set_path_weight(engine: outcrop.Engine, weight: float) -> None:
    """Weigh the path otherwise from now on."""
    index = engine.parts.index
    assert isinstance(index, SearchArrays)
    index._path_weight = weight
    index.rebuild()


def tune(
    packages: Sequence[Package], embedder: Trusted, reranker: Remembering | None, sources: Path | None = None
) -> dict[str, list[float]]:
    """By way of asking, the mean of each package."""
    whole = sources is not None
    table: dict[str, list[float]] = defaultdict(list)
    own = embedder.trust
    for package in packages:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "files" if sources is None else sources / "src" / package.name
            if sources is None:
                lay_out(package, folder)
            with outcrop.Engine(
                outcrop.Config(db=Path(place) / "index.db"), embedder=embedder, reranker=reranker
            ) as engine:
                engine.add(folder)
                table["keyword"].append(ask(engine, package, whole=whole, mode="keyword"))
                table["semantic"].append(ask(engine, package, whole=whole, mode="semantic"))
                for value in PATHS:
                    set_path_weight(engine, value)
                    table[f"path {value}"].append(ask(engine, package, whole=whole, mode="semantic"))
                set_path_weight(engine, embedder.path_weight)
                for value in TRUSTS:
                    embedder.trust = Trust(value, value)
                    table[f"trust {value}"].append(ask(engine, package, whole=whole))
                embedder.trust = own
                if reranker is not None:
                    for value in BLENDS:
                        reranker.blend = Trust(value, value)
                        score = ask(engine, package, whole=whole, rerank=True, rerank_seconds=600.0)
                        table[f"blend {value}"].append(score)
        print(
            f"{package.name}: {len(package.questions)} questions, {len(package.documents)} documents",
            flush=True,
        )
    return dict(table)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--model", required=True, help="what the setting model takes, or static:FOLDER")
    parser.add_argument("--sources", type=Path, help="index the packages as they were collected here")
    parser.add_argument("--reranker", default="", help="what the setting reranker takes")
    parser.add_argument("--packages", type=int, default=60)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument(
        "--documents", type=int, default=5_000, help="leave larger packages out: for slow models"
    )
    options = parser.parse_args()
    embedder = Trusted(open_spec(options.model))
    reranker = Remembering(open_reranker(options.reranker)) if options.reranker else None
    for code in (True, False):
        packages = read_packages(
            options.pairs,
            options.packages,
            options.questions,
            options.documents,
            code=code,
            kinds=ASKED if options.sources is None else REWRITTEN,
        )
        asked = sum(len(one.questions) for one in packages)
        print(f"--- {'code' if code else 'prose'}: {len(packages)} packages, {asked} questions")
        for name, values in tune(packages, embedder, reranker, options.sources).items():
            print(f"{name:14s} {np.mean(values):.4f}", flush=True)


if __name__ == "__main__":
    main()
