"""What the settings `memory.qmd` mean for an agent: its collections, limits and times, and which sessions are answered.

A session key is `agent:<id>:<rest>`, or the rest alone. The rest is `<channel>:<chat type>:<peer>`, such as
`discord:group:7`, or any other name, such as `main`.
"""

from __future__ import annotations

import math
import os.path
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.config import in_home, positive_or_default
from memoriter.extensions.qmd.settings import QmdMatch, QmdRule, QmdScope
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.qmd.settings import QmdLimits, QmdSettings, QmdUpdate

SearchMode = Literal["search", "vsearch", "query"]
QmdTransport = Literal["spawn", "mcp"]

MINUTE = 60_000
"""Milliseconds."""

UNITS = {"ms": 1, "s": 1000, "m": MINUTE, "h": 60 * MINUTE, "d": 24 * 60 * MINUTE}

DIRECT_ONLY = QmdScope(default="deny", rules=(QmdRule(action="allow", match=QmdMatch(chat_type="direct")),))


@dataclass(frozen=True, slots=True)
class Collection:
    """A folder that QMD indexes under a name."""

    name: str
    path: Path
    pattern: str
    kind: Literal["memory", "custom"]


@dataclass(frozen=True, slots=True)
class QmdSchedule:
    """The intervals and timeouts of QMD, in milliseconds. An interval of 0 means never."""

    interval_ms: int
    debounce_ms: int
    on_boot: bool
    wait_for_boot_sync: bool
    embed_interval_ms: int
    command_timeout_ms: int
    update_timeout_ms: int
    embed_timeout_ms: int


@dataclass(frozen=True, slots=True)
class QmdPlanLimits:
    max_results: int
    max_snippet_chars: int
    max_injected_chars: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class QmdPlan:
    """The complete settings of the QMD backend for one agent."""

    command: str
    search_mode: SearchMode
    transport: QmdTransport
    collections: tuple[Collection, ...]
    include_default_memory: bool
    sessions_enabled: bool
    export_dir: Path | None
    retention_days: int | None
    schedule: QmdSchedule
    limits: QmdPlanLimits
    mcporter: bool
    server_name: str
    start_daemon: bool
    scope: QmdScope


def plan_qmd(settings: QmdSettings, agent_id: str, *, workspace: Path, user_home: Path) -> QmdPlan:
    """Return the plan for an agent, with OpenClaw's defaults and limits applied."""
    sessions = settings.sessions
    export = (sessions.export_dir or "").strip()
    return QmdPlan(
        command=program_name(settings.command),
        search_mode=settings.search_mode or "search",
        transport=settings.transport,
        collections=tuple(plan_collections(settings, agent_id, workspace=workspace, user_home=user_home)),
        include_default_memory=settings.include_default_memory,
        sessions_enabled=sessions.enabled,
        export_dir=resolve_path(export, workspace, user_home) if export else None,
        retention_days=positive_or_default(sessions.retention_days, 0) or None,
        schedule=plan_schedule(settings.update),
        limits=plan_limits(settings.limits),
        mcporter=settings.mcporter.enabled,
        server_name=(settings.mcporter.server_name or "").strip() or "qmd",
        start_daemon=settings.mcporter.start_daemon,
        scope=settings.scope or DIRECT_ONLY,
    )


def program_name(command: str | None) -> str:
    """Return the first word of a shell command, or `qmd`; arguments in the configuration are ignored."""
    text = (command or "").strip()
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return words[0] if words and words[0] else "qmd"


def plan_schedule(settings: QmdUpdate) -> QmdSchedule:
    debounce = settings.debounce_ms
    return QmdSchedule(
        interval_ms=parse_duration(settings.interval, 5 * MINUTE),
        debounce_ms=math.floor(debounce) if debounce is not None and debounce >= 0 else 15_000,
        on_boot=settings.on_boot,
        wait_for_boot_sync=settings.wait_for_boot_sync,
        embed_interval_ms=parse_duration(settings.embed_interval, 60 * MINUTE),
        command_timeout_ms=positive_or_default(settings.command_timeout_ms, 30_000),
        update_timeout_ms=positive_or_default(settings.update_timeout_ms, 120_000),
        embed_timeout_ms=positive_or_default(settings.embed_timeout_ms, 120_000),
    )


def plan_limits(limits: QmdLimits) -> QmdPlanLimits:
    """Return the limits of a search; an unset value, zero or less means the default."""
    return QmdPlanLimits(
        max_results=positive_or_default(limits.max_results, 6),
        max_snippet_chars=positive_or_default(limits.max_snippet_chars, 700),
        max_injected_chars=positive_or_default(limits.max_injected_chars, 4000),
        timeout_ms=positive_or_default(limits.timeout_ms, 4000),
    )


