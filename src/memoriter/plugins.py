"""The active plugins: the installed ones without a slot, and the one that fills the memory slot."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pluggy

from memoriter.agent import Listener, MarkdownRecall
from memoriter.errors import ConfigError, sentence
from memoriter.hookspecs import GROUP, HookSpecs, PluginContext, Tool, hookimpl
from memoriter.tools import tools_for
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.agent import RecallSource
    from memoriter.codes import DiagnosticCode
    from memoriter.hookspecs import MemoryLike

CORE = "memory-core"
NONE = "none"
SLOT = "memory"
LONG_TERM = "memory-lancedb"
"""OpenClaw's plugin for long-term memories. memoriter does not include it yet; a package may provide it."""

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
        return [MarkdownRecall(context.memory)] if context.memory.settings.enabled else []


@dataclass(slots=True)
class Plugins:
    """The active plugins, and diagnostics for the skipped ones."""

    home: Path
    wall: Callable[[], float]
    manager: pluggy.PluginManager
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
        return tuple(source for _, source in self._collect("recall_sources", memory, object))

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
            context = PluginContext(memory, self.home / "plugins" / name, self.wall)
            try:
                provided = list(impl.function(*[context][: len(impl.argnames)]))
                if invalid := [each for each in provided if not isinstance(each, kind)]:
                    raise TypeError(f"{hook} gave {type(invalid[0]).__name__}, not {kind.__name__}")  # noqa: TRY301
            except Exception as error:  # noqa: BLE001 - third-party code
                self.leave_out(name, error)
                continue
            collected += [(name, each) for each in provided]
        return collected

    def leave_out(self, name: str, error: Exception) -> None:
        """Log that a plugin is skipped, and keep a diagnostic with the reason."""
        log.warning("plugin %s failed", name, exc_info=error)
        self._add_diagnostic(
            "plugin_failed", f"The plugin {name!r} is left out: {type(error).__name__}: {sentence(error)}"
        )

    def _add_diagnostic(self, code: DiagnosticCode, message: str) -> None:
        reason = Diagnostic(code, message, "Update the plugin, or remove its package.")
        if reason not in self.reasons:
            self.reasons.append(reason)


def load_plugins(slot: str, installed: Sequence[Installed], *, home: Path, wall: Callable[[], float]) -> Plugins:
    """Load and return the active plugins.

    Args:
        slot: `plugins.slots.memory`: `memory-core`, the name of an installed plugin, or `none` for no plugin at all.
        installed: the plugins that packages provide.
        home: memoriter's home.
        wall: the clock; seconds since 1970.

    Raises:
        ConfigError: the slot names a plugin that is not installed, or that cannot be loaded.
    """
    manager = pluggy.PluginManager("memoriter")
    manager.add_hookspecs(HookSpecs)
    plugins = Plugins(home, wall, manager)
    if slot == NONE:
        return plugins
    _check_slot(slot, installed)
    # pluggy calls the last registration first: memory-core, then the others by name.
    for name, load in (*sorted(installed, reverse=True), Installed(CORE, MemoryCore)):
        try:
            _register(manager, name, load(), slot)
        except Exception as error:
            if name == slot:
                raise ConfigError(
                    f"The setting plugins.slots.memory names {slot!r}, which cannot be loaded: {sentence(error)}",
                    remedy=f"Repair its package, or set plugins.slots.memory to {CORE!r}.",
                ) from error
            plugins.leave_out(name, error)
    return plugins


def _check_slot(slot: str, installed: Sequence[Installed]) -> None:
    """Check that the plugin of the slot is installed.

    Raises:
        ConfigError: the plugin is not installed.
    """
    available = {CORE, *(plugin.name for plugin in installed)}
    if slot in available:
        return
    message = f"The setting plugins.slots.memory names {slot!r}, which is not installed."
    if slot == LONG_TERM:
        message += " memoriter does not include a long-term store yet."
    names = " or ".join(repr(name) for name in sorted(available))
    raise ConfigError(message, remedy=f"Set plugins.slots.memory to {names}, or install the package that has {slot!r}.")


def _register(manager: pluggy.PluginManager, name: str, plugin: object, slot: str) -> None:
    """Register a plugin, unless it fills a slot for which another plugin is configured."""
    if isinstance(plugin, type):
        plugin = cast("Callable[[], object]", plugin)()
    fills = _slot_of(plugin)
    if fills is not None and fills != SLOT:
        raise ValueError(f"there is no slot {fills!r}")
    if fills is None and name == slot:
        raise ValueError("it does not say that it fills the memory slot")
    if fills is not None and name != slot:
        return
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except Exception:
        manager.unregister(plugin)
        raise


def _slot_of(plugin: object) -> object:
    """Return the slot that a plugin fills, or None."""
    function = getattr(plugin, "slot", None)
    return function() if callable(function) and hasattr(function, "memoriter_impl") else None


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
