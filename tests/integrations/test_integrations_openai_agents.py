"""Sessions and tools of the OpenAI Agents SDK on real notes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from agents import Session
from agents.memory import SessionSettings, SQLiteSession
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.errors import UsageError
from memoriter.integrations.openai_agents import MemoriterSession, memory_tools
from memoriter.workspace import hit_authors

if TYPE_CHECKING:
    from pathlib import Path


CONTENTS = st.text(max_size=30) | st.sampled_from(["## user\n\n- content: x", "---\n", "\n\n"])
ITEMS = st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "tool"]), CONTENTS)
STEPS = st.lists(st.lists(ITEMS, max_size=3) | st.just("pop") | st.integers(0, 4) | st.just("clear"), max_size=8)


@settings(max_examples=15)
@given(STEPS)
def test_a_session_keeps_items_as_the_session_of_the_sdk_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("session")
    (folder / "notes").mkdir()

    async def answers(session: Session) -> list[Any]:
        found: list[Any] = []
        for step in steps:
            match step:
                case list():
                    await session.add_items(step)
                case "pop":
                    found.append(await session.pop_item())
                case "clear":
                    await session.clear_session()
                case _:
                    found.append(await session.get_items(limit=step))
        return [*found, await session.get_items()]

    with Memory.open(folder / "notes", home=folder / "home") as memory:
        ours = asyncio.run(answers(MemoriterSession("a session/1", memory)))
        theirs = SQLiteSession("a session/1", folder / "sessions.db")
        assert ours == asyncio.run(answers(theirs))
        theirs.close()


def test_a_conversation_is_a_note_that_people_read(memory: Memory, tmp_path: Path) -> None:
    session = MemoriterSession("trip", memory, session_settings=SessionSettings(limit=1))
    assert isinstance(session, Session)
    items: Any = [{"role": "user", "content": "To Osaka.\n\nIn April."}, {"role": "assistant", "content": "Noted."}]
    asyncio.run(session.add_items(items))
    file = tmp_path / "notes" / "memory" / "openai-agents" / "trip.md"
    text = file.read_text(encoding="utf-8")
    first = "## user\n\n- role: user\n- content: |\n  To Osaka.\n\n  In April.\n"
    mark = f"<!-- from: agent (OpenAI Agents SDK), {memory.now().date().isoformat()} -->"
    messages = f"{first}\n## assistant\n\n- role: assistant\n- content: Noted.\n"
    assert text == f'---\nconversation: "trip"\n---\n\n{mark}\n\n{messages}'
    (hit,) = [hit for hit in memory.search("Osaka in April").hits if hit.path == "memory/openai-agents/trip.md"][:1]
    assert all(author.startswith("agent (OpenAI Agents SDK)") for author in hit_authors(memory.authors, hit) if author)
    assert any(hit_authors(memory.authors, hit))
    file.write_text(text.replace("Noted.", "Noted!") + "\nBooked on Friday.\n", encoding="utf-8")
    assert asyncio.run(session.get_items()) == [{"role": "assistant", "content": "Noted!"}]
    asyncio.run(session.add_items([{"role": "user", "content": "Thanks."}]))
    assert "Booked on Friday." in file.read_text(encoding="utf-8")
    assert len(asyncio.run(session.get_items(9))) == 3


def test_an_item_that_is_no_json_is_refused_with_all_others(memory: Memory) -> None:
    session = MemoriterSession("x", memory)
    items: Any = [{"role": "user", "content": "a"}, {"role": "user", "content": b"b"}]
    with pytest.raises(UsageError, match=r"item\.content is of the type bytes"):
        asyncio.run(session.add_items(items))
    assert asyncio.run(session.get_items()) == []


def test_tasks_add_to_one_session_at_the_same_time(memory: Memory) -> None:
    session = MemoriterSession("busy", memory)

    async def program() -> None:
        items: list[Any] = [{"role": "user", "content": str(n)} for n in range(4)]
        await asyncio.gather(*(session.add_items([item]) for item in items))
        assert sorted(item["content"] for item in await session.get_items()) == ["0", "1", "2", "3"]  # type: ignore[typeddict-item]

    asyncio.run(program())


def test_tools_return_citations_outcome_and_health_also_for_wrong_arguments(memory: Memory) -> None:
    search = next(tool for tool in memory_tools(memory) if tool.name == "memory_search")
    call: Any = None
    found = json.loads(asyncio.run(search.on_invoke_tool(call, '{"query": "which database has the ledger?"}')))  # type: ignore[arg-type]
    assert (found["results"][0]["citation"], found["outcome"], found["health"]["ok"]) == ("MEMORY.md#L1", "match", True)
    assert "no JSON" in json.loads(asyncio.run(search.on_invoke_tool(call, "{")))["error"]  # type: ignore[arg-type]
