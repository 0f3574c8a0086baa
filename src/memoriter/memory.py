"""The memory of one workspace, as a program holds it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from memoriter.app import Assembly, assemble, plugins_of, read_environment, session_environment_of
from memoriter.arguments import check_optional_text, check_places, checked
from memoriter.errors import ConfigError, IndexBusy, SearchDisabled, UsageError, WorkspaceNotFound
from memoriter.filters import make_query
from memoriter.types import Diagnostic, Query, Remembered, Replaced, WhyNot
from memoriter.values import dataclass

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Collection, Generator
    from datetime import date
    from pathlib import Path
    from threading import Event

    from memoriter.agent import Audience, Session, SessionEnvironment
    from memoriter.backends import ForgetPlan, Forgotten, MemoryBackend
    from memoriter.config import Configuration, MemorySearch, Place
    from memoriter.environment import Environment
    from memoriter.hookspecs import Finding
    from memoriter.journal import Change, History, HistoryReport, LineOrigin, NoteDifference, TakeBackPlan
    from memoriter.plugins import Plugins
    from memoriter.sync import Progress
    from memoriter.tidy import KeptIds, Proposal, Statement, TidyReport
    from memoriter.tools import Tool
    from memoriter.types import (
        CompactReport,
        Entry,
        Estimate,
        Excerpt,
        SearchArguments,
        SearchResult,
        Source,
        SourceKind,
        Status,
        SyncReport,
    )
    from memoriter.watch import WatchEvent, Watching


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request of a client that a thread of a server answers, while it is in the context `answering`."""

    progress: Callable[[Progress], None]
    """Called with each step of a first index."""
    client: str = ""
    """The program that asks, as it calls itself."""
    token: str | None = None
    """The author of what comes with the token of somebody else than the owner; None: an agent of the owner."""

    def author(self, origin: str | None) -> str | None:
        """Return who wrote what a tool passes on for `origin`; None: the owner."""
        if not origin:
            return None
        return f"{self.token or f'{origin} via MCP'}{f' ({self.client})' if self.client else ''}"


ABOUT = 100
"""Passages that are looked at for the history of a subject."""
_REQUEST = ContextVar[ClientRequest | None]("request", default=None)


@contextmanager
def answering(request: ClientRequest) -> Generator[None]:
    """Let searches of this thread report their progress to a client, and entries of this thread be the client's."""
    before = _REQUEST.set(request)
    try:
        yield
    finally:
        _REQUEST.reset(before)


