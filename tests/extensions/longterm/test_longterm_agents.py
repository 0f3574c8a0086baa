"""Long-term memories through the doors of agents: hooks, sessions of the library and MCP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import PROGRAMS, hook_input
from long_term import NOTE, configure_long_term
from mcp_endpoints import over_stdio

if TYPE_CHECKING:
    from memory_env import MemoryEnv

TEA = "I drink green tea in the morning."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
@pytest.mark.parametrize("client", PROGRAMS)
def test_the_hook_before_a_prompt_gives_a_coding_agent_the_memories(env: MemoryEnv, client: str) -> None:
    assert env.run("ltm", "store", TEA, "--category", "preference").exit_code == 0

    def hook(prompt: str) -> str:
        typed = hook_input(client, "user-prompt", cwd=env.notes, prompt=prompt)
        return env.run("hook", "user-prompt", typed=typed).out

    answer = json.loads(hook("Do I drink green tea in the morning?"))
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert f"1. [preference] {TEA}" in context
    assert context.startswith("<relevant-memories>")
    assert hook("Fix the failing unit tests of the parser.") == ""


@pytest.mark.slow
def test_an_agent_in_a_session_stores_a_memory_and_gets_the_owners_before_a_turn(env: MemoryEnv) -> None:
    env.run("ltm", "store", TEA, "--category", "preference")
    memory = env.open()
    session = memory.session("first", audience="private")
    before = session.recall("Which tea do I drink in the morning, green tea?").prepend_context
    assert before.startswith("<relevant-memories>")
    assert f"1. [preference] {TEA}" in before
    tools = {tool.name: tool for tool in memory.tools}
    assert list(tools) == ["memory_store", "memory_recall", "memory_forget"]
    stored = tools["memory_store"].run(memory, {"text": "The user moved to Busan."}, session_key=session.key)
    assert stored["stored"]
    assert "- [other] The user moved to Busan. <!-- memory: " in (env.notes / NOTE).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_client_of_mcp_lists_and_calls_the_tools(env: MemoryEnv) -> None:
    configure_long_term(env, ["memory-core", "memory-lancedb"])
    async with over_stdio(env).connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"memory_search", "memory_store", "memory_recall", "memory_forget"} <= set(tools)
        assert tools["memory_forget"].annotations.destructive_hint
        assert not tools["memory_store"].annotations.destructive_hint

        async def call(name: str, **arguments: Any) -> Any:
            return (await client.call_tool(name, arguments)).structured_content

        stored = await call("memory_store", text="The user moved to Busan.", category="fact")
        assert stored["stored"]
        found = await call("memory_recall", query="where did the user move, Busan")
        assert [each["id"] for each in found["memories"]] == [stored["memory"]["id"]]
        gone = await call("memory_forget", memoryId=stored["memory"]["id"])
        assert len(gone["forgotten"]) == 1
        assert (await call("memory_recall", query="where did the user move, Busan"))["memories"] == []
