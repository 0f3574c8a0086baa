"""The notes of one folder and the settings in force for them: what reading and adding to notes needs, and no search."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from memoriter.config import (
    PROJECT_FILE,
    agent_name,
    cache_of,
    check_home,
    check_trust,
    in_home,
    load,
    locate_index,
    missing_remedy,
    notices_of,
    usual_index_path,
    workspace_key,
)
from memoriter.environment import local_time, read_environment
from memoriter.errors import SearchDisabled, UsageError, WorkspaceNotFound
from memoriter.folding import fold_name
from memoriter.permissions import make_private_folder, owners_of, unwritable_part
from memoriter.types import Diagnostic, Remembered
from memoriter.values import dataclass
from memoriter.workspace import ExtraPath, Workspace, client_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from memoriter.config import Configuration, IndexPlace, MemorySearch, Place
    from memoriter.environment import Environment
    from memoriter.journal import Journal
    from memoriter.types import Excerpt
    from memoriter.workspace import Transcripts


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one folder, which can be read and added to."""

    place: Place
    """The folder, and why it was selected."""
    configuration: Configuration
    settings: MemorySearch
    """The settings of search for the agent."""
    agent: str
    workspace: Workspace
    env: Environment

    def check_trust(self) -> None:
        """Raise TrustRemoved if the folder was trusted and no longer is."""
        if self.place.trust == "trusted":
            check_trust(self.place, home=self.env.home)

    @property
    def trusted_workspace(self) -> Workspace:
        """The files of the folder. Raises TrustRemoved."""
        self.check_trust()
        return self.workspace

    @property
    def needs_index(self) -> bool:
        """Whether the index must be opened after a note was written: to update it now, or to report why it cannot be.

        Usually, the next search finds the change itself.
        """
        if self.configuration.settings.memory.backend != "builtin" or not self.settings.sync.on_search:
            return True
        index = usual_index_path(
            self.configuration,
            self.settings,
            self.agent,
            self.place.workspace,
            home=self.env.home,
            user_home=self.env.user_home,
        )
        return "memory" not in self.settings.sources or unwritable_part(index) is not None

    @property
    def disabled(self) -> Diagnostic:
        """The diagnostic for an agent without search."""
        message = f"Searching is turned off for the agent {self.agent!r}."
        return Diagnostic(SearchDisabled.code, message, SearchDisabled.default_remedy)

    def now(self) -> datetime:
        """Return the current time, in the user's time zone."""
        return local_time(self.env.wall(), self.configuration.settings.agents.defaults.user_timezone)

    def find_notices(self, index: Collection[Path] = ()) -> tuple[Diagnostic, ...]:
        """Make memoriter's files private, and return diagnostics about files that are not trusted or were exposed."""
        env = self.env
        notices = notices_of(self.place, self.configuration, home=env.home, user_home=env.user_home, index=index)
        if self.configuration.state is None:
            return notices
        from memoriter.config import openclaw_keys

        keys = openclaw_keys(self.configuration, self.settings, self.agent, env.environ, now=env.wall())
        return (*keys.refused, *notices)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a note, as `Memory.read` does. Raises PathRefused."""
        return self.trusted_workspace.read(path, start=start, lines=lines)

    def remember(
        self,
        text: str,
        *,
        to: Literal["daily", "long-term"] = "daily",
        origin: str | None = None,
        again: bool = False,
        section: str | None = None,
        index: Callable[[Path], tuple[Diagnostic, ...]] = lambda _: (),
    ) -> Remembered:
        """Add an entry to a note, as `Memory.remember` does.

        Args:
            text: the entry.
            to: today's note or the long-term memory.
            origin: the author; None: the owner.
            again: add the entry even if it is already there.
            section: the heading below which the entry comes; None: at the end of the note.
            index: called with the note that was written; returns why no search will find it.

        Raises UsageError, PathRefused and WriteError.
        """
        if section is not None and not fold_name(section):
            raise UsageError(f"The heading {section!r} has no words.", remedy="Give the words of a heading.")
        written = self.trusted_workspace.remember(
            text, to=to, origin=origin, now=self.now(), again=again, section=section or ""
        )
        reasons = self.reasons_hidden(written.left_out) or index(written.path)
        return Remembered(written.path, written.start_line, written.end_line, reasons, written.existing)

    def reasons_hidden(self, left_out: Diagnostic | None) -> tuple[Diagnostic, ...]:
        """Return why no search finds a note; `left_out` says why it is not one of the memory's files, if it is not."""
        reason = left_out or (None if self.settings.enabled else self.disabled)
        return (reason,) if reason else ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each file is closed once it was read or written."""


def open_notes(
    workspace: str | Path | None = None,
    *,
    config: str | Path | None = None,
    agent: str | None = None,
    env: Environment | None = None,
    by_person: bool = False,
    adjust: Callable[[MemorySearch], MemorySearch] | None = None,
) -> Notes:
    """Return the notes that the arguments select; `app.assemble` describes them.

    Raises ConfigError and WorkspaceNotFound.
    """
    env = env or read_environment()
    place, configuration, chosen = settle(env, workspace, config, agent, by_person=by_person)
    settings = configuration.search_for(chosen)
    settings = adjust(settings) if adjust else settings
    return Notes(
        place, configuration, settings, chosen, _open_workspace(place, configuration, settings, chosen, env), env
    )


def settle(
    env: Environment,
    workspace: str | Path | None,
    config: str | Path | None,
    agent: str | None,
    *,
    by_person: bool = False,
) -> tuple[Place, Configuration, str]:
    """Return the workspace, the configuration and the agent.

    Raises:
        ConfigError: The configuration is invalid.
    """
    check_home(env.home, owners_of(env.environ, root=True))
    file = Path(config) if config is not None else None
    written = load(file, home=env.home, environ=env.environ)
    chosen = agent or written.default_agent
    flag = Path(workspace) if workspace is not None else None
    place = written.select_place(chosen, flag, environ=env.environ, cwd=env.cwd, home=env.home, by_person=by_person)
    if os.path.lexists(place.workspace / PROJECT_FILE):
        written = load(file, home=env.home, environ=env.environ, project=place.workspace)
    return place, written, chosen


def sessions_of(env: Environment, agent: str) -> Path:
    """Return the folder of an agent's transcripts."""
    return env.home / "agents" / agent_name(agent) / "sessions"


