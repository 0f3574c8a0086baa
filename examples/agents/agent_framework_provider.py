"""An agent of Microsoft Agent Framework with a memory.

Needs the extra `agent-framework`, the package `agent-framework-openai`, and OPENAI_API_KEY.
"""

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

from memoriter import Memory
from memoriter.integrations.agent_framework import NotesProvider


async def main() -> None:
    with Memory.open(".") as memory:
        client = OpenAIChatCompletionClient(model="gpt-5-mini")
        agent = Agent(client=client, context_providers=[NotesProvider(memory)])
        print(await agent.run("Which database did we choose for the ledger?"))


asyncio.run(main())
