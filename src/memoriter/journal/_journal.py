"""The journal of one folder of notes: append-only files in memoriter's home, one line for each change.

A note belongs to one of 256 files, so that what is known of a note is found quickly however long the journal is. Files
of lines, and not a database: an entry costs two short writes without a sync, `remember` loads no database for it, and
damage costs the lines that it hits. The notes win: a failure of the journal never keeps a note from being written, and
what the journal does not know it says.

A change is written down before the note is written, and again when that is done. A process that was killed in between
leaves a change whose result the hashes of the note tell, or nobody.
"""

from __future__ import annotations

import errno
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from heapq import nlargest
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import finalize

from memoriter.journal._changes import (
    FORGET,
    FOUND,
    SEEN,
    Change,
    Hunk,
    current_actor,
    decode,
    encode,
    hunks_of_write,
    lines_of,
)
from memoriter.permissions import make_private_folder, open_private, replace_private
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Sequence
    from pathlib import Path

    from memoriter.journal._changes import Line

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MEGABYTE = 1 << 20
DAY = 86_400.0
_BEGAN = "began"
_REVIEWED = "reviewed"
_FAILURES = (OSError, ValueError, KeyError, TypeError)
"""Of a damaged journal, a full disk, missing rights."""
_TAIL = 1 << 16
"""Bytes at the end of a file in which the last change of a note is looked for first."""
_CHECKED = 1 << 18
"""Bytes after which the size and the age of the journal are looked at again."""
_ENTRY = b'{"note": '
_STATE = re.compile(rb'\{"(done|failed)": "(\w+)"\}')
"""The line that tells what became of a change. There is one for each, so it is not read as JSON, which takes longer."""
_TIME = re.compile(rb'\{"note": "[^\n]*?", "id": "\w+", "time": (\d+(?:\.\d+)?), "who": "[^\n]*?", "act": "(\w*)"')


@dataclass(slots=True)
class JournalFile:
    """What one file of the journal holds."""

    changes: list[Change] = field(default_factory=list[Change])
    damaged: int = 0
    """Lines that cannot be read."""
    dropped: int = 0
    """Changes that were dropped because they were old or there was no room."""


