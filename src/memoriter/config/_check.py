"""Validation of settings, and the table of all settings for the documentation.

pydantic checks types and unknown keys, and the `Doc` of each setting gives its range.
"""

from __future__ import annotations

import json
from dataclasses import MISSING
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin

from memoriter.config._schema import ELSEWHERE, Settings
from memoriter.config._section import (
    ExtensionSection,
    Key,
    Section,
    bare_type,
    doc_of,
    dotted,
    fields_by_key,
    inner_section,
    is_list,
    is_table,
    leaves,
    names_below,
    section_of_extension,
)
from memoriter.entry_points import entry_points
from memoriter.errors import sentence
from memoriter.layout import daily_note_fault
from memoriter.providers import AUTO, BY_NAME, NONE, OFF, RERANKERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from dataclasses import Field

    from pydantic import TypeAdapter

    from memoriter.config._document import Tree
    from memoriter.config._section import Doc

_S = TypeVar("_S", bound=Section)
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
TYPE_NAMES = {bool: "true or false", int: "whole number", float: "number", str: "text"}


class Problem(NamedTuple):
    key: Key
    message: str


class InvalidSettings(Exception):
    """The configuration does not fit the schema."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


class ParsedSettings(NamedTuple):
    """Typed settings; values may still be out of range."""

    core: Settings
    extensions: Mapping[Key, ExtensionSection]
    """The written sections of extensions, by key."""


@cache
def adapter(section: type[_S]) -> TypeAdapter[_S]:
    from pydantic import TypeAdapter

    return TypeAdapter(section)


def parse_settings(tree: Tree) -> ParsedSettings:
    """Return the typed settings.

    Raises:
        InvalidSettings: A key is unknown or a value has the wrong type.
    """
    found = dict[Key, tuple[type[ExtensionSection], Any]]()
    core_tree = without_extensions(tree, Settings, (), found)
    problems = list[Problem]()
    core = _parsed(Settings, core_tree, (), problems)
    extensions = {key: _parsed(section, value, key, problems) for key, (section, value) in found.items()}
    if core is None or problems:
        raise InvalidSettings(problems)
    return ParsedSettings(core, {key: value for key, value in extensions.items() if value is not None})


def _parsed(section: type[_S], value: Any, at: Key, problems: list[Problem]) -> _S | None:
    """Return the settings of a section, or add its problems and return None."""
    from pydantic import ValidationError

    try:
        return adapter(section).validate_json(json.dumps(value))
    except ValidationError as caught:
        errors = cast("list[Mapping[str, Any]]", caught.errors(include_url=False))
        problems += [to_problem((*at, *error["loc"]), error) for error in errors]
    except (RecursionError, TypeError, ValueError) as caught:
        problems.append(Problem(at, f"The file holds something that is not a setting: {sentence(caught)}"))
    return None


def without_extensions(
    value: Any, section: type[Section] | None, at: Key, found: dict[Key, tuple[type[ExtensionSection], Any]]
) -> Any:
    """Return a value of a tree without the sections of extensions, which are added to `found`."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [without_extensions(item, section, (*at, index), found) for index, item in enumerate(items)]
    if section is None or not isinstance(value, dict):
        return value
    fields = fields_by_key(section)
    own: Tree = {}
    for name, below in cast("Tree", value).items():
        key = (*at, name)
        extension = None if name in fields else section_of_extension(key)
        if extension:
            found[key] = extension, below
        else:
            inner = inner_section(fields[name].type) if name in fields else None
            own[name] = without_extensions(below, inner, key, found)
    return own


def to_problem(key: Key, error: Mapping[str, Any]) -> Problem:
    kind: str = error["type"]
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return Problem(key, unknown_key_message(key))
    setting, declaration = _setting_at(key)
    if declaration is not None:  # pydantic names each type of a union below the setting
        expected = describe_type(declaration.type).replace(" | ", " or ")
        shown = describe_value(error["input"])
        return Problem(setting, f"The setting {dotted(setting)} must be {expected}, not {shown}.")
    if kind == "literal_error":
        return Problem(
            key,
            f"The setting {dotted(key)} must be {error['ctx']['expected']},"
            f" not {describe_value(error['input'], plain=True)}.",
        )
    name = f"The setting {dotted(key)}" if key else "The file"
    expected = EXPECTED.get(kind)
    return Problem(
        key,
        f"{name} must be {expected}, not {describe_value(error['input'])}."
        if expected
        else f"{name} is not valid: {sentence(error['msg'])}",
    )


def _setting_at(key: Key) -> tuple[Key, Field[Any] | None]:
    """Return the key and the declaration of a single setting that a longer key goes through, or the key and None."""
    for end in range(1, len(key)):
        section = section_at(key[: end - 1])
        item = fields_by_key(section).get(str(key[end - 1])) if section else None
        if item and inner_section(item.type) is None and not is_list(item.type) and not is_table(item.type):
            return key[:end], item
    return key, None


