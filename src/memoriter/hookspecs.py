"""Every extension point, on one page.

A plugin is a package that depends on memoriter, an object (a module will do) with functions marked `@hookimpl`, and an
entry point that names it:

    [project.entry-points."memoriter.plugins"]
    my-plugin = "my_plugin"

    from memoriter.hookspecs import hookimpl

    @hookimpl
    def listeners(context):
        return [Listener("my-plugin", "agent_end", keep)]

What memoriter itself does for an agent comes through the same functions. A plugin that fails is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import pluggy

from memoriter.agent import (
    Addition,
    AgentEnd,
    Audience,
    BeforeAgentStart,
    BeforeCompaction,
    Captured,
    Event,
    EventName,
    Listener,
    Message,
    RecallPassage,
    RecallSource,
    SessionEnd,
    SessionStart,
)
from memoriter.tools import MemoryLike, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = [
    "GROUP",
    "Addition",
    "AgentEnd",
    "Audience",
    "BeforeAgentStart",
    "BeforeCompaction",
    "Captured",
    "Event",
    "EventName",
    "HookSpecs",
    "Listener",
    "MemoryLike",
    "Message",
    "PluginContext",
    "RecallPassage",
    "RecallSource",
    "SessionEnd",
    "SessionStart",
    "Tool",
    "hookimpl",
]

GROUP = "memoriter.plugins"
"""The group of entry points."""

hookspec = pluggy.HookspecMarker("memoriter")
hookimpl = pluggy.HookimplMarker("memoriter")
"""Marks a function of a plugin as one of those below."""


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What a plugin is given."""

    memory: MemoryLike
    """The memory it works for."""
    home: Path
    """A folder of its own; it may not exist yet."""
    wall: Callable[[], float]
    """The clock: seconds since 1970."""


class HookSpecs(Protocol):
    """The functions that a plugin may have; all are optional."""

    @hookspec
    def slot(self) -> Literal["memory"]:
        """The slot it fills: it is active only while `plugins.slots.memory` names its entry point."""
        ...

    @hookspec
    def tools(self, context: PluginContext) -> Sequence[Tool]:
        """Tools that the agent can call."""
        ...

    @hookspec
    def recall_sources(self, context: PluginContext) -> Sequence[RecallSource]:
        """Where to look for what is put before a turn."""
        ...

    @hookspec
    def listeners(self, context: PluginContext) -> Sequence[Listener]:
        """Who hears of events, such as `agent_end` to capture what was said."""
        ...
