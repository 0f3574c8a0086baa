"""A hosted client connects by OAuth: it registers, a person allows it, and it uses the tools."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from memoriter.discovery import TokenFile
from memory_env import QUESTION, MemoryEnv
from serving import LIMIT, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from serving import Serving

pytestmark = pytest.mark.slow
BACK = "https://chat.example/back"


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("oauth"))
    env.configure(provider="none")
    return env


@pytest.fixture(scope="module")
def server(env: MemoryEnv) -> Iterator[Serving]:
    with serving(env, "--no-watch") as server:
        yield server


class Kept(TokenStorage):
    """What a client keeps of one server."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """A person with a browser without scripts, who is signed in to the server, and decides."""

    def __init__(self, server: Serving, cookies: httpx2.Cookies, answer: str) -> None:
        self.http = httpx2.Client(base_url=server.url, headers={"accept": "text/html"}, cookies=cookies, timeout=LIMIT)
        self.answer = answer
        self.back = ""
        self.page = ""

    def follow(self, address: str) -> None:
        """Open the address to which a client sends its person, and answer the question."""
        led = self.http.get(address).headers["location"]
        self.page = self.http.get(led).text
        (name,) = re.findall(r'name="request" value="([\w-]+)"', self.page)
        done = self.send(request=name, allow=self.answer)
        assert done.status_code == 200, done.text
        (self.back,) = re.findall(r'url=(https://chat[^"]*)"', done.text)
        self.back = self.back.replace("&amp;", "&")

    def send(self, **fields: str) -> httpx2.Response:
        headers = {"origin": str(self.http.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
        return self.http.post("/consent", data=fields, headers=headers)


@pytest.fixture(scope="module")
def cookies(server: Serving) -> httpx2.Cookies:
    """The session that the printed link opens."""
    return httpx2.get(server.link).cookies


@pytest.fixture
def person_who(server: Serving, cookies: httpx2.Cookies) -> Iterator[Callable[[str], Person]]:
    with ExitStack() as stack:

        def made(answer: str) -> Person:
            person = Person(server, cookies, answer)
            stack.callback(person.http.close)
            return person

        yield made


def metadata(name: str = "Chat & more", back: str = BACK) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name=name, redirect_uris=[AnyUrl(back)])


def provider(server: Serving, person: Person, kept: Kept) -> OAuthClientProvider:
    """The SDK's own client, whose person's browser is not a real one."""

    async def redirect(address: str) -> None:
        person.follow(address)

    async def callback() -> AuthorizationCodeResult:
        answer = dict(parse_qsl(urlsplit(person.back).query))
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"])

    return OAuthClientProvider(f"{server.url}/mcp", metadata(), kept, redirect, callback)


@pytest.mark.anyio
async def test_a_client_that_a_person_allows_to_read_finds_notes_and_cannot_write(
    env: MemoryEnv, server: Serving, person_who: Callable[[str], Person]
) -> None:
    person = person_who("read")
    kept = Kept()
    async with (
        httpx2.AsyncClient(auth=provider(server, person, kept), timeout=LIMIT) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        found = await client.call_tool("memory_search", {"query": QUESTION})
    assert "memory_search" in tools
    assert "memory_append" not in tools
    assert "PostgreSQL" in str(found)
    assert "“Chat &amp; more”" in person.page
    assert "The answer goes to https://chat.example." in person.page
    (token,) = [each for each in TokenFile(env.home).tokens() if each.name.startswith("Chat-more-for-owner")]
    assert (token.scope, token.workspace) == ("read", str(env.notes.resolve()))
    assert token.expires > token.created
    assert kept.tokens is not None
    with httpx2.Client(base_url=server.url, headers={"authorization": f"Bearer {kept.tokens.access_token}"}) as http:
        assert http.get("/api/v1/files").status_code == 200
        TokenFile(env.home).revoke(token.name)
        assert http.get("/api/v1/files").status_code == 401


@contextmanager
def registered(server: Serving, **more: object) -> Generator[tuple[httpx2.Client, dict[str, str]]]:
    """A connection to the server, and a client that has registered over it."""
    about = {"client_name": "Chat", "redirect_uris": [BACK], "token_endpoint_auth_method": "none", **more}
    with httpx2.Client(base_url=server.url, timeout=LIMIT) as http:
        yield http, http.post("/register", json=about).json()


def request_of(client: dict[str, str], **more: str) -> dict[str, str]:
    """An authorization request; the verifier of its challenge is `v` 43 times."""
    challenge = "FHUKpPPA6WAfJpt1BHpHVmRY8ZO3oNt2YbMAAcM_7dk"
    wanted = {"response_type": "code", "client_id": client["client_id"], "redirect_uri": BACK, "state": "s"}
    return wanted | {"code_challenge": challenge, "code_challenge_method": "S256"} | more


def test_a_person_who_refuses_sends_the_client_away_and_nothing_is_made(
    env: MemoryEnv, server: Serving, person_who: Callable[[str], Person]
) -> None:
    before = TokenFile(env.home).tokens()
    with registered(server) as (http, client):
        address = http.get("/authorize", params=request_of(client)).headers["location"]
        person = person_who("")
        (name,) = re.findall(r'name="request" value="([\w-]+)"', person.http.get(address).text)
        done = person.send(request=name, allow="")
        assert "error=access_denied" in done.text
        again = person.send(request=name, allow="write")
        assert again.status_code == 404
    assert TokenFile(env.home).tokens() == before


def test_a_code_counts_once_and_for_its_client_with_its_verifier_only(
    server: Serving, person_who: Callable[[str], Person]
) -> None:
    import base64
    import hashlib

    verifier = "v" * 43
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    with registered(server) as (http, client), registered(server) as (_, other):
        address = http.get("/authorize", params=request_of(client, code_challenge=challenge)).headers["location"]
        person = person_who("write")
        (name,) = re.findall(r'name="request" value="([\w-]+)"', person.http.get(address).text)
        back = re.findall(r'url=(https://chat[^"]*)"', person.send(request=name, allow="write").text)[0]
        code = parse_qs(urlsplit(back.replace("&amp;", "&")).query)["code"][0]
        wanted = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
        right = wanted | {"client_id": client["client_id"], "code_verifier": verifier}
        for wrong in ({"client_id": other["client_id"]}, {"code_verifier": "w" * 43}, {"redirect_uri": f"{BACK}/more"}):
            assert http.post("/token", data=right | wrong).status_code == 400
        made = http.post("/token", data=right)
        assert (made.status_code, made.json()["scope"]) == (200, "read write")
        assert http.post("/token", data=right).json()["error"] == "invalid_grant"


def test_somebody_who_is_not_signed_in_is_asked_to_sign_in_first_and_comes_back_to_the_question(
    env: MemoryEnv, server: Serving
) -> None:
    token = TokenFile(env.home).create("dora", "read", now=0.0)
    with registered(server) as (http, client):
        address = http.get("/authorize", params=request_of(client)).headers["location"]
        page = {"accept": "text/html"}
        led = http.get(address, headers=page)
        assert (led.status_code, 'http-equiv="refresh"' in led.text) == (200, True)
        asked = http.get(f"{address}&again=1", headers=page)
        assert (asked.status_code, "Chat wants to use these notes" in asked.text) == (401, True)
        form = {"origin": server.url, "sec-fetch-site": "same-origin"}
        mistyped = http.post("/sign-in", data={"token": f"{token}x", "after": address}, headers=form)
        assert (mistyped.status_code, f'name="after" value="{address}"' in mistyped.text) == (401, True)
        signed = http.post("/sign-in", data={"token": token, "after": address}, headers=form)
        assert signed.headers["location"] == address
        elsewhere = http.post("/sign-in", data={"token": token, "after": "https://evil.example"}, headers=form)
        assert elsewhere.headers["location"] == "/"
        question = http.get(address).text
        assert "Allow it to read<" in question
        assert "Allow it to read and write" not in question
        (name,) = re.findall(r'name="request" value="([\w-]+)"', question)
        more = http.post("/consent", data={"request": name, "allow": "write"}, headers=form)
        assert (more.status_code, more.json()["code"]) == (403, "scope")


@pytest.mark.parametrize(
    "back", ["javascript:alert(1)", "data:text/html,x", "http://evil.example/back", "file:///etc/passwd"]
)
def test_a_client_cannot_have_a_browser_sent_to_an_address_that_is_not_safe(server: Serving, back: str) -> None:
    with registered(server, redirect_uris=[back]) as (_, answer):
        pass
    assert answer["error"] in {"invalid_redirect_uri", "invalid_client_metadata"}


def test_a_request_with_another_address_or_for_another_server_is_refused(server: Serving) -> None:
    with registered(server) as (http, client):
        wrong = http.get("/authorize", params=request_of(client, redirect_uri="https://evil.example/back"))
        assert (wrong.status_code, "location" in wrong.headers) == (400, False)
        other = http.get("/authorize", params=request_of(client, resource="https://other.example/mcp"))
        assert other.headers["location"].startswith(f"{BACK}?error=invalid_target")


def test_a_client_without_a_token_is_told_where_to_ask_and_clients_survive_a_restart(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    with serving(env, "--no-watch") as server:
        refused = httpx2.post(f"{server.url}/mcp", json={})
        where = re.fullmatch(r'Bearer resource_metadata="(.*)"', refused.headers["www-authenticate"])
        assert where is not None
        about = httpx2.get(where[1]).json()
        assert about["resource"] == f"{server.url}/mcp"
        served = httpx2.get(f"{about['authorization_servers'][0].rstrip('/')}/.well-known/oauth-authorization-server")
        assert served.json()["code_challenge_methods_supported"] == ["S256"]
        with registered(server) as (_, client):
            pass
    assert (env.home / "oauth-clients.json").stat().st_mode & 0o777 == 0o600
    with serving(env, "--no-watch") as server:
        led = httpx2.get(f"{server.url}/authorize", params=request_of(client))
        assert led.headers["location"].startswith("/consent?request=")
