"""The page Memories: what waits for a decision, and long-term memories to see, add, change and forget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import MemoriterError, UsageError, WriteConflict
from memoriter.extensions.longterm._records import CATEGORIES
from memoriter.extensions.longterm.settings import KEY, LongTermEntry
from memoriter.extras import require
from memoriter.pages import Action, Page, PageRoute, PageSet
from memoriter.settings_file import write_settings
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.responses import Response

    from memoriter.memory import Memory
    from memoriter.pages import Visit

    Done = dict[str, Any]
    """What was done on the page: `title` and `text` for people, `kind`, and what taking it back needs."""

ORIGINS = {
    "owner": "you wrote it",
    "agent": "an agent wrote it",
    "tool": "a tool returned it",
    "token": "it came with a token that is not yours",
    "web": "from the web",
    "import": "imported, or from a project",
}
STATUSES = {"active": "current", "superseded": "replaced by a newer one"}
FILTERS = ("text", "category", "origin", "status", "as_of")
MOST = 10_000
SHOWN = 200
"""Memories that are shown at once, the newest."""
SHOWN_WAITING = 100
"""Candidates, withheld memories and records that are shown at once."""
KEPT = 50
"""Decisions that can be taken back, the latest."""
FILE = "memoriter.json5"
"""The user's settings in the home, if no other file is in force."""
LONG_TERM = "memory-lancedb"
"""The name of the plugin in the settings."""
DONE = {
    "stored": "Remembered.",
    "existing": "A memory says the same already.",
    "changed": "Changed. The earlier words are kept as its earlier version.",
    "turned-on": "Memories are turned on. Agents that run have the tools for them once they are started again.",
    "collecting": "From now on, statements of conversations wait here for your decision.",
}
"""What was done, by the parameter of the address."""
SLOT = ("plugins", "slots", "memory")
CAPTURE = ("plugins", "entries", "memory-lancedb", "config", "autoCapture")


async def list_values(visit: Visit) -> dict[str, Any]:
    """Return what the template of the list needs: the memories that the filters in the address select."""
    filters = {name: visit.parameter(name) for name in FILTERS}
    given = {name: value for name, value in filters.items() if value}
    as_of = {"as_of": filters["as_of"]} if filters["as_of"] else {}
    off = None
    everything = list[dict[str, Any]]()
    found = list[dict[str, Any]]()
    try:
        everything = await visit.perform("listMemories", limit=MOST, **as_of)
        found = everything if given.keys() <= as_of.keys() else await visit.perform("listMemories", limit=MOST, **given)
    except MemoriterError as error:
        off = problem_of(error, f"The page {visit.page.name}")
    days = await visit.attempt("listMemories", limit=MOST) if as_of and off is None else everything
    newest = found[: -SHOWN - 1 : -1]
    memories = await visit.compute(lambda: [{**each, "chain": chain_of(each, everything)} for each in newest])
    return {
        "filters": filters,
        "origins": ORIGINS,
        "statuses": STATUSES,
        "off": off,
        "is_off": off is not None and off.status == 409,  # settings that have no long-term memories
        "memories": memories,
        "count": len(found),
        "total": len(everything),
        "first": min((each["createdAt"][:10] for each in days or []), default=""),
        "may_forget": visit.caller.allows("write"),
    }


