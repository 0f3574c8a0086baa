"""Request a flush from an agent, then compare the log on disk with its snapshot to see what changed.

This module only reads the notes. Between a request and its settlement, the model, `remember` or the owner's editor may
write to the log. No program can know which of them removed a line, so memoriter never restores or removes one.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.agent._session_files import KEPT_SECONDS, OWN_KEY, SessionStore, remove_old, table_of
from memoriter.agent.flush._decision import (
    Evidence,
    Flush,
    Thresholds,
    compaction_count,
    flush_due,
    flush_json,
    flush_prompt,
    flush_system_prompt,
    has_doubled,
    late_prompt,
    next_request,
    parse_flush,
    settle,
    was_flushed,
)
from memoriter.environment import local_time
from memoriter.errors import MemoriterError, PathRefused, WriteConflict
from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder
from memoriter.plain_file import read_plain
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.agent._session_files import Entry
    from memoriter.agent.flush._decision import Step
    from memoriter.config import Compaction
    from memoriter.workspace import Workspace

LogEntry = tuple[str, ...]
"""Lines of a list item with its continuation, of a heading, or of a paragraph."""

_ENTRY_START = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|#{1,6}[ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]")


@dataclass(frozen=True, slots=True)
class LogDifference:
    """The difference between two versions of a log."""

    new: tuple[str, ...]
    """Entries that only the later version has, each once and in order; headings do not count."""
    gone: tuple[str, ...]
    """Lines that only the earlier version has, because they were removed or changed."""


def log_difference(before: str, after: str) -> LogDifference:
    """Return the new entries of a log and the lines that it lost.

    Only equal lines and entries count as the same: lines that only moved are neither new nor gone, and an entry that
    equals an older one is not new. Lines are compared without their line endings. The texts hold the bytes of the file
    (`surrogateescape`), so bytes that are not valid text are compared, too.
    """
    if before == after:
        return LogDifference((), ())
    earlier = Counter(_nonblank_lines(before))
    later = Counter(_nonblank_lines(after))
    previous = set(log_entries(before))
    new = {
        "\n".join(entry): None
        for entry in log_entries(after)
        if not _HEADING.match(entry[0]) and entry not in previous and any(later[line] > earlier[line] for line in entry)
    }
    # Appending to a last line without a line ending changes that line, but removes nothing.
    gone = () if after.startswith(before) else tuple((earlier - later).elements())
    return LogDifference(tuple(new), gone)


def log_entries(text: str) -> list[LogEntry]:
    """Return the entries of a log, without the blank lines between them."""
    entries = list[list[str]]()
    open_entry = False
    for line in _lines(text):
        if not line.strip(" \t\r"):
            open_entry = False
        elif open_entry and not _ENTRY_START.match(line):
            entries[-1].append(line)
        else:
            # An indented paragraph below a list item belongs to the item.
            if not open_entry and entries and line[0] in " \t" and not _HEADING.match(entries[-1][0]):
                entries[-1].append(line)
            else:
                entries.append([line])
            open_entry = not _HEADING.match(line)
    return [tuple(entry) for entry in entries]


def _lines(text: str) -> Iterator[str]:
    return (line.removesuffix("\r") for line in text.split("\n"))


def _nonblank_lines(text: str) -> Iterator[str]:
    return (line for line in _lines(text) if line.strip(" \t\r"))


DEFAULT_WINDOW = 200_000
"""Tokens of a model's context window, if neither the host nor the settings know it."""
KEPT_DAYS = KEPT_SECONDS // 86_400
MAKE_ROOM = "Make the folder of notes writable, or name another workspace."
MAKE_PLAIN = "Move away what has the name of the log, or correct .memoryignore, so that it can be a plain note."


@dataclass(frozen=True, slots=True)
class FlushTurn:
    """A turn for the host to run now, in which the model writes down lasting facts."""

    prompt: str
    system_prompt: str
    path: str
    """The log that the model should append to, as cited."""


