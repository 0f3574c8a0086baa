"""The active plugins: the installed ones without a slot, and the one that fills the memory slot."""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import pluggy

from memoriter.agent import Listener, MarkdownRecall, RecallSource
from memoriter.embedding_setup import embedding_of
from memoriter.errors import ConfigError, MissingPackage, sentence
from memoriter.extras import require
from memoriter.hookspecs import GROUP, HookSpecs, PluginContext, PluginServices, Tool, hookimpl
from memoriter.tools import tools_for
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.backends import Embedding, MemoryBackend
    from memoriter.codes import DiagnosticCode
    from memoriter.config import Configuration, MemorySearch
    from memoriter.environment import Environment
    from memoriter.hookspecs import MemoryLike
    from memoriter.longterm import LongTermMemories
    from memoriter.workspace import Workspace

CORE = "memory-core"
NONE = "none"
SLOT = "memory"
LONG_TERM_NOTES = frozenset({"memory/long-term.md", "memory/inbox.md"})
"""Notes whose lines the plugin for long-term memories recalls itself, or only once they are accepted."""
LONG_TERM = "memory-lancedb"
"""The plugin for long-term memories, in `longterm`. A package may provide another one of this name."""

LIMIT = 20.0
"""Seconds that the import of a plugin, or one of its functions in `HookSpecs`, may take."""
_T = TypeVar("_T")

log = logging.getLogger(__name__)


class Installed(NamedTuple):
    """A plugin that a package provides; it is not imported yet."""

    name: str
    load: Callable[[], object]


class MemoryCore:
    """memoriter's own features for agents, as a plugin."""

    @hookimpl
    def slot(self) -> str:
        return SLOT

    @hookimpl
    def tools(self, context: PluginContext) -> Sequence[Tool]:
        citations = context.memory.configuration.settings.memory.citations
        return tools_for(context.memory.settings, citations=citations != "off")

    @hookimpl
    def recall_sources(self, context: PluginContext) -> Sequence[RecallSource]:
        if not context.memory.settings.enabled:
            return []
        active = context.memory.configuration.settings.plugins.slots.names
        return [MarkdownRecall(context.memory, without=LONG_TERM_NOTES if LONG_TERM in active else frozenset())]


@dataclass(slots=True)
class Plugins:
    """The active plugins, and diagnostics for the skipped ones."""

    manager: pluggy.PluginManager
    services: PluginServices
    reasons: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def tools(self, memory: MemoryLike) -> tuple[Tool, ...]:
        """Return all tools that the agent can call; of several with the same name, the first."""
        named = dict[str, Tool]()
        for owner, tool in self._collect("tools", memory, Tool):
            if tool.name in named:
                self._add_diagnostic(
                    "plugin_conflict", f"The plugin {owner!r} offers {tool.name!r}, which is there already."
                )
            named.setdefault(tool.name, tool)
        return tuple(named.values())

    def recall_sources(self, memory: MemoryLike) -> tuple[RecallSource, ...]:
        """Return the recall sources of all plugins."""
        return tuple(source for _, source in self._collect("recall_sources", memory, RecallSource))

    def listeners(self, memory: MemoryLike) -> tuple[Listener, ...]:
        """Return the listeners of all plugins."""
        return tuple(listener for _, listener in self._collect("listeners", memory, Listener))

    def _collect(self, hook: str, memory: MemoryLike, kind: type[Any]) -> list[tuple[str, Any]]:
        """Return what each plugin provides for a hook, in the order of registration.

        A plugin that fails provides nothing.
        """
        collected = list[tuple[str, Any]]()
        for impl in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            name = impl.plugin_name
            context = self._context(memory, name)
            try:
                provided = _contained(partial(_listed, impl.function, [context][: len(impl.argnames)]))
                if invalid := [each for each in provided if not isinstance(each, kind)]:
                    raise TypeError(f"{hook} gave {type(invalid[0]).__name__}, not {kind.__name__}")  # noqa: TRY301
            except Exception as error:  # noqa: BLE001 - third-party code
                self.leave_out(name, error)
                continue
            collected += [(name, each) for each in provided]
        return collected

    def long_term(self, memory: MemoryLike) -> LongTermMemories:
        """Return the long-term memories. Raises ConfigError if `plugins.slots.memory` does not name their plugin."""
        from memoriter.longterm import LongTermPlugin

        plugin = self.manager.get_plugin(LONG_TERM)
        if not isinstance(plugin, LongTermPlugin):
            raise ConfigError(
                f"Long-term memories are off: the setting plugins.slots.memory does not name {LONG_TERM!r}.",
                remedy=f'Run `memoriter config set plugins.slots.memory \'["{CORE}", "{LONG_TERM}"]\'`.',
            )
        return plugin.memories(self._context(memory, LONG_TERM))

    def _context(self, memory: MemoryLike, name: str) -> PluginContext:
        services = self.services
        return PluginContext(memory, services.home / "plugins" / name, services.wall, services)

    def leave_out(self, name: str, error: Exception) -> None:
        """Log that a plugin is skipped, and keep a diagnostic with the reason."""
        message = f"The plugin {name!r} is left out: {type(error).__name__}: {sentence(error)}"
        log.warning("%s", message, exc_info=error)
        self._add_diagnostic("plugin_failed", message)

    def _add_diagnostic(self, code: DiagnosticCode, message: str) -> None:
        reason = Diagnostic(code, message, "Update the plugin, or remove its package.")
        if reason not in self.reasons:
            self.reasons.append(reason)


