"""No client takes the server from the others: with sessions, half-sent requests or connections."""

from __future__ import annotations

import http.client
import json
import socket
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_endpoints import LIMIT, authorised, bearer
from memoriter.access import Caller
from memoriter.access._callers import CALLER
from memoriter.discovery import Limits
from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits
from memory_env import QUESTION
from serving import Serving, serving

if TYPE_CHECKING:
    from memory_env import MemoryEnv

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
KINDS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HALVES = (
    b"",
    b"P",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
    b"POST /hook/stop HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
)
"""Requests that are never finished."""


@pytest.fixture
def env(env: MemoryEnv) -> MemoryEnv:
    env.configure(provider="none")
    return env


def place_of(url: str) -> tuple[str, int]:
    place = urlsplit(url)
    return place.hostname or "", place.port or 0


def begin(connection: http.client.HTTPConnection, server: Serving) -> tuple[int, str | None]:
    """The status and the session of a handshake."""
    connection.request("POST", "/mcp", json.dumps(HELLO), KINDS | bearer(server.token))
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("mcp-session-id")


def sessions(server: Serving) -> int:
    """How many are open, as the server says."""
    with closing(http.client.HTTPConnection(*place_of(server.url), timeout=LIMIT)) as connection:
        connection.request("GET", "/health", headers=bearer(server.token))
        return json.loads(connection.getresponse().read())["sessions"]


async def answers(env: MemoryEnv, server: Serving) -> None:
    """A new client gets in, and its questions are answered."""
    async with authorised(f"{server.url}/mcp", env) as client:
        found: Any = (await client.call_tool("memory_search", {"query": QUESTION})).structured_content
        assert found["results"][0]["citation"].startswith("MEMORY.md#")


@pytest.mark.slow
@pytest.mark.anyio
async def test_many_sessions_make_room_for_new_ones_and_the_one_in_use_stays(env: MemoryEnv) -> None:
    before = "import memoriter.mcp_server._sessions as s\ns.SessionLimits.__init__.__kwdefaults__['most'] = 12"
    with serving(env, "--no-watch", before=before) as server:
        async with authorised(f"{server.url}/mcp", env, mode="legacy") as used:
            await used.list_tools()
            with closing(http.client.HTTPConnection(*place_of(server.url), timeout=LIMIT)) as connection:
                for _ in range(40):
                    status, name = begin(connection, server)
                    assert (status, bool(name)) == (200, True)
            assert sessions(server) <= 12
            note: Any = (await used.call_tool("memory_get", {"path": "MEMORY.md"})).structured_content
            assert "PostgreSQL" in note["text"]
        await answers(env, server)


@pytest.mark.slow
@pytest.mark.anyio
async def test_half_sent_requests_are_closed_and_others_answered_meanwhile(env: MemoryEnv) -> None:
    before = "import memoriter.mcp_server._http as http\nhttp.REQUEST_SECONDS = 1.0"
    with serving(env, "--no-watch", before=before) as server:
        halves = [socket.create_connection(place_of(server.url), timeout=LIMIT) for _ in range(60)]
        shown = f"Host: 127.0.0.1\r\nAuthorization: Bearer {server.token}".encode()
        for number, half in enumerate(halves):  # of those who know the token, and of others
            text = HALVES[number % len(HALVES)]
            half.sendall(text.replace(b"Host: 127.0.0.1", shown) if number % 2 else text)
        await answers(env, server)
        for half in halves:
            with half:
                while half.recv(4096):  # until the server closes it; a time limit fails the test
                    pass


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_request_that_comes_a_byte_at_a_time_is_closed_as_well(env: MemoryEnv) -> None:
    before = "import memoriter.mcp_server._http as http\nhttp.REQUEST_SECONDS = 1.0"
    with serving(env, "--no-watch", before=before) as server:
        with socket.create_connection(place_of(server.url), timeout=0.05) as half:
            closed = False
            for _ in range(1_000):
                try:
                    half.sendall(b"x")
                    closed = not half.recv(4096) or closed
                except TimeoutError:
                    continue
                except OSError:
                    closed = True
                if closed:
                    break
            assert closed
        await answers(env, server)


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_export_for_the_page_import_may_arrive_slowly_as_long_as_it_arrives(env: MemoryEnv) -> None:
    before = "import memoriter.mcp_server._http as http\nhttp.REQUEST_SECONDS = 2.0\nhttp.LEAST_UPLOADED = 1"
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n# Slow\n\nA tea.\n\r\n--x--\r\n'
    head = "POST /import/preview HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n"
    with serving(env, "--no-watch", before=before) as server:
        sent = head.format(server.token, len(form)) + "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        slow, stuck = (socket.create_connection(place_of(server.url), timeout=LIMIT) for _ in range(2))
        with slow, stuck:
            slow.sendall(sent.encode())
            stuck.sendall(sent.encode() + form[:50])
            for place in range(0, len(form), 4):
                slow.sendall(form[place : place + 4])
                await anyio.sleep(0.25)
            assert slow.recv(4096).startswith(b"HTTP/1.1 200 ")
            while stuck.recv(4096):  # until the server closes it; a time limit fails the test
                pass


