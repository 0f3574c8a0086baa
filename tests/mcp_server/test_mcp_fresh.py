"""What another program wrote a moment ago is found by the next search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mcp_endpoints import McpEndpoint
    from memory_env import MemoryEnv

pytestmark = pytest.mark.anyio

ROUNDS = 200


@pytest.mark.slow
async def test_a_note_that_another_program_just_wrote_is_found_each_time(endpoint: McpEndpoint, env: MemoryEnv) -> None:
    env.configure(provider="none")
    missed: list[tuple[int, Any]] = []
    async with endpoint.connect() as client:
        for number in range(ROUNDS):
            # Every other one has the size and, on many disks, the time of the one that it replaces.
            name = f"kettle{number // 2}" if number % 3 else "kettle"
            env.write(f"memory/{name}.md", f"# Kettle\n\nThe kettle of kitchen {number:03} is a Brum{number:03}.\n")
            found: Any = (await client.call_tool("memory_search", {"query": f"Brum{number:03}"})).structured_content
            if not any(f"Brum{number:03}" in each["snippet"] for each in found["results"]):
                missed.append((number, found))
    assert missed == []