def load_plugins(slot: str | Sequence[str], installed: Sequence[Installed], services: PluginServices) -> Plugins:
    """Load and return the active plugins.

    Args:
        slot: `plugins.slots.memory`: `memory-core`, `memory-lancedb`, the name of an installed plugin, or several of
            them; `none` for no plugin at all.
        installed: the plugins that packages provide.
        services: parts of memoriter that plugins use.

    Raises:
        ConfigError: the slot names a plugin that is not installed, or that cannot be loaded.
    """
    names = (slot,) if isinstance(slot, str) else tuple(slot)
    manager = pluggy.PluginManager("memoriter")
    manager.add_hookspecs(HookSpecs)
    plugins = Plugins(manager, services)
    if names == (NONE,):
        return plugins
    own = [Installed(CORE, MemoryCore)]
    if LONG_TERM in names and LONG_TERM not in {plugin.name for plugin in installed}:
        own.insert(0, Installed(LONG_TERM, _long_term_plugin))
    _check_slots(names, installed)
    # pluggy calls the last registration first: memory-core, then long-term memories, then the others by name.
    for name, load in (*sorted(installed, reverse=True), *own):
        try:
            plugin, fills = _contained(partial(_loaded, load))
            _register(manager, name, plugin, fills, names)
        except Exception as error:
            if name in names:
                remedy = f"Repair its package, or set plugins.slots.memory to {CORE!r}."
                raise ConfigError(
                    f"The setting plugins.slots.memory names {name!r}, which cannot be loaded: {sentence(error)}",
                    remedy=error.remedy if isinstance(error, MissingPackage) else remedy,
                ) from error
            plugins.leave_out(name, error)
    return plugins


def _listed(function: Callable[..., Sequence[object]], arguments: Sequence[object]) -> list[object]:
    return list(function(*arguments))


def _contained(call: Callable[[], _T]) -> _T:
    """Return the result of a plugin's code, which may not return, may print, and may raise anything.

    Raises:
        Exception: what the code raised; RuntimeError for SystemExit and the like, TimeoutError after `LIMIT` seconds.
    """
    results = list[_T]()
    errors = list[Exception]()

    def run() -> None:
        try:
            results.append(call())
        except Exception as error:  # noqa: BLE001 - third-party code
            errors.append(error)
        except BaseException as error:  # noqa: BLE001 - as above; it would end the process
            errors.append(RuntimeError(f"it raised {error!r}"))

    thread = Thread(target=run, name="memoriter-plugin", daemon=True)
    # A thread of a server must not redirect what the main thread prints meanwhile.
    with redirect_stdout(sys.stderr) if current_thread() is main_thread() else nullcontext():
        thread.start()
        thread.join(LIMIT)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"it did not answer within {LIMIT:g} seconds")
    return results[0]


