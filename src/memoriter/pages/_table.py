"""The table of all pages, in the order of the navigation."""

from __future__ import annotations

from memoriter.pages import _health as health
from memoriter.pages import _map as passage_map
from memoriter.pages import _notes as notes
from memoriter.pages import _search as search

PAGES = (
    search.PAGE,
    notes.PAGE,
    passage_map.PAGE,
    health.PAGE,
)
"""All pages. The first one opens at `/`."""
