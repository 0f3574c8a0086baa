"""An agent of Google's ADK with a memory. Needs the extra `google-adk` and GOOGLE_API_KEY."""

import asyncio

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.adk.tools import load_memory

from memoriter import Memory
from memoriter.integrations.google_adk import NotesMemoryService


async def main(question: str) -> None:
    with Memory.open(".") as memory:
        agent = Agent(name="assistant", model="gemini-2.5-flash", tools=[load_memory])
        runner = InMemoryRunner(agent=agent, app_name="ledger")
        runner.memory_service = NotesMemoryService(memory, owner="me")
        events = await runner.run_debug(question, user_id="me", session_id="first")
        session = await runner.session_service.get_session(app_name="ledger", user_id="me", session_id="first")
        await runner.memory_service.add_session_to_memory(session)
        print(events[-1].content.parts[0].text)


asyncio.run(main("Which database did we choose for the ledger?"))
