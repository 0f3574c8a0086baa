"""A conversation with LlamaIndex's memory over notes.

Needs the extra `llama-index` and the package `openai`.
Set OPENAI_API_KEY, and run it in a folder of notes: python llama_index_agent.py "which database has the ledger?"
"""

import asyncio
import sys

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as ShortTerm
from openai import OpenAI

from memoriter import Memory
from memoriter.integrations.llama_index import MemoriterBlock

with Memory.open(".") as memory:
    short_term = ShortTerm.from_defaults(session_id="example", memory_blocks=[MemoriterBlock(memory=memory)])
    short_term.put(ChatMessage(role="user", content=sys.argv[1]))
    messages = [{"role": each.role.value, "content": each.content} for each in asyncio.run(short_term.aget())]
    print(OpenAI().chat.completions.create(model="gpt-4.1-mini", messages=messages).choices[0].message.content)
