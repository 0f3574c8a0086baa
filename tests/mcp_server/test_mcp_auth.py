"""Nobody without the token reads or writes anything over HTTP, on this machine either."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import string
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from mcp_endpoints import LIMIT, authorised, bearer, served, token_of
from memoriter.access import Authenticator
from memory_env import MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the servers are ended by signals")
ROUTES = [
    "/mcp",
    "/mcp/",
    "/health",
    "/hook/stop",
    "/hook/user-prompt",
    "/hook",
    "/",
    "/nowhere",
    "//mcp",
    "/hook/../mcp",
]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"]
SECRET = "The door code is Brumsel 4711."
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_append", "arguments": {"text": "planted by a stranger"}},
}
KINDS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass
class AuthServers:
    """One server of each kind; they share one home."""

    env: MemoryEnv
    addresses: dict[str, str]
    other: str
    """The token of another home."""

    @property
    def token(self) -> str:
        return token_of(self.env)

    @property
    def notes(self) -> dict[str, bytes]:
        return {str(file): file.read_bytes() for file in sorted(self.env.notes.rglob("*")) if file.is_file()}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthServers]:
    folder = tmp_path_factory.mktemp("auth")
    env = MemoryEnv.at(folder / "one", {"MEMORY.md": f"# Door\n\n- {SECRET}\n"})
    stranger = MemoryEnv.at(folder / "two")
    env.configure(provider="none")
    other = stranger.run("token").out.strip()
    with serving(env, "--no-watch") as full, served(env) as plain:
        yield AuthServers(env, {"serve": full.url, "mcp": plain.removesuffix("/mcp")}, other)


@contextmanager
def connected(url: str) -> Iterator[http.client.HTTPConnection]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
    try:
        yield connection
    finally:
        connection.close()


def respond(url: str, method: str, path: str, shown: list[tuple[str, str | bytes]]) -> tuple[int, bytes, Any]:
    """The status, the body and the headers of an answer."""
    with connected(url) as connection:
        body = json.dumps(CALL).encode() if method in {"POST", "PUT", "PATCH"} else b""
        connection.putrequest(method, path)
        for name, value in [*KINDS.items(), *shown, ("Content-Length", str(len(body)))]:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.read(), response.headers


def wrong(servers: AuthServers) -> dict[str, list[tuple[str, str | bytes]]]:
    """What somebody shows who does not know the token, or shows it where it does not count."""
    token = servers.token
    document = json.loads(next((servers.env.home / "serve").glob("*.json")).read_text(encoding="utf-8"))
    return {
        "nothing": [],
        "a wrong one": [("Authorization", "Bearer wrong-wrong-wrong-wrong")],
        "that of another home": [("Authorization", f"Bearer {servers.other}")],
        "the socket of the announcement": [("Authorization", f"Memoriter {document['socket']}")],
        "its beginning": [("Authorization", f"Bearer {token[:-1]}")],
        "more than it": [("Authorization", f"Bearer {token}x")],
        "other capitals": [("Authorization", f"Bearer {token.swapcase()}")],
        "an empty one": [("Authorization", "Bearer ")],
        "only a scheme": [("Authorization", "Bearer")],
        "no scheme": [("Authorization", token)],
        "another scheme": [("Authorization", f"Basic {token}")],
        "that of hooks": [("Authorization", f"Memoriter {token}")],
        "letters of another script": [("Authorization", "Bearer 열쇠".encode())],
        "bytes": [("Authorization", b"Bearer \xff\xfe\x80")],
        "it twice": [("Authorization", f"Bearer {token}")] * 2,
        "it and a wrong one": [("Authorization", f"Bearer {token}"), ("authorization", "Bearer wrong")],
        "a wrong one and it": [("Authorization", "Bearer wrong"), ("authorization", f"Bearer {token}")],
        "a list with it": [("Authorization", f"Bearer wrong, Bearer {token}")],
        "another header": [("X-Authorization", f"Bearer {token}"), ("Proxy-Authorization", f"Bearer {token}")],
        "a cookie": [("Cookie", f"Authorization=Bearer {token}; token={token}")],
        "much": [("Authorization", f"Bearer {'a' * 3_000}")],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["serve", "mcp"])
def test_every_route_and_method_is_refused_without_the_token(servers: AuthServers, kind: str) -> None:
    before = servers.notes
    url = servers.addresses[kind]
    where = f' resource_metadata="{url}/.well-known/oauth-protected-resource/mcp"' if kind == "serve" else ""
    for method, path in itertools.product(METHODS, ROUTES):
        status, body, headers = respond(url, method, path, [])
        assert (method, path, status) == (method, path, 401)
        assert headers["WWW-Authenticate"] == f"Bearer{where}"
        if method != "HEAD":
            error = json.loads(body)["error"]
            assert error["message"]
            assert "memoriter token" in error["remedy"]
    assert servers.notes == before


@pytest.mark.matrix
@pytest.mark.parametrize("kind", ["serve", "mcp"])
def test_nothing_but_the_token_in_its_place_is_let_in(servers: AuthServers, kind: str) -> None:
    before = servers.notes
    url = servers.addresses[kind]
    for (name, shown), (method, path) in itertools.product(
        wrong(servers).items(), [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/health"), ("POST", "/hook/stop")]
    ):
        status, body, _ = respond(url, method, path, shown)
        assert (name, method, path, status) == (name, method, path, 401)
        assert SECRET.encode() not in body
        assert servers.token.encode() not in body
    for query in (
        f"?access_token={servers.token}",
        f"?token={servers.token}",
        f"?Authorization=Bearer%20{servers.token}",
    ):
        assert respond(url, "POST", f"/mcp{query}", [])[0] == 401
        assert respond(url, "GET", f"/health{query}", [])[0] == 401
    assert servers.notes == before


def test_a_stranger_is_refused_before_the_body_is_read_or_the_host_is_looked_at(servers: AuthServers) -> None:
    for url in servers.addresses.values():
        place = urlsplit(url)
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=LIMIT) as connection:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 999\r\n\r\n{")
            answer = b""
            while part := connection.recv(1 << 16):  # the server closes, although the body is not complete
                answer += part
        assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_official_client_works_with_the_token_and_not_without(servers: AuthServers) -> None:
    for url in servers.addresses.values():
        async with authorised(f"{url}/mcp", servers.env) as client:
            found: Any = (await client.call_tool("memory_search", {"query": "door code"})).structured_content
            assert SECRET in found["results"][0]["snippet"]
        for mode in ("legacy", "auto"):
            with pytest.raises(Exception) as raised:
                async with Client(f"{url}/mcp", read_timeout_seconds=LIMIT, mode=mode) as client:
                    await client.list_tools()
            assert SECRET not in repr(raised.value)


def test_with_the_token_each_route_does_what_it_is_for(servers: AuthServers) -> None:
    url = servers.addresses["serve"]
    shown = list(bearer(servers.token).items())
    assert respond(url, "GET", "/health", shown)[0] == 200
    assert respond(url, "GET", "/health", [("authorization", f"bearer  {servers.token}")])[0] == 200
    assert respond(url, "POST", "/hook/stop", shown)[0] == 400  # what is sent is no hook's input
    assert respond(url, "GET", "/nowhere", shown)[0] == 404
    assert respond(url, "GET", "/health", [*shown, ("Origin", "https://evil.example")])[0] == 403
    assert respond(servers.addresses["mcp"], "POST", "/hook/stop", shown)[0] == 404


@given(
    shown=st.lists(
        st.tuples(
            st.sampled_from([b"authorization", b"Authorization", b"x-token"]),
            st.binary(max_size=60)
            | st.text(string.printable, max_size=40).map(lambda text: b"Bearer " + text.encode("latin-1"))
            | st.sampled_from([b"Bearer a-token-of-the-tests", b"Bearer a-token-of-the-test"]),
        ),
        max_size=3,
    )
)
def test_no_headers_but_the_one_with_the_token_are_admitted(shown: list[tuple[bytes, bytes]]) -> None:
    values = [value for name, value in shown if name.lower() == b"authorization"]
    right = len(values) == 1 and values[0].partition(b" ")[2].strip(b" ") == b"a-token-of-the-tests"
    caller = Authenticator(lambda: "a-token-of-the-tests").identify({"type": "http", "headers": shown})
    assert (caller is not None) == (right and values[0].lower().startswith(b"bearer "))


@pytest.mark.slow
def test_a_renewed_token_counts_at_once_and_the_old_one_no_more(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    with serving(env, "--no-watch") as server:
        old = server.token
        assert respond(server.url, "GET", "/health", list(bearer(old).items()))[0] == 200
        new = env.run("token", "--renew").out.strip()
        assert respond(server.url, "GET", "/health", list(bearer(old).items()))[0] == 401
        assert respond(server.url, "GET", "/health", list(bearer(new).items()))[0] == 200
        (env.home / "token").write_text("x", encoding="ascii")
        assert respond(server.url, "GET", "/health", list(bearer("x").items()))[0] == 401
        (env.home / "token").unlink()
        assert respond(server.url, "GET", "/health", list(bearer(new).items()))[0] == 200


@pytest.mark.slow
def test_neither_server_says_its_token(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.environ["MEMORITER_TOKEN"] = token = "a-token-that-nobody-says"
    with serving(env, "--no-watch") as server:
        assert server.process.stdout
        respond(server.url, "GET", f"/health?token={token}", [("Authorization", f"Bearer {token}x")])
        assert respond(server.url, "GET", "/health", list(bearer(token).items()))[0] == 200
        arguments = server.process.args
        output = env.run("status", "--json").out + env.run("doctor").out + server.file.read_text(encoding="utf-8")
        server.process.terminate()
        out, err = server.process.communicate(timeout=LIMIT)
    assert token not in f"{out} {err} {arguments} {output}"
    assert not (env.home / "token").exists()
