"""The table of all pages, in the order of the navigation."""

from __future__ import annotations

from memoriter.pages import _search as search

PAGES = (search.PAGE,)
"""All pages. The first one opens at `/`."""