def _long_term_plugin() -> object:
    """Return the plugin for long-term memories. Raises MissingPackage if its extra is not installed."""
    require("longterm", "The plugin for long-term memories")
    from memoriter.longterm import LongTermPlugin

    return LongTermPlugin


def _check_slots(names: Sequence[str], installed: Sequence[Installed]) -> None:
    """Check that the plugins of the slot are installed.

    Raises:
        ConfigError: a plugin is not installed, or `none` is not alone.
    """
    available = {CORE, LONG_TERM, *(plugin.name for plugin in installed)}
    choices = " or ".join(repr(name) for name in sorted(available))
    if not names or NONE in names:
        message = f"The setting plugins.slots.memory is {[*names]!r}, which is no choice of plugins."
        raise ConfigError(message, remedy=f"Set it to {NONE!r} alone, or to {choices}, or to a list of these.")
    for name in names:
        if name not in available:
            message = f"The setting plugins.slots.memory names {name!r}, which is not installed."
            remedy = f"Set plugins.slots.memory to {choices}, or install the package that has {name!r}."
            raise ConfigError(message, remedy=remedy)


def _loaded(load: Callable[[], object]) -> tuple[object, object]:
    """Return a plugin, and the slot that it fills, or None."""
    plugin = load()
    if isinstance(plugin, type):
        plugin = cast("Callable[[], object]", plugin)()
    function = getattr(plugin, "slot", None)
    return plugin, function() if callable(function) and hasattr(function, "memoriter_impl") else None


def _register(manager: pluggy.PluginManager, name: str, plugin: object, fills: object, slots: Sequence[str]) -> None:
    """Register a plugin, unless it fills a slot for which other plugins are configured."""
    if fills is not None and fills != SLOT:
        raise ValueError(f"there is no slot {fills!r}")
    if fills is None and name in slots:
        raise ValueError("it does not say that it fills the memory slot")
    if fills is not None and name not in slots:
        return
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except Exception:
        manager.unregister(plugin)
        raise


class PluginHost(Protocol):
    """What a memory consists of, as far as plugins use it; `app.Assembly` has it."""

    @property
    def workspace(self) -> Workspace: ...
    @property
    def backend(self) -> MemoryBackend: ...
    @property
    def embedding(self) -> Embedding: ...
    @property
    def settings(self) -> MemorySearch: ...
    @property
    def configuration(self) -> Configuration: ...
    @property
    def env(self) -> Environment: ...


def services_for(host: PluginHost) -> PluginServices:
    """Return the parts of a memory for its plugins."""
    env = host.env
    embedding = host.embedding

    def provider(wanted: MemorySearch) -> Embedding:
        if wanted == host.settings:
            return embedding
        return embedding_of(host.configuration, wanted, env, attended=embedding.attended)

    def new_id() -> str:
        from uuid import uuid4

        return str(uuid4())

    return PluginServices(
        host.workspace, host.backend, provider, env.home, env.user_home, env.environ, env.wall, env.monotonic, new_id
    )


def installed_plugins() -> tuple[Installed, ...]:
    """Return the plugins that installed packages offer. Nothing of them is imported."""
    if not any(_offers(folder or ".", GROUP.encode()) for folder in sys.path):
        return ()  # without the 30 ms that importlib.metadata takes to load
    from importlib.metadata import entry_points

    return tuple(Installed(point.name, point.load) for point in entry_points(group=GROUP))


def _offers(folder: str, group: bytes) -> bool:
    """Return whether a package in a folder of Python's path may offer plugins of the group; True if that is unclear."""
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
