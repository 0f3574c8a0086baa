"""The formats that can be imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.importing.formats._chatgpt import ChatGpt
from memoriter.extensions.importing.formats._claude import Claude
from memoriter.extensions.importing.formats._claude_mem import ClaudeMem
from memoriter.extensions.importing.formats._gemini_takeout import GeminiTakeout
from memoriter.extensions.importing.formats._jsonl import JsonLines
from memoriter.extensions.importing.formats._markdown import BasicMemory, MemSearch, Obsidian, OpenClaw
from memoriter.extensions.importing.formats._mem0 import Mem0
from memoriter.extensions.importing.formats._memoriter import Memoriter
from memoriter.extensions.importing.formats._notion import Notion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.extensions.importing._records import Format

FORMATS: Mapping[str, Format] = {
    form.name: form
    for form in (
        OpenClaw(),
        Mem0(),
        BasicMemory(),
        MemSearch(),
        ClaudeMem(),
        ChatGpt(),
        Claude(),
        GeminiTakeout(),
        Obsidian(),
        Notion(),
        JsonLines(),
        Memoriter(),
    )
}
"""Each format by its name on the command line."""
