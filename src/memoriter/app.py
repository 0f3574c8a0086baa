"""The composition root: the one place that reads the environment and the clock and puts the parts together."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from memoriter.backends import BackendSettings, BuiltinBackend, Clocks
from memoriter.config import (
    PROJECT_FILE,
    agent_name,
    cache_of,
    check_home,
    check_trust,
    foreign_diagnostics,
    in_home,
    load,
    locate_index,
    missing_remedy,
    notices_of,
    openclaw_keys,
    select_place,
    workspace_key,
)
from memoriter.embedding_setup import embedding_of, reranking_of
from memoriter.entry_points import BACKENDS, load_named
from memoriter.environment import Environment, read_environment
from memoriter.errors import WorkspaceNotFound
from memoriter.index import index_files, is_foreign, network_of
from memoriter.permissions import make_private_folder, owners_of
from memoriter.search import SearchSettings
from memoriter.store_setup import StorePlace, load_driver
from memoriter.sync import ChunkingSettings, SessionRules, SyncSettings
from memoriter.values import dataclass
from memoriter.workspace import ExtraPath, Workspace, WriterRecords, client_memories

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from memoriter.agent import SessionEnvironment
    from memoriter.backends import BackendSetup, Embedding, MemoryBackend
    from memoriter.config import Configuration, IndexPlace, MemorySearch, Place
    from memoriter.memory_like import MemoryLike
    from memoriter.plugins import Plugins
    from memoriter.types import Diagnostic
    from memoriter.watch import Watch, WatchEvent, Watching
    from memoriter.workspace import Transcripts

RECALL_CHARS = 4_000
"""Characters put before a turn, where `memory.qmd.limits.maxInjectedChars` does not say."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """Everything that one `Memory` holds."""

    place: Place
    configuration: Configuration
    settings: MemorySearch
    agent: str
    workspace: Workspace
    backend: MemoryBackend
    embedding: Embedding
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    env: Environment
    remote: Callable[[Path], bool]
    """Whether a folder is on a network file system."""
    builtin: BuiltinBackend
    """The builtin engine, which answers alone or behind another backend."""
    again: Callable[[], Assembly]
    """Returns a second assembly with the same settings, for another thread."""
    notices: tuple[Diagnostic, ...] = ()
    """Diagnostics about untrusted files, files that others could read, and settings without effect."""

    @property
    def trusted(self) -> Assembly:
        """The assembly itself. Raises TrustRemoved if its folder was trusted and no longer is."""
        if self.place.trust == "trusted":
            check_trust(self.place, home=self.env.home)
        return self

    def watch(self, stop: Event, on_event: Callable[[WatchEvent], None] | None) -> Watch:
        """Return the watcher that keeps the index in sync with the files until `stop` is set."""
        from memoriter.watch import Watch, WatchRules

        sync = self.settings.sync
        rules = WatchRules(sync.watch_debounce_ms / 1000, sync.interval_minutes * 60)
        notify: Callable[[WatchEvent], None] = on_event or (lambda _: None)
        return Watch(self.backend, self.workspace, stop, self.wall, self.monotonic, rules, self.remote, notify)

    def watching(self, on_event: Callable[[WatchEvent], None] | None) -> Watching:
        """Run `watch` in a thread, with a separate backend, so that no search waits for an indexing run."""
        from memoriter.watch import Watching

        def opened(stop: Event, notify: Callable[[WatchEvent], None]) -> tuple[Watch, MemoryBackend]:
            return (another := self.again()).watch(stop, notify), another.backend

        return Watching(opened, on_event or (lambda _: None))


def settle(
    env: Environment,
    workspace: str | Path | None,
    config: str | Path | None,
    agent: str | None,
    *,
    by_person: bool = False,
) -> tuple[Place, Configuration, str]:
    """Return the workspace, the configuration and the agent.

    Args:
        env: The environment.
        workspace: The folder of notes as given.
        config: The configuration file as given.
        agent: The agent as given.
        by_person: Whether a person who stands in the current folder typed a command, so that it need not be trusted.

    Raises:
        ConfigError: The configuration is invalid.
    """
    check_home(env.home, owners_of(env.environ, root=True))
    file = Path(config) if config is not None else None
    written = load(file, home=env.home, environ=env.environ)
    chosen = agent or written.default_agent
    flag = Path(workspace) if workspace is not None else None
    place = select_place(written, chosen, flag, environ=env.environ, cwd=env.cwd, home=env.home, by_person=by_person)
    if os.path.lexists(place.workspace / PROJECT_FILE):
        written = load(file, home=env.home, environ=env.environ, project=place.workspace)
    return place, written, chosen


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
    place, configuration, chosen = settle(env, workspace, config, agent, by_person=by_person)
    settings = configuration.search_for(chosen)
    settings = adjust(settings) if adjust else settings
    notes = _workspace(place, configuration, settings, env, _transcripts(place, settings, configuration, chosen, env))
    index = place_of_index(configuration, chosen, place, env)
    index = replace(index, path=index_file) if index_file else index
    backend_settings = _backend_settings(
        settings,
        env,
        agent=chosen,
        place=place,
        index=index,
        workspace=notes.root,
        daily_note=configuration.settings.memory.daily_note,
        inspect=scratch is not None,
    )
    embedding = embedding_of(configuration, settings, env, scratch, agent=chosen, attended=attended)
    reranking = reranking_of(configuration, settings, env, embedding, brief=brief)
    builtin = BuiltinBackend(notes, backend_settings, embedding, Clocks(env.wall, env.monotonic), reranking)
    exported = partial(_transcripts, place, replace(settings, sources=("sessions",)), configuration, chosen, env)
    setup = backend_setup(configuration, chosen, env, notes.root)
    backend = setup.open(builtin, notes, exported) if setup else builtin
    return Assembly(
        place=place,
        configuration=configuration,
        settings=settings,
        agent=chosen,
        workspace=notes,
        backend=backend,
        embedding=embedding,
        wall=env.wall,
        monotonic=env.monotonic,
        env=env,
        remote=lambda folder: bool(network_of(folder, env.mounts)),
        builtin=builtin,
        again=partial(
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
        ),
        notices=(
            *foreign_diagnostics(index),
            *openclaw_keys(configuration, settings, chosen, env.environ, now=env.wall()).refused,
            *notices_of(place, configuration, home=env.home, user_home=env.user_home, index=index_files(index.path)),
        ),
    )


def backend_setup(configuration: Configuration, agent: str, env: Environment, workspace: Path) -> BackendSetup | None:
    """Return the backend that `memory.backend` names; None: the builtin engine. Raises ConfigError: not installed."""
    name = configuration.settings.memory.backend
    if name == "builtin":
        return None
    make = load_named(BACKENDS, name, setting="memory.backend", default="builtin")
    return cast("Callable[..., BackendSetup]", make)(configuration, agent, env, workspace)


def place_of_index(configuration: Configuration, agent: str, place: Place, env: Environment) -> IndexPlace:
    """Return the file of the index of an agent and a workspace, as with the driver `sqlite`."""
    return locate_index(
        configuration,
        agent,
        place.workspace,
        home=env.home,
        user_home=env.user_home,
        cache=cache_of(env.environ, env.user_home, mac=sys.platform == "darwin"),
        network_of=lambda folder: network_of(folder, env.mounts),
        is_foreign=is_foreign,
    )


def sessions_of(env: Environment, agent: str) -> Path:
    """Return the folder of an agent's transcripts."""
    return env.home / "agents" / agent_name(agent) / "sessions"


