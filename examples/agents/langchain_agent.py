"""An agent of LangChain with memory.

Needs the extra `langchain` and the packages `langchain` and `langchain-openai`.
Set OPENAI_API_KEY, and run it in a folder of notes: python langchain_agent.py "which database has the ledger?"
"""

import sys

from langchain.agents import create_agent

from memoriter import Memory
from memoriter.integrations.langchain import MemoriterChatHistory, memory_tools

with Memory.open(".") as memory:
    history = MemoriterChatHistory("example", memory)
    history.add_user_message(sys.argv[1])
    agent = create_agent("openai:gpt-4.1-mini", tools=memory_tools(memory))
    answer = agent.invoke({"messages": history.messages})["messages"][-1]
    history.add_message(answer)
    print(answer.content)
