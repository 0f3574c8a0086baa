"""The history of the notes of one folder: what changed, and taking changes back."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Protocol

from memoriter.errors import PathRefused, UsageError, WriteConflict
from memoriter.filters import parse_days
from memoriter.ids import bytes_hash
from memoriter.journal._changes import FORGET, FOUND, OWNER, TIDY, Change, acting, lines_of, text_of
from memoriter.journal._weave import Weave, content_of, in_force, origin_of, taken_back, text_at, without_forgotten
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from memoriter.journal._journal import Journal
    from memoriter.journal._weave import Parting

_AGO = re.compile(r"(\d{1,6})\s*(m|min|h)")
_SHORTEST = 4
"""The fewest characters of an id that name a change, if no other begins with them."""


class Notes(Protocol):
    """The notes of a folder, as a workspace has them."""

    def look(self, path: str, *, renamed: bool = False) -> bytes | None:
        """Return the content of a note, and enter what other programs changed. Raises PathRefused.

        `renamed`: look also for the name that a new note may have had before.
        """
        ...

    def replace(self, path: str, text: bytes, *, expected: str | None, of: tuple[str, ...]) -> None: ...
    def remove(self, path: str, *, expected: str, of: tuple[str, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """Changes, the newest first, and what the journal does not know."""

    changes: tuple[Change, ...]
    damaged: int = 0
    """Lines of the journal that cannot be read."""
    dropped: int = 0
    """Changes that are not kept any more, because they were old or there was no room."""


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where a line of a note is from."""

    change: Change
    replaced: tuple[str, ...]
    """The lines in whose place it came."""


@dataclass(frozen=True, slots=True)
class NoteWithout:
    """A note without some changes."""

    path: str
    expected: str | None
    """The hash of the note now; None: it does not exist."""
    content: bytes | None
    """Its content without them; None: there is no note."""
    removed: tuple[str, ...]
    """The lines that go."""
    numbers: tuple[int, ...]
    """The number of each."""
    restored: tuple[str, ...]
    """The lines that come back."""
    changes: tuple[str, ...]
    """The changes that are taken back, by their ids."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change of which something stays, because somebody else changed the same lines since."""

    change: Change
    now: tuple[str, ...]
    """The lines of the note that it is about, as they are now."""


@dataclass(frozen=True, slots=True)
class TakeBackPlan:
    """What taking some changes back does. Nothing of it is done yet."""

    changes: tuple[Change, ...]
    notes: tuple[NoteWithout, ...]
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[Change, ...] = ()
    """Changes that cannot be taken back, because the journal does not know the note around them."""

    @property
    def empty(self) -> bool:
        """Whether no note changes."""
        return not self.notes