def plugins_of(assembly: Assembly) -> Plugins:
    """Return the active plugins of a memory. Raises ConfigError: the memory slot names one that is not installed."""
    from memoriter.plugins import installed_plugins, load_plugins, services_for

    names = assembly.configuration.settings.plugins.slots.names
    return load_plugins(names, installed_plugins(), services_for(assembly))


def session_environment_of(assembly: Assembly, plugins: Plugins, memory: MemoryLike) -> SessionEnvironment:
    """Return the environment that the sessions of a memory share."""
    from memoriter.agent import HookBus, SessionEnvironment, recall_listener
    from memoriter.tools import citations_on

    env = assembly.env
    settings = assembly.configuration.settings
    defaults = settings.agents.defaults
    limit = settings.memory.qmd.limits.max_injected_chars
    recalls = tuple(recall_listener(source) for source in plugins.recall_sources(memory))
    return SessionEnvironment(
        workspace=assembly.workspace,
        bus=HookBus(plugins.listeners(memory), monotonic=env.monotonic),
        recalls=recalls,
        folder=env.home / "agents" / agent_name(assembly.agent),
        wall=env.wall,
        zone=defaults.user_timezone,
        context_chars=defaults.bootstrap_max_chars,
        recall_chars=int(limit) if limit and limit >= 1 else RECALL_CHARS,
        compaction=defaults.compaction,
        window=defaults.context_tokens,
        cites=partial(citations_on, settings.memory.citations),
        reasons=tuple(plugins.reasons),
        active=settings.plugins.slots.names != ("none",),
        capture=settings.memory.capture,
        allowed=frozenset({"agent"} if settings.trust.agent == "recall" else ()),
    )


