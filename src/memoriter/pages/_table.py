"""The table of all pages, in the order of the navigation."""

from __future__ import annotations

from memoriter.pages import _health as health
from memoriter.pages import _inbox as inbox
from memoriter.pages import _map as passage_map
from memoriter.pages import _memories as memories
from memoriter.pages import _notes as notes
from memoriter.pages import _search as search
from memoriter.pages import _timeline as timeline

PAGES = (
    search.PAGE,
    notes.PAGE,
    timeline.PAGE,
    inbox.PAGE,
    memories.PAGE,
    passage_map.PAGE,
    health.PAGE,
)
"""All pages. The first one opens at `/`."""
