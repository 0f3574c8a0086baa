"""The memory of one workspace, as a program holds it."""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Literal, Self

from memoriter.app import assemble, plugins_of, read_environment, surrounds_of
from memoriter.environment import local_time
from memoriter.errors import SearchDisabled, UsageError
from memoriter.filters import check_range, make_filters
from memoriter.types import Diagnostic, Query, Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import date, datetime
    from pathlib import Path
    from threading import Event

    from memoriter.agent import Audience, Session, Surrounds
    from memoriter.app import Assembly
    from memoriter.backends import ForgetPlan, Forgotten, MemoryBackend
    from memoriter.config import Configuration, MemorySearch, Place
    from memoriter.plugins import Plugins
    from memoriter.sync import Progress
    from memoriter.tools import Tool
    from memoriter.types import CompactReport, Estimate, Excerpt, SearchResult, Source, SourceKind, Status, SyncReport
    from memoriter.watch import Watch, WatchEvent, Watching

LONGEST_ENTRY = 1_000_000


class Memory:
    """Notes that can be searched, read and added to; a context manager.

    In a project's folder, methods raise TrustRemoved as soon as its owner has removed their trust.

    >>> with Memory.open("~/notes") as memory:
    ...     for hit in memory.search("which database did we choose?").results:
    ...         print(hit.citation, hit.snippet)
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._backend = assembly.backend
        self._workspace = assembly.workspace
        self._sessions = set[str]()
        self._loaded: Plugins | None = None
        self._surrounds: Surrounds | None = None
        self._gate = RLock()

    @classmethod
    def open(
        cls,
        workspace: str | Path | None = None,
        *,
        config: str | Path | None = None,
        agent: str | None = None,
        home: str | Path | None = None,
    ) -> Self:
        """The memory of a folder of notes.

        Args:
            workspace: the folder; None: as the environment, the current folder or the configuration say.
            config: a JSON5 file, in place of `~/.memoriter/memoriter.json5`.
            agent: whose settings; None: the default agent's.
            home: where the index and everything else that can be made anew is kept, in place of `~/.memoriter`.

        Raises:
            ConfigError: the configuration is wrong.
            WorkspaceNotFound: there is no such folder.
        """
        return cls(assemble(workspace, config=config, agent=agent, env=read_environment(home)))

    @property
    def place(self) -> Place:
        """The workspace and why it is this one."""
        return self._assembly.place

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Untrusted files, files that other users of the machine could read, and settings without effect."""
        return self._assembly.notices

    @property
    def configuration(self) -> Configuration:
        return self._assembly.configuration

    @property
    def settings(self) -> MemorySearch:
        """The settings in force for the agent."""
        return self._assembly.settings

    @property
    def agent(self) -> str:
        return self._assembly.agent

    @property
    def backend(self) -> MemoryBackend:
        return self._backend

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
        path: str | None = None,
        tags: Collection[str] | None = None,
        explain: bool = False,
        deadline_ms: int | None = None,
        update: bool = True,
        operators: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> SearchResult:
        """The passages that answer a question, best first, with their places.

        The first search of a workspace builds the index, and any search takes up what changed since the last one.

        Args:
            query: the question, in any language.
            max_results: at most so many hits (1 or more); None: as configured, 6.
            min_score: the lowest score that counts (0..1); None: as configured, .35.
            sources: where to look: `memory`, `sessions`; None: everywhere.
            since: the first day that counts: a date, or text such as `2026-02-10`, `yesterday` or `7d`.
            until: the last day that counts.
            on: the only day that counts, in place of `since` and `until`.
            path: a file, a folder or a glob, as in citations.
            tags: only notes with all of these tags; `a` includes `a/b`.
            explain: let every hit say how it came by its score, and the result how long each stage took.
            deadline_ms: answer with what is found by then.
            update: index all changes first, and compute vectors; if False, only the words of a few small changes.
            operators: read `"a phrase"`, `-word`, `tag:`, `path:`, `since:` and `until:` in the query as filters.
            progress: called while the index is being built.

        Raises:
            SearchDisabled: `memorySearch.enabled` is off.
            InvalidQuery: the query is empty.
            UsageError: a number is out of its range, a text is no day, or a tag has no name.
        """
        if not self.settings.enabled:
            raise SearchDisabled(self._disabled.message)
        check_range("max_results", max_results, 1, 1_000)
        check_range("min_score", min_score, 0.0, 1.0)
        check_range("deadline_ms", deadline_ms, 1, 86_400_000)
        filters = make_filters(
            sources=sources, since=since, until=until, on=on, path=path, tags=tags, today=lambda: self._now().date()
        )
        request = Query(query, max_results, min_score, filters, explain, deadline_ms, update)
        if operators and self.settings.query.scoring != "classic":
            from memoriter.search import understand

            request = understand(request, self._now().date())
        result = self._assembly.trusted.backend.search(request, progress=progress)
        if result.hits or (outside := self._workspace.notes_outside()) is None:
            return result
        return replace(result, reasons=(*result.reasons, outside))

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Lines of a memory file, as cited; a file that is not there yet has an empty text.

        Args:
            path: as in citations, or absolute.
            start: the first line, from 1; None: the beginning.
            lines: how many; None: to the end, within 100,000 characters.

        Raises:
            PathRefused: the path is not memory.
        """
        return self._assembly.trusted.workspace.read(path, start=start, lines=lines)

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Bring the index up to date.

        Args:
            force: build it anew; vectors of unchanged text are kept.
            vectors: build it anew and compute every vector, too; a service takes its price again.
            progress: called after every file and every batch.

        Raises:
            IndexBusy: another process is indexing, and still was after a minute.
        """
        return self._backend.sync(force=force, vectors=vectors, progress=progress)

    def estimate(self) -> Estimate:
        """What `sync` would do, without doing it."""
        return self._backend.estimate()

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make the index as small as it can be; no answer changes.

        Args:
            unused: also drop vectors of text that no note has any more; they are kept in case it comes back.
            damaged: also remove damaged indexes that were set aside.

        Raises:
            IndexBusy: another process is indexing, and still was after a minute.
        """
        return self._backend.compact(unused=unused, damaged=damaged)

    def plan_forget(
        self, path: str | None = None, *, match: str | None = None, session: str | None = None
    ) -> ForgetPlan:
        """What `forget` would remove; nothing changes yet. One of the three is given.

        Args:
            path: a note, or lines of it as cited: `memory/2026-02-10.md#L10-L12`.
            match: every paragraph and list item that holds this text (3 characters or more; case counts).
            session: a transcript, by the name of its file without `.jsonl`.

        Raises:
            UsageError: it names nothing that there is, or not one thing.
            PathRefused: the path is not memory.
        """
        from memoriter.backends import ForgetRequest

        return self._backend.plan_forget(ForgetRequest.of(path, match, session))

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Remove what the plan shows from notes, transcripts and index; the receipt says what went.

        A note that has changed since the plan was made is left as it is. What could not be done is in `left`.

        >>> receipt = memory.forget(memory.plan_forget(match="the door code"))

        Raises:
            WriteConflict: a note has changed; nothing was removed.
            WriteError: a note could not be written.
        """
        return self._backend.forget(plan)

    def remember(
        self, text: str, *, to: Literal["daily", "long-term"] = "daily", origin: str | None = None, again: bool = False
    ) -> Remembered:
        """Add an entry to today's note or to the long-term memory; other processes may do so at the same time.

        Args:
            text: the entry, which becomes a list item in the form of the last entries. If the note or, for today's
                note, MEMORY.md already contains it, nothing is added and `existing` is true.
            to: `daily` is memory/YYYY-MM-DD.md of the user's day, `long-term` is MEMORY.md.
            origin: who wrote the text, such as `agent`, which the note then says beside it; None: the owner.
            again: add the entry even if it is already there.

        Raises:
            UsageError: the text is empty.
            WriteError: nothing was written.
        """
        if not text.strip():
            raise UsageError("There is nothing to remember: the text is empty.", remedy="Give a sentence.")
        check_range("len(text)", len(text), 1, LONGEST_ENTRY)
        written = self._assembly.trusted.workspace.remember(text, to=to, origin=origin, now=self._now(), again=again)
        reasons = self._after_writing(written.path)
        return Remembered(written.path, written.start_line, written.end_line, reasons, written.existing)

    def _after_writing(self, file: Path) -> tuple[Diagnostic, ...]:
        """Take up a note that was just written; return why the next search may not find it."""
        if left_out := self._workspace.left_out(file):
            return (left_out,)
        return self._backend.notes_changed(file) if self.settings.enabled else (self._disabled,)

    @property
    def _disabled(self) -> Diagnostic:
        message = f"Searching is turned off for the agent {self.agent!r}."
        return Diagnostic(SearchDisabled.code, message, SearchDisabled.default_remedy)

    def session_started(self, session: str | None = None) -> tuple[Diagnostic, ...]:
        """Take up what changed before an agent's session begins, as far as a search would; what is left undone.

        Does nothing if `sync.onSessionStart` is off, or when it was called before with the same name of a session.
        """
        if not self.settings.sync.on_session_start or session in self._sessions:
            return ()
        self._sessions.update([session] if session is not None else [])
        return self._backend.refresh()

    def watch(self, stop: Event, on_event: Callable[[WatchEvent], None] | None = None) -> None:
        """Keep the index true to the files until `stop` is set; no failure ends it.

        While another process watches the same notes this one waits, and takes over when that one ends.

        Args:
            stop: may be set by any thread, or by a signal.
            on_event: receives each event.
        """
        self._assembly.watch(stop, on_event or _nothing).run()

    def watching(self, on_event: Callable[[WatchEvent], None] | None = None) -> Watching:
        """The same in a thread, until the returned context manager is closed.

        >>> with Memory.open("~/notes") as memory, memory.watching():
        ...     memory.search("which database did we choose?")

        Searches still compare the notes with the index first, so that none misses a note that was just written.

        Args:
            on_event: receives each event, in that thread.
        """
        from memoriter.watch import Watching

        def opened(stop: Event, hears: Callable[[WatchEvent], None]) -> tuple[Watch, MemoryBackend]:
            # A backend of its own, so that no search waits for a run of indexing.
            another = self._assembly.again()
            return another.watch(stop, hears), another.backend

        return Watching(opened, on_event or _nothing)

    def warm(self) -> None:
        """Begin to load the model in the background; until it is there, words alone answer and `health` says so."""
        self._backend.warm()

    def sources(self) -> tuple[Source, ...]:
        """The files that are memory, as the disk is now, in the order of their paths."""
        return tuple(sorted(self._assembly.trusted.workspace.scan().sources, key=lambda source: source.path))

    def file_of(self, path: str) -> Path | None:
        """The file of a cited path, such as that of a hit; None if there is no such memory."""
        _, source = self._workspace.find(path) or ("", None)
        return source.file if source else None

    @property
    def daily_path(self) -> str:
        """Today's note, as cited; it may not exist yet. Raises PathRefused."""
        return self._workspace.daily(self._now().date()).relative_to(self._workspace.root).as_posix()

    def egress_notice(self) -> str | None:
        """Return where notes are about to be sent for the first time; None if nowhere, or if it was returned before."""
        return self._backend.egress_notice()

    def status(self, *, deep: bool = False) -> Status:
        """What there is and whether it works; `deep` searches for known passages."""
        outside = self._workspace.notes_outside()
        notices = (*self.notices, outside) if outside else self.notices
        status = self._backend.status(deep=deep)
        status = replace(status, notices=notices, trust=self.place.trust, layout=self._workspace.layout)
        if self.settings.enabled:
            return status
        reasons = (self._disabled, *status.health.reasons)
        return replace(status, health=replace(status.health, reasons=reasons))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What an agent can call here, plugins included. Raises ConfigError if the slot names a missing plugin."""
        return self._plugins.tools(self)

    def session(
        self, key: str, *, audience: Audience = "shared", writable: bool = True, project: bool = False
    ) -> Session:
        """One conversation of an agent, for its host to call around the turns.

        Args:
            key: the host's name for the conversation; the same after a pause.
            audience: `private` if the owner alone reads along, else `shared`.
            writable: whether the agent may write into the workspace.
            project: whether to treat the notes as those of a project, although the owner named the folder here.

        Raises UsageError if the key is empty, and ConfigError if the slot names a missing plugin.
        """
        from memoriter.agent import Session

        with self._gate:
            self._surrounds = self._surrounds or surrounds_of(self._assembly, self._plugins, self)
        found = self._assembly.trusted.place
        place = replace(found, trust="trusted") if project else found
        return Session(key, audience, replace(self._surrounds, writable=writable, origin=place.origin))

    @property
    def _plugins(self) -> Plugins:
        with self._gate:
            if self._loaded is None:
                self._loaded = plugins_of(self._assembly)
            return self._loaded

    def stop(self) -> None:
        """Let nobody wait for an embedding service any more: searches that do so answer by words. Call `close` next."""
        self._backend.stop()

    def close(self) -> None:
        """Let go of the index and the model."""
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _now(self) -> datetime:
        """The time in the user's time zone."""
        return local_time(self._assembly.wall(), self.configuration.settings.agents.defaults.user_timezone)


def _nothing(_: WatchEvent) -> None: ...