def _transcripts(
    place: Place, settings: MemorySearch, configuration: Configuration, agent: str, env: Environment
) -> Transcripts | None:
    if "sessions" not in settings.sources:
        return None
    from memoriter.workspace import transcripts_of

    # OpenClaw keeps what belongs to its agents in its state folder, which usually holds the configuration.
    files = [each.path for each in configuration.documents if each.kind == "file" and each.path]
    states = [configuration.state] if configuration.state else [(env.cwd / file).parent for file in files]
    return transcripts_of(
        agent_name(agent),
        settings.session_paths,
        homes=[env.home, *states],
        workspace=place.workspace,
        user_home=env.user_home,
        environ=env.environ,
        owned=place.trust == "owner",
    )


def _workspace(
    place: Place,
    configuration: Configuration,
    settings: MemorySearch,
    env: Environment,
    transcripts: Transcripts | None,
) -> Workspace:
    memory = configuration.settings.memory

    def make(folder: Path) -> None:
        make_private_folder(env.home)
        folder.mkdir(parents=True, exist_ok=True)

    extra = [ExtraPath(str(in_home(item.path, env.user_home)), item.pattern) for item in settings.extra_paths]
    extra += client_memories(
        settings.client_memories,
        workspace=place.workspace,
        user_home=env.user_home,
        environ=env.environ,
        owned=place.trust == "owner",
    )
    try:
        return Workspace(
            place.workspace,
            extra,
            transcripts=transcripts,
            make=make if place.reason == "default" else None,
            layout=None if memory.layout == "auto" else memory.layout,
            keep_layout=lambda: _keep_notes_layout(place.workspace),
            daily_note=memory.daily_note,
            extra_suffixes=memory.extra_suffixes,
            principal=(configuration.settings.plugins.entries.memory_lancedb.config.principal or "").strip(),
            writers=WriterRecords(env.home / "memory" / "writers" / f"{workspace_key(place.workspace)}.json"),
        )
    except WorkspaceNotFound as error:
        message = f"{error.message} It was chosen by: {place.reason}."
        raise WorkspaceNotFound(message, remedy=missing_remedy(place)) from error


def _keep_notes_layout(workspace: Path) -> None:
    """Write into the folder's own settings that all its Markdown files are memory. Raises ConfigError, WriteError."""
    from memoriter.settings_file import write_settings

    write_settings(workspace / PROJECT_FILE, {("memory", "layout"): "notes"}, workspace=workspace)


def _backend_settings(
    settings: MemorySearch,
    env: Environment,
    *,
    agent: str,
    place: Place,
    index: IndexPlace,
    workspace: Path,
    daily_note: str,
    inspect: bool,
) -> BackendSettings:
    return BackendSettings(
        agent=agent,
        workspace_reason=place.reason,
        index_path=index.path,
        open_store=load_driver(settings.store.driver)(StorePlace(settings, env, index, workspace, agent)),
        index_reason=index.reason if settings.store.driver == "sqlite" else "",
        search=_search_settings(settings),
        sync=SyncSettings(
            chunking=_cutting(settings, daily_note),
            max_entries=settings.cache.max_entries if settings.cache.enabled else 0,
            max_bytes=settings.cache.max_bytes,
            sessions=SessionRules(settings.sync.sessions.delta_bytes, settings.sync.sessions.delta_messages),
        ),
        on_search=settings.sync.on_search,
        debounce_ms=settings.sync.watch_debounce_ms,
        sources=settings.sources,
        sessions_dir=sessions_of(env, agent),
        deadline_ms=settings.query.deadline_ms,
        recovers=place.trust != "untrusted",
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
