"""What the operations on the state of a memory do: its parts, what services cost, and the map of its passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.api_json import cost_json, json_of
from memoriter.embedding_setup import ledger_of
from memoriter.startup import part_json, try_parts
from memoriter.web import _requests as requests
from memoriter.web._operation import operation

if TYPE_CHECKING:
    from memoriter.types import PassageMap
    from memoriter.web._work import Work


@operation("GET", "/parts", "list of Part")
def parts(work: Work[requests.Request]) -> list[dict[str, Any]]:
    """Try each part that the settings name, as when the server starts."""
    return [part_json(part) for part in try_parts(work.memory)]


@operation("GET", "/cost", "Cost", requests.CostRequest, quick=True)
def cost(work: Work[requests.CostRequest]) -> dict[str, Any]:
    """Return what services cost, by day and model. Raises ProviderUnavailable if the ledger cannot be read."""
    ledger = ledger_of(work.memory.environment)
    try:
        return cost_json(ledger.rows(days=work.request.days), ledger.today(), work.memory.settings.remote.budget)
    finally:
        ledger.close()


@operation("GET", "/map", "Map", requests.MapRequest, name="map")
def draw_map(work: Work[requests.MapRequest]) -> dict[str, Any]:
    """Return the passages in two dimensions, in groups and with near duplicates."""
    return _map_json(work.memory.backend.draw_map(similarity=work.request.similarity))


def _map_json(picture: PassageMap) -> dict[str, Any]:
    """Return a map, with figures of four digits; points are named by their positions in `points`."""
    return {
        **json_of("Map", picture),
        "points": [
            {**json_of("MapPoint", each), "x": round(each.x, 4), "y": round(each.y, 4)} for each in picture.points
        ],
        "duplicates": [
            {"points": list(each.points), "similarity": round(each.similarity, 4)} for each in picture.duplicates
        ],
        "variance": [round(share, 4) for share in picture.variance],
    }
