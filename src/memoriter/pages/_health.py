"""The page Health: what works, what does not, what to do about it, and passages that are nearly the same.

The server carries out some remedies itself, and of others the page has the command to copy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memoriter.codes import TRANSIENT
from memoriter.errors import PROVIDER_FAILURES, MemoriterError, UsageError
from memoriter.pages._page import Action, Page, PageRoute, page_sets
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.access import Caller
    from memoriter.pages._page import Visit

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


SIMILARITY = "0.97"
"""The cosine from which passages count as nearly the same, if the address names none."""
MOST_LISTED = 8
"""Passages that are listed for each set at most."""
MOST_SETS = 50
"""Sets that are listed at most."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Passages that are nearly the same."""

    points: Sequence[Mapping[str, Any]]
    more: int
    """Passages that are not listed."""
    similarity: float


async def near_copies(visit: Visit) -> Response:
    """Return the sets of passages that are nearly the same, the largest first."""
    given = visit.parameter("similarity") or SIMILARITY
    picture = await visit.perform("map", similarity=_number(given))
    reasons: Sequence[Mapping[str, str]] = picture["reasons"]
    if not picture["points"]:
        reasons = await _what_prevents_vectors(visit) or reasons
    return await visit.render(
        "health/_copies.html" if visit.fragment == "copies" else "health/copies.html",
        similarity=given,
        reasons=reasons,
        sets=sets_of(picture),
        found=len(picture["duplicates"]),
        compared=len(picture["points"]),
        passages=picture["chunks"],
    )


def sets_of(picture: Mapping[str, Any]) -> list[Copies]:
    """Return the largest sets of passages that are nearly the same, from the answer of the operation `map`."""
    points: Sequence[Mapping[str, Any]] = picture["points"]
    sets: list[Copies] = []
    for each in picture["duplicates"][:MOST_SETS]:
        numbers: Sequence[int] = each["points"]
        first = [points[number] for number in numbers[:MOST_LISTED]]
        sets.append(Copies(first, len(numbers) - len(first), each["similarity"]))
    return sets


async def _what_prevents_vectors(visit: Visit) -> list[Mapping[str, str]]:
    """Return why the provider computes no vectors, such as for want of a key; empty: nothing prevents it."""
    status = await visit.attempt("status")
    reasons: list[Mapping[str, str]] = status["health"]["reasons"] if status else []
    return [reason for reason in reasons if reason["code"] in PROVIDER_FAILURES]


def _number(text: str) -> float:
    """Return a similarity of the address. Raises UsageError."""
    try:
        return float(text)
    except ValueError as error:
        message = f"The similarity {text!r} is not a number."
        raise UsageError(message, remedy="Give a number from 0.5 to 1.") from error


def _report_indexing(answer: Mapping[str, Any]) -> str:
    changed = sum(answer[name] for name in ("added", "changed", "removed"))
    vectors = answer.get("embedded", 0)
    pending = answer.get("pending", 0)
    wait = f"; {pending:,} passages wait for vectors" if pending else ""
    return f"Indexed: {changed:,} files changed, {vectors:,} vectors computed{wait}."


def _report_search(status: Mapping[str, Any]) -> str:
    canaries: Sequence[Mapping[str, Any]] = status.get("canaries", [])
    found = sum(canary["found"] for canary in canaries)
    return f"Checked: {found} of {len(canaries)} known passages are found by their own words."


ACTIONS = (
    Action("index", "Index now", "memoriter index", "index", "write", _report_indexing, offered=True),
    Action(
        "index-force",
        "Index everything again",
        "memoriter index --force",
        "index",
        "admin",
        _report_indexing,
        {"force": True},
    ),
    Action(
        "check",
        "Search for known passages",
        "memoriter status --deep",
        "status",
        "read",
        _report_search,
        {"deep": True},
        offered=True,
    ),
)
"""The actions of memoriter itself."""
_COMMAND = re.compile(r"`([^`]+)`")
PASSING = TRANSIENT | {"warming", "not_indexed", "no_notes"}
RESTART = "This server read its settings and keys when it started: after you change them, start it again."


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and what to do about it."""

    code: str
    message: str
    remedy: str
    transient: bool
    """Whether it resolves itself, or is about a note and not about the memory."""
    actions: tuple[Action, ...] = ()
    commands: tuple[str, ...] = ()
    """Commands to copy, which this server does not carry out."""
    hint: str = ""


def all_actions() -> tuple[Action, ...]:
    """Return what the page Health can do."""
    return (*ACTIONS, *(action for each in page_sets() for action in each.actions))


def problem_from(reason: Mapping[str, str], caller: Caller) -> Problem:
    """Return a problem from a diagnostic as JSON; only actions that the caller may carry out are among `actions`."""
    remedy = reason.get("remedy", "")
    code = reason.get("code", "")
    written = [text for text in _COMMAND.findall(remedy) if text.startswith(("memoriter", "pip"))]
    here = remedy.replace("` in a terminal", "")  # such a command asks a question there
    by_command = {action.command: action for action in all_actions()}
    named = [by_command[text] for text in _COMMAND.findall(here) if text in by_command]
    settings = code in PROVIDER_FAILURES or code in {"config", "qmd_missing"}
    actions = tuple(action for action in named if caller.allows(action.scope))
    commands = tuple(text for text in written if text not in {action.command for action in actions})
    hint = RESTART if settings else ""
    return Problem(code, reason["message"], remedy, code in PASSING, actions, commands, hint)


def problems_of(status: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], caller: Caller) -> list[Problem]:
    """Return each problem of a memory once, those that stay first.

    `status` and `parts` are the answers of the operations of these names.
    """
    reasons: list[Mapping[str, str]] = [*status["health"]["reasons"]]
    if (sidecar := status.get("sidecar")) and (reason := sidecar.get("reason")):
        reasons.append(reason)
    reasons += [{**part, "code": part["name"]} for part in parts if not part["works"]]
    once = {reason["message"]: reason for reason in reversed(reasons)}
    problems = [problem_from(reason, caller) for reason in reversed(once.values())]
    return sorted(problems, key=lambda problem: problem.transient)


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
