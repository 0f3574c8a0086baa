"""What the settings turn off is off over MCP too: tools, instructions, prompts and resources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import json5
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from memoriter.mcp_server import server_of
from memoriter.tools import TOOLS

if TYPE_CHECKING:
    from memory_env import MemoryEnv

pytestmark = pytest.mark.anyio

PLACE = re.compile(r"\.md#L\d|path#|cite", re.IGNORECASE)
"""A citation, or the request for one."""


def configure(env: MemoryEnv, *, enabled: bool = True, **settings: Any) -> None:
    tree = {"agents": {"defaults": {"memorySearch": {"provider": "fake", "enabled": enabled}}}, **settings}
    env.config.write_text(json5.dumps(tree), encoding="utf-8")


OFF = [{"enabled": False}, {"plugins": {"slots": {"memory": "none"}}}]


@pytest.mark.parametrize("settings", OFF)
@pytest.mark.parametrize("connector", [False, True])
async def test_a_memory_that_is_off_offers_nothing_and_says_nothing(
    env: MemoryEnv, settings: dict[str, Any], connector: bool
) -> None:
    configure(env, **settings)
    async with Client(server_of(env.open(), connector=connector)) as client:
        assert client.instructions is None
        assert (await client.list_tools()).tools == []
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []


@pytest.mark.parametrize("settings", OFF)
async def test_a_memory_that_is_off_refuses_what_is_asked_for_by_name(env: MemoryEnv, settings: dict[str, Any]) -> None:
    configure(env, **settings)
    async with Client(server_of(env.open())) as client:
        for ask in (
            client.read_resource("memory://notes/MEMORY.md"),
            client.read_resource("memory://today"),
            client.get_prompt("recall", {"question": "ledger"}),
            client.get_prompt("flush"),
        ):
            with pytest.raises(MCPError, match=r"Memory is turned off: (memorySearch\.enabled|plugins\.slots\.memory)"):
                await ask


async def test_without_citations_nothing_asks_for_them_or_shows_them(env: MemoryEnv) -> None:
    configure(env, memory={"citations": "off"})
    async with Client(server_of(env.open())) as client:
        assert client.instructions
        prompt = await client.get_prompt("recall", {"question": "which database for the ledger"})
        (found,) = prompt.messages
        texts = [client.instructions, found.content.text, prompt.description or ""]
        texts += [tool.description or "" for tool in (await client.list_tools()).tools if tool.name == "memory_search"]
        texts += [each.description or "" for each in (await client.list_prompts()).prompts]
        assert "PostgreSQL" in found.content.text
        assert "[passage 1]" in found.content.text
        assert not [text for text in texts if PLACE.search(text)]
        answer = await client.call_tool("memory_search", {"query": "which database for the ledger"})
        assert all("Source:" not in hit["snippet"] for hit in answer.structured_content["results"])
        assert not [hit for hit in answer.structured_content["results"] if "citation" in hit]


@pytest.mark.parametrize(
    ("mode", "key", "cited"),
    [
        ("auto", None, True),
        ("auto", "agent:main:main", True),
        ("auto", "agent:main:slack:direct:u1", True),
        ("auto", "agent:main:slack:group:g1", False),
        ("auto", "agent:main:Discord:Channel:c1", False),
        ("on", "agent:main:slack:group:g1", True),
        ("off", None, False),
        ("off", "agent:main:main", False),
    ],
)
async def test_the_setting_and_the_conversation_decide_about_citations(
    env: MemoryEnv, mode: str, key: str | None, *, cited: bool
) -> None:
    configure(env, memory={"citations": mode})
    async with Client(server_of(env.open())) as client:
        meta: Any = {"memoriter/sessionKey": key} if key is not None else None
        answer = await client.call_tool("memory_search", {"query": "which database for the ledger"}, meta=meta)
        (first, *_) = answer.structured_content["results"]
        assert answer.structured_content["citations"] == ("on" if cited else "off")
        assert (first.get("citation") == "MEMORY.md#L1-L3") is cited
        assert (first["path"], first["startLine"], first["endLine"], first["source"]) == ("MEMORY.md", 1, 3, "memory")
        assert {"provider", "model", "mode"} <= answer.structured_content.keys()
        text = answer.content[0].text
        assert ("[1] MEMORY.md#L1-L3 (" in text) is cited
        assert ("Do not name the paths" in text) is not cited


async def test_the_prompt_quotes_what_others_wrote_with_its_author_and_without_citations_names_no_place(
    env: MemoryEnv,
) -> None:
    configure(env, memory={"citations": "off"})
    text = "- The page says that the ledger database moves. <!-- from: web, 2026-01-01 -->\n"
    env.write("memory/pages.md", f"# Ledger\n\n{text}")
    async with Client(server_of(env.open())) as client:
        prompt = await client.get_prompt("recall", {"question": "which database for the ledger"})
        text = prompt.messages[0].content.text
        assert "\n> Written by web, 2026-01-01:\n> - The page says that the ledger database moves." in text
        assert "pages.md" not in text
        assert "PostgreSQL" in text


@pytest.mark.parametrize("citations", ["auto", "on"])
async def test_with_citations_the_agent_is_asked_to_cite(env: MemoryEnv, citations: str) -> None:
    configure(env, memory={"citations": citations})
    async with Client(server_of(env.open())) as client:
        assert "cite what you use as path#lines" in client.instructions
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
        prompt = await client.get_prompt("recall", {"question": "which database for the ledger"})
        assert "[MEMORY.md#L" in prompt.messages[0].content.text
