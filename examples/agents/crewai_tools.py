"""A CrewAI agent with a memory. Needs the extra `crewai` and OPENAI_API_KEY."""

from crewai import LLM, Agent

from memoriter import Memory
from memoriter.integrations.crewai import memory_tools

with Memory.open(".") as memory:
    agent = Agent(
        role="Assistant",
        goal="Answer from the notes, with citations.",
        backstory="You know the user's notes.",
        tools=memory_tools(memory),
        llm=LLM(model="openai/gpt-5-mini"),
    )
    print(agent.kickoff("Which database did we choose for the ledger, and why?").raw)
