"""Drive QMD: one object for each agent, safe to share between threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memoriter.config import agent_name
from memoriter.environment import Deadline
from memoriter.errors import QmdFailure, QmdMissing, QmdTimeout
from memoriter.extensions.qmd._answers import parse_version
from memoriter.extensions.qmd._collections import folders_of, is_cited, missing_roots, read_cited
from memoriter.extensions.qmd._home import QmdHome
from memoriter.extensions.qmd._program import McpTransport, Program, SpawnTransport, child_environment, find_program
from memoriter.extensions.qmd._searching import Searcher
from memoriter.extensions.qmd._updates import Background, Updates, pause_after
from memoriter.types import Diagnostic, SidecarCollection, SidecarStatus
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.extensions.qmd._collections import Folder
    from memoriter.extensions.qmd._home import StoredState
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.extensions.qmd._program import Output, Transport
    from memoriter.extensions.qmd._searching import QmdAnswer
    from memoriter.extensions.qmd._updates import QmdUpdated
    from memoriter.types import Excerpt
    from memoriter.workspace import Transcripts, Workspace

NAME = "qmd"
PROBE_SECONDS = 10.0
WAIT_FOR_UPDATE = 0.5
"""Seconds that a search waits for an update that runs in the background."""
STALE = Diagnostic(
    "stale",
    "Notes changed since QMD indexed them, and this answer does not include the changes.",
    "Search again in a moment.",
)


@dataclass(frozen=True, slots=True)
class QmdProbe:
    """The program as it was found."""

    binary: Path
    """The absolute path of the program."""
    version: str
    """Such as `2.8.3`; empty if the program does not print one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdPlace:
    """Where QMD works for one agent, and its clocks."""

    agent: str
    workspace: Workspace
    state_dir: Path
    """Memoriter's home; QMD's own is `agents/<agent>/qmd` in it."""
    environ: Mapping[str, str]
    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    transcripts: Transcripts | None = None
    """The transcripts to export if `memory.qmd.sessions.enabled` is set."""


