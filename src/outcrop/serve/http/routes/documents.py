"""Documents and collections: list, read, add a text, delete."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from outcrop.engine import Engine, read_filter
from outcrop.errors import NotFound
from outcrop.records import (
    CollectionInfo,
    DocumentInfo,
    Filter,
    IngestReport,
    PageWord,
    StaleDocument,
    StoredChunk,
)
from outcrop.records.asked import FILTER_OPTIONS
from outcrop.serve.as_json import as_dict
from outcrop.serve.http.answers import answer, documented, extended, model_of, shape
from outcrop.serve.http.schema import (
    MAX_CONDITION,
    MAX_ID,
    CollectionParam,
    DocumentId,
    FilterBody,
    Line,
    TextBody,
)
from outcrop.serve.http.work import Shared
from outcrop.serve.overview import Overview, Overviews
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DocumentHash:
    """A document and what its source hashed to when it was indexed."""

    id: int
    uri: str
    sha256: str


_Document = extended("Document", DocumentInfo, stale=bool | None)
_PAGE = {"page": int, "pages": int, "width": int, "height": int, "words": tuple[PageWord, ...]}
_Page = shape("Page", image=str, **_PAGE)
_DocumentText = shape("DocumentText", text=str)
_Chunks = shape("Chunks", chunks=tuple[StoredChunk, ...])
_Reference = Annotated[
    str,
    Query(min_length=1, max_length=4096, description="Its path, its uri, or the id that a text was given."),
]
_Removed = shape("Removed", removed=int)
_Name = Annotated[str, Path(min_length=1, max_length=200, description="The collection's name.")]
_Offset = Annotated[int, Query(ge=0, le=MAX_ID)]


def documents_router(shared: Shared) -> APIRouter:
    """`/api/overview`, `/api/collections`, `/api/documents` and `/api/stale`."""
    router = APIRouter(prefix="/api", tags=["documents"])
    _add_collections(router, shared)
    _add_documents(router, shared)
    _add_one_document(router, shared)
    _add_parts(router, shared, "/documents/{document_id:int}", _by_number)
    _add_parts(router, shared, "/documents/by-path", _finder(shared.state.engine))
    return router


def _by_number(document_id: DocumentId) -> int:
    return document_id


def _finder(engine: Engine) -> Callable[..., int]:
    def find(path: _Reference, collection: CollectionParam = None) -> int:
        return engine.get(path, collection=collection).id

    return find


def _page_of(name: str, record: type) -> type[BaseModel]:
    return shape(name, documents=tuple[record, ...], total=int, next_offset=int | None)  # type: ignore[valid-type]


def _page(found: Sequence[object], total: int, offset: int) -> Response:
    """Some documents of many, and where the next page begins."""
    after = offset + len(found)
    following = after if found and after < total else None
    return answer({"documents": found, "total": total, "next_offset": following})


def _add_collections(router: APIRouter, shared: Shared) -> None:
    engine = shared.state.engine
    overviews = Overviews(engine)

    def find_collection(name: str) -> CollectionInfo:
        for info in engine.collections():
            if info.name == name:
                return info
        raise NotFound("there is no such collection; GET /api/collections lists them")

    @router.post("/overview", **documented(200, model_of(Overview), 404, 413, 415))
    def overview(body: FilterBody) -> Response:
        """Counts of what passes a filter, by collection, kind, language, folder, tag and date; what changed lately; and
        questions to begin with."""
        return answer(overviews.make(read_filter(**body.model_dump(exclude_unset=True))))

    @router.get("/collections", **documented(200, shape("Collections", collections=tuple[CollectionInfo, ...])))
    def collections() -> Response:
        """Every collection and how much it holds."""
        return answer({"collections": engine.collections(roots=True)})

    @router.get("/collections/{name}", **documented(200, model_of(CollectionInfo), 404))
    def collection_of_name(name: _Name) -> Response:
        """One collection."""
        return answer(find_collection(name))

    @router.get("/collections/{name}/hashes", **documented(200, _page_of("Hashes", DocumentHash), 404))
    def hashes(
        name: _Name, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000, offset: _Offset = 0
    ) -> Response:
        """The uri and the SHA-256 of every document of a collection, so that a sync elsewhere can diff."""
        total = find_collection(name).documents
        where = Filter(collections=(name,))
        found = engine.documents(where, limit=limit, offset=offset) if offset < total else []
        return _page([DocumentHash(info.id, info.uri, info.sha256) for info in found], total, offset)

    @router.delete("/collections/{name}", dependencies=shared.writes, **documented(200, _Removed, 404))
    def delete_collection(name: _Name) -> Response:
        """Remove a collection with its documents from the index; files stay where they are."""
        find_collection(name)
        return answer({"removed": engine.delete(where=Filter(collections=(name,)))})


def _add_documents(router: APIRouter, shared: Shared) -> None:
    engine = shared.state.engine

    @router.get("/documents", **documented(200, _page_of("Documents", DocumentInfo), 404))
    def documents(
        collection: CollectionParam = None,
        path: Annotated[str | None, Query(min_length=1, max_length=4096, description="A glob.")] = None,
        kind: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
        tag: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
        where: Annotated[
            str | None, Query(min_length=1, max_length=MAX_CONDITION, description=FILTER_OPTIONS["where"].help)
        ] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        offset: _Offset = 0,
    ) -> Response:
        """Documents by collection and path."""
        asked = {"collections": collection, "paths": path, "kinds": kind, "tags": tag}
        given: dict[str, Any] = {name: (value,) for name, value in asked.items() if value is not None}
        wanted = read_filter(**given, where=where)
        total = engine.count(wanted)
        found = engine.documents(wanted, limit=limit, offset=offset) if offset < total else []
        return _page(found, total, offset)

    @router.post("/documents", dependencies=shared.writes, **documented(201, model_of(IngestReport), 413, 415))
    def add_text(body: TextBody) -> Response:
        """Add a text. It is found by its words at once, by its meaning a moment later."""
        report = engine.add(**body.model_dump(), defer_embedding=True)
        shared.background.nudge()
        return answer(report, 201)

    @router.get("/stale", **documented(200, shape("Stale", stale=tuple[StaleDocument, ...]), 404))
    def stale(collection: CollectionParam = None) -> Response:
        """Documents whose files changed or vanished since they were indexed."""
        return answer({"stale": engine.stale(collection=collection)})


def _add_one_document(router: APIRouter, shared: Shared) -> None:
    engine = shared.state.engine

    def described(document: DocumentInfo) -> Response:
        return answer(as_dict(document, stale=engine.is_stale(document)))

    @router.get("/documents/by-path", **documented(200, _Document, 404, 409))
    def document_by_path(path: _Reference, collection: CollectionParam = None) -> Response:
        """A document by its path, its uri, or the id a text was given."""
        return described(engine.get(path, collection=collection))

    @router.get("/documents/{document_id:int}", **documented(200, _Document, 404))
    def document(document_id: DocumentId) -> Response:
        """What is known of a document."""
        return described(engine.get(document_id))


def _add_parts(router: APIRouter, shared: Shared, place: str, find: Callable[..., int]) -> None:
    """What one does with a document, named by its number or, below `by-path`, as its owner names it."""
    engine = shared.state.engine
    chosen: Any = Depends(find)
    refused = (404,) if find is _by_number else (404, 409)  # several documents may bear a name

    @router.delete(place, dependencies=shared.writes, **documented(200, _Removed, *refused))
    def delete_document(document_id: int = chosen) -> Response:
        """Remove a document from the index; its file stays where it is."""
        return answer({"removed": engine.delete(document_id)})

    @router.get(f"{place}/text", **documented(200, _DocumentText, *refused))
    def text(document_id: int = chosen, line_start: Line = None, line_end: Line = None) -> Response:
        """The text of a document as it was parsed, or some lines of it."""
        whole = engine.text(document_id)
        if line_start is None and line_end is None:
            return answer({"text": whole})
        lines = whole.splitlines(keepends=True)
        return answer({"text": "".join(lines[(line_start or 1) - 1 : line_end])})

    @router.get(f"{place}/pages/{{page:int}}", **documented(200, _Page, 404, 409))
    def page_picture(
        page: Annotated[int, Path(ge=1, le=MAX_ID, description="The page, counted from 1.")],
        document_id: int = chosen,
        line_start: Line = None,
        line_end: Line = None,
        width: Annotated[int, Query(ge=100, le=2000, description="Pixels.")] = 1000,
    ) -> Response:
        """A page of a PDF or of a picture file (as a data URL) with the box of each word; those of the lines asked
        for are marked. Only of a file that is as it was indexed and in which no secret was masked."""
        lines = None if line_start is None else (line_start, line_end or line_start)
        picture = engine.page(document_id, page, lines=lines, width=width)
        image = f"data:image/png;base64,{b64encode(picture.png).decode('ascii')}"
        return answer({name: getattr(picture, name) for name in _PAGE} | {"image": image})

    @router.get(f"{place}/chunks", **documented(200, _Chunks, *refused))
    def chunks(
        document_id: int = chosen, offset: _Offset = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """The chunks of a document, in order."""
        return answer({"chunks": engine.chunks(document_id)[offset : offset + limit]})
