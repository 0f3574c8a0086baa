"""OAuth 2.1 for `/mcp`: a hosted client sends a person to this server, who allows it to use the notes.

The MCP SDK has the protocol. What a client gets is a token as of `memoriter token create`: it is listed, ends and is
revoked like any other, so there are no refresh tokens.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import OrderedDict
from copy import copy
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes, create_protected_resource_routes
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.routing import Route

from memoriter.access import (
    CONSENT_PATH,
    Caller,
    FormTooLong,
    caller_of,
    form_page,
    known_caller,
    problem_response,
    read_form,
    sign_in_page,
)
from memoriter.discovery import TokenFile
from memoriter.errors import MemoriterError
from memoriter.permissions import replace_private
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from memoriter.access import ServedMemory
    from memoriter.discovery import Scope

SCOPES = ["read", "write"]
"""What a client may ask for."""
TOKEN_SECONDS = 90 * 86_400.0
"""Seconds after which a client must ask the person again."""
REQUEST_SECONDS = 600.0
CODE_SECONDS = 60.0
MOST_REQUESTS = 100
MOST_CLIENTS = 100
"""Requests that wait for a person, and clients that are registered, at most; the oldest one makes room."""
LONGEST_CLIENTS = 4 << 20
LONGEST_FORM = 4096
FILE = "oauth-clients.json"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
NEVER = {"javascript", "data", "vbscript", "blob", "about", "file", ""}
"""Schemes of addresses to which no browser is sent."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of a client that waits for a person."""

    client: OAuthClientInformationFull
    params: AuthorizationParams
    ends: float


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a person has allowed a client, until it fetches its token."""

    code: AuthorizationCode
    client: str
    """The name of the client."""
    scope: Scope
    principal: str
    workspaces: Sequence[str]
    """Those that the token reaches: those of the person, or for the owner the one of the page."""


class OAuth(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """The authorization server of a memory, with the page on which a person allows a client to use it."""

    def __init__(self, home: Path, url: str, served: ServedMemory, clock: Callable[[], float]) -> None:
        """Read the clients that are registered in memoriter's own folder.

        `url` is that of the server for clients, without a path: HTTPS, or a loopback address. The clock returns seconds
        since 1970.
        """
        self._file = home / FILE
        self._tokens = TokenFile(home)
        self._url = url
        self._resource = f"{url}/mcp"
        self._clock = clock
        self._clients = self._read_clients()
        self._requests = OrderedDict[str, _Request]()
        self._grants = OrderedDict[str, _Grant]()
        self.bind(served)

    def bind(self, served: ServedMemory) -> None:
        """Make the routes of a memory."""
        self._served = served
        self.routes: Sequence[Route] = self._make_routes()
        """The routes of the protocol, and the page for the person."""

    def of(self, served: ServedMemory) -> OAuth:
        """Return the same authorization server with the routes of a further memory."""
        other = copy(self)
        other.bind(served)
        return other

    def _make_routes(self) -> Sequence[Route]:
        return [
            *create_auth_routes(
                self,
                AnyHttpUrl(self._url),
                client_registration_options=ClientRegistrationOptions(
                    enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES
                ),
            ),
            *create_protected_resource_routes(
                AnyHttpUrl(self._resource), [AnyHttpUrl(self._url)], SCOPES, resource_name="memoriter"
            ),
            Route(CONSENT_PATH, self.ask, methods=["GET"]),
            Route(CONSENT_PATH, self.decide, methods=["POST"]),
        ]

    @property
    def open_requests(self) -> frozenset[tuple[str, str]]:
        """The methods and paths that need no token. The page for the person looks for the session itself."""
        found = {(method, each.path) for each in self.routes for method in each.methods or () if method != "HEAD"}
        return frozenset(found - {("POST", CONSENT_PATH)})

    @property
    def challenge(self) -> str:
        """What `WWW-Authenticate` tells a client that has no token."""
        return f'Bearer resource_metadata="{self._url}/.well-known/oauth-protected-resource/mcp"'

    # the page for the person

    async def ask(self, request: Request) -> Response:
        """Return the page that asks the person whether a client may use the notes."""
        name = request.query_params.get("request", "")
        waiting = self._waiting(name)
        if waiting is None:
            return _gone()
        caller = known_caller(request.scope)
        address = f"{CONSENT_PATH}?request={name}"
        if caller is None and "again" not in request.query_params:
            # A browser that comes from the client's site leaves the cookie out, until a page of this server leads on.
            return form_page("One moment", link=("", f"{address}&again=1", "Continue"), refresh=True)
        if caller is None:
            return sign_in_page(f"{_name_of(waiting.client)} wants to use these notes.", 401, after=address)
        if not caller.allows("read"):
            return problem_response(403, "scope", "This session may not read the notes.", "Sign in with another token.")
        return self._question(name, waiting, caller)

    def _question(self, name: str, waiting: _Request, caller: Caller) -> Response:
        wanted = waiting.params.scopes or SCOPES
        offered = ["read", *(["write"] if caller.allows("write") and "write" in wanted else [])]
        buttons = {"read": "Allow it to read", "write": "Allow it to read and write"}
        shown = "".join(f'<p><button name="allow" value="{each}">{buttons[each]}</button></p>' for each in offered)
        body = (
            f'<form method="post" action="{CONSENT_PATH}"><input type="hidden" name="request" value="{escape(name)}">'
            f'{shown}<p><button name="allow" value="">Refuse</button></p></form>'
        )
        target = urlsplit(str(waiting.params.redirect_uri))
        return form_page(
            "May this program use your notes?",
            f"A program that calls itself “{_name_of(waiting.client)}” asks for them.",
            f"The answer goes to {target.scheme}://{target.netloc}. Refuse if you did not come from there.",
            f"You can take it back at any time: `memoriter token revoke {self._token_name(waiting.client, caller)}`.",
            body=body,
        )

    async def decide(self, request: Request) -> Response:
        """Send the person's browser back to the client, with what was decided."""
        try:
            fields = await read_form(request, LONGEST_FORM)
        except FormTooLong as error:
            return problem_response(413, "too_large", error.message, "Go back, and answer again.")
        caller = caller_of(request.scope)
        name = fields.get("request", "")
        waiting = self._waiting(name)
        if waiting is None or caller.kind != "browser":
            return _gone()
        scope: Scope | None = {"read": "read", "write": "write"}.get(fields.get("allow", ""))  # type: ignore[assignment]
        if scope is not None and not caller.allows(scope):
            return problem_response(403, "scope", f"You may not allow {scope!r}.", "Sign in with another token.")
        del self._requests[name]
        answer = {"error": "access_denied"} if scope is None else {"code": self._grant(waiting, scope, caller)}
        address = construct_redirect_uri(str(waiting.params.redirect_uri), **answer, state=waiting.params.state)
        # A policy for forms also confines where a form's answer redirects to, so a page leads on.
        return form_page("Done", link=("", address, "Back to the program"), refresh=True)

    def _grant(self, waiting: _Request, scope: Scope, caller: Caller) -> str:
        value = secrets.token_urlsafe(32)
        params = waiting.params
        code = AuthorizationCode(
            code=value,
            scopes=SCOPES[: SCOPES.index(scope) + 1],
            expires_at=self._clock() + CODE_SECONDS,
            client_id=waiting.client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        _make_room(self._grants, MOST_REQUESTS)
        workspaces = caller.workspaces or [self._served.workspace]
        name = self._token_name(waiting.client, caller)
        self._grants[value] = _Grant(code, name, scope, caller.principal, workspaces)
        return value

    def _waiting(self, name: str) -> _Request | None:
        waiting = self._requests.get(name)
        return waiting if waiting is not None and self._clock() < waiting.ends else None

    def _token_name(self, client: OAuthClientInformationFull, caller: Caller) -> str:
        """Return a name for the token of a client, which tells the program and the person."""
        program = _NO_NAME.sub("-", client.client_name or "program").strip("-_.")[:20] or "program"
        base = f"{program}-for-{caller.name[:10]}"
        taken = {each.name for each in self._tokens.tokens()}
        return next(name for name in (base, *(f"{base}-{at}" for at in range(2, 1000))) if name not in taken)

    # what the SDK asks

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return a registered client."""
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Register a client, which anybody may: it can do nothing until a person allows it."""
        for each in client_info.redirect_uris or ():
            if each.scheme in NEVER or (each.scheme == "http" and each.host not in LOOPBACK):
                raise RegistrationError("invalid_redirect_uri", "Give an address with HTTPS, or of the same machine.")
        _make_room(self._clients, MOST_CLIENTS)
        self._clients[client_info.client_id] = client_info
        content = [each.model_dump(mode="json", exclude_none=True) for each in self._clients.values()]
        replace_private(self._file, json.dumps(content).encode("ascii"))

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Return the page on which the person decides."""
        if params.resource is not None and params.resource.rstrip("/") not in {self._url, self._resource}:
            raise AuthorizeError("invalid_target", f"This server is {self._resource}.")
        name = secrets.token_urlsafe(32)
        _make_room(self._requests, MOST_REQUESTS)
        self._requests[name] = _Request(client, params, self._clock() + REQUEST_SECONDS)
        return f"{CONSENT_PATH}?request={name}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Return what a person has allowed, if it was this client."""
        grant = self._grants.get(authorization_code)
        return grant.code if grant is not None and grant.code.client_id == client.client_id else None

    async def exchange_authorization_code(
        self,
        client: OAuthClientInformationFull,
        authorization_code: AuthorizationCode,
    ) -> OAuthToken:
        """Make the token of a client; a code counts once."""
        grant = self._grants.pop(authorization_code.code, None)
        if grant is None:
            raise TokenError("invalid_grant", "The code was used before.")
        now = self._clock()
        try:
            value = self._tokens.create(
                grant.client,
                grant.scope,
                now=now,
                principal=grant.principal,
                workspaces=grant.workspaces,
                expires=now + TOKEN_SECONDS,
            )
        except MemoriterError as error:
            raise TokenError("invalid_grant", error.message) from error
        return OAuthToken(access_token=value, expires_in=int(TOKEN_SECONDS), scope=" ".join(grant.code.scopes))

    async def load_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: str,
    ) -> RefreshToken | None:
        """Return None: there are no refresh tokens."""

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: RefreshToken,
        scopes: list[str],
    ) -> OAuthToken:
        """Refuse: there are no refresh tokens."""
        raise TokenError("unsupported_grant_type", "Ask the person again.")

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return None: the server itself verifies tokens."""

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Do nothing: tokens are revoked by `memoriter token revoke`."""

    def _read_clients(self) -> OrderedDict[str, OAuthClientInformationFull]:
        """Return the clients of the file; one that is damaged has none, and clients register again."""
        try:
            rows: Any = json.loads(read_plain(self._file, LONGEST_CLIENTS, owned=True))
            clients = [OAuthClientInformationFull.model_validate(row) for row in rows]
        except (OSError, ValueError, TypeError):
            clients = []
        return OrderedDict((each.client_id, each) for each in clients)


def _name_of(client: OAuthClientInformationFull) -> str:
    """Return what a client calls itself, in one line."""
    return " ".join((client.client_name or "a program without a name").split())[:60]


def _make_room(kept: OrderedDict[str, Any], most: int) -> None:
    while len(kept) >= most:
        kept.popitem(last=False)


def _gone() -> Response:
    message = "This request of a program was answered before, or is older than ten minutes."
    return problem_response(404, "session", message, "Connect the program again.")
