"""The routes for supervisors: `/healthz` and `/readyz`, which need no token, and `/metrics`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from memoriter.access import caller_of, known_caller, problem_response
from memoriter.monitoring._probes import HEALTHZ, METRICS, READYZ, Readiness, broken_parts
from memoriter.startup import part_json, part_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from memoriter.access import Run
    from memoriter.monitoring._metrics import ServerMetrics

    Routes = tuple[Sequence[Route], Sequence[str]]
    """Routes, and the paths that a log may name."""


def with_monitoring(more: Callable[[Run], Routes], metrics: ServerMetrics) -> Callable[[Run], Routes]:
    """Return a function that adds the routes for supervisors to those that `more` returns."""

    def both(run: Run) -> Routes:
        routes, paths = _monitoring_routes(run, metrics)
        others, other_paths = more(run)
        return [*routes, *others], [*paths, *other_paths]

    return both


def _monitoring_routes(run: Run, metrics: ServerMetrics) -> Routes:
    """Return the routes for supervisors, and their paths."""
    readiness = Readiness(run)
    names = part_names()

    async def healthz(_: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def readyz(request: Request) -> Response:
        excluded = request.query_params.getlist("exclude")
        if unknown := set(excluded).difference(names):
            message = f"There is no part {min(unknown)!r}."
            return problem_response(400, "usage", message, f"The parts are: {', '.join(names)}.")
        parts = await readiness.parts()
        broken = broken_parts(parts, excluded)
        answer: dict[str, Any] = {"ready": not broken}
        if broken:
            answer["code"] = broken[0].code
        if known_caller(request.scope) is not None:
            answer["parts"] = [part_json(part) for part in parts]
        return _json(503 if broken else 200, answer)

    async def measured(request: Request) -> Response:
        accept = request.headers.get("accept", "")
        caller = caller_of(request.scope)
        text, media_type = await run(lambda memory: metrics.text(memory, accept), caller=caller)
        return Response(text, headers={"Content-Type": media_type})

    routes = [
        Route(HEALTHZ, healthz, methods=["GET"]),
        Route(READYZ, readyz, methods=["GET"]),
        Route(METRICS, measured, methods=["GET"]),
    ]
    return routes, [HEALTHZ, READYZ, METRICS]


def _json(status: int, value: dict[str, Any]) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")
