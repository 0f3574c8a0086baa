"""What one caller can take from others: no streams, sessions or threads, however much it asks for at once."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import pytest

from mcp_endpoints import LIMIT
from memoriter.access import Caller, Shares
from memoriter.discovery import Limits, TokenFile
from memoriter.mcp_server._sessions import MOST_SESSIONS
from memoriter.mcp_server._shared import MOST_OF_EACH, MOST_OF_OTHERS, SharedMemory
from memoriter.web._app import STREAMS_OF_EACH
from web_client import BASE, ApiClient, api_of
from web_stream import connected

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from memory_env import MemoryEnv
    from serving import Serving

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
KINDS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
OWNER = Caller("owner", "admin")


@pytest.fixture(scope="module")
def tokens(env: MemoryEnv) -> dict[str, str]:
    return {name: TokenFile(env.home).create(name, "read", now=0.0) for name in ("greedy", "other")} | {
        "writer": TokenFile(env.home).create("writer", "write", now=0.0)
    }


@pytest.fixture
def greedy(tokens: dict[str, str], client: Callable[[str | None], ApiClient]) -> ApiClient:
    return client(tokens["greedy"])


@pytest.fixture
def others(tokens: dict[str, str], owner: ApiClient, client: Callable[[str | None], ApiClient]) -> list[ApiClient]:
    return [owner, client(tokens["writer"]), client(tokens["other"])]


def open_session(client: ApiClient) -> str:
    response = client.http.post("/mcp", json=HELLO, headers=KINDS)
    assert response.status_code == 200, response.text
    return response.headers["mcp-session-id"]


def use_session(client: ApiClient, session: str, method: str = "POST") -> httpx2.Response:
    """A ping within a session, or the request that ends it."""
    body = {"jsonrpc": "2.0", "id": 2, "method": "ping"} if method == "POST" else None
    return client.http.request(method, "/mcp", json=body, headers=KINDS | {"mcp-session-id": session})


def sent(server: Serving, token: str, head: str, body: bytes) -> socket.socket:
    """A connection with a request that has only begun."""
    place = urlsplit(server.url)
    connection = socket.create_connection((place.hostname or "", place.port or 0), timeout=LIMIT)
    connection.sendall(f"{head}\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode() + body)
    return connection


# streams of events


def test_a_caller_with_its_share_of_streams_is_told_which_limit_and_the_others_follow_the_events(
    greedy: ApiClient, others: list[ApiClient]
) -> None:
    with ExitStack() as stack:
        for _ in range(STREAMS_OF_EACH):
            stack.enter_context(connected(greedy))
        for _ in range(3 * STREAMS_OF_EACH):
            refused = greedy.get("/events")
            assert (refused.status_code, refused.json()["code"], refused.json()["limit"]) == (429, "rate", "streams")
            assert int(refused.headers["retry-after"]) > 0
        for client in others:
            stack.enter_context(connected(client))


def test_streams_that_end_make_room_however_often_their_client_connects_again(
    owner: ApiClient, greedy: ApiClient
) -> None:
    with connected(owner) as stream:
        for number in range(60):
            with suppress(AssertionError), connected(greedy, f"00000000-{number}"):
                pass  # the server may not have noticed yet that the last ones have ended
        owner.post("/index", force=True)
        while stream.event()[0] != "indexed":
            pass
    with ExitStack() as stack:
        while greedy.get("/health").status_code == 200:
            pass
        for _ in range(STREAMS_OF_EACH):
            stack.enter_context(connected(greedy))


# sessions of MCP


def test_sessions_of_a_caller_end_none_of_another(greedy: ApiClient, others: list[ApiClient]) -> None:
    used = [open_session(client) for client in others]
    for _ in range(MOST_SESSIONS + 10):
        open_session(greedy)
    for client, session in zip(others, used, strict=True):
        assert use_session(client, session).status_code == 200
        open_session(client)
    newest = open_session(greedy)
    assert use_session(greedy, newest).status_code == 200


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_nobody_can_use_or_end_the_session_of_another_caller(
    greedy: ApiClient, others: list[ApiClient], method: str
) -> None:
    for client in others:
        session = open_session(client)
        foreign = use_session(greedy, session, method)
        unknown = use_session(greedy, "0" * 32, method)
        assert (foreign.status_code, foreign.text) == (unknown.status_code, unknown.text)
        assert foreign.status_code == 404
        assert use_session(client, session).status_code == 200


def test_a_new_token_with_the_name_of_a_revoked_one_has_not_its_sessions(
    env: MemoryEnv, client: Callable[[str | None], ApiClient]
) -> None:
    file = TokenFile(env.home)
    session = open_session(client(file.create("anna", "read", now=0.0)))
    file.revoke("anna")
    assert use_session(client(file.create("anna", "read", now=0.0)), session).status_code == 404


@pytest.mark.slow
def test_handshakes_that_never_end_keep_nobody_from_a_session(
    server: Serving, tokens: dict[str, str], others: list[ApiClient]
) -> None:
    head = "\r\n".join(["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in KINDS.items())])
    with ExitStack() as stack:
        for _ in range(100):
            half = sent(server, tokens["greedy"], f"{head}\r\nContent-Length: 900", json.dumps(HELLO).encode())
            stack.enter_context(half)
        for client in others:
            assert use_session(client, open_session(client)).status_code == 200


# threads


def reader(name: str) -> Caller:
    return Caller(name, "read", limits=Limits(), digest=name)


class Held:
    """Requests whose work goes on when it may."""

    def __init__(self, env: MemoryEnv) -> None:
        self.shared = SharedMemory(env.open())
        self.may_go_on = threading.Event()
        self.running = 0

    def wait(self, _: object) -> None:
        self.running += 1
        self.may_go_on.wait(LIMIT)

    def ask(self, caller: Caller) -> asyncio.Task[None]:
        return asyncio.create_task(self.shared.run_for_api(self.wait, caller=caller))

    async def is_answered(self, caller: Caller) -> bool:
        with anyio.move_on_after(LIMIT):
            return await self.shared.run_for_api(lambda _: True, caller=caller)
        return False

    async def end(self) -> None:
        self.may_go_on.set()
        await anyio.to_thread.run_sync(self.shared.close)


async def until_running(held: Held, number: int) -> None:
    """Wait until so many requests run, and a little longer for those that must not."""
    for _ in range(int(LIMIT * 100)):
        if held.running >= number:
            break
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)


def test_one_caller_has_a_few_threads_and_the_others_wait_for_none_of_its_requests(env: MemoryEnv) -> None:
    async def run() -> None:
        held = Held(env)
        asked = [held.ask(reader("greedy")) for _ in range(64)]
        await until_running(held, MOST_OF_EACH)
        assert held.running == MOST_OF_EACH
        assert await held.is_answered(OWNER)
        assert await held.is_answered(reader("other"))
        held.may_go_on.set()
        await asyncio.gather(*asked)
        assert held.running == 64
        await held.end()

    anyio.run(run)


def test_all_other_callers_together_leave_the_threads_of_the_owner_free(env: MemoryEnv) -> None:
    async def run() -> None:
        held = Held(env)
        asked = [held.ask(reader(f"greedy-{number % 16}")) for number in range(64)]
        await until_running(held, MOST_OF_OTHERS)
        assert held.running == MOST_OF_OTHERS
        assert await held.is_answered(OWNER)
        held.may_go_on.set()
        await asyncio.gather(*asked)
        await held.end()

    anyio.run(run)


def test_a_caller_that_cancels_its_requests_gets_no_more_threads(env: MemoryEnv) -> None:
    async def run() -> None:
        held = Held(env)
        for _ in range(5):
            asked = [held.ask(reader("greedy")) for _ in range(8)]
            await until_running(held, MOST_OF_EACH)
            for each in asked:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        assert held.running == MOST_OF_EACH
        assert await held.is_answered(OWNER)
        held.may_go_on.set()
        assert await held.is_answered(reader("greedy"))
        await held.end()

    anyio.run(run)


def test_a_place_is_free_again_after_a_wait_that_was_cancelled() -> None:
    async def run() -> None:
        shares = Shares(owner=1, each=2, others=2)
        first = shares.acquire(reader("a"))
        second = shares.acquire(reader("a"))
        assert first
        assert second
        with anyio.move_on_after(0.01):
            await shares.wait(reader("b"))
        assert shares.acquire(reader("b")) is None
        assert shares.acquire(OWNER)
        assert shares.acquire(OWNER) is None
        first.release()
        first.release()
        assert shares.acquire(reader("b"))
        assert shares.acquire(reader("b")) is None

    anyio.run(run)


HEAVY: dict[str, Callable[[ApiClient], httpx2.Response]] = {
    "search": lambda client: client.post("/search", query="the train to the river"),
    "deep status": lambda client: client.get("/status", deep="true"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEAVY)
def test_the_owner_is_answered_before_the_many_requests_of_a_caller_are(
    owner: ApiClient, greedy: ApiClient, kind: str
) -> None:
    number = 64
    owner.post("/search", query="the ledger")  # opens the index

    def answered() -> tuple[int, int]:
        """How many were answered before the owner asked, and how many while the owner waited."""
        with ThreadPoolExecutor(number) as pool:
            asked = [pool.submit(HEAVY[kind], greedy) for _ in range(number)]
            wait(asked, LIMIT, FIRST_COMPLETED)
            before = sum(each.done() for each in asked)
            assert owner.post("/search", query="the ledger").status_code == 200
            after = sum(each.done() for each in asked)
            assert {each.result().status_code for each in asked} <= {200, 429}
        return before, after - before

    # A busy machine may send the owner's request late, but not each time.
    assert any(max(answered()) < number // 2 for _ in range(5))


@pytest.mark.slow
def test_slow_uploads_of_a_caller_delay_nobody(
    server: Serving, tokens: dict[str, str], others: list[ApiClient]
) -> None:
    head = f"POST {BASE}/search HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 4000000"
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(sent(server, tokens["greedy"], head, b'{"query": "'))
        for client in others:
            assert client.post("/search", query="the ledger").status_code == 200


@pytest.mark.slow
def test_a_client_that_leaves_in_the_middle_of_its_request_is_no_failure(env: MemoryEnv) -> None:
    with api_of(env, "--no-watch") as (server, owner):
        for path in (f"{BASE}/search", "/mcp", "/hook/stop", "/command/search", "/notes/edit"):
            for kind in ("application/json", "application/x-www-form-urlencoded"):
                head = f"POST {path} HTTP/1.1\r\nAccept: {KINDS['Accept']}\r\nContent-Type: {kind}"
                sent(server, server.token, f"{head}\r\nContent-Length: 4000", b"{").close()
        assert owner.get("/files").status_code == 200
        server.process.terminate()
        assert server.process.communicate(timeout=LIMIT)[1] == ""


def test_the_answer_of_a_large_request_is_read_and_made_outside_of_the_event_loop(
    env: MemoryEnv,
) -> None:
    from memoriter.web import Events, OperationRunner, all_operations
    from memoriter.web._requests import FilesRequest

    threads: list[int] = []

    def noted(value: Any) -> Any:
        threads.append(threading.get_ident())
        return value

    async def run() -> None:
        shared = SharedMemory(env.open())
        runner = OperationRunner(shared.run_for_api, Events())
        (files,) = (each for each in all_operations().values() if each.name == "files")
        await runner.run(files, OWNER, lambda: noted(FilesRequest()), noted)
        assert len(threads) == 2
        assert threading.get_ident() not in threads
        await anyio.to_thread.run_sync(shared.close)

    anyio.run(run)
