"""The page Memories: long-term memories with filters, what replaced them, earlier days, and forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.extensions.longterm._records import CATEGORIES
from memoriter.pages import Page, PageRoute
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages import Visit

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


async def show(visit: Visit) -> Response:
    """Return the memories that the filters in the address select, the newest first."""
    filters = {name: visit.parameter(name) for name in FILTERS}
    values: dict[str, Any] = {"filters": filters, "categories": CATEGORIES, "origins": ORIGINS, "statuses": STATUSES}
    given = {name: value for name, value in filters.items() if value}
    as_of = {"as_of": filters["as_of"]} if filters["as_of"] else {}
    status = 200
    problem = None
    everything = list[dict[str, Any]]()
    found = list[dict[str, Any]]()
    try:
        everything = await visit.perform("listMemories", limit=MOST, **as_of)
        found = everything if given.keys() <= as_of.keys() else await visit.perform("listMemories", limit=MOST, **given)
    except MemoriterError as error:
        problem = problem_of(error, f"The page {visit.page.name}")
        status = problem.status if problem.status != 409 else 200  # settings that have no long-term memories
    days = await visit.attempt("listMemories", limit=MOST) if as_of and problem is None else everything
    newest = found[: -SHOWN - 1 : -1]
    memories = await visit.compute(lambda: [{**each, "chain": chain_of(each, everything)} for each in newest])
    template = "memories/_list.html" if visit.fragment == "memories" else "memories/page.html"
    return await visit.render(
        template,
        status,
        **values,
        problem=problem,
        memories=memories,
        count=len(found),
        total=len(everything),
        first=min((each["createdAt"][:10] for each in days or []), default=""),
        may_forget=visit.caller.allows("write"),
    )


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
    "See the long-term memories, what replaced them, and forget some.",
    (
        PageRoute("/memories", show),
        PageRoute("/memories/forget", ask),
        PageRoute("/memories/receipt", forget, ("POST",)),
    ),
    place=50,
)
