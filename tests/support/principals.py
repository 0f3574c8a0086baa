"""Principals with one database, each with a canary, and every surface on which one might see what is another's."""

from __future__ import annotations

import itertools
import json
import logging
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from click.testing import CliRunner
from mcp import Client
from starlette.testclient import TestClient

from hook_inputs import hook_input
from long_term import NOTE, configure_long_term
from mcp_endpoints import bearer
from memoriter.access import BrowserSessions
from memoriter.agent import Message
from memoriter.cli import main
from memoriter.cli._logging import JsonLines
from memoriter.errors import MemoriterError
from memoriter.extensions.longterm.api import (
    export_markdown,
    export_rows,
    import_text,
    inbox_of,
    rebuild,
    stats,
    withdraw_approval,
    withheld_memories,
)
from memoriter.mcp_server import serve_app, server_of
from memoriter.pages import server_routes
from memoriter.web import Events
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memoriter import Memory

BOTH = ["memory-core", "memory-lancedb"]
SAYS = "My favourite framework is {}."
WAITS = "I live in {}."
QUESTION = "What is my favourite framework?"
SAID = "By the way, I live in a town by the sea. What is my favourite framework?"
NAMES = ["ann", "bob", "Ann", "o'brien", '" OR 1=1', "'; DROP TABLE memories --", "a%2Fb", "a/b", "김철수", "*", "%"]
"""Configured principals, close to each other or to SQL; further ones are folders of notes."""
TOKEN = "the-token-of-the-owner"
SESSION = "agent:main:direct"
JSON = {"Content-Type": "application/json"}
_NUMBERS = itertools.count()
"""Of the conversations of hooks."""


def env_of(folder: Path, database: Path, principal: str | None, *, notes: Path | None = None) -> MemoryEnv:
    """A home of its own, with notes of its own or shared ones, and the common database."""
    folder.mkdir()
    env = MemoryEnv.at(folder, {})
    env.notes = notes or env.notes
    env.seconds = time.time()  # the program has the real clock, and candidates expire
    config: dict[str, Any] = {"dbPath": str(database), "autoCapture": "inbox"}
    configure_long_term(env, BOTH, **config, **({} if principal is None else {"principal": principal}))
    return env


@dataclass
class Principal:
    """One principal with its canary, a word that only its own memories have."""

    canary: str
    env: MemoryEnv
    memory: Memory
    id: str = ""
    candidate: str = ""
    """The id of what waits in its inbox."""
    open: ExitStack = field(default_factory=ExitStack)
    _http: TestClient | None = None

    def command(self, *words: str, typed: str | None = None) -> str:
        """A command of the program, in this process."""
        environ = {"MEMORITER_HOME": str(self.env.home), "HOME": str(self.env.home), "MEMORITER_BACKGROUND": "off"}
        done = CliRunner().invoke(main, ["-w", str(self.env.notes), *words], input=typed, env=environ)
        assert done.exit_code in {0, 1, 2}, done
        return done.stdout + done.stderr

    def tool(self, name: str, **params: Any) -> str:
        tool = next(tool for tool in self.memory.tools if tool.name == name)
        return json.dumps(tool.run(self.memory, params, session_key=SESSION))

    def turn(self, session: str, text: str) -> str:
        talk = self.memory.session(session, audience="private")
        before = talk.recall(text)
        kept = talk.capture([Message("user", text)])
        return repr((talk.start(), before, kept))

    def mcp(self, *calls: tuple[str, dict[str, Any]]) -> str:
        """Calls of tools by the official client, beside all that the server lists and offers."""

        async def run() -> str:
            async with Client(server_of(self.env.open())) as client:
                shown = [(await client.call_tool(name, arguments)).model_dump_json() for name, arguments in calls]
                listed = (await client.list_resources()).resources
                shown += [each.model_dump_json() for each in (*listed, *(await client.list_prompts()).prompts)]
                shown += [(await client.read_resource(str(each.uri))).model_dump_json() for each in listed]
            return "\n".join(shown)

        return anyio.run(run)

    @property
    def http(self) -> TestClient:
        """A client of `memoriter serve`'s application, with the API, the pages and the hooks; it is started once."""
        if self._http is None:
            events = Events()
            sessions = BrowserSessions(lambda: 0.0, 8377)
            app = serve_app(
                self.env.open(),
                token=lambda: TOKEN,
                tickets=self.env.home / "serve",
                sessions=sessions,
                more=lambda run: server_routes(run, events, sessions),
            )
            client = TestClient(app, "http://127.0.0.1:8377", headers=bearer(TOKEN), client=("127.0.0.1", 50_000))
            self._http = self.open.enter_context(client)
        return self._http

    def get(self, path: str, **parameters: Any) -> str:
        return self._answer("GET", path, params=parameters)

    def post(self, path: str, **body: Any) -> str:
        return self._answer("POST", path, json=body)

    def _answer(self, method: str, path: str, **content: Any) -> str:
        answer = self.http.request(method, path, **content)
        assert answer.status_code in {200, 204, 400, 404}, (path, answer.text)
        return f"{answer.headers}\n{answer.text}"

    def hook(self, event: str, **changes: Any) -> str:
        """A hook of Claude Code in a new conversation, by the program and by a server."""
        sent = [
            hook_input("claude-code", event, cwd=self.env.notes, session_id=str(next(_NUMBERS)), **changes)
            for _ in range(2)
        ]
        answer = self.http.post(f"/hook/{event}?shared=0&attended=1", content=sent[1], headers=JSON)
        assert answer.status_code in {200, 204}, answer.text
        return self.command("hook", event, typed=sent[0]) + f"{answer.headers}\n{answer.text}"


