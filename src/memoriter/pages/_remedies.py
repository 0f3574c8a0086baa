"""What a person can do about a problem: actions that this server carries out, and commands to copy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memoriter.codes import TRANSIENT
from memoriter.errors import PROVIDER_FAILURES
from memoriter.pages._page_set import Action, page_sets
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.access import Caller


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

    Args:
        status: the answer of the operation `status`.
        parts: the answer of the operation `parts`.
        caller: who looks at them.
    """
    reasons: list[Mapping[str, str]] = [*status["health"]["reasons"]]
    if (sidecar := status.get("sidecar")) and (reason := sidecar.get("reason")):
        reasons.append(reason)
    reasons += [{**part, "code": part["name"]} for part in parts if not part["works"]]
    once = {reason["message"]: reason for reason in reversed(reasons)}
    problems = [problem_from(reason, caller) for reason in reversed(once.values())]
    return sorted(problems, key=lambda problem: problem.transient)