@dataclass(frozen=True, slots=True)
class NoteDifference:
    """What a note was, and is; a note that does not exist has no lines."""

    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The difference in the unified format."""
        from difflib import unified_diff

        return list(unified_diff(self.before, self.after, self.path, self.path, n=1, lineterm=""))


class History:
    """The changes of the notes of one folder."""

    def __init__(self, notes: Notes, journal: Journal | None) -> None:
        """Wrap the notes and their journal. Raises UsageError if there is none."""
        if journal is None:
            raise UsageError(
                "The journal of changes is turned off.",
                remedy="Run `memoriter config set memory.journal.enabled true`.",
            )
        self._notes = notes
        self._journal = journal

    def changes(self, path: str | None = None, since: float = 0.0, most: int | None = None) -> HistoryReport:
        """Return the changes of a note or, without those that only found a note, of all, the newest first."""
        if path is None:
            part = self._journal.everything(since, most)
            found = part.changes
        else:
            self._look(path, renamed=True)
            part = self._journal.story_of(path)
            found = [change for change in part.changes if change.at >= since]
        return HistoryReport(tuple(reversed(found))[:most], part.damaged, part.dropped)

    def line(self, path: str, number: int) -> LineOrigin | None:
        """Return where a line of a note is from; None if the journal does not know. Raises UsageError."""
        content = self._look(path, renamed=True)
        if content is None or not 1 <= number <= len(lines_of(content)):
            raise UsageError(f"The note {path!r} has no line {number}.", remedy="Look with `memoriter get`.")
        changes = in_force(self._journal.story_of(path).changes, bytes_hash(content))
        origin = origin_of(changes, number)
        if origin is not None and origin[0].of:  # it only brought the line back
            origin = Weave.of(changes, bytes_hash(content)).origin_of(number)
        return None if origin is None else LineOrigin(*origin)

    def lines(self, path: str) -> tuple[Change | None, ...]:
        """Return the change that each line of a note is from; None if the journal does not know."""
        content = self._look(path, renamed=True)
        if content is None:
            return ()
        weave = Weave.of(self._journal.story_of(path).changes, bytes_hash(content))
        if not weave.changes:
            return (None,) * len(lines_of(content))
        return tuple(weave.changes[line.born[0]] for line in weave.alive)

    def find(self, identifier: str) -> Change:
        """Return the change with an id, or with one that begins so. Raises UsageError."""
        wanted = identifier.strip().lower()
        found = self._journal.starting(wanted) if len(wanted) >= _SHORTEST and wanted.isalnum() else []
        if len(found) != 1:
            problem = "Several changes have" if found else "There is no change with"
            raise UsageError(f"{problem} the id {identifier!r}.", remedy="See the changes with `memoriter history`.")
        return found[0]

    def select(self, test: Callable[[Change], bool], since: float = 0.0) -> tuple[Change, ...]:
        """Return the changes that a test accepts, the oldest first, but for those that other changes took back."""
        changes = self._journal.everything(since).changes
        chosen = [change for change in changes if change.act != FORGET and test(change)]
        ids = {change.id for change in chosen}
        undone = taken_back(change for change in changes if change.id not in ids)
        return tuple(change for change in chosen if change.id not in undone)

    def plan(self, changes: Collection[Change]) -> TakeBackPlan:
        """Return what taking changes back does."""
        notes = list[NoteWithout]()
        conflicts = list[Conflict]()
        unknown = list[Change]()
        for path, own in self._by_note(changes).items():
            chosen = {change.id: change for change in own}
            content = self._look(path)
            now = lines_of(content)
            hash_ = None if content is None else bytes_hash(content)
            # Without the renaming, the note is that of its earlier name, and there is none here.
            came = any(change.comes_from for change in own)
            part = self._journal.of_note(path) if came else self._journal.story_of(path)
            weave = Weave.of(part.changes, hash_)
            known = {change.id for change in weave.changes} if weave.hash == hash_ else set[str]()
            unknown += [change for identifier, change in chosen.items() if identifier not in known]
            ids = chosen.keys() & known
            if ids:
                for line, content in zip(weave.alive, now, strict=True):
                    line.content = content  # one that was forgotten elsewhere is known here
                parting = weave.part(ids)
                conflicts += [Conflict(chosen[each], tuple(map(text_of, now))) for each in parting.changed]
                if parting.killed or parting.revived:
                    notes.append(
                        _note_without(path, hash_, weave, parting, tuple(each for each in chosen if each in ids))
                    )
        return TakeBackPlan(tuple(changes), tuple(notes), tuple(conflicts), tuple(unknown))

    def _by_note(self, changes: Collection[Change]) -> dict[str, list[Change]]:
        """Return changes by the names that their notes have, where renamings count that are not among them."""
        ids = {change.id for change in changes}
        known = dict[str, _Departures]()
        found = dict[str, list[Change]]()
        for change in changes:
            path = change.path
            renaming: tuple[str, ...] = (path, change.id)
            while renaming:
                path, identifier = renaming
                if path not in known:
                    known[path] = _Departures.of(self._journal.of_note(path).changes, but=ids)
                renaming = known[path].after(identifier)
            found.setdefault(path, []).append(change)
        return found

    def carry_out(self, plan: TakeBackPlan, act: str) -> None:
        """Take the changes of a plan back. Each note that changes is an entry of the journal, too.

        Raises:
            WriteConflict: a note has changed since the plan was made; it and the notes after it are as before.
            WriteError: a note could not be written.
        """
        with acting(who=OWNER, act=act):
            for note in plan.notes:
                if note.content is not None:
                    self._notes.replace(note.path, note.content, expected=note.expected, of=note.changes)
                elif note.expected is not None:
                    self._notes.remove(note.path, expected=note.expected, of=note.changes)

    def undo_plan(self, identifier: str) -> TakeBackPlan:
        """Return the plan for one change. Raises UsageError, and WriteConflict if its lines were changed since."""
        change = self.find(identifier)
        if change.act in {FOUND, FORGET}:
            what = "was forgotten" if change.act == FORGET else "was there before the journal"
            raise UsageError(f"The change {change.id} cannot be undone: its text {what}.")
        path = next(iter(self._by_note([change])))
        if change.id in taken_back(self._journal.story_of(path).changes):
            raise UsageError(f"The change {change.id} was taken back already.", remedy="See `memoriter history`.")
        plan = self.plan([change])
        if plan.unknown:
            message = (
                f"The change {change.id} cannot be undone: the journal does not know all of {change.path!r} since."
            )
            raise UsageError(message, remedy="Edit the note, or look in a backup.")
        if plan.conflicts:
            raise ChangedSince(plan.conflicts[0])
        return plan

    def rollback_plan(self, *, session: str | None, token: str | None, since: float | None) -> TakeBackPlan:
        """Return the plan for all changes of a session, of a token or since a time. Raises UsageError."""
        if [session, token, since].count(None) != 2:
            raise UsageError("A session, a token and a time exclude each other.", remedy="Give exactly one of them.")
        if session == "":  # as of an empty variable of a shell: all changes without a conversation have it
            raise UsageError("The session is empty.", remedy="Give an id as `memoriter history` shows it.")

        def test(change: Change) -> bool:
            if session is not None:
                return change.session == session
            return token is None or is_of_token(change, token)

        return self.plan(self.select(test, since or 0.0))

    def unreviewed(self) -> HistoryReport:
        """Return what others than the owner wrote since the last review and is in force, the newest first."""
        marked = self._journal.reviewed
        changes = self.select(
            lambda change: change.who not in {"", OWNER} and change.act != TIDY and change.at > marked, marked
        )
        return HistoryReport(tuple(reversed(changes)))

    def mark_reviewed(self, change: Change) -> None:
        """Remember that a review has come to a change. Raises OSError."""
        self._journal.reviewed = change.at

    def amend(self, change: Change, text: str) -> None:
        """Put a text in the place of the lines that a change added. Raises UsageError, WriteConflict and WriteError."""
        plan = self.undo_plan(change.id)
        note = plan.notes[0]
        lines = lines_of(self._look(note.path))
        first = note.numbers[0] - 1
        kept = [line for number, line in enumerate(lines, 1) if number not in note.numbers]
        added = list(lines_of(text.rstrip("\n").encode())) if text.strip() else []
        content = content_of([*kept[:first], *added, *kept[first:]])
        with acting(who=OWNER, act="review"):
            self._notes.replace(note.path, content or b"", expected=note.expected, of=())

    def differences(self, since: float, paths: Iterable[str]) -> tuple[NoteDifference, ...]:
        """Return what each note is now and was at a time, or was first seen later.

        `since` is in seconds since 1970, and `paths` are the notes that there are now.
        """
        found = list[NoteDifference]()
        for path, known, before in self.texts_at(since, paths, first_known=True):
            now = self._look(path)
            if known and before != now:
                found.append(NoteDifference(path, _texts(before), _texts(now)))
        return tuple(found)

    def texts_at(
        self, time: float, paths: Iterable[str], only: Collection[str] | None = None, *, first_known: bool = False
    ) -> Iterator[tuple[str, bool, bytes | None]]:
        """Yield each note with whether the journal knows it at a time, and its content then (None: there was none).

        `time` is in seconds since 1970, `paths` are the notes that there are now, and `only` those that are wanted
        (None: all). With `first_known`, a note counts as it was first seen, if that was later.
        """
        by_path = dict[str, list[Change]]()
        for file in self._journal.files():
            for change in self._journal.of_file(file):
                by_path.setdefault(change.path, []).append(change)
        for path in sorted({*paths, *by_path} if only is None else only):
            changes = by_path.get(path, [])
            if changes and changes[-1].state == "done":  # what the journal has not seen yet, it would date now
                now = changes[-1].after
            else:
                content = self._look(path)
                now = None if content is None else bytes_hash(content)
                changes = self._journal.of_note(path).changes
            known, text = text_at(changes, time, now)
            if not known and first_known:
                text = self.first_text(path)
                known = text is not None
            yield path, known, text

    def first_text(self, path: str) -> bytes | None:
        """Return a note as it was first seen, or as it is now if the journal has no change of it."""
        changes = self._journal.of_note(path).changes
        if not changes:
            return self._look(path)
        return without_forgotten(line for hunk in changes[0].hunks or () for line in hunk.added)

    def _look(self, path: str, *, renamed: bool = False) -> bytes | None:
        with suppress(PathRefused):
            return self._notes.look(path, renamed=renamed)
        return None


class ChangedSince(WriteConflict):
    """A change that cannot be undone, because its lines were changed since."""

    def __init__(self, conflict: Conflict) -> None:
        change = conflict.change
        message = f"The lines of the change {change.id} in {change.path!r} were changed since."
        super().__init__(message, remedy="Undo the later changes first, or edit the note.")
        self.conflict = conflict


def moment_of(value: date | str, now: datetime, *, end: bool = False) -> float:
    """Return the moment that a time names, in seconds since 1970. Raises UsageError.

    Args:
        value: a day in the forms of filters, a day with a time as in ISO 8601, or `30m` or `2h` ago.
        now: the time now, in the user's time zone.
        end: whether a day means its end, and not its beginning.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=now.tzinfo)).timestamp()
    text = value.isoformat() if isinstance(value, date) else value.strip()
    if ago := _AGO.fullmatch(text.lower()):
        return now.timestamp() - int(ago[1]) * (3600 if ago[2] == "h" else 60)
    days = parse_days(text, now.date())
    day = (days.last if end else days.first) if days else None
    if day is not None:
        begin = datetime.combine(day + timedelta(days=end), time(), now.tzinfo)
        return begin.timestamp() - (0.001 if end else 0)
    try:
        return moment_of(datetime.fromisoformat(text), now)
    except ValueError:
        remedy = "Write 2026-02-10, 2026-02-10T14:30, yesterday, 7d, 2h or 30m."
        raise UsageError(f"{value!r} is no time.", remedy=remedy) from None


