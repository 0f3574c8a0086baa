"""Validation of settings: pydantic checks types and unknown keys, and the `Doc` of each setting gives its range."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.config._resolve import BUILT_IN, ELSEWHERE
from memoriter.config._schema import Settings
from memoriter.config._section import about, dotted, inner, is_list, is_table, leaves, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import TypeAdapter

    from memoriter.config._section import Doc, Key, Section
    from memoriter.config._tree import Tree

EXPECTED = {
    "bool_type": "true or false",
    "dataclass_type": "a section in braces",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "mapping_type": "a section in braces",
    "dict_type": "a section in braces",
    "string_type": "text in quotes",
    "tuple_type": "a list in square brackets",
}


class Problem(NamedTuple):
    key: Key
    message: str


class Refused(Exception):
    """The configuration does not fit the schema."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


@cache
def adapter() -> TypeAdapter[Settings]:
    from pydantic import TypeAdapter

    return TypeAdapter(Settings)


def settings(tree: Tree) -> Settings:
    """Return the typed settings; values may still be out of range.

    Raises:
        Refused: A key is unknown or a value has the wrong type.
    """
    from pydantic import ValidationError

    try:
        return adapter().validate_json(json.dumps(tree))
    except ValidationError as caught:
        raise Refused(
            [described(cast("Mapping[str, Any]", error)) for error in caught.errors(include_url=False)]
        ) from None
    except (RecursionError, TypeError, ValueError) as caught:
        raise Refused([Problem((), f"the file holds something that is not a setting: {caught}")]) from None


def as_file(given: Settings) -> Tree:
    """Return the settings in the form of a file, without those that are unset."""
    return adapter().dump_python(given, mode="json", by_alias=True, exclude_none=True)


def described(error: Mapping[str, Any]) -> Problem:
    key: Key = error["loc"]
    kind: str = error["type"]
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return Problem(key, unknown(key))
    if kind == "literal_error":
        return Problem(
            key, f"{dotted(key)} must be {error['ctx']['expected']}, not {given(error['input'], plain=True)}"
        )
    name, wanted = dotted(key) or "the file", EXPECTED.get(kind)
    return Problem(
        key, f"{name} must be {wanted}, not {given(error['input'])}" if wanted else f"{name}: {error['msg']}"
    )


def given(value: object, *, plain: bool = False) -> str:
    """Return a value for a message. Text is hidden unless `plain`, because it may be a misplaced API key."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return str(value)[:40]
    if isinstance(value, str):
        return repr(value[:40]) if plain else "text"
    return "a list" if isinstance(value, list) else "a section"


def unknown(key: Key) -> str:
    section = section_at(key[:-1])
    near = get_close_matches(str(key[-1]), [*named(section)] if section else [], n=1, cutoff=0.5)
    return f"{dotted(key)} is not a setting" + (f"; did you mean {near[0]!r}?" if near else "")


def section_at(key: Key) -> type[Section] | None:
    """Return the section at a key, also within lists and tables, or None if there is none."""
    section: type[Section] = Settings
    steps = list(key)
    while steps:
        item = named(section).get(str(steps.pop(0)))
        below = inner(item.type) if item else None
        if item is None or below is None:
            return None
        section = below
        if steps and (is_list(item.type) or is_table(item.type)):
            steps.pop(0)
    return section


def out_of_range(found: Settings) -> Iterator[Problem]:
    """Yield numbers out of range, and unknown providers and search modes."""
    for key, item, value in leaves(found):
        if isinstance(value, int | float) and not within(value, about(item)):
            yield Problem(key, f"{dotted(key)} must be {allowed(about(item))}, not {given(value)}")
        if key[-1] in {"provider", "fallback"} and isinstance(value, str) and "memorySearch" in key:
            yield from unknown_provider(key, value, found.models.providers)
        if key[-1] == "searchMode" and isinstance(value, str) and value not in {"search", "vsearch", "query"}:
            yield Problem(key, f"{dotted(key)} must be 'search', 'vsearch' or 'query', not {given(value, plain=True)}")


def within(value: float, text: Doc) -> bool:
    return (text.low is None or value >= text.low) and (text.high is None or value <= text.high)


def allowed(text: Doc) -> str:
    """Return the allowed range in words."""
    if text.low is None:
        return f"at most {text.high:g}" if text.high is not None else ""
    return f"{text.low:g} or more" if text.high is None else f"from {text.low:g} to {text.high:g}"


def unknown_provider(key: Key, value: str, own: Mapping[str, object]) -> Iterator[Problem]:
    names = [*BUILT_IN, *ELSEWHERE, *own]
    if value in names and (value, key[-1]) != ("auto", "fallback"):
        return
    near = get_close_matches(value, names, n=1, cutoff=0.5)
    hint = (
        f"; did you mean {near[0]!r}?" if near and near[0] != value else f"; there are {', '.join([*BUILT_IN, *own])}"
    )
    yield Problem(key, f"{dotted(key)} {given(value, plain=True)} is no provider{hint}")
