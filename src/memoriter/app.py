"""The composition root: the one place that reads the environment and the clock and puts the parts together."""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.backends import BackendSettings, Budget, BuiltinBackend, Clocks, Embedding
from memoriter.config import (
    agent_name,
    cache_of,
    check_home,
    default_local_model,
    expand,
    foreign_diagnostics,
    in_home,
    load,
    locate_index,
    missing_remedy,
    notices_of,
    openclaw_keys,
    select_place,
)
from memoriter.embed import ProviderContext, ProviderSettings, ServiceConfig, model_place
from memoriter.environment import Environment, read_environment
from memoriter.errors import ConfigError, WorkspaceNotFound
from memoriter.index import Ledger, index_files, is_foreign, network_of
from memoriter.permissions import make_private_folder, owners_of
from memoriter.search import SearchSettings
from memoriter.sync import ChunkingSettings, SessionRules, SyncSettings
from memoriter.workspace import ExtraPath, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event

    from memoriter.agent import Surrounds
    from memoriter.backends import MemoryBackend
    from memoriter.config import Configuration, IndexPlace, MemorySearch, ModelProvider, Place, RemoteSection
    from memoriter.embed import BatchRules
    from memoriter.plugins import Installed, Plugins
    from memoriter.sync import Watch, WatchEvent
    from memoriter.tools import MemoryLike
    from memoriter.types import Diagnostic
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
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    around: Environment
    remote: Callable[[Path], bool]
    """Whether a folder is on a network file system."""
    again: Callable[[], Assembly]
    """The same once more, for another thread."""
    notices: tuple[Diagnostic, ...] = ()
    """Diagnostics about untrusted files, files that others could read, and settings without effect."""

    def watch(self, stop: Event, told: Callable[[WatchEvent], None]) -> Watch:
        """What keeps the index true to the files until `stop` is set."""
        from memoriter.sync import Watch, WatchRules

        sync = self.settings.sync
        rules = WatchRules(sync.watch_debounce_ms / 1000, sync.interval_minutes * 60)
        return Watch(self.backend, self.workspace, stop, self.wall, self.monotonic, rules, self.remote, told)


def spare_threads() -> None:
    """Let NumPy start without a thread for each core, in a process that asks one question and ends: .04 CPU-seconds.

    Only for a program of ours: who imports memoriter keeps the threads they chose, and those NumPy started with stay.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def settle(
    around: Environment, workspace: str | Path | None, config: str | Path | None, agent: str | None
) -> tuple[Place, Configuration, str]:
    """Which workspace, which configuration, which agent. Raises ConfigError."""
    check_home(around.home, owners_of(around.environ, root=True))
    file = Path(config) if config is not None else None
    written = load(file, home=around.home, environ=around.environ)
    chosen = agent or written.default_agent
    flag = Path(workspace) if workspace is not None else None
    place = select_place(written, chosen, flag, environ=around.environ, cwd=around.cwd, home=around.home)
    return place, load(file, home=around.home, environ=around.environ, project=place.workspace), chosen


def assemble(
    workspace: str | Path | None = None,
    *,
    config: str | Path | None = None,
    agent: str | None = None,
    around: Environment | None = None,
    scratch: Path | None = None,
) -> Assembly:
    """Put one memory together; nothing is opened yet. Raises ConfigError and WorkspaceNotFound.

    With a `scratch` folder, which holds what models store, the memory only inspects: nothing else is written.
    """
    around = around or read_environment()
    place, configuration, chosen = settle(around, workspace, config, agent)
    settings = configuration.search_for(chosen)
    notes = _workspace(
        place, settings, around, transcripts=_transcripts(place, settings, configuration, chosen, around)
    )
    index = locate_index(
        configuration,
        chosen,
        place.workspace,
        home=around.home,
        user_home=around.user_home,
        cache=cache_of(around.environ, around.user_home, mac=sys.platform == "darwin"),
        network_of=lambda folder: network_of(folder, around.mounts),
        is_foreign=is_foreign,
    )
    told = _backend_settings(
        settings, around, agent=chosen, reason=place.reason, index=index, inspect=scratch is not None
    )
    embedding = embedding_of(configuration, settings, around, scratch, agent=chosen)
    backend = BuiltinBackend(notes, told, embedding, Clocks(around.wall, around.monotonic))
    return Assembly(
        place,
        configuration,
        settings,
        chosen,
        notes,
        backend,
        around.wall,
        around.monotonic,
        around,
        remote=lambda folder: bool(network_of(folder, around.mounts)),
        again=lambda: assemble(workspace, config=config, agent=agent, around=around),
        notices=(
            *foreign_diagnostics(index),
            *openclaw_keys(configuration, settings, chosen, around.environ).refused,
            *notices_of(
                place, configuration, home=around.home, user_home=around.user_home, index=index_files(index.path)
            ),
        ),
    )


def sessions_of(around: Environment, agent: str) -> Path:
    """Where an agent's transcripts are kept."""
    return around.home / "agents" / agent_name(agent) / "sessions"


