"""The plugin `memory-lancedb`: long-term memories as tools, as a recall source, and for `memoriter ltm`."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.config import expand, in_home, workspace_key
from memoriter.errors import ConfigError
from memoriter.hookspecs import hookimpl
from memoriter.longterm._capture import CaptureSettings, LongTermCapture
from memoriter.longterm._lance import LanceStore
from memoriter.longterm._memories import LongTermMemories
from memoriter.longterm._openclaw import has_openclaw_table
from memoriter.longterm._own_statements import OwnStatementsFile
from memoriter.longterm._parts import LongTermParts
from memoriter.longterm._recall import LongTermRecall
from memoriter.longterm._records import OWN_FOLDER, Origin
from memoriter.longterm._tools import LongTermTools
from memoriter.longterm._vector_file import VectorFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.agent import RecallSource
    from memoriter.config import LongTerm, MemorySearch
    from memoriter.hookspecs import Listener, MemoryLike, PluginContext
    from memoriter.longterm._store import LongTermStore
    from memoriter.tools import Tool

SLOT = "memory"
LONGEST_PRINCIPAL = 200
SERVICE = "openai"
"""The provider of OpenClaw's plugin, for settings that name a key or an address and no provider."""


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
        if not _enabled(context):
            return ()
        return LongTermTools(lambda: self.memories(context)).list()

    @hookimpl
    def recall_sources(self, context: PluginContext) -> Sequence[RecallSource]:
        settings = long_term_settings(context)
        if not (_enabled(context) and settings.auto_recall):
            return ()
        chars = settings.recall_max_chars
        tokens = settings.recall_max_tokens
        return [LongTermRecall(lambda: self.memories(context), context.services.monotonic, chars, tokens)]

    @hookimpl
    def listeners(self, context: PluginContext) -> Sequence[Listener]:
        settings = long_term_settings(context)
        if not (_enabled(context) and settings.auto_capture):
            return ()
        return [LongTermCapture(lambda: self.memories(context), capture_settings(settings)).listener()]

    def memories(self, context: PluginContext) -> LongTermMemories:
        """Return the long-term memories of a memory, which are opened once.

        Raises:
            ConfigError: `plugins.entries.memory-lancedb.enabled` is false, or a setting is wrong.
        """
        if not _enabled(context):
            raise ConfigError(
                "Long-term memories are off: plugins.entries.memory-lancedb.enabled is false.",
                remedy="Set it to true.",
            )
        with self._lock:
            if self._opened is None or self._opened[0] is not context.memory:
                self._opened = context.memory, LongTermMemories(_parts(context))
            return self._opened[1]


def long_term_settings(context: PluginContext) -> LongTerm:
    """Return the settings of the plugin."""
    return context.memory.configuration.settings.plugins.entries.memory_lancedb.config


def capture_settings(settings: LongTerm) -> CaptureSettings:
    """Return what is captured after a turn, and where it goes."""
    return CaptureSettings(
        mode="inbox" if settings.auto_capture == "inbox" else "store",
        rules=settings.capture_rules,
        most=settings.capture_max_chars,
        phrases=settings.custom_triggers,
        accept_from=settings.auto_accept_score,
    )


def embedding_settings(settings: LongTerm, search: MemorySearch) -> MemorySearch:
    """Return the settings of search with the provider of long-term memories; the same if that has no settings."""
    own = settings.embedding
    if not (own.provider or own.model or own.api_key or own.base_url):
        return search
    remote = search.remote
    if own.provider or own.api_key or own.base_url:
        remote = replace(remote, api_key=own.api_key or None, base_url=own.base_url or None)
    provider = own.provider or (SERVICE if own.api_key or own.base_url else search.provider)
    return replace(search, provider=provider, model=own.model or "", fallback="none", remote=remote)


def database_place(settings: LongTerm, home: Path, user_home: Path) -> str:
    """Return the folder or the address of the database."""
    written = settings.db_path
    if not written:
        return str(home / "memory" / "lancedb")
    return written if "://" in written else os.path.abspath(in_home(written, user_home))  # noqa: PTH100


def openclaw_folder(settings: LongTerm, database: str, state: Path | None) -> Path | None:
    """Return the folder with the table of OpenClaw's plugin that the settings name; None: they name none.

    Args:
        settings: the settings of the plugin.
        database: what `database_place` returns for them.
        state: OpenClaw's state folder if the configuration is OpenClaw's, which has the default place of the table.
    """
    if settings.db_path:
        folder = None if "://" in database else Path(database)
    else:
        folder = state / "memory" / "lancedb" if state else None
    return folder if folder is not None and has_openclaw_table(folder) else None


def principal_of(settings: LongTerm, note: str) -> str:
    """Return whose memories they are: the configured principal, or that of the folder of notes.

    Raises:
        ConfigError: the configured principal could be that of a folder, or is too long.
    """
    chosen = (settings.principal or "").strip()
    if chosen.startswith(OWN_FOLDER) or not chosen.isprintable() or len(chosen) > LONGEST_PRINCIPAL:
        rule = f"a name of at most {LONGEST_PRINCIPAL} printable characters that does not begin with {OWN_FOLDER!r}"
        raise ConfigError(
            f"The setting plugins.entries.memory-lancedb.config.principal is {chosen[:40]!r}, and must be {rule}.",
            remedy="Give a name, such as 'team'.",
        )
    return chosen or f"{OWN_FOLDER}{note}"


def _enabled(context: PluginContext) -> bool:
    return context.memory.configuration.settings.plugins.entries.memory_lancedb.enabled


def _parts(context: PluginContext) -> LongTermParts:
    services = context.services
    settings = long_term_settings(context)
    place = context.memory.place
    database = database_place(settings, services.home, services.user_home)
    note = workspace_key(place.workspace)
    recalls_agents = context.memory.configuration.settings.trust.agent == "recall"
    trusted = frozenset[Origin]({"agent"} if recalls_agents else ())
    options = {name: expand(value, services.environ) for name, value in settings.storage_options.items()}

    def open_store(model: str, dimensions: int) -> LongTermStore:
        wanted = settings.embedding.dimensions
        if wanted is not None and wanted != dimensions:
            raise ConfigError(
                f"The embedding model has vectors of {dimensions} numbers, and "
                f"plugins.entries.memory-lancedb.config.embedding.dimensions is {wanted}.",
                remedy="Remove that setting, or name another model.",
            )
        return LanceStore(database, model=model, dimensions=dimensions, options=options, trusted=trusted)

    principal = principal_of(settings, note)
    return LongTermParts(
        workspace=services.workspace,
        backend=services.backend,
        embedding=services.embedding(embedding_settings(settings, context.memory.settings)),
        open_store=open_store,
        database=database,
        vectors=VectorFile(services.home / "memory" / "long-term-vectors", note),
        principal=principal,
        shared=not principal.startswith(OWN_FOLDER),
        note=note,
        own=OwnStatementsFile(services.home / "memory" / "long-term-own" / f"{note}.json"),
        owned=place.trust == "owner",
        trusted=trusted,
        openclaw=openclaw_folder(settings, database, context.memory.configuration.state),
        inbox_days=settings.inbox_days,
        wall=context.wall,
        new_id=services.new_id,
    )
