"""An agent of Pydantic AI with memory.

Needs the extra `pydantic-ai` and the package `openai`.
Set OPENAI_API_KEY, and run it in a folder of notes: python pydantic_ai_agent.py "which database has the ledger?"
"""

import sys

from pydantic_ai import Agent

from memoriter import Memory
from memoriter.integrations.pydantic_ai import MemoriterCapability

with Memory.open(".") as memory:
    agent = Agent("openai-chat:gpt-4.1-mini", capabilities=[MemoriterCapability(memory)])
    print(agent.run_sync(sys.argv[1]).output)
