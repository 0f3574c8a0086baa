"""The table of all pages, their routes with the headers that confine them in a browser, and their files.

In templates, every value is escaped unless it is marked as HTML that was sanitised.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jinja2
from markupsafe import Markup, escape
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from memoriter.pages import _days as days
from memoriter.pages import _health as health
from memoriter.pages import _history as history
from memoriter.pages import _notes as notes
from memoriter.pages import _search as search
from memoriter.pages._addresses import address_of
from memoriter.pages._library import Library
from memoriter.pages._markdown import rendered
from memoriter.pages._page import PROBLEM, Site, Visit, page_sets
from memoriter.web import BASE, OperationRunner, api_routes, problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request

    from memoriter.access import BrowserSessions, Caller, Run
    from memoriter.pages._page import Page, PageRoute, PageSet, WorkspaceLink
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


PAGES = (search.PAGE, notes.PAGE, days.PAGE, history.PAGE, health.PAGE)
"""The pages of memoriter itself."""


def all_pages() -> tuple[Page, ...]:
    """Return all pages. The first one opens at `/`."""
    added = [page for each in page_sets() for page in each.pages]
    return tuple(sorted((*PAGES, *added), key=lambda page: page.place))


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
    render = template_renderer(pages, static.address, added)
    site = Site(pages, OperationRunner(run, events), render, library, workspaces)

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


STATIC = Path(__file__).parent / "static"
KEEP = "private, max-age=31536000, immutable"
"""A browser may keep a file for a year: whenever a file changes, all addresses change."""
mimetypes.add_type("text/javascript", ".js")


class StaticFiles:
    """The files in `static/` and in those of packages, read once.

    All files share one hash, so that a script can import another one by its relative address.
    """

    ROUTE = "/static/{version}/{name}"

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        """Read all files; `folders` are those of packages."""
        files = [file for folder in (*folders, STATIC) for file in sorted(folder.glob("*")) if file.is_file()]
        self._contents = {file.name: file.read_bytes() for file in files}
        digest = hashlib.sha256()
        for name, content in self._contents.items():
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
        self.version = digest.hexdigest()[:16]

    def address(self, name: str) -> str:
        """Return the address of a file. Raises KeyError if there is no such file."""
        if name not in self._contents:
            raise KeyError(name)
        return f"/static/{self.version}/{name}"

    async def answer(self, request: Request) -> Response:
        """Return the response with a file; an address of another version leads nowhere."""
        name = request.path_params["name"]
        content = self._contents.get(name)
        if content is None or request.path_params["version"] != self.version:
            return PlainTextResponse("The pages have no file with this address. Load the page again.\n", 404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(content, headers={"Cache-Control": KEEP}, media_type=kind)


TEMPLATES = Path(__file__).parent / "templates"
FIELDS = {
    "--path": "the filter “in …”",
    "--source": "“Kind”",
    "--since": "“From”",
    "--until": "“To”",
    "--on": "“From” and “To”",
}
"""The names of the filters on the page Search, by the options of the command line."""
_OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")


def template_renderer(
    pages: Sequence[Page], static: Callable[[str], str], added: Sequence[PageSet]
) -> Callable[..., str]:
    """Return the function that renders a template, of `templates/` or of a package, with values by their names.

    `static` returns the address of a file in `static/`.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, *(each.folder / "templates" for each in added)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    day_items = [each.day_items for each in added if each.day_items]
    values = cast("dict[str, Any]", environment.globals)
    values.update(pages=pages, static=static, address=address_of, api=BASE, day_items=day_items)
    environment.filters.update(figure=figure, day=day, markdown=rendered, code=with_code)

    def render(name: str, /, **values: Any) -> str:
        return environment.get_template(name).render(**values)

    return render


def figure(value: float, digits: int = 2) -> str:
    """Return a number with so many digits after the point, and whole numbers with a comma every three digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def with_code(text: str) -> Markup:
    """Return a text as HTML, in which the parts between backticks are code, and options have their names on pages."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if at % 2 else in_page_words(part) for at, part in enumerate(parts)
    )


def in_page_words(text: str) -> str:
    """Return a text in which the options of the command line have the names that they have on pages.

    >>> in_page_words("Leave out --path.")
    'Leave out the filter “in …”.'
    """
    return _OPTION.sub(lambda found: FIELDS.get(found[0], found[0]), text)


def day(time: str) -> str:
    """Return a time in ISO 8601 as a day and minutes in UTC."""
    return f"{time[:10]} {time[11:16]} UTC" if len(time) >= 16 else time
