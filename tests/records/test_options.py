"""Options of a search are declared once, and every interface offers what is declared."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import fields
from typing import Any, get_type_hints

import click
import pytest

from outcrop.errors import QueryError
from outcrop.records import Filter, SearchArguments, SearchOptions
from outcrop.records.asked import CONTEXT_OPTIONS, FILTER_OPTIONS, SEARCH_OPTIONS, check_options
from outcrop.records.option import Option
from outcrop.records.where import Condition
from outcrop.serve.cli.app import cli
from outcrop.serve.http.schema import ContextBody, SearchBody

BOUNDED = [option for option in SEARCH_OPTIONS.values() if option.is_checked and not option.choices]
CHOSEN = [option for option in SEARCH_OPTIONS.values() if option.choices]


def command_options(command: str) -> dict[str, click.Option]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {param.name or "": param for param in found.params if isinstance(param, click.Option)}


def check(name: str, value: Any) -> None:
    given: dict[str, Any] = {name: value}
    check_options(SearchOptions(**given))


def name_of(option: Option) -> str:
    return option.name


def test_every_field_of_a_search_is_a_declared_option_with_help() -> None:
    given = {field.name for field in fields(Filter)} - {"manifests", "hidden"}  # which others come to
    assert FILTER_OPTIONS.keys() == given
    own = {field.name for field in fields(SearchOptions)} - {"where", "outdated"}  # no interface sets it
    assert SEARCH_OPTIONS.keys() == own | FILTER_OPTIONS.keys()
    assert all(
        option.help.endswith((".", "…")) for option in (*SEARCH_OPTIONS.values(), *CONTEXT_OPTIONS.values())
    )


def test_type_checkers_know_the_same_options_as_the_engine() -> None:
    assert get_type_hints(SearchArguments, localns={"Condition": Condition}).keys() == SEARCH_OPTIONS.keys()


def test_the_command_line_and_http_offer_every_option() -> None:
    assert SEARCH_OPTIONS.keys() <= command_options("search").keys()
    assert SEARCH_OPTIONS.keys() <= SearchBody.model_fields.keys()
    assert CONTEXT_OPTIONS.keys() - {"explain"} <= command_options("context").keys()
    assert CONTEXT_OPTIONS.keys() <= ContextBody.model_fields.keys()


@pytest.mark.parametrize("option", BOUNDED, ids=name_of)
def test_a_value_out_of_range_is_refused_by_name_with_the_range(option: Option) -> None:
    wrong = [math.nan]
    if option.least is not None:
        wrong.append(option.least - 1)
    if option.above is not None:
        wrong.append(option.above)
    if option.most is not None:
        wrong.append(option.most + 1)
    for value in wrong:
        with pytest.raises(QueryError, match=f"^{option.name} must {option.wanted()}, not {value}$"):
            check(option.name, value)


@pytest.mark.parametrize("option", BOUNDED, ids=name_of)
def test_the_bounds_themselves_are_let_through(option: Option) -> None:
    for value in (option.least, option.most, option.default):
        if value is not None:
            check(option.name, value)


@pytest.mark.parametrize("option", CHOSEN, ids=name_of)
def test_a_choice_that_is_not_offered_is_refused_with_those_that_are(option: Option) -> None:
    for value in option.choices:
        check(option.name, value)
    with pytest.raises(
        QueryError, match=f"{option.name} must be one of {', '.join(option.choices)}, not other"
    ):
        check(option.name, "other")


def test_help_says_the_default_once() -> None:
    assert SEARCH_OPTIONS["limit"].full_help() == "Maximum number of hits. Default: 10, or as configured."
    assert SEARCH_OPTIONS["mode"].full_help().endswith("Default: hybrid.")
    assert SEARCH_OPTIONS["rerank"].full_help() == SEARCH_OPTIONS["rerank"].help
    assert SEARCH_OPTIONS["balance"].full_help() == SEARCH_OPTIONS["balance"].help


def test_the_declarations_load_without_numpy() -> None:
    code = "import sys, outcrop.records.asked; print('numpy' in sys.modules, 'outcrop.records.found' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
