"""The table of all pages, in the order of the navigation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.pages import _days as days
from memoriter.pages import _health as health
from memoriter.pages import _history as history
from memoriter.pages import _notes as notes
from memoriter.pages import _search as search
from memoriter.pages._page_set import page_sets

if TYPE_CHECKING:
    from memoriter.pages._page import Page

PAGES = (search.PAGE, notes.PAGE, days.PAGE, history.PAGE, health.PAGE)
"""The pages of memoriter itself."""


def all_pages() -> tuple[Page, ...]:
    """Return all pages. The first one opens at `/`."""
    added = [page for each in page_sets() for page in each.pages]
    return tuple(sorted((*PAGES, *added), key=lambda page: page.place))
