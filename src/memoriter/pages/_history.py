"""The history of notes: each change with its author and an undo, who wrote each line, and the changes of a day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.journal import ChangedSince, acting, taken_back
from memoriter.pages._changes import ShownChange, newest_id, noted_path, shown_change, shown_changes
from memoriter.pages._page import Page, PageRoute
from memoriter.pages._pane import name_of
from memoriter.pages._review import review, send_review
from memoriter.pages._rollback import ask_rollback, rollback
from memoriter.pages._workspace import workspace_of
from memoriter.values import dataclass
from memoriter.workspace import without_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memoriter.access import Caller
    from memoriter.journal import Change, NoteWithout
    from memoriter.memory import Memory
    from memoriter.pages._page import Visit

FEW = 50
"""Changes that are shown at once."""
MOST = 1_000
MOST_OF_DAY = 300
"""Changes of one day that are shown, the newest."""
LinesOf = tuple[ShownChange | None, list[tuple[int, str]]]
"""Lines of a note with their numbers, and the change that they are from; None: the history does not know."""


@dataclass(frozen=True, slots=True)
class Together:
    """Changes of one conversation, or one change that stands alone."""

    session: str
    """The conversation; empty: the change stands alone."""
    changes: Sequence[ShownChange]

    @property
    def deed(self) -> str:
        """What was done, as the rest of a sentence."""
        count = f"{len(self.changes):,} changes"
        notes = len({each.change.path for each in self.changes})
        where = f"in {notes:,} {'note' if notes == 1 else 'notes'}"
        match self.changes[0].change.act:
            case "rename":
                return f"renamed a note, with {count} {where}"
            case "rollback":
                return f"took back what was done, with {count} {where}"
            case _:
                return f"made {count} {where}"


async def show(visit: Visit) -> Response:
    """Return the changes of a note, or of all notes, the newest first."""
    path = visit.parameter("path")
    given = visit.parameter("most")
    most = min(MOST, int(given)) if given.isascii() and given.isdigit() and len(given) < 5 else FEW

    def collect(memory: Memory) -> list[ShownChange]:
        changes = memory.history(path or None, max_results=None if path else most + 1).changes
        return shown_changes(memory, changes[: most + 1], visit.caller, taken_back(changes))

    changes = await visit.with_memory("read", collect)
    return await visit.render(
        "history/page.html",
        path=path,
        name=name_of(path),
        changes=changes[:most],
        more=min(MOST, most * 2) if len(changes) > most and most < MOST else 0,
        back=visit.parameter("back"),
    )


async def lines(visit: Visit) -> Response:
    """Return the lines of a note with who wrote each, and of one of them all that is known."""
    path = visit.parameter("path")
    wanted = visit.parameter("line")

    def collect(memory: Memory) -> dict[str, Any]:
        excerpt = memory.read(path)
        texts = excerpt.text.removesuffix("\n").split("\n") if excerpt.text else []
        number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else 0
        origin = memory.line_origin(path, number) if 1 <= number <= len(texts) else None
        return {
            "groups": _grouped(memory, path, texts, visit.caller),
            "origin": shown_change(memory, origin.change, visit.caller) if origin else None,
            "truncated": excerpt.truncated,
        }

    values = await visit.with_memory("read", collect)
    return await visit.render("history/lines.html", path=path, name=name_of(path), line=wanted, **values)


def _grouped(memory: Memory, path: str, texts: Sequence[str], caller: Caller) -> list[LinesOf]:
    """Return the lines of a note with their numbers, those side by side that one change made together."""
    groups = list[LinesOf]()
    above: Change | None = None
    for number, (text, change) in enumerate(zip(texts, memory.line_origins(path), strict=False), 1):
        if not groups or change is not above:
            groups.append((shown_change(memory, change, caller) if change else None, []))
        groups[-1][1].append((number, without_mark(text)))
        above = change
    return groups


async def undo(visit: Visit) -> Response:
    """Take a change back unless its lines were changed since, and lead to where the button was."""
    form = await visit.form()
    identifier = form.get("id", "")

    def act(memory: Memory) -> tuple[str, str]:
        plan = memory.undo(identifier, dry_run=True)
        path = noted_path(plan)
        memory.read(path, lines=1)
        if plan.empty:
            raise UsageError("There is nothing to take back: the lines are as they were.")
        author = visit.caller.author
        if author is None:
            memory.undo(identifier)
        else:  # what others bring back is marked, as what they edit
            with acting(who=author, act="undo"):
                for note in plan.notes:
                    if note.content is None and note.expected and plan.changes[0].who == author:  # all of it was theirs
                        workspace_of(memory).remove(note.path, expected=note.expected, of=note.changes)
                    else:
                        memory.replace(note.path, _text_of(note), expected=note.expected, origin=author)
        return path, newest_id(memory, path, "undo")

    try:
        path, done = await visit.with_memory("write", act)
    except ChangedSince as error:
        conflict = error.conflict
        changed = await visit.with_memory("read", lambda memory: shown_change(memory, conflict.change, visit.caller))
        return await visit.render("history/conflict.html", 409, each=changed, now=conflict.now)
    day = form.get("day", "")
    match form.get("to"):
        case "note":
            return visit.redirect("/notes", path=path, done="restored")
        case "review":
            return visit.redirect("/history/review", done="taken-back")
        case "all":
            return visit.redirect("/history", back=done)
        case _ if day:
            return visit.redirect("/days", day=day, back=done)
        case _:
            return visit.redirect("/history", path=path, back=done)


def _text_of(note: NoteWithout) -> str:
    try:
        return (note.content or b"").decode()
    except UnicodeDecodeError as error:
        message = f"{note.path!r} was not text in UTF-8 before, so its new lines cannot be marked."
        raise UsageError(message, remedy="Ask the owner of the notes to undo this change.") from error


async def of_day(visit: Visit) -> Response:
    """Return who changed what on a day, the newest first; the changes of a conversation are together."""
    day = visit.parameter("day")
    try:
        wanted = date.fromisoformat(day)
    except ValueError as error:
        raise UsageError(f"There is no day {day!r}.", remedy="Give a day as YYYY-MM-DD.") from error

    def collect(memory: Memory) -> list[ShownChange]:
        if not memory.configuration.settings.memory.journal.enabled:
            return []
        begin = datetime.combine(wanted, datetime.min.time(), memory.now().tzinfo)
        end = (begin + timedelta(days=1)).timestamp()
        since = memory.history(since=begin).changes
        of_that_day = [change for change in since if change.at < end]
        return shown_changes(memory, of_that_day[: MOST_OF_DAY + 1], visit.caller, taken_back(since))

    changes = await visit.with_memory("read", collect)
    return await visit.render(
        "history/_day.html" if visit.fragment else "history/day.html",
        day=day,
        together=_together(changes[:MOST_OF_DAY]),
        is_cut=len(changes) > MOST_OF_DAY,
    )


def _together(changes: Sequence[ShownChange]) -> list[Together]:
    """Return changes with those of one conversation together, where the newest of them is."""
    groups = dict[str, list[ShownChange]]()
    for each in changes:
        groups.setdefault(each.change.session or each.change.id, []).append(each)
    return [Together(key if len(group) > 1 else "", group) for key, group in groups.items()]


PAGE = Page(
    "History",
    "See who changed what, and take it back.",
    (
        PageRoute("/history", show),
        PageRoute("/history/lines", lines),
        PageRoute("/history/day", of_day),
        PageRoute("/history/undo", undo, ("POST",)),
        PageRoute("/history/together", ask_rollback),
        PageRoute("/history/rollback", rollback, ("POST",)),
        PageRoute("/history/review", review),
        PageRoute("/history/reviewed", send_review, ("POST",)),
    ),
    place=35,
    in_navigation=False,
)
