"""The list of long-term memories on the page Memories: filters, earlier days, and what replaced them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError
from memoriter.web import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