def describe_value(value: object, *, plain: bool = False) -> str:
    """Return what a value is, for a message. Text is hidden unless `plain`, because it may be a misplaced API key."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return str(value)[:40]
    if isinstance(value, str):
        return repr(value[:40]) if plain else "text"
    return "a list" if isinstance(value, list) else "a section"


def unknown_key_message(key: Key) -> str:
    section = section_at(key[:-1])
    names = [*fields_by_key(section), *names_below(key[:-1])] if section else []
    similar = _nearest(str(key[-1]), names)
    return f"The key {dotted(key)} is not a setting." + (f" Perhaps you mean {similar!r}." if similar else "")


def section_at(key: Key) -> type[Section] | None:
    """Return the section at a key, also within lists and tables, or None if there is none."""
    section: type[Section] | None = Settings
    at = 0
    while section is not None and at < len(key):
        item = fields_by_key(section).get(str(key[at]))
        at += 1
        section = inner_section(item.type) if item else section_of_extension(key[:at])
        if item and (is_list(item.type) or is_table(item.type)):
            at += 1
    return section


def range_problems(values: ParsedSettings) -> Iterator[Problem]:
    """Yield numbers out of range, and unknown providers."""
    for key, item, value in leaves(values.core, extensions=values.extensions):
        if isinstance(value, int | float) and not is_within(value, doc_of(item)):
            yield Problem(
                key, f"The setting {dotted(key)} must be {range_text(doc_of(item))}, not {describe_value(value)}."
            )
        if (group := doc_of(item).entry_points) and value != item.default:
            yield from _not_offered(key, str(value), group, str(item.default))
        if key[-1] in {"provider", "fallback"} and isinstance(value, str) and "memorySearch" in key:
            yield from provider_problems(key, value, values.core.models.providers)
        if key[-1] == "dailyNote" and isinstance(value, str) and (fault := daily_note_fault(value)):
            shown = describe_value(value, plain=True)
            yield Problem(key, f"The setting {dotted(key)} is {shown}, which is not possible: {fault}.")


def _not_offered(key: Key, value: str, group: str, default: str) -> Iterator[Problem]:
    """Yield the problem of a name that neither memoriter nor an installed package offers."""
    names = [default, *(point.name for point in entry_points(group))]
    if value not in names:
        shown = describe_value(value, plain=True)
        similar = _nearest(value, names)
        install = f"Install the package that has {shown}, or set it to {default!r}."
        hint = f"Perhaps you mean {similar!r}." if similar else install
        yield Problem(key, f"The setting {dotted(key)} names {shown}, which is not installed. {hint}")


def is_within(value: float, doc: Doc) -> bool:
    return (doc.low is None or value >= doc.low) and (doc.high is None or value <= doc.high)


def range_text(doc: Doc) -> str:
    """Return the allowed range in words."""
    if doc.low is None:
        return f"at most {doc.high:g}" if doc.high is not None else ""
    return f"{doc.low:g} or more" if doc.high is None else f"from {doc.low:g} to {doc.high:g}"


def provider_problems(key: Key, value: str, custom: Mapping[str, object]) -> Iterator[Problem]:
    reranks = key[-2] == "rerank"
    own = (OFF, *RERANKERS) if reranks else (*BY_NAME, NONE)
    built_in = own if key[-1] == "fallback" else (AUTO, *own)
    names = [*built_in, *(() if reranks else ELSEWHERE), *custom]
    if value in names:
        return
    offered = [name for name in (*built_in, *custom) if name != "fake"]  # that one is for tests
    shown = describe_value(value, plain=True)
    kind = "reranker" if reranks else "provider"
    similar = _nearest(value, names)
    hint = f"Perhaps you mean {similar!r}." if similar else f"There are {', '.join(offered)}."
    yield Problem(key, f"The setting {dotted(key)} is {shown}, which is not a {kind}. {hint}")


def _nearest(value: str, names: Sequence[str]) -> str | None:
    """Return the name that was perhaps meant."""
    from difflib import get_close_matches

    similar = get_close_matches(value, names, n=1, cutoff=0.5)
    return similar[0] if similar else None


class SettingRow(NamedTuple):
    """One row of the table of settings."""

    key: str
    """Dotted key as in a file: `[]` stands for an item of a list, `<id>` for a name that the user chooses."""
    type: str
    default: Any
    description: str


def reference(section: type[Section] = Settings, at: str = "") -> Iterator[SettingRow]:
    """Yield every setting, in the order of the schema."""
    for name, item in fields_by_key(section).items():
        key = f"{at}.{name}" if at else name
        below = inner_section(item.type)
        if below is None or key == "agents.list[].memorySearch":  # its settings are those of the defaults
            value: Any = {} if item.default is MISSING else item.default
            yield SettingRow(key, describe_type(item.type), value, description(item))
        elif is_list(item.type):
            yield from reference(below, f"{key}[]")
        else:
            yield from reference(below, f"{key}.<id>" if is_table(item.type) else key)
    key_of_section = tuple(at.split(".")) if at else ()
    for name in names_below(key_of_section):
        extension = section_of_extension((*key_of_section, name))
        if extension is not None:
            yield from reference(extension, f"{at}.{name}" if at else name)


def description(item: Field[Any]) -> str:
    doc = doc_of(item)
    limits = range_text(doc) or doc.limits
    return f"{doc.text} ({limits})" if limits else doc.text


def describe_type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " | ".join(f'"{choice}"' for choice in get_args(annotation))
    if isinstance(annotation, type):
        return TYPE_NAMES.get(annotation, "section")
    if hasattr(annotation, "__metadata__"):
        return describe_type(bare_type(annotation))
    if is_list(annotation):
        return f"list of {describe_type(get_args(annotation)[0])}"
    if is_table(annotation):
        return f"table of {describe_type(get_args(annotation)[1])}"
    return " | ".join(describe_type(choice) for choice in get_args(annotation) if choice is not NoneType)
