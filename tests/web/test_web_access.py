"""Who may do what over HTTP: scopes, names of hosts, origins, sessions of browsers, and rates."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from mcp_endpoints import bearer
from mcp_endpoints import served as mcp_served
from memoriter.access import AccessMiddleware, Authenticator, BrowserSessions, CallerLimits, Origins
from memoriter.discovery import Limits, LiveTokens, TokenFile
from memoriter.errors import ConfigError, UsageError
from memoriter.web import all_operations
from memory_env import MemoryEnv
from web_client import BASE, ApiClient, api_of, token_of_scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from serving import Serving

RANK = {"read": 0, "write": 1, "admin": 2}


@pytest.fixture(scope="module")
def tokens(env: MemoryEnv) -> dict[str, str]:
    """A token of each scope, from the store that the program uses."""
    return {scope: TokenFile(env.home).create(f"t-{scope}", scope, now=0.0) for scope in ("read", "write", "admin")}


@pytest.mark.parametrize("scope", ["read", "write", "admin"])
def test_a_token_does_what_its_scope_allows_and_no_more(
    tokens: dict[str, str], scope: str, client: Callable[[str | None], ApiClient]
) -> None:
    caller = client(tokens[scope])
    for operation in all_operations().values():
        ask = caller.get if operation.method == "GET" else caller.post
        response = ask(operation.path)
        if RANK[scope] >= RANK[operation.scope]:
            assert (operation.name, response.status_code) in itertools.product([operation.name], [200, 400, 409])
        else:
            body = response.json()
            assert (operation.name, response.status_code, body["code"]) == (operation.name, 403, "scope")
            assert body["needed"] == operation.scope
    forced = caller.post("/index", force=True)
    assert forced.status_code == (200 if scope == "admin" else 403)
    hook = caller.http.post("/hook/stop", json={})
    assert hook.status_code == (400 if scope == "admin" else 403)
    link = caller.http.post("/command/link", json={})
    assert ("code=" in link.text) is (scope == "admin")


def test_every_operation_is_refused_without_a_token(client: Callable[[str | None], ApiClient]) -> None:
    for token in (None, "wrong-wrong-wrong-wrong", "mem_" + "A" * 43):
        caller = client(token)
        paths = [f"{BASE}{each.path}" for each in all_operations().values()]
        for path, method in itertools.product([*paths, f"{BASE}/events", f"{BASE}/openapi.json", "/"], ["GET", "POST"]):
            response = caller.http.request(method, path)
            assert (path, response.status_code) == (path, 401)
            assert response.json()["code"] == "token"


def test_what_a_client_writes_is_marked_with_its_name(
    env: MemoryEnv, tokens: dict[str, str], client: Callable[[str | None], ApiClient]
) -> None:
    written = client(tokens["write"]).post("/append", text="The printer is on VLAN 10.").json()
    assert "<!-- from: t-write via HTTP" in (env.notes / written["path"]).read_text(encoding="utf-8")


def test_a_revoked_token_is_refused_at_once(env: MemoryEnv, client: Callable[[str | None], ApiClient]) -> None:
    file = TokenFile(env.home)
    caller = client(file.create("short-lived", "read", now=0.0))
    assert caller.get("/files").status_code == 200
    file.revoke("short-lived")
    assert caller.get("/files").status_code == 401


def test_a_token_is_refused_from_the_end_of_its_last_day_and_its_use_is_known(tmp_path: Path) -> None:
    now = [1_000.0]
    file = TokenFile(tmp_path)
    token = file.create("one", "read", now=0.0, expires=2_000.0)
    other = file.create("two", "read", now=0.0)
    live = LiveTokens(tmp_path, lambda: now[0])
    assert file.last_uses() == {}
    for at, uses in ((1_000.0, 1_000.0), (1_059.0, 1_000.0), (1_999.0, 1_999.0)):
        now[0] = at
        found = live.find(token)
        assert found is not None
        assert file.last_uses() == {found.digest: uses}
    now[0] = 2_000.0
    assert live.find(token) is None
    assert live.find(other) is not None
    assert sorted(file.last_uses().values()) == [1_999.0, 2_000.0]
    file.path.with_name("token-uses.json").write_text("[", encoding="utf-8")
    now[0] = 3_000.0
    assert live.find(other) is not None
    assert list(file.last_uses().values()) == [3_000.0]


@pytest.mark.slow
def test_tokens_are_made_listed_and_revoked_by_the_program(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    token = token_of_scope(env, "dashboard", "read", "--principal", "alice")
    assert re.fullmatch(r"mem_[A-Za-z0-9_-]{43}", token)
    (listed,) = env.run("token", "list", "--json").json
    assert {key: listed[key] for key in ("name", "scope", "principal")} == {
        "name": "dashboard",
        "scope": "read",
        "principal": "alice",
    }
    stored = (env.home / "tokens.json").read_text(encoding="utf-8")
    assert token not in stored
    assert token not in env.run("token", "list").out
    assert (env.home / "tokens.json").stat().st_mode & 0o777 == 0o600
    again = env.run("token", "create", "dashboard")
    assert (again.exit_code, "already" in again.err) == (2, True)
    assert env.run("token", "revoke", "dashboard").out == "Revoked: dashboard\n"
    assert env.run("token", "revoke", "dashboard").exit_code == 2
    assert "mem_" not in env.run("token").out


@pytest.mark.parametrize("name", ["", "owner", "Command", "-x", "a b", "x" * 41, "é", "a/b", "a\n"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        TokenFile(tmp_path).create(name, "read", now=0.0)
    assert not (tmp_path / "tokens.json").exists()


def test_a_damaged_file_of_tokens_lets_nobody_in_and_is_not_overwritten(tmp_path: Path) -> None:
    file = TokenFile(tmp_path)
    token = file.create("one", "admin", now=0.0)
    live = LiveTokens(tmp_path, lambda: 0.0)
    assert live.find(token) is not None
    file.path.write_text('[{"name": "one", "scope": "all"}]', encoding="utf-8")
    assert live.find(token) is None
    with pytest.raises(ConfigError):
        file.create("two", "read", now=0.0)
    assert "all" in file.path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_token_of_a_principal_is_accepted_only_where_its_memories_are(tmp_path: Path) -> None:
    from long_term import configure_long_term

    env = MemoryEnv.at(tmp_path)
    configure_long_term(env, principal="alice")
    with api_of(env, "--no-watch") as (server, _), ExitStack() as stack:
        names = {name: token_of_scope(env, name, "write", "--principal", name) for name in ("alice", "bob")}
        alice, bob = (stack.enter_context(ApiClient(server.url, names[name])) for name in ("alice", "bob"))
        stored = alice.post("/ltm/store", text="I prefer tea.").json()
        assert stored["memory"]["origin"] == "token"
        for response in (bob.get("/ltm/list"), bob.get("/files"), bob.http.get("/health")):
            assert (response.status_code, response.json()["code"]) == (403, "principal")


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_mcp_client_that_may_only_read_gets_no_tool_that_writes(
    env: MemoryEnv, tokens: dict[str, str]
) -> None:
    from mcp import Client

    from mcp_endpoints import _transport

    before = {file: file.read_bytes() for file in env.notes.rglob("*.md")}
    with mcp_served(env) as address:
        async with Client(_transport(address, bearer(tokens["read"]))) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == {"memory_search", "memory_get"}
            refused: Any = await client.call_tool("memory_append", {"text": "planted"})
            assert refused.is_error
            found: Any = await client.call_tool("memory_search", {"query": "PostgreSQL"})
            assert not found.is_error
        async with Client(_transport(address, bearer(tokens["write"]))) as client:
            assert "memory_append" in {tool.name for tool in (await client.list_tools()).tools}
    assert {file: file.read_bytes() for file in env.notes.rglob("*.md")} == before


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("path", [f"{BASE}/files", "/health", "/mcp", "/", "/hook/stop", f"{BASE}/nowhere"])
def test_every_route_refuses_other_hosts_and_origins(server: Serving, owner: ApiClient, path: str) -> None:
    for name in (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "",
        "169.254.169.254",
        "a@localhost",
    ):
        response = owner.http.get(path, headers={"Host": name})
        assert (name, response.status_code, response.json()["code"]) == (name, 421, "host")
    for origin in ("https://evil.example", "null", "http://localhost.evil.example", "file://", "http://127.0.0.1@evil"):
        response = owner.http.get(path, headers={"Origin": origin})
        assert (origin, response.status_code, response.json()["code"]) == (origin, 403, "origin")


def test_every_response_has_the_headers_that_confine_a_browser(
    owner: ApiClient, client: Callable[[str | None], ApiClient]
) -> None:
    stranger = client(None)
    for response in (owner.get("/files"), owner.http.get("/health"), owner.get("/nowhere"), stranger.get("/files")):
        headers = response.headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
        assert "access-control-allow-origin" not in headers


def link_of(env: MemoryEnv) -> str:
    outcome = env.run("serve", "--link")
    assert outcome.exit_code == 0, outcome
    return outcome.out.strip()


@pytest.mark.slow
def test_a_link_opens_one_session_whose_requests_only_its_own_pages_can_make(
    env: MemoryEnv, server: Serving, client: Callable[[str | None], ApiClient]
) -> None:
    browser = client(None)
    other = client(None)
    link = link_of(env)
    assert other.http.get(link, headers={"Sec-Purpose": "prefetch"}).status_code == 403
    opened = browser.http.get(link)
    cookie = opened.headers["set-cookie"]
    assert (opened.status_code, '<meta http-equiv="refresh" content="0; url=/">' in opened.text) == (200, True)
    assert opened.headers["content-security-policy"].startswith("default-src 'none'")
    assert ("HttpOnly" in cookie, "SameSite=strict" in cookie, "Path=/" in cookie) == (True, True, True)
    page = browser.http.get("/", follow_redirects=True)
    assert (page.status_code, "<title>Search · memoriter</title>" in page.text) == (200, True)
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert browser.http.get(link).status_code == 200  # the same browser, again
    assert other.http.get(link).status_code == 401
    assert browser.get("/files").status_code == 200
    body = {"text": "From the page."}
    origin = {"Origin": server.url}
    right = {**origin, "Memoriter-Request": "1"}
    port = server.url.rpartition(":")[2]
    for headers in (
        {},
        origin,
        {"Memoriter-Request": "1"},
        {**right, "Origin": "http://127.0.0.1:1"},
        {**right, "Origin": f"https://localhost:{port}"},
        {**right, "Sec-Fetch-Site": "same-site"},
        {**right, "Sec-Fetch-Site": "cross-site"},
    ):
        refused = browser.http.post(f"{BASE}/append", json=body, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "origin")
    assert browser.http.get(f"{BASE}/files", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    assert browser.http.post(f"{BASE}/append", json=body, headers=right).status_code == 200
    assert browser.http.get(f"{BASE}/files", headers={"Authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.slow
def test_the_server_prints_a_link_and_logs_no_secret(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": "# Door\n\n- The door code is Brumsel.\n"})
    env.configure(provider="none")
    with api_of(env, "--no-watch", "-vv") as (server, owner):
        code = link_of(env).rpartition("=")[2]
        with ApiClient(server.url, None) as browser:
            browser.http.get(f"/open?code={code}")
        owner.post("/search", query="Brumsel door")
        owner.get("/get", path="MEMORY.md")
        owner.post("/append", text="Another Brumsel entry.")
        owner.post("/replace", path="MEMORY.md", text="Brumsel again.", expected="0" * 64)
        token = server.token
        server.process.terminate()
        _, err = server.process.communicate(timeout=150)
    assert "POST /api/v1/search: status 200" in err
    for secret in (code, token, "Brumsel"):
        assert secret not in err


def test_a_link_and_a_session_end_by_themselves() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0], 8377)
    late, code = (sessions.new_link().rpartition("=")[2] for _ in range(2))
    cookie = sessions.open(code)
    assert cookie is not None
    assert sessions.open(code) is None
    now[0] = 600.0
    assert sessions.open(late) is None
    assert sessions.token_of(cookie) == ""
    now[0] += 12 * 3_600
    assert sessions.token_of(cookie) is None
    codes = [sessions.new_link().rpartition("=")[2] for _ in range(9)]
    assert [sessions.open(each) is not None for each in codes] == [False, *[True] * 8]


@given(host=st.text(st.characters(codec="latin-1"), max_size=30) | st.sampled_from(["127.0.0.1:x", "[::1]:8377"]))
def test_only_names_of_this_machine_are_known(host: str) -> None:
    scope = {"type": "http", "headers": [(b"host", host.encode("latin-1"))]}
    known = re.fullmatch(r"(127\.0\.0\.1|localhost|\[::1\])(:\d*)?", host.lower()) is not None
    assert (Origins().host_fault(scope) == "") is known


@given(cookie=st.text(st.characters(codec="latin-1"), max_size=80))
def test_no_cookie_but_that_of_a_session_lets_anybody_in(cookie: str) -> None:
    sessions = BrowserSessions(lambda: 0.0, 8377)
    value = sessions.open(sessions.new_link().rpartition("=")[2])
    rules = Authenticator(lambda: "a-token-of-the-tests", sessions=sessions)

    def caller(text: str, client: str = "127.0.0.1", host: bytes = b"127.0.0.1:8377") -> object:
        headers = [(b"host", host), (b"cookie", text.encode("latin-1"))]
        return rules.identify({"type": "http", "client": (client, 1), "headers": headers})

    right = f"memoriter-8377={value}"
    assert caller(cookie) is None
    assert caller(right) is not None
    assert caller(right, client="10.0.0.7") is None
    assert caller(right, host=b"memory.example") is None
    assert caller(f"{right}; {right}") is None


@given(steps=st.lists(st.floats(0, 10), max_size=60))
def test_nobody_sends_more_than_the_rate_and_one_caller_never_slows_another(steps: list[float]) -> None:
    now = 0.0
    passed = 0
    limits = CallerLimits(lambda: now)
    each = Limits(per_second=0.5, at_once=None)
    for step in steps:
        now += step
        passed += limits.begin("one", each) is None
        assert limits.begin(f"another at {now} {passed}", each) is None
    assert passed <= each.burst + 0.5 * now + 1


def test_a_caller_that_asks_too_often_is_told_to_wait() -> None:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await Response("done")(scope, receive, send)

    rules = Authenticator(lambda: "a-token-of-the-tests")
    limits = CallerLimits(lambda: 0.0, owner=Limits(per_second=0.2))
    app = AccessMiddleware(inner, rules, Origins(), limits=limits)
    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer a-token-of-the-tests")]
    request = {"type": "http", "method": "GET", "path": "/mcp", "query_string": b"", "headers": headers}
    answers: list[dict[str, Any]] = []

    async def ask() -> None:
        async def send(message: Any) -> None:
            answers.append(message)

        for _ in range(3):
            await app({**request}, None, send)  # type: ignore[arg-type]

    anyio.run(ask)
    starts = [each for each in answers if each["type"] == "http.response.start"]
    assert [each["status"] for each in starts] == [200, 200, 429]
    assert (b"retry-after", b"5") in starts[-1]["headers"]


def test_the_document_names_the_scope_of_each_operation(owner: ApiClient) -> None:
    document = json.loads(owner.get("/openapi.json").text)
    for each in all_operations().values():
        assert document["paths"][each.path][each.method.lower()]["x-scope"] == each.scope
