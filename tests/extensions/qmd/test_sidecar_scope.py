"""The rules of `memory.qmd.scope` decide which conversations may search, through every door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from memoriter.mcp_server import server_of
from memory_env import paths
from qmd_backend import engine_of, qmd_env
from qmd_programs import ScriptedQmd

if TYPE_CHECKING:
    from pathlib import Path

    from memory_env import MemoryEnv

QUESTION = "Omada printers"
NOTE = "memory/2026-02-10.md"
GROUP = "agent:main:slack:group:7"
DIRECT = "agent:main:telegram:dm:42"
DENIED = (
    "The rules of memory.qmd.scope do not allow this conversation to search the memory: "
    "the channel is slack, the type of chat group."
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    return qmd_env(tmp_path / "env", ScriptedQmd.at(tmp_path / "bin").program)


def test_only_direct_chats_and_the_owner_get_an_answer(env: MemoryEnv, caplog: pytest.LogCaptureFixture) -> None:
    memory = env.open()
    assert [paths(memory.search(QUESTION, session=key)) for key in (None, DIRECT, GROUP)] == [[NOTE], [NOTE], []]
    denied = memory.search(QUESTION, session=GROUP)
    assert [(each.code, each.message) for each in denied.reasons] == [("scope_denied", DENIED)]
    assert (denied.outcome, denied.health.ok) == ("none", True)
    assert DENIED in caplog.text


def test_a_conversation_without_a_known_name_and_one_of_a_subagent_get_no_answer(env: MemoryEnv) -> None:
    memory = env.open()
    for key in (" ", "agent:main:subagent:9"):
        assert [each.code for each in memory.search(QUESTION, session=key).reasons] == ["scope_denied"], key


def test_the_rules_hold_while_the_builtin_engine_answers(tmp_path: Path) -> None:
    memory = qmd_env(tmp_path / "env", "no-such-qmd").open()
    assert engine_of(memory.search(QUESTION)) == "builtin"
    assert [each.code for each in memory.search(QUESTION, session=GROUP).reasons] == ["scope_denied"]


def test_rules_of_the_settings_replace_the_usual_one(tmp_path: Path) -> None:
    rules = [
        {"action": "deny", "match": {"channel": "telegram"}},
        {"action": "allow", "match": {"keyPrefix": "slack:"}},
    ]
    program = ScriptedQmd.at(tmp_path / "bin").program
    memory = qmd_env(tmp_path / "env", program, scope={"default": "deny", "rules": rules}).open()
    assert [paths(memory.search(QUESTION, session=key)) for key in (DIRECT, GROUP, "agent:main:main")] == [
        [],
        [NOTE],
        [],
    ]


def test_the_tool_searches_for_the_session_of_its_call(env: MemoryEnv) -> None:
    (tool,) = [tool for tool in env.open().tools if tool.name == "memory_search"]
    memory = env.open()
    answers = [tool.run(memory, {"query": QUESTION}, session_key=key) for key in (DIRECT, GROUP)]
    assert [len(answer["results"]) for answer in answers] == [1, 0]
    assert answers[1]["reasons"][0]["code"] == "scope_denied"


@pytest.mark.slow
def test_the_command_searches_for_the_session_that_is_named(env: MemoryEnv) -> None:
    group, direct = (json.loads(env.run("--json", "search", QUESTION, "--session", key).out) for key in (GROUP, DIRECT))
    assert ([each["code"] for each in group["reasons"]], group["results"]) == (["scope_denied"], [])
    assert [hit["path"] for hit in direct["results"]] == [NOTE]
    assert (group["citations"], direct["citations"]) == ("off", "on")


@pytest.mark.anyio
async def test_a_client_of_mcp_names_the_session_in_the_meta_of_its_call(env: MemoryEnv) -> None:
    async with Client(server_of(env.open())) as client:
        for meta, found in ((None, 1), ({"memoriter/sessionKey": DIRECT}, 1), ({"memoriter/sessionKey": GROUP}, 0)):
            answer = await client.call_tool("memory_search", {"query": QUESTION}, meta=meta)  # type: ignore[arg-type]
            assert answer.structured_content
            assert len(answer.structured_content["results"]) == found, meta
        prompt = await client.get_prompt("recall", {"question": QUESTION}, meta={"memoriter/sessionKey": GROUP})  # type: ignore[arg-type]
        assert "ER605" not in str(prompt.messages)


def test_nothing_is_recalled_before_the_turn_of_a_group(env: MemoryEnv) -> None:
    memory = env.open()
    prompt = "Which router keeps VLAN 10 for the printers, the Omada ER605?"
    texts = [memory.session(key, audience="private").recall(prompt).prepend_context for key in (DIRECT, GROUP)]
    assert ["ER605" in text for text in texts] == [True, False]