def _library(own: Principal) -> Any:
    return own.memory.long_term


SURFACES: dict[str, Sequence[Callable[[Principal, Principal], object]]] = {
    "library": (
        lambda own, _: _library(own).search(QUESTION, limit=1000, floor=0.0),
        lambda own, _: _library(own).search(QUESTION, limit=1000, floor=0.0, as_of="today"),
        lambda own, _: (_library(own).memories(), _library(own).replaced(), stats(_library(own))),
        lambda own, _: withheld_memories(_library(own)),
        lambda own, _: rebuild(_library(own)),
        lambda own, other: _library(own).named(other.id),
        lambda own, other: _library(own).approve(other.id),
        lambda own, other: withdraw_approval(_library(own), other.id),
        lambda own, other: _library(own).forget_id(other.id),
        lambda own, _: _library(own).forget("My favourite framework"),
        lambda own, other: _library(own).store("I like a new framework.", origin="owner", supersedes=other.id),
        lambda own, _: _library(own).store("My favourite framework is a new one.", origin="agent"),
        lambda own, _: inbox_of(_library(own)).read(),
        lambda own, other: inbox_of(_library(own)).accept([other.candidate], _library(own)),
        lambda own, other: inbox_of(_library(own)).edit(other.candidate, text="I am somebody else."),
        lambda own, other: own.memory.read(str(other.env.notes / NOTE)),
        lambda own, _: (own.memory.search(QUESTION), own.memory.status()),
    ),
    "command": (
        lambda own, _: own.command("ltm", "list", "--json"),
        lambda own, _: own.command("ltm", "search", QUESTION, "--min-score", "0", "-n", "1000"),
        lambda own, _: own.command("ltm", "search", QUESTION, "--as-of", "today", "--json"),
        lambda own, _: own.command("-vv", "ltm", "stats"),
        lambda own, _: own.command("ltm", "inbox"),
        lambda own, _: own.command("ltm", "trust", "review"),
        lambda own, _: own.command("ltm", "rebuild", "--all"),
        lambda own, other: own.command("ltm", "trust", "approve", other.id),
        lambda own, other: own.command("ltm", "trust", "reject", other.id, "--yes"),
        lambda own, other: own.command("ltm", "store", "I like a new framework.", "--supersedes", other.id[:8]),
        lambda own, other: own.command("ltm", "forget", other.id, "--yes"),
        lambda own, _: own.command("ltm", "forget", "My favourite framework", "--yes"),
        lambda own, other: own.command("ltm", "accept", other.candidate[:8]),
        lambda own, other: own.command("ltm", "edit", other.candidate[:8], "I am somebody else."),
        lambda own, other: own.command("ltm", "reject", other.candidate[:8]),
        lambda own, _: own.command("status", "-v"),
        lambda own, _: own.command("doctor", "--json"),
        lambda own, _: own.command("search", QUESTION, "--json"),
        lambda own, other: own.command("get", str(other.env.notes / NOTE)),
    ),
    "tool": (
        lambda own, _: own.tool("memory_recall", query=QUESTION, limit=100),
        lambda own, _: own.tool("memory_recall", query=QUESTION, limit=100, asOf="today"),
        lambda own, other: own.tool("memory_store", text="My favourite framework is new.", supersedes=other.id),
        lambda own, _: own.tool("memory_store", text=SAYS.format(own.canary)),
        lambda own, other: own.tool("memory_forget", memoryId=other.id),
        lambda own, _: own.tool("memory_forget", query="My favourite framework"),
        lambda own, _: own.tool("memory_search", query=QUESTION),
        lambda own, other: own.tool("memory_get", path=NOTE) + own.tool("memory_get", path=str(other.env.notes / NOTE)),
        lambda own, _: own.turn("later", QUESTION) + own.turn("later still", "I always deploy on Fridays."),
    ),
    "mcp": (
        lambda own, other: own.mcp(
            ("memory_recall", {"query": QUESTION, "limit": 100}),
            ("memory_search", {"query": QUESTION}),
            ("memory_get", {"path": str(other.env.notes / NOTE)}),
            ("memory_store", {"text": "My favourite framework is new.", "supersedes": other.id}),
            ("memory_forget", {"memoryId": other.id}),
            ("memory_forget", {"query": "My favourite framework"}),
        ),
    ),
    "http": (
        lambda own, _: own.get("/api/v1/ltm/list"),
        lambda own, _: own.post("/api/v1/ltm/search", query=QUESTION, limit=100, minScore=0),
        lambda own, _: own.get("/api/v1/ltm/stats"),
        lambda own, _: own.get("/api/v1/ltm/withheld"),
        lambda own, _: own.get("/api/v1/ltm/inbox"),
        lambda own, _: own.post("/api/v1/ltm/rebuild"),
        lambda own, other: own.post("/api/v1/ltm/store", text="I like a new framework.", supersedes=other.id),
        lambda own, _: own.post("/api/v1/ltm/store", text=SAYS.format(own.canary)),
        lambda own, other: own.post("/api/v1/ltm/forget", id=other.id),
        lambda own, _: own.post("/api/v1/ltm/forget", query="My favourite framework"),
        lambda own, other: own.post("/api/v1/ltm/approve", id=other.id),
        lambda own, other: own.post("/api/v1/ltm/withdraw", id=other.id),
        lambda own, other: own.post("/api/v1/ltm/accept", ids=[other.candidate]),
        lambda own, other: own.post("/api/v1/ltm/reject", ids=[other.candidate]),
        lambda own, other: own.post("/api/v1/ltm/edit", id=other.candidate, text="I am somebody else."),
        lambda own, other: own.post("/api/v1/ltm/restore", **_candidate(other), memory=other.id),
        lambda own, _: own.post("/api/v1/search", query=QUESTION) + own.get("/api/v1/status"),
        lambda own, _: "".join(own.get(path) for path in ("/memories", "/days", "/search?q=memory", "/notes")),
    ),
    "hook": (
        lambda own, _: own.hook("session-start"),
        lambda own, _: own.hook("user-prompt", prompt=SAID) + own.hook("stop"),
        lambda own, other: own.hook("user-prompt", prompt=f"What does {other.env.notes / NOTE} say?"),
        lambda own, _: own.hook("session-end"),
    ),
    "export": (
        lambda own, _: own.command("ltm", "export"),
        lambda own, _: own.command("ltm", "export", "--format", "markdown"),
        lambda own, _: [*export_rows(_library(own).memories())],
        lambda own, _: export_markdown(_library(own).memories()),
        lambda own, other: import_text(_library(own), _row_that_names(other), own=True),
    ),
}
"""What a principal may try on each surface, knowing the ids of another one. Each returns what it shows."""


