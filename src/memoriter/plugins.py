"""The active plugins: the installed ones without a slot, and the one that fills the memory slot."""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext, redirect_stdout
from functools import partial
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import pluggy

from memoriter.agent import Listener, MarkdownRecall, RecallSource
from memoriter.embedding_setup import embedding_of
from memoriter.entry_points import entry_points, unusable
from memoriter.errors import ConfigError, MissingPackage, sentence
from memoriter.hookspecs import GROUP, Finding, HookSpecs, PluginContext, PluginServices, Tool, hookimpl
from memoriter.tools import tools_for
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.backends import Embedding, Forgotten, MemoryBackend
    from memoriter.codes import DiagnosticCode
    from memoriter.config import MemorySearch
    from memoriter.hookspecs import MemoryLike
    from memoriter.notes import Notes

CORE = "memory-core"
NONE = "none"
SLOT = "memory"
LONG_TERM = "memory-lancedb"
"""The plugin that a message names where long-term memories are off."""
OWN = "memoriter."
"""The beginning of the modules of memoriter's own plugins. A package may provide another plugin of the same name."""

LIMIT = 20.0
"""Seconds that the import of a plugin may take, and each function in `HookSpecs` that is called before an answer."""
_T = TypeVar("_T")

log = logging.getLogger(__name__)


class Installed(NamedTuple):
    """A plugin that a package provides; it is not imported yet."""

    name: str
    load: Callable[[], object]


class MemoryCore:
    """memoriter's own features for agents, as a plugin."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

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
        return [MarkdownRecall(context.memory, without=self._plugins.own_notes(context.memory))]


@dataclass(slots=True)
class Plugins:
    """The active plugins, and diagnostics for the skipped ones."""

    manager: pluggy.PluginManager
    services: PluginServices
    slot: tuple[str, ...] = ()
    """The plugins that `plugins.slots.memory` names."""
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

    def own_notes(self, memory: MemoryLike) -> frozenset[str]:
        """Return the paths of notes that recall sources of plugins read."""
        return frozenset(path for _, path in self._collect("own_notes", memory, str))

    def forgotten(self, memory: MemoryLike, receipt: Forgotten) -> tuple[Diagnostic, ...]:
        """Let all plugins remove what was forgotten, and return diagnostics for what is left, or for what failed."""
        left = list[Diagnostic]()
        for name, answer in self._answers("forgotten", memory, Diagnostic, limit=None, receipt=receipt):
            left += [self.leave_out(name, answer)] if isinstance(answer, Exception) else answer
        return tuple(left)

    def checks(self, memory: MemoryLike) -> tuple[tuple[str, Finding], ...]:
        """Return the findings of all plugins, each with the name of its plugin; a failed check is a finding, too."""
        findings = list[tuple[str, Finding]]()
        for name, answer in self._answers("checks", memory, Finding, limit=None):
            if isinstance(answer, Exception):
                reason = self.leave_out(name, answer)
                findings.append((name, Finding("broken", reason.message, reason.remedy, reason.code)))
            else:
                findings += [(name, each) for each in answer]
        return tuple(findings)

    def long_term(self, memory: MemoryLike) -> Any:
        """Return the long-term memories of a plugin. Raises ConfigError if the memory slot names none that has them."""
        for impl in reversed(self.manager.hook.long_term.get_hookimpls()):
            try:
                return impl.function(**self._arguments(impl, memory))
            except MissingPackage as error:
                raise _unusable(impl.plugin_name, error) from error
        raise ConfigError(
            f"Long-term memories are off: the setting plugins.slots.memory does not name {LONG_TERM!r}.",
            remedy=f'Run `memoriter config set plugins.slots.memory \'["{CORE}", "{LONG_TERM}"]\'`.',
        )

    def _collect(self, hook: str, memory: MemoryLike, kind: type[_T]) -> list[tuple[str, _T]]:
        """Return what each plugin provides for a hook. A plugin that fails provides nothing."""
        collected = list[tuple[str, _T]]()
        for name, answer in self._answers(hook, memory, kind, limit=LIMIT):
            if isinstance(answer, Exception):
                self.leave_out(name, answer)
            else:
                collected += [(name, each) for each in answer]
        return collected

    def _answers(
        self, hook: str, memory: MemoryLike, kind: type[_T], *, limit: float | None, **more: object
    ) -> Iterator[tuple[str, list[_T] | Exception]]:
        """Yield what each plugin provides for a hook, or why it fails, in the order of registration.

        Args:
            hook: the name of the hook.
            memory: the memory that the plugins serve.
            kind: the type of what they provide.
            limit: the seconds for each; None: as many as it needs.
            more: what the hook gets besides the context.

        Raises:
            ConfigError: a plugin that the memory slot names needs a package that is not installed.
        """
        # Not through pluggy's own call, which would end at the first failure and not say whose it is.
        for impl in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            name = impl.plugin_name
            arguments = self._arguments(impl, memory, **more)
            answer: list[_T] | Exception
            try:
                answer = _contained(partial(_listed, impl.function, arguments), limit)
                if invalid := [each for each in answer if not isinstance(each, kind)]:
                    raise TypeError(f"{hook} gave {type(invalid[0]).__name__}, not {kind.__name__}")  # noqa: TRY301
            except Exception as error:
                if isinstance(error, MissingPackage) and name in self.slot:
                    raise _unusable(name, error) from error
                answer = error
            yield name, answer

    def _arguments(self, impl: pluggy.HookImpl, memory: MemoryLike, **more: object) -> dict[str, object]:
        """Return those arguments of a hook that a plugin takes."""
        given = {"context": self._context(memory, impl.plugin_name), **more}
        return {name: given[name] for name in impl.argnames}

    def _context(self, memory: MemoryLike, name: str) -> PluginContext:
        services = self.services
        return PluginContext(memory, services.home / "plugins" / name, services.wall, services)

    def leave_out(self, name: str, error: Exception) -> Diagnostic:
        """Log that a plugin is skipped, and keep and return a diagnostic with the reason."""
        message = f"The plugin {name!r} is left out: {type(error).__name__}: {sentence(error)}"
        log.warning("%s", message, exc_info=error)
        return self._add_diagnostic("plugin_failed", message)

    def _add_diagnostic(self, code: DiagnosticCode, message: str) -> Diagnostic:
        reason = Diagnostic(code, message, "Update the plugin, or remove its package.")
        if reason not in self.reasons:
            self.reasons.append(reason)
        return reason


def load_plugins(slot: str | Sequence[str], installed: Sequence[Installed], services: PluginServices) -> Plugins:
    """Load and return the active plugins.

    Args:
        slot: `plugins.slots.memory`: `memory-core`, the name of an installed plugin, or several of them; `none` for
            no plugin at all.
        installed: the plugins that packages provide.
        services: parts of memoriter that plugins use.

    Raises:
        ConfigError: the slot names a plugin that is not installed, or that cannot be loaded.
    """
    names = (slot,) if isinstance(slot, str) else tuple(slot)
    manager = pluggy.PluginManager("memoriter")
    manager.add_hookspecs(HookSpecs)
    plugins = Plugins(manager, services, names)
    if names == (NONE,):
        return plugins
    _check_slots(names, installed)
    # pluggy calls the last registration first: memory-core, then the others of the slot, then those without one.
    others = sorted(installed, key=lambda plugin: (plugin.name not in names, plugin.name), reverse=True)
    for name, load in (*others, Installed(CORE, partial(MemoryCore, plugins))):
        try:
            plugin, fills = _contained(partial(_loaded, load), LIMIT)
            _register(manager, name, plugin, fills, names)
        except Exception as error:
            if name in names:
                raise _unusable(name, error) from error
            plugins.leave_out(name, error)
    return plugins


def _unusable(name: str, error: Exception) -> ConfigError:
    return unusable(name, error, setting="plugins.slots.memory", default=CORE)


def _listed(function: Callable[..., Sequence[Any]], arguments: Mapping[str, object]) -> list[Any]:
    return list(function(**arguments))


def _contained(call: Callable[[], _T], seconds: float | None) -> _T:
    """Return the result of a plugin's code, which may not return, may print, and may raise anything.

    Raises:
        Exception: what the code raised; RuntimeError for SystemExit and the like, TimeoutError after these seconds.
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
        thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"it did not answer within {seconds:g} seconds")
    return results[0]