class Journal:
    """The journal of one folder of notes. Several processes may write to it."""

    def __init__(
        self,
        folder: Path,
        *,
        wall: Callable[[], float],
        max_bytes: int = 64 * MEGABYTE,
        max_days: float = 365,
    ) -> None:
        """Name the private folder of the journal, which is created with the first change.

        Args:
            folder: the folder.
            wall: seconds since 1970.
            max_bytes: the size from which the oldest changes are dropped.
            max_days: the age in days at which changes are dropped.
        """
        self.folder = folder
        self._max_bytes = max_bytes
        self._max_days = max_days
        self._wall = wall
        self._last: dict[str, tuple[int, dict[str, Any]]] = {}
        self._place = str(folder)
        self._open: _OpenFile | None = None
        self._gate = RLock()

    @contextmanager
    def recording(
        self,
        path: str,
        before: bytes | None,
        after: bytes | None,
        act: str,
        *,
        of: tuple[str, ...] = (),
        moved: str = "",
    ) -> Generator[None]:
        """Enter a change around the write that makes it; the write fails only for reasons of its own.

        Args:
            path: the note, as cited.
            before: its content; None: it does not exist.
            after: its content afterwards; None: it is removed.
            act: what is done, unless the actor says so.
            of: the changes that it takes back.
            moved: the note's other name, if this is one half of its renaming.
        """
        change = self._begin(path, before, after, act, of=of, moved=moved)
        try:
            yield
        except BaseException:
            self._end(change, "failed")
            raise
        self._end(change, "done")
        if change is not None and change.act == FORGET and after is not None:
            with suppress(OSError):  # the text before is forgotten, so that what is known begins here
                self._enter(self._found(path, after))

    @contextmanager
    def watching(self, path: str) -> Generator[Callable[[bytes | None, float, str], None]]:
        """Yield a function that enters the change of another program, if the journal does not know the content.

        It takes the content that is read within the block (None: the note is gone), when the file was changed last, and
        the note's other name if it was renamed. What memoriter itself writes meanwhile is no change of another program.
        """
        before: dict[str, Any] | None = None
        with suppress(*_FAILURES):
            before = self._last_of(path)

        def saw(content: bytes | None, changed: float, moved: str = "") -> None:
            with suppress(*_FAILURES):
                known = [last for last in (before, self._last_of(path)) if last is not None]
                if known and not any(_explains(last, _hash(content)) for last in known):
                    self._enter_seen(path, known[-1], content, moved)
                elif not known and content is not None and (moved or changed > self.began):
                    self._enter_seen(path, {"after": None}, content, moved)
                elif not known and content is not None:
                    self._enter(self._found(path, content))

        yield saw

    @property
    def began(self) -> float:
        """The time of the first entry, in seconds since 1970; infinite: there is none yet."""
        try:
            return float((self.folder / _BEGAN).read_bytes())
        except (OSError, ValueError):
            return inf

    @property
    def reviewed(self) -> float:
        """The time of the last change that was reviewed. Setting it raises OSError."""
        try:
            return float((self.folder / _REVIEWED).read_bytes())
        except (OSError, ValueError):
            return 0.0

    @reviewed.setter
    def reviewed(self, at: float) -> None:
        make_private_folder(self.folder)
        replace_private(self.folder / _REVIEWED, str(at).encode())

    def file_of(self, path: str) -> Path:
        """Return the file of the journal with the changes of a note."""
        return self.folder / _name_of(path)

    def files(self) -> list[Path]:
        """Return the files of the journal, the last written first."""
        with suppress(OSError):
            return sorted(self.folder.glob("??.log"), key=lambda file: -file.stat().st_mtime_ns)
        return []

    def of_note(self, path: str) -> JournalFile:
        """Return the changes under the name of a note in the order in which they were entered."""
        return self._read(self.file_of(path), _beginning(path)[1:])

    def story_of(self, path: str) -> JournalFile:
        """Return the changes of a note in their order, also those under the names that it had before."""
        from memoriter.journal._weave import taken_back

        known = {path: self.of_note(path)}
        changes = dict[str, Change]()
        parts = [list(known[path].changes)]
        while parts:
            if not parts[-1]:
                parts.pop()
                continue
            change = parts[-1].pop()
            if change.id in changes or (change.after is None and changes.keys() & change.moved[1:]):
                continue  # or it went away under another name, and came back
            changes[change.id] = change
            if change.comes_from and change.id not in taken_back(known[change.path].changes):
                name, last = change.comes_from
                if name not in known:
                    known[name] = self.of_note(name)
                earlier = known[name].changes
                ids = [each.id for each in earlier]
                parts.append(earlier[: ids.index(last) + 1] if last in ids else [])
        files = {self.file_of(name): part for name, part in known.items()}.values()
        damaged = sum(part.damaged for part in files)
        return JournalFile([*changes.values()][::-1], damaged, sum(part.dropped for part in files))

    def former_name(self, path: str, content: bytes, exists: Callable[[str], bool]) -> str:
        """Return the note that is gone and had the content of a new one; empty: there is none, or several."""
        if not content or self._last_of(path) is not None:
            return ""
        hash_ = _hash(content)
        needle = f'"after": "{hash_}"'.encode()
        parts = (_rows(file, JournalFile(), lambda line: needle in line) for file in self.files())
        names = {str(row.fields["note"]) for part in parts for row in part}
        gone = [name for name in names if not exists(name) and (self._last_of(name) or {}).get("after") == hash_]
        return gone[0] if len(gone) == 1 else ""

    def of_file(self, file: Path) -> list[Change]:
        """Return the changes in one file of the journal."""
        return self._read(file).changes

    def everything(self, since: float = 0.0, most: int | None = None) -> JournalFile:
        """Return the changes of all notes, the oldest first, without those that only found a note.

        No change is earlier than `since`, and `most` limits them to the newest; None: all.
        """
        found = JournalFile()
        files = [file for file in self.files() if not since or file.stat().st_mtime >= since]
        if most:
            times = (_time_of(line) for file in files for line in file.read_bytes().split(b"\n"))
            since = max(since, min(nlargest(most, (time for time in times if time < inf)), default=since))
        rows = list[_Row]()
        for file in files:
            part = _rows(file, found, lambda line: _time_of(line) >= since)
            rows += [row for row in part if row.at >= since and row.fields.get("act") != FOUND]
        rows.sort(key=lambda row: row.at)
        return _decoded(rows[-most:] if most else rows, found)

    def starting(self, identifier: str) -> list[Change]:
        """Return the changes whose ids begin so."""
        needle = f'"id": "{identifier}'.encode()
        found = JournalFile()
        for file in self.files():
            _decoded(_rows(file, found, lambda line: needle in line), found)
        return found.changes

    def erase(self, holds: Callable[[bytes], set[int]], paths: Collection[str] = (), *, dry_run: bool = False) -> int:
        """Erase lines, and return how many changes held some. Raises OSError.

        Args:
            holds: returns the numbers, from 1, of the lines of a text that are erased.
            paths: notes of which every line is erased, also of what they were under other names.
            dry_run: only count.
        """
        erased = set[str]()
        whole = {identifier for path in paths for identifier in self._ids_of_life(path)}

        def cut(change: Change) -> Change:
            parts = [(hunk.start, hunk.removed, hunk.added) for hunk in change.hunks or ()]
            if change.id in whole:
                cleared = tuple(Hunk(start, (None,) * len(old), (None,) * len(new)) for start, old, new in parts)
            else:
                cleared = tuple(Hunk(start, _without(old, holds), _without(new, holds)) for start, old, new in parts)
            if change.hunks is None or cleared == change.hunks:
                return change
            erased.add(change.id)
            return replace(change, hunks=cleared)

        for file in self.files():
            known = len(erased)
            for change in self._read(file).changes:
                cut(change)
            if len(erased) > known and not dry_run:
                self._rewrite(file, lambda part: ([cut(change) for change in part.changes], part.dropped))
        return len(erased)

    def prune(self) -> None:
        """Drop what is too old, and the oldest changes if there is no room. Raises OSError."""
        cutoff = self._wall() - self._max_days * DAY
        sizes = {file: file.stat().st_size for file in self.files()}
        if sum(sizes.values()) > self._max_bytes:
            cutoff = max(cutoff, self._time_with_room(sizes))
        for file in sizes:
            if (oldest := _oldest(file)) is not None and oldest <= cutoff:
                self._rewrite(file, lambda part: self._pruned(part, cutoff))

    def _time_with_room(self, files: Iterable[Path]) -> float:
        """Return the time after which the changes need three quarters of the room."""
        rows = sorted((change.at, len(encode(change))) for file in files for change in self._read(file).changes)
        room = self._max_bytes * 3 // 4
        for at, size in reversed(rows):
            room -= size
            if room < 0:
                return at
        return 0.0

    def _pruned(self, part: JournalFile, cutoff: float) -> tuple[list[Change], int]:
        """Return the changes after a time, below what each note was then, and how many were dropped in all."""
        from memoriter.journal._weave import text_after

        bases = list[Change]()
        for path in dict.fromkeys(change.path for change in part.changes):
            old = [change for change in part.changes if change.path == path and change.at <= cutoff]
            text = text_after(old, old[-1].after) if old else None
            if text is not None:
                # It keeps the id, by which a renamed note knows its last change under this name.
                bases.append(replace(self._found(path, text, cutoff), id=old[-1].id))
        gone = sum(change.at <= cutoff and change.act != FOUND for change in part.changes)
        return [*bases, *(change for change in part.changes if change.at > cutoff)], part.dropped + gone

    def _ids_of_life(self, path: str) -> set[str]:
        """Return the ids of all changes under the name of a note, and of its own under its other names.

        A note that had the name earlier and has another one now is not meant.
        """
        found = set[str]()
        todo = [(path, set[str]())]
        while todo:
            name, wanted = todo.pop()
            lives = _lives(self.of_note(name).changes)
            for life in lives:
                ids = {change.id for change in life}
                moves = [change for change in life if change.moved]
                if wanted:
                    is_its_own = bool(wanted & {*ids, *(change.moved[1] for change in moves)})
                else:
                    is_its_own = life is lives[-1] or not (life[-1].moved and life[-1].after is None)
                if is_its_own and not ids <= found:
                    found |= ids
                    todo += [(change.moved[0], {change.id, change.moved[1]}) for change in moves]
        return found

    def _begin(
        self, path: str, before: bytes | None, after: bytes | None, act: str, *, of: tuple[str, ...], moved: str
    ) -> Change | None:
        """Enter what is about to be written; return None if the journal cannot be written."""
        actor = current_actor()
        act = actor.act or act
        try:
            hashes = _hashes(before, after)
            if hashes[0] == hashes[1]:
                return None
            hunks = hunks_of_write(before, after)
            if act == FORGET:
                hunks = tuple(Hunk(hunk.start, (None,) * len(hunk.removed), hunk.added) for hunk in hunks)
            with self._gate, self._lock(self._place_of(path)) as opened:
                if act != FORGET:
                    last = self._last_of(path)
                    if last is None and before is not None:
                        self._enter(self._found(path, before))
                    elif last is not None and not _explains(last, hashes[0]):
                        self._enter_seen(path, last, before)
                change = Change(
                    _new_id(),
                    self._wall(),
                    path,
                    actor.who,
                    act,
                    actor.session,
                    *hashes,
                    hunks,
                    state="unknown",
                    of=of,
                    moved=self._other(moved),
                )
                self._append(opened, change, encode(change))
            self._make_room(opened)
        except _FAILURES:
            return None
        return change

    def _end(self, change: Change | None, state: str) -> None:
        """Enter what became of a change; if that is lost, the hashes of the note tell."""
        if change is None:
            return
        file = self._place_of(change.path)
        with suppress(OSError), self._gate:
            opened = self._open
            if opened is None or opened.file != file:
                opened = self._lock(file)
                opened.unlock()
            written = os.write(opened.descriptor, b"\n" + _state(state, change.id)[1:] + b"\n")
            size, fields = self._last.get(change.path, (0, {}))
            fields["state"] = state
            fields["after"] = change.after if state == "done" else change.before
            self._last[change.path] = size + written, fields

    def _enter(self, change: Change) -> None:
        self._write(change, encode(change))

    def _enter_seen(self, path: str, last: dict[str, Any], content: bytes | None, moved: str = "") -> None:
        """Enter what another program changed since the last entry, as far as the text before is known."""
        from memoriter.journal._weave import text_after

        before = text_after(self.of_note(path).changes, last["after"])
        known = before is not None or last["after"] is None
        hunks = hunks_of_write(before, content) if known else None
        other = self._other(moved)
        change = Change(_new_id(), self._wall(), path, "", SEEN, "", last["after"], _hash(content), hunks, moved=other)
        self._write(change, encode(change) + _state("done", change.id)[1:] + b"\n")
        if not known and content is not None:
            self._enter(self._found(path, content))

    def _found(self, path: str, content: bytes, at: float | None = None) -> Change:
        hash_ = _hash(content)
        hunks = (Hunk(0, (), tuple(lines_of(content))),)
        return Change(_new_id(), self._wall() if at is None else at, path, "", FOUND, "", None, hash_, hunks)

    def _other(self, path: str) -> tuple[str, ...]:
        """Return the other name of a note with its last change there, if it is renamed, and the journal knows both."""
        last = self._last_of(path) if path else None
        return (path, last["id"]) if last else ()

    def _last_of(self, path: str) -> dict[str, Any] | None:
        """Return the fields of the last entry about a note; `after` is the hash that the note has now, if known."""
        file = self._place_of(path)
        opened = self._open
        if opened is not None and opened.locks and opened.file == file:
            size = opened.size
        else:
            try:
                size = os.stat(file).st_size  # noqa: PTH116 - each write pays for a Path
            except FileNotFoundError:
                return None
        known = self._last.get(path)
        if known and known[0] == size:
            return known[1]
        needle = _beginning(path)
        with open(file, "rb") as opened:  # noqa: PTH123 - as above
            opened.seek(max(0, size - _TAIL))
            tail = opened.read()
            if needle not in tail and size > _TAIL:
                opened.seek(0)
                tail = opened.read()
        at = tail.rfind(needle)
        if at < 0:
            return None
        try:
            fields = cast("dict[str, Any]", json.loads(tail[at + 1 : tail.find(b"\n", at + 1)]))
        except ValueError:  # a damaged line: nobody knows what the note was after it
            return {"id": "", "act": SEEN, "before": "", "after": "", "state": "done"}
        if fields["act"] == FOUND or _state("done", fields["id"]) in tail[at:]:
            fields["state"] = "done"
        elif _state("failed", fields["id"]) in tail[at:]:
            fields |= {"state": "failed", "after": fields["before"]}
        self._last[path] = size, fields
        return fields

    def _write(self, change: Change, lines: bytes) -> None:
        """Append lines about a change, and drop old changes if it is time. Raises OSError."""
        with self._gate, self._lock(self._place_of(change.path)) as opened:
            self._append(opened, change, lines)
        self._make_room(opened)

    def _append(self, opened: _OpenFile, change: Change, lines: bytes) -> None:
        # It begins with a newline, so that a line that was cut off damages no other.
        written = os.write(opened.descriptor, b"\n" + lines)
        if written <= len(lines):
            os.ftruncate(opened.descriptor, opened.size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        opened.size += written
        fields: dict[str, Any] = {"id": change.id, "act": change.act, "before": change.before, "after": change.after}
        if change.state != "unknown":
            fields["state"] = change.state
        self._last[change.path] = opened.size, fields

    def _make_room(self, opened: _OpenFile) -> None:
        """Drop old changes each time that a file has grown a good deal. No file may be locked."""
        if not opened.locks and opened.size // _CHECKED != opened.size_before // _CHECKED:
            self.prune()

    def _rewrite(self, file: Path, compute: Callable[[JournalFile], tuple[list[Change], int]]) -> None:
        """Write a file of the journal again, while no other process writes to it. Raises OSError."""
        with self._gate:
            opened: _OpenFile | None = self._lock(str(file))
            try:
                changes, dropped = compute(self._read(file))
                lines = [b'\n{"dropped": %d}\n' % dropped] if dropped else []
                for change in changes:
                    lines += [b"\n", encode(change)]
                    if change.state != "unknown" and change.act != FOUND:
                        lines.append(_state(change.state, change.id) + b"\n")
                if fcntl is None:  # Windows replaces no file that is open
                    self._open = opened = None
                replace_private(file, b"".join(lines))
            finally:
                if opened is not None:
                    opened.unlock()
            self._open = None
            self._last.clear()

    def _lock(self, file: str) -> _OpenFile:
        """Open a file of the journal to append to it, and lock it; it is created if missing. Raises OSError."""
        while True:
            opened = self._open
            if opened is None or opened.file != file:
                opened = self._open = _OpenFile(file, self._create(file))
            if opened.lock():
                return opened
            self._open = None  # it has been written again

    def _create(self, file: str) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        try:
            return open_private(file, flags)
        except FileNotFoundError:
            make_private_folder(self.folder)
            replace_private(self.folder / _BEGAN, str(self._wall()).encode())
            return open_private(file, flags)

    def _place_of(self, path: str) -> str:
        return f"{self._place}{os.sep}{_name_of(path)}"

    @staticmethod
    def _read(file: Path, beginning: bytes = b"") -> JournalFile:
        """Return what a file holds; of one note only, if `beginning` is how its lines begin."""
        found = JournalFile()
        return _decoded(_rows(file, found, lambda line: line.startswith(beginning)), found)


class _OpenFile:
    """A file of the journal that stays open for the next entry. The lock of the disk is for other processes."""

    def __init__(self, file: str, descriptor: int) -> None:
        self.file = file
        self.descriptor = descriptor
        self.locks = 0
        self.size = self.size_before = 0
        """Bytes now, and when the file was locked."""
        self._status = os.fstat(descriptor)
        finalize(self, os.close, descriptor)

    def lock(self) -> bool:
        """Wait for the lock, where the system and the disk have locks; return False if the file was written again."""
        if not self.locks:
            if fcntl is not None:
                with suppress(OSError):
                    fcntl.flock(self.descriptor, fcntl.LOCK_EX)
            try:
                status = os.stat(self.file)  # noqa: PTH116 - each write pays for a Path
            except FileNotFoundError:
                return False
            if status.st_ino != self._status.st_ino or status.st_dev != self._status.st_dev:
                return False
            self.size = self.size_before = status.st_size
        self.locks += 1
        return True

    def unlock(self) -> None:
        """Let others write, unless the file was locked more than once."""
        self.locks -= 1
        if not self.locks and fcntl is not None:
            with suppress(OSError):
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unlock()


@lru_cache(maxsize=1024)
def _name_of(path: str) -> str:
    """Return the name of the file with the changes of a note."""
    return f"{sha256(path.encode('utf-8', 'replace')).hexdigest()[:2]}.log"


@dataclass(slots=True)
class _Row:
    """A line about a change that is not decoded yet."""

    at: float
    fields: dict[str, Any]
    state: str


def _rows(file: Path, found: JournalFile, wanted: Callable[[bytes], bool] = lambda _: True) -> list[_Row]:
    """Return the lines of a file about changes that are wanted, and count what is damaged and dropped."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return []
    rows = list[_Row]()
    states = dict[str, str]()
    for line in content.split(b"\n"):
        if not line or (line.startswith(_ENTRY) and not wanted(line)):
            continue
        if state := _STATE.fullmatch(line):
            states[state[2].decode()] = state[1].decode()
            continue
        try:
            fields = cast("dict[str, Any]", json.loads(line))
            if "note" in fields:
                rows.append(_Row(float(fields["time"]), fields, "unknown"))
                continue
            found.dropped += int(fields.get("dropped", 0))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found.damaged += 1
    for row in rows:
        row.state = "done" if row.fields.get("act") == FOUND else states.get(row.fields.get("id", ""), "unknown")
    return rows


def _decoded(rows: Iterable[_Row], found: JournalFile) -> JournalFile:
    """Add the changes of lines to what was found."""
    for row in rows:
        try:
            found.changes.append(decode(row.fields, row.state))
        except (ValueError, KeyError, TypeError, AttributeError):
            found.damaged += 1
    return found


def _oldest(file: Path) -> float | None:
    """Return the time of the first change in a file that is no text as it was found."""
    with file.open("rb") as opened:
        for line in opened:
            if (match := _TIME.match(line)) and match[2] != FOUND.encode():
                return float(match[1])
    return None


def _time_of(line: bytes) -> float:
    """Return the time of a line about a change without decoding it; of one that only found a note, minus infinity.

    Infinity means that the time is not known.
    """
    match = _TIME.match(line)
    if match is None:
        return inf
    return -inf if match[2] == FOUND.encode() else float(match[1])


def _lives(changes: Sequence[Change]) -> list[list[Change]]:
    """Return the changes under one name by the notes that had it one after the other."""
    lives: list[list[Change]] = []
    for change in changes:
        begins = change.before is None and not change.of and change.act != FOUND and change.state != "failed"
        if begins or not lives:
            lives.append([])
        lives[-1].append(change)
    return lives


def _explains(last: dict[str, Any], hash_: str | None) -> bool:
    """Return whether a note has the content that its last entry leads to; one that was interrupted may not have."""
    return hash_ == last["after"] or (hash_ == last["before"] and "state" not in last)


def _without(lines: tuple[Line, ...], holds: Callable[[bytes], set[int]]) -> tuple[Line, ...]:
    gone = holds(b"\n".join(line or b"" for line in lines)) if lines else set[int]()
    return tuple(None if number in gone else line for number, line in enumerate(lines, 1))


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def _hashes(before: bytes | None, after: bytes | None) -> tuple[str | None, str | None]:
    """Return the hashes of two contents; of text at the end, only that text is read twice."""
    if before is None or after is None or not after.startswith(before):
        return _hash(before), _hash(after)
    state = sha256(before)
    old = state.hexdigest()
    state.update(memoryview(after)[len(before) :])
    return old, state.hexdigest()


def _new_id() -> str:
    return os.urandom(5).hex()


def _beginning(path: str) -> bytes:
    """Return how the lines about a note begin."""
    return f'\n{{"note": {json.dumps(path)}, '.encode()


def _state(state: str, identifier: str) -> bytes:
    """Return the line that tells what became of a change."""
    return f'\n{{"{state}": "{identifier}"}}'.encode()
