"""An Agno agent with a memory. Needs the extra `agno`, the package `openai`, and OPENAI_API_KEY."""

import os

from agno.agent import Agent
from agno.models.openai.like import OpenAILike

from memoriter import Memory
from memoriter.integrations.agno import memory_tools

with Memory.open(".") as memory:
    model = OpenAILike(
        id="gpt-5-mini", api_key=os.environ["OPENAI_API_KEY"], base_url=os.environ.get("OPENAI_BASE_URL")
    )
    agent = Agent(model=model, tools=[memory_tools(memory)])
    print(agent.run("Which database did we choose for the ledger, and why?").content)