class QmdDriver:
    """QMD for one agent."""

    def __init__(self, plan: QmdPlan, place: QmdPlace) -> None:
        """Store the parts; nothing is started or written."""
        self._plan = plan
        self._place = place
        self._agent = agent_name(place.agent)
        self._home = QmdHome(place.state_dir / "agents" / self._agent / "qmd")
        self._lock = Lock()
        self._probe: QmdProbe | None = None
        self._program: Program | None = None
        self._transport: Transport | None = None
        self._background: Background | None = None
        self._closed = False
        self._notes_changed = False
        self._updates = Updates(
            plan=plan,
            home=self._home,
            run=self._run,
            folders=self._folders,
            transcripts=place.transcripts,
            environ=place.environ,
            wall=place.wall,
            embed_lock=place.state_dir / "qmd-embed.lock",
            shared_models=_shared_models(place.environ),
        )

    def probe(self) -> QmdProbe:
        """Find the program and ask for its version, once for each state of its file. Raises QmdFailure."""
        with self._lock:
            return self._probed()[0]

    def start(self) -> None:
        """Update and embed in the background at the intervals of the settings, until `close`.

        With `update.onBoot` the first update starts now; with `update.waitForBootSync` this and searches wait for it.

        Raises:
            QmdFailure: the program does not work, or the update that this waits for failed.
        """
        self.probe()
        schedule = self._plan.schedule
        if schedule.on_boot and schedule.wait_for_boot_sync:
            self._updates.update(force=True, wait=schedule.update_timeout_ms / 1000)
        with self._lock:
            if self._background is None and not self._closed:
                self._background = Background(self._updates)
                self._background.start(boot=schedule.on_boot and not schedule.wait_for_boot_sync)

    def search(self, text: str, *, limit: int | None = None, timeout: float | None = None) -> QmdAnswer:
        """Return the hits of a query. Before the first search of a memory, its files are indexed.

        Args:
            text: the query; lines that start with `lex:`, `vec:`, `hyde:` or `intent:` are a typed query.
            limit: number of hits; None: `limits.maxResults`.
            timeout: seconds for the search itself, without the first update; None: `limits.timeoutMs`.

        Raises:
            QmdFailure: QMD gave no usable answer.
        """
        try:
            answer = self._search(text, limit, timeout)
        except QmdFailure as error:
            if not self._closed:
                self._home.failed(error, self._place.wall())
            raise
        state = self._home.state()
        if state.error and not (state.update_failures or state.embed_failures):
            self._home.change(lambda old: replace(old, error=None, error_at=None))
        return answer

    def update(self, *, force: bool = False) -> QmdUpdated:
        """Index what changed. Without `force`, do nothing within `update.debounceMs` after an update.

        Raises:
            QmdFailure: the update failed.
        """
        self._notes_changed = False
        return self._updates.update(force=force, wait=self._plan.schedule.update_timeout_ms / 1000 if force else 0.0)

    def embed(self, *, force: bool = False) -> bool:
        """Compute missing vectors; no two processes of this user do so at once.

        Returns:
            Whether QMD ran. False in the mode `search`, within `update.embedInterval` after the last run and during the
            pause after a failure, unless `force` is set, and if another process is embedding.

        Raises:
            QmdFailure: the run failed.
        """
        return self._updates.embed(force=force)

    def forget(self) -> None:
        """Index what changed, and remove text that is in no file any more from the database. Raises QmdFailure."""
        if self._home.database.exists():
            self.update(force=True)
            self._run(["cleanup"], timeout=self._plan.schedule.command_timeout_ms / 1000)

    def notes_changed(self) -> None:
        """Let the next search wait for an update (bounded)."""
        self._notes_changed = True
        if self._background is not None:
            self._background.request(urgent=False)

    def status(self) -> SidecarStatus:
        """Return what is known without starting the program. Nothing is created or changed."""
        state = self._home.state()
        command = self._plan.command
        binary = ""
        missing = None
        try:
            binary = str(find_program(command, self._place.environ))
        except QmdMissing as error:
            message = f"The program {command!r}, which memory.backend `qmd` needs, is not installed."
            missing = Diagnostic("qmd_missing", message, error.remedy)
        return SidecarStatus(
            name=NAME,
            answering=NAME,
            reason=missing,
            binary=binary,
            version=state.probed[2] if state.probed and binary and state.probed[0] == binary else "",
            transport=self._plan.transport,
            mode=self._plan.search_mode,
            home=str(self._home.path),
            collections=tuple(
                SidecarCollection(each.name, str(each.path), each.pattern, state.files.get(each.name), not each.exists)
                for each in self._folders()
            ),
            documents=state.documents,
            vectors=state.vectors,
            pending=state.pending,
            last_update=state.last_update,
            last_embed=state.last_embed,
            last_error=state.failure,
            last_error_at=state.error_at,
        )

    def cites(self, path: str) -> bool:
        """Return whether a path is `qmd/<collection>/<relative path>`, or in a folder of `memory.qmd.paths`."""
        return is_cited(path, self._place.workspace, self._folders())

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Read lines of a file of a collection, as `Workspace.read` does. Raises PathRefused if it is none.

        The path is that of a hit: relative to the workspace, or `qmd/<collection>/<relative path>`.
        """
        workspace = self._place.workspace
        folders = self._folders()
        return read_cited(path, workspace, folders, start=start, lines=lines)

    def close(self) -> None:
        """End the background work and every program that runs."""
        self._closed = True
        if self._program is not None:
            self._program.close()
        if self._background is not None:
            self._background.stop()
        if self._transport is not None:
            self._transport.close()

    def _folders(self) -> tuple[Folder, ...]:
        workspace = self._place.workspace
        return folders_of(self._plan, self._agent, self._home.path, workspace.layout, workspace.suffixes)

    def _search(self, text: str, limit: int | None, timeout: float | None) -> QmdAnswer:
        self.probe()
        notices = self._freshen()
        folders = self._folders()
        with self._lock:
            transport = self._opened_transport()
        searcher = Searcher(
            plan=self._plan,
            home=self._home,
            transport=transport,
            workspace=self._place.workspace,
            environ=self._place.environ,
            configure=lambda: self._updates.update(force=True),
            count_vectors=self._updates.count_vectors,
        )
        seconds = self._plan.limits.timeout_ms / 1000 if timeout is None else timeout
        deadline = Deadline.within(seconds * 1000, self._place.monotonic)
        wanted = self._plan.limits.max_results if limit is None else limit
        answer = searcher.search(text, [folder for folder in folders if folder.exists], wanted, deadline)
        return replace(answer, notices=(*notices, *missing_roots(folders), *answer.notices))

    def _freshen(self) -> tuple[Diagnostic, ...]:
        """Index what changed before a search, and return a notice if the answer may not include it.

        Raises QmdFailure: nothing was ever indexed, and that fails.
        """
        state = self._home.state()
        schedule = self._plan.schedule
        wait = schedule.update_timeout_ms / 1000
        if state.last_update is None:
            self._after_pause(state)
            self._updates.update(force=True, wait=wait)
            return ()
        if not self._notes_changed and self._updates.stale(state) is False:
            return ()
        if self._background is not None:
            self._background.request(urgent=True)
            if not self._background.wait(WAIT_FOR_UPDATE):
                return (STALE,)
        else:
            try:
                self._after_pause(state)
                waits = schedule.on_boot and schedule.wait_for_boot_sync  # for the update that `start` runs
                updated = self._updates.update(force=True, wait=wait if waits else 0.0)
            except QmdFailure as error:
                return (Diagnostic.of(error), STALE)
            if not updated.ran and self._updates.stale(self._home.state()):
                return (STALE,)
        self._notes_changed = False
        return ()

    def _after_pause(self, state: StoredState) -> None:
        """Raise the last failure again while an update that did not end in time need not be tried again."""
        if state.update_failed_at is None or not state.error or state.error[0] != QmdTimeout.code:
            return
        if 0 <= self._place.wall() - state.update_failed_at < pause_after(state.update_failures):
            raise QmdTimeout(state.error[1], remedy=state.error[2])

    def _probed(self) -> tuple[QmdProbe, Program]:
        """Return the program and its version; the lock is held. Raises QmdFailure."""
        if self._closed:
            raise QmdMissing("QMD is closed.")
        if self._probe is None or self._program is None:
            binary = find_program(self._plan.command, self._place.environ)
            words_only = self._plan.search_mode == "search"
            environ = child_environment(self._place.environ, self._home.path, binary, words_only=words_only)
            self._home.make(_shared_models(self._place.environ))
            program = Program(binary, environ, self._home.path)
            changed = binary.stat().st_mtime_ns
            known = self._home.state().probed
            if known is None or known[:2] != (str(binary), changed):
                output = program.run(["--version"], timeout=PROBE_SECONDS)
                version = parse_version(output.text) or parse_version(output.errors)
                self._home.change(lambda old: replace(old, probed=(str(binary), changed, version)))
            else:
                version = known[2]
            self._probe = QmdProbe(binary, version)
            self._program = program
        return self._probe, self._program

    def _opened_transport(self) -> Transport:
        """Return the transport; the lock is held."""
        _, program = self._probed()
        if self._transport is None:
            if self._plan.transport == "mcp":
                self._transport = McpTransport(program, self._home.config_file, self._place.monotonic)
            else:
                self._transport = SpawnTransport(program)
        return self._transport

    def _run(self, arguments: Sequence[str], *, timeout: float) -> Output:
        with self._lock:
            _, program = self._probed()
        return program.run(arguments, timeout=timeout)


def _shared_models(environ: Mapping[str, str]) -> Path | None:
    """Return the folder in which the owner's own QMD keeps its models."""
    cache = environ.get("XDG_CACHE_HOME") or (f"{environ['HOME']}/.cache" if environ.get("HOME") else "")
    return Path(cache) / "qmd" / "models" if cache else None