def chain_of(memory: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return all memories that replaced one another with this one, the oldest first; empty: it stands alone."""
    by_id = {each["id"]: each for each in known}
    newer = {each["supersedes"]: each["id"] for each in known if each.get("supersedes")}
    first = memory["id"]
    seen = {memory["id"]}
    while (older := by_id.get(first, {}).get("supersedes")) in by_id and older not in seen:
        first = older
        seen.add(older)
    chain: dict[str, Mapping[str, Any]] = {}
    current = str(first)
    while current in by_id and current not in chain:
        chain[current] = by_id[current]
        current = newer.get(current, "")
    return [*chain.values()] if len(chain) > 1 else []


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
            {**_shown(each, form), "older": older.get(each.get("supersedes", ""), "")}
            for each in candidates[:SHOWN_WAITING]
        ],
        "waiting": len(candidates),
        "withheld": withheld[:SHOWN_WAITING],
        "withheld_count": len(withheld),
        "captures": [{**each, "seen": json.dumps(each["text"])} for each in captures["captures"][:SHOWN_WAITING]]
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


async def show(visit: Visit) -> Response:
    """Return the statements that wait for a decision, and the memories that the filters in the address select."""
    values = await list_values(visit)
    off: Any = values["off"]
    status = 200 if off is None or values["is_off"] else off.status
    if visit.fragment == "memories":
        return await visit.render("memories/_list.html", status, **values)
    inbox = await inbox_values(visit, [], {})
    done = DONE.get(visit.parameter("done"), "")
    return await visit.render(
        "memories/page.html", status, told=done, collects=await _collects(visit), **values, **inbox
    )


async def _collects(visit: Visit) -> bool:
    """Return whether statements of conversations wait for a decision."""

    def setting(memory: Memory) -> str | bool:
        return memory.configuration.extension(KEY, LongTermEntry).config.auto_capture

    return bool(await visit.with_memory("read", setting))


async def turn_on(visit: Visit) -> Response:
    """Turn long-term memories on, or let statements wait for a decision, in the settings and in this server."""
    form = await visit.form()
    collects = form.get("what") == "statements"

    def act(memory: Memory) -> None:
        require("longterm", "Long-term memories")
        configuration = memory.configuration
        slot = configuration.settings.plugins.slots.memory
        names = [slot] if isinstance(slot, str) else list(slot)
        kept = [name for name in names if name not in {"none", LONG_TERM}] or ["memory-core"]
        values: dict[tuple[str, ...], Any] = {CAPTURE: "inbox"} if collects else {SLOT: [*kept, LONG_TERM]}
        write_settings(configuration.path or memory.environment.home / FILE, values)
        memory.reload_plugins()

    await visit.with_memory("admin", act)
    return visit.redirect("/memories", done="collecting" if collects else "turned-on")


async def add(visit: Visit) -> Response:
    """Store a statement that somebody wrote on the page."""
    form = await visit.form()
    stored = await visit.perform("storeMemory", text=_statement(form), category=form.get("category") or "other")
    return visit.redirect("/memories", done="stored" if stored["stored"] else "existing")


async def edit(visit: Visit) -> Response:
    """Return the page on which the words of a memory are changed."""
    memory = await _memory(visit, visit.parameter("id"))
    return await visit.render("memories/edit.html", memory=memory, categories=CATEGORIES)


async def change(visit: Visit) -> Response:
    """Store the new words of a memory, which replace the earlier ones."""
    form = await visit.form()
    memory = await _memory(visit, form.get("id", ""))
    text = _statement(form)
    category = form.get("category") or memory["category"]
    if (text, category) == (memory["text"], memory["category"]):
        return visit.redirect("/memories")
    stored = await visit.perform(
        "storeMemory", text=text, category=category, importance=memory["importance"], supersedes=memory["id"]
    )
    return visit.redirect("/memories", done="changed" if stored["stored"] else "existing")


def _statement(form: Mapping[str, str]) -> str:
    text = form.get("text", "").replace("\r\n", "\n").strip()
    if not text:
        raise UsageError("The memory is empty.", remedy="Write one sentence.")
    return text


async def ask(visit: Visit) -> Response:
    """Return the question whether a memory shall be forgotten."""
    memory = await _memory(visit, visit.parameter("id"))
    return await visit.render("memories/forget.html", memory=memory, origins=ORIGINS)


async def forget(visit: Visit) -> Response:
    """Forget a memory after the confirmation, and return the receipt."""
    form = await visit.form()
    memory = await _memory(visit, form.get("id", ""))
    if form.get("text", "").replace("\r\n", "\n") != memory["text"]:
        raise UsageError(
            "The memory has changed since the question was shown, so it was not forgotten.", remedy="Look at it again."
        )
    receipt = await visit.perform("forgetMemory", id=memory["id"])
    return await visit.render("memories/receipt.html", receipt=receipt)


async def _memory(visit: Visit, identifier: str) -> dict[str, Any]:
    """Return a memory by its id. Raises UsageError if there is none."""
    found: list[dict[str, Any]] = await visit.perform("listMemories", limit=MOST)
    memory = next((each for each in found if each["id"] == identifier), None)
    if memory is None:
        raise UsageError(f"There is no memory with the id {identifier!r}.", remedy="Choose one on the page Memories.")
    return memory


PAGE = Page(
    "Memories",
    "Decide what is remembered, and see, correct and forget memories.",
    (
        PageRoute("/memories", show),
        PageRoute("/memories/decide", decide, ("POST",)),
        PageRoute("/memories/turn-on", turn_on, ("POST",)),
        PageRoute("/memories/add", add, ("POST",)),
        PageRoute("/memories/edit", edit),
        PageRoute("/memories/change", change, ("POST",)),
        PageRoute("/memories/forget", ask),
        PageRoute("/memories/receipt", forget, ("POST",)),
    ),
    place=40,
    waiting=waiting,
)


def _report(answer: Mapping[str, Any]) -> str:
    return f"Rebuilt: {answer['memories']:,} long-term memories."


PAGES = PageSet(
    pages=(PAGE,),
    folder=Path(__file__).parent,
    actions=(
        Action(
            "ltm-rebuild", "Rebuild long-term memories", "memoriter ltm rebuild", "rebuildMemories", "admin", _report
        ),
    ),
    day_items="day_items.html",
)