def place_of_index(configuration: Configuration, agent: str, place: Place, env: Environment) -> IndexPlace:
    """Return the file of the index of an agent and a workspace, as with the driver `sqlite`."""
    from memoriter.index import is_foreign, network_of

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


def transcripts_for(
    place: Place, settings: MemorySearch, configuration: Configuration, agent: str, env: Environment
) -> Transcripts | None:
    """Return the transcripts of an agent that are memory, or None if the settings leave them out."""
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


def _open_workspace(
    place: Place, configuration: Configuration, settings: MemorySearch, agent: str, env: Environment
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
            transcripts=transcripts_for(place, settings, configuration, agent, env),
            make=make if place.reason == "default" else None,
            layout=None if memory.layout == "auto" else memory.layout,
            keep_layout=lambda: _keep_notes_layout(place.workspace),
            daily_note=memory.daily_note,
            extra_suffixes=memory.extra_suffixes,
            principal=configuration.principal,
            writers=env.home / "memory" / "writers" / f"{workspace_key(place.workspace)}.json",
            journal=lambda: _journal_of(configuration, place, env),
        )
    except WorkspaceNotFound as error:
        message = f"{error.message} It was chosen by: {place.reason}."
        raise WorkspaceNotFound(message, remedy=missing_remedy(place)) from error


def _journal_of(configuration: Configuration, place: Place, env: Environment) -> Journal | None:
    """Return the journal of a folder of notes, or None if the settings turn it off."""
    from memoriter.journal import MEGABYTE, Journal

    settings = configuration.settings.memory.journal
    if not settings.enabled:
        return None
    folder = env.home / "journal" / workspace_key(place.workspace)
    return Journal(folder, max_bytes=settings.max_mb * MEGABYTE, max_days=settings.max_days, wall=env.wall)


def _keep_notes_layout(workspace: Path) -> None:
    """Write into the folder's own settings that all its Markdown files are memory. Raises ConfigError, WriteError."""
    from memoriter.settings_file import write_settings

    write_settings(workspace / PROJECT_FILE, {("memory", "layout"): "notes"}, workspace=workspace)
