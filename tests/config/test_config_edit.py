"""Editing a JSON5 text changes one setting and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.config import remove_value, set_value
from memoriter.config._document import parse
from memoriter.errors import ConfigError

NAMES = st.sampled_from(["a", "b", "memory", "x-y", "layout"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text("ab,}{/*:\\\"'é\n", max_size=5)
    | st.lists(st.integers(0, 3))
)
TREES = st.recursive(
    st.dictionaries(NAMES, LEAVES, max_size=3), lambda inner: st.dictionaries(NAMES, LEAVES | inner, max_size=3)
)
COMMENT = st.sampled_from(["", " ", "\n", "// , } comment\n", "/* { , */", "\n  "])


@st.composite
def json5_texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tree, and a text of it with comments, blanks, trailing commas and names with or without quotes."""

    def text(value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        members = [
            f"{draw(COMMENT)}{name if name.isalpha() and draw(st.booleans()) else json.dumps(name)}{draw(COMMENT)}:"
            f"{draw(COMMENT)}{text(below)}{draw(COMMENT)}"
            for name, below in value.items()
        ]
        trailing = "," if members and draw(st.booleans()) else ""
        return f"{{{','.join(members)}{trailing}{draw(COMMENT)}}}"

    tree = draw(TREES)
    return f"{draw(COMMENT)}{text(tree)}{draw(COMMENT)}", tree


def with_value(tree: dict[str, Any], names: tuple[str, ...], value: Any) -> dict[str, Any]:
    if len(names) == 1:
        return {**tree, names[0]: value}
    return {**tree, names[0]: with_value(tree.get(names[0], {}), names[1:], value)}


def without_value(tree: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    rest = {name: below for name, below in tree.items() if name != names[0]}
    below = tree.get(names[0])
    if len(names) == 1 or not isinstance(below, dict):
        return rest if len(names) == 1 else tree
    inner = without_value(below, names[1:])
    return {**tree, names[0]: inner} if inner or inner == below else rest


@settings(max_examples=60)
@given(json5_texts(), st.lists(NAMES, min_size=1, max_size=3).map(tuple), LEAVES)
def test_a_value_is_set_and_everything_else_is_as_it_was(
    written: tuple[str, dict[str, Any]], names: tuple[str, ...], value: Any
) -> None:
    text, tree = written
    below: Any = tree
    for name in names[:-1]:
        below = below.get(name, {}) if isinstance(below, dict) else below
    if not isinstance(below, dict):
        with pytest.raises(ConfigError, match="is not a section"):
            set_value(text, names, value, "file")
        return

    after = set_value(text, names, value, "file")

    assert parse(after, "file") == with_value(tree, names, value)
    if not isinstance(below.get(names[-1]), dict):  # a replaced section takes its comments along
        assert after.count("// , } comment") == text.count("// , } comment")
    assert set_value(after, names, value, "file") == after
    if _is_json(text):
        assert _is_json(after)


@settings(max_examples=60)
@given(json5_texts(), st.lists(NAMES, min_size=1, max_size=3).map(tuple))
def test_a_value_is_removed_and_everything_else_is_as_it_was(
    written: tuple[str, dict[str, Any]], names: tuple[str, ...]
) -> None:
    text, tree = written
    after = remove_value(text, names, "file")

    assert parse(after, "file") == without_value(tree, names)
    assert remove_value(after, names, "file") == after
    if _is_json(text):
        assert _is_json(after)


def test_search_settings_are_changed_where_the_file_has_them() -> None:
    text = "{ memorySearch: { query: { maxResults: 3 } } }"
    names = ("agents", "defaults", "memorySearch", "query", "maxResults")

    assert set_value(text, names, 4, "file") == "{ memorySearch: { query: { maxResults: 4 } } }"
    assert parse(remove_value(text, names, "file"), "file") == {}


ODD = (
    "\ufeff{'it\\'s': .5, \"b\\u0062\": +0x1F, $c\u00a0: 'a\\\n}', 'd//': ['/*', {e: Infinity,},], /* }\n */ "
    '\\u0066: "//", // \'\u2028null: null}'
)
"""An object in what only JSON5 allows."""


@pytest.mark.parametrize("names", [("it's",), ("bb",), ("$c",), ("d//",), ("null",), ("g",), ("h", "i")])
def test_a_setting_is_found_between_all_that_json5_allows(names: tuple[str, ...]) -> None:
    tree = parse(ODD, "file")
    after = set_value(ODD, names, "new", "file")
    assert parse(after, "file") == with_value(tree, names, "new")
    assert parse(remove_value(after, names, "file"), "file") == without_value(tree, names)


def test_a_new_section_is_written_as_people_write_json5_or_json() -> None:
    assert set_value("{\n  a: 1,\n}\n", ("b", "c"), {"d-e": "x"}, "file") == (
        '{\n  b: {\n    c: {\n      "d-e": "x",\n    },\n  },\n  a: 1,\n}\n'
    )
    assert set_value('{"a": 1}\n', ("b", "c"), ["x", "y"], "file") == '{"b": {"c": ["x", "y"]},"a": 1}\n'
    assert set_value("// mine\n", ("b", "c"), 1, "file") == "// mine\n{\n  b: {\n    c: 1,\n  },\n}\n"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
