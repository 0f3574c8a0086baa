"""The plugin `memory-lancedb`: long-term memories as tools, as a recall source, and for programs.

Whoever names another plugin loads this module, too, so it imports the rest when it is used.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memoriter.errors import ConfigError, MemoriterError
from memoriter.extensions.longterm.settings import KEY, LongTermEntry
from memoriter.extras import require
from memoriter.hookspecs import Finding, hookimpl
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.agent import RecallSource
    from memoriter.backends import Forgotten
    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm.settings import LongTerm
    from memoriter.hookspecs import Listener, MemoryLike, PluginContext
    from memoriter.tools import Tool

SLOT = "memory"
NOTES = ("memory/long-term.md", "memory/inbox.md")
"""Notes whose lines this plugin recalls itself, or only once they are accepted."""


class LongTermPlugin:
    """Long-term memories of the folder of notes of one memory."""

    def __init__(self) -> None:
        self._opened: tuple[MemoryLike, LongTermMemories] | None = None
        self._lock = threading.Lock()

    @hookimpl
    def slot(self) -> str:
        return SLOT

    @hookimpl
    def tools(self, context: PluginContext) -> Sequence[Tool]:
        if not _is_on(context):
            return ()
        from memoriter.extensions.longterm._tools import LongTermTools

        return LongTermTools(lambda: self.long_term(context)).list()

    @hookimpl
    def recall_sources(self, context: PluginContext) -> Sequence[RecallSource]:
        settings = _settings(context)
        if not (_is_on(context) and settings.auto_recall):
            return ()
        from memoriter.extensions.longterm._recall import LongTermRecall

        chars = settings.recall_max_chars
        tokens = settings.recall_max_tokens
        return [LongTermRecall(lambda: self.long_term(context), context.services.monotonic, chars, tokens)]

    @hookimpl
    def own_notes(self) -> Sequence[str]:
        return NOTES

    @hookimpl
    def listeners(self, context: PluginContext) -> Sequence[Listener]:
        settings = _settings(context)
        if not (_is_on(context) and settings.auto_capture):
            return ()
        from memoriter.extensions.longterm._capture import LongTermCapture

        return [LongTermCapture(lambda: self.long_term(context), settings).listener()]

    @hookimpl
    def long_term(self, context: PluginContext) -> LongTermMemories:
        """Return the long-term memories of a memory, which are opened once.

        Raises:
            ConfigError: `plugins.entries.memory-lancedb.enabled` is false, or a setting is wrong.
        """
        if not _is_on(context):
            raise ConfigError(
                "Long-term memories are off: plugins.entries.memory-lancedb.enabled is false.",
                remedy="Set it to true.",
            )
        from memoriter.extensions.longterm._memories import LongTermMemories
        from memoriter.extensions.longterm._parts import parts_of

        with self._lock:
            if self._opened is None or self._opened[0] is not context.memory:
                self._opened = context.memory, LongTermMemories(parts_of(context))
            return self._opened[1]

    @hookimpl
    def forgotten(self, context: PluginContext, receipt: Forgotten) -> Sequence[Diagnostic]:
        if not any(each.path in NOTES for each in receipt.notes):
            return ()
        try:
            return self.long_term(context).erase_removed()
        except MemoriterError as error:
            return [Diagnostic.of(error)]

    @hookimpl
    def checks(self, context: PluginContext) -> Sequence[Finding]:
        try:
            return list(_findings(self.long_term(context)))
        except MemoriterError as error:
            return [Finding("broken", error.message, error.remedy, error.code)]


def _findings(memories: LongTermMemories) -> Iterator[Finding]:
    """Yield how many long-term memories there are, and whether their note and their database agree."""
    from memoriter.extensions.longterm._rebuild import stats

    found = stats(memories)
    if found.stored is not None:
        count = f"{found.memories} long-term {'memory' if found.memories == 1 else 'memories'}"
        yield Finding("good", f"The note holds {count}, and {found.database} has {found.stored} of them.")
    for reason in found.reasons:
        state = "note" if found.stored is not None else "broken"
        yield Finding(state, reason.message, reason.remedy, reason.code)


def _settings(context: PluginContext) -> LongTerm:
    return context.memory.configuration.extension(KEY, LongTermEntry).config


def _is_on(context: PluginContext) -> bool:
    """Return whether the settings do not turn the plugin off. Raises MissingPackage if its extra is not installed."""
    require("longterm", "The plugin for long-term memories")
    return context.memory.configuration.extension(KEY, LongTermEntry).enabled
