"""Tools of other packages, offered as our own are; whatever they do, the server goes on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from memoriter import Memory
from memoriter.mcp_server import server_of
from memoriter.tools import TOOLS, Tool
from plugin_wheel import install_plugin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory_env import MemoryEnv

pytestmark = pytest.mark.anyio


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(install_plugin(tmp_path / "plugin")))
    yield
    sys.modules.pop("memoriter_diary", None)


@pytest.mark.usefixtures("diary")
async def test_a_tool_of_an_installed_package_can_be_called(env: MemoryEnv) -> None:
    async with Client(server_of(env.open())) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == [*(tool.name for tool in TOOLS), "diary_look_up"]
        assert tools["diary_look_up"].annotations.read_only_hint is None
        result = await client.call_tool("diary_look_up", {"word": "kettle"})
        assert result.structured_content == {"lines": []}


async def test_a_tool_that_breaks_its_promise_fails_alone(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(*arguments: Any, **options: Any) -> dict[str, Any]:
        raise ValueError("half of it")

    def odd(*arguments: Any, **options: Any) -> dict[str, Any]:
        return {"what": object()}

    def leaving(*arguments: Any, **options: Any) -> dict[str, Any]:
        raise SystemExit(3)

    def panic(*arguments: Any, **options: Any) -> dict[str, Any]:
        raise GeneratorExit

    def listing(*arguments: Any, **options: Any) -> Any:
        return [1]

    schema = {"type": "object"}
    broken = tuple(Tool(run.__name__, "", schema, run) for run in (boom, odd, leaving, panic, listing))
    monkeypatch.setattr(Memory, "tools", property(lambda memory: (*TOOLS, *broken)))
    async with Client(server_of(env.open())) as client:
        for name, words in {
            "boom": "The tool boom failed: ValueError: half of it.",
            "odd": "The tool odd failed: TypeError",
            "leaving": "The tool leaving failed: RuntimeError: It raised SystemExit(3).",
            "panic": "The tool panic failed: RuntimeError: It raised GeneratorExit().",
            "listing": "The tool listing failed: TypeError: It gave list, not an object.",
        }.items():
            result = await client.call_tool(name, {})
            assert result.is_error
            assert result.content[0].text.startswith(words)
        assert not (await client.call_tool("memory_search", {"query": "ledger"})).is_error
