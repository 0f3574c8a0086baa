"""The composition root: the one place that reads the environment and the clock and puts the parts together."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from memoriter.backends import BackendSettings, BuiltinBackend, Clocks
from memoriter.config import agent_name, effect_diagnostics, foreign_diagnostics
from memoriter.embedding_setup import embedding_of, language_model_of, reranking_of
from memoriter.entry_points import BACKENDS, load_named
from memoriter.environment import Environment, read_environment
from memoriter.index import index_files, network_of
from memoriter.notes import Notes, open_notes, place_of_index, sessions_of, transcripts_for
from memoriter.search import SearchSettings
from memoriter.store_setup import StorePlace, load_driver
from memoriter.sync import ChunkingSettings, SessionRules, SyncSettings
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from threading import Event

    from memoriter.agent import SessionEnvironment
    from memoriter.backends import BackendSetup, Embedding, LanguageModel, MemoryBackend
    from memoriter.config import Configuration, IndexPlace, MemorySearch
    from memoriter.memory_like import MemoryLike
    from memoriter.plugins import Plugins
    from memoriter.types import Diagnostic
    from memoriter.watch import Watch, WatchEvent, Watching

RECALL_CHARS = 4_000
"""Characters put before a turn, where `memory.qmd.limits.maxInjectedChars` does not say."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """Everything that one `Memory` holds: the notes, and what searches them."""

    notes: Notes
    backend: MemoryBackend
    """What answers searches."""
    builtin: BuiltinBackend
    """The builtin engine, which answers alone or behind another backend."""
    embedding: Embedding
    language_model: LanguageModel | None
    """What `tidy` asks, if the settings name one."""
    notices: tuple[Diagnostic, ...]
    """Diagnostics about untrusted files, files that others could read, and settings without effect."""
    again: Callable[[], Assembly]
    """Returns a second assembly with the same settings, for another thread."""

    @contextmanager
    def past(self, texts: dict[str, bytes]) -> Generator[BuiltinBackend]:
        """Yield a backend that searches the texts of notes of the past, by their cited paths; it is closed afterwards.

        Its index is kept for the next question about the same texts. Raises IndexBusy if text is forgotten meanwhile.
        """
        from memoriter.backends import (
            PAST_NOTES,
            forgotten_meanwhile,
            index_past,
            keep_states,
            make_state,
            state_name,
        )
        from memoriter.permissions import make_private_folder

        builtin = self.builtin
        wall = self.notes.env.wall()
        parent = self.notes.env.home / "memory" / "past"
        make_private_folder(parent)
        settings = builtin.settings.sync.chunking.fingerprint, self.notes.agent
        folder = parent / state_name(texts, str(self.notes.place.workspace), *settings)
        new = not folder.is_dir()
        if new:
            make_state(folder, texts, lambda made: index_past(builtin, self._past_backend(made)))
        try:
            os.utime(folder / PAST_NOTES, (wall, wall))
            if new:
                keep_states(folder, now=wall)
            backend = self._past_backend(folder)
            try:
                yield backend
            finally:
                backend.close_index()
        finally:  # whatever an index has answered whose files are gone
            if not (folder / PAST_NOTES).is_dir():
                raise forgotten_meanwhile()

    def _past_backend(self, folder: Path) -> BuiltinBackend:
        """Return a backend for the notes and the index of a state of the past."""
        from memoriter.backends import PAST_NOTES
        from memoriter.workspace import Workspace

        notes = self.notes
        memory = notes.configuration.settings.memory
        root = folder / PAST_NOTES
        workspace = Workspace(root, layout="notes", daily_note=memory.daily_note, extra_suffixes=memory.extra_suffixes)
        place = place_of_index(notes.configuration, notes.agent, notes.place, notes.env)
        index = replace(place, path=folder / "index.sqlite")
        driver = load_driver("sqlite")(
            StorePlace(notes.configuration, notes.settings, notes.env, index, root, notes.agent)
        )
        settings = replace(_backend_settings(notes, index, inspect=False), open_store=driver)
        builtin = self.builtin
        return BuiltinBackend(workspace, settings, builtin.embedding, builtin.clocks, builtin.reranking)

    def is_remote(self, folder: Path) -> bool:
        """Return whether a folder is on a network file system."""
        return bool(network_of(folder, self.notes.env.mounts))

    def watch(self, stop: Event, on_event: Callable[[WatchEvent], None] | None) -> Watch:
        """Return the watcher that keeps the index in sync with the files until `stop` is set."""
        from memoriter.watch import Watch, WatchRules

        sync = self.notes.settings.sync
        rules = WatchRules(sync.watch_debounce_ms / 1000, sync.interval_minutes * 60)
        notify: Callable[[WatchEvent], None] = on_event or (lambda _: None)
        env = self.notes.env
        return Watch(self.backend, self.notes.workspace, stop, env.wall, env.monotonic, rules, self.is_remote, notify)

    def watching(self, on_event: Callable[[WatchEvent], None] | None) -> Watching:
        """Run `watch` in a thread, with a separate backend, so that no search waits for an indexing run."""
        from memoriter.watch import Watching

        def opened(stop: Event, notify: Callable[[WatchEvent], None]) -> tuple[Watch, MemoryBackend]:
            return (another := self.again()).watch(stop, notify), another.backend

        return Watching(opened, on_event or (lambda _: None))


def assemble(
    workspace: str | Path | None = None,
    *,
    config: str | Path | None = None,
    agent: str | None = None,
    env: Environment | None = None,
    scratch: Path | None = None,
    by_person: bool = False,
    attended: bool = True,
    brief: bool = False,
    adjust: Callable[[MemorySearch], MemorySearch] | None = None,
    index_file: Path | None = None,
) -> Assembly:
    """Put one memory together; nothing is opened yet. Raises ConfigError and WorkspaceNotFound.

    With a `scratch` folder, which holds what models store, the memory only inspects: nothing else is written. With
    `by_person`, a person typed a command, so that the current folder need not be trusted. If not `attended`, nobody
    would see a notice, so text is sent only to services that a person was informed about before. A `brief` process ends
    after one answer, and does not load the judge unasked. For a measurement, `adjust` changes the settings of search,
    and `index_file` takes the place of the configured index.
    """
    env = env or read_environment()
    notes = open_notes(workspace, config=config, agent=agent, env=env, by_person=by_person, adjust=adjust)
    place = notes.place
    configuration = notes.configuration
    settings = notes.settings
    chosen = notes.agent
    index = place_of_index(configuration, chosen, place, env)
    index = replace(index, path=index_file) if index_file else index
    backend_settings = _backend_settings(notes, index, inspect=scratch is not None)
    embedding = embedding_of(configuration, settings, env, scratch, agent=chosen, attended=attended)
    reranking = reranking_of(configuration, settings, env, embedding, brief=brief)
    builtin = BuiltinBackend(notes.workspace, backend_settings, embedding, Clocks(env.wall, env.monotonic), reranking)
    exported = partial(transcripts_for, place, replace(settings, sources=("sessions",)), configuration, chosen, env)
    setup = backend_setup(configuration, chosen, env, notes.workspace.root)
    backend = setup.open(builtin, notes.workspace, exported) if setup else builtin
    again = partial(
        assemble,
        workspace,
        config=config,
        agent=agent,
        env=env,
        by_person=by_person,
        attended=attended,
        brief=brief,
        adjust=adjust,
        index_file=index_file,
    )
    notices = (
        *foreign_diagnostics(index),
        *notes.find_notices(index_files(index.path)),
        *effect_diagnostics(configuration),
    )
    model = language_model_of(configuration, env, embedding)
    return Assembly(notes, backend, builtin, embedding, model, notices, again)


def backend_setup(configuration: Configuration, agent: str, env: Environment, workspace: Path) -> BackendSetup | None:
    """Return the backend that `memory.backend` names; None: the builtin engine. Raises ConfigError: not installed."""
    name = configuration.settings.memory.backend
    if name == "builtin":
        return None
    make = load_named(BACKENDS, name, setting="memory.backend", default="builtin")
    return cast("Callable[..., BackendSetup]", make)(configuration, agent, env, workspace)


def plugins_of(assembly: Assembly) -> Plugins:
    """Return the active plugins of a memory. Raises ConfigError: the memory slot names one that is not installed."""
    from memoriter.plugins import installed_plugins, load_plugins, services_for

    names = assembly.notes.configuration.settings.plugins.slots.names
    return load_plugins(names, installed_plugins(), services_for(assembly))


def session_environment_of(
    assembly: Assembly, plugins: Plugins, memory: MemoryLike, index_changes: Callable[[str], tuple[Diagnostic, ...]]
) -> SessionEnvironment:
    """Return the environment that the sessions of a memory share; each calls `index_changes` with its key first."""
    from memoriter.agent import HookBus, SessionEnvironment, recall_listener
    from memoriter.tools import citations_on

    env = assembly.notes.env
    settings = assembly.notes.configuration.settings
    defaults = settings.agents.defaults
    limit = assembly.notes.configuration.character_limit
    recalls = tuple(recall_listener(source) for source in plugins.recall_sources(memory))
    return SessionEnvironment(
        workspace=assembly.notes.workspace,
        bus=HookBus(plugins.listeners(memory), monotonic=env.monotonic),
        recalls=recalls,
        folder=env.home / "agents" / agent_name(assembly.notes.agent),
        wall=env.wall,
        zone=defaults.user_timezone,
        context_chars=defaults.bootstrap_max_chars,
        recall_chars=int(limit) if limit and limit >= 1 else RECALL_CHARS,
        compaction=defaults.compaction,
        window=defaults.context_tokens,
        cites=partial(citations_on, settings.memory.citations),
        index_changes=index_changes,
        reasons=tuple(plugins.reasons),
        active=settings.plugins.slots.names != ("none",),
        capture=settings.memory.capture,
        allowed=frozenset({"agent"} if settings.trust.agent == "recall" else ()),
    )


def _backend_settings(notes: Notes, index: IndexPlace, *, inspect: bool) -> BackendSettings:
    settings = notes.settings
    store_place = StorePlace(notes.configuration, settings, notes.env, index, notes.workspace.root, notes.agent)
    return BackendSettings(
        agent=notes.agent,
        workspace_reason=notes.place.reason,
        index_path=index.path,
        open_store=load_driver(settings.store.driver)(store_place),
        index_reason=index.reason if settings.store.driver == "sqlite" else "",
        search=_search_settings(settings),
        sync=SyncSettings(
            chunking=_cutting(settings, notes.configuration.settings.memory.daily_note),
            max_entries=settings.cache.max_entries if settings.cache.enabled else 0,
            max_bytes=settings.cache.max_bytes,
            sessions=SessionRules(settings.sync.sessions.delta_bytes, settings.sync.sessions.delta_messages),
        ),
        on_search=settings.sync.on_search,
        debounce_ms=settings.sync.watch_debounce_ms,
        sources=settings.sources,
        sessions_dir=sessions_of(notes.env, notes.agent),
        deadline_ms=settings.query.deadline_ms,
        recovers=notes.place.trust != "untrusted",
        inspect=inspect,
    )


def _search_settings(settings: MemorySearch) -> SearchSettings:
    query = settings.query
    hybrid = query.hybrid
    return SearchSettings(
        max_results=query.max_results,
        max_per_note=query.max_per_note,
        min_score=query.min_score,
        scoring=query.scoring,
        hybrid=hybrid.enabled,
        vector_weight=hybrid.vector_weight,
        text_weight=hybrid.text_weight,
        candidate_multiplier=hybrid.candidate_multiplier,
        mmr_lambda=hybrid.mmr.lambda_ if hybrid.mmr.enabled else None,
        half_life_days=hybrid.temporal_decay.half_life_days if hybrid.temporal_decay.enabled else None,
    )


def _cutting(settings: MemorySearch, daily_note: str) -> ChunkingSettings:
    """Classic scoring comes with the chunks and the words it was made for, unless the chunks are chosen."""
    classic = settings.query.scoring == "classic"
    strategy = settings.chunking.strategy or ("lines" if classic else "markdown")
    words = "classic" if classic else "analysed"
    return ChunkingSettings(strategy, settings.chunking.tokens, settings.chunking.overlap, words, daily_note)
