"""The embedders there are: one line each in the table below, imported only when asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from outcrop.contracts import Embedder
from outcrop.errors import ConfigError


@dataclass(frozen=True, slots=True)
class _Settings:
    """What stands after the colon of a model's name, and the settings of remote models."""

    name: str
    url: str
    key: str
    query_prefix: str


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

    return OnnxEmbedder(Path(settings.name).expanduser(), query_prefix=settings.query_prefix)


def _open_sentence_transformers(settings: _Settings) -> Embedder:
    from outcrop.embed.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(Path(settings.name).expanduser(), query_prefix=settings.query_prefix)


_MODELS: dict[str, tuple[str, Callable[[_Settings], Embedder]]] = {
    # what is typed before the colon: what is typed after it, and how it is opened
    "static": ("", _open_static),
    "openai": ("NAME", _open_openai),
    "onnx": ("FOLDER", _open_onnx),
    "sentence-transformers": ("FOLDER", _open_sentence_transformers),
}
_CHOICES = ", ".join(f"{kind}:{rest}" if rest else kind for kind, (rest, _) in _MODELS.items())


def open_embedder(model: str, *, url: str, key: str, query_prefix: str) -> Embedder:
    """The embedder a `model` setting names; `url` and `key` are for `openai:` models only.

    `query_prefix` is for models that want an instruction before a query; the static model wants none and
    leaves it aside.
    """
    kind, _, name = model.partition(":")
    if kind not in _MODELS:
        near = difflib.get_close_matches(kind, _MODELS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"there is no model {model!r}; {hint}choose one of {_CHOICES}")
    rest, open_model = _MODELS[kind]
    if bool(name) != bool(rest):
        expected = f"{kind}:{rest}" if rest else kind
        raise ConfigError(f"the model {model!r} is not complete or says too much: write it as {expected}")
    return open_model(_Settings(name, url, key, query_prefix))
