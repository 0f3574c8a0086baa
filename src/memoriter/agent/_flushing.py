"""Ask an agent to write down what must last, and look on the disk whether it did and what it changed.

The notes are only read here. Between a request and its settling anybody may write to the log: the model, `remember`,
the owner with an editor. No program can know which of them removed a line, so none is ever put back or taken out.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._flush import (
    Evidence,
    Flush,
    Thresholds,
    asked,
    compactions,
    flush_due,
    flush_json,
    flush_of,
    settled,
    was_flushed,
)
from memoriter.agent._log_difference import LogDifference, log_difference
from memoriter.agent._prompts import flush_prompt, flush_system_prompt, late_prompt
from memoriter.agent._snapshots import KEPT_SECONDS, remove_old
from memoriter.agent._store import OURS, SessionStore
from memoriter.errors import MemoriterError, PathRefused, WriteConflict
from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder
from memoriter.plain_file import read_plain
from memoriter.types import Diagnostic
from memoriter.workspace import MAX_BYTES, local_time, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.agent._flush import Step
    from memoriter.agent._store import Entry
    from memoriter.config import Compaction
    from memoriter.workspace import Workspace

USUAL_WINDOW = 200_000
KEPT_DAYS = KEPT_SECONDS // 86_400


MAKE_ROOM = "Make the folder of notes writable, or name another workspace."
MAKE_PLAIN = "Move away what has the name of the log, or correct .memoryignore, so that it can be a plain note."


@dataclass(frozen=True, slots=True)
class FlushTurn:
    """A turn to run now: the model writes down what must last."""

    prompt: str
    system_prompt: str
    path: str
    """The log that should grow, as cited."""


@dataclass(frozen=True, slots=True)
class FlushAnswer:
    """Whether there is something to ask the model, and if it cannot be asked, why."""

    turn: FlushTurn | None = None
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class FlushResult:
    """What became of a flush."""

    step: Step
    path: str
    new: int = 0
    """Entries that were not in the log at the request, whoever wrote them."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Flushing:
    """The flushes of one session."""

    key: str
    workspace: Workspace
    store: SessionStore
    folder: Path
    """Where copies of logs are kept, as they were when a flush was requested."""
    wall: Callable[[], float]
    zone: str | None
    settings: Compaction
    window: int | None

    def ask(
        self, tokens: int | None, *, window: int | None = None, reserve: int = 0, force: bool = False
    ) -> FlushAnswer:
        """The turn to run, if it is time. See `Session.flush`."""
        if not self.settings.memory_flush.enabled:
            return FlushAnswer()
        limits = Thresholds(
            window or self.window or USUAL_WINDOW,
            max(self.settings.reserve_tokens_floor, reserve),
            self.settings.memory_flush.soft_threshold_tokens,
        )

        def wanted(entry: Entry) -> int | None:
            seen = entry if tokens is None else {**entry, "totalTokens": tokens, "totalTokensFresh": True}
            due = not was_flushed(entry) if force else flush_due(seen, limits)
            return compactions(entry) if due else None

        return self._asked(wanted, late=False)

    def ask_late(self) -> FlushAnswer:
        """The turn to run after a compaction that nothing was written down before."""

        def wanted(entry: Entry) -> int | None:
            missed = _ours(entry).get("missed")
            return missed if isinstance(missed, int) and self.settings.memory_flush.enabled else None

        return self._asked(wanted, late=True)

    def _asked(self, wanted: Callable[[Entry], int | None], *, late: bool) -> FlushAnswer:
        reasons, fresh, before = list[Diagnostic](), list[Flush](), ""
        try:
            earlier = self.finish(None, last=False)  # one that was asked for before a crash may have been done
            reasons += earlier.reasons if earlier else ()
            if wanted(self.store.read(self.key)) is None:
                return FlushAnswer(reasons=tuple(reasons))
            now = local_time(self.wall(), self.zone)
            log = self.workspace.daily(now.date())
            path = log.relative_to(self.workspace.root).as_posix()
            if closed := self._closed(log, path):
                return FlushAnswer(reasons=(*reasons, closed))
            last = self._last()
            before = self._copied(last, path, wanted)

            def act(entry: Entry) -> Entry | None:
                fresh.clear()
                cycle, ours = wanted(entry), _ours(entry)
                last = flush_of(ours.get("flush"))
                flush = None if cycle is None else asked(last, cycle, path, self.wall(), before)
                if flush is None:
                    return None
                fresh.append(flush)
                left = {name: value for name, value in ours.items() if name != "missed"}
                return {**entry, OURS: {**left, "flush": flush_json(flush)}}

            self.store.change(self.key, act)
            if fresh and last is not None and last.step == "requested" and last.before != before:
                reasons += self._let_go(last)
            elif not fresh and ((last := self._last()) is None or last.before != before):
                self._drop(before)  # another process was first, with a copy of its own
        except (MemoriterError, OSError) as error:
            return FlushAnswer(reasons=(*reasons, reason_of(error)))
        if not fresh:
            return FlushAnswer(reasons=tuple(reasons))
        prompt = flush_prompt(self.settings.memory_flush.prompt, now)
        system = flush_system_prompt(self.settings.memory_flush.system_prompt, now)
        return FlushAnswer(FlushTurn(late_prompt(prompt) if late else prompt, system, path), tuple(reasons))

    def finish(self, reply: str | None, *, last: bool = True) -> FlushResult | None:
        """Look what became of the flush that was asked for; None: none was, or another process has settled it.

        The log is only read. If lines that it had at the request are gone or changed, the copy from then is kept and
        a reason names it.

        Args:
            reply: the model's answer; None: not known.
            last: nobody waits for it any more. Otherwise one that has written nothing stays requested.

        Raises:
            WriteError: the state could not be read or written; the copy from before is still kept.
        """
        flush = self._last()
        if flush is None or flush.step != "requested":
            return None
        change = self._change(flush)
        new = change.new if isinstance(change, LogDifference) else ()
        after = settled(flush, Evidence(bool(new), reply), self.wall())
        if after.step == "failed" and not last:
            return None
        mine = list[bool]()

        def act(entry: Entry) -> Entry | None:
            ours = _ours(entry)
            mine[:] = [flush_of(ours.get("flush")) == flush]
            if not mine[0]:
                return None  # another process has settled it
            times = {"memoryFlushAt": round(self.wall() * 1000), "memoryFlushCompactionCount": after.cycle}
            return {**entry, **times, OURS: {**ours, "flush": flush_json(after)}}

        self.store.change(self.key, act)
        if not mine[0]:
            return None
        reasons = self._let_go(flush, change)
        if after.step == "failed" and isinstance(change, LogDifference):
            reasons.append(self._elsewhere(flush))
        return FlushResult(after.step, flush.path, len(new), tuple(reasons))

    def compacted(self) -> tuple[int, FlushResult | None]:
        """The conversation is compacted now: which compaction it is (from 0), and what became of a pending flush.

        Raises:
            WriteError: it could not be remembered.
        """
        result, cycles = self.finish(None), list[int]()

        def act(entry: Entry) -> Entry:
            cycles[:] = [compactions(entry)]
            kept = _ours(entry) if was_flushed(entry) else {**_ours(entry), "missed": cycles[0]}
            return {**entry, "compactionCount": cycles[0] + 1, "totalTokensFresh": False, OURS: kept}

        self.store.change(self.key, act)
        return cycles[0], result

    def remove_old(self) -> None:
        """Remove copies that were kept for long enough."""
        remove_old(self.folder, self.wall())

    def _closed(self, log: Path, path: str) -> Diagnostic | None:
        """Return why nothing can be written into the log; None: it can."""
        root, folder = self.workspace.root, log.parent
        if not root.is_dir():
            return Diagnostic(
                "flush_skipped", f"There is no folder {str(root)!r}, so nothing can be kept in it.", MAKE_ROOM
            )
        if folder.exists() and not folder.is_dir():
            return Diagnostic(
                "flush_skipped", f"{str(folder)!r} is not a folder, so nothing can be kept in it.", MAKE_ROOM
            )
        try:
            there = folder if folder.exists() else root
            there = there if self.workspace.content(path) is None else log
        except PathRefused as error:
            return Diagnostic("flush_skipped", f"The log cannot be written: {error.message}.", MAKE_PLAIN)
        if not os.access(there, os.W_OK):
            return Diagnostic("flush_skipped", f"{str(there)!r} is read-only, so nothing can be kept in it.", MAKE_ROOM)
        return None

    def _last(self) -> Flush | None:
        return flush_of(_ours(self.store.read(self.key)).get("flush"))

    def _copied(self, last: Flush | None, path: str, wanted: Callable[[Entry], int | None]) -> str:
        """Keep the log as it is now and return the copy's name.

        A request that is repeated keeps the copy of the first one, which knows what was there before any answer.
        """
        cycle = wanted(self.store.read(self.key))
        again = last is not None and last.step == "requested" and (last.cycle, last.path) == (cycle, path)
        if again and last is not None and last.before and (self.folder / last.before).exists():
            return last.before
        self.remove_old()
        content = self.workspace.content(path) or b""
        digest = content_hash(f"{self.key} {path} {cycle} {self.wall()} {bytes_hash(content)}")
        name = f"{Path(path).stem}-{digest[:16]}.md"
        with suppress(WriteConflict):  # two processes ask at once: the log is the same to both
            make_private_folder(self.folder)
            replace(self.folder / name, content, expected=None, mode=PRIVATE_FILE)
        return name

    def _change(self, flush: Flush) -> LogDifference | Diagnostic:
        """Return how the log changed since the request, or why that is not known."""
        try:
            if not flush.before:
                raise FileNotFoundError
            before = read_plain(self.folder / flush.before, MAX_BYTES)
        except OSError:
            message = f"What {flush.path} was before the flush is not known, so neither is what the flush changed."
            return Diagnostic("flush_unknown", message, f"Look at it: memoriter get {flush.path}")
        try:
            after = self.workspace.content(flush.path) or b""
        except PathRefused as error:
            message = f"What became of the log is not known: {error.message}."
            return Diagnostic("flush_unknown", message, f"{MAKE_PLAIN} As it was before: {self.folder / flush.before}")
        return log_difference(_text(before), _text(after))

    def _let_go(self, flush: Flush, change: LogDifference | Diagnostic | None = None) -> list[Diagnostic]:
        """Remove the copy of a flush that is over, unless lines are gone that only the copy has, and say so."""
        change = change or self._change(flush)
        if isinstance(change, Diagnostic):
            return [change]
        if not change.gone:
            self._drop(flush.before)
            return []
        count = len(change.gone)
        message = (
            f"Of the lines that {flush.path} had when the flush was requested, {count} {'is' if count == 1 else 'are'}"
            " gone or changed; nothing was put back."
        )
        copy = f"Compare it with the copy from before, which is kept for {KEPT_DAYS} days: {self.folder / flush.before}"
        return [Diagnostic("flush_changed", message, copy)]

    def _drop(self, before: str) -> None:
        if before:
            with suppress(OSError):
                (self.folder / before).unlink()

    def _elsewhere(self, flush: Flush) -> Diagnostic:
        """Why a flush failed: the model wrote to other notes, or to none."""
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
            "flush_failed", message, "What was said is in the transcript; memoriter remember keeps it by hand."
        )


def reason_of(error: MemoriterError | OSError) -> Diagnostic:
    """What went wrong, for people."""
    if isinstance(error, MemoriterError):
        return Diagnostic(error.code, error.message, error.remedy)
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return Diagnostic("system", what, "Look at the path, its permissions and the free space.")


def _ours(entry: Entry) -> dict[str, Any]:
    ours = entry.get(OURS)
    return dict(cast("dict[str, Any]", ours)) if isinstance(ours, dict) else {}


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
