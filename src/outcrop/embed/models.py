"""The table of embedders and rerankers: one line each, imported when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from outcrop.contracts import Embedder, Reranker
from outcrop.errors import ConfigError, EmbedError
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import need_extra


@dataclass(frozen=True, slots=True)
class _Settings:
    """What follows the colon in a model's name, and the settings of remote models."""

    name: str
    url: str
    key: str
    query_prefix: str
    device: str


def _open_static(_settings: _Settings) -> Embedder:
    from outcrop.embed.static import StaticEmbedder

    return StaticEmbedder()


def _open_openai(settings: _Settings) -> Embedder:
    from outcrop.embed.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        settings.name, settings.url, settings.key, dimensions=None, query_prefix=settings.query_prefix
    )


def _open_onnx(settings: _Settings) -> Embedder:
    from outcrop.embed.onnx import OnnxEmbedder

    folder = Path(settings.name).expanduser() if settings.name else _packaged("mini", "model mini")
    return OnnxEmbedder(folder, query_prefix=settings.query_prefix)


def _open_e5(_settings: _Settings) -> Embedder:
    from outcrop.embed.e5 import E5Embedder

    return E5Embedder()


def _open_sentence_transformers(settings: _Settings) -> Embedder:
    from outcrop.embed.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(
        Path(settings.name).expanduser(), query_prefix=settings.query_prefix, device=settings.device
    )


def _open_cross_encoder(name: str) -> Reranker:
    from outcrop.embed.onnx import CrossEncoder

    return CrossEncoder(Path(name).expanduser() if name else _packaged("rerank", "reranker mini"))


def _packaged(folder: str, what: str) -> Path:
    """A folder of the distribution that holds our transformers."""
    try:
        import outcrop_models
    except ImportError as error:
        raise need_extra(EmbedError, f"the {what}", "mini") from error
    path: Path = getattr(outcrop_models, folder)
    return path


_MODELS: dict[str, tuple[str, Callable[[_Settings], Embedder]]] = {
    # before the colon: what follows it, and how it is opened
    "static": ("", _open_static),
    "mini": ("", _open_onnx),
    "e5-small": ("", _open_e5),
    "openai": ("NAME", _open_openai),
    "onnx": ("FOLDER", _open_onnx),
    "sentence-transformers": ("FOLDER", _open_sentence_transformers),
}
_RERANKERS: dict[str, tuple[str, Callable[[str], Reranker]]] = {
    "mini": ("", _open_cross_encoder),
    "onnx": ("FOLDER", _open_cross_encoder),
}
_Opening = TypeVar("_Opening")


def open_embedder(model: str, *, url: str, key: str, query_prefix: str, device: str = "cpu") -> Embedder:
    """Open the embedder that a `model` setting names; `url` and `key` are for `openai:` models only. `query_prefix` is
    for models that want an instruction before a query; the static model ignores it. `device` may be `cuda` for a model
    that can run there (`runs_on_gpu`)."""
    open_model, name = _look_up("model", model, _MODELS)
    return open_model(_Settings(name, url, key, query_prefix, device))


def runs_on_gpu(model: str) -> bool:
    """Whether the model of this name can use a GPU."""
    return model.partition(":")[0] == "sentence-transformers"


def open_reranker(name: str) -> Reranker:
    """Open a reranker by name: `mini`, or `onnx:FOLDER`. It loads in the background."""
    open_model, folder = _look_up("reranker", name, _RERANKERS)
    return open_model(folder)


def _look_up(what: str, given: str, table: Mapping[str, tuple[str, _Opening]]) -> tuple[_Opening, str]:
    """How to open what is named, and what follows the colon."""
    kind, _, name = given.partition(":")
    if kind not in table:
        import difflib  # only for a suggestion

        near = difflib.get_close_matches(kind, table, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        choices = ", ".join(f"{choice}:{rest}" if rest else choice for choice, (rest, _) in table.items())
        raise ConfigError(f"there is no {what} {given!r}; {hint}choose one of {choices}")
    rest, opening = table[kind]
    if bool(name) != bool(rest):
        expected = f"{kind}:{rest}" if rest else kind
        raise ConfigError(f"the {what} {given!r} is incomplete or has too many parts: write it as {expected}")
    return opening, name
