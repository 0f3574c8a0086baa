"""The hook before a prompt as a call of a tool, as Claude Code makes it, over stdio and over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import hook_input
from memoriter.coding_hooks import HOOK_TOOL, HOOKS

if TYPE_CHECKING:
    from mcp import Client

    from mcp_endpoints import McpEndpoint
    from memory_env import MemoryEnv

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

QUESTION = "Which VLAN does the Omada router keep for the printers?"
OTHERS = [event for event in HOOKS.values() if event != "user-prompt"]
NOTHING = "What breed is the neighbours' dog?"


async def prompted(client: Client, env: MemoryEnv, prompt: str, **changes: Any) -> Any:
    """Return what the hook says to Claude Code, which reads the text of the result as the output of a program."""
    given = json.loads(hook_input("claude-code", "user-prompt", cwd=env.notes, prompt=prompt, **changes))
    result = await client.call_tool(HOOK_TOOL, {"event": "user-prompt", **given})
    (content,) = result.content
    assert not result.is_error, content.text
    return json.loads(content.text)


async def test_a_prompt_gets_what_matches_it_once_and_else_nothing(endpoint: McpEndpoint, env: MemoryEnv) -> None:
    env.configure(provider="none")
    env.environ["MEMORITER_HOOK_SECONDS"] = "30"
    assert env.run("index").exit_code == 0
    async with endpoint.connect() as client:
        assert HOOK_TOOL not in [tool.name for tool in (await client.list_tools()).tools]  # models do not see it
        answer = await prompted(client, env, QUESTION)
        assert answer.keys() == {"hookSpecificOutput"}
        assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
        assert "keeps VLAN 10 for the printers" in answer["hookSpecificOutput"]["additionalContext"]
        assert await prompted(client, env, QUESTION) == {}
        assert await prompted(client, env, NOTHING, session_id="another") == {}
        again = await prompted(client, env, QUESTION, session_id="another")
        assert again == answer


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "not None"),
        *(({"event": event, "session_id": "s"}, "answers the hook 'user-prompt', not") for event in OTHERS),
        ({"event": "user-prompt"}, "no session_id"),
        ({"event": "user-prompt", "session_id": "s", "hook_event_name": "Stop"}, "Stop happened"),
    ],
)
async def test_other_hooks_and_wrong_input_are_errors(
    endpoint: McpEndpoint, arguments: dict[str, Any], words: str
) -> None:
    async with endpoint.connect() as client:
        result = await client.call_tool(HOOK_TOOL, arguments)
        assert result.is_error
        assert words in result.content[0].text
