"""Taking back all changes of a conversation, once its plan was seen, and bringing them back."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from memoriter.ids import bytes_hash, content_hash
from memoriter.journal import acting
from memoriter.pages._changes import shown_change
from memoriter.workspace import without_mark

if TYPE_CHECKING:
    from starlette.responses import Response

    from memoriter.journal import NoteWithout, TakeBackPlan
    from memoriter.memory import Memory
    from memoriter.pages._page import Visit


async def ask_rollback(visit: Visit) -> Response:
    """Return what taking back the changes of a conversation does. Nothing is changed."""
    return await _page(visit, visit.parameter("id"), visit.parameter("back"))


async def rollback(visit: Visit) -> Response:
    """Take back what the plan showed; if a note has changed since, show the plan as it is now."""
    form = await visit.form()
    session = form.get("id", "")

    def act(memory: Memory) -> str:
        plan = memory.plan_rollback(session=session)
        return take_back_together(memory, plan) if digest_of(plan) == form.get("planned") else ""

    name = await visit.with_memory("admin", act)
    if not name:
        return await _page(visit, session, changed=True)
    return visit.redirect("/history/together", id=form.get("shown", "") or session, back=name)


def take_back_together(memory: Memory, plan: TakeBackPlan) -> str:
    """Take back what a plan shows, and return the name of these changes, by which one button takes them back again."""
    name = f"rollback-{secrets.token_hex(4)}"
    with acting(session=name):
        memory.rollback(plan)
    return name


async def _page(visit: Visit, session: str, back: str = "", *, changed: bool = False) -> Response:
    """Return the page with the plan.

    Args:
        visit: the request.
        session: the conversation.
        back: what was just done, which a button takes back; empty: nothing.
        changed: whether a note has changed since the plan was shown.
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
