"""All extension points.

A plugin is a package that depends on memoriter. It has an object (a module is enough) with functions marked
`@hookimpl`, and an entry point that names the object:

    [project.entry-points."memoriter.plugins"]
    my-plugin = "my_plugin"

    from memoriter.hookspecs import hookimpl

    @hookimpl
    def listeners(context):
        return [Listener("my-plugin", "agent_end", keep)]

memoriter's own features for agents use the same functions. memoriter skips a plugin that fails.

Servers load two more groups of entry points, and only servers do: an object of `memoriter.operations` is a
`memoriter.web.OperationSet` and adds to the HTTP API, and one of `memoriter.pages` is a `memoriter.pages.PageSet`. An
object of `memoriter.commands` is a command of click, and becomes one of `memoriter`. An object of `memoriter.settings`
is a `memoriter.config.ExtensionSection` with the dotted key of its settings as the name, such as
`plugins.entries.my-plugin`; `Configuration.extension` returns what is written there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

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
    RecallAnswer,
    RecallPassage,
    RecallSource,
    SessionEnd,
    SessionStart,
)
from memoriter.memory_like import MemoryLike
from memoriter.tools import Tool
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from memoriter.backends import Embedding, Forgotten, MemoryBackend
    from memoriter.config import MemorySearch
    from memoriter.types import Diagnostic
    from memoriter.workspace import Workspace

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
    "Finding",
    "HookSpecs",
    "Listener",
    "MemoryLike",
    "Message",
    "PluginContext",
    "PluginServices",
    "RecallAnswer",
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
"""Marks a function of a plugin as an implementation of one of the functions below."""


@dataclass(frozen=True, slots=True)
class PluginServices:
    """Parts of memoriter for a plugin that keeps memories of its own."""

    workspace: Workspace
    """Reads and writes the notes."""
    backend: MemoryBackend
    """Searches them, and forgets text of them."""
    embedding: Callable[[MemorySearch], Embedding]
    """Returns the embedding provider for settings, without opening it; for those of `memory`, the one in use."""
    home: Path
    """memoriter's own folder."""
    user_home: Path
    environ: Mapping[str, str]
    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    """Seconds since an unknown moment, for durations."""
    new_id: Callable[[], str]
    """Returns a new UUID."""


@dataclass(frozen=True, slots=True)
class PluginContext:
    """The environment of a plugin."""

    memory: MemoryLike
    """The memory that the plugin serves."""
    home: Path
    """A folder for the plugin alone; it may not exist yet."""
    wall: Callable[[], float]
    """The clock: seconds since 1970."""
    services: PluginServices


@dataclass(frozen=True, slots=True)
class Finding:
    """What a plugin found when it checked its parts."""

    state: Literal["good", "note", "broken"]
    message: str
    remedy: str = ""
    code: str = ""
    """The code of the error or the diagnostic behind it."""


class HookSpecs(Protocol):
    """The functions that a plugin can implement; all are optional."""

    @hookspec
    def slot(self) -> Literal["memory"]:
        """Return the slot of the plugin, which is active only while `plugins.slots.memory` names its entry point."""
        ...

    @hookspec
    def tools(self, context: PluginContext) -> Sequence[Tool]:
        """Return tools that the agent can call."""
        ...

    @hookspec
    def recall_sources(self, context: PluginContext) -> Sequence[RecallSource]:
        """Return the sources of passages to insert before a turn."""
        ...

    @hookspec
    def listeners(self, context: PluginContext) -> Sequence[Listener]:
        """Return the listeners for events, such as one for `agent_end` that captures the conversation."""
        ...

    @hookspec
    def own_notes(self, context: PluginContext) -> Sequence[str]:
        """Return the paths of notes that a recall source of the plugin reads; the recall of notes leaves them out."""
        ...

    @hookspec
    def forgotten(self, context: PluginContext, receipt: Forgotten) -> Sequence[Diagnostic]:
        """Remove what `Memory.forget` has removed, and return diagnostics for what is left.

        Args:
            context: the environment of the plugin.
            receipt: what was removed from notes, transcripts and the index.
        """
        ...

    @hookspec
    def checks(self, context: PluginContext) -> Sequence[Finding]:
        """Check the parts of the plugin for `memoriter doctor`, and for a server that starts or is asked for them."""
        ...

    @hookspec
    def long_term(self, context: PluginContext) -> Any:
        """Return what `Memory.long_term` is; `memoriter status` shows the number of its `entries()`."""
        ...
