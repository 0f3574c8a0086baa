"""The page Health: what works, what does not, and what to do about it; remedies that the server can apply itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.pages._near_copies import near_copies
from memoriter.pages._page import Page, PageRoute
from memoriter.pages._remedies import all_actions, problems_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._page import Visit
    from memoriter.pages._page_set import Action
    from memoriter.pages._remedies import Problem

MOST_SKIPPED = 200
"""Skipped paths that are listed at most."""
CHECKED = {"canaries_lost", "vectors_wrong"}
"""Problems that only a search for known passages can find."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action did."""

    helped: bool | None
    """Whether the problem is gone; None: the action was not for a problem."""
    message: str
    remedy: str = ""


async def show(visit: Visit) -> Response:
    """Return the page, or its part that changes."""
    return await _render(visit, await visit.perform("status"))


async def act(visit: Visit) -> Response:
    """Carry out an action, and return the page with what it changed."""
    form = await visit.form()
    actions = {each.name: each for each in all_actions()}
    action = actions.get(form.get("do", ""))
    if action is None:
        remedy = f"Choose one of: {', '.join(actions)}."
        raise UsageError(f"There is no action {form.get('do', '')!r}.", remedy=remedy)
    code = form.get("code", "")
    try:
        answer = await visit.perform(action.operation, **action.values)
    except MemoriterError as error:
        if not visit.caller.allows(action.scope):
            raise
        message = f"The action “{action.label}” failed: {error.message}"
        return await _render(visit, await visit.perform("status"), Outcome(False, message, error.remedy))
    status = answer if action.name == "check" else await visit.perform("status", deep=code in CHECKED)
    parts: Any = await visit.attempt("parts") or []
    left = next((problem for problem in problems_of(status, parts, visit.caller) if problem.code == code), None)
    return await _render(visit, status, _outcome(action, answer, left, asked=bool(code)), parts)


def _outcome(action: Action, answer: Any, left: Problem | None, *, asked: bool) -> Outcome:
    report = action.report(answer)
    if not asked:
        return Outcome(None, report)
    if left is None:
        return Outcome(True, f"{report} The problem is gone.")
    return Outcome(False, f"{report} The problem is still there: {left.message}", left.remedy)


async def _render(
    visit: Visit, status: Mapping[str, Any], outcome: Outcome | None = None, parts: Any = None
) -> Response:
    parts = await visit.attempt("parts") or [] if parts is None else parts
    problems = problems_of(status, parts, visit.caller)
    template = "health/_state.html" if visit.fragment == "state" else "health/page.html"
    return await visit.render(
        template,
        sentence=sentence_of(status, problems),
        state=status,
        parts=parts,
        problems=problems,
        working=works_still(status),
        cost=await visit.attempt("cost"),
        outcome=outcome,
        skipped=status["skipped"][:MOST_SKIPPED],
        actions=[action for action in all_actions() if action.offered and visit.caller.allows(action.scope)],
    )


async def frame(visit: Visit) -> Response:
    """Return the dot of the header with its sentence, and how much waits on other pages."""
    status = await visit.attempt("status")
    problems = problems_of(status, [], visit.caller) if status else []
    waiting = {page.path: await page.waiting(visit) for page in visit.pages if page.waiting}
    return await visit.render(
        "_frame.html",
        works=bool(status) and not any(not problem.transient for problem in problems),
        busy=bool(problems),
        sentence=sentence_of(status, problems) if status else "The state of the memory is not known.",
        waiting=waiting,
    )


async def ready(visit: Visit) -> Response:
    """Return how many notes can be asked already, for a page that is open while they are indexed."""
    status = await visit.attempt("status")
    total = await visit.with_memory("read", lambda memory: visit.library.listing(memory).tree.files)
    return await visit.render("search/_ready.html", asked=status["files"] if status else 0, total=total)


def sentence_of(status: Mapping[str, Any], problems: Sequence[Problem]) -> str:
    """Return what a person wants to know of the state: whether all is found, and whether text leaves the machine."""
    files: int = status["files"]
    notes = f"{files:,} {'note' if files == 1 else 'notes'}"
    leaves = (
        f"Text is sent to {status['endpoint']}." if status.get("leavesMachine") else "Nothing leaves this computer."
    )
    serious = next((problem for problem in problems if not problem.transient), None)
    if serious is not None:
        return f"{serious.message} {leaves}"
    changed: int = status["stale"]
    if not files:
        return f"There are no notes yet. {leaves}" if not changed else f"No note is indexed yet. {leaves}"
    if changed:
        return f"{notes}; {changed:,} changed and will be found after the next search. {leaves}"
    if pending := status["health"]["pending"]:
        return f"All {notes} are found by their words; the meaning of {pending:,} passages is computed. {leaves}"
    return f"{'The note is' if files == 1 else f'All {notes} are'} searchable. {leaves}"


def works_still(status: Mapping[str, Any]) -> str:
    """Return which ways of searching work, as sentences."""
    legs = status["health"]["legs"]
    if legs.get("keyword") and legs.get("vector"):
        return "Searches use words and vectors."
    if status["provider"] == "none":
        return "Searches use words only, because no provider of vectors is configured."
    if legs.get("keyword"):
        return (
            "Searches by words work, and so do reading and writing notes. "
            "A passage that shares no word with the question is not found."
        )
    return "Notes can be read and written. Searches do not work."


PAGE = Page(
    "Health",
    "See whether everything works, and mend what does not.",
    (
        PageRoute("/status", show),
        PageRoute("/status/act", act, ("POST",)),
        PageRoute("/status/frame", frame),
        PageRoute("/status/ready", ready),
        PageRoute("/status/near-copies", near_copies),
    ),
    place=70,
    in_navigation=False,
)
