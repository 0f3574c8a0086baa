"""The history of notes: each change with its author and an undo, who wrote each line, and the changes of a day.

The review has what agents and tokens wrote since the last one, and a rollback takes back all changes of a conversation.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.ids import bytes_hash, content_hash
from memoriter.journal import ChangedSince, acting, taken_back
from memoriter.pages._changes import ShownChange, newest_id, noted_path, shown_change, shown_changes, take_back_together
from memoriter.pages._page import Page, PageRoute, workspace_of
from memoriter.pages._pane import name_of
from memoriter.values import dataclass
from memoriter.web import problem_of
from memoriter.workspace import without_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memoriter.access import Caller
    from memoriter.journal import Change, NoteWithout, TakeBackPlan
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
    number = visit.number("line") or 0

    def collect(memory: Memory) -> dict[str, Any]:
        excerpt = memory.read(path)
        texts = excerpt.text.removesuffix("\n").split("\n") if excerpt.text else []
        origin = memory.line_origin(path, number) if 1 <= number <= len(texts) else None
        return {
            "groups": _grouped(memory, path, texts, visit.caller),
            "origin": shown_change(memory, origin.change, visit.caller) if origin else None,
            "truncated": excerpt.truncated,
        }

    values = await visit.with_memory("read", collect)
    return await visit.render(
        "history/lines.html", path=path, name=name_of(path), line=visit.parameter("line"), **values
    )


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


SHOWN = 20
"""Changes that are listed below the one that is decided about."""


async def review(visit: Visit) -> Response:
    """Return the oldest change that nobody has reviewed, with what can be done, and those after it."""
    return await _review_page(visit)


async def send_review(visit: Visit) -> Response:
    """Keep, correct or drop a change, or keep all that were shown, and lead to the next one."""
    form = await visit.form()
    deed = form.get("act", "keep")

    def act(memory: Memory) -> str:
        waiting = memory.unreviewed().changes
        found = next((each for each in waiting if each.id == form.get("id")), None)
        if found is None:
            raise UsageError("This change does not wait for a review any more.", remedy="See what waits now.")
        if deed == "drop":
            return newest_id(memory, noted_path(memory.undo(found.id)), "undo")
        text = form.get("text", "").replace("\r\n", "\n")
        is_corrected = deed == "keep" and "text" in form and text.strip("\n") != text_of(found).strip("\n")
        path = noted_path(memory.undo(found.id, dry_run=True)) if is_corrected else ""
        if is_corrected:
            memory.amend(found, text)
        memory.mark_reviewed(found)
        return newest_id(memory, path, "review") if is_corrected else ""

    try:
        back = await visit.with_memory("admin", act)
    except MemoriterError as error:
        if not visit.caller.allows("admin"):
            raise
        return await _review_page(visit, error)
    done = {"drop": "dropped", "all": "all"}.get(deed, "corrected" if back else "kept")
    return visit.redirect("/history/review", done=done, back=back)


def text_of(change: Change) -> str:
    """Return the lines that a change added, if they stand together; empty: they do not, or there are none."""
    adding = [hunk for hunk in change.hunks or () if any(hunk.added)]
    return "\n".join(change.added) if len(adding) == 1 else ""


async def _review_page(visit: Visit, error: MemoriterError | None = None) -> Response:
    def collect(memory: Memory) -> dict[str, Any]:
        changes = memory.unreviewed().changes[::-1]
        shown = shown_changes(memory, changes[: SHOWN + 1], visit.caller)
        return {
            "first": shown[0] if shown else None,
            "text": text_of(shown[0].change) if shown else "",
            "later": shown[1:],
            "count": len(changes),
            "last": changes[-1].id if changes else "",
            "of_session": sum(each.session == changes[0].session for each in changes) if changes else 0,
        }

    values = await visit.with_memory("admin", collect)
    problem = problem_of(error, f"The page {visit.page.name}") if error else None
    done = visit.parameter("done") if problem is None else ""
    status = problem.status if problem else 200
    return await visit.render(
        "history/review.html", status, done=done, back=visit.parameter("back"), problem=problem, **values
    )


async def ask_rollback(visit: Visit) -> Response:
    """Return what taking back the changes of a conversation does. Nothing is changed."""
    return await _rollback_page(visit, visit.parameter("id"), visit.parameter("back"))


async def rollback(visit: Visit) -> Response:
    """Take back what the plan showed; if a note has changed since, show the plan as it is now."""
    form = await visit.form()
    session = form.get("id", "")

    def act(memory: Memory) -> str:
        plan = memory.plan_rollback(session=session)
        return take_back_together(memory, plan) if digest_of(plan) == form.get("planned") else ""

    name = await visit.with_memory("admin", act)
    if not name:
        return await _rollback_page(visit, session, changed=True)
    return visit.redirect("/history/together", id=form.get("shown", "") or session, back=name)


async def _rollback_page(visit: Visit, session: str, back: str = "", *, changed: bool = False) -> Response:
    """Return the page with the plan.

    `back` is what was just done, which a button takes back (empty: nothing). `changed` says that a note has changed
    since the plan was shown.
    """

    def collect(memory: Memory) -> dict[str, Any]:
        plan = memory.plan_rollback(session=session)
        done = memory.plan_rollback(session=back) if back else None
        return {
            "plan": plan,
            "notes": [_shown(note) for note in plan.notes],
            "planned": digest_of(plan),
            "changes": [shown_change(memory, each, visit.caller) for each in plan.changes],
            "done": done,
            "done_planned": digest_of(done) if done else "",
        }

    values = await visit.with_memory("admin", collect)
    status = 409 if changed else 200
    return await visit.render("history/together.html", status, session=session, back=back, changed=changed, **values)


def _shown(note: NoteWithout) -> tuple[NoteWithout, list[tuple[str, str]]]:
    """Return what happens to a note, with the lines that go and come back, but for blank ones."""
    rows = [*(("goes", text) for text in note.removed), *(("comes back", text) for text in note.restored)]
    return note, [(kind, without_mark(text)) for kind, text in rows if text.strip()]


def digest_of(plan: TakeBackPlan) -> str:
    """Return a text for what a plan does: it differs if any of the notes has changed since."""
    rows = [
        f"{note.path}\n{note.expected}\n{'' if note.content is None else bytes_hash(note.content)}"
        for note in plan.notes
    ]
    return content_hash("\n".join(rows))


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
