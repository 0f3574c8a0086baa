"""Whose memories they are: no surface shows the memories of another principal, whatever it is asked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import json5
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_term import NOTE, configure_long_term
from mcp_endpoints import over_stdio
from memoriter import PathRefused
from memoriter.agent import Message
from memoriter.cli import main
from memoriter.longterm import rebuild
from memory_env import MemoryEnv, paths
from servers import KEY
from servers.talk import Calls, OpenAITalk, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

BOTH = ["memory-core", "memory-lancedb"]
SAYS = "My favourite framework is {}."
QUESTION = "What is my favourite framework?"
NAMES = ["ann", "bob", "Ann", "o'brien", '" OR 1=1', "'; DROP TABLE memories --", "a%2Fb", "a/b", "김철수", "*", "%"]
"""Configured principals."""
COMMANDS = ("list", "search", "stats", "export", "inbox", "trust review", "status", "notes search", "get", "rebuild")


def env_of(folder: Path, database: Path, principal: str | None, *, notes: Path | None = None) -> MemoryEnv:
    """A home of its own, with notes of its own or shared ones, and the common database."""
    folder.mkdir()
    env = MemoryEnv.at(folder, {})
    env.notes = notes or env.notes
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

    def ltm(self, *words: str) -> str:
        environ = {"MEMORITER_HOME": str(self.env.home), "HOME": str(self.env.home), "MEMORITER_BACKGROUND": "off"}
        done = CliRunner().invoke(main, ["-w", str(self.env.notes), *words], env=environ)
        assert done.exit_code in {0, 1, 2}, done
        return done.stdout + done.stderr

    def tool(self, name: str, **params: Any) -> str:
        tool = next(tool for tool in self.memory.tools if tool.name == name)
        return json.dumps(tool.run(self.memory, params, session_key="agent:main:direct"))

    def turn(self, session: str, text: str) -> str:
        talk = self.memory.session(session, audience="private")
        before = talk.recall(text)
        kept = talk.capture([Message("user", text)])
        return repr((talk.start(), before, kept))


@pytest.fixture(scope="module")
def principals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Principal]]:
    """Twenty principals of one database: folders of notes, and names that are close to each other or to SQL."""
    folder = tmp_path_factory.mktemp("principals")
    names = [*NAMES, *[None] * (20 - len(NAMES))]
    envs = [env_of(folder / str(n), folder / "lancedb", name) for n, name in enumerate(names)]
    all_of_them = [Principal(f"Kanari{n:02}x", env, env.open()) for n, env in enumerate(envs)]
    for each in all_of_them:
        stored = each.memory.long_term.store(SAYS.format(each.canary), origin="owner", category="preference")
        each.id = stored.memory.id
        each.turn("first", f"I always deploy with {each.canary} on Fridays.")  # waits in the inbox
    yield all_of_them
    for env in envs:
        env.close()


def act(own: Principal, other: Principal, action: str) -> str:
    """Let a principal do something that might reach another one, and return all that it shows."""
    match action:
        case "recall":
            return own.tool("memory_recall", query=QUESTION, limit=100)
        case "store":
            return own.tool("memory_store", text="My favourite framework is a new one.", supersedes=other.id)
        case "say again":
            return own.tool("memory_store", text=SAYS.format(own.canary))
        case "forget":
            return own.tool("memory_forget", memoryId=other.id)
        case "forget a query":
            return own.tool("memory_forget", query="My favourite framework")
        case "turn":
            return own.turn("later", QUESTION) + own.turn("later still", "I always deploy on Fridays.")
        case "get":
            return own.tool("memory_get", path=NOTE) + own.tool("memory_get", path=str(other.env.notes / NOTE))
        case "notes search":
            return own.tool("memory_search", query=QUESTION)
        case "search":
            return own.ltm("ltm", "search", QUESTION, "--min-score", "0", "-n", "1000")
        case "status":
            return own.ltm("status", "-v")
        case _:
            return own.ltm("ltm", *action.split())


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_surface_shows_the_canary_of_another_principal(principals: list[Principal], data: st.DataObject) -> None:
    which = st.integers(0, len(principals) - 1)
    actions = ("recall", "store", "say again", "forget", "forget a query", "turn", *COMMANDS)
    for n, m, action in data.draw(st.lists(st.tuples(which, which, st.sampled_from(actions)), min_size=4, max_size=8)):
        own, other = principals[n], principals[m]
        if n == m:
            continue
        shown = act(own, other, action)
        foreign = [each.canary for each in principals if each is not own and each.canary in shown]
        assert foreign == [], (action, shown)
        texts = [memory.text for memory in other.memory.long_term.memories()]
        assert SAYS.format(other.canary) in texts, f"{action} took it away"


@pytest.mark.slow
def test_each_principal_has_its_own_memories_in_every_command(principals: list[Principal]) -> None:
    for n, own in enumerate(principals):
        shown = [act(own, principals[n - 1], action) for action in ("recall", "list", "export", "search", "rebuild")]
        assert all(own.canary in text for text in shown[:4]), shown
        for text in shown:
            assert [each.canary for each in principals if each is not own and each.canary in text] == []


@pytest.mark.slow
@pytest.mark.anyio
async def test_clients_of_mcp_and_the_chat_get_the_memories_of_their_own_principal(principals: list[Principal]) -> None:
    own, other = principals[0], principals[-1]
    async with over_stdio(own.env).connect() as client:
        for name, arguments in (
            ("memory_recall", {"query": QUESTION}),
            ("memory_search", {"query": QUESTION}),
            ("memory_get", {"path": NOTE}),
            ("memory_forget", {"memoryId": other.id}),
        ):
            answer = (await client.call_tool(name, arguments)).model_dump_json()
            assert other.canary not in answer
            assert (own.canary in answer) == (name in {"memory_recall", "memory_get"}) or name == "memory_search"
    with OpenAITalk(Calls("memory_recall", {"query": QUESTION, "limit": 100}), Reply("Yours.")) as server:
        service = {"baseUrl": server.base_url, "apiKey": KEY, "api": server.vendor}
        written = json5.loads(other.env.config.read_text(encoding="utf-8")) | {"models": {"providers": {"m": service}}}
        other.env.config.write_text(json.dumps(written), encoding="utf-8")
        other.env.run("chat", "--model", f"m/{server.model}", typed=f"{QUESTION}\n")
    seen = repr(server.received)
    assert other.canary in seen
    assert [each.canary for each in principals if each is not other and each.canary in seen] == []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def shared_folder(tmp_path: Path, first: str | None, second: str | None) -> Iterator[tuple[MemoryEnv, MemoryEnv]]:
    """Two homes with different principals on the same folder of notes."""
    one = env_of(tmp_path / "one", tmp_path / "db1", first)
    two = env_of(tmp_path / "two", tmp_path / "db2", second, notes=one.notes)
    yield one, two
    one.close()
    two.close()


@pytest.mark.parametrize("second", ["bob", None])
def test_in_a_shared_folder_the_note_of_another_principal_is_no_memory(tmp_path: Path, second: str | None) -> None:
    with shared_folder(tmp_path, "ann", second) as (ann, other):
        mine = ann.open()
        mine.long_term.store(SAYS.format("Kanari"), origin="owner")
        mine.session("s", audience="private").capture([Message("user", "I live in Kanariville.")])
        theirs = other.open()
        assert paths(mine.search("favourite framework Kanari")) == [NOTE]
        assert paths(theirs.search("favourite framework Kanari")) == []
        skipped = {each.path: each.reason for each in theirs.status().skipped}
        assert skipped == {NOTE: "other_principal", "memory/inbox.md": "other_principal"}
        for path in (NOTE, "memory/inbox.md", str(ann.notes / NOTE), f"{NOTE}#L5"):
            with pytest.raises(PathRefused, match="holds long-term memories of the principal 'ann'"):
                theirs.read(path)
        with pytest.raises(PathRefused, match="holds long-term memories"):
            theirs.long_term.memories()
        before = (ann.notes / NOTE).read_bytes()
        with pytest.raises(PathRefused):
            theirs.long_term.store("I like tea.", origin="owner")
        assert (ann.notes / NOTE).read_bytes() == before


def test_a_note_that_became_somebody_elses_is_not_found_in_an_index_from_before(tmp_path: Path) -> None:
    with shared_folder(tmp_path, None, None) as (one, _):
        one.write(NOTE, f"- {SAYS.format('Kanari')}\n")
        assert paths(one.open().search("favourite framework Kanari")) == [NOTE]
        mark = "<!-- memory: 0b4e9c1e-6f1c-4f0e-9d0e-3c1b7f6f2a11 0.7 2026-01-01T00:00:00.000Z principal=ann -->"
        one.write(NOTE, f"- {SAYS.format('Kanari')} {mark}\n")
        one.wait()
        assert paths(one.open().search("favourite framework Kanari", update=False)) == []
        assert paths(one.open().search("favourite framework Kanari")) == []


def test_a_rebuild_from_the_note_keeps_the_principal(tmp_path: Path) -> None:
    env = env_of(tmp_path / "one", tmp_path / "db", "김/철수 o'x")
    env.write(NOTE, "- I like tea.\n")
    memory = env.open()
    rebuild(memory.long_term)
    (kept,) = memory.long_term.memories()
    assert (kept.principal, kept.text) == ("김/철수 o'x", "I like tea.")
    assert " principal=%EA%B9%80%2F%EC%B2%A0%EC%88%98%20o%27x -->" in (env.notes / NOTE).read_text(encoding="utf-8")
    again = env_of(tmp_path / "two", tmp_path / "other", "김/철수 o'x", notes=env.notes).open()
    rebuild(again.long_term)
    assert again.long_term.opened().memories(principal="김/철수 o'x")[0].text == "I like tea."


@pytest.mark.parametrize("name", ["notes:0123456789abcdef", "x" * 201, "a\nb"])
def test_a_principal_that_could_be_that_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    env = env_of(tmp_path / "one", tmp_path / "db", name)
    outcome = Principal("", env, env.open()).ltm("ltm", "list")
    assert "plugins.entries.memory-lancedb.config.principal is " in outcome
    assert "Give a name, such as 'team'." in outcome