def is_of_token(change: Change, name: str) -> bool:
    """Return whether a change came with the token of this name."""
    return change.who == f"{name} via HTTP" or change.who.startswith(f"{name} via HTTP (")


@dataclass(frozen=True, slots=True)
class _Departures:
    """The renamings by which notes left a name, among all changes under that name."""

    places: dict[str, int]
    """The place of each change, by its id."""
    moves: tuple[tuple[int, tuple[str, ...]], ...]
    """The place of each renaming, with the other name and the last change there."""

    @classmethod
    def of(cls, changes: Sequence[Change], *, but: Collection[str]) -> _Departures:
        """Return those that count, without some by their ids, and without those that were taken back."""
        undone = taken_back(changes)
        moves = tuple(
            (place, each.moved)
            for place, each in enumerate(changes)
            if each.moved and each.after is None and each.state == "done"
            if each.id not in undone and each.id not in but
        )
        return cls({change.id: place for place, change in enumerate(changes)}, moves)

    def after(self, identifier: str) -> tuple[str, ...]:
        """Return the first one after a change; empty: the note kept its name."""
        place = self.places.get(identifier, len(self.places))
        return next((moved for at, moved in self.moves if at > place), ())


def _texts(content: bytes | None) -> tuple[str, ...]:
    lines = [text_of(line) for line in lines_of(content)]
    return tuple(lines[:-1] if lines and not lines[-1] else lines)


def _note_without(
    path: str, expected: str | None, weave: Weave, parting: Parting, changes: tuple[str, ...]
) -> NoteWithout:
    gone = {id(line) for line in parting.killed}
    numbers = tuple(number for number, line in enumerate(weave.alive, 1) if id(line) in gone)
    removed = tuple(text_of(line.content) for line in parting.killed)
    restored = tuple(text_of(line.content) for line in parting.revived)
    content = content_of([line.content for line in parting.lines])
    return NoteWithout(path, expected, content, removed, numbers, restored, changes)
