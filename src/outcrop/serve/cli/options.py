"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from outcrop.errors import OutcropError
from outcrop.records import Filter
from outcrop.records.asked import BUDGET_TOKENS, FILTER_OPTIONS, SEARCH_OPTIONS
from outcrop.records.option import Option
from outcrop.serve.cli.help import EVERYWHERE, HELP_ALL, GroupedHelp, GroupedOption
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean_line

if TYPE_CHECKING:
    from outcrop.engine import Engine

F = TypeVar("F", bound=Callable[..., Any])

LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Store a common option in the session; given before and after the command's name, the later one wins."""
    if value is None or value is False or value == 0:
        return
    session = ctx.ensure_object(Session)
    assert param.name is not None  # noqa: S101 - click names every option
    setattr(session, param.name, session.verbose + value if param.name == "verbose" else value)


def _common(*names: str, **attributes: Any) -> click.Option:
    return GroupedOption(
        names, expose_value=False, is_eager=True, callback=_remember, group=EVERYWHERE, **attributes
    )


COMMON: Final = (
    _common(
        "--db",
        type=click.Path(dir_okay=False),
        metavar="FILE|URL",
        help="The index to use: a file, or a Postgres database as postgresql://user@host/database.",
    ),
    _common("--json", "as_json", is_flag=True, help="One JSON document on standard output."),
    _common(
        "-q", "--quiet", is_flag=True, help="Only results and problems: no progress, no counts, no remarks."
    ),
    _common("-v", "--verbose", count=True, help="Say more; twice shows tracebacks."),
    _common("--no-color", is_flag=True, help="Plain output; NO_COLOR does the same."),
    _common("--log-level", type=click.Choice(LOG_LEVELS), rare=True, help="JSON log lines on standard error."),
    HELP_ALL,
)
"""What every command takes, before or after its name."""


def command(name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command whose function has the session as its first argument; the common options come last."""

    def make(function: Callable[..., Any]) -> click.Command:
        made = click.command(name, cls=GroupedHelp)(click.make_pass_decorator(Session, ensure=True)(function))
        made.examples = examples
        made.params += COMMON
        return made

    return make


def option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """An option with a heading (`group`), or one that is `rare`."""
    return click.option(*names, cls=GroupedOption, **attributes)


def stack(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """Several options as one decorator, shown in the order given."""

    def apply(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


def complete_collections(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click hands it over
    incomplete: str,
) -> list[click.shell_completion.CompletionItem]:
    """Names of collections for the shell."""
    try:
        with ctx.ensure_object(Session).open_existing() as index:
            names = [info.name for info in index.collections()]
    except OutcropError:
        return []  # completion has no place to complain
    return [click.shell_completion.CompletionItem(name) for name in names if name.startswith(incomplete)]


class Kind(click.ParamType[str]):
    """A format or a language, by name or by the ending of its files; one that is mistyped would find nothing, without
    a word."""

    name = "kind"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The kind as it is spelled in the index."""
        from outcrop.parse.code.languages import LANGUAGES
        from outcrop.parse.formats import FORMATS

        names = {item.kind for item in FORMATS} | {item.name for item in LANGUAGES}
        endings = {end[1:]: item.kind for item in FORMATS for end in item.extensions}
        endings |= {end[1:]: item.name for item in LANGUAGES for end in item.extensions}
        asked = value.lower()
        if asked in names or asked in endings:
            return asked if asked in names else endings[asked]
        import difflib  # only for a suggestion

        near = difflib.get_close_matches(asked, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(names))}"
        raise click.BadParameter(f"no format or language {clean_line(value)!r}; {hint}", ctx, param)


def collection_option(help: str) -> Callable[[F], F]:
    """`-c NAME`, once."""
    return option("-c", "--collection", metavar="NAME", shell_complete=complete_collections, help=help)


def kb_option(help: str) -> Callable[[F], F]:
    """`--kb DIR`."""
    return option("--kb", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help=help)


def many(*names: str, help: str, **attributes: Any) -> Callable[[F], F]:
    """An option that can be given several times."""
    return option(*names, multiple=True, help=help + " Repeatable.", **attributes)


def make_option(declared: Option) -> Callable[[F], F]:
    """A declared option as a click option. When not given it is None or empty, and the engine's default applies."""
    about = declared.full_help() + _MORE_HELP.get(declared.name, "")
    place: dict[str, Any] = {"group": declared.group, "rare": declared.rare}
    if declared.type is bool and declared.default:
        about = f"Do not {about[0].lower()}{about[1:]}"
        return option(
            f"--no-{declared.name}",
            declared.name,
            is_flag=True,
            flag_value=False,
            default=True,
            help=about,
            **place,
        )
    names = (*(declared.flags or (f"--{declared.name.replace('_', '-')}",)), declared.name)
    if declared.type is bool:
        return option(*names, is_flag=True, help=about, **place)
    if declared.name == "collections":
        place["shell_complete"] = complete_collections
    if declared.name == "kinds":
        place["type"] = Kind()
    if declared.type is tuple:
        return many(*names, metavar=declared.metavar, help=about, **place)
    return option(*names, type=_type_of(declared), metavar=_metavar(declared), help=about, **place)


def _metavar(declared: Option) -> str | None:
    """What stands for the value: its own word, `N`, or the range of a fraction; choices are listed by click."""
    if declared.metavar or declared.choices:
        return declared.metavar
    return "N" if declared.type is int else f"{declared.least:g}..{declared.most:g}"


_MORE_HELP: Final = {"rerank_seconds": " Implies --rerank."}
"""Where the command line does more than the library."""


def _type_of(declared: Option) -> click.ParamType[Any]:
    if declared.choices:
        return click.Choice(declared.choices)
    if declared.metavar == "DATE" or declared.type is str:
        return click.STRING
    if declared.type is int:
        return click.IntRange(min=None if declared.least is None else int(declared.least))
    low = declared.least if declared.above is None else declared.above
    return click.FloatRange(min=low, max=declared.most, min_open=declared.above is not None)


def make_options(options: Mapping[str, Option], *first: str) -> Callable[[F], F]:
    """Declared options in their order, these first."""
    return stack([make_option(options[name]) for name in dict.fromkeys((*first, *options))])


def search_option(name: str) -> Callable[[F], F]:
    """One option of a search, for a command that has few of them."""
    return make_option(SEARCH_OPTIONS[name])


document_filters: Final = stack([search_option(name) for name in FILTER_OPTIONS if name != "documents"])
"""Which documents: what `ls` and `map` have in common with a search."""

budget_option: Final = make_option(BUDGET_TOKENS)


def read_filters(**filters: Any) -> Filter:
    """The values of `document_filters` as a filter."""
    from outcrop.engine import read_filter

    return read_filter(**filters)


def read_given(given: dict[str, Any], index: Engine) -> dict[str, Any]:
    """The values of options of a search, as `Engine.search` takes them; those that were not given are left out."""
    found = {name: value for name, value in given.items() if value not in (None, ())}
    if "documents" in found:
        found["documents"] = [index.get(reference).id for reference in found["documents"]]
    return {**found, "rerank": True} if "rerank_seconds" in found else found
