"""The start of a server: each part that the settings name is tried, so that a broken one is reported at once."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from memoriter.api_json import json_of
from memoriter.entry_points import BACKENDS, entry_points
from memoriter.errors import ConfigError, MemoriterError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.memory import Memory
    from memoriter.types import Diagnostic

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartedPart:
    """A part of a memory after it was tried."""

    name: str
    """One of `part_names`."""
    works: bool
    message: str
    """What it is, or why it does not work."""
    remedy: str = ""
    code: str = ""
    """The code of the error or the diagnostic; empty: it works."""


def part_json(part: StartedPart) -> dict[str, Any]:
    """Return a part as JSON values."""
    return json_of("Part", part)


def part_names() -> tuple[str, ...]:
    """Return the names that parts may have."""
    from memoriter.plugins import installed_plugins

    backends = (point.name for point in entry_points(BACKENDS))
    return ("builtin", "vector search", *backends, "plugins", *(plugin.name for plugin in installed_plugins()))


def try_parts(memory: Memory) -> tuple[StartedPart, ...]:
    """Start the backend and the plugins that the settings name, and raise nothing. What runs already stays."""
    return tuple(_parts(memory))


def start_parts(memory: Memory) -> tuple[StartedPart, ...]:
    """Call `try_parts`, and log one line for each part."""
    return tuple(_logged(part, memory.agent) for part in _parts(memory))


def start_in_background(memory: Memory, *, after: float = 0.0) -> None:
    """Call `start_parts` in a thread of its own, `after` so many seconds."""
    timer = threading.Timer(after, start_parts, args=(memory,))
    timer.name = "memoriter-start"
    timer.daemon = True
    timer.start()


def _logged(part: StartedPart, agent: str) -> StartedPart:
    if part.works:
        log.info("memory: %s is ready for the agent %r: %s", part.name, agent, part.message)
    else:
        log.warning("memory: %s does not work for the agent %r: %s %s", part.name, agent, part.message, part.remedy)
    return part


def _parts(memory: Memory) -> Iterator[StartedPart]:
    problems: list[Diagnostic] = []
    yield _tried("builtin", lambda: _describe_index(memory, problems))
    for reason in problems:
        message = reason.message
        remedy = reason.remedy
        yield StartedPart("vector search", works=False, message=message, remedy=remedy, code=reason.code)
    if (name := memory.configuration.settings.memory.backend) != "builtin":
        yield _tried(name, lambda: f"{memory.backend.start()}.")
    yield _tried("plugins", lambda: f"{len(memory.tools)} tools.")
    yield from _plugin_parts(memory)


def _tried(name: str, attempt: Callable[[], str]) -> StartedPart:
    """Return the part that an attempt starts and describes."""
    try:
        return StartedPart(name, works=True, message=attempt())
    except MemoriterError as error:
        message = sentence(error.message)
        return StartedPart(name, works=False, message=message, remedy=error.remedy, code=error.code)
    except Exception as error:  # a plugin may raise anything, and the server goes on without it
        log.debug("%s failed at the start", name, exc_info=True)
        message = sentence(f"{type(error).__name__}: {error}")
        return StartedPart(name, works=False, message=message, remedy="Run `memoriter doctor`.", code="internal")


def _describe_index(memory: Memory, problems: list[Diagnostic]) -> str:
    """Return what is indexed, and add why the provider of vectors cannot be used."""
    status = memory.status()
    problems += memory.backend.problems
    waiting = f", {status.pending} pending" if status.pending else ""
    return f"{status.files} files, {status.chunks} chunks, {status.vectors} with a vector ({status.provider}){waiting}."


def _plugin_parts(memory: Memory) -> Iterator[StartedPart]:
    """Yield the part of each plugin that has checked itself: it works unless a finding says that it is broken."""
    try:
        findings = memory.check_plugins()
    except ConfigError:  # as the part `plugins` says
        return
    for name in dict.fromkeys(name for name, _ in findings):
        own = [found for owner, found in findings if owner == name]
        found = next((each for each in own if each.state == "broken"), own[0])
        if found.state == "broken":
            yield StartedPart(name, works=False, message=found.message, remedy=found.remedy, code=found.code)
        else:
            yield StartedPart(name, works=True, message=found.message)
