"""Asking an agent to write down what must last, and looking on the disk whether it did and what it broke."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from memoriter.agent._again import until_written
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
from memoriter.agent._growth import growth
from memoriter.agent._prompts import flush_prompt, flush_system_prompt, late_prompt
from memoriter.agent._snapshots import remove_old
from memoriter.agent._store import OURS, SessionStore
from memoriter.errors import MemoriterError, WriteConflict, WriteError
from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import PRIVATE_FILE, make_private_folder
from memoriter.types import Reason
from memoriter.workspace import local_time, replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.agent._flush import Step
    from memoriter.agent._store import Entry
    from memoriter.config import Compaction
    from memoriter.workspace import Workspace

USUAL_WINDOW = 200_000


MAKE_ROOM = "Make the folder of notes writable, or name another workspace."


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
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class FlushResult:
    """What became of a flush."""

    step: Step
    path: str
    new: int = 0
    """Entries that were not there before."""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Flushing:
    """The flushes of one session."""

    key: str
    workspace: Workspace
    store: SessionStore
    folder: Path
    """Where a log is kept as it was before the model wrote to it."""
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
        try:
            self.finish(None, last=False)  # one that was asked for before a crash may have been done
            if wanted(self.store.read(self.key)) is None:
                return FlushAnswer()
            now = local_time(self.wall(), self.zone)
            log = self.workspace.daily(now.date())
            if closed := self._closed(log):
                return FlushAnswer(reasons=(closed,))
            path, fresh = log.relative_to(self.workspace.root).as_posix(), list[Flush]()
            self._keep_before(path, wanted)

            def act(entry: Entry) -> Entry | None:
                fresh.clear()
                cycle, ours = wanted(entry), _ours(entry)
                flush = None if cycle is None else asked(flush_of(ours.get("flush")), cycle, path, self.wall())
                if flush is None:
                    return None
                fresh.append(flush)
                left = {name: value for name, value in ours.items() if name != "missed"}
                return {**entry, OURS: {**left, "flush": flush_json(flush)}}

            self.store.change(self.key, act)
        except (MemoriterError, OSError) as error:
            return FlushAnswer(reasons=(reason_of(error),))
        if not fresh:
            return FlushAnswer()
        prompt = flush_prompt(self.settings.memory_flush.prompt, now)
        system = flush_system_prompt(self.settings.memory_flush.system_prompt, now)
        return FlushAnswer(FlushTurn(late_prompt(prompt) if late else prompt, system, path))

    def finish(self, reply: str | None, *, last: bool = True) -> FlushResult | None:
        """Look what became of the flush that was asked for; None: none was.

        Args:
            reply: the model's answer; None: not known.
            last: nobody waits for it any more. Otherwise one that has written nothing stays requested.

        Raises:
            WriteError: the state or the log could not be written; what the log was before is still kept.
        """
        flush = flush_of(_ours(self.store.read(self.key)).get("flush"))
        if flush is None or flush.step != "requested":
            return None
        new, reasons = self._mended(flush)
        after = settled(flush, Evidence(bool(new), reply), self.wall())
        if after.step == "failed" and not last:
            return None

        def act(entry: Entry) -> Entry | None:
            ours = _ours(entry)
            if flush_of(ours.get("flush")) != flush:
                return None  # another process has settled it
            times = {"memoryFlushAt": round(self.wall() * 1000), "memoryFlushCompactionCount": after.cycle}
            return {**entry, **times, OURS: {**ours, "flush": flush_json(after)}}

        self.store.change(self.key, act)
        with suppress(OSError):
            self._before(flush.path).unlink()
        if after.step == "failed":
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

    def _closed(self, log: Path) -> Reason | None:
        """Why nothing can be written into the log."""
        root, folder = self.workspace.root, log.parent
        there = log if log.exists() else folder if folder.exists() else root
        if not root.is_dir():
            return Reason(
                "flush_skipped", f"There is no folder {str(root)!r}, so nothing can be kept in it.", MAKE_ROOM
            )
        if folder.exists() and not folder.is_dir():
            return Reason("flush_skipped", f"{str(folder)!r} is not a folder, so nothing can be kept in it.", MAKE_ROOM)
        if not os.access(there, os.W_OK):
            return Reason("flush_skipped", f"{str(there)!r} is read-only, so nothing can be kept in it.", MAKE_ROOM)
        return None

    def _before(self, path: str) -> Path:
        return self.folder / f"{content_hash(f'{self.key} {path}')[:32]}.md"

    def _keep_before(self, path: str, wanted: Callable[[Entry], int | None]) -> None:
        """Keep the log as it is now, unless an earlier request did: that one knows what was there first."""
        entry = self.store.read(self.key)
        flush = flush_of(_ours(entry).get("flush"))
        again = flush is not None and flush.step == "requested" and flush.cycle == wanted(entry)
        if again and flush is not None and flush.path == path and self._before(path).exists():
            return
        file = self._before(path)
        with suppress(FileNotFoundError):
            file.unlink()
        remove_old(self.folder, self.wall())
        with suppress(WriteConflict):  # two processes ask at once: the log is the same to both
            make_private_folder(self.folder)
            replace(file, _bytes(self.workspace.root / path), expected=None, mode=PRIVATE_FILE)

    def _mended(self, flush: Flush) -> tuple[tuple[str, ...], list[Reason]]:
        """The entries that are new in the log, once what is missing is back and what is there twice is out."""
        log, file = self.workspace.root / flush.path, self._before(flush.path)
        if not file.exists():
            message = f"What {flush.path} was before is not known, so it was left as it is."
            return (), [Reason("flush_unknown", message, f"Look at it: memoriter get {flush.path}")]
        before = _text(_bytes(file))

        def once() -> tuple[tuple[str, ...], list[Reason]]:
            content = _bytes(log)
            grown = growth(before, _text(content))
            if grown.text == _text(content):
                return grown.new, []
            fresh = grown.text.encode("utf-8", "surrogateescape")
            replace(log, fresh, expected=bytes_hash(content) if log.exists() else None)
            message = f"Entries of {flush.path} were lost in the flush and have been put back."
            return grown.new, [
                Reason("flush_repaired", message, f"Look at it: memoriter get {flush.path}")
            ] if grown.lost else []

        return until_written(once)

    def _elsewhere(self, flush: Flush) -> Reason:
        """Why a flush failed: the model wrote to other notes, or to none."""
        since = int((flush.at - 1) * 1e9)
        others = [source.path for source in self.workspace.scan().sources if source.mtime_ns >= since]
        others = [path for path in others if path != flush.path]
        if others:
            message = f"The flush was to append to {flush.path}, which did not grow; changed meanwhile: {others[0]}."
        else:
            message = f"The flush was to append to {flush.path}, which did not grow."
        return Reason(
            "flush_failed", message, "What was said is in the transcript; memoriter remember keeps it by hand."
        )


def reason_of(error: MemoriterError | OSError) -> Reason:
    """What went wrong, for people."""
    if isinstance(error, MemoriterError):
        return Reason(error.code, error.message, error.remedy)
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return Reason("system", what, "Look at the path, its permissions and the free space.")


def _ours(entry: Entry) -> dict[str, Any]:
    ours = entry.get(OURS)
    return dict(cast("dict[str, Any]", ours)) if isinstance(ours, dict) else {}


def _bytes(file: Path) -> bytes:
    """The content of a file; nothing where there is none. Raises WriteError."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise WriteError(f"{str(file)!r} cannot be read: {error.strerror or error}") from error


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