def parse_duration(text: str | None, default: int) -> int:
    """Return the milliseconds of `90s`, `5m` or `1.5h`; a bare number is minutes, and any other text the default."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", (text or "").strip().lower())
    if not parts:
        return default
    return math.floor(float(parts[1]) * UNITS[parts[2] or "m"] + 0.5)


def plan_collections(settings: QmdSettings, agent_id: str, *, workspace: Path, user_home: Path) -> Iterator[Collection]:
    """Yield the collections of the workspace's notes, then those of the settings, with unique names."""
    taken: set[str] = set()
    agent = normalize_name(agent_id)

    def unique_name(base: str) -> str:
        name = unused_name(normalize_name(f"{base}-{agent}"), taken)
        taken.add(name)
        return name

    if settings.include_default_memory:
        yield Collection(unique_name("memory-root"), workspace, "MEMORY.md", "memory")
        yield Collection(unique_name("memory-alt"), workspace, "memory.md", "memory")
        yield Collection(unique_name("memory-dir"), workspace / "memory", "**/*.md", "memory")
    for number, entry in enumerate(settings.paths, start=1):
        if entry.path.strip():
            name = unique_name((entry.name or "").strip() or f"custom-{number}")
            folder = resolve_path(entry.path.strip(), workspace, user_home)
            yield Collection(name, folder, (entry.pattern or "").strip() or "**/*.md", "custom")


def unused_name(name: str, taken: set[str]) -> str:
    candidate = name
    number = 2
    while candidate in taken:
        candidate = f"{name}-{number}"
        number += 1
    return candidate


def normalize_name(name: str) -> str:
    """Return the name in lower case with only `[a-z0-9-]`."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-") or "collection"


def resolve_path(path: str, workspace: Path, user_home: Path) -> Path:
    return Path(os.path.normpath(workspace / in_home(path, user_home)))


ChatType = Literal["direct", "group", "channel"]
AGENT = "agent"
SUBAGENT = "subagent:"
"""The beginning of the names of sessions that another session started; they belong to no conversation."""
CHAT_TYPES: dict[str, ChatType] = {"direct": "direct", "dm": "direct", "group": "group", "channel": "channel"}
SHARED = ("group", "channel")


@dataclass(frozen=True, slots=True)
class SessionScope:
    """The parts of a session key that rules match, in lower case."""

    key: str | None = None
    """Without `agent:<id>:`; None if the key is blank or names the session of a subagent."""
    channel: str | None = None
    chat_type: ChatType | None = None


def session_scope(session: str | None) -> SessionScope:
    """Return the parts of a session key.

    >>> session_scope("agent:main:discord:group:5").chat_type
    'group'
    """
    key = _without_agent((session or "").strip()).lower()
    if not key or key.startswith(SUBAGENT):
        return SessionScope()
    words = [word for word in key.split(":") if word]
    if len(words) > 1 and words[1] in CHAT_TYPES:
        shared = next((kind for kind in SHARED if kind in words), "direct")
        return SessionScope(key, words[0], CHAT_TYPES[shared])
    shared = next((kind for kind in SHARED if f":{kind}:" in key), "direct")
    return SessionScope(key, None, CHAT_TYPES[shared])


def _without_agent(key: str) -> str:
    """Return a session key without `agent:<id>:`, if anything follows it."""
    words = [word for word in key.split(":") if word]
    return ":".join(words[2:]) if len(words) > 2 and words[0] == AGENT else key


def scope_allows(scope: QmdScope | None, session: str | None) -> bool:
    """Return whether a session may be answered: the first rule that matches decides, else `default`.

    Args:
        scope: the rules; None, or rules without a `default` of which none matches, allow every session.
        session: the key of the session; None or blank: no session, which matches no rule about one.
    """
    if scope is None:
        return True
    parts = session_scope(session)
    raw = (session or "").strip().lower()
    for rule in scope.rules:
        if _matches(rule.match, parts, raw):
            return rule.action == "allow"
    return scope.default != "deny"


def _matches(match: QmdMatch, parts: SessionScope, raw: str) -> bool:
    """Return whether all conditions of a rule hold. A `keyPrefix` that begins with `agent:` means the raw key."""
    if match.channel and match.channel != parts.channel:
        return False
    if match.chat_type and match.chat_type != parts.chat_type:
        return False
    raw_prefix = _prefix(match.raw_key_prefix)
    prefix = _prefix(match.key_prefix)
    whole = raw if prefix.startswith(f"{AGENT}:") else parts.key or ""
    return raw.startswith(raw_prefix) and whole.startswith(prefix)


def _prefix(text: str | None) -> str:
    return (text or "").strip().lower()


def scope_denied(session: str) -> Diagnostic:
    """Return the diagnostic of a search that the rules do not allow; it names no part of the key but these two."""
    parts = session_scope(session)
    where = f"the channel is {parts.channel or 'unknown'}, the type of chat {parts.chat_type or 'unknown'}"
    message = f"The rules of memory.qmd.scope do not allow this conversation to search the memory: {where}."
    return Diagnostic("scope_denied", message, "Add a rule that allows it to memory.qmd.scope.rules, if it should.")
