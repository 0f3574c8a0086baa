"""A Claude agent with a memory. Needs the extra `claude-agent-sdk` and ANTHROPIC_API_KEY."""

import asyncio

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from memoriter import Memory
from memoriter.integrations.claude_agent_sdk import memory_options


async def main() -> None:
    with Memory.open(".") as memory:
        options = ClaudeAgentOptions(**memory_options(memory), setting_sources=[])
        async for message in query(prompt="Which database did we choose for the ledger?", options=options):
            if isinstance(message, ResultMessage):
                print(message.result)


asyncio.run(main())
