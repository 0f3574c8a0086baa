"""`memory.qmd`: the settings of OpenClaw's QMD backend."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from memoriter.config import Doc, ExtensionSection, Section
from memoriter.values import dataclass

KEY = "memory.qmd"
"""The key of the settings."""
Action = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdPath(Section):
    """A folder that QMD indexes."""

    path: Annotated[str, Doc("A folder, absolute or relative to the workspace; `~` is your home")] = ""
    pattern: Annotated[str | None, Doc("Which files of the folder; unset: `**/*.md`")] = None
    name: Annotated[str | None, Doc("Name of the collection; unset: `custom-N`")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdSessions(Section):
    """Export of transcripts to QMD."""

    enabled: Annotated[bool, Doc("Give transcripts to QMD as well")] = False
    export_dir: Annotated[str | None, Doc("Folder for the exported transcripts")] = None
    retention_days: Annotated[float | None, Doc("Days that an exported transcript is kept; unset or 0: for ever")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdUpdate(Section):
    """Schedule and timeouts of QMD's updates."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"startup", "startupDelayMs"})

    interval: Annotated[str | None, Doc("Time between two updates, `5m`; a bare number is minutes")] = None
    debounce_ms: Annotated[float | None, Doc("Milliseconds between two updates at least; unset: 15000")] = None
    on_boot: Annotated[bool, Doc("Update at the start")] = True
    wait_for_boot_sync: Annotated[bool, Doc("Let searches wait for the first update after the start")] = False
    embed_interval: Annotated[str | None, Doc("Time between two embedding runs; unset: `60m`")] = None
    command_timeout_ms: Annotated[float | None, Doc("Milliseconds for a command; unset: 30000")] = None
    update_timeout_ms: Annotated[float | None, Doc("Milliseconds for an update; unset: 120000")] = None
    embed_timeout_ms: Annotated[float | None, Doc("Milliseconds for an embedding run; unset: 120000")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdLimits(Section):
    """Limits of a QMD search."""

    max_results: Annotated[float | None, Doc("Hits in an answer; unset: 6")] = None
    max_snippet_chars: Annotated[float | None, Doc("Characters of a hit; unset: 700")] = None
    max_injected_chars: Annotated[float | None, Doc("Characters of all hits for an agent; unset: 4000")] = None
    timeout_ms: Annotated[float | None, Doc("Milliseconds for a search; unset: 4000")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdMatch(Section):
    """The conversations to which a rule applies."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"*"})

    channel: Annotated[str | None, Doc("Channel of the session")] = None
    chat_type: Annotated[str | None, Doc("`direct`, `group` or `channel`")] = None
    key_prefix: Annotated[str | None, Doc("Start of the session key without `agent:<id>:`")] = None
    raw_key_prefix: Annotated[str | None, Doc("Start of the whole session key")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdRule(Section):
    """A rule that allows or denies QMD in some conversations."""

    action: Annotated[Action, Doc("What happens to a session that matches")] = "deny"
    match: Annotated[QmdMatch, Doc("Which sessions; nothing given matches all")] = QmdMatch()


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdScope(Section):
    """The conversations in which QMD may be searched."""

    default: Annotated[Action | None, Doc("What happens to a session that no rule matches")] = None
    rules: Annotated[tuple[QmdRule, ...], Doc("The first rule that matches decides")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdMcporter(Section):
    """Settings for running QMD through mcporter."""

    enabled: Annotated[bool, Doc("Ask QMD through mcporter")] = False
    server_name: Annotated[str | None, Doc("Name of the server there; unset: `qmd`")] = None
    start_daemon: Annotated[bool, Doc("Start mcporter's daemon")] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdSettings(ExtensionSection):
    """The QMD backend."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"rerank", "searchTool"})
    without_effect: ClassVar[dict[str, str]] = {
        "mcporter": "QMD is started without mcporter, as `memory.qmd.transport` says"
    }

    command: Annotated[str | None, Doc("The program; unset: `qmd`")] = None
    transport: Annotated[
        Literal["spawn", "mcp"], Doc("`spawn` starts the program for each search, `mcp` keeps one `qmd mcp` running")
    ] = "spawn"
    search_mode: Annotated[Literal["search", "vsearch", "query"] | None, Doc("How QMD searches; unset: `search`")] = (
        None
    )
    include_default_memory: Annotated[bool, Doc("Give the workspace's notes to QMD")] = True
    paths: Annotated[tuple[QmdPath, ...], Doc("Further folders")] = ()
    sessions: Annotated[QmdSessions, Doc("Transcripts")] = QmdSessions()
    update: Annotated[QmdUpdate, Doc("When QMD checks the files")] = QmdUpdate()
    limits: Annotated[QmdLimits, Doc("Sizes; 0 and less mean the default")] = QmdLimits()
    mcporter: Annotated[QmdMcporter, Doc("QMD as a server")] = QmdMcporter()
    scope: Annotated[QmdScope | None, Doc("Which sessions may be answered; unset: direct chats only")] = None

    @property
    def character_limit(self) -> float | None:
        return self.limits.max_injected_chars
