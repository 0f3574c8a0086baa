"""What a page is, what packages add, and one request with what its answer needs: caller, operations, templates."""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import RedirectResponse, Response

from memoriter.access import UPLOAD, caller_of, read_form
from memoriter.entry_points import load_all
from memoriter.errors import MemoriterError, WriteConflict
from memoriter.notes import open_notes
from memoriter.pages._addresses import address_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request

    from memoriter.access import Caller
    from memoriter.discovery import Scope
    from memoriter.memory import Memory
    from memoriter.pages._library import Library
    from memoriter.web import OperationRunner
    from memoriter.workspace import Workspace

_T = TypeVar("_T")

FRAGMENT = "memoriter-fragment"
"""The header with the id of the element that a script replaces. Without it, the answer is a whole page."""
LOCATION = "Memoriter-Location"
"""The header with the address that a script goes to after it has sent a form."""
PROBLEM = "Memoriter-Problem"
"""The header with the code of a problem, if the answer has nothing but the problem."""
WORKSPACE = "workspace"
"""The field of forms with the name of the workspace of their page, if the server has several."""
_POSTED = re.compile(r"<form\b[^<>]*\bmethod=\"post\"[^<>]*>")
LONGEST_FORM = 12 * 1024 * 1024
"""Bytes of a form at most: a note of 4 million characters, encoded."""


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One address of a page."""

    path: str
    answer: Callable[[Visit], Awaitable[Response]]
    """Returns the response; it may raise MemoriterError, which is shown with its remedy."""
    methods: tuple[str, ...] = ("GET",)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the navigation."""

    name: str
    summary: str
    """What an owner does on the page, as a sentence; the navigation shows it as a tooltip."""
    routes: tuple[PageRoute, ...]
    """The first one is the address in the navigation, and answers GET without parameters."""
    place: int = 100
    """Where the page stands in the navigation: pages with a lower number stand before it."""
    in_navigation: bool = True
    """Whether the navigation has it; other pages lead to one that is not there."""
    brings: bool = False
    """Whether it brings text from elsewhere; the menu "+ New" and an empty memory lead to it."""
    waiting: Callable[[Visit], Awaitable[int]] | None = None
    """Returns how many things wait for a decision on it, which its name in the navigation shows."""

    @property
    def path(self) -> str:
        """The address in the navigation."""
        return self.routes[0].path


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """A workspace of the server that a person can switch to."""

    name: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Site:
    """What all requests of a server share."""

    pages: Sequence[Page]
    runner: OperationRunner
    render: Callable[..., str]
    """Returns the text of a template with the values that it gets by their names."""
    library: Library
    workspaces: Callable[[Caller], Sequence[WorkspaceLink]]
    """Returns the workspaces of the server that a caller may reach; empty: it has only one."""


class Visit:
    """One request of a page."""

    def __init__(self, request: Request, page: Page, site: Site) -> None:
        self.request = request
        self.page = page
        self.pages = site.pages
        """All pages."""
        self.library = site.library
        """What the pages know of the notes between two requests."""
        self._site = site

    @property
    def caller(self) -> Caller:
        """Who asks, and what the caller may do."""
        return caller_of(self.request.scope)

    @property
    def fragment(self) -> str:
        """The id of the element that a script will replace; empty: a browser loads the whole page."""
        return self.request.headers.get(FRAGMENT, "")

    @property
    def workspaces(self) -> Sequence[WorkspaceLink]:
        """The workspaces that the caller can switch to, with the present one; empty: there is only one."""
        found = self._site.workspaces(self.caller)
        return found if len(found) > 1 else ()

    def parameter(self, name: str) -> str:
        """Return a parameter of the address, without white space around it; empty if it is missing."""
        return self.request.query_params.get(name, "").strip()

    def number(self, name: str) -> int | None:
        """Return a parameter of the address that is a whole number; None: it is missing, or something else."""
        text = self.parameter(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None

    async def form(self) -> Mapping[str, str]:
        """Return the fields of a form that was sent; of a repeated field, the last one.

        Raises FormTooLong, and WriteConflict if the form is of a page of another workspace.
        """
        fields = await read_form(self.request, LONGEST_FORM)
        self.check_workspace(fields)
        return fields

    def check_workspace(self, fields: Mapping[str, str]) -> None:
        """Raise WriteConflict if a form is of a page of another workspace than the browser has switched to."""
        if self.workspaces and fields.get(WORKSPACE) != self._workspace:
            message = f"This browser has switched to the notes {self._workspace!r} since, so nothing was done."
            raise WriteConflict(message, remedy="Switch back to the notes of the page, and repeat it.")

    @property
    def _workspace(self) -> str:
        """The name of the present workspace; empty: there is only one."""
        return next((each.name for each in self.workspaces if each.is_current), "")

    def expect_upload(self) -> None:
        """Let the body of this request take long, as long as it keeps arriving; ask first who sends it."""
        self.request.scope.setdefault("state", {})[UPLOAD] = True

    async def perform(self, name: str, **values: Any) -> Any:
        """Return the answer of an operation of the HTTP API as JSON values.

        `name` is one of `memoriter.web.all_operations`, and `values` are its parameters by their names in Python;
        sequences are tuples. Raises MemoriterError if it fails, or if the caller may not run it.
        """
        return await self._site.runner.perform(name, self.caller, **values)

    async def with_memory(self, scope: Scope, work: Callable[[Memory], _T], *, quick: bool = False) -> _T:
        """Return the result of work on the memory in a thread; the caller must have the scope. Raises OutOfScope.

        Quick work takes no longer than reading a note, and does not wait for searches.
        """
        return await self._site.runner.with_memory(self.caller, scope, work, quick=quick)

    async def compute(self, work: Callable[[], _T]) -> _T:
        """Return the result of work that takes long, in a thread of the caller's share."""
        return await self._site.runner.compute(self.caller, work)

    async def attempt(self, name: str, **values: Any) -> Any:
        """Return the answer of an operation, or None if it fails, for parts that a page can do without."""
        try:
            return await self.perform(name, **values)
        except MemoriterError:
            return None

    async def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return the response with a template, which gets `page`, `caller`, `visit` and these values."""
        named = {"page": self.page, "caller": self.caller, "visit": self, **values}
        text = await self.compute(lambda: self._marked(self._site.render(template, **named)))
        return Response(text.encode("utf-8", "replace"), status, media_type="text/html")

    def _marked(self, text: str) -> str:
        """Return a page whose forms name its workspace, if there are several."""
        field = f'<input type="hidden" name="{WORKSPACE}" value="{self._workspace}">'
        return _POSTED.sub(rf"\g<0>{field}", text) if self.workspaces else text

    def redirect(self, path: str, anchor: str = "", /, **parameters: str) -> Response:
        """Return the response that leads to another page, such as after a form was sent."""
        address = address_of(path, anchor, **parameters)
        if self.fragment:
            return Response(status_code=204, headers={LOCATION: address})
        return RedirectResponse(address, 303)


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


def workspace_of(memory: Memory) -> Workspace:
    """Return the folder of notes of a memory. Raises TrustRemoved."""
    config = memory.configuration.path
    notes = open_notes(memory.place.workspace, config=config, agent=memory.agent, env=memory.environment)
    return notes.trusted_workspace
