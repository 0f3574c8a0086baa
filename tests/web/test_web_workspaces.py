"""One server of several workspaces: everybody reaches those that their token names, and nothing of the others."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.discovery import TokenFile
from memory_env import MemoryEnv
from serving import hook, serving
from web_client import ApiClient, token_of_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serving import Serving

pytestmark = pytest.mark.slow
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
WORDS = {"anna": "aubergine", "ben": "boomerang", "shared": "sailboat"}


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("workspaces"), {})
    env.configure(provider="none")
    for name, word in WORDS.items():
        folder = env.notes / name
        folder.mkdir()
        (folder / "MEMORY.md").write_text(f"# {name}\n\n- The word is {word}.\n", encoding="utf-8")
    return env


def of(env: MemoryEnv, name: str) -> str:
    return str(env.notes / name)


@pytest.fixture(scope="module")
def server(env: MemoryEnv) -> Iterator[Serving]:
    words = ("-w", of(env, "anna"), "--also", of(env, "ben"), "--also", of(env, "shared"), "--no-watch")
    with serving(env, *words) as server:
        yield server


@pytest.fixture(scope="module")
def tokens(env: MemoryEnv) -> dict[str, str]:
    return {
        "anna": token_of_scope(env, "anna", "write", "-w", of(env, "anna"), "--also", of(env, "shared")),
        "ben": token_of_scope(env, "ben", "write", "-w", of(env, "ben"), "--also", of(env, "shared")),
        "admin": TokenFile(env.home).create("admin", "admin", now=0.0),
    }


def found(client: ApiClient, path: str = "/api/v1") -> set[str]:
    """The words that a client finds: those of the workspace that answers."""
    answer = client.http.post(f"{path}/search", json={"query": "The word is"})
    assert answer.status_code == 200, answer.text
    return {word for word in WORDS.values() if word in answer.text}


def test_a_token_reaches_the_workspaces_that_it_names_by_their_addresses(
    server: Serving, tokens: dict[str, str]
) -> None:
    with ApiClient(server.url, tokens["ben"]) as ben:
        assert found(ben) == {"boomerang"}  # the first of its own
        assert found(ben, "/w/ben/api/v1") == {"boomerang"}
        assert found(ben, "/w/shared/api/v1") == {"sailboat"}
        refused = ben.http.post("/w/anna/api/v1/search", json={"query": "aubergine"})
        unknown = ben.http.post("/w/nobody/api/v1/search", json={"query": "aubergine"})
        assert (refused.status_code, refused.text) == (404, unknown.text)  # nor whether there is one
        ben.http.post("/w/shared/api/v1/append", json={"text": "Ben was here."})
    with ApiClient(server.url, tokens["anna"]) as anna:
        assert found(anna) == {"aubergine"}
        assert "Ben was here." in anna.http.post("/w/shared/api/v1/search", json={"query": "Ben was here"}).text


def test_the_owner_reaches_all_and_a_token_without_a_workspace_only_the_first(
    server: Serving, tokens: dict[str, str]
) -> None:
    with ApiClient(server.url, server.token) as owner, ApiClient(server.url, tokens["admin"]) as admin:
        for name, word in WORDS.items():
            assert found(owner, f"/w/{name}/api/v1") == {word}
        assert found(owner) == found(admin) == {"aubergine"}
        for name in ("ben", "shared"):
            assert admin.http.get(f"/w/{name}/api/v1/status").status_code == 404
    with ApiClient(server.url, None) as nobody:
        assert nobody.http.get("/w/anna/api/v1/status").status_code == 404
        assert nobody.http.get("/api/v1/status").status_code == 401


def test_sessions_of_two_persons_never_see_each_others_notes(server: Serving, tokens: dict[str, str]) -> None:
    origin = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    for name, hidden in (("anna", "ben"), ("ben", "anna")):
        with ApiClient(server.url, None) as browser:
            browser.http.post("/sign-in", data={"token": tokens[name]}, headers=origin)
            page = browser.http.get("/notes", params={"path": "MEMORY.md"})
            assert WORDS[name] in page.text
            assert f'href="/w/{name}/"' in page.text
            assert 'href="/w/shared/"' in page.text
            assert f"/w/{hidden}/" not in page.text
            browser.http.get("/w/shared/")
            assert WORDS["shared"] in browser.http.get("/notes", params={"path": "MEMORY.md"}).text
            assert browser.http.get(f"/w/{hidden}/").status_code == 404
            # A cookie chooses, and gives no right.
            port = server.url.rpartition(":")[2]
            browser.http.cookies.set(f"memoriter-{port}-workspace", hidden)
            texts = [browser.http.get(path).text for path in ("/search?q=word", "/notes?path=MEMORY.md", "/days")]
            assert not [text for text in texts if WORDS[hidden] in text]


def test_mcp_answers_for_the_workspace_of_the_address_or_of_the_token(server: Serving, tokens: dict[str, str]) -> None:
    with ApiClient(server.url, tokens["ben"]) as ben:
        assert "boomerang" in searched(ben, "/mcp")
        assert "sailboat" in searched(ben, "/w/shared/mcp")
        assert ben.http.post("/w/anna/mcp", json={}).status_code == 404


def test_a_program_that_a_person_allows_gets_the_workspaces_of_that_person(
    env: MemoryEnv, server: Serving, tokens: dict[str, str]
) -> None:
    origin = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    back = "https://chat.example/back"
    verifier = "v" * 64
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    with ApiClient(server.url, None) as browser, ApiClient(server.url, None) as chat:
        registered = chat.http.post("/register", json={"client_name": "Chat", "redirect_uris": [back]}).json()
        named = {"client_id": registered["client_id"], "redirect_uri": back}
        wanted = {"response_type": "code", "code_challenge": challenge, "code_challenge_method": "S256"}
        browser.http.post("/sign-in", data={"token": tokens["ben"]}, headers=origin)
        asked = browser.http.get("/authorize", params={**named, **wanted}).headers["location"]
        request = asked.rpartition("=")[2]
        assert "May this program use your notes?" in browser.http.get(asked).text
        done = browser.http.post("/consent", data={"request": request, "allow": "read"}, headers=origin).text
        code = done.partition("code=")[2].partition("&")[0].partition('"')[0]
        kept = {key: registered[key] for key in ("client_id", "client_secret") if registered.get(key)}
        grant = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "redirect_uri": back}
        given = chat.http.post("/token", data={**grant, **kept}).json()
    with ApiClient(server.url, given["access_token"]) as program:
        assert found(program) == {"boomerang"}
        assert found(program, "/w/shared/api/v1") == {"sailboat"}
        assert program.http.get("/w/anna/api/v1/status").status_code == 404


def test_measurements_count_the_searches_of_all_workspaces(server: Serving) -> None:
    with ApiClient(server.url, server.token) as owner:

        def count() -> float:
            lines = owner.http.get("/metrics").text.splitlines()
            return sum(float(line.split()[-1]) for line in lines if line.startswith("memoriter_searches_total"))

        before = count()
        found(owner, "/w/ben/api/v1")
        assert count() == before + 1


def test_hooks_of_the_first_workspace_use_the_server_and_others_do_their_work_themselves(
    env: MemoryEnv, server: Serving
) -> None:
    assert server.announcement["workspace"] == of(env, "anna")
    for name in ("anna", "ben"):
        env.trust(env.notes / name)
        said = hook(env, "user-prompt", "-w", of(env, name), prompt=f"what is the word {WORDS[name]}?")
        assert WORDS[name] in said.out, said


def test_a_workspace_that_is_named_twice_is_refused(env: MemoryEnv) -> None:
    done = env.run("serve", "-w", of(env, "anna"), "--also", of(env, "anna"), "--port", "0")
    assert done.exit_code == 2
    assert "A workspace is named twice." in done.err


def searched(client: ApiClient, path: str) -> str:
    """What a tool finds that a new MCP client calls."""
    headers = {"Accept": "application/json, text/event-stream"}

    def ask(number: int | None, method: str, session: dict[str, str], **params: Any) -> Any:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        message |= {} if number is None else {"id": number}
        return client.http.post(path, json=message, headers=headers | session)

    opened = ask(1, "initialize", {}, **HELLO)
    session = {"mcp-session-id": opened.headers["mcp-session-id"]}
    ask(None, "notifications/initialized", session)
    return ask(2, "tools/call", session, name="memory_search", arguments={"query": "The word is"}).text
