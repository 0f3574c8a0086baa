"""The settings that extensions declare, found by the entry points of the group `memoriter.settings`.

The name of an entry point is the dotted key of the section, such as `memory.qmd`. An extension is imported only if a
file has its key, or if all settings are listed.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from memoriter.config._section import ExtensionSection
from memoriter.entry_points import SETTINGS, entry_points

if TYPE_CHECKING:
    from memoriter.config._section import Key
    from memoriter.entry_points import EntryPoint

log = logging.getLogger(__name__)


def declared_key(key: Key) -> Key:
    """Return the key under which a setting is declared: search settings of one agent are those of all agents."""
    is_of_agent = key[:2] == ("agents", "list") and key[3:4] == ("memorySearch",)
    return ("agents", "defaults", *key[3:]) if is_of_agent else key


@cache
def _points() -> dict[Key, EntryPoint]:
    return {tuple(point.name.split(".")): point for point in entry_points(SETTINGS)}


def names_below(at: Key) -> list[str]:
    """Return the names of the sections of extensions directly below a key."""
    return [str(key[-1]) for key in _points() if key[:-1] == declared_key(at)]


@cache
def section_of_extension(key: Key) -> type[ExtensionSection] | None:
    """Return the section of an extension at a key, or None if there is none or it cannot be loaded."""
    point = _points().get(declared_key(key))
    if point is None:
        return None
    try:
        section = point.load()
        if isinstance(section, type) and issubclass(section, ExtensionSection):
            return section
        raise TypeError(f"{point.place} is not an ExtensionSection")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - third-party code
        log.warning("The settings %s of an extension are left out: %r", point.name, error)
        return None


def all_sections() -> dict[Key, ExtensionSection]:
    """Return the sections of all extensions with their defaults, by key."""
    sections = {key: section_of_extension(key) for key in _points()}
    return {key: section() for key, section in sections.items() if section is not None}