def new_session() -> str:
    """A name that no other session has."""
    from uuid import uuid4

    return str(uuid4())


def plugins_of(assembly: Assembly) -> Plugins:
    """The active plugins of a memory. Raises ConfigError: the memory slot names one that is not installed."""
    from memoriter.plugins import load_plugins

    slots, around = assembly.configuration.settings.plugins.slots, assembly.around
    return load_plugins(slots.memory, installed_plugins(), home=around.home, wall=around.wall)


def surrounds_of(assembly: Assembly, plugins: Plugins, memory: MemoryLike) -> Surrounds:
    """What the sessions around a memory share."""
    from memoriter.agent import HookBus, Surrounds, recall_listener

    around, settings = assembly.around, assembly.configuration.settings
    defaults, limit = settings.agents.defaults, settings.memory.qmd.limits.max_injected_chars
    bus = HookBus(plugins.listeners(memory), monotonic=around.monotonic)
    recalls = tuple(recall_listener(source) for source in plugins.recall_sources(memory))
    return Surrounds(
        workspace=assembly.workspace,
        bus=bus,
        recalls=recalls,
        folder=around.home / "agents" / agent_name(assembly.agent),
        wall=around.wall,
        zone=defaults.user_timezone,
        context_chars=defaults.bootstrap_max_chars,
        recall_chars=int(limit) if limit and limit >= 1 else RECALL_CHARS,
        compaction=defaults.compaction,
        window=defaults.context_tokens,
        reasons=tuple(plugins.reasons),
        active=settings.plugins.slots.memory != "none",
    )


def installed_plugins() -> tuple[Installed, ...]:
    """The plugins that installed packages offer. Nothing of them is imported."""
    from memoriter.hookspecs import GROUP
    from memoriter.plugins import Installed

    if not any(_offers(folder or ".", GROUP.encode()) for folder in sys.path):
        return ()  # without the 30 ms that importlib.metadata takes to load
    from importlib.metadata import entry_points

    return tuple(Installed(point.name, point.load) for point in entry_points(group=GROUP))


def _offers(folder: str, group: bytes) -> bool:
    """Whether a package below a folder of Python's path may offer plugins of the group; True where it is not clear."""
    try:
        packages = [path for path in Path(folder).iterdir() if path.suffix in {".dist-info", ".egg-info"}]
    except FileNotFoundError:
        return False
    except OSError:
        return True  # an archive
    for package in packages:
        with suppress(OSError):
            if group in (package / "entry_points.txt").read_bytes():
                return True
    return False


def ledger_of(around: Environment) -> Ledger:
    """What was spent at services, by everybody who shares this home."""
    folder = around.home / "memory"
    return Ledger(folder / "ledger.sqlite", wall=around.wall, network=bool(network_of(folder, around.mounts)))


def embedding_of(
    configuration: Configuration,
    settings: MemorySearch,
    around: Environment,
    scratch: Path | None = None,
    *,
    agent: str = "",
) -> Embedding:
    """The provider that the settings name; nothing is opened or asked yet.

    With a `scratch` folder, models store their checks there, and not in the home. `agent` is the one whose keys of
    OpenClaw are used; empty: the default agent.
    """
    found = openclaw_keys(configuration, settings, agent or configuration.default_agent, around.environ)
    environ = {**found.variables, **around.environ}
    remote, local, ledger = settings.remote, settings.local, ledger_of(around)
    entries = configuration.settings.models.providers
    services = {name: _address(entry, entry.api, environ) for name, entry in entries.items()}
    own = _address(remote, None, environ)
    told = ProviderSettings(
        cache_dir=scratch or around.home / "models",
        name=settings.provider,
        model=settings.model,
        fallback=settings.fallback,
        base_url=own.base_url,
        api_key=own.api_key,
        headers=own.headers,
        problem=own.problem,
        services=services,
        local_model=model_place(local.model_path or default_local_model(settings) or "", around.user_home),
        model_cache_dir=in_home(local.model_cache_dir, around.user_home)
        if local.model_cache_dir
        else around.home / "models",
        offline=settings.offline,
        environ=around.environ,
        found_keys=found.keys,
    )
    outside = ProviderContext(around.wall, around.monotonic, time.sleep, random.random, ledger)
    budget = Budget(remote.budget.tokens_per_day, remote.budget.dollars_per_day)
    return Embedding(told, outside, ledger, budget, _batch_rules(settings))


