"""The review: what agents and tokens wrote since the last one, each of which the owner keeps, corrects or drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.pages._changes import newest_id, noted_path, shown_changes
from memoriter.web import problem_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from memoriter.journal import Change
    from memoriter.memory import Memory
    from memoriter.pages._page import Visit

SHOWN = 20
"""Changes that are listed below the one that is decided about."""


async def review(visit: Visit) -> Response:
    """Return the oldest change that nobody has reviewed, with what can be done, and those after it."""
    return await _page(visit)


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
        return await _page(visit, error)
    done = {"drop": "dropped", "all": "all"}.get(deed, "corrected" if back else "kept")
    return visit.redirect("/history/review", done=done, back=back)


def text_of(change: Change) -> str:
    """Return the lines that a change added, if they stand together; empty: they do not, or there are none."""
    adding = [hunk for hunk in change.hunks or () if any(hunk.added)]
    return "\n".join(change.added) if len(adding) == 1 else ""


async def _page(visit: Visit, error: MemoriterError | None = None) -> Response:
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
