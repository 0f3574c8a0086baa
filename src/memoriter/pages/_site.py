"""The routes of all pages, with the headers that confine them in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from memoriter.pages._library import Library
from memoriter.pages._page import PROBLEM, Site, Visit
from memoriter.pages._page_set import page_sets
from memoriter.pages._static import StaticFiles
from memoriter.pages._table import all_pages
from memoriter.pages._templates import Templates
from memoriter.web import OperationRunner, api_routes, problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request

    from memoriter.access import BrowserSessions, Caller, Run
    from memoriter.pages._page import Page, PageRoute, WorkspaceLink
    from memoriter.web import Events

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # With `no-referrer`, a browser would hide the origin of a form, which proves that a page of this server sent it.
    "Referrer-Policy": "same-origin",
}
"""Headers of every page. Scripts, styles and pictures come from files of this server only."""


def server_routes(
    run: Run,
    events: Events,
    sessions: BrowserSessions | None = None,
    addresses: Sequence[str] = (),
    *,
    library: Library | None = None,
    workspaces: Callable[[Caller], Sequence[WorkspaceLink]] = lambda _: (),
) -> tuple[Sequence[Route], Sequence[str]]:
    """Return the routes of the HTTP API and of the pages, and the paths that a log may name.

    Args:
        run: runs a function with the memory in a worker thread.
        events: the events of the server.
        sessions: the sessions of browsers; None: there are none, and no pages.
        addresses: the URLs by which other devices reach the server.
        library: what the pages know of the notes; None: they learn it when they are asked.
        workspaces: returns the workspaces of the server that a caller may reach.
    """
    routes, paths = api_routes(run, events, sessions, addresses)
    if sessions is None:
        return routes, paths
    of_pages, page_paths = _page_routes(run, events, library or Library(), workspaces)
    return [*routes, *of_pages], [*paths, *page_paths]


def _page_routes(
    run: Run, events: Events, library: Library, workspaces: Callable[[Caller], Sequence[WorkspaceLink]]
) -> tuple[Sequence[Route], Sequence[str]]:
    pages = all_pages()
    added = page_sets()
    static = StaticFiles([each.folder / "static" for each in added])
    templates = Templates(
        pages,
        static.address,
        [each.folder / "templates" for each in added],
        day_items=[each.day_items for each in added if each.day_items],
    )
    site = Site(pages, OperationRunner(run, events), templates, library, workspaces)

    async def first(_: Request) -> Response:
        return RedirectResponse(pages[0].path, 303)

    routes = [Route("/", first, methods=["GET"]), Route(StaticFiles.ROUTE, static.answer, methods=["GET"])]
    paths = ["/"]
    for page in pages:
        for each in page.routes:
            answer = _answer(page, each, site)
            routes.append(Route(each.path, answer, methods=[*each.methods]))
            paths.append(each.path)
    return routes, paths


def _answer(page: Page, route: PageRoute, site: Site) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers the requests of a route; each error becomes a page with its remedy."""

    async def answer(request: Request) -> Response:
        visit = Visit(request, page, site)
        try:
            response = await route.answer(visit)
        except Exception as error:  # noqa: BLE001 - each error becomes a page
            response = await problem_page(visit, error)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return answer


async def problem_page(visit: Visit, error: Exception) -> Response:
    """Return the page, or its fragment, that explains an error and says what to do."""
    problem = problem_of(error, f"The page {visit.page.name}")
    template = "_problem.html" if visit.fragment else "problem.html"
    response = await visit.render(template, problem.status, problem=problem)
    response.headers[PROBLEM] = problem.code
    return response
