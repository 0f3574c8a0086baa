"""Claude keeps its memory as notes. Needs the extra `anthropic` and ANTHROPIC_API_KEY."""

from anthropic import Anthropic

from memoriter import Memory
from memoriter.integrations.anthropic import memory_tools

with Memory.open(".") as memory:
    runner = Anthropic().beta.messages.tool_runner(
        model="claude-sonnet-4-5",
        max_tokens=2_000,
        betas=["context-management-2025-06-27"],
        tools=memory_tools(memory),
        messages=[{"role": "user", "content": "Remember that the ledger listens on port 5433."}],
    )
    for block in runner.until_done().content:
        print(getattr(block, "text", ""))
