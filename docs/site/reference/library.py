"""The library: the public names of `outcrop`, what they promise, and the records they hand out."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from docs.site.reference.settings import attribute_docs
from docs.site.table import table

import outcrop
from outcrop import records as nouns
from outcrop.config import Config
from outcrop.records.asked import SEARCH_OPTIONS, SearchArguments
from outcrop.records.option import Option, declared

PARTS: Final = (
    "outcrop.notes:KnowledgeBase",
    "outcrop.evals.run:evaluate",
    "outcrop.chat:open_chat",
    "outcrop.chat:Chat",
)
"""What else a program may want: notes, evaluation, chat. Their modules are imported by their own names."""
ADAPTERS: Final = ("outcrop.adapters.langchain", "outcrop.adapters.llamaindex")
FRONT: Final = ("open", "Engine")
"""Where one begins; the rest by name."""
_REQUIREMENT: Final = re.compile(r" \([A-Z]\d+(?:, [A-Z]\d+)*\)")
WIDTH: Final = 90
"""Characters of a signature on one line: what fits beside the contents (not measured)."""


def front_door() -> str:
    """The names of `outcrop`, the engine first."""
    others = sorted(name for name in outcrop.__all__ if name not in FRONT)
    return "\n\n".join(_describe(f"outcrop.{name}", getattr(outcrop, name)) for name in (*FRONT, *others))


def records() -> str:
    """The records that the public ones are made of, as far as one gets by their fields."""
    public = {getattr(outcrop, name) for name in outcrop.__all__}
    found: dict[type, None] = {}
    waiting = [*public]
    while waiting:
        for kind in _kinds_in(_annotations(waiting.pop())):
            if kind not in found and kind not in public:
                found[kind] = None
                waiting.append(kind)
    ordered = sorted(found, key=lambda kind: kind.__name__)
    return _demoted(_describe(f"outcrop.records.{kind.__name__}", kind) for kind in ordered)


def parts() -> str:
    """What lies beside the engine."""
    return _demoted(_describe(name.replace(":", "."), _load(name)) for name in PARTS)


def adapters() -> str:
    """The retrievers for other libraries, from their source: to read about them one need not have those libraries."""
    made = []
    for module in ADAPTERS:
        spec = importlib.util.find_spec(module)
        assert spec is not None  # noqa: S101 - they are part of the package
        assert spec.origin is not None  # noqa: S101
        body = ast.parse(Path(spec.origin).read_text("utf-8")).body
        kind = next(node for node in body if isinstance(node, ast.ClassDef))
        made.append(f"## {module}.{kind.name}\n\n{ast.get_docstring(kind)}\n\n```python\n{_made_by(kind)}\n```")
    return _demoted(made)


def _demoted(parts: Iterable[str]) -> str:
    """Parts one level down: they stand under a heading of their page."""
    return re.sub(r"^#(?=#+ )", "##", "\n\n".join(parts), flags=re.MULTILINE)


def _made_by(kind: ast.ClassDef) -> str:
    """How an adapter is made: by its constructor, or by its fields where it is a model of pydantic."""
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return f"{kind.name}({ast.unparse(node.args).removeprefix('self, ')})"
    fields = (node for node in kind.body if isinstance(node, ast.AnnAssign))
    inside = ", ".join(
        f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}{_given(node)}" for node in fields
    )
    return f"{kind.name}(*, {inside})"


def _given(field: ast.AnnAssign) -> str:
    """The default of a field, where `Field` names one."""
    named = {word.arg: word.value for word in getattr(field.value, "keywords", ())}
    if "default" in named:
        return f" = {ast.unparse(named['default'])}"
    return f" = {ast.unparse(named['default_factory'])}()" if "default_factory" in named else ""


def _load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _describe(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return f"## {name}\n\n```python\n{_signature(name, value)}\n```\n\n{_doc(value)}"
    short = name.rpartition(".")[2]
    made = [f"## {name}", _doc(value)]
    if value is Config:
        made.append("Its fields are the [settings](settings.md).")
    elif value is SearchArguments:
        made.append(_search_options())
    elif dataclasses.is_dataclass(value):
        made.append(_fields(value))
    elif not issubclass(value, Exception) and not getattr(value, "_is_protocol", False):
        made.append(f"```python\n{_signature(short, value)}\n```")
    for method, found in _methods(value):
        function = found.fget if isinstance(found, property) else found
        how = f"{method}: {_said(function)}" if isinstance(found, property) else _signature(method, function)
        made.append(f"### {short}.{method}\n\n```python\n{how}\n```\n\n{_doc(function)}")
    return "\n\n".join(part for part in made if part)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class: its own, or for the Engine those of the parts it is made of."""
    parts = [part for part in kind.__mro__ if part.__module__.startswith("outcrop.engine")] or [kind]
    for name, value in (item for part in parts for item in vars(part).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod | staticmethod):
            yield name, value.__func__
        elif isinstance(value, property) or inspect.isfunction(value):
            yield name, value


