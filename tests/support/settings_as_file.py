"""Settings in the form of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from memoriter.config import Configuration, Section


def as_file(configuration: Configuration) -> dict[str, Any]:
    """Return the settings in the form of a file, without those that are unset."""
    tree = _tree_of(configuration.settings)
    for key, section in configuration.extensions.items():
        at: Any = tree
        for step in key[:-1]:
            at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
        at[key[-1]] = _tree_of(section)
    return tree


def _tree_of(section: Section) -> dict[str, Any]:
    return TypeAdapter(type(section)).dump_python(section, mode="json", by_alias=True, exclude_none=True)
