"""Several workspaces behind one address: each request goes to the application of one that its caller may reach."""

from __future__ import annotations

import asyncio
import re
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import RedirectResponse

from memoriter.access import header_of, problem_response, with_safe_headers
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.access import Authenticator, Caller

PREFIX = "/w/"
"""The beginning of a path that names a workspace: `/w/NAME/mcp`, or `/w/NAME/` to switch to it in a browser."""
_NOT_IN_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class ServedWorkspace:
    """One workspace of a server."""

    name: str
    """As in addresses and in the pages."""
    path: str
    """Its absolute path, with symbolic links resolved."""
    is_first: bool
    """Whether tokens that name no workspace reach it. Only the first workspace of a server is one."""

    @property
    def address(self) -> str:
        """The path that switches a browser to it."""
        return f"{PREFIX}{quote(self.name)}/"

    def is_open_to(self, caller: Caller) -> bool:
        """Return whether a caller may reach it: the owner may, and whoever has a token for it."""
        return not caller.digest or (self.path in caller.workspaces if caller.workspaces else self.is_first)


def served_workspaces(paths: Sequence[str]) -> tuple[ServedWorkspace, ...]:
    """Return workspaces, by absolute paths, with names that differ: those of their folders."""
    served: list[ServedWorkspace] = []
    for path in paths:
        plain = _NOT_IN_NAME.sub("-", path.rstrip("/").rpartition("/")[2]).strip("-.") or "notes"
        taken = {each.name for each in served}
        names = (plain, *(f"{plain}-{number}" for number in range(2, len(paths) + 1)))
        served.append(ServedWorkspace(next(each for each in names if each not in taken), path, not served))
    return tuple(served)


class Workspaces:
    """ASGI application of several workspaces. Who may reach which one, each of their applications checks itself."""

    def __init__(
        self,
        workspaces: Sequence[ServedWorkspace],
        apps: Sequence[ASGIApp],
        authenticator: Authenticator,
        *,
        cookie: str,
    ) -> None:
        """Serve workspaces.

        Args:
            workspaces: the workspaces; the first one is that of requests that name none.
            apps: the application of each.
            authenticator: identifies callers.
            cookie: the name of the cookie with the workspace that a person has chosen. It gives no rights.
        """
        self._workspaces = workspaces
        self._apps = dict(zip([each.name for each in workspaces], apps, strict=True))
        self._authenticator = authenticator
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        path: str = scope.get("path", "")
        caller = self._authenticator.identify(scope) if scope["type"] == "http" else None
        if not path.startswith(PREFIX):
            await self._apps[self._wanted(scope, caller).name](scope, receive, send)
            return
        name, _, rest = path.removeprefix(PREFIX).partition("/")
        named = next((each for each in self._workspaces if each.name == name), None)
        if named is None or caller is None or not named.is_open_to(caller):
            message = "There is no such workspace here, or it needs another token."
            refusal = problem_response(404, "workspace", message, "Ask the owner of the server for its name.")
            await refusal(scope, receive, with_safe_headers(send))
        elif not rest:
            response = RedirectResponse("/", 303)
            response.set_cookie(self._cookie, quote(name), path="/", httponly=True, samesite="strict")
            await response(scope, receive, with_safe_headers(send))
        else:
            scope["path"] = f"/{rest}"
            scope["raw_path"] = quote(f"/{rest}").encode("ascii")
            await self._apps[name](scope, receive, send)

    def _wanted(self, scope: Scope, caller: Caller | None) -> ServedWorkspace:
        """Return the workspace of a request that names none: the one chosen in a browser, or the caller's first."""
        first = self._workspaces[0]
        if caller is None:
            return first
        reachable = [each for each in self._workspaces if each.is_open_to(caller)]
        chosen = _cookie_of(scope, self._cookie) if caller.kind == "browser" else ""
        return next((each for each in reachable if quote(each.name) == chosen), (*reachable, first)[0])

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start and end all applications together."""
        lives = [_Life(app, scope) for app in self._apps.values()]
        for kind in ("startup", "shutdown"):
            message = await receive()
            failed = [each for each in await asyncio.gather(*(life.pass_on(message) for life in lives)) if each]
            await send(failed[0] if failed else {"type": f"lifespan.{kind}.complete"})
            if failed:
                return


class _Life:
    """The beginning and the end of one application."""

    def __init__(self, app: ASGIApp, scope: Scope) -> None:
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(app, dict(scope)))

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._to_app.get, self._from_app.put)
        except Exception as error:  # noqa: BLE001 - the server reports it
            await self._from_app.put({"type": "lifespan.startup.failed", "message": str(error)})

    async def pass_on(self, message: Message) -> Message | None:
        """Return what the application answers if it fails."""
        await self._to_app.put(message)
        answer = await self._from_app.get()
        return answer if answer["type"].endswith(".failed") else None


def _cookie_of(scope: Scope, name: str) -> str:
    try:
        morsel = SimpleCookie(header_of(scope, "cookie") or "").get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""
