"""An agent of the OpenAI Agents SDK with memory.

Needs the extra `openai-agents`.
Set OPENAI_API_KEY, and run it in a folder of notes: python openai_agents_agent.py "which database has the ledger?"
"""

import sys

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled

from memoriter import Memory
from memoriter.integrations.openai_agents import MemoriterSession, memory_tools

set_default_openai_api("chat_completions")
set_tracing_disabled(disabled=True)
with Memory.open(".") as memory:
    agent = Agent("assistant", model="gpt-4.1-mini", tools=memory_tools(memory))
    session = MemoriterSession("example", memory)
    print(Runner.run_sync(agent, sys.argv[1], session=session).final_output)