def _said(function: Any) -> str:
    """What a function returns, as it is written there."""
    said = inspect.signature(function).return_annotation
    return "" if said is inspect.Signature.empty else str(said)


def _signature(name: str, value: Any) -> str:
    """How it is called, one parameter a line where it is long."""
    params = [_param(param) for param in inspect.signature(value).parameters.values()]
    params = [param for param in params if param not in ("self", "cls")]
    kinds = [param.kind for param in inspect.signature(value).parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        first = kinds.index(inspect.Parameter.KEYWORD_ONLY)
        params.insert(first - (len(kinds) - len(params)), "*")
    back = "" if inspect.isclass(value) or not _said(value) else f" -> {_said(value)}"
    short = f"{name}({', '.join(params)}){back}"
    return short if len(short) <= WIDTH else f"{name}(\n    {f',{chr(10)}    '.join(params)},\n){back}"


def _param(param: inspect.Parameter) -> str:
    stars = "*" if param.kind is param.VAR_POSITIONAL else "**" if param.kind is param.VAR_KEYWORD else ""
    said = "" if param.annotation is param.empty else f": {param.annotation}"
    equals = " = " if said else "="
    return f"{stars}{param.name}{said}" + ("" if param.default is param.empty else f"{equals}{param.default!r}")


def _fields(kind: Any) -> str:
    told = attribute_docs(importlib.import_module(kind.__module__), kind.__name__) | {
        name: _in_words(option) for name, option in declared(kind).items()
    }
    with_words = bool(told)
    rows = [
        (
            f"`{field.name}`",
            f"`{field.type}`",
            _default(field),
            *([told.get(field.name, "")] if with_words else []),
        )
        for field in dataclasses.fields(kind)
    ]
    return table(("field", "type", "default", *(["meaning"] if with_words else [])), rows)


def _search_options() -> str:
    """The options of a search as its keyword arguments."""
    hints = SearchArguments.__annotations__
    rows = (
        (f"`{name}`", f"`{_written(hints[name])}`", f"`{option.default!r}`", _in_words(option))
        for name, option in SEARCH_OPTIONS.items()
    )
    return table(("option", "type", "default", "meaning"), rows)


def _written(hint: Any) -> str:
    """A type as it is written in the code, which annotations that are not evaluated keep."""
    return str(getattr(hint, "__forward_arg__", hint))


def _in_words(option: Option) -> str:
    """What an option of a search does, and what may be given for it."""
    return f"{option.help} Must {option.wanted()}." if option.is_checked else option.help


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default!r}`"
    made = getattr(field.default_factory, "__name__", "")
    return f"`{made}()`" if made else ""


def _doc(value: Any) -> str:
    """A docstring, without the numbers of requirements that it names for us."""
    return _REQUIREMENT.sub("", inspect.cleandoc(value.__doc__ or ""))


def _annotations(value: Any) -> str:
    """Everything that is said of types in a value, as text."""
    if dataclasses.is_dataclass(value):
        return " ".join(str(field.type) for field in dataclasses.fields(value))
    if inspect.isclass(value):
        found = (member.fget if isinstance(member, property) else member for _, member in _methods(value))
        return " ".join(str(inspect.signature(function)) for function in found if function is not None)
    return str(inspect.signature(value)) if callable(value) else ""


def _kinds_in(text: str) -> list[type]:
    named = {word: getattr(nouns, word, None) for word in re.findall(r"\w+", text)}
    own = f"{nouns.__name__}."
    return [value for value in named.values() if inspect.isclass(value) and value.__module__.startswith(own)]
