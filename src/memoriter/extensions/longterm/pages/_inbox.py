"""The inbox on the page Memories: decide about captured statements, withheld memories and records, and undo it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import MemoriterError, UsageError, WriteConflict
from memoriter.extensions.longterm._records import CATEGORIES
from memoriter.extensions.longterm.pages._memory_list import list_values
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.responses import Response

    from memoriter.pages import Visit

    Done = dict[str, Any]
    """What was done on the page: `title` and `text` for people, `kind`, and what taking it back needs."""

SHOWN = 100
"""Candidates, withheld memories and records that are shown at once."""
KEPT = 50
"""Decisions that can be taken back, the latest."""


async def decide(visit: Visit) -> Response:
    """Do what a button of the inbox stands for, and return the page with what was done."""
    form = await visit.form()
    act, _, target = form.get("act", "").partition(":")
    done = list[Any]()
    error: MemoriterError | None = None
    try:
        done = _done_of(form.get("done", "[]"))
        if act == "undo":
            done = await _undo(visit, done, target)
        elif act in ACTS:
            done = [*done, await ACTS[act](visit, form, target)][-KEPT:]
        else:
            raise UsageError(f"The page has no button {act!r}.", remedy="Load the page again.")
    except MemoriterError as failure:
        error = failure
    values = await inbox_values(visit, done, form, error)
    status = values["problem"].status if values["problem"] else 200
    if visit.fragment == "inbox":
        return await visit.render("memories/_inbox.html", status, **values)
    shown = await list_values(visit)
    return await visit.render("memories/page.html", status, told="", collects=True, **shown, **values)


async def waiting(visit: Visit) -> int:
    """Return the number of statements that wait for a decision."""
    return len(await visit.attempt("inbox") or ())


async def inbox_values(
    visit: Visit, done: list[Done], form: Mapping[str, str], error: MemoriterError | None = None
) -> dict[str, Any]:
    """Return what the template of the inbox needs, with what was typed into it before.

    `error` is why an act failed, which is shown above the rest.
    """
    candidates: list[Any] = await visit.attempt("inbox") or []
    withheld: list[Any] = await visit.attempt("withheldMemories") or []
    memories: list[dict[str, Any]] = await visit.attempt("listMemories", limit=10_000) or []
    older: dict[str, str] = {each["id"]: each["text"] for each in memories}
    captures = await visit.attempt("captures")
    return {
        "problem": problem_of(error, f"The page {visit.page.name}") if error else None,
        "candidates": [
            {**_shown(each, form), "older": older.get(each.get("supersedes", ""), "")} for each in candidates[:SHOWN]
        ],
        "waiting": len(candidates),
        "withheld": withheld[:SHOWN],
        "withheld_count": len(withheld),
        "captures": [{**each, "seen": json.dumps(each["text"])} for each in captures["captures"][:SHOWN]]
        if captures
        else [],
        "capture_count": len(captures["captures"]) if captures else 0,
        "categories": CATEGORIES,
        "done": done,
        "kept": json.dumps(done),
        "opened": bool(form),  # what was decided about and comes back is in view
        "may_decide": visit.caller.allows("admin"),
        "may_write": visit.caller.allows("write"),
    }


def _shown(candidate: dict[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    """Return a candidate for its card, with the words and the category that were typed into an earlier page.

    If the candidate has changed meanwhile, `present` has its words, which the typed ones would replace.
    """
    shown = {**candidate, "seen": json.dumps(candidate), "typed": candidate["text"], "present": ""}
    try:
        before = _seen_of(form, candidate["id"])
        typed = _changes(form, {**candidate, **before})
    except (UsageError, AttributeError):
        return shown
    differs = any(before.get(name, candidate[name]) != candidate[name] for name in ("text", "category"))
    shown |= {"typed": typed.get("text", candidate["text"]), "category": typed.get("category", candidate["category"])}
    changed = shown["typed"] != candidate["text"] or shown["category"] != candidate["category"]
    return shown | {"present": f"{candidate['text']} ({candidate['category']})" if differs and changed else ""}


async def _accept(visit: Visit, form: Mapping[str, str], identifier: str) -> Done:
    """Store a statement, with the changes in its fields."""
    seen = await _seen(visit, form, identifier)
    if _changes(form, seen):
        await visit.perform("editCandidate", id=identifier, **_changes(form, seen))
    try:
        (accepted,) = await visit.perform("acceptCandidates", ids=(identifier,))
    except MemoriterError:
        await visit.attempt("restoreCandidate", **seen)  # nothing is stored, so the edit does not stay either
        raise
    memory = accepted["memory"]
    title = "Accepted" if accepted["stored"] else "Accepted; it says the same as a memory that is there"
    changed = {name: accepted["candidate"][name] for name in ("text", "category")}
    return {
        "kind": "candidate",
        "title": title,
        "text": memory["text"],
        "candidate": seen,
        "accepted": {**seen, **changed},
        "memory": memory["id"] if accepted["stored"] else "",
    }


async def _reject(visit: Visit, form: Mapping[str, str], identifier: str) -> Done:
    seen = await _seen(visit, form, identifier)
    await visit.perform("rejectCandidates", ids=(identifier,))
    return {"kind": "candidate", "title": "Rejected", "text": seen["text"], "candidate": seen}


async def _save(visit: Visit, form: Mapping[str, str], identifier: str) -> Done:
    seen = await _seen(visit, form, identifier)
    changes = _changes(form, seen)
    if not changes:
        raise UsageError("Nothing was changed.", remedy="Edit the words or choose another category first.")
    edited = await visit.perform("editCandidate", id=identifier, **changes)
    return {"kind": "candidate", "title": "Changed", "text": edited["text"], "candidate": seen}


async def _approve(visit: Visit, _: Mapping[str, str], identifier: str) -> Done:
    memory = await visit.perform("approveMemory", id=identifier)
    return {"kind": "approval", "title": "Approved", "text": memory["text"], "memory": memory["id"]}


async def _remove(visit: Visit, form: Mapping[str, str], identifier: str) -> Done:
    """Remove a record as the page showed it. Raises WriteConflict if it has changed since."""
    found = [each for each in (await visit.perform("captures"))["captures"] if each["id"] == identifier]
    if any(json.dumps(each["text"]) != form.get(f"seen-{identifier}") for each in found):
        message = "The record has changed since the page showed it, so nothing was done."
        raise WriteConflict(message, remedy="The page shows its present words: decide again.")
    removed = await visit.perform("undoCapture", id=identifier)
    records = [{"path": each["path"], "line": each["startLine"], "text": each["text"]} for each in removed["captures"]]
    return {"kind": "records", "title": "Removed a record", "text": records[0]["text"], "records": records}


ACTS: dict[str, Callable[[Visit, Mapping[str, str], str], Awaitable[Done]]] = {
    "accept": _accept,
    "reject": _reject,
    "save": _save,
    "approve": _approve,
    "remove": _remove,
}
"""What the buttons do, besides taking back."""


async def _undo(visit: Visit, done: list[Done], number: str) -> list[Done]:
    """Take back a decision, and return the others. Raises UsageError, WriteError and WriteConflict."""
    if not (number.isdecimal() and int(number) < len(done)):
        raise UsageError("The page has no such decision to take back.", remedy="Load the page again.")
    decision = done[int(number)]
    try:
        if decision["kind"] == "candidate":
            await _put_back(visit, decision)
        elif decision["kind"] == "approval":
            await visit.perform("withdrawApproval", id=decision["memory"])
        else:
            for record in decision["records"]:
                await _write_again(visit, record["path"], record["line"], record["text"])
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError("The decision cannot be read.", remedy="Load the page again.") from error
    return [each for at, each in enumerate(done) if at != int(number)]


async def _put_back(visit: Visit, decision: Done) -> None:
    if memory := decision.get("memory"):
        await visit.perform("restoreCandidate", **decision["accepted"], memory=memory)
        if decision["accepted"] == decision["candidate"]:
            return
    await visit.perform("restoreCandidate", **decision["candidate"])


async def _write_again(visit: Visit, path: str, line: int, text: str) -> None:
    """Write a removed record where it was, or at the end of a note that is shorter now; nothing else is changed."""
    note = await visit.perform("get", path=path)
    if note.get("truncated") or (note["hash"] is None and note["text"]):
        message = f"The note {path!r} is too long, or not UTF-8, so the record was not written again."
        raise UsageError(message, remedy="Add these lines in an editor.")
    if text in note["text"]:
        return
    lines = note["text"].split("\n")
    at = min(max(line - 1, 0), len(lines) - 1)
    new = "\n".join([*lines[:at], *text.split("\n"), *lines[at:]])
    await visit.perform("replace", path=path, text=new, expected=note["hash"])


async def _seen(visit: Visit, form: Mapping[str, str], identifier: str) -> dict[str, Any]:
    """Return a candidate as the page showed it. Raises WriteConflict if it has changed since."""
    shown = _seen_of(form, identifier)
    present = next((each for each in await visit.perform("inbox") if each["id"] == identifier), None)
    if present is None:
        message = "The statement does not wait any more: another program has decided about it, or it has expired."
        raise UsageError(message, remedy="The page shows what waits now.")
    if any(shown.get(name) != present[name] for name in ("text", "category")):
        message = "The statement has changed since the page showed it, so nothing was done."
        raise WriteConflict(message, remedy="The page shows its present words: decide again.")
    return present


def _seen_of(form: Mapping[str, str], identifier: str) -> dict[str, Any]:
    """Return a candidate as a form says that the page showed it. Raises UsageError if the form has none."""
    try:
        seen = json.loads(form.get(f"seen-{identifier}", ""))
    except (ValueError, RecursionError) as error:
        raise UsageError("The page has no such statement.", remedy="Load the page again.") from error
    return cast("dict[str, Any]", seen) if isinstance(seen, dict) else {}


def _changes(form: Mapping[str, str], seen: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a candidate that were edited on the page."""
    identifier = seen["id"]
    given = {name: form.get(f"{name}-{identifier}", seen[name]) for name in ("text", "category")}
    plain = {name: value.replace("\r\n", "\n").strip() for name, value in given.items()}
    return {name: value for name, value in plain.items() if value != seen[name].strip()}


def _done_of(text: str) -> list[Done]:
    """Return what was done on the page before. Raises UsageError."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("The page cannot be read.", remedy="Load the page again.") from error
    fields = {"kind", "title", "text"}
    plain = cast("list[Any]", rows) if isinstance(rows, list) else []
    return [each for each in plain if isinstance(each, dict) and fields <= cast("Done", each).keys()]
