"""The table of all settings for the documentation."""

from __future__ import annotations

from dataclasses import MISSING
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin

from memoriter.config._check import range_text
from memoriter.config._schema import Settings
from memoriter.config._section import Section, bare_type, doc_of, fields_by_key, inner_section, is_list, is_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from dataclasses import Field

TYPE_NAMES = {bool: "true or false", int: "whole number", float: "number", str: "text"}


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
        if below is None or is_repeated(key):
            yield SettingRow(key, type_name(item), default(item), description(item))
        elif is_list(item.type):
            yield from reference(below, f"{key}[]")
        else:
            yield from reference(below, f"{key}.<id>" if is_table(item.type) else key)


def is_repeated(key: str) -> bool:
    """Return whether the settings at this key are already listed at another key."""
    return key == "agents.list[].memorySearch"


def description(item: Field[Any]) -> str:
    doc = doc_of(item)
    limits = range_text(doc) or doc.limits
    return f"{doc.text} ({limits})" if limits else doc.text


def default(item: Field[Any]) -> Any:
    return {} if item.default is MISSING else item.default


def type_name(item: Field[Any]) -> str:
    return describe_type(item.type)


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
