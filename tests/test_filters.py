"""The table of filters agrees with everything that cannot derive from it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import click
import pytest

from memoriter import Memory
from memoriter.cli import main
from memoriter.errors import UsageError
from memoriter.filters import all_options, days_first, split_filters
from memoriter.index._content import CHUNK_CONDITIONS, FILE_CONDITIONS
from memoriter.tools import SEARCH
from memoriter.types import ON, Filters, SearchArguments, camel_case, filter_arguments, search_arguments
from memoriter.web import openapi_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = {*filter_arguments()}
OPERATORS = {"phrases", "without"}
"""Filters that only a query can set."""
DAY = date(2026, 2, 10)
VALUES = {
    "sources": frozenset({"memory"}),
    "since": DAY,
    "until": DAY,
    "changed": True,
    "path": "memory",
    "tags": frozenset({"work"}),
}


def test_every_filter_has_a_field_and_one_sql_condition() -> None:
    assert {each.name for each in fields(Filters)} == NAMES | OPERATORS
    assert sorted([*FILE_CONDITIONS, *CHUNK_CONDITIONS]) == sorted(NAMES | OPERATORS)


def test_every_declared_argument_is_one_of_search_and_there_is_no_other() -> None:
    declared = {"query" if name == "text" else name: each for name, each in search_arguments().items()}
    parameters = inspect.signature(Memory.search).parameters
    assert set(parameters) - {"self", "progress", "operators"} == set(declared)
    for name, argument in declared.items():
        default = inspect.Parameter.empty if name == "query" else argument.default
        assert parameters[name].default is default
    narrowing = {name for name, argument in declared.items() if argument.narrows}
    assert SearchArguments.__annotations__.keys() == narrowing - {"query"}


def test_every_declared_argument_is_explained_where_search_is() -> None:
    text = inspect.getdoc(Memory.search) or ""
    assert [name for name in inspect.signature(Memory.search).parameters if f"    {name}: " not in text] == ["self"]


def test_every_declared_argument_is_an_option_of_the_command_line_with_its_help() -> None:
    with click.Context(main, obj={}) as context:
        command = main.get_command(context, "search")
    assert command is not None
    options = {name: param for param in command.params for name in param.opts}
    declared = [each for each in search_arguments().values() if each.help]
    assert {each.option: each.help for each in declared} == {
        each.option: options[each.option].help for each in declared
    }
    assert set(all_options()) == {each.option for each in filter_arguments().values()} | {ON.option}


def test_every_declared_argument_is_a_parameter_of_the_tool_and_of_the_http_api() -> None:
    parameters = [each.tool_parameter for each in search_arguments().values() if each.agent]
    assert list(SEARCH.input_schema["properties"]) == parameters
    body = openapi_document()["paths"]["/search"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    declared = {camel_case(name): each for name, each in search_arguments().items() if each.help and each.in_http}
    assert body["properties"].keys() == {"query", *declared}
    assert "session" not in declared, "a caller with a token cannot search for a conversation of the owner"
    assert [name for name, each in declared.items() if each.help not in str(body["properties"][name])] == []


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_search_with_a_filter_is_not_unfiltered_and_consists_of_that_part(name: str) -> None:
    filters = Filters(**{name: VALUES[name]})
    assert not filters.empty
    (part,) = split_filters(filters)
    assert part.filters == filters
    assert part.words.startswith(part.option[2:])


def test_the_parts_of_a_search_on_one_day_name_the_day_once_and_first_in_remedies() -> None:
    parts = list(split_filters(Filters(**VALUES)))
    assert [part.words for part in parts] == ["source memory", "on 2026-02-10", "changed", "path 'memory'", "tag work"]
    assert days_first(part.option for part in parts) == ["--on", "--source", "--changed", "--path", "--tag"]
    assert all_options() == ["--since", "--until", "--on", "--source", "--changed", "--path", "--tag"]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.delenv("MEMORITER_CONFIG", raising=False)
    (tmp_path / "home").mkdir(mode=0o700)
    settings = '{agents: {defaults: {memorySearch: {provider: "none", query: {minScore: 0}}}}}'
    (tmp_path / "home/memoriter.json5").write_text(settings, encoding="utf-8")
    for day in (9, 10, 11):
        file = tmp_path / f"notes/memory/2026-02-{day:02}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"The zeppelin number {day} flies. {'It is slow. ' * 100}\n", encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        yield memory


@pytest.mark.parametrize(
    ("days", "found"),
    [
        ({"on": "2026-02-10"}, [10]),
        ({"on": DAY}, [10]),
        ({"on": datetime(2026, 2, 10, 23, 59, tzinfo=UTC)}, [10]),
        ({"since": " 2026-02-10 "}, [10, 11]),
        ({"until": "2026-02-10"}, [9, 10]),
        ({"since": DAY, "until": "2026-02-10"}, [10]),
        ({"since": "yesterday", "until": "today"}, []),
        ({"until": "7d"}, [9, 10, 11]),
    ],
)
def test_a_day_is_a_date_or_text(memory: Memory, days: dict[str, Any], found: list[int]) -> None:
    hits = memory.search("zeppelin", **days).hits
    assert sorted(hit.date for hit in hits if hit.date) == [date(2026, 2, day) for day in found]
    assert all(memory.read(hit.path).text.strip() == hit.text.strip() and len(hit.snippet) == 700 for hit in hits)


@pytest.mark.parametrize(
    ("days", "message"),
    [
        ({"since": "10/2/2026"}, "The value of since is '10/2/2026', which is not a day."),
        ({"until": 7}, "The value of until is 7, which is not a day."),
        ({"on": "2026-02-30"}, "The value of on is '2026-02-30', which is not a day."),
        ({"on": DAY, "since": DAY}, "The argument on is one day: it cannot be combined with since or until."),
        (
            {"since": "2026-02-11", "until": DAY},
            "The day of since, 2026-02-11, is later than that of until, 2026-02-10.",
        ),
    ],
)
def test_days_that_mean_nothing_are_refused_with_what_is_possible(
    memory: Memory, days: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        memory.search("zeppelin", **days)
    assert refused.value.message == message
    assert refused.value.remedy
