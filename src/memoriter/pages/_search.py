"""The page Search: hits as someone types, with filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.pages._page import Page, PageRoute

if TYPE_CHECKING:
    from starlette.responses import Response

    from memoriter.pages._page import Visit

FILTERS = ("path", "since", "until")
"""Filters with one value, which are passed on as they are."""
SOURCES = ("memory", "sessions")


async def show(visit: Visit) -> Response:
    """Return the page with the hits for the question in the address."""
    query = visit.parameter("q")
    filters = {name: value for name in FILTERS if (value := visit.parameter(name))}
    source = visit.parameter("source")
    limits: dict[str, Any] = {**filters, **({"sources": (source,)} if source else {})}
    result = await visit.perform("search", query=query, **limits) if query else None
    template = "search/_results.html" if visit.fragment == "results" else "search/page.html"
    return visit.render(template, query=query, filters=filters, source=source, sources=SOURCES, result=result)


PAGE = Page("Search", "Find what the memory knows, and see why it was found.", (PageRoute("/search", show),))
