"""What packages add to the pages."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memoriter.entry_points import load_all
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memoriter.discovery import Scope
    from memoriter.pages._page import Page

PAGES_GROUP = "memoriter.pages"
"""The group of entry points whose objects are a `PageSet`. Only servers load them."""


@dataclass(frozen=True, slots=True)
class Action:
    """An operation of the HTTP API that does the same as a command."""

    name: str
    label: str
    command: str
    operation: str
    scope: Scope
    report: Callable[[Any], str]
    """Returns what the action did, as a sentence, from the answer of the operation."""
    values: Mapping[str, Any] = MappingProxyType({})
    offered: bool = False
    """Whether the page Health offers it also where no problem needs it."""


@dataclass(frozen=True, slots=True)
class PageSet:
    """What a package adds to the pages."""

    pages: tuple[Page, ...]
    folder: Path
    """The folder with `templates` and `static`, whose files have names that no other package uses."""
    actions: tuple[Action, ...] = ()
    """What the page Health can do about problems."""
    day_items: str = ""
    """The template with what the answer `day` has of the package, as items of the list of what was captured."""


@cache
def page_sets() -> tuple[PageSet, ...]:
    """Return what installed packages add to the pages. One that cannot be loaded is logged, and left out."""
    return load_all(PAGES_GROUP, PageSet)
