"""An agent of smolagents with a memory. Needs the extra `smolagents`, the package `openai`, and OPENAI_API_KEY."""

import os

from smolagents import OpenAIServerModel, ToolCallingAgent

from memoriter import Memory
from memoriter.integrations.smolagents import memory_tools

with Memory.open(".") as memory:
    model = OpenAIServerModel("gpt-5-mini", api_key=os.environ["OPENAI_API_KEY"])
    agent = ToolCallingAgent(memory_tools(memory), model)
    print(agent.run("Which database did we choose for the ledger, and why?"))