class Memory:
    """Notes that can be searched, read and added to; a context manager.

    In a project's folder, methods raise TrustRemoved as soon as its owner has removed their trust.

    >>> with Memory.open("~/notes") as memory:
    ...     for hit in memory.search("which database did we choose?").results:
    ...         print(hit.citation, hit.snippet)
    """

    def __init__(self, assembly: Assembly | None = None) -> None:
        """Hold what `open` has opened; programs call `open`. Raises UsageError without it."""
        if not isinstance(assembly, Assembly):
            raise UsageError(
                "A memory is not made by calling Memory.", remedy="Call Memory.open with the folder of notes."
            )
        self.closed = False
        self._assembly = assembly
        self._notes = assembly.notes
        self._backend = assembly.backend
        self._workspace = assembly.notes.workspace
        self._loaded: Plugins | None = None
        self._session_env: SessionEnvironment | None = None
        self._sessions = set[str]()
        self._gate = RLock()
        self.on_search: Callable[[SearchResult], None] | None = None  # called in the thread of each search
        self.on_reload: list[Callable[[bool], None]] = []  # called by `reload_plugins`, with what it returns

    @classmethod
    def open(
        cls,
        workspace: str | Path | None = None,
        *,
        config: str | Path | None = None,
        agent: str | None = None,
        home: str | Path | None = None,
    ) -> Self:
        """Open the memory of a folder of notes.

        Args:
            workspace: the folder; None: selected by the environment, the current folder or the configuration.
            config: a JSON5 file, instead of `~/.memoriter/memoriter.json5`.
            agent: the agent whose settings apply; None: the default agent.
            home: the folder of the index and everything else that can be rebuilt, instead of `~/.memoriter`.

        Raises:
            ConfigError: the configuration is invalid.
            WorkspaceNotFound: the folder does not exist.
            UsageError: an argument is no path, or no text.
        """
        check_places(workspace=workspace, config=config, home=home)
        check_optional_text("agent", agent)
        try:
            return cls(assemble(workspace, config=config, agent=agent, env=read_environment(home)))
        except WorkspaceNotFound as error:
            if workspace is None:
                raise
            message = f"The folder {str(workspace)!r} does not exist, or is no folder."
            raise WorkspaceNotFound(message, remedy="Create the folder, or name another one.") from error

    @property
    def place(self) -> Place:
        """The workspace, and why it was selected."""
        return self._notes.place

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Untrusted files, files that other users of the machine could read, and settings without effect."""
        return self._assembly.notices

    @property
    def configuration(self) -> Configuration:
        return self._notes.configuration

    @property
    def settings(self) -> MemorySearch:
        """The settings in force for the agent."""
        return self._notes.settings

    @property
    def agent(self) -> str:
        return self._notes.agent

    @property
    def environment(self) -> Environment:
        """The folders, variables and clocks of this memory."""
        return self._notes.env

    @property
    def backend(self) -> MemoryBackend:
        return self._backend

    @property
    def token(self) -> str | None:
        """The author of what comes with the token of somebody else than the owner; None: the owner, or their agent."""
        request = _REQUEST.get()
        return None if request is None else request.token

    @checked
    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Collection[SourceKind] | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        on: date | str | None = None,
        changed: bool | None = None,
        path: str | None = None,
        tags: Collection[str] | None = None,
        explain: bool = False,
        deadline_ms: int | None = None,
        update: bool = True,
        operators: bool = False,
        session: str | None = None,
        as_of: date | str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> SearchResult:
        """Return the passages that answer a question, best first, with their places; of a time that it names, first.

        The first search of a workspace builds the index. Each later search first indexes the notes that changed.

        Args:
            query: the question, in any language.
            max_results: the maximum number of hits (1 to 1,000); None: as configured, 6.
            min_score: the minimum score (0..1); None: as configured, .35.
            sources: what to search: `memory`, `sessions`; None: both.
            since: the first day: a date, or text such as `2026-02-10`, `last week`, `October 2025` or `7d`; `any`: no
                day, and a time in the question is not read.
            until: the last day.
            on: the only day or days, instead of both. With days, a blank question returns the newest passages.
            changed: for a note without a day, count the day of its file's last change.
            path: a file, a folder or a glob, as in citations.
            tags: only notes with all of these tags; `a` includes `a/b`.
            explain: add how each hit got its score, and the time of each stage.
            deadline_ms: return what is found within this time (1 to 86,400,000 ms); None: as configured.
            update: index all changes first, and compute vectors; if False, only the words of a few small changes.
            operators: read `"a phrase"`, `-word`, `tag:`, `path:`, `since:`, `until:`, `lex:` lines and the like.
            session: the key of the conversation that asks, for the rules of `memory.qmd.scope`; None: the owner asks.
            as_of: search the notes as they were at this time, from the journal and Git: a day means its end; None: now.
            progress: called while the index is being built.

        Raises:
            SearchDisabled: `memorySearch.enabled` is off.
            InvalidQuery: the query is empty, or a line of a typed query is not valid.
            UsageError: a number is out of its range, a text is no day, or a tag has no name.
        """
        if not self.settings.enabled:
            raise SearchDisabled(self._notes.disabled.message)
        request = make_query(
            query,
            self._today,
            max_results=max_results,
            min_score=min_score,
            sources=sources,
            since=since,
            until=until,
            on=on,
            changed=changed,
            path=path,
            tags=tags,
            explain=explain,
            deadline_ms=deadline_ms,
            update=update,
            session=session,
            as_of=None if as_of is None else str(as_of),
        )
        request = self._understood(request, operators=operators)
        self._notes.check_trust()
        client = _REQUEST.get()
        if progress is None and client is not None:
            progress = client.progress
        moment = None if as_of is None else self._past_moment(as_of)
        if moment is None:
            result = self._backend.search(request, progress=progress)
        else:
            result = self._search_past(request, moment, progress)
        if self.on_search is not None:
            self.on_search(result)
        outside = None if result.hits else self._workspace.notes_outside()
        return result if outside is None else replace(result, reasons=(*result.reasons, outside))

    @checked
    def why_not(
        self, query: str, citation: str, *, operators: bool = False, **arguments: Unpack[SearchArguments]
    ) -> WhyNot:
        """Return which stage of a search lost a passage, and the smallest change that brings it back, which was tried.

        Args:
            query: the question.
            citation: the passage: a path, with lines as in `memory/2026-02-10.md#L5-L9`, `#L5` or `:5`.
            operators: as for `search`.
            arguments: `max_results`, `min_score` and the filters, as for `search`.

        Raises SearchDisabled, InvalidQuery and, for a wrong argument or an empty citation, UsageError.
        """
        if not self.settings.enabled:
            raise SearchDisabled(self._notes.disabled.message)
        request = make_query(query, self._today, **arguments)
        request = self._understood(request, operators=operators)
        self._notes.check_trust()
        return self._backend.why_not(request, citation)

    def _understood(self, query: Query, *, operators: bool) -> Query:
        """Return the query with the time that it names, and with its operators if they are to be read."""
        if self.settings.query.scoring == "classic":
            return query
        if operators:
            from memoriter.search import understand

            return understand(query, self._today())
        from memoriter.search import with_time

        return with_time(query, query.text, self._today)

    @checked
    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a memory file; the text of a file that does not exist yet is empty. Raises PathRefused.

        Args:
            path: the path as in citations, or an absolute path.
            start: the first line, 1-based; None: the first one of the file.
            lines: the number of lines; None: to the end, within 100,000 characters.
        """
        self._notes.check_trust()
        return self._backend.read(path, start=start, lines=lines)

    @checked
    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Bring the index up to date. Raises IndexBusy if another process still indexes after a minute.

        Args:
            force: rebuild it; vectors of unchanged text are kept.
            vectors: rebuild it and compute every vector again; a service charges for them again.
            progress: called after every file and every batch.
        """
        return self._backend.sync(force=force, vectors=vectors, progress=progress)

    @checked
    def estimate(self) -> Estimate:
        """Return what `sync` would do, without doing it."""
        return self._backend.estimate()

    @checked
    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Free the unused space of the index; search results do not change. Raises IndexBusy, as `sync` does.

        Args:
            unused: also drop vectors of text that no note has any more; they are kept in case the text returns.
            damaged: also remove damaged indexes that were set aside.
        """
        return self._backend.compact(unused=unused, damaged=damaged)

    @checked
    def plan_forget(
        self, path: str | None = None, *, match: str | None = None, session: str | None = None
    ) -> ForgetPlan:
        """Return what `forget` would remove. Pass exactly one argument.

        It changes nothing, except that it finishes the writes of processes that were killed; see `recovered`.

        Args:
            path: a note, or lines of it as cited: `memory/2026-02-10.md#L10-L12`.
            match: every paragraph and list item that contains this text (3 characters or more, in any case).
            session: a transcript: the name of its file without `.jsonl`.

        Raises:
            UsageError: what the argument names does not exist, or not exactly one argument is given.
            PathRefused: the path is not memory.
        """
        from memoriter.backends import ForgetRequest

        if [path, match, session].count(None) != 2:
            raise UsageError(
                "The method plan_forget takes one argument.", remedy="Give exactly one of path, match and session."
            )
        plan = self._backend.plan_forget(ForgetRequest.of(path, match, session))
        model = self._assembly.language_model
        sent = model and model.sent
        return replace(plan, unreached=(*plan.unreached, sent)) if sent else plan

    @checked
    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Remove what the plan shows from notes, transcripts and index, and return the receipt.

        A note that has changed since the plan was made stays as it is. `left` lists what could not be done.

        >>> receipt = memory.forget(memory.plan_forget(match="the door code"))

        Raises WriteConflict if a note has changed, and nothing was removed, and WriteError.
        """
        receipt = self._backend.forget(plan)
        try:
            left = self._plugins.forgotten(self, receipt)
        except ConfigError as error:  # of a plugin that the memory slot names, which may still have the text
            left = (Diagnostic.of(error),)
        return replace(receipt, left=(*receipt.left, *left))

    @checked
    def delete(self, citation: str) -> Forgotten:
        """Delete an entry, as `forget` does, and return the receipt.

        >>> memory.delete(memory.list("MEMORY.md")[0].citation)

        Args:
            citation: the note with the lines of the entry, such as `MEMORY.md#L3-L4`.

        Raises UsageError if it names no lines, and what `plan_forget` and `forget` raise.
        """
        from memoriter.workspace import split_citation

        if split_citation(citation)[1] is None:
            remedy = "Give them, as in MEMORY.md#L3-L4. A whole note is removed by plan_forget and forget."
            raise UsageError(f"The citation {citation!r} names no lines.", remedy=remedy)
        return self.forget(self.plan_forget(citation))

    @checked
    def remember(
        self,
        text: str,
        *,
        to: Literal["daily", "long-term"] = "daily",
        origin: str | None = None,
        again: bool = False,
        section: str | None = None,
    ) -> Remembered:
        """Add an entry to today's note or to the long-term memory. Several processes may do so at the same time.

        Args:
            text: the entry, which becomes a list item in the form of the last entries. If the note or, for today's
                note, MEMORY.md already contains it, nothing is added and `existing` is true.
            to: `daily` is memory/YYYY-MM-DD.md of the user's day, `long-term` is MEMORY.md.
            origin: the author, such as `agent`, which the entry is marked with; None: the owner.
            again: add the entry even if it is already there.
            section: the heading below which the entry comes, at the end of its section; it is added if it is not there.

        Raises UsageError if the text is empty, and WriteError; then nothing was written.
        """
        client = _REQUEST.get()
        if client is not None:
            origin = client.author(origin)
        return self._notes.remember(
            text, to=to, origin=origin, again=again, section=section, index=self._backend.notes_changed
        )

    @checked
    def replace(self, path: str, text: str, *, expected: str | None, origin: str | None = None) -> Replaced:
        """Replace the whole text of a note unless it has changed.

        Args:
            path: the path as in citations.
            text: the new text.
            expected: `Excerpt.hash` of the note as it was read; None: the note must not exist.
            origin: the author, whose new and changed entries are marked; None: the owner.

        Raises PathRefused if it is no memory, WriteConflict if it has changed, and WriteError; it is then unchanged.
        """
        day = self.now().date().isoformat()
        written = self._notes.trusted_workspace.replace_readable(path, text, expected=expected, origin=origin, day=day)
        file = self.file_of(path)
        if file is None:
            return Replaced(written, ())
        reasons = self._notes.reasons_hidden(self._workspace.exclusion_of(file))
        return Replaced(written, reasons or self._backend.notes_changed(file))

    @checked
    def history(
        self,
        path: str | None = None,
        *,
        about: str | None = None,
        since: datetime | date | str | None = None,
        max_results: int | None = None,
    ) -> HistoryReport:
        """Return the changes of the notes, the newest first: who made them, when, and what they replaced.

        Args:
            path: a note as cited; None: all notes.
            about: only what was said about this, and what that replaced; a line that is older than the journal counts
                for the day of its note. Not together with `path`.
            since: no earlier changes: a time, or a text such as `7d` or `2h`.
            max_results: only as many, the newest (1 to 1,000); None: all.

        Raises UsageError, also if the journal is turned off.
        """
        start = 0.0 if since is None else self._moment(since)
        if about is not None:
            if path is not None:
                raise UsageError("A note and a subject exclude each other.", remedy="Give one of them.")
            return self._history_about(about, start, max_results)
        if path is None:
            return self._history.changes(None, start, max_results)
        from memoriter.backends import commits_of

        cited = self._workspace.cited(path)
        report = self._history.changes(cited, start)
        commits = [each for each in commits_of(self._workspace.root, cited) if each.at >= start]
        changes = sorted((*report.changes, *commits), key=lambda change: -change.at) if commits else report.changes
        return replace(report, changes=tuple(changes)[:max_results])

    def _history_about(self, about: str, start: float, max_results: int | None) -> HistoryReport:
        from memoriter.backends import changes_about

        hits = self.search(about, sources=("memory",), since="any", min_score=0.0, max_results=ABOUT).hits
        report = changes_about(about, hits, self._history, self._moment)
        return replace(report, changes=tuple(each for each in report.changes if each.at >= start)[:max_results])

    @checked
    def diff(self, since: datetime | date | str) -> tuple[NoteDifference, ...]:
        """Return how the notes differ from what they were at a time, such as `7d`; only those that changed.

        Raises UsageError.
        """
        paths = [source.path for source in self.sources() if source.kind == "memory"]
        return self._history.differences(self._moment(since), paths)

    @checked
    def line_origin(self, path: str, line: int) -> LineOrigin | None:
        """Return the change that a line of a note is from, with what it replaced; None if nobody knows.

        Of a line that is older than the journal, it is the commit of Git, if there is one.

        Raises UsageError if there is no such line.
        """
        from memoriter.backends import commit_of_line
        from memoriter.journal import FOUND, LineOrigin

        cited = self._workspace.cited(path)
        origin = self._history.line(cited, line)
        if origin is None or origin.change.act == FOUND:
            commit = commit_of_line(self._workspace.root, cited, line)
            return LineOrigin(commit, ()) if commit else origin
        return origin

    @checked
    def line_origins(self, path: str) -> tuple[Change | None, ...]:
        """Return the change that each line of a note is from; None if the journal does not know."""
        return self._history.lines(self._workspace.cited(path))

    @checked
    def undo(self, identifier: str, *, dry_run: bool = False) -> TakeBackPlan:
        """Take one change of a note back, whatever was changed elsewhere since, and return what that did.

        Args:
            identifier: the id of the change, or its beginning.
            dry_run: whether to change nothing.

        Raises UsageError, WriteConflict if its lines were changed since, and WriteError.
        """
        plan = self._history.undo_plan(identifier)
        if not dry_run:
            self._take_back(plan, "undo")
        return plan

    @checked
    def plan_rollback(
        self,
        *,
        session: str | None = None,
        token: str | None = None,
        since: datetime | date | str | None = None,
    ) -> TakeBackPlan:
        """Return what taking back all changes of a session, of a token or since a time does. Pass one argument.

        Args:
            session: the id of a conversation, as in `history`.
            token: the name of a token.
            since: a time, or a text such as `2h`; it takes back also what you and other programs changed since.

        Raises UsageError.
        """
        start = None if since is None else self._moment(since)
        return self._history.rollback_plan(session=session, token=token, since=start)

    @checked
    def rollback(self, planned: TakeBackPlan) -> TakeBackPlan:
        """Take back what the plan shows. What others changed since stays, and each change can be undone.

        >>> memory.rollback(memory.plan_rollback(session="agent:main:7"))

        Raises WriteConflict if a note has changed since the plan was made, and WriteError.
        """
        self._take_back(planned, "rollback")
        return planned

    @checked
    def unreviewed(self) -> HistoryReport:
        """Return what agents and tokens wrote since the last review and is there still, the newest first."""
        return self._history.unreviewed()

    @checked
    def mark_reviewed(self, change: Change) -> None:
        """Remember that a review has come to a change; the next one begins after it. Raises OSError."""
        self._history.mark_reviewed(change)

    @checked
    def amend(self, change: Change, text: str) -> None:
        """Put a text in the place of the lines that a change added. Raises what `undo` raises."""
        self._history.amend(change, text)

    @checked
    def tidy(self) -> TidyReport:
        """Return what would make the notes shorter or truer; nothing is changed.

        Proposed are the merging of repeated statements, the move of lasting ones from daily notes to the long-term
        memory, and the end of those of which a later one says otherwise. What was refused is not proposed again. The
        language model of `memory.tidy`, if there is one, compares statements in other words.
        """
        from memoriter.tidy import TidyReport, all_statements, propose, propose_by_model

        statements = list(all_statements(self._notes.trusted_workspace, self.configuration.settings.memory.daily_note))
        refused = self._tidy_ids().read()
        proposals = propose(statements, refused=refused, dated=self._day_of)
        model = self._assembly.language_model
        if model is None:
            return TidyReport(tuple(proposals))
        different = self._tidy_ids("-different")
        more, reasons = propose_by_model(
            statements, proposals, model, refused=refused, different=different, dated=self._day_of
        )
        return TidyReport((*proposals, *more), reasons)

    @checked
    def accept_proposal(self, proposal: Proposal, text: str | None = None) -> tuple[str, ...]:
        """Change the notes as a proposal of `tidy` says, and return their paths. Each change can be undone.

        Args:
            proposal: the proposal.
            text: what comes in the place of the statement that stays or is added; None: as it is.

        Raises WriteConflict if a statement is not there any more, and WriteError.
        """
        from memoriter.tidy import accept

        paths = accept(self._notes.trusted_workspace, proposal, text, self.now())
        self._backend.notes_changed(*filter(None, map(self.file_of, paths)))
        return tuple(paths)

    @checked
    def refuse_proposal(self, proposal: Proposal) -> None:
        """Never propose this again, as long as the statements have these words. Raises OSError."""
        self._tidy_ids().add(proposal.id)

    def _tidy_ids(self, kind: str = "") -> KeptIds:
        from memoriter.config import workspace_key
        from memoriter.tidy import KeptIds

        return KeptIds(self.environment.home / "tidy" / f"{workspace_key(self.place.workspace)}{kind}.json")

    def _day_of(self, statement: Statement) -> date | None:
        """Return the day on which a statement was in its note for certain; None if the journal does not know."""
        with suppress(UsageError):
            origin = self._history.line(statement.path, statement.start_line)
            return datetime.fromtimestamp(origin.change.at, self.now().tzinfo).date() if origin else None
        return None

    def _take_back(self, plan: TakeBackPlan, act: str) -> None:
        self._history.carry_out(plan, act)
        for note in plan.notes:
            if note.content is not None and (file := self.file_of(note.path)):
                self._backend.notes_changed(file)

    @property
    def _history(self) -> History:
        from memoriter.journal import History

        workspace = self._notes.trusted_workspace
        return History(workspace, workspace.journal)

    def _moment(self, value: datetime | date | str) -> float:
        from memoriter.journal import moment_of

        return moment_of(value, self.now())

    def _past_moment(self, as_of: date | str) -> datetime | None:
        """Return the time that a search of the past means, which is the end of a day; None: it is not over yet."""
        from memoriter.journal import moment_of

        now = self.now()
        moment = datetime.fromtimestamp(moment_of(as_of, now, end=True), now.tzinfo)
        return moment if moment < now else None

    def _search_past(
        self, request: Query, moment: datetime, progress: Callable[[Progress], None] | None
    ) -> SearchResult:
        """Search the notes as they were at a time."""
        try:
            result, unknown = self._search_state(request, moment, progress)
        except IndexBusy:  # such as for a kept state that held text which was just forgotten
            result, unknown = self._search_state(request, moment, progress)
        found = {**(result.understood or {}), "asOf": moment.isoformat(timespec="minutes")}
        health = replace(result.health, reasons=(*result.health.reasons, *unknown))
        hits = tuple(replace(hit, changed=None) for hit in result.hits)  # the files of the past are copies
        return replace(result, hits=hits, understood=found, health=health)

    def _search_state(
        self, request: Query, moment: datetime, progress: Callable[[Progress], None] | None
    ) -> tuple[SearchResult, tuple[Diagnostic, ...]]:
        """Return what the notes at a time have, and diagnostics about those of which that is not known."""
        from memoriter.backends import texts_in_past

        texts, unknown = texts_in_past(self._history, self._notes.trusted_workspace, moment)
        with self._assembly.past(texts) as backend:
            return backend.search(request, progress=progress), unknown

    @checked
    def list(self, path: str | None = None) -> tuple[Entry, ...]:
        """Return the entries of a note in their order: its list items, paragraphs and other blocks.

        Args:
            path: the note as cited. A note that does not exist has none. None: those of all notes.

        Raises PathRefused if the path is not memory.
        """
        workspace = self._notes.trusted_workspace
        paths = [source.path for source in self.sources() if source.kind == "memory"] if path is None else [path]
        return tuple(entry for each in paths for entry in workspace.entries(each))

    @checked
    def authors(self, path: str, *, as_of: date | str | None = None) -> builtins.list[str]:
        """Return who wrote each line of a note, such as `agent, 2026-11-22`; empty: the owner.

        Args:
            path: the path as in citations. A note that does not exist has no lines.
            as_of: the time of which the lines are meant, as in `search`.

        Raises PathRefused, and WriteError if the record of what came with tokens is damaged.
        """
        workspace = self._notes.trusted_workspace
        moment = None if as_of is None else self._past_moment(as_of)
        if moment is None:
            return workspace.authors(path)
        from memoriter.backends import texts_in_past

        texts, _ = texts_in_past(self._history, workspace, moment, only=path)
        return workspace.authors(path, texts.get(path, b"").decode("utf-8-sig", "replace").split("\n"))

    @checked
    def session_started(self, session: str | None = None) -> tuple[Diagnostic, ...]:
        """Index pending changes within a search's time budget; return diagnostics for what is left.

        It does nothing if `sync.onSessionStart` is off, or if it was called with the same session before.
        """
        if not self.settings.sync.on_session_start or session in self._sessions:
            return ()
        self._sessions.update([session] if session is not None else [])
        return self._backend.refresh()

    @checked
    def watch(self, stop: Event, on_event: Callable[[WatchEvent], None] | None = None) -> None:
        """Keep the index in sync with the files until `stop` is set, which any thread may do; no failure ends it.

        If another process watches the same notes, this one waits and takes over when the other one ends.
        """
        self._assembly.watch(stop, on_event).run()

    @checked
    def watching(self, on_event: Callable[[WatchEvent], None] | None = None) -> Watching:
        """Run `watch` in a thread, until the returned context manager is closed; `on_event` is called in that thread.

        >>> with Memory.open("~/notes") as memory, memory.watching():
        ...     memory.search("which database did we choose?")
        """
        return self._assembly.watching(on_event)

    @checked
    def warm(self) -> None:
        """Load the model in the background; until then, searches use keywords only and `health` reports this."""
        self._backend.warm()

    @checked
    def sources(self) -> tuple[Source, ...]:
        """Return the files that are memory now, sorted by path."""
        return tuple(sorted(self._notes.trusted_workspace.scan().sources, key=lambda source: source.path))

    @checked
    def file_of(self, path: str) -> Path | None:
        """Return the file of a cited path, such as that of a hit; None if the path is not memory."""
        _, source = self._workspace.find(path) or ("", None)
        return source.file if source else None

    @property
    @checked
    def daily_path(self) -> str:
        """The path of today's note as in citations; the note may not exist yet. Raises PathRefused."""
        return self._workspace.daily(self.now().date()).relative_to(self._workspace.root).as_posix()

    @checked
    def egress_notice(self, *, tidy: bool = False) -> str | None:
        """Return the notice that notes will go to a service; None if they stay here, or if it was returned before.

        With `tidy`, it includes the language model of `memory.tidy`.
        """
        model = self._assembly.language_model if tidy else None
        notices = self._backend.egress_notice(), model and model.egress_notice()
        return " and to ".join(filter(None, notices)) or None

    @checked
    def status(self, *, deep: bool = False) -> Status:
        """Return the state of the memory and its health; `deep` also searches for known passages."""
        notices = (*self.notices, *filter(None, (self._workspace.notes_outside(),)))
        status = self._backend.status(deep=deep)
        off = () if self.settings.enabled else (self._notes.disabled,)
        health = replace(status.health, reasons=(*off, *status.health.reasons))
        return replace(status, notices=notices, health=health, trust=self.place.trust, layout=self._workspace.layout)

    @property
    @checked
    def tools(self) -> tuple[Tool, ...]:
        """The tools of an agent, with those of plugins. Raises ConfigError if the slot names a missing plugin."""
        return self._plugins.tools(self)

    @property
    @checked
    def long_term(self) -> Any:  # each plugin has a class of its own for them
        """The long-term memories. Raises ConfigError if the slot does not name `memory-lancedb`, or it is missing."""
        return self._plugins.long_term(self)

    @checked
    def check_plugins(self) -> tuple[tuple[str, Finding], ...]:
        """Let all plugins check their parts, and return the findings, each with the name of its plugin.

        Raises ConfigError if the slot names a missing plugin.
        """
        return self._plugins.checks(self)

    @checked
    def session(
        self, key: str, *, audience: Audience = "shared", writable: bool = True, project: bool = False
    ) -> Session:
        """Return a conversation of an agent, which the host calls before and after each turn.

        Args:
            key: the host's id of the conversation; the same one when it is resumed.
            audience: `private` if only the owner reads the conversation, else `shared`.
            writable: whether the agent may write into the workspace.
            project: whether to label the notes as those of a project, although the owner named the folder.

        Raises UsageError if the key is empty, and ConfigError if the slot names a missing plugin.
        """
        from memoriter.agent import Session

        with self._gate:
            self._session_env = self._session_env or session_environment_of(
                self._assembly, self._plugins, self, self.session_started
            )
        self._notes.check_trust()
        place = self.place
        origin = (replace(place, trust="trusted") if project else place).origin
        return Session(key, audience, replace(self._session_env, writable=writable, origin=origin))

    @checked
    def reload_plugins(self) -> bool:
        """Read the settings again, and let the plugins that they name take over; searches keep the settings they have.

        Sessions and tools that were returned before belong to the earlier plugins.

        Returns whether the settings differ in those of plugins only. Raises ConfigError if they are invalid, or if the
        slot names a missing plugin; then nothing has changed.
        """
        old = self.configuration
        new = self._assembly.again().notes.configuration
        only_plugins = replace(new.settings, plugins=old.settings.plugins) == old.settings
        if not only_plugins:
            new = replace(old, settings=replace(old.settings, plugins=new.settings.plugins))
        notes = replace(self._notes, configuration=new)
        assembly = replace(self._assembly, notes=notes)
        plugins = plugins_of(assembly)
        with self._gate:
            self._notes = notes
            self._assembly = assembly
            self._loaded = plugins
            self._session_env = None
        for each in self.on_reload:
            each(only_plugins)
        return only_plugins

    @property
    def _plugins(self) -> Plugins:
        with self._gate:
            self._loaded = self._loaded or plugins_of(self._assembly)
            return self._loaded

    def stop(self) -> None:
        """Stop waiting for embedding services: searches that wait return keyword results. Call `close` next."""
        self._backend.stop()

    def close(self) -> None:
        """Close the index and the model. Afterwards, every other method raises UsageError."""
        self.closed = True
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _today(self) -> date:
        return self.now().date()

    def now(self) -> datetime:
        """Return the current time, in the user's time zone."""
        return self._notes.now()
