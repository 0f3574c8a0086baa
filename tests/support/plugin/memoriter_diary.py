"""A plugin as a stranger would write it: a tool, a recall source and a listener that captures what the user says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.hookspecs import (
    AgentEnd,
    Audience,
    Captured,
    Listener,
    MemoryLike,
    PluginContext,
    RecallPassage,
    Tool,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}


class Diary:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "diary.txt"
        self.name = "diary"

    def lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []

    def capture(self, event: AgentEnd) -> Captured:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        texts = tuple(message.text for message in event.messages if message.role == "user")
        with self.file.open("a", encoding="utf-8") as diary:
            diary.writelines(f"{text}\n" for text in texts)
        return Captured(texts)

    def recall(self, prompt: str, *, audience: Audience, deadline_ms: int) -> Sequence[RecallPassage]:
        words = set(prompt.lower().split())
        return [
            RecallPassage(line, f"diary#{n}") for n, line in enumerate(self.lines(), 1) if words & set(line.split())
        ]

    def look_up(
        self, memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None
    ) -> dict[str, Any]:
        return {"lines": [line for line in self.lines() if params.get("word", "") in line]}


@hookimpl
def tools(context: PluginContext) -> list[Tool]:
    return [Tool("diary_look_up", "Look into the diary.", SCHEMA, Diary(context.home).look_up)]


@hookimpl
def recall_sources(context: PluginContext) -> list[Diary]:
    return [Diary(context.home)]


@hookimpl
def listeners(context: PluginContext) -> list[Listener]:
    return [Listener("diary", "agent_end", Diary(context.home).capture)]
