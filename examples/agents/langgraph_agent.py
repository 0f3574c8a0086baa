"""An agent of LangGraph with the tools of langmem.

Needs the extra `langgraph` and the packages `langmem` and `langchain-openai`.
Set OPENAI_API_KEY, and run it in a folder of notes: python langgraph_agent.py "remember that I prefer green tea"
"""

import sys

from langchain.agents import create_agent
from langmem import create_manage_memory_tool, create_search_memory_tool

from memoriter import Memory
from memoriter.integrations.langgraph import MemoriterStore

with Memory.open(".") as memory:
    store = MemoriterStore(memory)
    tools = [create_manage_memory_tool(("memories",)), create_search_memory_tool(("memories",))]
    agent = create_agent("openai:gpt-4.1-mini", tools=tools, store=store)
    print(agent.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]})["messages"][-1].content)
