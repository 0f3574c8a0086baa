"""The table of filters agrees with everything that cannot derive from it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from datetime import date

import click
import pytest

from memoriter import Memory
from memoriter.cli import main
from memoriter.filters import FILTERS, ON, all_options, days_first, split_filters
from memoriter.index.files._filters import CHUNK_CONDITIONS, FILE_CONDITIONS
from memoriter.tools import SEARCH, MemoryLike
from memoriter.tools._params import SearchParams
from memoriter.types import Filters

NAMES = {each.name for each in FILTERS}
PARAMETERS = {each.parameter for each in FILTERS}
OTHER_ARGUMENTS = {"self", "query", "max_results", "min_score", "explain", "deadline_ms", "progress", "operators"}
OPERATORS = {"phrases", "without"}
"""Filters that only a query can set."""
DAY = date(2026, 2, 10)
VALUES = {"sources": frozenset({"memory"}), "since": DAY, "until": DAY, "path": "memory", "tags": frozenset({"work"})}


def test_every_filter_has_a_field_and_one_sql_condition() -> None:
    assert {each.name for each in fields(Filters)} == NAMES | OPERATORS
    assert sorted([*FILE_CONDITIONS, *CHUNK_CONDITIONS]) == sorted(NAMES | OPERATORS)


@pytest.mark.parametrize("search", [Memory.search, MemoryLike.search])
def test_every_filter_is_an_argument_of_search(search: object) -> None:
    assert callable(search)
    assert set(inspect.signature(search).parameters) - OTHER_ARGUMENTS == NAMES


def test_every_filter_is_an_option_of_the_command_line_and_a_parameter_of_the_tool() -> None:
    with click.Context(main, obj={}) as context:
        command = main.get_command(context, "search")
    assert command is not None
    options = {name for param in command.params for name in param.opts}
    assert options >= set(all_options())
    assert set(all_options()) == {each.option for each in FILTERS} | {ON}
    assert set(SEARCH.input_schema["properties"]) - {"query", "maxResults", "minScore"} == PARAMETERS
    assert set(SearchParams.model_fields) > PARAMETERS


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_search_with_a_filter_is_not_unfiltered_and_consists_of_that_part(name: str) -> None:
    filters = Filters(**{name: VALUES[name]})
    assert not filters.empty
    (part,) = split_filters(filters)
    assert part.filters == filters
    assert part.words.startswith(part.option[2:])


def test_the_parts_of_a_search_on_one_day_name_the_day_once_and_first_in_remedies() -> None:
    parts = list(split_filters(Filters(**VALUES)))
    assert [part.words for part in parts] == ["source memory", "on 2026-02-10", "path 'memory'", "tag work"]
    assert days_first(part.option for part in parts) == ["--on", "--source", "--path", "--tag"]
    assert all_options() == ["--since", "--until", "--on", "--source", "--path", "--tag"]
