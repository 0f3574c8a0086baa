"""All lines that a note ever had, with the changes that added and removed each (pure functions).

The lines of the note now are those that nothing removed. Without some changes, the note has the lines that those did
not add, and those that only they removed: so a change is taken back, whatever was written since. This is the weave of
SCCS. A change that took others back adds and removes no line of its own: while it is in force, those are not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.journal._changes import FOUND, Line, hunks_between, text_of
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memoriter.journal._changes import Change

Step = tuple[int, int]
"""A hunk: the number of its change in the weave, and its own number in the change."""


@dataclass(slots=True)
class WovenLine:
    """A line that a note has, or had."""

    content: Line
    born: Step
    deaths: list[Step] = field(default_factory=list[Step])
    spared_by: set[int] = field(default_factory=set[int])
    """The changes that took back the one that added the line, but kept the line."""


@dataclass(slots=True)
class Weave:
    """The lines of a note and the changes that made them, since its text was last known as a whole."""

    changes: list[Change] = field(default_factory=list["Change"])
    lines: list[WovenLine] = field(default_factory=list[WovenLine])
    alive: list[WovenLine] = field(default_factory=list[WovenLine])
    """The lines of the note."""
    hash: str | None = None
    """The hash of the note after the last change."""
    takers: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    """By the number of a change: those that took it back."""
    kept: dict[int, set[Step]] = field(default_factory=dict[int, set[Step]])
    """By the number of a change that took others back: their hunks that it kept."""

    @classmethod
    def of(cls, changes: Sequence[Change], now: str | None) -> Weave:
        """Return the weave of the changes of a note.

        `changes` are all of them in order, and `now` is the hash of the note after them; None: there is no note.
        """
        weave = cls()
        for change in in_force(changes, now):
            weave.add(change)
        return weave

    def add(self, change: Change) -> None:
        """Add a change of the note as it is after the others."""
        number = len(self.changes)
        parting = self.part(change.of) if change.of else None
        self.changes.append(change)
        self.hash = change.after
        contents = [line.content for line in self.alive] if change.of else []
        for hunk in reversed(change.hunks or ()):
            contents[hunk.start : hunk.start + len(hunk.removed)] = hunk.added
        if parting is not None and [line.content for line in parting.lines] == contents:
            for taken in parting.gone:
                self.takers.setdefault(taken, set()).add(number)
            self.kept[number] = parting.kept
            for line in parting.spared:
                line.spared_by.add(number)
            self.alive = parting.lines
            return
        for part, hunk in reversed(list(enumerate(change.hunks or ()))):
            end = hunk.start + len(hunk.removed)
            for line in self.alive[hunk.start : end]:
                line.deaths.append((number, part))
            at = self._place_of(self.alive[end - 1]) + 1 if end else 0
            added = [WovenLine(content, (number, part)) for content in hunk.added]
            self.lines[at:at] = added
            self.alive[hunk.start : end] = added

    def origin_of(self, number: int) -> tuple[Change, tuple[str, ...]]:
        """Return the change that a line of the note is from, and the lines in whose place it came."""
        born, part = self.alive[number - 1].born
        change = self.changes[born]
        return change, tuple(map(text_of, (change.hunks or ())[part].removed))

    def _place_of(self, wanted: WovenLine) -> int:
        return next(place for place in range(len(self.lines) - 1, -1, -1) if self.lines[place] is wanted)

    def part(self, chosen: Collection[str]) -> Parting:
        """Return what the note is without some of its changes.

        Where somebody else has changed since what they put in the place of other lines, everything stays as it is.
        """
        own = {number for number, each in enumerate(self.changes) if each.id in chosen and each.act != FOUND}
        now = View(self)
        removed = dict[int, list[Step]]()
        for line in self.lines:
            others = [death for death in line.deaths if now.holds(death) and death[0] not in own]
            if others and line.content and now.shows(line, but=others):
                removed[id(line)] = others
        kept = {number: self._kept(number, own, removed, now) for number in sorted(own)}
        parting = Parting(own, {step for steps in kept.values() if steps for step in steps})
        parting.changed = tuple(self.changes[number].id for number, steps in kept.items() if steps is not None)
        then = View(self, own, parting.kept)
        for line in self.lines:
            shown = now.shows(line)
            stands = then.shows(line) and (line.content is not None or shown)
            if stands:
                parting.lines.append(line)
            if shown and not stands:
                parting.killed.append(line)
            elif stands and not shown:
                parting.revived.append(line)
        self._spare_last_newline(parting)
        return parting

    def _kept(
        self, number: int, own: Collection[int], removed: Mapping[int, list[Step]], now: View
    ) -> set[Step] | None:
        """Return the hunks of a change that stay because others changed their lines since; None: nobody did.

        `own` are all changes that are taken back with it. `removed` has, by the identity of a line that others removed,
        their hunks.
        """
        change = self.changes[number]
        every = {(number, part) for part in range(len(change.hunks or ()) + 1)}
        others = range(number + 1, len(self.changes)) if change.after is None else ()
        if any(self._makes(at) and at not in own and now.holds((at, 0)) for at in others):
            return every  # there is another note of this name now
        alone = View(self, {number})
        kept: set[Step] | None = None
        for line in self.lines:
            others_removed = removed.get(id(line))
            if others_removed is None or alone.shows(line, but=others_removed):
                continue
            kept = kept or set()
            if line.born[0] != number:
                return every  # it took back what others have changed
            kept |= {line.born} if (change.hunks or ())[line.born[1]].removed else set()
        return kept

    def _makes(self, number: int) -> bool:
        """Return whether a change made the note, and did not only bring it back."""
        return self.changes[number].before is None and number not in self.kept

    def _spare_last_newline(self, parting: Parting) -> None:
        """Keep the newline at the end of the note if it now belongs to a line that somebody wrote above it."""
        if not (parting.lines and parting.killed and parting.killed[-1] is self.alive[-1]):
            return
        last = parting.killed[-1]
        if last.content == b"" and last.born[0] in parting.gone and parting.lines[-1].born[0] > last.born[0]:
            parting.lines.append(last)
            parting.spared.append(last)
            parting.killed.pop()


class View:
    """Which changes are in force if some are left out."""

    def __init__(self, weave: Weave, left_out: Collection[int] = (), kept: Collection[Step] = ()) -> None:
        """Leave changes out, but for the hunks that are kept."""
        self._weave = weave
        self._left_out = left_out
        self._kept = kept
        self._known: dict[Step, bool] = {}

    def holds(self, step: Step) -> bool:
        """Return whether a hunk is in force."""
        if step not in self._known:
            left_out = step[0] in self._left_out and step not in self._kept
            self._known[step] = not left_out and not any(
                step not in self._weave.kept[taker] and self.holds((taker, 0))
                for taker in self._weave.takers.get(step[0], ())
            )
        return self._known[step]

    def shows(self, line: WovenLine, but: Collection[Step] = ()) -> bool:
        """Return whether the note has a line, if some removals do not count."""
        if any(self.holds(death) for death in line.deaths if death not in but):
            return False
        return self.holds(line.born) or any(self.holds((taker, 0)) for taker in line.spared_by)


@dataclass(slots=True)
class Parting:
    """What a note is without some changes."""

    gone: set[int]
    """The changes that are taken back."""
    kept: set[Step]
    """The hunks of them that are not, because others changed their lines since."""
    lines: list[WovenLine] = field(default_factory=list[WovenLine])
    killed: list[WovenLine] = field(default_factory=list[WovenLine])
    """The lines that go."""
    revived: list[WovenLine] = field(default_factory=list[WovenLine])
    """The lines that come back."""
    spared: list[WovenLine] = field(default_factory=list[WovenLine])
    """The lines of theirs that stay, because they belong to lines of others now."""
    changed: tuple[str, ...] = ()
    """The changes, by their ids, whose lines others have changed since."""


def taken_back(changes: Iterable[Change]) -> set[str]:
    """Return the ids of the changes that others took back, unless those were taken back themselves."""
    takers = dict[str, list[str]]()
    for change in changes:
        if change.state != "failed":
            for identifier in change.of:
                takers.setdefault(identifier, []).append(change.id)

    def holds(identifier: str) -> bool:
        return not any(holds(each) for each in takers.get(identifier, ()))

    return {identifier for identifier, ids in takers.items() if any(map(holds, ids))}


def in_force(changes: Sequence[Change], now: str | None) -> list[Change]:
    """Return the changes that lead to what a note is, since its text was last known as a whole.

    `changes` are all those of the note in order, and `now` is the hash of the note after them; None: there is no note.
    """
    found: list[Change] = []
    hash_: str | None = None
    for number, change in enumerate(changes):
        following = changes[number + 1].before if number + 1 < len(changes) else now
        if change.act == FOUND:
            found = [change] if not found or change.after != hash_ else found
        elif change.state == "failed" or (change.state == "unknown" and following != change.after):
            continue
        elif change.comes_from and hash_ is not None:
            # The note as it was under its earlier name is its text before.
            moved = hunks_between(_lines_of(found), _lines_of([change]))
            found = [*found, replace(change, before=hash_, hunks=moved)] if found else [change]
        elif change.hunks is None or change.before != hash_ or not (found or change.before is None):
            found = []
        else:
            found.append(change)
        hash_ = change.after
    return found if hash_ == now else []


def content_of(lines: Sequence[Line]) -> bytes | None:
    """Return the content that lines are; None for no note, or if a line is not known."""
    known = [line for line in lines if line is not None]
    return b"\n".join(known) if lines and len(known) == len(lines) else None


def text_after(changes: Sequence[Change], after: str | None) -> bytes | None:
    """Return the content of a note that has a hash after its last change; None if it is not known, or there is none."""
    lines = _lines_after(changes, after)
    return None if lines is None else content_of(lines)


def text_at(changes: Sequence[Change], time: float, now: str | None) -> tuple[bool, bytes | None]:
    """Return whether the journal knows a note at a time, and its content then; None: there was no note.

    In the place of a line that was forgotten since, it has an empty one.

    `changes` are all those of the note in order, `time` is in seconds since 1970, and `now` is the hash of the note
    after them.
    """
    later = next((number for number, change in enumerate(changes) if change.at > time), len(changes))
    after = changes[later].before if later < len(changes) else now
    if later < len(changes) and changes[later].act == FOUND and not later:
        return False, None
    if after is None:
        return True, None
    lines = _lines_after(changes[:later], after)
    return lines is not None, None if lines is None else without_forgotten(lines)


def _lines_after(changes: Sequence[Change], after: str | None) -> list[Line] | None:
    """Return the lines of a note that has a hash after its last change; None: the journal does not know."""
    held = in_force(changes, after)
    return _lines_of(held) if held else None


def _lines_of(changes: Iterable[Change]) -> list[Line]:
    """Return the lines that changes make, the first of which made the note."""
    lines = list[Line]()
    for change in changes:
        for hunk in reversed(change.hunks or ()):
            lines[hunk.start : hunk.start + len(hunk.removed)] = hunk.added
    return lines


def without_forgotten(lines: Iterable[Line]) -> bytes:
    """Return the content that lines are, with an empty line in the place of each that was forgotten."""
    return b"\n".join(line or b"" for line in lines)


def origin_of(changes: Sequence[Change], line: int) -> tuple[Change, tuple[str, ...]] | None:
    """Return the change that a line of a note is from, with what it replaced; None if the journal does not know.

    `changes` are all those of the note in order, but for those that did not happen; `line` is its number after them,
    from 1.
    """
    at = line - 1
    for change in reversed(changes):
        if change.hunks is None:
            return None
        shift = 0
        for hunk in change.hunks:
            begin = hunk.start + shift
            if begin <= at < begin + len(hunk.added):
                return change, tuple(map(text_of, hunk.removed))
            if at < begin:
                break
            shift += len(hunk.added) - len(hunk.removed)
        at -= shift
    return None