def _candidate(other: Principal) -> dict[str, Any]:
    """A candidate that claims to have become a memory of another principal; its words are the caller's."""
    made = {"id": other.candidate, "createdAt": "2030-01-01T00:00:00Z", "expiresAt": "2030-02-01T00:00:00Z"}
    return {**made, "text": "Nothing.", "category": "other", "score": 1, "origin": "owner"}


def _row_that_names(other: Principal) -> str:
    return json.dumps({"id": other.id, "text": "It is somebody else's id.", "supersedes": other.id})


def act(own: Principal, other: Principal, action: Callable[[Principal, Principal], object]) -> str:
    """Let a principal do something that might reach another one, and return all that it shows, with the logs."""
    with logged() as lines:
        try:
            shown = str(action(own, other))
        except MemoriterError as error:
            shown = f"{error!r} {error.message} {error.remedy} {error.__cause__!r}"
    return "\n".join([shown, *lines])


@contextmanager
def logged() -> Iterator[list[str]]:
    """All that is logged, at every level, as the servers write it."""
    lines = list[str]()
    form = JsonLines()
    root = logging.getLogger()

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(form.format(record))

    handler = Kept()
    own = logging.getLogger("memoriter")
    levels = root.level, own.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    own.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        own.setLevel(levels[1])


@contextmanager
def principals_in(folder: Path, count: int) -> Iterator[list[Principal]]:
    """Principals of one database, each with a memory and with a statement that waits in its inbox."""
    with ExitStack() as stack:
        all_of_them = list[Principal]()
        for n, name in enumerate([*NAMES, *[None] * (count - len(NAMES))][:count]):
            env = env_of(folder / str(n), folder / "lancedb", name)
            stack.callback(env.close)
            own = Principal(f"Kanari{n:02}x", env, env.open())
            stack.enter_context(own.open)
            own.id = own.memory.long_term.store(
                SAYS.format(own.canary), origin="owner", category="preference"
            ).memory.id
            own.turn("first", WAITS.format(own.canary))
            (waiting,) = inbox_of(own.memory.long_term).read().candidates
            own.candidate = waiting.id
            all_of_them.append(own)
        yield all_of_them