def _address(written: RemoteSection | ModelProvider, api: str | None, environ: Mapping[str, str]) -> ServiceConfig:
    """A service as it is written, with `${NAME}` replaced; a variable that is not set is a problem of its user only."""
    try:
        return ServiceConfig(
            expand(written.base_url or "", environ),
            expand(written.api_key or "", environ),
            api or "",
            {name: expand(value, environ) for name, value in written.headers.items()},
        )
    except ConfigError as error:
        return ServiceConfig(api=api or "", problem=error)


def _batch_rules(settings: MemorySearch) -> BatchRules | None:
    batch = settings.remote.batch
    if not batch.enabled:
        return None
    from memoriter.embed import BatchRules

    return BatchRules(batch.wait, batch.concurrency, batch.poll_interval_ms / 1000, float(batch.timeout_minutes))


def _transcripts(
    place: Place, settings: MemorySearch, configuration: Configuration, agent: str, around: Environment
) -> Transcripts | None:
    if "sessions" not in settings.sources:
        return None
    from memoriter.workspace import transcripts_of

    # OpenClaw keeps what belongs to its agents in its state folder, which usually holds the configuration.
    files = [document.path for document in configuration.documents if document.kind == "file" and document.path]
    states = [configuration.state] if configuration.state else [(around.cwd / file).parent for file in files]
    homes = [around.home, *states]
    return transcripts_of(
        agent_name(agent),
        settings.session_paths,
        homes=homes,
        workspace=place.workspace,
        user_home=around.user_home,
        environ=around.environ,
    )


def _workspace(
    place: Place, settings: MemorySearch, around: Environment, *, transcripts: Transcripts | None
) -> Workspace:

    def make(folder: Path) -> None:
        make_private_folder(around.home)
        folder.mkdir(parents=True, exist_ok=True)

    extra = [ExtraPath(str(in_home(item.path, around.user_home)), item.pattern) for item in settings.extra_paths]
    try:
        return Workspace(
            place.workspace, extra, transcripts=transcripts, make=make if place.reason == "default" else None
        )
    except WorkspaceNotFound as error:
        raise WorkspaceNotFound(
            f"{error.message} It was chosen by: {place.reason}.",
            remedy=missing_remedy(place),
        ) from error


def _backend_settings(
    settings: MemorySearch, around: Environment, *, agent: str, reason: str, index: IndexPlace, inspect: bool
) -> BackendSettings:
    vector = settings.store.vector
    return BackendSettings(
        agent=agent,
        workspace_reason=reason,
        index_path=index.path,
        index_reason=index.reason,
        network=index.network,
        search=_search_settings(settings),
        sync=SyncSettings(
            chunking=_cutting(settings),
            max_entries=settings.cache.max_entries if settings.cache.enabled else 0,
            max_bytes=settings.cache.max_bytes,
            sessions=SessionRules(settings.sync.sessions.delta_bytes, settings.sync.sessions.delta_messages),
        ),
        engine=vector.engine if vector.enabled else "exact",
        extension_path=str(in_home(vector.extension_path, around.user_home)) if vector.extension_path else None,
        on_search=settings.sync.on_search,
        debounce_ms=settings.sync.watch_debounce_ms,
        sources=settings.sources,
        sessions_dir=sessions_of(around, agent),
        deadline_ms=settings.query.deadline_ms,
        inspect=inspect,
    )


def _search_settings(settings: MemorySearch) -> SearchSettings:
    query = settings.query
    hybrid = query.hybrid
    return SearchSettings(
        max_results=query.max_results,
        min_score=query.min_score,
        scoring=query.scoring,
        hybrid=hybrid.enabled,
        vector_weight=hybrid.vector_weight,
        text_weight=hybrid.text_weight,
        candidate_multiplier=hybrid.candidate_multiplier,
        mmr_lambda=hybrid.mmr.lambda_ if hybrid.mmr.enabled else None,
        half_life_days=hybrid.temporal_decay.half_life_days if hybrid.temporal_decay.enabled else None,
    )


def _cutting(settings: MemorySearch) -> ChunkingSettings:
    """Classic scoring comes with the chunks and the words it was made for, unless the chunks are chosen."""
    classic = settings.query.scoring == "classic"
    strategy = settings.chunking.strategy or ("lines" if classic else "markdown")
    words = "classic" if classic else "analysed"
    return ChunkingSettings(strategy, settings.chunking.tokens, settings.chunking.overlap, words)
