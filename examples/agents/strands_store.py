"""An agent of Strands with a memory. Needs the extra `strands`, the package `openai`, and OPENAI_API_KEY."""

from strands import Agent
from strands.memory import MemoryManager
from strands.models.openai import OpenAIModel

from memoriter import Memory
from memoriter.integrations.strands import NotesStore

with Memory.open(".") as memory:
    manager = MemoryManager(stores=[NotesStore(memory)], add_tool_config=True)
    agent = Agent(model=OpenAIModel(model_id="gpt-5-mini"), memory_manager=manager, callback_handler=None)
    print(agent("Which database did we choose for the ledger, and why?"))
