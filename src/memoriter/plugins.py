"""The plugins that are active: those that are installed, and the one that fills the memory slot."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pluggy

from memoriter.agent import Listener, MarkdownRecall
from memoriter.errors import ConfigError
from memoriter.hookspecs import HookSpecs, PluginContext, Tool, hookimpl
from memoriter.tools import tools_for
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memoriter.agent import RecallSource
    from memoriter.codes import DiagnosticCode
    from memoriter.hookspecs import MemoryLike

CORE = "memory-core"
NONE = "none"
SLOT = "memory"
INSTALL = {"memory-lancedb": "pip install 'memoriter[longterm]'"}
"""How to get the plugins of ours that are packages of their own."""

log = logging.getLogger(__name__)


class Installed(NamedTuple):
    """A plugin that some package offers; it has not been imported yet."""

    name: str
    load: Callable[[], object]


class MemoryCore:
    """What memoriter does for an agent without any plugin, offered as one."""

    @hookimpl
    def slot(self) -> str:
        return SLOT

    @hookimpl
    def tools(self, context: PluginContext) -> Sequence[Tool]:
        return tools_for(context.memory.settings)

    @hookimpl
    def recall_sources(self, context: PluginContext) -> Sequence[RecallSource]:
        return [MarkdownRecall(context.memory)] if context.memory.settings.enabled else []


@dataclass(slots=True)
class Plugins:
    """The active plugins, and why others are not."""

    home: Path
    wall: Callable[[], float]
    manager: pluggy.PluginManager
    reasons: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def tools(self, memory: MemoryLike) -> tuple[Tool, ...]:
        """Every tool the agent can call; the first of a name counts."""
        named = dict[str, Tool]()
        for owner, tool in self._offered("tools", memory, Tool):
            if tool.name in named:
                self._tell("plugin_conflict", f"The plugin {owner!r} offers {tool.name!r}, which is there already.")
            named.setdefault(tool.name, tool)
        return tuple(named.values())

    def recall_sources(self, memory: MemoryLike) -> tuple[RecallSource, ...]:
        """Where to look before a turn."""
        return tuple(source for _, source in self._offered("recall_sources", memory, object))

    def listeners(self, memory: MemoryLike) -> tuple[Listener, ...]:
        """Who hears of events."""
        return tuple(listener for _, listener in self._offered("listeners", memory, Listener))

    def _offered(self, hook: str, memory: MemoryLike, kind: type[Any]) -> list[tuple[str, Any]]:
        """What each plugin gives, in the order of registration; one that fails gives nothing."""
        offered = list[tuple[str, Any]]()
        for impl in reversed(getattr(self.manager.hook, hook).get_hookimpls()):
            name = impl.plugin_name
            context = PluginContext(memory, self.home / "plugins" / name, self.wall)
            try:
                given = list(impl.function(*[context][: len(impl.argnames)]))
                if wrong := [each for each in given if not isinstance(each, kind)]:
                    raise TypeError(f"{hook} gave {type(wrong[0]).__name__}, not {kind.__name__}")  # noqa: TRY301
            except Exception as error:  # noqa: BLE001 - a stranger's code
                self.leave_out(name, error)
                continue
            offered += [(name, each) for each in given]
        return offered

    def leave_out(self, name: str, error: Exception) -> None:
        """Remember that a plugin is not active, and why."""
        log.warning("plugin %s failed", name, exc_info=error)
        self._tell("plugin_failed", f"The plugin {name!r} is left out: {type(error).__name__}: {error}")

    def _tell(self, code: DiagnosticCode, message: str) -> None:
        reason = Diagnostic(code, message, "Update the plugin, or remove its package.")
        if reason not in self.reasons:
            self.reasons.append(reason)


def load_plugins(slot: str, installed: Sequence[Installed], *, home: Path, wall: Callable[[], float]) -> Plugins:
    """The plugins that are to be active.

    Args:
        slot: `plugins.slots.memory`: `memory-core`, the name of an installed plugin, or `none` for no plugin at all.
        installed: what packages offer.
        home: memoriter's home.
        wall: the clock.

    Raises:
        ConfigError: the slot names a plugin that is not installed, or that cannot be loaded.
    """
    manager = pluggy.PluginManager("memoriter")
    manager.add_hookspecs(HookSpecs)
    plugins = Plugins(home, wall, manager)
    if slot == NONE:
        return plugins
    _check_slot(slot, installed)
    # pluggy goes from the last to the first: memory-core leads, the others follow by name.
    for name, load in (*sorted(installed, reverse=True), Installed(CORE, MemoryCore)):
        try:
            _register(manager, name, load(), slot)
        except Exception as error:
            if name == slot:
                raise ConfigError(
                    f"plugins.slots.memory names {slot!r}, which cannot be loaded: {error}",
                    remedy=f"Repair its package, or set plugins.slots.memory to {CORE!r}.",
                ) from error
            plugins.leave_out(name, error)
    return plugins


def _check_slot(slot: str, installed: Sequence[Installed]) -> None:
    known = {CORE, *(plugin.name for plugin in installed)}
    if slot in known:
        return
    line = INSTALL.get(slot, "")
    remedy = f"Run: {line}" if line else f"Install the package that has it, or name one of: {', '.join(sorted(known))}."
    raise ConfigError(f"plugins.slots.memory names {slot!r}, which is not installed.", remedy=remedy)


def _register(manager: pluggy.PluginManager, name: str, plugin: object, slot: str) -> None:
    """Make the plugin active, unless it fills a slot that names another."""
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
    function = getattr(plugin, "slot", None)
    return function() if callable(function) and hasattr(function, "memoriter_impl") else None