def _check_slots(names: Sequence[str], installed: Sequence[Installed]) -> None:
    """Check that the plugins of the slot are installed.

    Raises:
        ConfigError: a plugin is not installed, or `none` is not alone.
    """
    available = {CORE, *(plugin.name for plugin in installed)}
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
    def notes(self) -> Notes: ...
    @property
    def backend(self) -> MemoryBackend: ...
    @property
    def embedding(self) -> Embedding: ...


def services_for(host: PluginHost) -> PluginServices:
    """Return the parts of a memory for its plugins."""
    notes = host.notes
    env = notes.env
    embedding = host.embedding

    def provider(wanted: MemorySearch) -> Embedding:
        if wanted == notes.settings:
            return embedding
        return embedding_of(notes.configuration, wanted, env, attended=embedding.attended)

    def new_id() -> str:
        from uuid import uuid4

        return str(uuid4())

    return PluginServices(
        notes.workspace, host.backend, provider, env.home, env.user_home, env.environ, env.wall, env.monotonic, new_id
    )


def installed_plugins() -> tuple[Installed, ...]:
    """Return the plugins that installed packages offer. Nothing of them is imported."""
    points = entry_points(GROUP)
    elsewhere = {point.name for point in points if not point.place.startswith(OWN)}
    wanted = [point for point in points if point.name not in elsewhere or not point.place.startswith(OWN)]
    return tuple(Installed(point.name, point.load) for point in wanted)