@pytest.mark.slow
@pytest.mark.anyio
async def test_too_many_connections_close_the_oldest_half_sent_one(env: MemoryEnv) -> None:
    before = "import memoriter.mcp_server._http as http\nhttp.MOST_CONNECTIONS = 20"
    with serving(env, "--no-watch", before=before) as server:
        halves = [socket.create_connection(place_of(server.url), timeout=LIMIT) for _ in range(30)]
        for half in halves:
            half.sendall(HALVES[1])
        await answers(env, server)
        closed = 0
        for half in halves:
            with half:
                half.settimeout(0.01)
                try:
                    closed += not half.recv(1)
                except TimeoutError:
                    continue
                except OSError:
                    closed += 1
        assert closed >= 20


# the rule by itself


class Clients:
    """Sessions behind the limits, in which nothing but opening and ending happens."""

    def __init__(self, most: int) -> None:
        self.open: set[str] = set()
        self.begun = 0
        self.now = 0.0
        self.limits = SessionLimits(self.app, "/mcp", most=most, clock=lambda: self.now)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        del receive
        headers = dict(scope["headers"])
        name = headers.get(b"mcp-session-id", b"").decode()
        status = 200
        if not name:
            self.begun += 1
            name = f"s{self.begun}"
            self.open.add(name)
        elif scope["method"] == "DELETE":
            self.open.discard(name)
        elif name not in self.open:
            status = 404
        await send({"type": "http.response.start", "status": status, "headers": [(b"mcp-session-id", name.encode())]})
        await send({"type": "http.response.body", "body": b""})

    async def request(self, caller: str, session: str = "", method: str = "POST") -> int:
        self.now += 1.0
        headers = [(b"mcp-session-id", session.encode())] if session else []
        scope = {"type": "http", "path": "/mcp", "method": method, "headers": headers, CALLER: CALLERS[caller]}
        statuses: list[int] = []

        async def send(message: Any) -> None:
            await anyio.lowlevel.checkpoint()
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await self.limits(scope, send, send)
        return statuses[0]


CALLERS = {name: Caller(name, "read", limits=Limits()) for name in "ab"} | {"owner": Caller("owner", "admin")}
ACTS = st.lists(
    st.tuples(st.sampled_from(sorted(CALLERS)), st.sampled_from(["begin", "use", "end"]), st.integers(0, 40))
)


@pytest.mark.slow
@given(ACTS, st.integers(2, 9))
def test_sessions_are_never_more_than_the_limit_the_newest_is_open_and_each_is_its_callers(
    acts: list[tuple[str, str, int]], most: int
) -> None:
    async def run() -> None:
        clients = Clients(most)
        of_caller: dict[str, str] = {}
        for caller, act, number in acts:
            name = f"s{number}"
            before = Counter(of_caller[each] for each in clients.open)
            if act == "begin":
                assert await clients.request(caller) == 200
                name = f"s{clients.begun}"
                of_caller[name] = caller
                assert name in clients.open
            else:
                own = name in clients.open and of_caller[name] == caller
                assert await clients.request(caller, name, "DELETE" if act == "end" else "POST") == (
                    200 if own else 404
                )
            now = Counter(of_caller[each] for each in clients.open)
            assert clients.limits.open == now.total()
            assert now["owner"] <= most
            assert now.total() - now["owner"] <= most
            for each in set(CALLERS) - {caller}:  # only who has the most makes room for another caller
                assert now[each] == before[each] or (each != "owner" and before[each] >= now[caller])

    anyio.run(run)


def test_a_session_that_was_used_outlives_those_that_were_only_begun() -> None:
    async def run() -> None:
        clients = Clients(most=8)
        await clients.request("a")
        for _ in range(3):
            await clients.request("a", "s1")
        for _ in range(20):
            await clients.request("a")
        assert await clients.request("a", "s1") == 200
        clients.now += 2 * IDLE_SECONDS
        await clients.request("a")
        assert clients.limits.open == 1

    anyio.run(run)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.anyio
async def test_ever_more_sessions_take_no_more_memory_than_those_that_may_be_open(env: MemoryEnv) -> None:
    def resident(process: Any) -> int:
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1])

    before = "import memoriter.mcp_server._sessions as s\ns.SessionLimits.__init__.__kwdefaults__['most'] = 64"
    with serving(env, "--no-watch", before=before) as server:
        await answers(env, server)
        figures: list[int] = []
        with closing(http.client.HTTPConnection(*place_of(server.url), timeout=LIMIT)) as connection:
            for number in range(1_000):
                assert begin(connection, server)[0] == 200
                if number in {699, 999}:  # before, the garbage collector lets a process of this size grow by itself
                    figures.append(resident(server.process))
        assert sessions(server) <= 64
        assert figures[1] < 1.05 * figures[0]  # all of them open would be 1.13
        await answers(env, server)