@dataclass(frozen=True, slots=True)
class FlushAnswer:
    """The flush turn to run, if any, and diagnostics if the model cannot be asked."""

    turn: FlushTurn | None = None
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class FlushResult:
    """Outcome of a flush."""

    step: Step
    path: str
    new: int = 0
    """Number of entries that the log did not have at the request, whoever wrote them."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Flushing:
    """The flushes of one session."""

    key: str
    workspace: Workspace
    store: SessionStore
    folder: Path
    """Folder of the snapshots, which hold each log as it was when a flush was requested."""
    wall: Callable[[], float]
    zone: str | None
    settings: Compaction
    window: int | None

    def request(
        self, tokens: int | None, *, window: int | None = None, reserve: int = 0, force: bool = False
    ) -> FlushAnswer:
        """Return the turn to run, if a flush is due. See `Session.flush`."""
        if not self.settings.memory_flush.enabled:
            return FlushAnswer()
        limits = Thresholds(
            window or self.window or DEFAULT_WINDOW,
            max(self.settings.reserve_tokens_floor, reserve),
            self.settings.memory_flush.soft_threshold_tokens,
        )

        def due_cycle(entry: Entry) -> int | None:
            current = entry if tokens is None else {**entry, "totalTokens": tokens, "totalTokensFresh": True}
            due = not was_flushed(entry) if force else flush_due(current, limits)
            again = has_doubled(parse_flush(_own_fields(entry).get("flush")), compaction_count(entry), tokens)
            return compaction_count(entry) if due or again else None

        return self._request_flush(due_cycle, late=False, tokens=tokens or 0)

    def request_late(self) -> FlushAnswer:
        """Return the turn to run after a compaction that no flush preceded."""

        def due_cycle(entry: Entry) -> int | None:
            missed = _own_fields(entry).get("missed")
            return missed if isinstance(missed, int) and self.settings.memory_flush.enabled else None

        return self._request_flush(due_cycle, late=True)

    def _request_flush(self, due_cycle: Callable[[Entry], int | None], *, late: bool, tokens: int = 0) -> FlushAnswer:
        """Store a request if `due_cycle` returns the cycle of a session's entry, and return the turn to run."""
        reasons = list[Diagnostic]()
        requested = list[Flush]()
        before = ""
        try:
            # A request from before a crash may have succeeded. A late one ends with the turn that followed it.
            stored = self._stored_flush()
            earlier = self.finish(None, last=stored is not None and stored.late and not late)
            reasons += earlier.reasons if earlier else ()
            if due_cycle(self.store.read(self.key)) is None:
                return FlushAnswer(reasons=tuple(reasons))
            now = local_time(self.wall(), self.zone)
            log = self.workspace.daily(now.date())
            path = log.relative_to(self.workspace.root).as_posix()
            if unwritable := self._check_writable(log, path):
                return FlushAnswer(reasons=(*reasons, unwritable))
            last = self._stored_flush()
            before = self._snapshot_log(last, path, due_cycle)

            def act(entry: Entry) -> Entry | None:
                requested.clear()
                cycle = due_cycle(entry)
                own = _own_fields(entry)
                last = parse_flush(own.get("flush"))
                if cycle is None:
                    return None
                flush = next_request(last, cycle, path, self.wall(), before=before, tokens=tokens, late=late)
                if flush is None:
                    return None
                requested.append(flush)
                kept = {name: value for name, value in own.items() if name != "missed"}
                return {**entry, OWN_KEY: {**kept, "flush": flush_json(flush)}}

            self.store.change(self.key, act)
            if requested and last is not None and last.step == "requested" and last.before != before:
                reasons += self._release_snapshot(last)
            elif not requested and ((last := self._stored_flush()) is None or last.before != before):
                self._delete_snapshot(before)  # another process was faster and has its own snapshot
        except (MemoriterError, OSError) as error:
            return FlushAnswer(reasons=(*reasons, Diagnostic.of(error)))
        if not requested:
            return FlushAnswer(reasons=tuple(reasons))
        prompt = (late_prompt if late else flush_prompt)(self.settings.memory_flush.prompt, now, log)
        system = flush_system_prompt(self.settings.memory_flush.system_prompt, now)
        return FlushAnswer(FlushTurn(prompt, system, path), tuple(reasons))

    def finish(self, reply: str | None, *, last: bool = True) -> FlushResult | None:
        """Settle the requested flush; return None if none was requested or another process has settled it.

        The log is only read. If lines that it had at the request are gone or changed, the snapshot is kept and a
        diagnostic names it. Unless the reply is the last that can arrive, a flush that has written nothing stays
        requested.

        Raises:
            WriteError: the state could not be read or written; the snapshot is still kept.
        """
        flush = self._stored_flush()
        if flush is None or flush.step != "requested":
            return None
        change = self._compare_log(flush)
        new = change.new if isinstance(change, LogDifference) else ()
        outcome = settle(flush, Evidence(bool(new), reply), self.wall())
        if outcome.step != "written" and not last:
            return None
        is_current = list[bool]()

        def act(entry: Entry) -> Entry | None:
            own = _own_fields(entry)
            is_current[:] = [parse_flush(own.get("flush")) == flush]
            if not is_current[0]:
                return None  # another process has settled it
            times = {"memoryFlushAt": round(self.wall() * 1000), "memoryFlushCompactionCount": outcome.cycle}
            return {**entry, **times, OWN_KEY: {**own, "flush": flush_json(outcome)}}

        self.store.change(self.key, act)
        if not is_current[0]:
            return None
        reasons = self._release_snapshot(flush, change)
        if outcome.step == "failed" and isinstance(change, LogDifference):
            reasons.append(self._failure_diagnostic(flush))
        return FlushResult(outcome.step, flush.path, len(new), tuple(reasons))

    def record_compaction(self) -> tuple[int, FlushResult | None]:
        """Record a compaction, and return its number (from 0) with the outcome of a pending flush.

        Raises:
            WriteError: the compaction could not be recorded.
        """
        outcome = self.finish(None)
        cycles = list[int]()

        def act(entry: Entry) -> Entry:
            cycles[:] = [compaction_count(entry)]
            own = _own_fields(entry) if was_flushed(entry) else {**_own_fields(entry), "missed": cycles[0]}
            return {**entry, "compactionCount": cycles[0] + 1, "totalTokensFresh": False, OWN_KEY: own}

        self.store.change(self.key, act)
        return cycles[0], outcome

    def written_at(self) -> float:
        """Return when the last flush was found to have written something, in seconds since 1970; 0: never.

        A late flush does not count: it is settled at some later turn, and what came before the compaction is in its
        summary.

        Raises:
            WriteError: the state could not be read.
        """
        flush = self._stored_flush()
        return flush.at if flush is not None and flush.step == "written" and not flush.late else 0.0

    def remove_old(self) -> None:
        """Remove snapshots that are older than `KEPT_DAYS`."""
        remove_old(self.folder, self.wall())

    def _check_writable(self, log: Path, path: str) -> Diagnostic | None:
        """Return a diagnostic if the log cannot be written, or None."""
        root = self.workspace.root
        folder = log.parent
        if not root.is_dir():
            return Diagnostic(
                "flush_skipped", f"There is no folder {str(root)!r}, so nothing can be kept in it.", MAKE_ROOM
            )
        if folder.exists() and not folder.is_dir():
            return Diagnostic(
                "flush_skipped", f"{str(folder)!r} is not a folder, so nothing can be kept in it.", MAKE_ROOM
            )
        try:
            target = folder if folder.exists() else root
            target = target if self.workspace.content(path) is None else log
        except PathRefused as error:
            return Diagnostic("flush_skipped", f"The log cannot be written. {error.message}", MAKE_PLAIN)
        if not os.access(target, os.W_OK):
            return Diagnostic(
                "flush_skipped", f"{str(target)!r} is read-only, so nothing can be kept in it.", MAKE_ROOM
            )
        return None

    def _stored_flush(self) -> Flush | None:
        """Return the flush in the session's entry, if there is one."""
        return parse_flush(_own_fields(self.store.read(self.key)).get("flush"))

    def _snapshot_log(self, last: Flush | None, path: str, due_cycle: Callable[[Entry], int | None]) -> str:
        """Save the log as it is now and return the name of the snapshot.

        A repeated request keeps the first snapshot, because it shows the log before any answer.
        """
        cycle = due_cycle(self.store.read(self.key))
        repeated = last is not None and last.step == "requested" and (last.cycle, last.path) == (cycle, path)
        if repeated and last is not None and last.before and (self.folder / last.before).exists():
            return last.before
        self.remove_old()
        content = self.workspace.content(path) or b""
        digest = content_hash(f"{self.key} {path} {cycle} {self.wall()} {bytes_hash(content)}")
        name = f"{Path(path).stem}-{digest[:16]}.md"
        with suppress(WriteConflict):  # a concurrent request saves the same log
            make_private_folder(self.folder)
            replace(self.folder / name, content, expected=None, mode=PRIVATE_FILE)
        return name

    def _compare_log(self, flush: Flush) -> LogDifference | Diagnostic:
        """Return how the log changed since the request, or a diagnostic if that is unknown."""
        try:
            if not flush.before:
                raise FileNotFoundError
            before = read_plain(self.folder / flush.before, MAX_BYTES)
        except OSError:
            message = f"What {flush.path} was before the flush is unknown, so its changes are unknown too."
            return Diagnostic("flush_unknown", message, f"Look at it with `memoriter get {flush.path}`.")
        try:
            after = self.workspace.content(flush.path) or b""
        except PathRefused as error:
            message = f"The state of the log is unknown. {error.message}"
            return Diagnostic(
                "flush_unknown", message, f"{MAKE_PLAIN} The copy from before is {str(self.folder / flush.before)!r}."
            )
        return log_difference(_text(before), _text(after))

    def _release_snapshot(self, flush: Flush, change: LogDifference | Diagnostic | None = None) -> list[Diagnostic]:
        """Remove a settled flush's snapshot; if the log has lost lines, keep it and return a diagnostic."""
        change = change or self._compare_log(flush)
        if isinstance(change, Diagnostic):
            return [change]
        if not change.gone:
            self._delete_snapshot(flush.before)
            return []
        count = len(change.gone)
        message = (
            f"Of the lines that {flush.path} had when the flush was requested, {count} {'is' if count == 1 else 'are'}"
            " missing or changed; nothing was restored."
        )
        copy = str(self.folder / flush.before)
        remedy = f"Compare it with the copy from before, {copy!r}; it is kept for {KEPT_DAYS} days."
        return [Diagnostic("flush_changed", message, remedy)]

    def _delete_snapshot(self, before: str) -> None:
        if before:
            with suppress(OSError):
                (self.folder / before).unlink()

    def _failure_diagnostic(self, flush: Flush) -> Diagnostic:
        """Return the diagnostic of a failed flush, which names another note if the model wrote there."""
        since = int((flush.at - 1) * 1e9)
        others = [source.path for source in self.workspace.scan().sources if source.mtime_ns >= since]
        others = [path for path in others if path != flush.path]
        if others:
            message = (
                f"The flush was to append to {flush.path}, which has no new entry; changed meanwhile: {others[0]}."
            )
        else:
            message = f"The flush was to append to {flush.path}, which has no new entry."
        return Diagnostic(
            "flush_failed", message, "The transcript has the conversation; `memoriter remember TEXT` adds an entry."
        )


def _own_fields(entry: Entry) -> dict[str, Any]:
    return table_of(entry.get(OWN_KEY))


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
