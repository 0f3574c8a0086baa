"""What the notes have said about something, in order of time: the changes whose lines are about it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.folding import fold
from memoriter.journal import FOUND, Change, HistoryReport, Hunk
from memoriter.search import query_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

    from memoriter.journal import History
    from memoriter.types import Hit

WHOLE_HUNK = 6
"""Lines of a difference that are shown together: one of them is about the subject, and the others were beside it."""


def changes_about(about: str, hits: Sequence[Hit], history: History, moment: Callable[[date], float]) -> HistoryReport:
    """Return the changes with lines that have most of the words, the newest first, and of each only these lines.

    A line that is older than the journal counts for the day of its note.

    Args:
        about: the subject.
        hits: what a search for it finds now.
        history: the changes of the notes.
        moment: returns the beginning of a day, in seconds since 1970.
    """
    subject = _Subject(about)
    report = history.changes()
    shares = [subject.share(text) for change in report.changes for text in (*change.removed, *change.added)]
    shares += [subject.share(text, hit.heading) for hit in hits for text in hit.text.split("\n")]
    subject.least = max(shares, default=0)
    if not subject.least:
        return replace(report, changes=())
    found = [narrowed for change in report.changes if (narrowed := subject.narrowed(change))]
    known = {change.id for change in found}
    for hit in hits:
        day = moment(hit.date) if hit.date else None
        found += [each for each in _origins(hit, subject, history, day) if each.act == FOUND or each.id not in known]
    return replace(report, changes=tuple(sorted(found, key=lambda change: -change.at)))


def _origins(hit: Hit, subject: _Subject, history: History, day: float | None) -> Iterator[Change]:
    """Yield the change that each line of a passage about the subject is from, with this line alone."""
    for number, text in enumerate(hit.text.split("\n"), hit.start_line):
        if subject.share(text, hit.heading) < subject.least:
            continue
        with suppress(UsageError):  # the note has changed since it was searched
            origin = history.line(hit.path, number)
            if origin is not None:
                change = origin.change
                at = day if day is not None and change.act == FOUND else change.at
                removed = tuple(line.encode("utf-8", "replace") for line in origin.replaced[:WHOLE_HUNK])
                line = text.encode("utf-8", "replace")
                yield replace(change, at=at, hunks=(Hunk(number - 1, removed, (line,)),))


class _Subject:
    """Words, and which lines have most of them."""

    def __init__(self, about: str) -> None:
        self._terms = frozenset(query_terms(about))
        self._beginnings = tuple(term[:4] for term in self._terms)
        self.least = 1
        """The number of words that a line about it has."""

    def share(self, text: str, heading: Iterable[str] = ()) -> int:
        """Return how many of the words a line has, with those of the headings above it if it has any itself."""
        folded = fold(text)
        if not any(beginning in folded for beginning in self._beginnings):
            return 0
        return len(self._terms & {*query_terms(text), *query_terms(" ".join(heading))})

    def narrowed(self, change: Change) -> Change | None:
        """Return a change with the lines about the subject alone; None: it has none."""
        hunks: list[Hunk] = []
        shift = 0
        kept_shift = 0
        for hunk in change.hunks or ():
            part = self._part(hunk)
            if part is not None:
                hunks.append(replace(part, start=part.start + shift - kept_shift))
                kept_shift += len(part.added) - len(part.removed)
            shift += len(hunk.added) - len(hunk.removed)
        return replace(change, hunks=tuple(hunks)) if hunks else None

    def _part(self, hunk: Hunk) -> Hunk | None:
        removed = tuple(line for line in hunk.removed if line is not None and self._is_about(line))
        first = next((at for at, line in enumerate(hunk.added) if line is not None and self._is_about(line)), None)
        if first is None and not removed:
            return None
        if len(hunk.removed) + len(hunk.added) <= WHOLE_HUNK:
            return hunk
        added = tuple(line for line in hunk.added if line is not None and self._is_about(line))
        return Hunk(hunk.start + (first or 0), removed, added)

    def _is_about(self, line: bytes) -> bool:
        return self.share(line.decode("utf-8", "replace")) >= self.least
